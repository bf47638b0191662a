"""Read XBEL documents: this service's own, and those of desktops and browser extensions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from formats import xml
from formats.errors import Malformed
from formats.imports.dates import parse_date
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags, merge_tags
from storage.bookmark import split_tags

_ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
_DATES = ("added", "modified")
_CHILDREN = {"title": "title", "desc": "description"}

# Metadata in a bookmark element: KDE writes its date, GNOME its groups and whether it is private
# (https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec).
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
_GROUP, _PRIVATE, _TIME = f"{_DESKTOP}group", f"{_DESKTOP}private", "time_added"
_METADATA = (_GROUP, _PRIVATE, _TIME)
_IGNORED_ELEMENTS = ("alias", "separator")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator, in order. Folders become tags.

    Raises Malformed after the entries that precede an error.
    """
    document, error = XbelDocument(), None
    try:
        xml.parse(data, document)
    except Malformed as reason:
        error = reason
    if document.root not in ("", "xbel"):
        raise Malformed("It is no XBEL document, whose root element is xbel.")
    yield from map(_imported_entry, document.entries)
    if error:
        raise error


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
            is_first = tag not in self._entry.texts
            if tag in _METADATA or is_child and is_first:
                self._collect_text(tag)
        elif tag == "folder":
            self._folders.open(())
            self._is_toolbar = attributes.get("toolbar") == "yes"
        elif tag == "title" and parent == "folder":
            self._collect_text(tag)
        elif tag == "bookmark" or tag in _IGNORED_ELEMENTS:
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
            self._folders.name(folder_tags(text, self._folders.depth == 1))


def own_fields(entry: XbelEntry) -> dict[str, object]:
    """Return the fields of a bookmark as this service writes them."""
    fields: dict[str, object] = {}
    if id := entry.attributes.get("id"):
        fields["id"] = id.removeprefix("b-")
    for attribute, name in _ATTRIBUTES.items():
        if (value := entry.attributes.get(attribute)) is not None:
            fields[name] = value
    for child, name in _CHILDREN.items():
        if texts := entry.texts.get(child):
            fields[name] = texts[0]
    if (tags := entry.attributes.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields


def _imported_entry(entry: XbelEntry) -> ImportedEntry:
    """Return the entry, with the dates and tags of other programs and no id of theirs."""
    if entry.kind in _IGNORED_ELEMENTS:
        return ignored_entry(entry.line)
    fields = own_fields(entry)
    if not entry.attributes.get("id", "").startswith("b-"):
        fields.pop("id", None)
    if tags := merge_tags(_own_tags(entry), entry.folders):
        fields["tags"] = tags
    dates = {name: _parse_xbel_date(entry.attributes.get(name)) for name in _DATES}
    dates["added"] = dates["added"] or parse_date(entry.texts.get(_TIME, [""])[0])
    for name, date in dates.items():
        fields.pop(_ATTRIBUTES[name], None)
        if date:
            fields[_ATTRIBUTES[name]] = date
    return entry_with_uri(entry.line, fields)


def _parse_xbel_date(value: str | None) -> str | None:
    # XBEL allows a year or a month alone: https://www.w3.org/TR/NOTE-datetime
    is_part = value and len(value) in (len("2002"), len("2002-09"))
    return parse_date(f"{value}-01-01"[: len("2002-09-01")] if is_part else value)


def _own_tags(entry: XbelEntry) -> list[str]:
    # buku writes the attribute in upper case.
    own = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(_GROUP, ()) for tag in split_tags(text)]
    return split_tags(own) + groups + ["private"] * (_PRIVATE in entry.texts)
