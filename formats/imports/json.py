"""Read JSON exports of browsers and bookmark services.

A document is a tree of folders and entries, in which an entry is an object with an address:

{"name": "Travel", "children": [{"name": "A map", "url": "https://maps.example/"}]}
"""

from collections.abc import Callable, Iterable, Iterator
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
    NamedValue,
    has_address,
    named_values,
    tags_in,
    title_of,
)
from formats.imports.roles import is_unused, read_fields, role_of
from formats.json import parse_strictly
from formats.netscape import is_firefox_query
from storage.bookmark import FIELDS, MAX_TAGS, Fields, cut_and_replace_unprintable
from storage.errors import Malformed

_FOLDER_LISTS = frozenset("collections folders groups lists sessions windows".split())
_ENTRY_LISTS = frozenset(
    "bookmarks cards children items links list pinnedLinks posts results tabs".split()
)
# Folders that programs create.
_BUILT_IN_FOLDERS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash xbrowsersync xBrowserSync data".split()
)
_TAGS_BY_NAME_OF_CHILDREN = {"pinnedLinks": ("starred",)}  # Linkwarden's starred entries.
_TRASH = "trash"  # The folder of deleted entries of Vivaldi and Opera.

# A deeper document would exceed Python's recursion limit.
_MAX_DEPTH = 200
# The folders that a browser creates have at most 3 arrays and objects around them.
_MAX_DEPTH_OF_BROWSER_FOLDERS = 3
_MAX_PARENTS = 20
# A folder's members with these roles are not reported as unused.
_ROLES_OF_FOLDERS = ("title", "created", "modified", "time", "ignored")

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
_ADVICE_FOR_JSON_LINES = "extra data: put [ ] around all, and commas between"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first entry."""
    try:
        document = parse_strictly(decode(data), "The JSON document")
    except Malformed as error:
        message = str(error).replace("extra data", _ADVICE_FOR_JSON_LINES)
        raise Malformed(message) from None
    if not isinstance(document, list | dict):
        raise Malformed("The JSON document must be an array or an object.")
    reader = _Reader(document)
    if isinstance(document, list):
        yield from reader.read_value(document, _Position())
    else:
        yield from reader.read_outermost_object(document)
    yield from reader.unused_values.entries()


class _Position(NamedTuple):
    """The place of a value in the document."""

    path: str = ""  # Such as `lists[0].links`.
    name: str = ""  # Such as `links`.
    depth: int = 0  # The number of arrays and objects around the value.
    tags: Tags = ()  # From the folders around the value.

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
        self._listed_folders = _ListedFolders(document)

    def read_outermost_object(self, members: Members) -> Iterator[ImportedEntry]:
        """Yield the entries. Raises Malformed if the object has neither children nor a uri."""
        position = _Position()
        children = _find_children(members, _has_children_in_outermost_object)
        if children:
            tags: Tags = ()
            # Linkwarden's object has no `children`, and its name is the user's, not a tag.
            if "children" in members:
                tags = self._tags_of_folder(members, position)
            yield from self._read_folder(members, children, tags, position)
            return
        entry = self._read_entry(members, position)
        if entry.skip_reason == NO_URI:
            raise Malformed(f"The JSON object has no uri. {_ADVICE}")
        yield entry

    def read_value(self, value: object, position: _Position) -> Iterator[ImportedEntry]:
        if position.depth > _MAX_DEPTH:
            yield ImportedEntry(position.path, {}, "is nested too deeply")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.read_value(item, position.of_item(index))
        elif isinstance(value, dict):
            yield from self._read_object(value, position)
        elif isinstance(value, str):
            yield self._read_entry({"url": value}, position)
        else:
            yield ImportedEntry(position.path, {}, "is no object")

    def _read_object(self, members: Members, position: _Position) -> Iterator[ImportedEntry]:
        children: Members = {}
        if not has_address(members):
            children = _find_children(members, _has_children)
        if children:
            tags = self._tags_of_folder(members, position)
            yield from self._read_folder(members, children, tags, position)
            return
        entry = self._read_entry(members, position)
        if entry.skip_reason == NO_URI and _is_empty_folder(members, position):
            return
        yield entry

    def _read_folder(
        self, members: Members, children: Members, own_tags: Tags, position: _Position
    ) -> Iterator[ImportedEntry]:
        other_members = {name: members[name] for name in members if name not in children}
        for name, value in named_values(other_members):
            role = role_of(name)
            is_other_title = role == "title" and value != title_of(members)
            if value and (is_other_title or role not in _ROLES_OF_FOLDERS):
                self._count_values(name, value)
        tags = (position.tags + own_tags)[:MAX_TAGS]
        for name, value in children.items():
            inner_tags = tags + _TAGS_BY_NAME_OF_CHILDREN.get(name, ())
            entries = self.read_value(value, position.of_member(name, inner_tags))
            if name == _TRASH:
                for entry in entries:
                    yield ignored_entry(entry.place)
            else:
                yield from entries

    def _read_entry(self, members: Members, position: _Position) -> ImportedEntry:
        # Entries of this service's own export keep all fields, and are never in folders.
        if not position.tags and _is_from_own_export(members):
            return entry_with_uri(position.path, members)
        values = named_values(members)
        ids_of_folders = members.get("lists")  # Karakeep writes these.
        tags = position.tags + self._listed_folders.tags_of_all(ids_of_folders)
        fields = read_fields(values, tags_in, tags)
        if _is_ignored(members, fields):
            return ignored_entry(position.path)
        self._count_unused(values, fields)
        return entry_with_uri(position.path, fields)

    def _count_unused(self, values: Iterable[NamedValue], fields: Fields) -> None:
        for name, value in values:
            if is_unused(name, value, fields):
                self._count_values(name, value)

    def _count_values(self, name: str, value: object) -> None:
        number = 1
        if isinstance(value, list):
            number = len(value)
        self.unused_values.add(name, number)

    def _tags_of_folder(self, members: Members, position: _Position) -> Tags:
        if _is_created_by_browser(members, position):
            return ()
        tags_of_parents = self._listed_folders.tags_of(members.get("parentId"))
        is_top_level = position.depth <= _MAX_DEPTH_OF_BROWSER_FOLDERS
        return tags_of_parents + folder_tags(title_of(members), is_top_level)


class _ListedFolder(NamedTuple):
    tags: Tags
    parent_id: object


class _ListedFolders:
    """The folders to which entries refer by ids.

    In `{"lists": [{"id": "x", "name": "Work"}], "bookmarks": [{"lists": ["x"], …}]}`, the
    bookmark gets the tag Work.
    """

    def __init__(self, document: object) -> None:
        self._folders: dict[object, _ListedFolder] = {}
        if not isinstance(document, dict):
            return
        for name in _FOLDER_LISTS & document.keys():
            if isinstance(document[name], list):
                self._add_all(document[name])

    def _add_all(self, folders: list[object]) -> None:
        for members in folders:
            if isinstance(members, dict) and _is_id(members.get("id")):
                parent_id = members.get("parentId")
                tags = folder_tags(title_of(members), is_top_level=parent_id is None)
                self._folders[members["id"]] = _ListedFolder(tags, parent_id)

    def tags_of(self, id: object) -> Tags:
        """Return the tags of a folder and its parents, outermost first."""
        tags: Tags = ()
        for _ in range(_MAX_PARENTS):  # A damaged file may have a cycle of parents.
            if not _is_id(id) or id not in self._folders:
                break
            folder = self._folders[id]
            tags = folder.tags + tags
            id = folder.parent_id
        return tags

    def tags_of_all(self, ids: object) -> Tags:
        tags: Tags = ()
        if isinstance(ids, list):
            for id in ids[:MAX_TAGS]:
                tags += self.tags_of(id)
        return tags[:MAX_TAGS]


def _is_id(value: object) -> bool:
    return isinstance(value, str | float)  # `formats.json` parses integers as floats.


def _find_children(members: Members, has_children: Callable[[str, object], bool]) -> Members:
    """Return the members with entries and folders, such as `{"links": [{…}]}`."""
    children: Members = {}
    for name, value in members.items():
        if has_children(name, value):
            children[name] = value
    if children:
        return children
    # Tab Session Manager writes windows under their ids: `{"1": {…}, "2": {…}}`.
    if all(isinstance(value, dict) for value in members.values()):
        return members
    return {}


def _has_children(name: str, value: object) -> bool:
    if isinstance(value, dict):
        return name in _BUILT_IN_FOLDERS
    if not isinstance(value, list):
        return False
    if name in _FOLDER_LISTS:
        # In an entry, Karakeep's `lists` and Zotero's `collections` have only ids of folders.
        return len(value) > 0 and isinstance(value[0], dict)
    return name in _ENTRY_LISTS or name in _BUILT_IN_FOLDERS


def _has_children_in_outermost_object(name: str, value: object) -> bool:
    if name in _FOLDER_LISTS and isinstance(value, list):
        return True  # Such as `"lists": []`.
    if name in _ENTRY_LISTS and isinstance(value, dict):
        return True  # Such as `"bookmarks": {"k1": {…}}`.
    return _has_children(name, value)


def _is_empty_folder(members: Members, position: _Position) -> bool:
    if position.name in _FOLDER_LISTS:
        return True
    return members.get("type") in ("folder", "text/x-moz-place-container")


def _is_created_by_browser(members: Members, position: _Position) -> bool:
    if position.name in _BUILT_IN_FOLDERS:
        return True
    if "root" in members or "folderType" in members:  # Firefox and Chromium write these.
        return True
    if members.get("parentId") == "0" and members.get("id") in ("1", "2", "3"):  # Chromium's API
        return True
    return title_of(members).startswith("[xbs] ")  # xBrowserSync


def _is_ignored(members: Members, fields: Fields) -> bool:
    is_separator = members.get("type") in ("separator", "text/x-moz-place-separator")
    is_account_of_floccus = members.keys() >= {"type", "username", "password"}
    return is_separator or is_account_of_floccus or is_firefox_query(fields.get("uri"))


def _is_from_own_export(members: Members) -> bool:
    if not members.keys() <= set(FIELDS):
        return False
    # buku uses the same names, but writes all tags as one text.
    if not isinstance(members.get("tags", []), list):
        return False
    for name in ("created", "modified"):
        # Other programs with these names write dates as numbers, without "-".
        if name in members and "-" not in str(members[name]):
            return False
    return True
