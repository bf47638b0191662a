"""JSON (RFC 8259): a bookmark is an object of its seven fields, a list an array of those."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import msgspec
from msgspec import Raw

from formats import decode
from formats.errors import Malformed, Refused
from formats.item import (
    MARKS,
    MAX_DEPTH,
    MAX_ENTRY,
    QUERY,
    SEPARATOR,
    TOO_LARGE,
    Folders,
    Item,
    Stream,
    date,
    folder_tags,
    is_query,
    is_set,
    item,
    role_of,
    united,
)
from formats.view import View
from storage.bookmark import Bookmark, split_tags
from storage.errors import Invalid

_encode = msgspec.json.Encoder().encode
_TOGETHER = 20  # Bookmarks that are written in one piece.


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """An array, one bookmark on each line."""
    separator, rest = b"[\n", iter(bookmarks)
    while some := b",\n".join(map(_encode, islice(rest, _TOGETHER))):
        yield separator + some
        separator = b",\n"
    yield b"[]\n" if separator == b"[\n" else b"\n]\n"


def write_one(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """An object: the only bookmark there is."""
    for bookmark in bookmarks:
        yield _encode(bookmark) + b"\n"


def write_field(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The value of the view's field."""
    for bookmark in bookmarks:
        yield _encode(getattr(bookmark, view.field)) + b"\n"


def write_tags(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The view's tags: an array of objects, each of a tag and the number of its bookmarks."""
    yield _encode([{"tag": tag, "count": count} for tag, count in view.counts]) + b"\n"


def read_value(body: bytes) -> object:
    """The value that the body holds. Raises Malformed, for a name given twice too."""
    try:
        return _decoder.decode(body.decode("utf-8-sig"))
    except RecursionError:
        raise Malformed("The JSON is nested too deep.") from None
    except ValueError as error:
        raise Malformed(f"The body is not well-formed JSON: {error}.") from None


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The one bookmark that the body gives, as its fields. Raises Malformed or Invalid."""
    value = read_value(body)
    if not isinstance(value, dict):
        raise Invalid([("body", "must be a JSON object with the fields of a bookmark")])
    return [value]


def _no_constant(name: str) -> None:
    raise Malformed(f"The body is not well-formed JSON: {name} is no JSON value.")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Malformed("The JSON has an object with the same name twice.")
    return members


# Python reads no integer of more than 4,300 digits; no field is a number.
_decoder = json.JSONDecoder(parse_int=float, parse_constant=_no_constant, object_pairs_hook=_object)


# --- Reading a file ---


def is_file(body: bytes, parameters: Mapping[str, str]) -> bool:
    """Whether the body, of which this is the beginning, is an array and not one bookmark."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read_file(stream: Stream) -> Iterator[Item]:
    """Yield each object of an array, or a single one: of ours, Pinboard's, linkding's or Firefox'.

    Raise Malformed before the first entry if the document is not well-formed.
    """
    yield from _items(decode.utf_8(stream))


def read_upload(stream: Stream) -> Iterator[Item]:
    """Read a file that was sent over HTTP. Raise Malformed, or Refused for too many values."""
    data = decode.utf_8(stream)
    _limit_values(data)
    yield from _items(data)


# No other thread runs while the decoder finds the values of an array: 0.3 s for 4 million of them,
# but 1.3 s for the 16 million that fit into 32 MiB.
_MAX_CONTAINERS, _MAX_VALUES = 500_000, 4_000_000
# A string, or in group 1 the text before the next one. A string without an end is the last match.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([^"]++)', re.DOTALL)


def _limit_values(data: bytes) -> None:
    """Raise Refused if the document has too many values.

    Leaving out strings takes a hundred times as long as counting, so it is tried second.
    """
    if _are_few_values([data]):
        return
    if not _are_few_values(match[1] for match in _STRING.finditer(data) if match[1]):
        raise Refused(
            413,
            f"The JSON document has more than {_MAX_CONTAINERS:,} objects and arrays, or more than "
            f"{_MAX_VALUES:,} values. Import it with `bookmarks import` on the server.",
        )


def _are_few_values(parts: Iterable[bytes]) -> bool:
    containers = commas = 0
    for part in parts:
        containers += part.count(b"{") + part.count(b"[")
        commas += part.count(b",")
        if containers > _MAX_CONTAINERS or commas >= _MAX_VALUES:
            return False
    return True


# --- Documents and folders ---


class _Node(msgspec.Struct):
    """The members that tell an object that holds entries from one that is an entry."""

    # Lists of entries, such as that in a response of linkding.
    results: Raw = Raw()
    bookmarks: Raw = Raw()
    items: Raw = Raw()
    # Firefox: an object with children is a folder, with a root one that Firefox itself has made.
    children: Raw = Raw()
    title: Raw = Raw()
    root: Raw = Raw()
    type: Raw = Raw()
    # Chromium's profile.
    checksum: Raw = Raw()
    roots: Raw = Raw()


_CHROMIUM = "is a profile of Chromium: export it as HTML in its bookmark manager"
_CONTAINER, _SEPARATOR = b'"text/x-moz-place-container"', "text/x-moz-place-separator"
_NO_OBJECT, _TOO_DEEP = "is no object", "is nested too deep"

_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_node = msgspec.json.Decoder(_Node).decode
_decode_text = msgspec.json.Decoder(str).decode
_DECODE_ERROR = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")
# A value is searched for by its beginning, because to search for many MiB takes long.
_MAX_SEARCHED = 1024


class _Document:
    """A document whose `value` is decoded in parts, the places of which are byte offsets."""

    def __init__(self, data: bytes) -> None:
        """Check all of the document. Raise Malformed, which names the line, or RecursionError."""
        self._data = data
        self._line, self._counted = 1, 0
        try:
            self.value = _decode_raw(data)
        except msgspec.DecodeError as error:
            match = _DECODE_ERROR.fullmatch(str(error))
            reason, end = (match[1], int(match[2])) if match else ("its end is missing", len(data))
            reason += f" in line {self.line(end)}"
            raise Malformed(f"It is not well-formed JSON: {reason}.") from None

    def line(self, place: int) -> int:
        """Return the number of the line of this place; going back takes longer."""
        if place < self._counted:
            self._line, self._counted = 1, 0
        self._line += self._data.count(b"\n", self._counted, place)
        self._counted = place
        return self._line

    def find(self, raw: Raw, after: int) -> int:
        """Return the first place, not before `after`, of text that begins like this."""
        return self._data.index(memoryview(raw)[:_MAX_SEARCHED], after)

    def elements(self, array: Raw, after: int) -> Iterator[tuple[Raw, int]]:
        """Yield each value of the array and its place, which only separators precede."""
        place = self.find(array, after) + 1
        for raw in _decode_array(array):
            place = self.find(raw, place)
            yield raw, place
            place += len(raw)


def _items(data: bytes) -> Iterator[Item]:
    try:
        document = _Document(data)
        if _begins_with(document.value, b"["):
            yield from _entries(document, document.value)
        elif _begins_with(document.value, b"{"):
            yield from _object_items(document)
        else:
            raise Malformed("The JSON document must be an array or an object.")
    except RecursionError:
        raise Malformed("The JSON is nested too deep.") from None


def _begins_with(raw: Raw, character: bytes) -> bool:
    return memoryview(raw)[:1] == character


def _entries(document: _Document, array: Raw) -> Iterator[Item]:
    for raw, place in document.elements(array, 0):
        yield _entry(document.line(place), raw)


def _object_items(document: _Document) -> Iterator[Item]:
    """Yield the entries in the lists or folders of an object, or the one that the object is."""
    whole = _decode_node(document.value)
    lists = [v for v in (whole.results, whole.bookmarks, whole.items) if _begins_with(v, b"[")]
    for array in lists:
        yield from _entries(document, array)
    if whole.checksum and whole.roots:
        yield Item(document.line(document.find(document.value, 0)), {}, _CHROMIUM)
    elif not lists:
        yield from _tree(document)


def _tree(document: _Document) -> Iterator[Item]:
    """Yield the entries in Firefox' folders, which become tags, or the entry that the object is."""
    folders = Folders()
    levels = [iter([(document.value, document.find(document.value, 0))])]
    while levels:
        if (element := next(levels[-1], None)) is None:
            levels.pop()
            folders.leave()
            continue
        raw, place = element
        if not _begins_with(raw, b"{"):
            yield Item(document.line(place), {}, _NO_OBJECT)
        elif folders.depth >= MAX_DEPTH:
            yield Item(document.line(place), {}, _TOO_DEEP)
        elif _begins_with((folder := _decode_node(raw)).children, b"["):
            folders.enter(_folder_tags(folder))
            levels.append(document.elements(folder.children, place))
        elif bytes(folder.type) != _CONTAINER:
            yield _entry(document.line(place), raw, folders.tags)


def _folder_tags(folder: _Node) -> tuple[str, ...]:
    """Return the tags that stand for a folder, unless Firefox itself has made it."""
    if folder.root or not _begins_with(folder.title, b'"'):
        return ()
    return folder_tags(_decode_text(folder.title), is_top=False)


# --- Entries ---


def _entry(line: int, raw: Raw, folders: tuple[str, ...] = ()) -> Item:
    text = str(raw, "utf-8")
    if len(text) > MAX_ENTRY:
        return Item(line, {}, TOO_LARGE)
    try:
        value = _decoder.decode(text)
    except Malformed:  # The document is well-formed, so no other reason is left.
        return Item(line, {}, "has the same name twice")
    except RecursionError:
        return Item(line, {}, _TOO_DEEP)
    return _item(line, value, folders) if isinstance(value, dict) else Item(line, {}, _NO_OBJECT)


def _item(line: int, value: dict[str, object], folders: tuple[str, ...]) -> Item:
    if value.get("type") == _SEPARATOR:
        return Item(line, {}, SEPARATOR)
    fields = _fields(value)
    if folders:
        own = fields.get("tags")
        fields["tags"] = united(own if isinstance(own, list) else [], folders)
    if fields is not value and is_query(fields.get("uri")):
        return Item(line, fields, QUERY)
    return item(line, fields)


# --- The objects of others ---


def _fields(value: dict[str, object]) -> dict[str, object]:
    """A bookmark's fields; an object that is of no other known kind is taken for one of ours."""
    if "href" in value and not value.get("title"):
        return _given(value, _PINBOARD)
    if "href" in value or "url" in value:
        return _given(value, _OTHERS)
    if "typeCode" in value or "dateAdded" in value:
        return _given(value, _FIREFOX)
    if "uri" not in value and _named(value, "uri"):
        return _given(value, _OTHERS)
    content = value.get("content")
    if "uri" not in value and isinstance(content, dict) and content.get("url"):  # Karakeep's.
        page = {"url": content["url"], "website_title": content.get("title")}
        return _given(page | value, _OTHERS)
    return value


_Object = Mapping[str, object]
_Kind = Mapping[str, Callable[[_Object], object]]


def _given(value: _Object, kind: _Kind) -> dict[str, object]:
    """What the object gives of each field; what is null or empty is not given."""
    found = {field: get(value) for field, get in kind.items()}
    return {field: got for field, got in found.items() if got not in (None, "", [])}


def _description(value: _Object) -> object:
    """Its texts, each once, one under the other."""
    texts = [text for name in ("description", "notes") if (text := value.get(name))]
    if not all(isinstance(text, str) for text in texts):
        return texts
    texts += [value.get("note"), *_alike(value, "description")]
    found = {text.strip(): text for text in texts if isinstance(text, str) and text.strip()}
    return "\n\n".join(found.values())


def _tags(value: _Object, name: str, marks: Iterable[str], separator: str | None) -> object:
    """The tags in this member, be they in an array or in one text, and the marks."""
    tags = value.get(name) or []
    if isinstance(tags, str):
        tags = tags.split() if separator is None else split_tags(tags)
    if not isinstance(tags, list):
        return tags
    parts = (split_tags(tag) if isinstance(tag, str) else [tag] for tag in map(_tag_name, tags))
    return united((tag for part in parts for tag in part), tuple(marks))


def _tag_name(tag: object) -> object:
    """The name of a tag, be it a text or an object."""
    return tag.get("name") if isinstance(tag, dict) else tag


def _alike(value: _Object, wanted: str) -> Iterator[object]:
    """The members that tell by their names that they have this role."""
    return (member for name, member in value.items() if member and role_of(name) == wanted)


def _named(value: _Object, wanted: str) -> str | None:
    """The first text in this role; what is no text is something else that is called alike."""
    return next((text for text in _alike(value, wanted) if isinstance(text, str)), None)


def _moment(value: _Object, wanted: str) -> str | None:
    """The first date in this role; a number may count anything."""
    texts = (text for text in _alike(value, wanted) if isinstance(text, str))
    return next(filter(None, map(date, texts)), None)


def _own_or_labels(value: _Object) -> object:
    marks = _marks(value)
    for name in ("tag_names", "tags"):
        if name in value:
            return _tags(value, name, marks, ",")
    return united(marks, _labels(value))


def _labels(value: _Object) -> tuple[str, ...]:
    """The tags in members that are called alike, be they texts or objects with a name."""
    found: list[str] = []
    for tags in _alike(value, "tags"):
        for tag in tags if isinstance(tags, list) else [tags]:
            name = _tag_name(tag)
            found += split_tags(name) if isinstance(name, str) else []
    return tuple(found)


def _marks(value: _Object) -> list[str]:
    return [mark for mark in MARKS if any(map(is_set, _alike(value, mark)))]


def _pinboard_marks(value: _Object) -> list[str]:
    return _marks({**value, "private": value.get("shared") == "no" or value.get("private")})


def _firefox_description(value: _Object) -> object:
    notes = value.get("annos")
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, dict) and note.get("name") == "bookmarkProperties/description":
            return note.get("value")
    return None


_PINBOARD: _Kind = {
    "uri": lambda v: v["href"],
    "title": lambda v: v.get("description") or None,  # It is false for want of one.
    "description": lambda v: v.get("extended"),
    "tags": lambda v: _tags(v, "tags", _pinboard_marks(v), None),
    "created": lambda v: date(v.get("time")) or _moment(v, "created"),
    "modified": lambda v: _moment(v, "modified"),
}
# linkding's names, and for what they don't tell, those that one can recognize. That a bookmark is
# not shared is no mark in linkding, but how every one begins.
_OTHERS: _Kind = {
    "uri": lambda v: v.get("href") or v.get("url") or _named(v, "uri"),
    "title": lambda v: v.get("title") or v.get("website_title") or _named(v, "title"),
    "description": _description,
    "tags": _own_or_labels,
    "created": lambda v: (
        date(v.get("date_added") or v.get("created"))
        or _moment(v, "created")
        or date(v.get("createdAt"))
    ),
    "modified": lambda v: (
        date(v.get("date_modified") or v.get("modified")) or _moment(v, "modified")
    ),
}
_FIREFOX: _Kind = {
    "uri": lambda v: v.get("uri"),
    "title": lambda v: v.get("title"),
    "description": _firefox_description,
    "tags": lambda v: _tags(v, "tags", (), ","),
    "created": lambda v: date(v.get("dateAdded")),
    "modified": lambda v: date(v.get("lastModified")),
}
