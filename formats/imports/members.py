"""Translate the names in the JSON objects and XML elements of other programs."""

from collections.abc import Iterable, Iterator

from formats.imports.folders import Tags
from formats.imports.roles import read_fields, role_of
from storage.bookmark import Fields, split_tags

Members = dict[str, object]
NamedValue = tuple[str, object]

WORDS_FOR_NO_TAG = ("", "{}", "no_tag")  # Diigo writes `no_tag`.

# The JSON reader finds folders by these members.
_NAMES_FOR_FOLDERS = ("root", "folderType", "lists")
_FIREFOX_DESCRIPTION = "bookmarkProperties/description"
_MEMBERS_OF_REPOSITORY = ("created_at", "updated_at", "pushed_at", "archived", "private")


def text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    return ""


def title_of(members: Members) -> str:
    return text_of(members.get("title", members.get("name")))


def has_address(members: Members) -> bool:
    return _has_text(members, role="uri")


def _has_text(members: Members, role: str) -> bool:
    for name, value in members.items():
        if role_of(name) == role and text_of(value):
            return True
    return False


def fields_of_members(members: Members, tags_of_folders: Tags) -> Fields:
    return read_fields(named_values(members), tags_in, tags_of_folders)


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


def named_values(members: Members) -> list[NamedValue]:
    """Return the members of an entry under the names that most programs use."""
    for translate in (_translate_pinboard, _translate_linkding, _translate_github):
        members = translate(members)
    values: list[NamedValue] = []
    # Move `annos` and `meta_info` to the end, so that the bookmark's own description is first.
    for name, value in sorted(members.items(), key=_has_inner_description):
        values += _translate_member(name, value)
    return values


def _has_inner_description(member: NamedValue) -> bool:
    name, _ = member
    return name in ("annos", "meta_info")


def _translate_member(name: str, value: object) -> Iterable[NamedValue]:
    if name in _NAMES_FOR_FOLDERS:
        return []
    if name == "pinnedBy":
        return [_star_of_linkwarden(value)]
    if name == "annos" and isinstance(value, list):
        return _descriptions_of_firefox(value)
    if name in ("content", "meta_info") and isinstance(value, dict):
        return _members_of_karakeep_or_vivaldi(name, value)
    if role_of(name) == "folder" and isinstance(value, dict):
        return [_folder_with_name(name, value)]
    return [(name, value)]


def _star_of_linkwarden(users: object) -> NamedValue:
    """Translate `"pinnedBy": [{"id": 1}]`, the users who have pinned a link."""
    return "starred", bool(users)


def _members_of_karakeep_or_vivaldi(name: str, members: Members) -> Iterator[NamedValue]:
    """Translate `"content": {"url": "a:b"}` to `"content.url": "a:b"`.

    Karakeep writes `content`, Vivaldi writes `meta_info`.
    """
    for inner_name, value in members.items():
        yield f"{name}.{inner_name}", value


def _folder_with_name(name: str, folder: Members) -> NamedValue:
    """Translate `"collection": {"id": 5, "name": "Dev"}` to `"collection": "Dev"`."""
    title = title_of(folder)
    if not title:
        return name, folder
    return name, title


def _descriptions_of_firefox(annotations: list[object]) -> Iterator[NamedValue]:
    """Translate `"annos": [{"name": "bookmarkProperties/description", "value": "D"}]`."""
    for annotation in annotations:
        if isinstance(annotation, dict) and annotation.get("name") == _FIREFOX_DESCRIPTION:
            yield "description", annotation.get("value")


def _translate_pinboard(members: Members) -> Members:
    """Rename Pinboard's `description` to `title`, and put commas between its tags."""
    if "href" not in members or _has_text(members, role="title"):
        return members
    translated: Members = {}
    for name, value in members.items():
        if name == "title":
            continue  # This title is empty.
        if name == "description" and isinstance(value, str):
            translated["title"] = value
        elif role_of(name) == "tags" and isinstance(value, str):
            translated[name] = ",".join(value.split())
        else:
            translated[name] = value
    return translated


def _translate_linkding(members: Members) -> Members:
    """Put `Notes:` before the notes, which become a part of the bookmark's description."""
    notes = text_of(members.get("notes"))
    if "tag_names" not in members or not notes:
        return members
    return members | {"notes": f"Notes:\n{notes}"}


def _translate_github(members: Members) -> Members:
    """Translate a starred repository: `{"starred_at": "…", "repo": {"html_url": "a:b"}}`."""
    repository = members.get("repo")
    if isinstance(repository, dict) and not has_address(members):
        members = members | repository
        del members["repo"]
    if "full_name" not in members or "html_url" not in members:
        return members
    translated = {}
    for name, value in members.items():
        # `created_at` is the date of the repository, not of the bookmark.
        if name in _MEMBERS_OF_REPOSITORY:
            name = f"repo.{name}"
        translated[name] = value
    return translated
