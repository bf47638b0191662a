"""Read what a phone has shared into the form for a new bookmark."""

import re
from collections.abc import Mapping

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_PUNCTUATION_AFTER_ADDRESS = ".,;:!?'\"’”»"
_OPENING_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


def read_shared(values: Mapping[str, str]) -> dict[str, str]:
    """Return the form's values for a shared `title`, `text` and `uri`.

    Without a `uri`, the first address in the text or the title is taken. Other text becomes
    the description, or the title if there is no title.
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
    match = _ADDRESS.search(text)
    if not match:
        return ""
    address = match[0]
    while _ends_with_punctuation(address):
        address = address[:-1]
    return address


def _ends_with_punctuation(address: str) -> bool:
    last = address[-1]
    if last in _OPENING_BRACKETS:
        is_part_of_address = _OPENING_BRACKETS[last] in address
        return not is_part_of_address
    return last in _PUNCTUATION_AFTER_ADDRESS


def _remove_address(text: str, address: str) -> str:
    """Return "Title" for the text "Title - URL"."""
    rest = text.removeprefix(address).removesuffix(address)
    return rest.strip(" \n:-–")
