"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from formats.errors import Malformed
from formats.imports.charset import decode_strictly
from formats.imports.entry import MAX_ENTRY, NO_URI, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, group_by_role, is_firefox_query, role_of
from formats.json import parse_strictly
from storage.bookmark import FIELDS, split_tags

# The names of members that contain entries and folders: arrays of both, arrays of folders alone,
# and objects. The objects are Chromium's folders and the windows of Tab Session Manager.
_ENTRY_ARRAYS = frozenset("bookmarks cards children data items links posts results tabs".split())
_FOLDER_ARRAYS = frozenset("collections folders groups lists sessions windows".split())
_ROOT_OBJECTS = frozenset("roots bookmark_bar bookmark_menu other synced windows".split())
_CONTAINERS = _ENTRY_ARRAYS | _FOLDER_ARRAYS | _ROOT_OBJECTS
_SEPARATORS = ("separator", "text/x-moz-place-separator")
_FOLDER_TYPES_AS_JSON = (b'"folder"', b'"text/x-moz-place-container"')
# floccus exports objects with the url of a server that it connects to, which are no bookmarks.
_FLOCCUS_ACCOUNT_MEMBERS = {"type", "username", "password"}
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
_ARRAY_OF_OBJECTS = re.compile(rb"\[\s*\{")  # Only its first brackets: it is not decoded.
_MAX_DEPTH = 200  # Arrays and objects, two for each folder. Python limits the recursion.
# msgspec gives no positions, so the walk searches the file for the first bytes of a value to know
# its line. To compare whole values would take long: outer arrays contain the inner values again.
_SEARCHED_BYTES = 1024

_Members = dict[str, Raw]  # By name, the values of an object that are not decoded yet.
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(_Members).decode
# Has only the members that show whether a document is a tree or a bookmark, b"" for absent ones.
_Document: Any = msgspec.defstruct("_Document", [(n, Raw, b"") for n in ("uri", *_CONTAINERS)])
_decode_document = msgspec.json.Decoder(_Document).decode
# Every message of msgspec gives a position, except the one for a document whose end is missing.
_DECODE_ERROR = re.compile(r"JSON is malformed: (?P<reason>.*) \(byte (?P<position>\d+)\)")


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
        reason = match["reason"] if match else "its end is missing"
        line = data.count(b"\n", 0, int(match["position"]) if match else len(data)) + 1
        raise Malformed(f"The JSON is malformed in line {line}: {reason}.") from None


def is_file(body: bytes, parameters: Mapping[str, str]) -> bool:
    """Return whether a body is a file to import: an array or a tree, not one bookmark.

    The values of the members are not decoded, so that no body costs much memory.
    """
    try:
        text = decode_strictly(body).lstrip()
        document = _decode_document(text) if text.startswith("{") else None
    except (Malformed, msgspec.DecodeError, RecursionError):
        return len(body) > MAX_ENTRY  # Only files may be so large: reading one reports the error.
    if document is None:
        return text.startswith("[")
    return not document.uri and any(getattr(document, name) for name in _CONTAINERS)


class _Walk:
    """A walk through the values of a document in the order of the file, which counts the lines."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self._line = 0, 1
        self._folders, self._depth = Folders(), 0  # The depth counts arrays and objects.

    def entries(self, raw: Raw, member_name: str = "") -> Iterator[ImportedEntry]:
        """Yield the entries in a value that is not decoded, from a member of this name, if any."""
        beginning = memoryview(raw)[:_SEARCHED_BYTES]
        # A skipped member may begin like the value. Then only the reported line is wrong.
        start = self._data.index(beginning, self._position)
        self._advance(start)
        first_byte, is_document = _first_byte(raw), self._depth == 0
        if first_byte not in (b"[", b"{"):
            yield ImportedEntry(self._line, {}, "is no object")
        elif self._depth > _MAX_DEPTH:
            yield ImportedEntry(self._line, {}, "is nested too deeply")
        elif first_byte == b"[":
            yield from self._entries_in((member_name, value) for value in _decode_array(raw))
        elif containers := _containers(members := _decode_object(raw), is_document):
            # The document itself is a folder only if it has children. Else it has an export's name.
            if is_folder := not is_document or "children" in members:
                # Browsers create folders only at the top, or inside the one folder at the top.
                may_be_built_in = self._folders.depth < 2
                has_no_tags = member_name in _ROOT_OBJECTS  # A browser's folder, or a window.
                tags = () if has_no_tags else _folder_tags(members, may_be_built_in)
                self._folders.open(tags)
            yield from self._entries_in(containers)
            if is_folder:
                self._folders.close()
        else:
            yield from self._entry_in(raw, members, member_name)
        self._advance(start + len(memoryview(raw)))  # To the end of the value.

    def _entry_in(self, raw: Raw, members: _Members, member_name: str) -> Iterator[ImportedEntry]:
        """Yield the entry in an object, none for an empty folder."""
        type_as_json = bytes(members.get("type", b""))
        entry = _read_object(raw, self._line, self._folders.tags)
        if entry.skip_reason == NO_URI:
            if skipped := [name for name, value in members.items() if _is_array_of_objects(value)]:
                reason = f"{NO_URI}, and its lists are not read: {', '.join(skipped)}"
                entry = entry._replace(skip_reason=reason)
            elif member_name in _FOLDER_ARRAYS or type_as_json in _FOLDER_TYPES_AS_JSON:
                return  # It is a folder, and has neither entries nor folders inside.
            if self._depth == 0:  # Tell the user to rename the list, so that it is found.
                raise Malformed(f"The JSON object {entry.skip_reason}. Name its list bookmarks.")
        yield entry

    def _entries_in(self, values: Iterable[tuple[str, Raw]]) -> Iterator[ImportedEntry]:
        self._depth += 1
        self._advance(self._position + 1)  # Past the opening bracket, to which `entries` advanced.
        for member_name, value in values:
            yield from self.entries(value, member_name)
        self._depth -= 1

    def _advance(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._position = position


def _containers(members: _Members, is_document: bool) -> list[tuple[str, Raw]]:
    """Return the members that contain entries or folders, none for an entry.

    An object with an address is an entry, whatever lists it has. But the address of the document
    itself, its outermost object, may be that of the user or site whose bookmarks it lists.
    """
    if not is_document and _has_address(members):
        return []
    containers = [member for member in members.items() if _is_container(*member, is_document)]
    # Tab Session Manager writes entries by id, in an object that has only objects.
    if not containers and all(_first_byte(raw) == b"{" for raw in members.values()):
        return list(members.items())
    return containers


def _is_container(name: str, raw: Raw, is_document: bool) -> bool:
    if _first_byte(raw) == b"{":
        return name in _ROOT_OBJECTS
    # An entry of Karakeep has an array `lists` of names, which are no folders: those are objects.
    # In the document itself, any array of such a name counts, even an empty one.
    if name in _FOLDER_ARRAYS and not is_document:
        return _is_array_of_objects(raw)
    return name in _CONTAINERS and _first_byte(raw) == b"["


def _has_address(members: _Members) -> bool:
    addresses = [raw for name, raw in members.items() if role_of(name) == "uri"]
    return any(_first_byte(raw) == b'"' and bytes(raw) != b'""' for raw in addresses)


def _first_byte(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _is_array_of_objects(raw: Raw) -> bool:
    return bool(_ARRAY_OF_OBJECTS.match(memoryview(raw)))


def _folder_tags(members: _Members, may_be_built_in: bool) -> tuple[str, ...]:
    """Return the tags for a folder, none for one that Firefox or Chromium creates itself."""
    if members.keys() & {"root", "folderType"}:  # Firefox writes the first, Chromium the second.
        return ()
    raw_title = members.get("title", members.get("name"))
    title = msgspec.json.decode(raw_title) if raw_title else None
    return folder_tags(title, may_be_built_in) if isinstance(title, str) else ()


def _read_object(raw: Raw, line: int, tags_of_folders: tuple[str, ...]) -> ImportedEntry:
    """Return the entry in an object, of this service's own export or of another program."""
    try:
        value = parse_strictly(bytes(raw).decode())
    except Malformed as error:
        return ImportedEntry(line, {}, str(error))
    assert isinstance(value, dict)
    if not tags_of_folders and _is_own(value):  # Exports of this service have no folders.
        return entry_with_uri(line, value)
    fields = _fields(value, tags_of_folders)
    is_separator = value.get("type") in _SEPARATORS
    is_floccus_server = _FLOCCUS_ACCOUNT_MEMBERS <= value.keys()  # Its url is no bookmark.
    if is_separator or is_floccus_server or is_firefox_query(fields.get("uri")):
        return ignored_entry(line)
    return entry_with_uri(line, fields)


def _fields(value: dict[str, object], tags_of_folders: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of an object of another program."""
    is_pinboard = "href" in value and not value.get("title")  # Others with `href` have a title.
    if is_pinboard:  # Its `description` is the title, and a bookmark not shared is private.
        is_private = value.get("shared") == "no" or value.get("private")
        title, description = value.get("description"), value.get("extended")
        value = value | {"title": title, "description": description, "private": is_private}
    content = value.get("content")
    if isinstance(content, dict) and content.get("url"):  # Karakeep describes the page in it.
        url = value.get("url") or content["url"]
        value = value | {"url": url, "website_title": content.get("title")}
    values_by_role = group_by_role(value.items())
    annotations = value.get("annos")
    for annotation in annotations if isinstance(annotations, list) else ():  # Of Firefox.
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            values_by_role.setdefault("description", []).append(annotation.get("value"))
    own_tags = _tags(values_by_role.get("tags", ()), are_separated_by_spaces=is_pinboard)
    return fields_of_roles(values_by_role, own_tags, tags_of_folders)


def _is_own(value: dict[str, object]) -> bool:
    """Return whether all members are fields of this service's bookmarks, in their types.

    buku writes tags as one text, and other programs write dates as numbers.
    """
    dates = [value[name] for name in ("created", "modified") if name in value]
    return (
        value.keys() <= set(FIELDS)
        and isinstance(value.get("tags", []), list)
        and all(isinstance(date, str) and "-" in date for date in dates)
    )


def _tags(values: Iterable[object], are_separated_by_spaces: bool) -> list[object]:
    """Return the tags in values: texts of several tags, or arrays of texts or of named objects."""
    tags: list[object] = []
    for value in values:
        if isinstance(value, str) and are_separated_by_spaces:
            value = value.split()
        for tag in value if isinstance(value, list) else [value]:
            tag = tag.get("name") if isinstance(tag, dict) else tag
            # Keep a tag that is no text: the importer reports it.
            tags += split_tags(tag) if isinstance(tag, str) else [tag]
    return tags
