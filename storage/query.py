"""A query: which bookmarks to select, and which range of them."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from storage.bookmark import MAX_TAGS
from storage.errors import BadQuery
from storage.search import Search, parse_search, tag_key
from storage.uri import uri_key

MAX_NUMBER = 10**18 - 1
_NUMBER = re.compile("[0-9]{1,18}")


class Query(msgspec.Struct, frozen=True):
    """Select the bookmarks that have all folded `tags`, meet `search` and have the uri key `key`.

    A bookmark with the folded tag `without_tag` is left out. The range begins at `offset`, newest
    first, and has `limit` bookmarks, all if that is None. `deletions` asks for the tombstones of
    the same range too; `most_used_tags` for this number of tags, those that most matches have, and
    for the version of each bookmark in the range.
    """

    tags: tuple[str, ...] = ()
    search: Search = ()
    key: str | None = None
    without_tag: str = ""
    limit: int | None = None
    offset: int = 0
    deletions: bool = False
    most_used_tags: int = 0


def parse_query(parameters: Sequence[tuple[str, str]], page_size: int | None = None) -> Query:
    """Return the query of the parameters tag, q, uri, limit and offset; ignore all others.

    Without `limit` the limit is `page_size` and `offset` is ignored. Raises BadQuery.
    """
    values = first_values(parameters)
    limit = _parse_number(values, "limit")
    offset = _parse_number(values, "offset") or 0
    if limit is None:
        limit, offset = page_size, 0
    uri = values.get("uri", "").strip()
    return Query(
        tags=fold_tags(value for name, value in parameters if name == "tag"),
        search=parse_search(" ".join(value for name, value in parameters if name == "q")),
        key=uri_key(uri) if uri else None,
        limit=limit,
        offset=offset,
    )


def first_values(parameters: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return each name with its first value: repetitions are ignored."""
    return dict(reversed(parameters))


def fold_tags(values: Iterable[str]) -> tuple[str, ...]:
    """Return the folded tags without empty ones. Raises BadQuery if there are too many."""
    tags = [tag_key(value) for value in values]
    if len(tags) > MAX_TAGS:
        raise BadQuery(f"A list has at most {MAX_TAGS} tags as its filter. Leave some out.")
    return tuple(sorted(set(tags) - {""}))


def _parse_number(values: Mapping[str, str], name: str) -> int | None:
    if name not in values:
        return None
    if not _NUMBER.fullmatch(values[name]):
        raise BadQuery(f"The parameter {name} must be a whole number from 0 to {MAX_NUMBER}.")
    return int(values[name])
