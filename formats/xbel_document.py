"""Parse XBEL documents: this service's own, and those of other programs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from formats.imports.folders import Folders, folder_tags
from storage.bookmark import split_tags

IGNORED_ELEMENTS = ("alias", "separator")
# From XBEL's attributes and child elements of a bookmark to the fields of this service.
ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
_CHILDREN = {"title": "title", "desc": "description"}

# Metadata deep in a bookmark element: KDE writes the time when the bookmark was added, GNOME the
# groups of the bookmark and whether the bookmark is private
# (https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec).
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
GROUP, PRIVATE, TIME = f"{_DESKTOP}group", f"{_DESKTOP}private", "time_added"
_METADATA = (GROUP, PRIVATE, TIME)


@dataclass(slots=True)
class XbelEntry:
    """A bookmark, alias or separator element.

    `kind` is the name of the element. `texts` maps the names of elements inside it to their texts.
    """

    kind: str
    line: int
    depth: int  # The number of open elements at its start, with itself.
    attributes: dict[str, str]
    tags_of_folders: tuple[str, ...]
    texts: dict[str, list[str]] = field(default_factory=dict)


class XbelDocument:
    """The target of an XML parser that collects the entries of an XBEL document.

    The parser passes the text of an element in pieces. `_text_pieces` collects the pieces of the
    open element `_text_element`, whose depth in the document is `_text_depth`, or is None while
    no text is collected.
    """

    def __init__(self) -> None:
        self.root = ""
        self.line: Callable[[], int] = lambda: 0  # `xml.parse` sets the parser's function.
        self.entries: list[XbelEntry] = []
        self._path: list[str] = []
        self._folders = Folders()
        self._is_toolbar_folder = False  # Whether the open folder is the toolbar of a browser.
        self._entry: XbelEntry | None = None
        self._text_pieces: list[str] | None = None
        self._text_element, self._text_depth = "", 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        self.root = self.root or tag
        if self._entry:
            is_child = len(self._path) == self._entry.depth + 1 and tag in _CHILDREN
            if tag in _METADATA or is_child:  # Metadata may be at any depth of the bookmark.
                self._collect_text(tag)
        elif tag == "folder":
            self._folders.open(())
            # The browser itself has made the folder of its toolbar, so its title is no tag.
            self._is_toolbar_folder = attributes.get("toolbar") == "yes"
        elif tag == "title" and parent == "folder":
            self._collect_text(tag)
        elif tag == "bookmark" or tag in IGNORED_ELEMENTS:
            depth, tags = len(self._path), self._folders.tags
            self._entry = XbelEntry(tag, self.line(), depth, attributes, tags)

    def _collect_text(self, tag: str) -> None:
        if self._text_pieces is None:
            self._text_pieces = []
            self._text_element, self._text_depth = tag, len(self._path)

    def data(self, text: str) -> None:
        """Handle a part of a text."""
        if self._text_pieces is not None:
            self._text_pieces.append(text)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._text_pieces is not None and len(self._path) == self._text_depth:
            self._set_text("".join(self._text_pieces))
            self._text_pieces = None
        if self._entry and len(self._path) == self._entry.depth:
            self.entries.append(self._entry)
            self._entry = None
        elif tag == "folder" and not self._entry:
            self._folders.close()
        self._path.pop()

    def _set_text(self, text: str) -> None:
        if self._entry:
            self._entry.texts.setdefault(self._text_element, []).append(text)
        elif not self._is_toolbar_folder:
            # The folders that browsers create themselves are at the top: no other folder is open.
            self._folders.set_own_tags(folder_tags(text, may_be_built_in=self._folders.depth == 1))


def element_fields(entry: XbelEntry) -> dict[str, object]:
    """Return the fields that attributes and child elements of a bookmark have, not its folders."""
    fields: dict[str, object] = {}
    if id := entry.attributes.get("id"):
        fields["id"] = id.removeprefix("b-")  # An XML id must not begin with a digit.
    for attribute, name in ATTRIBUTES.items():
        if (value := entry.attributes.get(attribute)) is not None:
            fields[name] = value
    for child, name in _CHILDREN.items():
        if texts := entry.texts.get(child):
            fields[name] = texts[0]
    if (tags := entry.attributes.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields
