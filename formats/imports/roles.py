"""Read the fields of a bookmark from named values, such as the cells of a row."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from formats.imports.dates import is_unknown_date, may_be_date, parse_plausible_date
from formats.imports.folders import Tags, folder_tags, list_tags
from storage.bookmark import (
    MAX_TAGS,
    Fields,
    cut_and_replace_unprintable,
    tags_without,
    unique_tags,
)
from storage.importer import NOTE

# --- Roles by names ---

# The names of each role, in lower case and without spaces, `_` and `-`.
_NAMES = {
    "description": "description desc note notes comment comments excerpt summary selection "
    "extended customdescription metainfo.description",
    "tags": "tags tag labels label keywords taglist tagnames documenttags manualtags topics "
    "category categories",
    "folder": "folder folders foldername collection",
    "private": "private",
    "unread": "toread unread isunread readlater",
    "read": "read isread",
    "starred": "starred isstarred favorite isfavorite favorited favourite favourited important "
    "dataimportant",
    "archived": "archived isarchived",
    "shared": "shared",
    "status": "status state location",
    "time": "time",  # A creation time in some exports, a duration in others.
    "ignored": "id guid uuid index type typecode parentid content.type",
}
# Of several names in an entry, the first here is preferred: `html_url` of GitHub before `url`.
_NAMES_BY_PREFERENCE = {
    "uri": "htmlurl uri sourceurl url href link address givenurl resolvedurl bookmarkurl permalink "
    "contenturl content.url",
    "title": "customtitle title name giventitle resolvedtitle websitetitle content.title",
    "created": "adddate importdate starredat created createdat createdon createdtime creationdate "
    "creationtime createtime datecreated timecreated dateadded timeadded added addedat addedon "
    "addtime savedat postedat saved saveddate datesaved timestamp date lastinteractiondate",
    "modified": "lastmodified modified modifiedat modifiedtime datemodified updated updatedat "
    "timeupdated dateupdated lastupdate lastupdated",
}


def _index_roles() -> dict[str, str]:
    role_by_name = {}
    for role, names in (_NAMES | _NAMES_BY_PREFERENCE).items():
        for name in names.split():
            role_by_name[name] = role
    return role_by_name


_ROLE_BY_NAME = _index_roles()
_PREFERRED_NAMES = " ".join(_NAMES_BY_PREFERENCE.values()).split()
_RANK_BY_NAME = {name: rank for rank, name in enumerate(_PREFERRED_NAMES)}


def role_of(name: str) -> str:
    """Return the role of a name, such as `uri` for `Link`, or ""."""
    return _ROLE_BY_NAME.get(_normalize(name), "")


def _normalize(name: str) -> str:
    return name.lower().replace(" ", "").replace("_", "").replace("-", "")


# --- Values by roles ---

_TEXT_ROLES = ("uri", "title", "description", "folder")


def _group_by_role(named_values: Iterable[tuple[str, object]]) -> defaultdict[str, list[Any]]:
    """Return the usable values of each role, those with preferred names first."""
    values_by_role = defaultdict[str, list[Any]](list)
    for name, value in sorted(named_values, key=_rank_of):
        role = role_of(name)
        if _is_empty(role, value) or not _has_usable_type(role, value):
            continue
        # `formats.json` parses the tag 2024 as 2024.0.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        values_by_role[role].append(value)
    return values_by_role


def _rank_of(named_value: tuple[str, object]) -> int:
    name, _ = named_value
    return _RANK_BY_NAME.get(_normalize(name), 0)


def _is_empty(role: str, value: object) -> bool:
    if role == "read" and value == 0:  # `"read": 0` means unread.
        return False
    return not value


def _has_usable_type(role: str, value: object) -> bool:
    if role in _TEXT_ROLES:
        return isinstance(value, str)
    if role == "time":
        return may_be_date(value)
    return role != ""


_FIELD_BY_DATE_ROLE = {"created": "created", "time": "created", "modified": "modified"}


def is_unused(name: str, value: object, fields: Fields) -> bool:
    """Return whether `read_fields`, which returned `fields`, has left out a value."""
    role = role_of(name)
    if _is_empty(role, value):
        return False
    if not _has_usable_type(role, value):
        return True
    if role in ("uri", "title"):
        # Of several values, such as those of `url` and `link`, `read_fields` takes one.
        return value != fields.get(role)
    if role in _STATE_TAGS:
        word = _word_of(value)
        return word not in _STATE_TAGS[role] and word not in _WORDS_WITHOUT_TAG
    field = _FIELD_BY_DATE_ROLE.get(role)
    if field is None or _is_date_or_unknown(value):
        return False
    # `read_fields` leaves out a wrong date only if the entry has a good one.
    return _is_date_or_unknown(fields.get(field, ""))


def _is_date_or_unknown(value: object) -> bool:
    return is_unknown_date(value) or parse_plausible_date(value) is not None


def note_wrong_date(named_values: Iterable[tuple[str, object]], fields: Fields) -> None:
    """Note the first wrong date that `read_fields` has left out for a good one.

    Formats that count unused values do not need this note.
    """
    # A hostile entry may have thousands of dates, so the good dates are parsed only once.
    fields_with_date = [name for name in ("created", "modified") if _has_date(fields, name)]
    for name, value in named_values:
        role = role_of(name)
        field = _FIELD_BY_DATE_ROLE.get(role)
        if field in fields_with_date and _is_wrong_date(role, value):
            shown = cut_and_replace_unprintable(str(value))
            _add_note(fields, f"a date left out, because it cannot be read: {shown!r}")
            return


def _add_note(fields: Fields, note: str) -> None:
    if NOTE in fields:
        note = f"{fields[NOTE]}; {note}"
    fields[NOTE] = note


def _has_date(fields: Fields, name: str) -> bool:
    return name in fields and parse_plausible_date(fields[name]) is not None


def _is_wrong_date(role: str, value: object) -> bool:
    return _has_usable_type(role, value) and not _is_date_or_unknown(value)


# --- Fields ---


def read_fields(
    named_values: Iterable[tuple[str, object]],
    split_tags: Callable[[Any], Iterable[object]],
    tags_of_folders: Tags = (),
) -> Fields:
    """Return the fields of a bookmark. `split_tags` returns the tags in a value."""
    values = _group_by_role(named_values)
    tags: list[object] = []
    for value in values["tags"]:
        tags += split_tags(value)
    tags += _tags_of_states(values)
    tags += _tags_of_paths(values["folder"])
    further_tags, note = _fit_tags_of_folders(tags, tags_of_folders)
    fields = {
        "uri": _first(values["uri"]),
        "title": _first(values["title"]),
        "description": _join_distinct(values["description"]),
        "tags": [*tags, *further_tags],
        "created": _first_date(values["created"] + values["time"]),
        "modified": _first_date(values["modified"]),
        NOTE: note,
    }
    return {name: value for name, value in fields.items() if value}


def _fit_tags_of_folders(own_tags: list[object], tags_of_folders: Tags) -> tuple[Tags, str]:
    """Return the tags for which a bookmark has room, and a note if some are left out.

    The storage would leave out the same tags, but slowly, while other processes wait for the lock.
    """
    if len(own_tags) + len(tags_of_folders) <= MAX_TAGS:
        return tags_of_folders, ""
    different_tags = unique_tags(map(str, own_tags))
    new_tags = tags_without(tags_of_folders, different_tags)
    room = max(0, MAX_TAGS - len(different_tags))
    left_out = len(new_tags[room:])
    if not left_out:
        return tuple(new_tags), ""
    note = f"{left_out} of the folders' tags left out, because there are more than {MAX_TAGS}"
    return tuple(new_tags[:room]), note


def _first(texts: Sequence[str]) -> str:
    if texts:
        return texts[0]
    return ""


def _join_distinct(texts: Iterable[str]) -> str:
    distinct = dict.fromkeys(map(str.strip, texts))
    return "\n\n".join(filter(None, distinct))


_TRUE_WORDS = ("1", "true", "t", "yes", "y", "on", "x")
_FALSE_WORDS = ("0", "false", "f", "no", "n", "off")
_STATE_TAGS = {
    "private": dict.fromkeys(_TRUE_WORDS, "private"),
    "shared": {
        "true": "shared",  # linkding shares no bookmark by default.
        "no": "private",  # Pinboard shares each bookmark by default.
    },
    "unread": dict.fromkeys(_TRUE_WORDS, "unread"),
    "starred": dict.fromkeys(_TRUE_WORDS, "starred"),
    "archived": dict.fromkeys(_TRUE_WORDS, "archived"),
    "read": dict.fromkeys(_FALSE_WORDS, "unread"),
    "status": {
        "unread": "unread",
        "new": "unread",
        "later": "unread",
        "shortlist": "unread",
        "archive": "archived",
        "archived": "archived",
    },
}
# Known values that need no tag. They are not reported as unused.
_WORDS_WITHOUT_TAG = (*_TRUE_WORDS, *_FALSE_WORDS, "", "none", "read", "active", "feed")


def _tags_of_states(values_by_role: defaultdict[str, list[Any]]) -> list[str]:
    tags: list[str] = []
    for role, tag_by_word in _STATE_TAGS.items():
        for value in values_by_role[role]:
            tag = tag_by_word.get(_word_of(value))
            if tag and tag not in tags:
                tags.append(tag)
    return tags


def _word_of(value: object) -> str:
    return str(value).strip().lower().removesuffix(".0")  # `formats.json` parses 1 as 1.0.


def _tags_of_paths(paths: Iterable[str]) -> list[str]:
    """Return the tags for paths of folders, such as `Travel/Cities`."""
    tags: list[str] = []
    for path in paths:
        top, *inner = path.split("/")
        tags += list_tags(top)
        for name in inner:
            tags += folder_tags(name, is_top_level=False)
    return tags


def _first_date(dates: Sequence[object]) -> str:
    """Return the first good date. If all are wrong, return the first, which the import reports."""
    given = [date for date in dates if not is_unknown_date(date)]
    for value in given:
        date = parse_plausible_date(value)
        if date:
            return date
    if given:
        return str(given[0])
    return ""
