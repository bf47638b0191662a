"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders, such as

    {"roots": {"other": {"name": "Other bookmarks", "children": [
        {"name": "Travel", "children": [
            {"name": "A map", "url": "https://maps.example/"}]}]}}}
"""

from collections.abc import Iterator
from typing import NamedTuple

from formats.charset import decode
from formats.imports.entry import (
    NO_URI,
    ImportedEntry,
    UnusedValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.folders import folder_tags
from formats.imports.members import (
    Members,
    fields_of_members,
    flatten_repository,
    has_address,
    title_of,
    unused_members,
)
from formats.json import parse_strictly
from formats.netscape import is_firefox_query
from storage.bookmark import FIELDS, MAX_TAGS, cut_and_replace_unprintable
from storage.errors import Malformed
from storage.importer import IGNORED

# Arrays of folders.
_FOLDER_LISTS = frozenset("collections folders groups lists sessions windows".split())
# Arrays of entries and folders.
_ENTRY_LISTS = frozenset(
    "bookmarks cards children items links list pinnedLinks posts results tabs".split()
)
# Folders that a program creates, not the user.
_ROOT_FOLDERS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash xbrowsersync xBrowserSync data".split()
)
# In the outermost object, these members are containers both as arrays and as objects.
_ENTRY_CONTAINERS = _ENTRY_LISTS | _ROOT_FOLDERS
# All entries in these containers get these tags.
_TAGS_OF_CONTAINERS = {"pinnedLinks": ("starred",)}  # Linkwarden
_TRASH = "trash"  # Vivaldi and Opera
_FOLDER_TYPES = ("folder", "text/x-moz-place-container")

# A deeper document would exceed Python's recursion limit.
_MAX_DEPTH = 200
# The two outer folders may be the browser's own. Each adds two levels, an array and an object.
_DEPTH_OF_USER_FOLDERS = 4
_MAX_PARENTS = 20  # In a damaged file, a folder may be its own parent.

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
# For a file with one JSON document on each line.
_ADVICE_FOR_EXTRA_DATA = "extra data: put [ ] around all, and commas between"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first one."""
    try:
        document = parse_strictly(decode(data))
    except Malformed as error:  # The error is a predicate, such as "is nested too deeply".
        message = str(error).replace("extra data", _ADVICE_FOR_EXTRA_DATA)
        raise Malformed(f"The JSON document {message}.") from None
    if not isinstance(document, list | dict):
        raise Malformed("The JSON document must be an array or an object.")
    reader = _Reader(document)
    yield from reader.read(document, _Position())
    yield from reader.unused_values.entries()


class _Position(NamedTuple):
    """Where a value is, such as the inner array in `{"lists": [{"name": "Work", "links": []}]}`."""

    path: str = ""  # Such as `lists[0].links`.
    name: str = ""  # The innermost member around the value, such as `links`.
    depth: int = 0  # The number of arrays and objects around it, such as 3.
    tags: tuple[str, ...] = ()  # The tags of the folders around it, such as ("Work",).

    def of_item(self, index: int) -> "_Position":
        return self._replace(path=f"{self.path}[{index}]", depth=self.depth + 1)

    def of_member(self, name: str, tags: tuple[str, ...]) -> "_Position":
        path = cut_and_replace_unprintable(name)
        if self.path:
            path = f"{self.path}.{path}"
        return _Position(path, name, self.depth + 1, tags)


class _Reader:
    """Reads a document in order, and counts the values that it does not use."""

    def __init__(self, document: object) -> None:
        self.unused_values = UnusedValues()
        self._listed_folders = _read_listed_folders(document)

    def read(self, value: object, position: _Position) -> Iterator[ImportedEntry]:
        """Yield the entries in an array, a folder, an entry or an address."""
        if position.depth > _MAX_DEPTH:
            yield ImportedEntry(position.path, {}, "is nested too deeply")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.read(item, position.of_item(index))
        elif isinstance(value, dict):
            yield from self._read_object(flatten_repository(value), position)
        elif isinstance(value, str):
            yield _foreign_entry({"uri": value}, position.path, position.tags)
        else:
            yield ImportedEntry(position.path, {}, "is no object")

    def _read_object(self, members: Members, position: _Position) -> Iterator[ImportedEntry]:
        """Yield an entry, or those in the containers of a folder, such as `"children": [...]`."""
        containers = _find_containers(members, position)
        if not containers:
            yield from self._read_entry(members, position)
            return
        details = {name: value for name, value in members.items() if name not in containers}
        self._count_unused(details)
        tags = (position.tags + self._tags_of_folder(members, position))[:MAX_TAGS]
        for name, value in containers.items():
            inner_tags = tags + _TAGS_OF_CONTAINERS.get(name, ())
            entries = self.read(value, position.of_member(name, inner_tags))
            if name == _TRASH:
                entries = (ignored_entry(entry.place) for entry in entries)
            yield from entries

    def _read_entry(self, members: Members, position: _Position) -> Iterator[ImportedEntry]:
        """Yield the entry in an object, unless it is an empty folder."""
        tags = position.tags + self._tags_of_ids(members.get("lists"))
        # An export of this service has no folders.
        if not tags and _is_from_own_export(members):
            entry = entry_with_uri(position.path, members)
        else:
            entry = _foreign_entry(members, position.path, tags)
            if entry.skip_reason != IGNORED:
                self._count_unused(members)
        is_folder = position.name in _FOLDER_LISTS or members.get("type") in _FOLDER_TYPES
        if entry.skip_reason != NO_URI:
            yield entry
        elif position.depth == 0:
            raise Malformed(f"The JSON object has no uri. {_ADVICE}")
        elif not is_folder:
            yield entry

    def _count_unused(self, members: Members) -> None:
        for name, number in unused_members(members):
            self.unused_values.add(name, number)

    def _tags_of_folder(self, members: Members, position: _Position) -> tuple[str, ...]:
        # In {"name": "Ann", "bookmarks": […]}, the name is that of the user.
        if position.depth == 0 and "children" not in members:
            return ()
        if _is_built_in(members, position):
            return ()
        tags_around = self._tags_of_id(members.get("parentId"))
        may_be_built_in = position.depth < _DEPTH_OF_USER_FOLDERS
        return tags_around + folder_tags(title_of(members), may_be_built_in=may_be_built_in)

    def _tags_of_id(self, id: object) -> tuple[str, ...]:
        """Return the tags of the folder with this id, after those of its parents."""
        tags: tuple[str, ...] = ()
        for _ in range(_MAX_PARENTS):
            if not _is_id(id) or id not in self._listed_folders:
                break
            folder = self._listed_folders[id]
            tags = folder.tags + tags
            id = folder.parent_id
        return tags

    def _tags_of_ids(self, ids: object) -> tuple[str, ...]:
        tags: tuple[str, ...] = ()
        if isinstance(ids, list):
            for id in ids[:MAX_TAGS]:
                tags += self._tags_of_id(id)
        return tags[:MAX_TAGS]


# --- Folders ---


class _ListedFolder(NamedTuple):
    """A folder that other objects name by its id, such as a list of Karakeep."""

    tags: tuple[str, ...]
    parent_id: object


def _read_listed_folders(document: object) -> dict[object, _ListedFolder]:
    """Return the folders in a document such as `{"lists": [{"id": "x", "name": "Work"}]}`.

    A bookmark `{"lists": ["x"]}` in this document gets the tag Work.
    """
    folders: dict[object, _ListedFolder] = {}
    if not isinstance(document, dict):
        return folders
    for name in _FOLDER_LISTS & document.keys():
        if not isinstance(document[name], list):
            continue
        for folder in document[name]:
            if not isinstance(folder, dict) or not _is_id(folder.get("id")):
                continue
            parent_id = folder.get("parentId")
            tags = folder_tags(title_of(folder), may_be_built_in=parent_id is None)
            folders[folder["id"]] = _ListedFolder(tags, parent_id)
    return folders


def _is_id(value: object) -> bool:
    return isinstance(value, str | float)  # The parser reads all numbers as floats.


def _find_containers(members: Members, position: _Position) -> Members:
    """Return the members that contain entries or folders; empty for an entry."""
    if position.depth == 0:
        # An address in the outermost object may be that of a user or site.
        is_container = _is_outermost_container
    elif has_address(members):
        return {}
    else:
        is_container = _is_container
    containers = {name: value for name, value in members.items() if is_container(name, value)}
    if containers:
        return containers
    # Tab Session Manager writes `{"1": {…}, "2": {…}}`.
    if all(isinstance(value, dict) for value in members.values()):
        return members
    return {}


def _is_outermost_container(name: str, value: object) -> bool:
    if isinstance(value, list) and name in _FOLDER_LISTS:
        return True
    return isinstance(value, list | dict) and name in _ENTRY_CONTAINERS


def _is_container(name: str, value: object) -> bool:
    if isinstance(value, dict):
        return name in _ROOT_FOLDERS
    if not isinstance(value, list):
        return False
    if name in _FOLDER_LISTS:  # In an entry of Karakeep, `lists` has ids of folders.
        return len(value) > 0 and isinstance(value[0], dict)
    return name in _ENTRY_CONTAINERS


def _is_built_in(members: Members, position: _Position) -> bool:
    # A file of Chromium has {"bookmark_bar": {"name": "Bookmarks bar", …}}.
    if position.name in _ROOT_FOLDERS:
        return True
    if "root" in members or "folderType" in members:  # Firefox, Chromium
        return True
    if title_of(members).startswith("[xbs] "):  # xBrowserSync
        return True
    # Chromium's API returns {"id": "1", "parentId": "0", "title": "Bookmarks bar", …}.
    return members.get("parentId") == "0" and members.get("id") in ("1", "2", "3")


# --- Entries ---


def _is_from_own_export(members: Members) -> bool:
    """Return whether all members are fields of this service, in its form."""
    if not members.keys() <= set(FIELDS):
        return False
    # buku writes all tags as one text.
    if not isinstance(members.get("tags", []), list):
        return False
    for name in ("created", "modified"):
        # Other programs write dates as numbers, without "-".
        if name in members and "-" not in str(members[name]):
            return False
    return True


def _foreign_entry(members: Members, path: str, tags_of_folders: tuple[str, ...]) -> ImportedEntry:
    is_separator = members.get("type") in ("separator", "text/x-moz-place-separator")
    # An account of floccus has the url of a server.
    is_account = members.keys() >= {"type", "username", "password"}
    fields = fields_of_members(members, tags_of_folders)
    if is_separator or is_account or is_firefox_query(fields.get("uri")):
        return ignored_entry(path)
    return entry_with_uri(path, fields)
