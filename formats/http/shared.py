"""Read what a phone shares into the values of the form that adds a bookmark."""

import re
from collections.abc import Mapping

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
# Of the sentence around an address: these characters at its end are no part of it.
_PUNCTUATION = ".,;:!?'\"’”»"
# Nor are these, unless the address has the opening bracket too.
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


def read_shared(values: Mapping[str, str]) -> dict[str, str]:
    """Return the form's values for the shared `title`, `text` and `uri`; each may be absent.

    Most apps share no `url`, but a text that contains the address. The rest of the text becomes the
    title if the app shares no title, and otherwise the description.
    """
    title = values.get("title", "").strip()
    text = values.get("text", "").strip()
    uri = values.get("uri", "").strip()
    if not uri:
        uri = _find_address(text) or _find_address(title)
    description = _remove_address(text, uri)
    if description == title:  # An app may share the same words as title and text.
        description = ""
    if not title and "\n" not in description:  # A title has one line.
        title = description
        description = ""
    return {"uri": uri, "title": title, "description": description}


def _find_address(text: str) -> str:
    """Return the first web address in a shared text, without the punctuation that follows it."""
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
    """Return a shared text without the address at its start or end: "Title - URL" gives "Title"."""
    rest = text.removeprefix(address).removesuffix(address)
    return rest.strip(" \n:-–")
