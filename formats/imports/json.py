"""Read JSON files: arrays of bookmarks, answers of services, and trees of folders."""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw

from formats.errors import Malformed
from formats.imports.charset import decode_strictly
from formats.imports.entry import (
    MAX_DEPTH,
    TOO_DEEP,
    ImportedEntry,
    entry_with_uri,
    ignored_entry,
    is_firefox_query,
)
from formats.imports.folders import Folders, folder_tags, merge_tags
from formats.imports.roles import fields_of_roles, role_of
from formats.json import parse_strictly
from storage.bookmark import FIELDS, split_tags

# Members that are arrays of entries or folders (linkding, Karakeep, Firefox), or objects that
# contain folders (Chromium).
_ARRAYS = ("results", "bookmarks", "items", "children")
_OBJECTS = ("roots", "bookmark_bar", "other", "synced")
_FIREFOX_SEPARATOR = "text/x-moz-place-separator"
_FIREFOX_FOLDER = "text/x-moz-place-container"
_NO_OBJECT = "is no object"

_MAX_NEEDLE = 1024  # Searching for a long text would take long.

_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_DECODE_ERROR = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each object in an array or a tree, or the single object of the document.

    Raises Malformed before the first entry if the document is malformed anywhere.
    """
    data = decode_strictly(data).encode()
    document = _check_syntax(data)
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise Malformed("The JSON document must be an array or an object.")
    yield from _Walk(data).entries(document)


def _check_syntax(data: bytes) -> Raw:
    try:
        return msgspec.json.decode(data, type=Raw)
    except RecursionError:
        raise Malformed("The JSON is nested too deeply.") from None
    except msgspec.DecodeError as error:
        match = _DECODE_ERROR.fullmatch(str(error))
        reason, end = (match[1], int(match[2])) if match else ("its end is missing", len(data))
        line = data.count(b"\n", 0, end) + 1
        raise Malformed(f"The JSON is malformed in line {line}: {reason}.") from None


# --- The shape of the document ---


class _Walk:
    """A walk through the values of a document in their order, to know the line of each."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self._line = 0, 1
        self._folders, self._depth = Folders(), 0

    def entries(self, raw: Raw) -> Iterator[ImportedEntry]:
        """Yield the entries in a value, which stands behind the present position."""
        start = self._data.index(memoryview(raw)[:_MAX_NEEDLE], self._position)
        self._advance(start)
        first = self._data[start : start + 1]
        if first not in (b"[", b"{"):
            yield ImportedEntry(self._line, {}, _NO_OBJECT)
        elif self._depth > 2 * MAX_DEPTH:  # A folder is an object and an array.
            yield ImportedEntry(self._line, {}, TOO_DEEP)
        elif first == b"[":
            yield from self._entries_in(_decode_array(raw))
        elif containers := _containers(members := _decode_object(raw)):
            is_folder = "title" in members or "name" in members
            if is_folder:
                self._folders.open(_tags_of_folder(members, is_top=self._folders.depth < 2))
            yield from self._entries_in(containers)
            if is_folder:
                self._folders.close()
        else:
            yield from _object_entry(raw, self._line, self._folders.tags)
        self._advance(start + len(memoryview(raw)))

    def _entries_in(self, values: Iterable[Raw]) -> Iterator[ImportedEntry]:
        self._depth += 1
        self._advance(self._position + 1)  # Behind the opening bracket.
        for value in values:
            yield from self.entries(value)
        self._depth -= 1

    def _advance(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._position = position


def _containers(members: dict[str, Raw]) -> list[Raw]:
    """Return the members that contain entries or folders."""
    return [
        raw
        for name, raw in members.items()
        if name in _ARRAYS and _first(raw) == b"[" or name in _OBJECTS and _first(raw) == b"{"
    ]


def _first(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _tags_of_folder(members: dict[str, Raw], is_top: bool) -> tuple[str, ...]:
    """Return the tags for a folder, none for a `root` that Firefox creates itself."""
    for name in ("title", "name"):
        if name in members and "root" not in members:
            title = msgspec.json.decode(members[name])
            return folder_tags(title, is_top) if isinstance(title, str) else ()
    return ()


def _object_entry(raw: Raw, line: int, folders: tuple[str, ...]) -> Iterator[ImportedEntry]:
    """Yield the entry in an object, none for an empty folder."""
    try:
        value = parse_strictly(bytes(raw).decode())
    except Malformed as error:
        yield ImportedEntry(line, {}, str(error))
        return
    assert isinstance(value, dict)
    fields = _fields(value)
    if folders:
        own = fields.get("tags")
        fields["tags"] = merge_tags(own if isinstance(own, list) else [], folders)
    is_query = fields is not value and is_firefox_query(fields.get("uri"))
    if value.get("type") == _FIREFOX_SEPARATOR or is_query:
        yield ignored_entry(line)
    elif value.get("type") != _FIREFOX_FOLDER:
        yield entry_with_uri(line, fields)


# --- The fields of an entry ---


def _fields(value: dict[str, object]) -> dict[str, object]:
    """Return the fields of this service's own object, or of an object of another program."""
    if _is_own(value):
        return value
    separator = ","
    if "href" in value and not value.get("title"):  # Pinboard, where `description` is the title.
        is_private = value.get("shared") == "no" or value.get("private")
        title, description = value.get("description"), value.get("extended")
        value = value | {"title": title, "description": description, "private": is_private}
        separator = " "
    content = value.get("content")
    if isinstance(content, dict) and content.get("url"):  # Karakeep
        url = value.get("url") or content["url"]
        value = value | {"url": url, "website_title": content.get("title")}
    roles: dict[str, list[object]] = {}
    for name, member in value.items():
        if (role := role_of(name)) and member not in (None, "", [], False):
            roles.setdefault(role, []).append(member)
    roles.setdefault("description", []).extend(_firefox_descriptions(value))
    return fields_of_roles(roles, _tags(roles.get("tags", ()), separator))


def _is_own(value: dict[str, object]) -> bool:
    """Return whether an object has no other fields than a bookmark, in the types of this service.

    buku writes tags as one text, and other programs write dates as numbers.
    """
    dates = [value[name] for name in ("created", "modified") if name in value]
    return (
        value.keys() <= set(FIELDS)
        and isinstance(value.get("tags", []), list)
        and all(isinstance(date, str) and "-" in date for date in dates)
    )


def _tags(members: Iterable[object], separator: str) -> list[object]:
    """Return the tags in arrays of names or objects with a name, or in separated texts."""
    tags: list[object] = []
    for member in members:
        if isinstance(member, str) and separator == " ":
            member = member.split()
        for tag in member if isinstance(member, list) else [member]:
            tag = tag.get("name") if isinstance(tag, dict) else tag
            tags += split_tags(tag) if isinstance(tag, str) else [tag]
    return tags


def _firefox_descriptions(value: dict[str, object]) -> list[object]:
    annotations = value.get("annos")
    return [
        annotation.get("value")
        for annotation in (annotations if isinstance(annotations, list) else ())
        if isinstance(annotation, dict)
        and annotation.get("name") == "bookmarkProperties/description"
    ]
