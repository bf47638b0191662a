"""Read the members of a JSON object, or the attributes of an XML element."""

from collections.abc import Iterable, Iterator

from formats.imports.folders import Tags
from formats.imports.roles import is_used, read_fields, role_of
from storage.bookmark import Fields, split_tags

Members = dict[str, object]

WORDS_FOR_NO_TAG = ("", "{}", "no_tag")  # `no_tag` is Diigo's.

# The used members of objects inside an entry, such as `{"content": {"url": "a:b"}}`.
_INNER_NAMES = {"content": ("type", "url", "title"), "meta_info": ("Description",)}
_NAMES_OF_ONE_PROGRAM = ("root", "folderType", "lists", "annos", "pinnedBy")
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
_MEMBERS_OF_REPOSITORY = ("created_at", "updated_at", "pushed_at", "archived", "private")


def text_of(value: object) -> str:
    """Return a text, and "" for other values."""
    if isinstance(value, str):
        return value
    return ""


def title_of(members: Members) -> str:
    return text_of(members.get("title", members.get("name")))


def has_address(members: Members) -> bool:
    return any(role_of(name) == "uri" and text_of(value) for name, value in members.items())


def fields_of_members(members: Members, tags_of_folders: Tags) -> Fields:
    """Return the fields of an entry of another program."""
    read_tags = tags_in
    if _is_from_pinboard(members):
        read_tags = _tags_between_spaces
    all_members = [*_translated_members(members).items(), *_inner_members(members)]
    return read_fields(all_members, read_tags, tags_of_folders)


def _is_from_pinboard(members: Members) -> bool:
    return "href" in members and not members.get("title")


def _translated_members(members: Members) -> Members:
    translated = members.copy()
    if _is_from_pinboard(members):
        translated["title"] = members.get("description")
        translated["description"] = members.get("extended")
    if members.get("pinnedBy"):  # Linkwarden
        translated["starred"] = True
    notes = text_of(members.get("notes"))
    if notes and "tag_names" in members:  # linkding
        translated["notes"] = f"Notes:\n{notes}"
    return translated


def tags_in(value: object) -> list[object]:
    """Return the tags in a value such as `"a,b"`, `["a", "b"]`, `[{"name": "a"}]` or `{"a": 1}`."""
    tags: list[object] = []
    for tag in _items_of(value):
        if isinstance(tag, dict):
            tag = tag.get("name")
        if tag not in WORDS_FOR_NO_TAG:
            tags.append(tag)
    return tags


def _items_of(value: object) -> Iterable[object]:
    if isinstance(value, str):
        return split_tags(value)
    if isinstance(value, list | dict):
        return value
    return [value]


def _tags_between_spaces(value: object) -> list[object]:
    if isinstance(value, str):
        value = ",".join(value.split())
    return tags_in(value)


def _inner_members(members: Members) -> Iterator[tuple[str, object]]:
    """Yield the names and values of useful members in the objects inside an entry."""
    for name, value in members.items():
        folder = _folder_of_entry(name, value)
        if folder:
            yield name, folder
    content = members.get("content")  # Karakeep
    if isinstance(content, dict):
        yield "content_url", content.get("url")
        yield "website_title", content.get("title")
    meta_info = members.get("meta_info")  # Vivaldi
    if isinstance(meta_info, dict):
        yield "description", meta_info.get("Description")
    annotations = members.get("annos")  # Firefox
    if isinstance(annotations, list):
        yield from _descriptions_in(annotations)


def _descriptions_in(annotations: list[object]) -> Iterator[tuple[str, object]]:
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield "description", annotation.get("value")


def _folder_of_entry(name: str, value: object) -> str:
    """Return `a` for a member `"folder": {"name": "a"}`, and "" for other members."""
    if role_of(name) == "folder" and isinstance(value, dict):
        return title_of(value)
    return ""


def count_unused_members(members: Members) -> Iterator[tuple[str, int]]:
    """Yield the names of the unused members, and how many values each has."""
    for name, value in members.items():
        if _counts_as_used(name, value):
            continue
        if name in _INNER_NAMES and isinstance(value, dict):
            for inner_name in _unused_inner_names(name, value):
                yield f"{name}.{inner_name}", 1
        elif isinstance(value, list):
            yield name, len(value)
        else:
            yield name, 1


def _counts_as_used(name: str, value: object) -> bool:
    if name in _NAMES_OF_ONE_PROGRAM:
        return True
    if _folder_of_entry(name, value):
        return True
    return is_used(name, value)


def _unused_inner_names(name: str, inner_members: Members) -> Iterator[str]:
    for inner_name, inner_value in inner_members.items():
        if inner_value and inner_name not in _INNER_NAMES[name]:
            yield inner_name


def flatten_repository(members: Members) -> Members:
    """Merge the objects of a GitHub star into one. Return other objects unchanged."""
    repository = members.get("repo")
    if isinstance(repository, dict) and not has_address(members):
        members = members | repository
        del members["repo"]
    is_repository = "full_name" in members and "html_url" in members
    if is_repository:
        return _rename_members_of_repository(members)
    return members


def _rename_members_of_repository(members: Members) -> Members:
    """Rename `created_at` to `repo.created_at`, because it is not the bookmark's date."""
    renamed = {}
    for name, value in members.items():
        if name in _MEMBERS_OF_REPOSITORY:
            name = f"repo.{name}"
        renamed[name] = value
    return renamed
