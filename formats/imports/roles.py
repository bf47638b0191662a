"""The roles (meanings) of columns and members in files of other programs, by their names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from formats.imports.dates import is_unknown, parse_plausible_date
from formats.imports.folders import folder_tags, list_tags, merge_tags

# By role, the names of its columns and members, without regard to case, spaces, `_` and hyphens.
_NAMES_BY_ROLE = {
    "description": "description desc note notes comment comments excerpt selection extended "
    "customdescription",
    "tags": "tags tag labels label keywords taglist tagnames documenttags manualtags category "
    "categories",
    "folder": "folder folders foldername collection",
    "private": "private",
    "unread": "toread unread isunread readlater",
    "read": "read isread",
    "starred": "starred isstarred favorite isfavorite favorited favourite favourited important",
    "archived": "archived isarchived",
    "shared": "shared",
    "status": "status state location",
    "maybe created": "time",  # Its number may also be a length of time.
}
# The same for roles of which one value counts: that of the first of these names. GitHub writes its
# API's address as `url`, Zotero the date of a publication as `Date`.
_NAMES_BY_PREFERENCE = {
    "uri": "htmlurl uri url href link address givenurl bookmarkurl permalink contenturl",
    "title": "customtitle title name giventitle websitetitle",
    "created": "importdate created createdat createdon createdtime creationdate creationtime "
    "datecreated timecreated dateadded timeadded added addedat addedon adddate addtime savedat "
    "saved saveddate datesaved timestamp date lastinteractiondate",
    "modified": "modified modifiedat modifiedtime datemodified lastmodified updated updatedat "
    "dateupdated lastupdate lastupdated",
}
_SEPARATORS = re.compile(r"[\s_-]")
_TRUE_WORDS, _FALSE_WORDS = "1 true t yes y on x".split(), "0 false f no n off".split()
# By role of a flag or state, the tags for its words.
_TAGS_BY_WORD = {
    "private": dict.fromkeys(_TRUE_WORDS, "private"),
    "shared": {"true": "shared", "no": "private"},  # linkding writes true, Pinboard yes and no.
    **{tag: dict.fromkeys(_TRUE_WORDS, tag) for tag in ("unread", "starred", "archived")},
    "read": dict.fromkeys(_FALSE_WORDS, "unread"),
    "status": {
        **dict.fromkeys(("unread", "new", "later", "shortlist"), "unread"),
        **dict.fromkeys(("archive", "archived"), "archived"),
    },
}
# By name, the role, and the place of the name among those of which one value counts.
_ROLES = {name: (role, 0) for role, names in _NAMES_BY_ROLE.items() for name in names.split()}
_ROLES |= {
    name: (role, rank)
    for role, names in _NAMES_BY_PREFERENCE.items()
    for rank, name in enumerate(names.split())
}


def role_of(name: str) -> str:
    """Return the role, or meaning, of a column or member: `uri` for `Link`, empty if unknown."""
    return _role_and_rank(name)[0]


def _role_and_rank(name: str) -> tuple[str, int]:
    return _ROLES.get(_SEPARATORS.sub("", name).lower(), ("", 0))


def group_by_role(members: Iterable[tuple[str, object]]) -> dict[str, list[object]]:
    """Return lists of non-empty values by role, those of preferred names first."""
    values_by_role: dict[str, list[object]] = {}
    ranked = [(*_role_and_rank(name), value) for name, value in members]
    for role, _, value in sorted(ranked, key=lambda member: member[1]):
        # Drop 0, too, which equals False: programs write 0 for unknown dates.
        if role and (value not in (None, "", [], False) or role == "read"):
            if isinstance(value, float) and value.is_integer():  # All numbers of JSON are floats.
                value = int(value)
            values_by_role.setdefault(role, []).append(value)
    return values_by_role


def fields_of_roles(
    values_by_role: Mapping[str, Sequence[object]],
    own_tags: Sequence[object],
    tags_of_folders: tuple[str, ...] = (),
) -> dict[str, object]:
    """Return the fields of an entry. Each format splits tags differently, so the caller does it.

    The first text of a role counts; descriptions are joined. Flags and folders become tags.
    """
    texts = {role: [v for v in vs if isinstance(v, str)] for role, vs in values_by_role.items()}
    fields: dict[str, object] = {n: texts[n][0] for n in ("uri", "title") if texts.get(n)}
    if descriptions := dict.fromkeys(filter(None, map(str.strip, texts.get("description", ())))):
        fields["description"] = "\n\n".join(descriptions)
    tags_of_paths = [tag for path in texts.get("folder", ()) for tag in _path_tags(path)]
    further_tags = (*_tags_of_words(values_by_role), *tags_of_paths, *tags_of_folders)
    if tags := merge_tags(own_tags, further_tags):
        fields["tags"] = tags
    for role in ("created", "modified"):
        values = [v for v in values_by_role.get(role, ()) if not is_unknown(v)]
        dates = map(parse_plausible_date, [*values, *values_by_role.get(f"maybe {role}", ())])
        # Without any date, keep the first value: the importer reports it.
        if first_date := next(filter(None, [*dates, *map(str, values)]), None):
            fields[role] = first_date
    return fields


def _tags_of_words(values_by_role: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Yield the tags for flags and states, such as `private` for `private: true`."""
    tags = (
        tag_by_word.get(str(value).strip().lower())
        for role, tag_by_word in _TAGS_BY_WORD.items()
        for value in values_by_role.get(role, ())
    )
    yield from dict.fromkeys(filter(None, tags))


def _path_tags(path: str) -> tuple[str, ...]:
    """Return the tags for a path of folders, such as `Travel/Cities`."""
    top, *inner = path.split("/")
    return (*list_tags(top), *(t for name in inner for t in folder_tags(name, False)))
