"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from formats.charset import decode, require_valid_utf_16
from formats.imports.entry import MAX_ENTRY, NO_URI, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import folder_tags
from formats.imports.roles import fields_of_roles, group_by_role, role_of
from formats.json import parse_strictly
from formats.netscape import is_firefox_query
from storage.bookmark import FIELDS, MAX_TAGS, split_tags
from storage.errors import Malformed

# The names of members that contain entries and folders: arrays of folders, arrays of both, and
# objects, which Chromium, Opera, Vivaldi and Tab Session Manager write.
_FOLDER_LISTS = frozenset("collections folders groups lists sessions windows".split())
_ENTRY_LISTS = frozenset("bookmarks cards children data items links posts results tabs".split())
_ROOT_OBJECTS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash".split()
)
_CONTAINERS = _FOLDER_LISTS | _ENTRY_LISTS | _ROOT_OBJECTS
_FOLDER_TYPES = ("folder", "text/x-moz-place-container")
# An account of floccus has these members. It is no bookmark, because its url is a sync server's.
_FLOCCUS_ACCOUNT_MEMBERS = {"type", "username", "password"}
# Members of an object inside an entry, of Karakeep and Vivaldi, and their names in `roles`.
_INNER_MEMBERS = (
    ("content", "url", "content_url"),
    ("content", "title", "website_title"),
    ("meta_info", "Description", "description"),
)
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"  # Firefox's name of this annotation.
_ARRAY_OF_OBJECTS = re.compile(rb"\[\s*\{")
# A value may have bookmarks if an array of objects, arrays or texts is in it, and an address.
_LIST, _ADDRESS = re.compile(rb'\[\s*[\[{"]'), re.compile(rb'"[A-Za-z][\w+.-]{0,99}://[^\s"]')
# Lists with other things than bookmarks, or with bookmarks that stand elsewhere in the file, too.
_OTHER_LISTS = frozenset("annos labels pinnedLinks rssSubscriptions tags".split())
_MAX_DEPTH = 200  # Arrays and objects, two for each folder. Python limits the recursion.
_MAX_CHAIN = 20  # Folders of which each names its parent. A damaged file may have a circle of them.

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
_OBJECT, _ARRAY, _TEXT = b"{", b"[", b'"'  # The first bytes of JSON values of these types.
_NULL = b"null"
_Members = dict[str, Raw]  # By name, the values of an object, which are not decoded yet.
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(_Members).decode
# Lines of JSON objects, each of which is a document of its own, have this error of msgspec.
_HINT = ("trailing characters", "trailing characters: put [ ] around all, and commas between")
# Every message of msgspec gives a position, except the one for a file whose end is missing.
_ERROR_WITH_POSITION = re.compile(r"JSON is malformed: (?P<reason>.*) \(byte (?P<position>\d+)\)")


class _NamedFolder(msgspec.Struct):
    """A folder that others name by its id: a list of Karakeep, or a collection of Linkwarden.

    Ids are only compared, so they are not decoded: a number may be too large.
    """

    id: Raw = Raw(_NULL)
    name: Any = ""
    parentId: Raw = Raw(_NULL)


_TagsAndParent = tuple[tuple[str, ...], bytes]
_decode_folders = msgspec.json.Decoder(list[_NamedFolder]).decode


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry.

    Raises Malformed before the first one if any part is malformed; further on, if an object that
    contains lists has the same name twice.
    """
    require_valid_utf_16(data)
    # UTF-8 without a BOM, as msgspec requires.
    data = decode(data).encode()
    outermost_value = _check_syntax(data)
    if _type(outermost_value) not in (_ARRAY, _OBJECT):
        raise Malformed("The JSON document must be an array or an object.")
    yield from _Walk(data, outermost_value).entries_in(outermost_value)


def _check_syntax(data: bytes) -> Raw:
    """Return the outermost value, not decoded. Raises Malformed, naming the line of an error."""
    try:
        return msgspec.json.decode(data, type=Raw)  # As Raw, to check the syntax alone.
    except RecursionError:
        raise Malformed("The JSON is nested too deeply.") from None
    except msgspec.DecodeError as error:
        match = _ERROR_WITH_POSITION.fullmatch(str(error))
        reason = match["reason"].replace(*_HINT) if match else "its end is missing"
        line = data.count(b"\n", 0, int(match["position"]) if match else len(data)) + 1
        raise Malformed(f"The JSON is malformed in line {line}: {reason}.") from None


def _read_named_folders(outermost_value: Raw) -> Iterator[tuple[bytes, _TagsAndParent]]:
    """Yield the id, the tags and the id of the parent of each folder that has an id."""
    members = _decode_object(outermost_value) if _type(outermost_value) == _OBJECT else {}
    for name in _FOLDER_LISTS & members.keys():
        with suppress(msgspec.ValidationError):  # Of an array of other things than objects.
            for folder in _decode_folders(members[name]):
                parent = bytes(folder.parentId)
                tags = folder_tags(str(folder.name or ""), may_be_built_in=parent == _NULL)
                yield bytes(folder.id), (tags, parent)


class _Walk:
    """A walk through the values of a file, which yields the entries in the order of the file."""

    def __init__(self, data: bytes, outermost_value: Raw) -> None:
        self._data = data
        self._position, self._line = 0, 1  # The position in the file, and its line.
        # No parent ends a chain of folders, so it has no tags and no parent.
        self._named_folders = dict(_read_named_folders(outermost_value)) | {_NULL: ((), _NULL)}

    def entries_in(
        self, value: Raw, name: str = "", depth: int = 0, tags: tuple[str, ...] = ()
    ) -> Iterator[ImportedEntry]:
        """Yield the entries in a value, which stands in a member of this name.

        `depth` is the number of arrays and objects around the value, `tags` those of its folders.
        """
        # msgspec gives no positions, so the value is searched for. To compare all its bytes would
        # take long, because outer values contain the inner ones again. A skipped member with the
        # same first bytes is found instead: then only the line is wrong.
        start = self._data.find(memoryview(value)[:1024], self._position)
        if start < 0:  # Of two members of one name, msgspec puts the last in the first one's place.
            raise Malformed("An object that contains a list has the same name twice.")
        self._advance(start + 1)  # So that an inner `[` is not found at the outer one.
        if _type(value) not in (_ARRAY, _OBJECT):
            yield ImportedEntry(self._line, {"uri": _text(value)}, skip_reason="is no object")
        elif depth > _MAX_DEPTH:
            yield ImportedEntry(self._line, {}, skip_reason="is nested too deeply")
        elif _type(value) == _ARRAY:
            for item in _decode_array(value):
                yield from self.entries_in(item, name, depth + 1, tags)
        else:
            yield from self._entries_in_object(value, name, depth, tags)
        self._advance(start + len(memoryview(value)))

    def _advance(self, position: int) -> None:
        self._line += self._data.count(b"\n", self._position, position)
        self._position = position

    def _entries_in_object(
        self, value: Raw, name: str, depth: int, tags: tuple[str, ...]
    ) -> Iterator[ImportedEntry]:
        members = _decode_object(value)
        if containers := _containers(members, is_outermost=depth == 0):
            if lists := _unread_lists(members, containers.keys()):
                yield ImportedEntry(self._line, {"title": _title(members)}, f"has {lists}")
            # An export without `children` is no folder: its name, such as the user's, is no tag.
            if depth > 0 or "children" in members:
                tags = (tags + self._tags_of_folder(members, name, depth))[:MAX_TAGS]
            for member_name, member in containers.items():
                entries = self.entries_in(member, member_name, depth + 1, tags)
                is_trash = member_name == "trash"  # Of Vivaldi and Opera.
                yield from (ignored_entry(e.line) for e in entries) if is_trash else entries
            return
        entry = _read_object(value, self._line, tags + self._tags_of_ids(members.get("lists")))
        if entry.skip_reason == NO_URI:
            is_folder = name in _FOLDER_LISTS or _text(members.get("type")) in _FOLDER_TYPES
            values = (v for n, v in members.items() if n not in _OTHER_LISTS)
            if lists := _unread_lists(members, ()):
                entry = entry._replace(skip_reason=f"{NO_URI}, and has {lists}")
            elif is_folder and b"://" not in b"".join(values):
                return  # An empty folder.
            if depth == 0:  # The outermost object. Its list, if any, has an unknown name.
                raise Malformed(f"The JSON object {entry.skip_reason}. {_ADVICE}")
        yield entry
        # Other lists of an entry, such as the links in a text, have no bookmarks.
        lists = _unread_lists(members, members.keys() - {"children"})
        if lists and not entry.skip_reason:
            yield entry._replace(skip_reason=f"has {lists}")

    def _tags_of_folder(self, members: _Members, name: str, depth: int) -> tuple[str, ...]:
        """Return the tags for a folder, none for one that a browser creates itself."""
        # Firefox marks its own folders by `root`, Chromium by `folderType` or a name like `other`.
        if name in _ROOT_OBJECTS or members.keys() & {"root", "folderType"}:
            return ()
        tags_around = self._tags_of_id(bytes(members.get("parentId", _NULL)))
        # Built-in folders are at the top, or inside one root folder, as in Firefox's backups. Each
        # folder around them is an object and an array.
        return tags_around + folder_tags(_title(members), may_be_built_in=depth < 4)

    def _tags_of_id(self, id: bytes) -> tuple[str, ...]:
        """Return the tags of the folder of this id and of those around it, the outermost first."""
        tags: tuple[str, ...] = ()
        for _ in range(_MAX_CHAIN):
            own_tags, id = self._named_folders.get(id, ((), _NULL))
            tags = own_tags + tags
        return tags

    def _tags_of_ids(self, ids: Raw | None) -> tuple[str, ...]:
        """Return the tags of the folders in an array of ids, none for any other value."""
        array = _decode_array(ids)[:MAX_TAGS] if ids and _type(ids) == _ARRAY else []
        return tuple(tag for id in array for tag in self._tags_of_id(bytes(id)))[:MAX_TAGS]


def _unread_lists(members: _Members, other_names: Collection[str]) -> str:
    """Return a text with the names of the lists without `other_names`, empty without any."""
    known = _OTHER_LISTS.union(other_names)
    lists = [name for name in members if name not in known and _may_have_bookmarks(members[name])]
    return f"lists that are not read: {', '.join(lists)}" if lists else ""


def _may_have_bookmarks(value: Raw) -> bool:
    beginning = memoryview(value)[:MAX_ENTRY]  # Searching more would block other threads.
    return bool(_LIST.search(beginning) and _ADDRESS.search(beginning))


def _containers(members: _Members, is_outermost: bool) -> _Members:
    """Return the members of an object that contain entries or folders, none for an entry."""
    # An object with an address is an entry, whatever lists it has. But the address of the outermost
    # object may be that of the user or site whose bookmarks the object lists.
    has_address = any(_text(value) for name, value in members.items() if role_of(name) == "uri")
    if has_address and not is_outermost:
        return {}
    containers = {n: v for n, v in members.items() if _is_container(n, v, is_outermost)}
    # Tab Session Manager writes objects of windows and of tabs, whose members' names are ids.
    if not containers and all(_type(value) == _OBJECT for value in members.values()):
        return members
    return containers


def _is_container(name: str, value: Raw, is_outermost: bool) -> bool:
    """Return whether a member's value is for entries or folders, by its name and type."""
    if _type(value) == _OBJECT:
        return name in _ROOT_OBJECTS or (is_outermost and name in _ENTRY_LISTS)
    if name in _FOLDER_LISTS and not is_outermost:  # An entry of Karakeep has ids in `lists`.
        return _ARRAY_OF_OBJECTS.match(value) is not None
    return name in _CONTAINERS and _type(value) == _ARRAY


def _type(value: Raw) -> bytes:
    return bytes(memoryview(value)[:1])


def _text(value: Raw | None) -> str:
    """Return the text of a value, empty for a missing member (None) and for any other value."""
    return msgspec.json.decode(value, type=str) if value and _type(value) == _TEXT else ""


def _title(members: _Members) -> str:
    return _text(members.get("title", members.get("name")))


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
    is_separator = value.get("type") in ("separator", "text/x-moz-place-separator")
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
    values_by_role = group_by_role([*value.items(), *_inner_members(value)])
    own_tags = _tags(values_by_role.get("tags", ()), are_separated_by_spaces=is_pinboard)
    return fields_of_roles(values_by_role, own_tags, tags_of_folders)


def _inner_members(value: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the members that Karakeep, Vivaldi and Firefox write deeper in an object."""
    for outer_name, inner_name, name in _INNER_MEMBERS:
        if isinstance(inner := value.get(outer_name), dict):
            yield name, inner.get(inner_name)
    annotations = value.get("annos")
    for annotation in annotations if isinstance(annotations, list) else ():
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield "description", annotation.get("value")


def _is_from_own_export(value: dict[str, object]) -> bool:
    """Return whether an object looks like one from this service, which needs no conversion."""
    # Other programs use these names, too: buku has a text of all tags, others dates of digits only.
    has_list_of_tags = isinstance(value.get("tags", []), list)
    dates = [str(value.get(name, "-")) for name in ("created", "modified")]
    are_dates_hyphenated = all("-" in date for date in dates)
    return value.keys() <= set(FIELDS) and has_list_of_tags and are_dates_hyphenated


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
