"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders."""

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple, TypeGuard

from formats.charset import decode
from formats.imports.entry import (
    NO_URI,
    ImportedEntry,
    UnreadValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.folders import folder_tags
from formats.imports.roles import (
    WORDS_FOR_NO_TAG,
    is_read,
    read_fields,
    role_of,
)
from formats.json import parse_strictly
from formats.netscape import is_firefox_query
from storage.bookmark import FIELDS, MAX_TAGS, cut_and_replace_unprintable, split_tags
from storage.errors import Malformed
from storage.importer import IGNORED

_Members = dict[str, object]  # The members of a JSON object, by their names.

# Members of these names are arrays of folders.
_FOLDER_LISTS = frozenset("collections folders groups lists sessions windows".split())
# Members of these names are arrays of entries and folders.
_ENTRY_LISTS = frozenset(
    "bookmarks cards children items links list pinnedLinks posts results tabs".split()
)
# Members of these names are arrays or objects of entries and folders, such as Chromium's `roots`.
_ROOT_OBJECTS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash xbrowsersync xBrowserSync data".split()
)
_CONTAINERS = _FOLDER_LISTS | _ENTRY_LISTS | _ROOT_OBJECTS
_FOLDER_TYPES = ("folder", "text/x-moz-place-container")
_SEPARATOR_TYPES = ("separator", "text/x-moz-place-separator")
# An object with these members is an account of floccus, whose url is that of a sync server.
_FLOCCUS_ACCOUNT_MEMBERS = {"type", "username", "password"}
# The folders that Firefox creates have a member `root`, those of Chromium `folderType`.
_MARKS_OF_BUILT_IN_FOLDERS = {"root", "folderType"}
# By the name of an object inside an entry, the names of its members that are read.
_INNER_MEMBERS = {"content": ("type", "url", "title"), "meta_info": ("Description",)}
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
# `is_read` does not know these members, but this module reads them.
_READ_ELSEWHERE = {*_MARKS_OF_BUILT_IN_FOLDERS, "lists", "annos", "pinnedBy"}
_XBROWSERSYNC_FOLDER = "[xbs] "  # The folders that xBrowserSync creates have this prefix.
# Chromium's API gives these ids to the folders that Chromium creates, and to their parent.
_CHROMIUM_FOLDERS = ("1", "2", "3")
_CHROMIUM_ROOT = "0"
# These members of a GitHub repository describe the repository, not its bookmark.
_MEMBERS_OF_REPOSITORY = ("created_at", "updated_at", "pushed_at", "archived", "private")

# In arrays and objects around a value. A deeper document would exceed Python's recursion limit.
_MAX_DEPTH = 200
# Programs create folders at the top of a document or in one root folder. A folder of this depth
# is inside two folders (two arrays and two objects), so a user has created it.
_DEPTH_OF_USER_FOLDERS = 4
_MAX_CHAIN = 20  # Steps from a folder to its parent. In a damaged file, they may form a circle.

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
# The parser reports extra data in a file with one JSON document on each line.
_HINT = ("extra data", "extra data: put [ ] around all, and commas between")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first one."""
    try:
        document = parse_strictly(decode(data))
    except Malformed as error:  # The error is a predicate, such as "is nested too deeply".
        message = str(error).replace(*_HINT)
        raise Malformed(f"The JSON document {message}.") from None
    if not isinstance(document, list | dict):
        raise Malformed("The JSON document must be an array or an object.")
    walk = _Walk(document)
    yield from walk.entries_in(document, _Position())
    yield from walk.unread_values.entries()


class _Position(NamedTuple):
    """Where a value stands in the document."""

    path: str = ""  # Such as `bookmarks[3].children[0]`.
    name: str = ""  # The name of the member that has the value, or has the array with the value.
    depth: int = 0  # The number of arrays and objects around the value.
    tags: tuple[str, ...] = ()  # The tags of the folders around the value.

    def of_item(self, index: int) -> "_Position":
        path = f"{self.path}[{index}]"
        return _Position(path, self.name, self.depth + 1, self.tags)

    def of_member(self, name: str, tags: tuple[str, ...]) -> "_Position":
        shown = cut_and_replace_unprintable(name)
        path = shown
        if self.path:
            path = f"{self.path}.{shown}"
        return _Position(path, name, self.depth + 1, tags)


class _NamedFolder(NamedTuple):
    """A folder that entries or other folders name by its id, such as a list of Karakeep."""

    tags: tuple[str, ...]
    parent_id: object


class _Walk:
    """A walk through the values of a document, which yields its entries in order."""

    def __init__(self, document: object) -> None:
        self.unread_values = UnreadValues()
        self._named_folders = _read_named_folders(document)

    def entries_in(self, value: object, position: _Position) -> Iterator[ImportedEntry]:
        """Yield the entries in a value."""
        if position.depth > _MAX_DEPTH:
            yield ImportedEntry(position.path, {}, "is nested too deeply")
        elif isinstance(value, dict):
            yield from self._entries_in_object(value, position)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.entries_in(item, position.of_item(index))
        elif isinstance(value, str):
            yield _read_object({"uri": value}, position.path, position.tags)
        else:
            yield ImportedEntry(position.path, {}, "is no object")

    def _entries_in_object(
        self, members: _Members, position: _Position
    ) -> Iterator[ImportedEntry]:
        members = _unwrap_repository(members)
        if _is_repository(members):
            members = _rename_members_of_repository(members)
        containers = _containers(members, is_outermost=position.depth == 0)
        if not containers:
            yield from self._entry_of_object(members, position)
            return
        self._count_unread(members, containers)
        tags = position.tags
        # The outermost object is a folder only if it has `children`. Otherwise its name, which
        # may be that of the user, is not a tag.
        if position.depth > 0 or "children" in members:
            tags = (tags + self._tags_of_folder(members, position))[:MAX_TAGS]
        for name, value in containers.items():
            if name == "pinnedLinks":  # Linkwarden repeats the pinned links in this member.
                inner = position.of_member(name, (*tags, "starred"))
            else:
                inner = position.of_member(name, tags)
            entries = self.entries_in(value, inner)
            if name == "trash":  # Vivaldi and Opera keep deleted bookmarks in this folder.
                entries = _ignore(entries)
            yield from entries

    def _entry_of_object(
        self, members: _Members, position: _Position
    ) -> Iterator[ImportedEntry]:
        """Yield the entry in an object. An empty folder has no entry."""
        tags = position.tags + self._tags_of_ids(members.get("lists"))
        # An export of this service has no folders.
        if not tags and _is_from_own_export(members):
            entry = entry_with_uri(position.path, members)
        else:
            entry = _read_object(members, position.path, tags)
            if entry.skip_reason != IGNORED:
                self._count_unread(members)
        if entry.skip_reason == NO_URI:
            if position.depth == 0:
                raise Malformed(f"The JSON object has no uri. {_ADVICE}")
            if _is_folder(members, position):
                return
        yield entry

    def _count_unread(self, members: _Members, containers: Container[str] = ()) -> None:
        """Count the values of an entry or folder that the import does not read."""
        for name, value in members.items():
            if name in containers or name in _READ_ELSEWHERE or is_read(name, value):
                continue
            if _is_folder_object(value, name):
                continue
            if name in _INNER_MEMBERS and isinstance(value, dict):
                self._count_unread_inside(name, value)
            elif isinstance(value, list):
                self.unread_values.add(name, len(value))
            else:
                self.unread_values.add(name)

    def _count_unread_inside(self, name: str, members: _Members) -> None:
        for inner_name, value in members.items():
            if value and inner_name not in _INNER_MEMBERS[name]:
                self.unread_values.add(f"{name}.{inner_name}")

    def _tags_of_folder(self, members: _Members, position: _Position) -> tuple[str, ...]:
        """Return the tags for a folder. A folder that a program has created gets none."""
        if _is_built_in(members, position):
            return ()
        tags_around = self._tags_of_id(members.get("parentId"))
        may_be_built_in = position.depth < _DEPTH_OF_USER_FOLDERS
        return tags_around + folder_tags(_title(members), may_be_built_in=may_be_built_in)

    def _tags_of_id(self, id: object) -> tuple[str, ...]:
        """Return the tags of the folder with this id, after the tags of the folders around it."""
        tags: tuple[str, ...] = ()
        for _ in range(_MAX_CHAIN):
            # Ids are texts or numbers, and any number has been read as a float. An array or
            # object cannot be a key.
            if not isinstance(id, str | float) or id not in self._named_folders:
                break
            folder = self._named_folders[id]
            tags = folder.tags + tags
            id = folder.parent_id
        return tags

    def _tags_of_ids(self, ids: object) -> tuple[str, ...]:
        """Return the tags of the folders in an array of ids. Any other value has no tags."""
        tags: tuple[str, ...] = ()
        if isinstance(ids, list):
            for id in ids[:MAX_TAGS]:
                tags += self._tags_of_id(id)
        return tags[:MAX_TAGS]


def _ignore(entries: Iterable[ImportedEntry]) -> Iterator[ImportedEntry]:
    for entry in entries:
        yield ignored_entry(entry.place)


def _unwrap_repository(members: _Members) -> _Members:
    """Return the members of a star of GitHub, `{"starred_at": …, "repo": {…}}`, side by side."""
    repository = members.get("repo")
    if not isinstance(repository, dict) or _has_address(members):
        return members
    unwrapped = members | repository
    del unwrapped["repo"]
    return unwrapped


def _is_repository(members: _Members) -> bool:
    """Return whether the members describe a repository of GitHub."""
    return "full_name" in members and "html_url" in members


def _rename_members_of_repository(members: _Members) -> _Members:
    """Return the members; those that do not concern the bookmark become `repo.created_at` etc."""
    renamed = {}
    for name, value in members.items():
        if name in _MEMBERS_OF_REPOSITORY:
            name = f"repo.{name}"
        renamed[name] = value
    return renamed


def _read_named_folders(document: object) -> dict[object, _NamedFolder]:
    """Return the folders that have an id, by their ids."""
    folders: dict[object, _NamedFolder] = {}
    if not isinstance(document, dict):
        return folders
    for name in _FOLDER_LISTS & document.keys():
        if not isinstance(document[name], list):
            continue
        for folder in document[name]:
            if not isinstance(folder, dict):
                continue
            id = folder.get("id")
            parent_id = folder.get("parentId")
            if isinstance(id, str | float):
                is_at_top = parent_id is None
                tags = folder_tags(_title(folder), may_be_built_in=is_at_top)
                folders[id] = _NamedFolder(tags, parent_id)
    return folders


def _containers(members: _Members, is_outermost: bool) -> _Members:
    """Return the members of an object that contain entries or folders. An entry has none."""
    # The address of the outermost object may be that of a user or site.
    if not is_outermost and _has_address(members):
        return {}
    containers = {}
    for name, value in members.items():
        if _is_container(name, value, is_outermost=is_outermost):
            containers[name] = value
    # Tab Session Manager names the members of an object by the ids of windows or tabs.
    if not containers and all(isinstance(value, dict) for value in members.values()):
        return members
    return containers


def _has_address(members: _Members) -> bool:
    return any(role_of(name) == "uri" and _text(value) for name, value in members.items())


def _is_container(name: str, value: object, is_outermost: bool) -> bool:
    """Return whether a member contains entries or folders."""
    if isinstance(value, dict):
        return name in _ROOT_OBJECTS or (is_outermost and name in _ENTRY_LISTS)
    if not isinstance(value, list):
        return False
    if name in _FOLDER_LISTS and not is_outermost:  # In an entry of Karakeep, `lists` has ids.
        return len(value) > 0 and isinstance(value[0], dict)
    return name in _CONTAINERS


def _is_folder(members: _Members, position: _Position) -> bool:
    return position.name in _FOLDER_LISTS or members.get("type") in _FOLDER_TYPES


def _is_built_in(members: _Members, position: _Position) -> bool:
    """Return whether a browser or its extension has created this folder, not the user."""
    # A file of Chromium has {"bookmark_bar": {"name": "Bookmarks bar", …}}.
    if position.name in _ROOT_OBJECTS:
        return True
    # Firefox writes {"root": "toolbarFolder", "title": "toolbar", …}.
    if members.keys() & _MARKS_OF_BUILT_IN_FOLDERS:
        return True
    # xBrowserSync writes {"title": "[xbs] Toolbar", …}.
    if _title(members).startswith(_XBROWSERSYNC_FOLDER):
        return True
    # Chromium's API returns {"id": "1", "parentId": "0", "title": "Bookmarks bar", …}.
    if members.get("parentId") != _CHROMIUM_ROOT:
        return False
    return members.get("id") in _CHROMIUM_FOLDERS


def _text(value: object) -> str:
    """Return the value if it is a text, and otherwise an empty text."""
    if isinstance(value, str):
        return value
    return ""


def _title(members: _Members) -> str:
    return _text(members.get("title", members.get("name")))


# --- Entries ---


def _read_object(
    members: _Members, path: str, tags_of_folders: tuple[str, ...]
) -> ImportedEntry:
    """Return the entry in an object that another program has exported."""
    fields = fields_of_members(members, tags_of_folders)
    if _is_no_bookmark(members) or is_firefox_query(fields.get("uri")):
        return ignored_entry(path)
    return entry_with_uri(path, fields)


def _is_from_own_export(members: _Members) -> bool:
    """Return whether the members of an object are exactly fields of this service."""
    if not members.keys() <= set(FIELDS):
        return False
    # buku has the same names, but writes all tags as one text.
    if not isinstance(members.get("tags", []), list):
        return False
    # Other programs write dates as numbers, such as 1700000000.
    created = str(members.get("created", "-"))
    modified = str(members.get("modified", "-"))
    return "-" in created and "-" in modified


def _is_no_bookmark(members: _Members) -> bool:
    if members.get("type") in _SEPARATOR_TYPES:
        return True
    return _FLOCCUS_ACCOUNT_MEMBERS <= members.keys()


def fields_of_members(members: _Members, tags_of_folders: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of an object that another program has exported."""
    read_tags = tags_in
    # Pinboard writes `href`, its title as `description`, and its description as `extended`.
    if "href" in members and not members.get("title"):
        title = members.get("description")
        description = members.get("extended")
        members = members | {"title": title, "description": description}
        read_tags = _tags_of_pinboard
    if members.get("pinnedBy"):  # Linkwarden lists the users who have pinned a link.
        members = members | {"starred": True}
    # linkding has notes beside the description. The line before them tells the two apart.
    notes = members.get("notes")
    is_from_linkding = "tag_names" in members
    if is_from_linkding and notes and isinstance(notes, str):
        members = members | {"notes": f"Notes:\n{notes}"}
    return read_fields([*members.items(), *_inner_members(members)], read_tags, tags_of_folders)


def _tags_of_pinboard(value: object) -> list[object]:
    """Return the tags in a value of Pinboard, such as `"a b"`."""
    if isinstance(value, str):
        value = ",".join(value.split())
    return tags_in(value)


def _inner_members(members: _Members) -> Iterator[tuple[str, object]]:
    """Yield the members that programs write in an object inside an entry."""
    for name, value in members.items():
        if _is_folder_object(value, name):
            yield name, _title(value)
    # Karakeep writes {"content": {"url": …}}, which gives the member `content_url`.
    content = members.get("content")
    if isinstance(content, dict):
        yield "content_url", content.get("url")
        yield "website_title", content.get("title")
    meta_info = members.get("meta_info")  # Vivaldi
    if isinstance(meta_info, dict):
        yield "description", meta_info.get("Description")
    annotations = members.get("annos")  # Firefox
    if not isinstance(annotations, list):
        return
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield "description", annotation.get("value")


def _is_folder_object(value: object, name: str) -> TypeGuard[_Members]:
    """Return whether a member is the folder of an entry, such as `"folder": {"name": "a"}`."""
    if role_of(name) != "folder" or not isinstance(value, dict):
        return False
    return _title(value) != ""


def tags_in(value: object) -> list[object]:
    """Return the tags in a value such as `"a,b"`, `["a", "b"]`, `[{"name": "a"}]` or `{"a": 1}`."""
    if isinstance(value, str):
        value = split_tags(value)
    elif isinstance(value, dict):
        value = list(value)
    elif not isinstance(value, list):
        value = [value]  # The importer reports a tag that is not a text.
    tags: list[object] = []
    for tag in value:
        if isinstance(tag, dict):
            tag = tag.get("name")
        if tag not in WORDS_FOR_NO_TAG:
            tags.append(tag)
    return tags
