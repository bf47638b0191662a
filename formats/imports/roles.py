"""Find the role (meaning) of a column or member in a file of another program by its name."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from formats.imports.dates import is_flag, parse_plausible_date, stands_for_no_date
from formats.imports.folders import folder_tags, list_tags, merge_tags

# By role, the names that programs use for it. `_normalize` turns `Read Later` into `readlater`.
_NAMES = {
    "description": "description desc note notes comment comments excerpt summary selection "
    "extended customdescription",
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
    "id": "id guid uuid index type typecode parentid",  # Neither stored nor reported.
    "maybe created": "time",  # A date in some programs, a duration in others.
}
# If an entry has several names of a role, the first one in this table counts: `url` of GitHub is an
# address of its API, and `Date` of Zotero is that of a publication.
_NAMES_BY_PREFERENCE = {
    "uri": "htmlurl uri sourceurl url href link address givenurl resolvedurl bookmarkurl permalink "
    "contenturl",
    "title": "customtitle title name giventitle resolvedtitle websitetitle",
    "created": "importdate starredat created createdat createdon createdtime creationdate "
    "creationtime createtime datecreated timecreated dateadded timeadded added addedat addedon "
    "adddate addtime savedat postedat saved saveddate datesaved timestamp date lastinteractiondate",
    "modified": "modified modifiedat modifiedtime datemodified lastmodified updated updatedat "
    "timeupdated dateupdated lastupdate lastupdated",
}
_ROLES: dict[str, str] = {}
for _role, _names in (_NAMES | _NAMES_BY_PREFERENCE).items():
    for _name in _names.split():
        _ROLES[_name] = _role
_RANKS: dict[str, int] = {}
for _names in _NAMES_BY_PREFERENCE.values():
    for _rank, _name in enumerate(_names.split()):
        _RANKS[_name] = _rank
WORDS_FOR_NO_TAG = ("", "{}", "no_tag")  # Exports of databases have `{}`, those of Diigo `no_tag`.
_ROLES_OF_TEXTS = ("uri", "title", "description", "folder")  # Other values are not read.

_TRUE_WORDS = ("1", "true", "t", "yes", "y", "on", "x")
_FALSE_WORDS = ("0", "false", "f", "no", "n", "off")
# By role of a flag or state, the tag for each of its values.
_TAGS_BY_WORD = {
    "private": dict.fromkeys(_TRUE_WORDS, "private"),
    "shared": {"true": "shared", "no": "private"},  # linkding writes true, Pinboard yes and no.
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


def role_of(name: str) -> str:
    """Return the role of a column or member, such as `uri` for `Link`; empty if unknown."""
    return _ROLES.get(_normalize(name), "")


def _normalize(name: str) -> str:
    return name.lower().replace(" ", "").replace("_", "").replace("-", "")


def _group_by_role(members: Iterable[tuple[str, object]]) -> defaultdict[str, list[object]]:
    """Return the non-empty values by role, those with preferred names first."""
    values_by_role = defaultdict[str, list[object]](list)
    for name, value in sorted(members, key=_rank_of):
        role = role_of(name)
        # The number 0 is an unknown date. In the role `read`, it means unread.
        is_empty = not value and role != "read"
        if not role or is_empty:
            continue
        if isinstance(value, float) and value.is_integer():  # Numbers of JSON are read as floats.
            value = int(value)
        values_by_role[role].append(value)
    return values_by_role


def _rank_of(member: tuple[str, object]) -> int:
    name, _ = member
    return _RANKS.get(_normalize(name), 0)


def is_read(name: str, value: object) -> bool:
    """Return whether the import reads a value of this name. Empty values count as read."""
    if not value:
        return True
    role = role_of(name)
    if role in _ROLES_OF_TEXTS:
        return isinstance(value, str)
    if role in ("created", "modified"):
        return not is_flag(value)
    if role == "maybe created":
        return parse_plausible_date(value) is not None
    return role != ""


def read_fields(
    members: Iterable[tuple[str, object]],
    split_tags: Callable[[Any], Iterable[object]],
    tags_of_folders: tuple[str, ...] = (),
) -> dict[str, object]:
    """Return the fields of an entry with these columns or members.

    `split_tags` returns the tags in a value. Flags and folders become tags, too.
    """
    values = _group_by_role(members)
    own_tags: list[object] = []
    for value in values["tags"]:
        own_tags += split_tags(value)
    further_tags = _tags_of_words(values)
    for path in _texts(values["folder"]):
        further_tags += _path_tags(path)
    fields = {
        "uri": _first_text(values["uri"]),
        "title": _first_text(values["title"]),
        "description": _join_different(_texts(values["description"])),
        "tags": merge_tags(own_tags, (*further_tags, *tags_of_folders)),
        "created": _first_date(values["created"], values["maybe created"]),
        "modified": _first_date(values["modified"], ()),
    }
    return {name: value for name, value in fields.items() if value}


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _first_text(values: Iterable[object]) -> str:
    for text in _texts(values):
        return text
    return ""


def _join_different(texts: Iterable[str]) -> str:
    """Return the texts as paragraphs, each text once."""
    different = dict.fromkeys(map(str.strip, texts))
    different.pop("", None)
    return "\n\n".join(different)


def _tags_of_words(values_by_role: defaultdict[str, list[object]]) -> list[str]:
    """Return the tags for flags and states, such as `private` for `private: true`."""
    tags: list[str] = []
    for role, tag_by_word in _TAGS_BY_WORD.items():
        for value in values_by_role[role]:
            tag = tag_by_word.get(str(value).strip().lower())
            if tag and tag not in tags:
                tags.append(tag)
    return tags


def _path_tags(path: str) -> list[str]:
    """Return the tags for a path of folders, such as `Travel/Cities`."""
    top, *inner = path.split("/")
    tags = list(list_tags(top))
    for name in inner:
        tags += folder_tags(name, may_be_built_in=False)
    return tags


def _first_date(values: Sequence[object], uncertain: Sequence[object]) -> str:
    """Return the first date that can be parsed, or else the first of `values`, to be reported."""
    known = [value for value in values if not stands_for_no_date(value)]
    for value in [*known, *uncertain]:
        date = parse_plausible_date(value)
        if date:
            return date
    if known:
        return str(known[0])
    return ""
