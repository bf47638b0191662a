"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL knows no tags, and its `metadata` has to be empty; so tags stand in an attribute that the
document declares in its own internal subset.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from formats import decode, xml
from formats.errors import Malformed
from formats.item import (
    MAX_ENTRY,
    SEPARATOR,
    TOO_LARGE,
    Folders,
    Item,
    Stream,
    date,
    folder_tags,
    item,
    united,
)
from formats.view import View
from storage.bookmark import Bookmark, split_tags
from storage.errors import Invalid

_HEAD = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" \
"http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
<!ATTLIST bookmark tags CDATA #IMPLIED>
]>
<xbel version="1.0">
"""

_ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
# A date alone is legal in XBEL: https://www.w3.org/TR/NOTE-datetime
_DAY = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_DATES = ("added", "modified")
_PART = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_CHILDREN = {"title": "title", "desc": "description"}


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A document of these bookmarks; the XML id is `b-` and the bookmark's id."""
    yield _HEAD
    for bookmark in bookmarks:
        yield _bookmark(bookmark).encode()
    yield b"</xbel>\n"


def _bookmark(b: Bookmark) -> str:
    tags = f' tags="{xml.attribute(",".join(b.tags))}"' if b.tags else ""
    description = f"<desc>{xml.text(b.description)}</desc>\n" if b.description else ""
    return (
        f'<bookmark id="b-{b.id}" href="{xml.attribute(b.uri)}" added="{b.created}"'
        f' modified="{b.modified}"{tags}>\n'
        f"<title>{xml.text(b.title)}</title>\n{description}</bookmark>\n"
    )


# --- Reading ---


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Each bookmark of the document, in whatever folder, as the fields that it gives.

    Raises Malformed or Invalid.
    """
    document = _Document()
    for _ in xml.parse([body], document):
        pass
    if document.root != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    return [_fields(entry) for entry in document.entries if entry.kind == "bookmark"]


def read_whole(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The same, where an absent desc or tags is an empty one."""
    empty = {"description": "", "tags": []}
    return [empty | fields for fields in read(body, parameters)]


def is_file(body: bytes, parameters: Mapping[str, str]) -> bool:
    """Whether the body, of which this is the beginning, has any other number of bookmarks than
    one. Raises Malformed or Invalid.
    """
    return len(body) > MAX_ENTRY or len(read(body, parameters)) != 1


def read_file(stream: Stream) -> Iterator[Item]:
    """Each bookmark, alias and separator of the document, in order. Folders become tags.

    Raises Malformed where it is no XBEL.
    """
    document = _Document()
    steps = xml.parse(decode.blocks(stream), document)
    while not document.closed:
        try:
            next(steps)
        except Malformed:  # What came before it is good all the same.
            yield from document.items()
            raise
        yield from document.items()
        if document.root not in ("", "xbel"):
            raise Malformed("It is no XBEL document, whose root element is xbel.")


@dataclass
class _Entry:
    """A bookmark, alias or separator of the document; `texts` are those of some elements in it."""

    kind: str
    line: int
    depth: int
    attributes: dict[str, str]
    folders: tuple[str, ...]
    texts: dict[str, list[str]] = field(default_factory=dict)
    size: int = 0


# What desktops tell in the metadata of a bookmark: Konqueror its date, and GNOME more
# (https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec).
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
_GROUP, _PRIVATE, _TIME = f"{_DESKTOP}group", f"{_DESKTOP}private", "time_added"
_METADATA = (_GROUP, _PRIVATE, _TIME)
_LEFT_OUT = {"alias": "is an alias of another bookmark", "separator": SEPARATOR}
_MAX_NESTING = 1000


class _Document:
    """What xml.parse() tells of a document becomes its entries.

    While an element's text is collected, `_pieces` are what has come of it and `_name` is its name.
    """

    def __init__(self) -> None:
        self.root, self.closed = "", False
        self.seen = 0
        self.line: Callable[[], int] = int
        self.entries: list[_Entry] = []
        self._path: list[str] = []
        self._folders = Folders()
        self._is_toolbar = False
        self._entry: _Entry | None = None
        self._pieces: list[str] | None = None
        self._name, self._depth, self._size = "", 0, 0

    def items(self) -> Iterator[Item]:
        """Those that have come since the last call."""
        entries, self.entries = self.entries, []
        return map(_item, entries)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.seen += 1
        if len(self._path) >= _MAX_NESTING:
            raise Malformed(f"The XML is nested too deep in line {self.line()}.")
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        self.root = self.root or tag
        if self._entry:
            is_own = len(self._path) == self._entry.depth + 1 and tag in _CHILDREN
            if tag in _METADATA or is_own and tag not in self._entry.texts:
                self._collect(tag)
        elif tag == "folder":
            self._folders.enter(())
            self._is_toolbar = attributes.get("toolbar") == "yes"
        elif tag == "title" and parent == "folder":
            self._collect(tag)
        elif tag == "bookmark" or tag in _LEFT_OUT:
            depth, tags = len(self._path), self._folders.tags
            self._entry = _Entry(tag, self.line(), depth, attributes, tags)

    def _collect(self, tag: str) -> None:
        if self._pieces is None:
            self._pieces, self._name, self._depth = [], tag, len(self._path)
            self._size = self._entry.size if self._entry else 0

    def data(self, text: str) -> None:
        """Some text."""
        self.seen += 1
        if self._pieces is not None and self._size <= MAX_ENTRY:
            self._pieces.append(text)
            self._size += len(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        self.seen += 1
        if self._pieces is not None and len(self._path) == self._depth:
            self._collected("".join(self._pieces))
            self._pieces = None
        if self._entry and len(self._path) == self._entry.depth:
            self.entries.append(self._entry)
            self._entry = None
        elif tag == "folder" and not self._entry:
            self._folders.leave()
        self._path.pop()

    def _collected(self, text: str) -> None:
        if self._entry:
            self._entry.texts.setdefault(self._name, []).append(text)
            self._entry.size = self._size
        elif not self._is_toolbar:
            self._folders.name(folder_tags(text, self._folders.depth == 1))

    def close(self) -> None:
        """The document ends."""
        self.closed = True


def _fields(entry: _Entry) -> dict[str, object]:
    """The fields that a bookmark gives, in this service's own way of writing."""
    fields: dict[str, object] = {}
    given = entry.attributes
    if id := given.get("id"):
        fields["id"] = id.removeprefix("b-")
    for attribute, name in _ATTRIBUTES.items():
        if (value := given.get(attribute)) is not None:
            is_day = len(value) == 10 and name != "uri"
            fields[name] = _DAY.sub(r"\g<0>T00:00:00Z", value) if is_day else value
    for child, name in _CHILDREN.items():
        if texts := entry.texts.get(child):
            fields[name] = texts[0]
    if (tags := given.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields


def _item(entry: _Entry) -> Item:
    """The bookmark in whatever way it is written; of one without `b-` the id is another's."""
    if entry.kind in _LEFT_OUT:
        return Item(entry.line, {}, _LEFT_OUT[entry.kind])
    if entry.size > MAX_ENTRY:
        return Item(entry.line, {}, TOO_LARGE)
    fields = _fields(entry)
    if not entry.attributes.get("id", "").startswith("b-"):
        fields.pop("id", None)
    if tags := united(_tags(entry), entry.folders):
        fields["tags"] = tags
    moments = {name: _moment(entry.attributes.get(name)) for name in _DATES}
    moments["added"] = moments["added"] or date(entry.texts.get(_TIME, [""])[0])
    for name, moment in moments.items():
        fields.pop(_ATTRIBUTES[name], None)
        if moment:
            fields[_ATTRIBUTES[name]] = moment
    return item(entry.line, fields)


def _moment(value: str | None) -> str | None:
    """A date, which in XBEL may be a year or a month alone."""
    part = _PART.fullmatch(value or "")
    return date(f"{part[1]}-{part[2] or '01'}-01" if part else value)


def _tags(entry: _Entry) -> list[str]:
    # buku writes the attribute in upper case.
    own = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(_GROUP, ()) for tag in split_tags(text)]
    return split_tags(own) + groups + ["private"] * (_PRIVATE in entry.texts)
