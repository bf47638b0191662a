"""Read JSON files: arrays of bookmarks, responses of services, and trees of folders."""

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

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

_Members = dict[str, object]  # Of an object, by name.

# The names of members that contain folders, folders and entries, or an object of
# both, as in Chromium.
_FOLDER_LISTS = frozenset("collections folders groups lists sessions windows".split())
_ENTRY_LISTS = frozenset(
    "bookmarks cards children items links list pinnedLinks posts results tabs".split()
)
_ROOT_OBJECTS = frozenset(
    "roots bookmark_bar bookmark_menu other synced windows custom_root speedDial unsorted userRoot "
    "pinboard trash xbrowsersync xBrowserSync data".split()
)
_CONTAINERS = _FOLDER_LISTS | _ENTRY_LISTS | _ROOT_OBJECTS
_FOLDER_TYPES = ("folder", "text/x-moz-place-container")
_SEPARATOR_TYPES = ("separator", "text/x-moz-place-separator")
# An account of floccus is no bookmark: its url is that of a sync server.
_FLOCCUS_ACCOUNT_MEMBERS = {"type", "username", "password"}
# Firefox marks its own folders by `root`, Chromium by `folderType`.
_MARKS_OF_BUILT_IN_FOLDERS = {"root", "folderType"}
# Objects inside an entry, and their members that are read.
_INNER_MEMBERS = {"content": ("type", "url", "title"), "meta_info": ("Description",)}
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
# These members have no role, but are read.
_READ_ELSEWHERE = {*_MARKS_OF_BUILT_IN_FOLDERS, "lists", "annos", "pinnedBy"}
_XBROWSERSYNC_FOLDER = "[xbs] "
# The ids of the folders of Chromium, which have localized names, in its root.
_CHROMIUM_FOLDERS = ("1", "2", "3")
_CHROMIUM_ROOT = "0"
# Dates and states of a repository of GitHub, which are not those of its bookmark.
_MEMBERS_OF_REPOSITORY = ("created_at", "updated_at", "pushed_at", "archived", "private")

_MAX_DEPTH = 200  # Arrays and objects, two for each folder. Python limits the recursion.
_MAX_CHAIN = 20  # Folders of which each names its parent. A damaged file may have a circle.

_ADVICE = 'Name its list "bookmarks", and the address of each bookmark "url".'
# A file with one JSON document on each line has this error.
_HINT = ("extra data", "extra data: put [ ] around all, and commas between")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed before the first one."""
    try:
        document = parse_strictly(decode(data))
    except Malformed as error:  # The message is a predicate.
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
    # The member that has the value. Items of an array have the name of its member.
    name: str = ""
    depth: int = 0  # The number of arrays and objects around the value.
    tags: tuple[str, ...] = ()  # Those of the folders around it.

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
    """A folder that others name by its id: a list of Karakeep, a collection of Linkwarden."""

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
        containers = _containers(members, is_outermost=position.depth == 0)
        if not containers:
            yield from self._entry_of_object(members, position)
            return
        self._count_unread(members, containers)
        tags = position.tags
        # An export without `children` is no folder: its name, such as the
        # user's, is no tag.
        if position.depth > 0 or "children" in members:
            tags = (tags + self._tags_of_folder(members, position))[:MAX_TAGS]
        for name, value in containers.items():
            if name == "pinnedLinks":  # Linkwarden repeats these links here.
                inner = position.of_member(name, (*tags, "starred"))
            else:
                inner = position.of_member(name, tags)
            entries = self.entries_in(value, inner)
            if name == "trash":  # Of Vivaldi and Opera.
                entries = _ignore(entries)
            yield from entries

    def _entry_of_object(
        self, members: _Members, position: _Position
    ) -> Iterator[ImportedEntry]:
        """Yield the entry, or none for an empty folder."""
        tags = position.tags + self._tags_of_ids(members.get("lists"))
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
        """Count the values of an entry or folder that are not read."""
        for name, value in members.items():
            if name in containers or name in _READ_ELSEWHERE or is_read(name, value):
                continue
            if _is_folder_object(name, value):
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
        """Return the tags for a folder, none for one that a browser creates itself."""
        # Chromium marks some of its folders only by the name of the member.
        if position.name in _ROOT_OBJECTS or members.keys() & _MARKS_OF_BUILT_IN_FOLDERS:
            return ()
        if _title(members).startswith(_XBROWSERSYNC_FOLDER):
            return ()
        is_chromium = members.get("parentId") == _CHROMIUM_ROOT
        if is_chromium and members.get("id") in _CHROMIUM_FOLDERS:
            return ()
        tags_around = self._tags_of_id(members.get("parentId"))
        # Built-in folders are at the top, or inside one root folder, as in
        # Firefox's backups. Each folder around is an object and an array.
        return tags_around + folder_tags(_title(members), may_be_built_in=position.depth < 4)

    def _tags_of_id(self, id: object) -> tuple[str, ...]:
        """Return the tags of the folder of this id and of those around it, the outermost first."""
        tags: tuple[str, ...] = ()
        for _ in range(_MAX_CHAIN):
            if not isinstance(id, str | float) or id not in self._named_folders:
                break
            folder = self._named_folders[id]
            tags = folder.tags + tags
            id = folder.parent_id
        return tags

    def _tags_of_ids(self, ids: object) -> tuple[str, ...]:
        """Return the tags of the folders in an array of ids, none for any other value."""
        tags: tuple[str, ...] = ()
        if isinstance(ids, list):
            for id in ids[:MAX_TAGS]:
                tags += self._tags_of_id(id)
        return tags[:MAX_TAGS]


def _ignore(entries: Iterable[ImportedEntry]) -> Iterator[ImportedEntry]:
    for entry in entries:
        yield ignored_entry(entry.place)


def _unwrap_repository(members: _Members) -> _Members:
    """Return the members of a repository of GitHub, those about the repository renamed."""
    repository = members.get("repo")  # GitHub's list of stars has the date beside it.
    if isinstance(repository, dict) and not _has_address(members):
        members = members | repository
        del members["repo"]
    if "full_name" not in members or "html_url" not in members:
        return members
    renamed = {}
    for name, value in members.items():
        if name in _MEMBERS_OF_REPOSITORY:
            name = f"repo.{name}"
        renamed[name] = value
    return renamed


def _read_named_folders(document: object) -> dict[object, _NamedFolder]:
    """Return the folders of the document that have an id, by this id."""
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
    """Return the members of an object that contain entries or folders, none for an entry."""
    # The address of the outermost object may be that of a user or site.
    if not is_outermost and _has_address(members):
        return {}
    containers = {}
    for name, value in members.items():
        if _is_container(name, value, is_outermost):
            containers[name] = value
    # In Tab Session Manager, the members of windows and tabs are named by ids.
    if not containers and all(isinstance(value, dict) for value in members.values()):
        return members
    return containers


def _has_address(members: _Members) -> bool:
    return any(role_of(name) == "uri" and _text(value) for name, value in members.items())


def _is_container(name: str, value: object, is_outermost: bool) -> bool:
    """Return whether a member's value is for entries or folders, by its name and type."""
    if isinstance(value, dict):
        return name in _ROOT_OBJECTS or (is_outermost and name in _ENTRY_LISTS)
    if not isinstance(value, list):
        return False
    if name in _FOLDER_LISTS and not is_outermost:  # An entry of Karakeep has ids in `lists`.
        return len(value) > 0 and isinstance(value[0], dict)
    return name in _CONTAINERS


def _is_folder(members: _Members, position: _Position) -> bool:
    return position.name in _FOLDER_LISTS or members.get("type") in _FOLDER_TYPES


def _text(value: object) -> str:
    """Return a text as it is, and an empty one for any other value."""
    if isinstance(value, str):
        return value
    return ""


def _title(members: _Members) -> str:
    return _text(members.get("title", members.get("name")))


# --- Entries ---


def _read_object(
    members: _Members, path: str, tags_of_folders: tuple[str, ...]
) -> ImportedEntry:
    """Return the entry in an object, of this service's own export or of another program."""
    if not tags_of_folders and _is_from_own_export(members):  # Our exports have no folders.
        return entry_with_uri(path, members)
    fields = fields_of_members(members, tags_of_folders)
    if _is_no_bookmark(members) or is_firefox_query(fields.get("uri")):
        return ignored_entry(path)
    return entry_with_uri(path, fields)


def _is_from_own_export(members: _Members) -> bool:
    """Return whether an object looks like one from this service, which needs no conversion."""
    if not members.keys() <= set(FIELDS):
        return False
    # In buku tags are one text, and in others dates have only digits.
    if not isinstance(members.get("tags", []), list):
        return False
    created = str(members.get("created", "-"))
    modified = str(members.get("modified", "-"))
    return "-" in created and "-" in modified


def _is_no_bookmark(members: _Members) -> bool:
    if members.get("type") in _SEPARATOR_TYPES:
        return True
    return _FLOCCUS_ACCOUNT_MEMBERS <= members.keys()


def fields_of_members(members: _Members, tags_of_folders: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of an object of another program."""
    split = _tags
    # Of the programs that write `href`, only Pinboard writes no title.
    if "href" in members and not members.get("title"):
        title = members.get("description")
        description = members.get("extended")
        members = members | {"title": title, "description": description}
        split = _tags_of_pinboard
    if members.get("pinnedBy"):  # Linkwarden
        members = members | {"starred": True}
    notes = members.get("notes")
    is_linkding = "tag_names" in members
    if is_linkding and notes and isinstance(notes, str):
        members = members | {"notes": f"Notes:\n{notes}"}
    return read_fields([*members.items(), *_inner_members(members)], split, tags_of_folders)


def _tags_of_pinboard(value: object) -> list[object]:
    if isinstance(value, str):
        value = value.split()
    return _tags(value)


def _inner_members(members: _Members) -> Iterator[tuple[str, object]]:
    """Yield the members that Karakeep, Vivaldi and Firefox write deeper in an object."""
    for name, value in members.items():
        if isinstance(value, dict) and _is_folder_object(name, value):
            yield name, _title(value)
    content = members.get("content")  # Karakeep
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


def _is_folder_object(name: str, value: object) -> bool:
    if role_of(name) != "folder" or not isinstance(value, dict):
        return False
    return _title(value) != ""


def _tags(value: object) -> list[object]:
    """Return the tags in a text of several, an array of texts or named objects, or an object."""
    if isinstance(value, dict):
        value = list(value)
    if not isinstance(value, list):
        value = [value]
    tags: list[object] = []
    for tag in value:
        if isinstance(tag, dict):
            tag = tag.get("name")
        if tag in WORDS_FOR_NO_TAG:
            continue
        if isinstance(tag, str):
            tags += split_tags(tag)
        else:
            tags.append(tag)  # The importer reports it.
    return tags
