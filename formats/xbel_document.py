"""Parse XBEL documents: this service's own, and those of other programs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from formats.imports.folders import Folders, folder_tags
from storage.bookmark import split_tags

IGNORED_ELEMENTS = ("alias", "separator")
ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
_CHILDREN = {"title": "title", "desc": "description"}

# Metadata in a bookmark element: KDE writes its date, GNOME its groups and whether it is private
# (https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec).
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
GROUP, PRIVATE, TIME = f"{_DESKTOP}group", f"{_DESKTOP}private", "time_added"
_METADATA = (GROUP, PRIVATE, TIME)


@dataclass(slots=True)
class XbelEntry:
    """A bookmark, alias or separator element.

    `texts` has the texts of the elements in it by name.
    """

    kind: str
    line: int
    depth: int
    attributes: dict[str, str]
    folders: tuple[str, ...]
    texts: dict[str, list[str]] = field(default_factory=dict)


class XbelDocument:
    """The target of an XML parser that collects the entries of an XBEL document.

    `_pieces` has the collected parts of the text of the open element `_name`, which is `_depth`
    elements deep; it is None while no text is collected.
    """

    def __init__(self) -> None:
        self.root = ""
        self.line: Callable[[], int] = int
        self.entries: list[XbelEntry] = []
        self._path: list[str] = []
        self._folders = Folders()
        self._is_toolbar = False
        self._entry: XbelEntry | None = None
        self._pieces: list[str] | None = None
        self._name, self._depth = "", 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        self.root = self.root or tag
        if self._entry:
            is_child = len(self._path) == self._entry.depth + 1 and tag in _CHILDREN
            if tag in _METADATA or is_child:
                self._collect_text(tag)
        elif tag == "folder":
            self._folders.open(())
            self._is_toolbar = attributes.get("toolbar") == "yes"  # A folder of the browser itself.
        elif tag == "title" and parent == "folder":
            self._collect_text(tag)
        elif tag == "bookmark" or tag in IGNORED_ELEMENTS:
            depth, tags = len(self._path), self._folders.tags
            self._entry = XbelEntry(tag, self.line(), depth, attributes, tags)

    def _collect_text(self, tag: str) -> None:
        if self._pieces is None:
            self._pieces, self._name, self._depth = [], tag, len(self._path)

    def data(self, text: str) -> None:
        """Handle a part of a text."""
        if self._pieces is not None:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._pieces is not None and len(self._path) == self._depth:
            self._set_text("".join(self._pieces))
            self._pieces = None
        if self._entry and len(self._path) == self._entry.depth:
            self.entries.append(self._entry)
            self._entry = None
        elif tag == "folder" and not self._entry:
            self._folders.close()
        self._path.pop()

    def _set_text(self, text: str) -> None:
        if self._entry:
            self._entry.texts.setdefault(self._name, []).append(text)
        elif not self._is_toolbar:
            self._folders.name(folder_tags(text, may_be_built_in=self._folders.depth == 1))


def own_fields(entry: XbelEntry) -> dict[str, object]:
    """Return the fields of a bookmark as this service writes them."""
    fields: dict[str, object] = {}
    if id := entry.attributes.get("id"):
        fields["id"] = id.removeprefix("b-")
    for attribute, name in ATTRIBUTES.items():
        if (value := entry.attributes.get(attribute)) is not None:
            fields[name] = value
    for child, name in _CHILDREN.items():
        if texts := entry.texts.get(child):
            fields[name] = texts[0]
    if (tags := entry.attributes.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields
