"""Read what a phone shares into the values of the form that adds a bookmark."""

import re
from collections.abc import Mapping

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
# Punctuation of the sentence around an address: these characters at its end are no part of it.
_PUNCTUATION = ".,;:!?'\"’”»>"


def read_shared(values: Mapping[str, str]) -> dict[str, str]:
    """Return the form's values for the shared `title`, `text` and `uri`; each may be absent.

    Most apps share no `url`, but a text that contains the address. The rest of the text becomes the
    title if the app shares no title, and otherwise the description.
    """
    title, text, uri = (values.get(name, "").strip() for name in ("title", "text", "uri"))
    uri = uri or _find_address(text) or _find_address(title)
    description = _remove_address(text, uri) if uri else text
    if description == title:  # An app may share the same words as title and text.
        description = ""
    if not title and "\n" not in description:  # A title has one line.
        title, description = description, ""
    return {"uri": uri, "title": title, "description": description}


def _find_address(text: str) -> str:
    """Return the first web address in a shared text, without the punctuation that follows it."""
    match = _ADDRESS.search(text)
    address = match[0].rstrip(_PUNCTUATION) if match else ""
    # In `(see https://a.example/b)` the bracket is no part of the address, in `/b_(c)` it is.
    has_extra_bracket = address.endswith(")") and address.count(")") > address.count("(")
    return address[:-1] if has_extra_bracket else address


def _remove_address(text: str, address: str) -> str:
    """Return a shared text without the address at its end or start: "Title - URL" gives "Title"."""
    before, _, after = text.partition(address)
    if _has_words(before) and _has_words(after):  # Without the address, the text would have a gap.
        return text
    return f"{before}{after}".strip(" \n:-–") if _has_words(before + after) else ""


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)
