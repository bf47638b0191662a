"""Read JSON files: arrays of bookmarks, answers of services, and trees of folders."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from formats.errors import Malformed
from formats.imports.charset import decode_strictly
from formats.imports.entry import (
    MAX_DEPTH,
    MAX_ENTRY,
    NO_URI,
    TOO_DEEP,
    ImportedEntry,
    entry_with_uri,
    ignored_entry,
    is_firefox_query,
)
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, role_of, values_by_role
from formats.json import parse_strictly
from storage.bookmark import FIELDS, split_tags

# Members that are arrays of entries and folders, arrays of folders alone, and objects whose members
# are folders or entries.
_ENTRIES = frozenset("bookmarks cards children data items links posts results tabs".split())
_FOLDERS = frozenset("collections folders groups lists sessions windows".split())
_ROOTS = frozenset("roots bookmark_bar bookmark_menu other synced windows".split())
_CONTAINERS = _ENTRIES | _FOLDERS | _ROOTS
_SEPARATORS = ("separator", "text/x-moz-place-separator")
_FOLDER_TYPES = (b'"folder"', b'"text/x-moz-place-container"')
_ACCOUNT = {"type", "username", "password"}  # The settings of floccus, which are no bookmark.
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
_ARRAY_OF_OBJECTS = re.compile(rb"\[\s*\{")
_MAX_NEEDLE = 1024  # A value is found by its beginning: searching for a long one would take long.

_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
# The members that show whether a document is a tree or a bookmark; all others are skipped.
_Document: Any = msgspec.defstruct("_Document", [(n, Raw, b"") for n in ("uri", *_CONTAINERS)])
_decode_document = msgspec.json.Decoder(_Document).decode
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


def is_file(body: bytes, parameters: Mapping[str, str]) -> bool:
    """Return whether a body is an array or a tree, and not one bookmark.

    Only the names of the members are decoded, so that no body costs much memory.
    """
    try:
        text = decode_strictly(body).lstrip()
        document = _decode_document(text) if text.startswith("{") else None
    except (Malformed, msgspec.DecodeError, RecursionError):
        return len(body) > MAX_ENTRY
    if document is None:
        return text.startswith("[")
    return not document.uri and any(getattr(document, name) for name in _CONTAINERS)


# --- The shape of the document ---


class _Walk:
    """A walk through the values of a document in their order, to know the line of each."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self._line = 0, 1
        self._folders, self._depth = Folders(), 0

    def entries(self, raw: Raw, member: str = "") -> Iterator[ImportedEntry]:
        """Yield the entries in a value, which comes after the present position.

        `member` is the name of the member that contains the value, if it is part of a tree.
        """
        start = self._data.index(memoryview(raw)[:_MAX_NEEDLE], self._position)
        self._advance(start)
        first = _first_byte(raw)
        if first not in (b"[", b"{"):
            yield ImportedEntry(self._line, {}, "is no object")
        elif self._depth > 2 * MAX_DEPTH:  # A folder is an object and an array.
            yield ImportedEntry(self._line, {}, TOO_DEEP)
        elif first == b"[":
            yield from self._entries_in((member, value) for value in _decode_array(raw))
        elif containers := _containers(members := _decode_object(raw), self._depth == 0):
            # The name of a document without a tree is the name of the user or of the export.
            if is_folder := self._depth > 0 or "children" in members:
                is_top = self._folders.depth < 2
                self._folders.open(() if member in _ROOTS else _folder_tags(members, is_top))
            yield from self._entries_in(containers)
            if is_folder:
                self._folders.close()
        else:
            yield from self._object_entry(raw, members, member)
        self._advance(start + len(memoryview(raw)))

    def _object_entry(
        self, raw: Raw, members: dict[str, Raw], member: str
    ) -> Iterator[ImportedEntry]:
        """Yield the entry in an object, none for an empty folder."""
        entry = _read_object(raw, self._line, self._folders.tags)
        if entry.skip_reason == NO_URI:
            if unread := [name for name, raw in members.items() if _has_objects(raw)]:
                reason = f"{NO_URI}, and its lists are not read: {', '.join(unread)}"
                entry = entry._replace(skip_reason=reason)
            elif member in _FOLDERS or bytes(members.get("type", b"")) in _FOLDER_TYPES:
                return
            if self._depth == 0:
                raise Malformed(f"The JSON object {entry.skip_reason}. Name its list bookmarks.")
        yield entry

    def _entries_in(self, values: Iterable[tuple[str, Raw]]) -> Iterator[ImportedEntry]:
        self._depth += 1
        self._advance(self._position + 1)  # Skip the opening bracket.
        for member, value in values:
            yield from self.entries(value, member)
        self._depth -= 1

    def _advance(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._position = position


def _containers(members: dict[str, Raw], is_document: bool) -> list[tuple[str, Raw]]:
    """Return the members that contain entries or folders, none for an entry.

    An entry may have lists of other things, so below the document an address makes an entry.
    """
    if not is_document and _has_address(members):
        return []
    found = [pair for pair in members.items() if _is_container(*pair, is_document)]
    if not found and all(_first_byte(raw) == b"{" for raw in members.values()):
        return list(members.items())
    return found


def _is_container(name: str, raw: Raw, is_document: bool) -> bool:
    if _first_byte(raw) == b"{":
        return name in _ROOTS
    if name in _FOLDERS and not is_document:  # Karakeep names the lists of an entry so.
        return _has_objects(raw)
    return name in _CONTAINERS and _first_byte(raw) == b"["


def _has_address(members: dict[str, Raw]) -> bool:
    return any(
        _first_byte(raw) == b'"' and len(memoryview(raw)) > 2
        for name, raw in members.items()
        if role_of(name) == "uri"
    )


def _first_byte(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _has_objects(raw: Raw) -> bool:
    return bool(_ARRAY_OF_OBJECTS.match(memoryview(raw)))


def _folder_tags(members: dict[str, Raw], is_top: bool) -> tuple[str, ...]:
    """Return the tags for a folder, none for one that Firefox or Chromium creates itself."""
    for name in ("title", "name"):
        if name in members and not members.keys() & {"root", "folderType"}:
            title = msgspec.json.decode(members[name])
            return folder_tags(title, is_top) if isinstance(title, str) else ()
    return ()


def _read_object(raw: Raw, line: int, folders: tuple[str, ...]) -> ImportedEntry:
    """Return the entry in an object."""
    try:
        value = parse_strictly(bytes(raw).decode())
    except Malformed as error:
        return ImportedEntry(line, {}, str(error))
    assert isinstance(value, dict)
    fields = _fields(value, folders)
    is_query = fields is not value and is_firefox_query(fields.get("uri"))
    if is_query or value.get("type") in _SEPARATORS or _ACCOUNT <= value.keys():
        return ignored_entry(line)
    return entry_with_uri(line, fields)


# --- The fields of an entry ---


def _fields(value: dict[str, object], folders: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of this service's own object, or of an object of another program."""
    if not folders and _is_own(value):
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
    values = values_by_role(value.items())
    annotations = value.get("annos")
    for annotation in annotations if isinstance(annotations, list) else ():  # Firefox
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            values.setdefault("description", []).append(annotation.get("value"))
    return fields_of_roles(values, _tags(values.get("tags", ()), separator), folders)


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
