"""A query: which bookmarks, and which of those."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

import msgspec

from storage.bookmark import MAX_TAGS, fold, uri_key
from storage.errors import BadQuery

MAX_COUNT = 10**18 - 1
_COUNT = re.compile("[0-9]{1,18}")
MAX_TERMS = MAX_TAGS


class Query(msgspec.Struct, frozen=True):
    """Which bookmarks: those with all `tags`, all `words` and this uri's key; then which of them.

    Tags and words are folded. `limit` None means all from `offset` on. `deletions` asks for the
    tombstones of the same range too, `counts` for so many of the tags that the found ones have
    most often, and for the version of each one shown.
    """

    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    key: str | None = None
    limit: int | None = None
    offset: int = 0
    deletions: bool = False
    counts: int = 0

    @property
    def is_filter(self) -> bool:
        """Whether some bookmarks may not match."""
        return bool(self.tags or self.words or self.key is not None)


def query(parameters: Sequence[tuple[str, str]], page: int | None = None) -> Query:
    """The query that tag, q, uri, limit and offset ask for; other parameters mean nothing.

    Without a limit it is `page`, and the offset means nothing. Raises BadQuery.
    """
    given = dict(reversed(parameters))
    limit = _count(given, "limit")
    offset = _count(given, "offset") or 0
    if limit is None:
        limit, offset = page, 0
    tags = _few("tags", [fold(_normal(value)) for name, value in parameters if name == "tag"])
    uri = given.get("uri", "").strip()
    words = [word for name, v in parameters if name == "q" for word in fold(_normal(v)).split()]
    return Query(
        tags=tuple(sorted(set(tags) - {""})),
        words=tuple(dict.fromkeys(_few("words in q", words))),
        key=uri_key(uri) if uri else None,
        limit=limit,
        offset=offset,
    )


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def _few(what: str, terms: list[str]) -> list[str]:
    """The terms, each of which has to be looked for. Raises BadQuery if they are too many."""
    if len(terms) > MAX_TERMS:
        raise BadQuery(f"There must be at most {MAX_TERMS} {what}, not {len(terms):,}.")
    return terms


def _count(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not _COUNT.fullmatch(given[name]):
        raise BadQuery(f"The parameter {name} must be a whole number from 0 to {MAX_COUNT}.")
    return int(given[name])
