"""Read what a phone has shared into the form for a new bookmark."""

from collections.abc import Mapping

from formats.html.parts import WEB_ADDRESS


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
    match = WEB_ADDRESS.search(text)
    if not match:
        return ""
    return match[0]


def _remove_address(text: str, address: str) -> str:
    """Return "Title" for the text "Title - URL"."""
    rest = text.removeprefix(address).removesuffix(address)
    return rest.strip(" \n:-–")
