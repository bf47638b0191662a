"""Select bookmarks by the parameters of linkding's lists."""

import re
from collections.abc import Mapping

from formats.http.linkding_shapes import LINKDING_SPACE, TAG_BY_FLAG
from formats.imports.dates import parse_date
from storage import bookmark as rules
from storage.bookmark import Bookmark
from storage.errors import Invalid
from storage.query import NEWEST_FIRST, Query, require_short
from storage.search import KEYWORDS, OnlyTags, Search, parse_search
from storage.store import Store

# linkding's flags, such as `unread`, are stored as tags. A bookmark without other tags is untagged.
_KEYWORDS = {**KEYWORDS, "untagged": OnlyTags(frozenset(TAG_BY_FLAG.values()))}
_SEARCHED_TAG = re.compile('#(?P<tag>[^ "()]*)')
_SORTS = {
    "added_asc": "created",
    "added_desc": "-created",
    "modified_asc": "modified",
    "modified_desc": "-modified",
    "title_asc": "title",
    "title_desc": "-title",
}


def select_bookmarks(store: Store, query: Query, values: Mapping[str, str]) -> list[Bookmark]:
    """Return the selected bookmarks. Raises Invalid or BadQuery."""
    added_since = _parse_date(values, "added_since")
    modified_since = _parse_date(values, "modified_since")
    bookmarks = []
    for entry in store.select(_with_parameters(query, values)).entries:
        bookmark = entry.bookmark
        if bookmark.created >= added_since and bookmark.modified >= modified_since:
            bookmarks.append(bookmark)
    return bookmarks


def _with_parameters(query: Query, values: Mapping[str, str]) -> Query:
    """Add the parameters to the query. Unknown values are ignored."""
    tags = [*query.tags]
    without_tags = [*query.without_tags]
    for flag in ("unread", "shared"):
        if values.get(flag) == "yes":
            tags.append(TAG_BY_FLAG[flag])
        elif values.get(flag) == "no":
            without_tags.append(TAG_BY_FLAG[flag])
    return Query(
        tags=tuple(tags),
        without_tags=tuple(without_tags),
        search=_parse_search(values.get("q", "")),
        sort=_SORTS.get(values.get("sort", ""), NEWEST_FIRST),
    )


def _parse_search(text: str) -> Search | None:
    require_short([text])
    quoted = _SEARCHED_TAG.sub(_quote_tag, text)
    return parse_search(quoted.replace(LINKDING_SPACE, " "), _KEYWORDS)


def _quote_tag(searched: re.Match[str]) -> str:
    """Quote a tag that has LINKDING_SPACE, so that `parse_search` does not split the tag."""
    if LINKDING_SPACE not in searched["tag"]:
        return searched[0]
    return f'#"{searched["tag"]}"'


def _parse_date(values: Mapping[str, str], name: str) -> str:
    if not values.get(name):
        return ""
    date = parse_date(values[name])
    try:
        return str(rules.clean_value("created", date))
    except Invalid:
        reason = "must be a date, such as 2025-01-01T00:00:00Z"
        raise Invalid([(name, reason)]) from None
