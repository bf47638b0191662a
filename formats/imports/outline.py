"""Read XML of Delicious, Scuttle and Pinboard (`posts`) and the OPML of feed readers."""

from collections.abc import Callable, Iterator, Mapping

from formats import xml
from formats.imports.entry import ImportedEntry, entry_with_uri
from formats.imports.folders import Folders, folder_tags
from formats.imports.json import fields_of_members
from storage.errors import Malformed

_ROOTS = ("posts", "opml")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each post or outline with an address, in order. Other outlines are folders.

    Raises Malformed after the entries that precede an error.
    """
    document, error = _Document(), None
    try:
        xml.parse(data, document)
    except Malformed as reason:
        error = reason
    if document.root not in ("", *_ROOTS):
        raise Malformed("Its root element must be posts or opml.")
    yield from document.entries
    if error:
        raise error


def _outline(attributes: dict[str, str]) -> dict[str, object]:
    """Return an outline's members; the address of the feed describes the page."""
    page, feed = (attributes.get(name) for name in ("htmlUrl", "xmlUrl"))
    members = {"title": attributes.get("text"), "url": feed, "description": feed if page else ""}
    return {**members, **attributes, "description": members["description"]}


# The members of an entry by the names that JSON has, which Delicious and Pinboard write in XML too.
_MEMBERS_BY_TAG: Mapping[str, Callable[[dict[str, str]], dict[str, object]]] = {
    "post": lambda attributes: {**attributes},
    "outline": _outline,
}


class _Document:
    """The target of an XML parser that collects the entries."""

    def __init__(self) -> None:
        self.root = ""
        self.line: Callable[[], int] = lambda: 0  # `xml.parse` sets it to get the parser's line.
        self.entries: list[ImportedEntry] = []
        self._folders = Folders()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element. Each outline is a folder, that of a feed an empty one."""
        self.root = self.root or tag
        members = _MEMBERS_BY_TAG[tag](attributes) if tag in _MEMBERS_BY_TAG else {}
        fields = fields_of_members(members, self._folders.tags)
        if "uri" in fields or tag == "post":
            self.entries.append(entry_with_uri(self.line(), fields))
        if tag == "outline":
            name = "" if "uri" in fields else attributes.get("text", "")
            self._folders.open(folder_tags(name, may_be_built_in=self._folders.depth == 0))

    def data(self, text: str) -> None:
        """Ignore text: all values are in attributes."""

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if tag == "outline":
            self._folders.close()
