"""A query: which bookmarks, and which of those."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from storage.bookmark import fold, uri_key
from storage.errors import BadQuery


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
    def selection(self) -> "Query":
        """The query without its range: all that it finds."""
        return replace(self, limit=None, offset=0, deletions=False)


def query(parameters: Sequence[tuple[str, str]], page: int | None = None) -> Query:
    """The query that tag, q, uri, limit and offset ask for; other parameters mean nothing.

    Without a limit it is `page`, and the offset means nothing. Raises BadQuery.
    """
    given = dict(reversed(parameters))
    limit = _count(given, "limit")
    offset = _count(given, "offset") or 0
    if limit is None:
        limit, offset = page, 0
    tags = {fold(_normal(value)) for name, value in parameters if name == "tag"}
    uri = given.get("uri", "").strip()
    words = [word for name, v in parameters if name == "q" for word in fold(_normal(v)).split()]
    return Query(
        tags=tuple(sorted(tags - {""})),
        words=tuple(dict.fromkeys(words)),
        key=uri_key(uri) if uri else None,
        limit=limit,
        offset=offset,
    )


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def _count(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not re.fullmatch("[0-9]{1,18}", given[name]):
        raise BadQuery(f"The parameter {name} must be a whole number, 0 or more.")
    return int(given[name])
