"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from formats.imports.entry import NO_URI, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, group_by_role, role_of
from formats.json import parse_strictly
from formats.netscape import is_firefox_query
from formats.text import decode_strictly
from storage.bookmark import FIELDS, MAX_TAGS, split_tags
from storage.errors import Malformed

# The names of members that contain entries and folders: arrays of both, arrays of folders alone,
# and objects. The objects are Chromium's folders and the windows of Tab Session Manager.
_ENTRY_ARRAYS = frozenset("bookmarks cards children data items links posts results tabs".split())
_FOLDER_ARRAYS = frozenset("collections folders groups lists sessions windows".split())
_ROOT_OBJECTS = frozenset("roots bookmark_bar bookmark_menu other synced windows".split())
_CONTAINERS = _ENTRY_ARRAYS | _FOLDER_ARRAYS | _ROOT_OBJECTS
_SEPARATOR_TYPES = ("separator", "text/x-moz-place-separator")
_FOLDER_TYPES = ("folder", "text/x-moz-place-container")
# An account of floccus has these members. It is no bookmark, because its url is a sync server's.
_FLOCCUS_ACCOUNT_MEMBERS = {"type", "username", "password"}
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"  # Firefox's name of this annotation.
_ARRAY_OF_OBJECTS = re.compile(rb"\[\s*\{")
_LIST = re.compile(rb'\[\s*(?:\{|"[A-Za-z][A-Za-z0-9+.-]*://)')  # Of objects or of addresses.
# Lists with other things than bookmarks, or with bookmarks that stand elsewhere in the file, too.
_OTHER_LISTS = frozenset("annos labels pinnedLinks rssSubscriptions tags".split())
_MAX_DEPTH = 200  # Arrays and objects, two for each folder. Python limits the recursion.
_MAX_CHAIN = 20  # Folders of which each names its parent. A damaged file may have a circle of them.

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
_OBJECT, _ARRAY, _TEXT = b"{", b"[", b'"'  # The first bytes of JSON values of these types.
_Members = dict[str, Raw]  # By name, the values of an object, which are not decoded yet.
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(_Members).decode
_NamedFolder: Any = msgspec.defstruct(
    "_NamedFolder", [("id", Any, None), ("name", Any, ""), ("parentId", Any, None)]
)
_decode_folders = msgspec.json.Decoder(list[_NamedFolder]).decode
# Every message of msgspec gives a position, except the one for a file whose end is missing.
_ERROR_WITH_POSITION = re.compile(r"JSON is malformed: (?P<reason>.*) \(byte (?P<position>\d+)\)")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first one if any part is malformed."""
    data = decode_strictly(data).encode()  # UTF-8 without a BOM, as msgspec requires.
    outermost_value = _check_syntax(data)
    if _type(outermost_value) not in (_ARRAY, _OBJECT):
        raise Malformed("The JSON document must be an array or an object.")
    yield from _Walk(data, _NamedFolders(outermost_value)).entries_in(outermost_value)


def _check_syntax(data: bytes) -> Raw:
    """Return the outermost value, not decoded. Raises Malformed, naming the line of an error."""
    try:
        return msgspec.json.decode(data, type=Raw)  # As Raw, to check the syntax alone.
    except RecursionError:
        raise Malformed("The JSON is nested too deeply.") from None
    except msgspec.DecodeError as error:
        match = _ERROR_WITH_POSITION.fullmatch(str(error))
        reason = match["reason"] if match else "its end is missing"
        line = data.count(b"\n", 0, int(match["position"]) if match else len(data)) + 1
        raise Malformed(f"The JSON is malformed in line {line}: {reason}.") from None


class _LineCounter:
    """The lines of values, found by searching the file: msgspec gives no positions of values."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self.line = 0, 1  # The position where the next search begins, and its line.

    def advance_to_value(self, value: Raw) -> int:
        """Set `line` to that of the value's next occurrence, and return its position."""
        # To compare all bytes would take long, because outer values contain the inner ones again.
        # A skipped member with the same first bytes is found instead: then only the line is wrong.
        start = self._data.index(memoryview(value)[:1024], self._position)
        self.advance_to(start + 1)  # So that an inner `[` is not found at the outer one.
        return start

    def advance_to(self, position: int) -> None:
        self.line += self._data.count(b"\n", self._position, position)
        self._position = position


class _NamedFolders:
    """The tags of folders by id: Karakeep's lists and Linkwarden's collections."""

    def __init__(self, outermost_value: Raw) -> None:
        self._tags_and_parents: dict[str, tuple[tuple[str, ...], object]] = {}
        members = _decode_object(outermost_value) if _type(outermost_value) == _OBJECT else {}
        for name in _FOLDER_ARRAYS & members.keys():
            with suppress(msgspec.ValidationError):  # Of an array of other things than objects.
                for folder in _decode_folders(members[name]):
                    tags = folder_tags(str(folder.name or ""), folder.parentId is None)
                    self._tags_and_parents[str(folder.id)] = tags, folder.parentId

    def tags(self, id: object) -> tuple[str, ...]:
        """Return the tags of the folder of this id and of those around it, the outermost first."""
        tags: tuple[str, ...] = ()
        for _ in range(_MAX_CHAIN):
            own_tags, id = self._tags_and_parents.get(str(id), ((), None))
            tags = own_tags + tags
        return tags

    def tags_of_all(self, ids: Raw | None) -> tuple[str, ...]:
        """Return the tags of the folders in an array of ids, none for any other value."""
        array = msgspec.json.decode(ids) if ids and _type(ids) == _ARRAY else []
        return tuple(tag for id in array[:MAX_TAGS] for tag in self.tags(id))[:MAX_TAGS]


class _Walk:
    """A walk through the values of a file, which yields the entries in the order of the file."""

    def __init__(self, data: bytes, named_folders: _NamedFolders) -> None:
        self._lines = _LineCounter(data)
        self._named_folders = named_folders
        self._folders = Folders()
        self._depth = 0  # The number of arrays and objects around the present value.

    def entries_in(self, value: Raw, member_name: str = "") -> Iterator[ImportedEntry]:
        """Yield the entries in a value: the outermost one, or one in the member `member_name`."""
        start = self._lines.advance_to_value(value)
        if _type(value) not in (_ARRAY, _OBJECT):
            yield ImportedEntry(self._lines.line, {}, skip_reason="is no object")
        elif self._depth > _MAX_DEPTH:
            yield ImportedEntry(self._lines.line, {}, skip_reason="is nested too deeply")
        elif _type(value) == _ARRAY:
            yield from self._entries_in_all((member_name, item) for item in _decode_array(value))
        else:
            yield from self._entries_in_object(value, member_name)
        self._lines.advance_to(start + len(memoryview(value)))

    def _entries_in_all(self, values: Iterable[tuple[str, Raw]]) -> Iterator[ImportedEntry]:
        self._depth += 1
        for member_name, value in values:
            yield from self.entries_in(value, member_name)
        self._depth -= 1

    def _entries_in_object(self, value: Raw, member_name: str) -> Iterator[ImportedEntry]:
        members, is_outermost = _decode_object(value), self._depth == 0
        containers = _containers(members, is_outermost)
        if not containers:
            yield from self._entry_in(value, members, member_name)
            return
        if lists := _unread_lists(members, containers):
            title = _text(members.get("title", members.get("name")))
            yield ImportedEntry(self._lines.line, {"title": title}, f"has {lists}")
        # An export without `children` is no folder: its name, such as the user's, is no tag.
        is_folder = not is_outermost or "children" in members
        self._folders.open(self._tags_of_folder(members, member_name) if is_folder else ())
        yield from self._entries_in_all(containers)
        self._folders.close()

    def _entry_in(self, raw: Raw, members: _Members, member_name: str) -> Iterator[ImportedEntry]:
        """Yield the entry in an object, none for a folder without entries."""
        tags = self._folders.tags + self._named_folders.tags_of_all(members.get("lists"))
        entry = _read_object(raw, self._lines.line, tags)
        if entry.skip_reason == NO_URI:
            is_folder = member_name in _FOLDER_ARRAYS or _text(members.get("type")) in _FOLDER_TYPES
            if lists := _unread_lists(members, ()):
                entry = entry._replace(skip_reason=f"{NO_URI}, and has {lists}")
            elif is_folder and b"://" not in memoryview(raw).tobytes():
                return  # An empty folder.
            if self._depth == 0:  # The outermost object. Its list, if any, has an unknown name.
                raise Malformed(f"The JSON object {entry.skip_reason}. {_ADVICE}")
        yield entry

    def _tags_of_folder(self, members: _Members, member_name: str) -> tuple[str, ...]:
        """Return the tags for a folder, none for one that a browser creates itself."""
        # Firefox marks its own folders by `root`, Chromium by `folderType` or a name like `other`.
        if member_name in _ROOT_OBJECTS or members.keys() & {"root", "folderType"}:
            return ()
        title = _text(members.get("title", members.get("name")))
        parent = members.get("parentId")
        tags_around = self._named_folders.tags(msgspec.json.decode(parent)) if parent else ()
        # Built-in folders are at the top, or inside one root folder, as in Firefox's backups.
        return tags_around + folder_tags(title, may_be_built_in=self._folders.depth < 2)


def _unread_lists(members: _Members, containers: Iterable[tuple[str, Raw]]) -> str:
    """Return a text with the names of the lists that are no containers, empty without any."""
    known = _OTHER_LISTS.union(name for name, _ in containers)
    lists = [name for name, value in members.items() if name not in known and _LIST.match(value)]
    return f"lists that are not read: {', '.join(lists)}" if lists else ""


def _containers(members: _Members, is_outermost: bool) -> list[tuple[str, Raw]]:
    """Return the members of an object that contain entries or folders, none for an entry."""
    # An object with an address is an entry, whatever lists it has. But the address of the outermost
    # object may be that of the user or site whose bookmarks the object lists.
    has_address = any(_text(value) for name, value in members.items() if role_of(name) == "uri")
    if has_address and not is_outermost:
        return []
    containers = [member for member in members.items() if _is_container(*member, is_outermost)]
    # Tab Session Manager writes objects of windows and of tabs, whose members' names are ids.
    if not containers and all(_type(value) == _OBJECT for value in members.values()):
        return list(members.items())
    return containers


def _is_container(name: str, value: Raw, is_outermost: bool) -> bool:
    """Return whether a member's value is for entries or folders, by its name and type."""
    if _type(value) == _OBJECT:
        return name in _ROOT_OBJECTS or (is_outermost and name in _ENTRY_ARRAYS)
    # An entry of Karakeep has texts in `lists`, so inside an export only arrays of objects count.
    if name in _FOLDER_ARRAYS and not is_outermost:
        return _ARRAY_OF_OBJECTS.match(value) is not None
    return name in _CONTAINERS and _type(value) == _ARRAY


def _type(value: Raw) -> bytes:
    return bytes(memoryview(value)[:1])


def _text(value: Raw | None) -> str:
    """Return the text of a value, empty for a missing member (None) and for any other value."""
    return msgspec.json.decode(value, type=str) if value and _type(value) == _TEXT else ""


def _read_object(raw: Raw, line: int, tags_of_folders: tuple[str, ...]) -> ImportedEntry:
    """Return the entry in an object, of this service's own export or of another program."""
    text = bytes(raw).decode()  # `read_file` has encoded the text, so this cannot fail.
    try:
        value = parse_strictly(text)  # Refuses repeated names, which msgspec accepts.
    except Malformed as error:
        return ImportedEntry(line, {}, skip_reason=str(error))
    assert isinstance(value, dict)  # Only objects are passed.
    if not tags_of_folders and _is_from_own_export(value):  # Our exports have no folders.
        return entry_with_uri(line, value)
    fields = fields_of_members(value, tags_of_folders)
    is_separator = value.get("type") in _SEPARATOR_TYPES
    is_floccus_account = _FLOCCUS_ACCOUNT_MEMBERS <= value.keys()  # Its url is a sync server's.
    if is_separator or is_floccus_account or is_firefox_query(fields.get("uri")):
        return ignored_entry(line)
    return entry_with_uri(line, fields)


def fields_of_members(
    value: dict[str, object], tags_of_folders: tuple[str, ...]
) -> dict[str, object]:
    """Return the fields of an object of another program."""
    # Pinboard writes `href` and no `title`. Other programs that write `href` also write a title.
    is_pinboard = "href" in value and not value.get("title")
    if is_pinboard:
        value = value | {"title": value.get("description"), "description": value.get("extended")}
    content = value.get("content")
    # Karakeep describes the page in `content`. The page's title counts if `title` is empty.
    if isinstance(content, dict) and content.get("url"):
        value = value | {"content_url": content["url"], "website_title": content.get("title")}
    values_by_role = group_by_role(value.items())  # The role of `href` and `link` is `uri`.
    values_by_role.setdefault("description", []).extend(_nested_descriptions(value))
    own_tags = _tags(values_by_role.get("tags", ()), are_separated_by_spaces=is_pinboard)
    return fields_of_roles(values_by_role, own_tags, tags_of_folders)


def _nested_descriptions(value: dict[str, object]) -> Iterator[object]:
    """Yield the descriptions that Vivaldi and Firefox write deeper in an object."""
    vivaldi, firefox = value.get("meta_info"), value.get("annos")
    if isinstance(vivaldi, dict):
        yield vivaldi.get("Description")
    for annotation in firefox if isinstance(firefox, list) else ():
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield annotation.get("value")


def _is_from_own_export(value: dict[str, object]) -> bool:
    """Return whether an object looks like one from this service, which needs no conversion."""
    # Other programs use these names, too: buku has a text of all tags, others dates of digits only.
    has_list_of_tags = isinstance(value.get("tags", []), list)
    dates = [value[name] for name in ("created", "modified") if name in value]
    are_dates_hyphenated = all(isinstance(date, str) and "-" in date for date in dates)
    has_only_fields_of_this_service = value.keys() <= set(FIELDS)
    return has_only_fields_of_this_service and has_list_of_tags and are_dates_hyphenated


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
