"""The meaning of columns and members by their names, in the files of other programs."""

import re
from collections.abc import Iterable, Mapping, Sequence

from formats.imports.dates import parse_plausible_date
from formats.imports.folders import folder_tags, merge_tags

# Names without regard to case, spaces, underscores and hyphens.
_NAMES = {
    "uri": "uri url link href address givenurl bookmarkurl",
    "title": "title name giventitle websitetitle",
    "custom_title": "customtitle",  # The user's, which replaces the page's.
    "description": "description desc note notes comment comments excerpt selection extended "
    "customdescription",
    "tags": "tags tag labels label keywords taglist tagnames documenttags category categories",
    "folder": "folder folders foldername collection",
    "status": "status",
    "created": "created createdat createdon createdtime creationdate creationtime datecreated "
    "timecreated date dateadded timeadded added addedat addedon adddate addtime importdate "
    "timestamp time savedat saved saveddate datesaved",
    "modified": "modified modifiedat modifiedtime datemodified lastmodified updated updatedat "
    "dateupdated lastupdate lastupdated",
}
# Roles whose value true becomes a tag of the same name.
MARKS = ("private", "toread", "unread")
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
_ROLES |= {mark: mark for mark in MARKS}
_TRUE = ("1", "true", "yes")
# Top folders that Raindrop and Instapaper create themselves.
_SERVICE_FOLDERS = ("unsorted", "archive")


def role_of(name: str) -> str:
    """Return the role of a column or member, empty if it is unknown."""
    return _ROLES.get(re.sub(r"[\s_-]", "", name).lower(), "")


def values_by_role(members: Iterable[tuple[str, object]]) -> dict[str, list[object]]:
    """Return the non-empty values of columns or members by role."""
    values: dict[str, list[object]] = {}
    for name, value in members:
        if value not in (None, "", [], False) and (role := role_of(name)):
            values.setdefault(role, []).append(value)
    return values


def is_set(mark: object) -> bool:
    """Return whether a mark is set: by true or 1 in JSON, or by a text."""
    return mark == 1 or (isinstance(mark, str) and mark.strip().lower() in _TRUE)


def fields_of_roles(
    values: Mapping[str, Sequence[object]],
    tags: Sequence[object],
    folders: tuple[str, ...] = (),
) -> dict[str, object]:
    """Return the fields of an entry: its non-empty values by role, its own tags, and its folders'.

    The first text of a role counts, but descriptions are joined. Marks and folders become tags.
    """
    texts = {role: [v for v in all if isinstance(v, str)] for role, all in values.items()}
    fields: dict[str, object] = {}
    for role, name in (("uri", "uri"), ("title", "title"), ("custom_title", "title")):
        if texts.get(role):
            fields[name] = texts[role][0]
    if descriptions := dict.fromkeys(filter(None, map(str.strip, texts.get("description", ())))):
        fields["description"] = "\n\n".join(descriptions)
    marks = [mark for mark in MARKS if any(map(is_set, values.get(mark, ())))]
    if "unread" in (text.lower() for text in texts.get("status", ())):
        marks.append("unread")
    paths = [tag for path in texts.get("folder", ()) for tag in _path_tags(path)]
    if all_tags := merge_tags(tags, (*marks, *paths, *folders)):
        fields["tags"] = all_tags
    for name in ("created", "modified"):
        if date := next(filter(None, map(parse_plausible_date, values.get(name, ()))), None):
            fields[name] = date
    return fields


def _path_tags(path: str) -> list[str]:
    """Return the tags for a path of folders. Instapaper's own folder Unread is a mark."""
    if path.lower() in _SERVICE_FOLDERS:
        return []
    if path.lower() == "unread":
        return ["unread"]
    return [tag for n, name in enumerate(path.split("/")) for tag in folder_tags(name, n == 0)]
