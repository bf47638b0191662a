"""The roles of columns and members: what they mean in files of other programs, by their names."""

import re
from collections.abc import Iterable, Mapping, Sequence

from formats.imports.dates import parse_plausible_date
from formats.imports.folders import folder_tags, merge_tags

# By role, the names of its columns and members, without regard to case, spaces, `_` and hyphens.
_NAMES_BY_ROLE = {
    "uri": "uri url link href address givenurl bookmarkurl",
    "title": "title name giventitle websitetitle",
    "custom_title": "customtitle",  # The title by the user, which replaces the page's own.
    "description": "description desc note notes comment comments excerpt selection extended "
    "customdescription",
    "tags": "tags tag labels label keywords taglist tagnames documenttags category categories",
    "folder": "folder folders foldername collection",
    "status": "status",  # Pocket writes unread or archive.
    "created": "created createdat createdon createdtime creationdate creationtime datecreated "
    "timecreated date dateadded timeadded added addedat addedon adddate addtime importdate "
    "timestamp time savedat saved saveddate datesaved",
    "modified": "modified modifiedat modifiedtime datemodified lastmodified updated updatedat "
    "dateupdated lastupdate lastupdated",
}
# Flags, which are true or false: a member `private: true` becomes the tag `private`.
_FLAGS = ("private", "toread", "unread")
_ROLE_BY_NAME = {name: role for role, names in _NAMES_BY_ROLE.items() for name in names.split()}
_ROLE_BY_NAME |= {flag: flag for flag in _FLAGS}
_TRUE_VALUES = ("1", "1.0", "true", "yes")  # `parse_strictly` reads each number as a float.
# By name in lower case, the tags for the folders that Raindrop and Instapaper create themselves.
_TAGS_OF_SERVICE_FOLDERS = {"unsorted": (), "archive": (), "unread": ("unread",)}


def is_firefox_query(uri: object) -> bool:
    """Return whether this uri is a search that Firefox stores among its bookmarks."""
    return isinstance(uri, str) and uri.lstrip()[: len("place:")].lower() == "place:"


def role_of(name: str) -> str:
    """Return the role, or meaning, of a column or member: `uri` for `Link`, empty if unknown."""
    return _ROLE_BY_NAME.get(re.sub(r"[\s_-]", "", name).lower(), "")


def group_by_role(members: Iterable[tuple[str, object]]) -> dict[str, list[object]]:
    """Return lists of non-empty values by role: a program may write several values of one role."""
    values_by_role: dict[str, list[object]] = {}
    for name, value in members:
        # Drop 0, too, which equals False: programs write 0 for unknown dates and false flags.
        if value not in (None, "", [], False) and (role := role_of(name)):
            values_by_role.setdefault(role, []).append(value)
    return values_by_role


def fields_of_roles(
    values_by_role: Mapping[str, Sequence[object]],
    own_tags: Sequence[object],
    tags_of_folders: tuple[str, ...] = (),
) -> dict[str, object]:
    """Return the fields of an entry. Each format splits tags differently, so the caller does it.

    The first text of a role counts; descriptions are joined. True flags and folders become tags.
    """
    texts = {role: [v for v in vs if isinstance(v, str)] for role, vs in values_by_role.items()}
    fields: dict[str, object] = {}
    # The custom title comes last, to overwrite the title.
    for role, field in (("uri", "uri"), ("title", "title"), ("custom_title", "title")):
        if texts.get(role):
            fields[field] = texts[role][0]
    if descriptions := dict.fromkeys(filter(None, map(str.strip, texts.get("description", ())))):
        fields["description"] = "\n\n".join(descriptions)
    flags = [flag for flag in _FLAGS if any(map(_is_true, values_by_role.get(flag, ())))]
    if "unread" in (status.lower() for status in texts.get("status", ())):
        flags.append("unread")
    tags_of_paths = [tag for path in texts.get("folder", ()) for tag in _path_tags(path)]
    if tags := merge_tags(own_tags, (*flags, *tags_of_paths, *tags_of_folders)):
        fields["tags"] = tags
    for role in ("created", "modified"):
        dates = map(parse_plausible_date, values_by_role.get(role, ()))
        if first_date := next(filter(None, dates), None):
            fields[role] = first_date
    return fields


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE_VALUES


def _path_tags(path: str) -> Sequence[str]:
    """Return the tags for a path of folders, such as `Travel/Cities`."""
    if path.lower() in _TAGS_OF_SERVICE_FOLDERS:  # Such as Unread of Instapaper.
        return _TAGS_OF_SERVICE_FOLDERS[path.lower()]
    top, *inner = path.split("/")
    tags = folder_tags(top, may_be_built_in=True)  # Such as Other Bookmarks.
    return [*tags, *(tag for name in inner for tag in folder_tags(name, may_be_built_in=False))]
