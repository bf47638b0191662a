"""Read the members of an object in JSON, or the attributes of an element in XML."""

from collections.abc import Iterator

from formats.imports.roles import is_used, read_fields, role_of
from storage.bookmark import split_tags

Members = dict[str, object]

WORDS_FOR_NO_TAG = ("", "{}", "no_tag")  # Exports of databases have `{}`, those of Diigo `no_tag`.

# The members that are used of an object inside an entry.
_USED_INNER_MEMBERS = {"content": ("type", "url", "title"), "meta_info": ("Description",)}
# Members that are used, although `is_used` does not know their names.
_OTHER_USED_MEMBERS = ("root", "folderType", "lists", "annos", "pinnedBy")
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
# In GitHub's JSON, these members describe a repository, not its bookmark.
_MEMBERS_OF_REPOSITORY = ("created_at", "updated_at", "pushed_at", "archived", "private")


def text_of(value: object) -> str:
    """Return the value if it is a text, otherwise ""."""
    if isinstance(value, str):
        return value
    return ""


def title_of(members: Members) -> str:
    return text_of(members.get("title", members.get("name")))


def has_address(members: Members) -> bool:
    return any(role_of(name) == "uri" and text_of(value) for name, value in members.items())


def fields_of_members(members: Members, tags_of_folders: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of an entry of another program."""
    changed: Members = {}
    read_tags = tags_in
    if "href" in members and not members.get("title"):  # Pinboard or Delicious
        changed["title"] = members.get("description")
        changed["description"] = members.get("extended")
        read_tags = _tags_of_pinboard
    if members.get("pinnedBy"):  # Linkwarden
        changed["starred"] = True
    # linkding has notes beside the description. The line `Notes:` separates them.
    notes = text_of(members.get("notes"))
    if notes and "tag_names" in members:
        changed["notes"] = f"Notes:\n{notes}"
    all_members = [*(members | changed).items(), *_inner_members(members)]
    return read_fields(all_members, read_tags, tags_of_folders)


def tags_in(value: object) -> list[object]:
    """Return the tags in a value such as `"a,b"`, `["a", "b"]`, `[{"name": "a"}]` or `{"a": 1}`."""
    if isinstance(value, str):
        value = split_tags(value)
    elif isinstance(value, dict):
        value = list(value)
    elif not isinstance(value, list):
        value = [value]
    tags: list[object] = []
    for tag in value:
        if isinstance(tag, dict):
            tag = tag.get("name")
        if tag not in WORDS_FOR_NO_TAG:
            tags.append(tag)
    return tags


def _tags_of_pinboard(value: object) -> list[object]:
    """Return tags that are separated by spaces."""
    if isinstance(value, str):
        value = ",".join(value.split())
    return tags_in(value)


def _inner_members(members: Members) -> Iterator[tuple[str, object]]:
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
    if not isinstance(annotations, list):
        return
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield "description", annotation.get("value")


def _folder_of_entry(name: str, value: object) -> str:
    """Return the name of the folder in a member such as `"folder": {"name": "a"}`, or ""."""
    if role_of(name) == "folder" and isinstance(value, dict):
        return title_of(value)
    return ""


def unused_members(members: Members) -> Iterator[tuple[str, int]]:
    """Yield the name and number of values of each member that the import does not use."""
    for name, value in members.items():
        if _is_used_member(name, value):
            continue
        if name in _USED_INNER_MEMBERS and isinstance(value, dict):
            yield from _unused_inner_members(name, value)
        elif isinstance(value, list):
            yield name, len(value)
        else:
            yield name, 1


def _is_used_member(name: str, value: object) -> bool:
    if name in _OTHER_USED_MEMBERS or is_used(name, value):
        return True
    return bool(_folder_of_entry(name, value))


def _unused_inner_members(name: str, members: Members) -> Iterator[tuple[str, int]]:
    for inner_name, value in members.items():
        if value and inner_name not in _USED_INNER_MEMBERS[name]:
            yield f"{name}.{inner_name}", 1


def flatten_repository(members: Members) -> Members:
    """Return a GitHub star with its `repo` merged into it; other objects stay the same."""
    repository = members.get("repo")
    if isinstance(repository, dict) and not has_address(members):
        members = members | repository
        del members["repo"]
    if "full_name" in members and "html_url" in members:  # A repository of GitHub.
        return _rename_members_of_repository(members)
    return members


def _rename_members_of_repository(members: Members) -> Members:
    """Rename `created_at` to `repo.created_at` and so on, so that they stay out of the bookmark."""
    renamed = {}
    for name, value in members.items():
        if name in _MEMBERS_OF_REPOSITORY:
            name = f"repo.{name}"
        renamed[name] = value
    return renamed
