"""Parse the parameters that select bookmarks."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from storage.bookmark import MAX_TAGS
from storage.errors import BadQuery
from storage.search import Search, normalize_and_fold_tag, parse_search
from storage.uri import uri_key

UP_TO_18_DIGITS = re.compile("[0-9]{1,18}")  # 18 digits fit into 64 bits.

MAX_BYTES = 4_096  # The limit of one search or tag.
MAX_TOTAL_BYTES = 16_384  # The limit of all searches and tags together.
SORT_KEYS = ("created", "modified", "title", "uri")
SORTS = (*SORT_KEYS, *(f"-{key}" for key in SORT_KEYS))  # `-title` is descending.
NEWEST_FIRST = "-created"


class Query(msgspec.Struct, frozen=True):
    """Which bookmarks to select, and which page of them to return."""

    tags: tuple[str, ...] = ()  # Case-folded.
    without_tags: tuple[str, ...] = ()  # Case-folded.
    search: Search | None = None
    uri_key: str | None = None
    sort: str = NEWEST_FIRST
    limit: int | None = None
    offset: int = 0


def parse_query(parameters: Sequence[tuple[str, str]], page_size: int | None = None) -> Query:
    """Parse the parameters tag, q, uri, sort, limit and offset. Raises BadQuery.

    `page_size` is the default of the parameter limit.
    """
    tags = [value for name, value in parameters if name == "tag"]
    searches = [value for name, value in parameters if name == "q"]
    require_short([*tags, *searches])
    values = first_values(parameters)
    limit = _parse_number(values, "limit")
    offset = _parse_number(values, "offset") or 0
    if limit is None:  # The API ignores an offset without a limit.
        limit = page_size
        offset = 0
    return Query(
        tags=fold_tags(tags),
        search=parse_search(" ".join(searches)),
        uri_key=_parse_uri(values),
        sort=_parse_sort(values),
        limit=limit,
        offset=offset,
    )


def require_short(values: Sequence[str]) -> None:
    lengths = [len(value.encode("utf-8", "surrogatepass")) for value in values]
    if max(lengths, default=0) > MAX_BYTES or sum(lengths) > MAX_TOTAL_BYTES:
        raise BadQuery(
            f"A search and each tag have at most {MAX_BYTES:,} bytes, and all together at most "
            f"{MAX_TOTAL_BYTES:,}. Shorten them."
        )


def first_values(parameters: Sequence[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in parameters:
        values.setdefault(name, value)
    return values


def fold_tags(values: Iterable[str]) -> tuple[str, ...]:
    """Case-fold and sort tags. Raises BadQuery for too many."""
    tags = [normalize_and_fold_tag(value) for value in values]
    if len(tags) > MAX_TAGS:
        raise BadQuery(f"A list has at most {MAX_TAGS} tags as its filter. Leave some out.")
    return tuple(sorted(set(tags) - {""}))


def _parse_uri(values: Mapping[str, str]) -> str | None:
    uri = values.get("uri", "").strip()
    if not uri:
        return None
    return uri_key(uri)


def _parse_sort(values: Mapping[str, str]) -> str:
    sort = values.get("sort", NEWEST_FIRST)
    if sort not in SORTS:
        raise BadQuery(f"The parameter sort must be one of {', '.join(SORTS)}.")
    return sort


def _parse_number(values: Mapping[str, str], name: str) -> int | None:
    if name not in values:
        return None
    if not UP_TO_18_DIGITS.fullmatch(values[name]):
        raise BadQuery(f"The parameter {name} must be a whole number from 0, of at most 18 digits.")
    return int(values[name])
