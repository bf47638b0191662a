"""Read JSON exports of browsers and bookmark services, such as this folder:

{"name": "Travel", "children": [{"name": "A map", "url": "https://maps.example/"}]}
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
from formats.imports.folders import Tags, folder_tags
from formats.imports.members import (
    Members,
    count_unused_members,
    fields_of_members,
    flatten_repository,
    has_address,
    title_of,
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
_BUILT_IN_FOLDERS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash xbrowsersync xBrowserSync data".split()
)
_TAGS_BY_CONTAINER = {"pinnedLinks": ("starred",)}  # Linkwarden

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
# For JSON Lines.
_ADVICE_FOR_EXTRA_DATA = "extra data: put [ ] around all, and commas between"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first."""
    try:
        document = parse_strictly(decode(data))
    except Malformed as error:
        message = str(error).replace("extra data", _ADVICE_FOR_EXTRA_DATA)
        raise Malformed(f"The JSON document {message}.") from None
    if not isinstance(document, list | dict):
        raise Malformed("The JSON document must be an array or an object.")
    reader = _Reader(document)
    yield from reader.read(document, _Position())
    yield from reader.unused_values.entries()


# A deeper document would exceed Python's recursion limit.
_MAX_DEPTH = 200
# Browsers create folders only at the two outermost levels, each an object and an array.
_DEPTH_OF_BROWSER_FOLDERS = 4
_MAX_PARENTS = 20
_TRASH = "trash"  # Vivaldi and Opera


class _Position(NamedTuple):
    """Where a value is in the document."""

    path: str = ""  # Such as `lists[0].links`.
    name: str = ""  # Such as `links`.
    depth: int = 0  # The number of arrays and objects around the value.
    tags: Tags = ()  # Of the folders around the value.

    def of_item(self, index: int) -> "_Position":
        return self._replace(path=f"{self.path}[{index}]", depth=self.depth + 1)

    def of_member(self, name: str, tags: Tags) -> "_Position":
        path = cut_and_replace_unprintable(name)
        if self.path:
            path = f"{self.path}.{path}"
        return _Position(path, name, self.depth + 1, tags)


class _Reader:
    def __init__(self, document: object) -> None:
        self.unused_values = UnusedValues()
        self._listed_folders = _read_listed_folders(document)

    def read(self, value: object, position: _Position) -> Iterator[ImportedEntry]:
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
        containers = _find_containers(members, position)
        if containers:
            return self._read_folder(members, containers, position)
        return self._read_entry(members, position)

    def _read_folder(
        self, members: Members, containers: Members, position: _Position
    ) -> Iterator[ImportedEntry]:
        other_members = {name: members[name] for name in members if name not in containers}
        self._count_unused(other_members)
        tags = (position.tags + self._tags_of_folder(members, position))[:MAX_TAGS]
        for name, value in containers.items():
            inner_tags = tags + _TAGS_BY_CONTAINER.get(name, ())
            entries = self.read(value, position.of_member(name, inner_tags))
            if name == _TRASH:
                for entry in entries:
                    yield ignored_entry(entry.place)
            else:
                yield from entries

    def _read_entry(self, members: Members, position: _Position) -> Iterator[ImportedEntry]:
        """Yield an entry, unless the object is an empty folder."""
        entry = self._entry_of_object(members, position)
        if entry.skip_reason == NO_URI:
            if position.depth == 0:
                raise Malformed(f"The JSON object has no uri. {_ADVICE}")
            if _is_empty_folder(members, position):
                return
        yield entry

    def _entry_of_object(self, members: Members, position: _Position) -> ImportedEntry:
        tags = position.tags + self._tags_of_lists(members.get("lists"))  # Karakeep
        # An export of this service has no folders.
        if not tags and _is_from_own_export(members):
            return entry_with_uri(position.path, members)
        entry = _foreign_entry(members, position.path, tags)
        if entry.skip_reason != IGNORED:
            self._count_unused(members)
        return entry

    def _count_unused(self, members: Members) -> None:
        for name, number in count_unused_members(members):
            self.unused_values.add(name, number)

    def _tags_of_folder(self, members: Members, position: _Position) -> Tags:
        # The outermost object of Linkwarden is an account, with the user's name.
        if position.depth == 0 and "children" not in members:
            return ()
        if _is_built_in(members, position):
            return ()
        tags_of_parents = self._tags_of_listed_folder(members.get("parentId"))
        is_top_level = position.depth < _DEPTH_OF_BROWSER_FOLDERS
        return tags_of_parents + folder_tags(title_of(members), is_top_level)

    def _tags_of_listed_folder(self, id: object) -> Tags:
        """Return the tags of a folder and its parents, outermost first."""
        tags: Tags = ()
        for _ in range(_MAX_PARENTS):  # A damaged file may have a cycle of parents.
            if not _is_id(id) or id not in self._listed_folders:
                break
            folder = self._listed_folders[id]
            tags = folder.tags + tags
            id = folder.parent_id
        return tags

    def _tags_of_lists(self, ids: object) -> Tags:
        tags: Tags = ()
        if isinstance(ids, list):
            for id in ids[:MAX_TAGS]:
                tags += self._tags_of_listed_folder(id)
        return tags[:MAX_TAGS]


class _ListedFolder(NamedTuple):
    """A folder to which entries refer by its id."""

    tags: Tags
    parent_id: object


def _read_listed_folders(document: object) -> dict[object, _ListedFolder]:
    """Return the folders in `{"lists": [{"id": "x", "name": "Work"}]}` by their ids."""
    folders: dict[object, _ListedFolder] = {}
    for members in _listed_objects(document):
        parent_id = members.get("parentId")
        tags = folder_tags(title_of(members), is_top_level=parent_id is None)
        folders[members["id"]] = _ListedFolder(tags, parent_id)
    return folders


def _listed_objects(document: object) -> Iterator[Members]:
    """Yield the objects with an id in the document's lists of folders."""
    if not isinstance(document, dict):
        return
    for name in _FOLDER_LISTS & document.keys():
        if isinstance(document[name], list):
            for item in document[name]:
                if isinstance(item, dict) and _is_id(item.get("id")):
                    yield item


def _is_id(value: object) -> bool:
    return isinstance(value, str | float)  # The JSON parser reads integers as floats.


def _find_containers(members: Members, position: _Position) -> Members:
    """Return the members with the entries and folders of a folder, or {} for an entry."""
    is_outermost = position.depth == 0
    # The outermost object may be an account with an address.
    if not is_outermost and has_address(members):
        return {}
    containers = {}
    for name, value in members.items():
        if _is_container(name, value):
            containers[name] = value
        elif is_outermost and _is_container_of_document(name, value):
            containers[name] = value
    if containers:
        return containers
    # Tab Session Manager writes `{"1": {…}, "2": {…}}`.
    if all(isinstance(value, dict) for value in members.values()):
        return members
    return {}


def _is_container(name: str, value: object) -> bool:
    """Return whether a member contains entries or folders, such as `"children": [{…}]`."""
    if isinstance(value, dict):
        return name in _BUILT_IN_FOLDERS
    if not isinstance(value, list):
        return False
    if name in _FOLDER_LISTS:
        # Karakeep's entries have `lists` of ids, not of folders.
        return len(value) > 0 and isinstance(value[0], dict)
    return name in _ENTRY_LISTS or name in _BUILT_IN_FOLDERS


def _is_container_of_document(name: str, value: object) -> bool:
    """Return whether a member of the outermost object contains entries or folders.

    There, `lists` may be empty, and `bookmarks` may be an object.
    """
    if isinstance(value, list):
        return name in _FOLDER_LISTS
    return isinstance(value, dict) and name in _ENTRY_LISTS


def _is_empty_folder(members: Members, position: _Position) -> bool:
    """Return whether an object without containers is a folder."""
    if position.name in _FOLDER_LISTS:
        return True
    return members.get("type") in ("folder", "text/x-moz-place-container")


def _is_built_in(members: Members, position: _Position) -> bool:
    """Return whether a browser created the folder."""
    if position.name in _BUILT_IN_FOLDERS:
        return True
    if "root" in members or "folderType" in members:  # Firefox or Chromium
        return True
    if members.get("parentId") == "0" and members.get("id") in ("1", "2", "3"):  # Chromium's API
        return True
    return title_of(members).startswith("[xbs] ")  # xBrowserSync


def _is_from_own_export(members: Members) -> bool:
    """Return whether this service probably exported the object."""
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


def _foreign_entry(members: Members, path: str, tags_of_folders: Tags) -> ImportedEntry:
    is_separator = members.get("type") in ("separator", "text/x-moz-place-separator")
    # Floccus exports accounts, with the url of a server.
    is_account = members.keys() >= {"type", "username", "password"}
    fields = fields_of_members(members, tags_of_folders)
    if is_separator or is_account or is_firefox_query(fields.get("uri")):
        return ignored_entry(path)
    return entry_with_uri(path, fields)
