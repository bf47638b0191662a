"""Fill the form that adds a bookmark from the texts that a phone has shared."""

import re
from collections.abc import Mapping

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
# At the end of an address, these belong to the sentence.
_PUNCTUATION = ".,;:!?'\"’”»"
# A closing bracket at the end belongs to the address if the opening bracket is in it.
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


def read_shared(values: Mapping[str, str]) -> dict[str, str]:
    """Return the form's values for a shared `title`, `text` and `uri`.

    Most apps share a text with the address. The rest of the text becomes the title or,
    if the app shares a title, the description.
    """
    title = values.get("title", "").strip()
    text = values.get("text", "").strip()
    uri = values.get("uri", "").strip()
    if not uri:
        uri = _find_address(text) or _find_address(title)
    description = _remove_address(text, uri)
    if description == title:
        description = ""
    if not title and "\n" not in description:  # A title has one line.
        title = description
        description = ""
    return {"uri": uri, "title": title, "description": description}


def _find_address(text: str) -> str:
    """Return the first web address in a text, without the punctuation after it."""
    match = _ADDRESS.search(text)
    if not match:
        return ""
    address = match[0]
    while _ends_with_punctuation(address):
        address = address[:-1]
    return address


def _ends_with_punctuation(address: str) -> bool:
    last = address[-1]
    if last in _BRACKETS:
        return _BRACKETS[last] not in address
    return last in _PUNCTUATION


def _remove_address(text: str, address: str) -> str:
    """Return a text without the address: "Title - URL" gives "Title"."""
    rest = text.removeprefix(address).removesuffix(address)
    return rest.strip(" \n:-–")
