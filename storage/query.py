"""A query: which bookmarks to select, and which range of them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

import msgspec

from storage.bookmark import MAX_TAGS, fold
from storage.errors import BadQuery
from storage.uri import uri_key

MAX_NUMBER = 10**18 - 1
_NUMBER = re.compile("[0-9]{1,18}")
MAX_TERMS = MAX_TAGS


class Query(msgspec.Struct, frozen=True):
    """Select the bookmarks that have all folded `tags`, all folded `words` and the uri key `key`.

    The range begins at `offset`, newest first, and has `limit` bookmarks, all if that is None.
    `deletions` asks for the tombstones of the same range too; `counts` for this number of the most
    used tags of all matches, and for the version of each bookmark in the range.
    """

    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    key: str | None = None
    limit: int | None = None
    offset: int = 0
    deletions: bool = False
    counts: int = 0


def parse_query(parameters: Sequence[tuple[str, str]], page_size: int | None = None) -> Query:
    """Return the query of the parameters tag, q, uri, limit and offset; ignore all others.

    Without `limit` the limit is `page_size` and `offset` is ignored. Raises BadQuery.
    """
    values = dict(reversed(parameters))
    limit = _parse_number(values, "limit")
    offset = _parse_number(values, "offset") or 0
    if limit is None:
        limit, offset = page_size, 0
    tags = _check_number("tags", [_fold(value) for name, value in parameters if name == "tag"])
    uri = values.get("uri", "").strip()
    words = [word for name, value in parameters if name == "q" for word in _fold(value).split()]
    return Query(
        tags=tuple(sorted(set(tags) - {""})),
        words=tuple(dict.fromkeys(_check_number("words in q", words))),
        key=uri_key(uri) if uri else None,
        limit=limit,
        offset=offset,
    )


def _fold(text: str) -> str:
    return fold(unicodedata.normalize("NFC", text.strip()))


def _check_number(what: str, terms: list[str]) -> list[str]:
    """Return the terms. Raises BadQuery if there are too many; each costs a search."""
    if len(terms) > MAX_TERMS:
        raise BadQuery(f"There must be at most {MAX_TERMS} {what}, not {len(terms):,}.")
    return terms


def _parse_number(values: Mapping[str, str], name: str) -> int | None:
    if name not in values:
        return None
    if not _NUMBER.fullmatch(values[name]):
        raise BadQuery(f"The parameter {name} must be a whole number from 0 to {MAX_NUMBER}.")
    return int(values[name])
