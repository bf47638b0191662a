"""JSON (RFC 8259): a bookmark is an object of its seven fields, a list an array of those."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from formats import decode
from formats.errors import Malformed
from formats.item import (
    MARKS,
    MAX_DEPTH,
    QUERY,
    SEPARATOR,
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
from formats.jsontext import TOO_DEEP, JsonText, Refused
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
    """Each object of an array, or a single one: of ours, Pinboard's, linkding's or Firefox'.

    Raises Malformed where it is no JSON.
    """
    text = JsonText(decode.text(stream, mend=False))
    if text.peek() == "[":
        yield from _entries(text)
    elif text.peek() == "{":
        yield from _node(text, Folders())
    else:
        raise text.malformed("an array or an object is missing")
    if text.peek():
        raise text.malformed("there is something after its end")


def _entries(text: JsonText) -> Iterator[Item]:
    for _ in text.elements():
        line = text.line
        try:
            value = text.value()
        except Refused as refusal:
            yield Item(line, {}, str(refusal))
        else:
            yield _item(line, value, text.wrong, ())


# Members in which others keep a list of entries, such as linkding's answers.
_LISTS = ("results", "bookmarks", "items")


def _node(text: JsonText, folders: Folders) -> Iterator[Item]:
    """The entries of an object that may be large, such as a folder of Firefox, or the one it is."""
    line, is_list, wrong = text.line, False, ""
    members: dict[str, object] = {}
    for name in text.members():
        if name in members:
            wrong = "has the same name twice"
        if text.peek() == "[" and name in (*_LISTS, "children"):
            is_list = True
            yield from _entries(text) if name in _LISTS else _children(text, members, folders)
            continue
        try:
            members[name] = text.value()
            wrong = wrong or text.wrong
        except Refused as refusal:
            members[name], wrong = None, str(refusal)
    if not is_list and members.get("type") != _CONTAINER:
        yield _item(line, members, wrong, folders.tags)


def _children(text: JsonText, folder: dict[str, object], folders: Folders) -> Iterator[Item]:
    """The entries of a folder of Firefox, which has told its own name before."""
    name = "" if "root" in folder else str(folder.get("title") or "")
    folders.enter(folder_tags(name, is_top=False))
    for _ in text.elements():
        if text.peek() == "{" and folders.depth < MAX_DEPTH:
            yield from _node(text, folders)
        else:
            yield _left_out(text)
    folders.leave()


def _left_out(text: JsonText) -> Item:
    line, reason = text.line, "is no object"
    if text.peek() in "[{":
        reason = TOO_DEEP
        text.skip()
    else:
        text.value()
    return Item(line, {}, reason)


# --- The objects of others ---

_CHROMIUM = "is a profile of Chromium: export it as HTML in its bookmark manager"
_CONTAINER, _SEPARATOR = "text/x-moz-place-container", "text/x-moz-place-separator"


def _item(line: int, value: object, wrong: str, folders: tuple[str, ...]) -> Item:
    if not isinstance(value, dict):
        return Item(line, {}, wrong or "is no object")
    if value.get("type") == _SEPARATOR:
        return Item(line, {}, SEPARATOR)
    fields = _fields(value)
    if fields is not value and is_query(fields.get("uri")):
        wrong = QUERY
    if "roots" in value and not fields.get("uri"):
        wrong = _CHROMIUM
    if folders:
        own = fields.get("tags")
        fields["tags"] = united(own if isinstance(own, list) else [], folders)
    return Item(line, fields, wrong) if wrong else item(line, fields)


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
