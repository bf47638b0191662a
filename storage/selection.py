"""Select bookmarks by a query: match, search, sort and page."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import unquote

from msgspec.structs import replace

from storage.bookmark import Tombstone
from storage.index import Entry, Index, State, TombstoneEntry, count_tags
from storage.query import NEWEST_FIRST, Query
from storage.search import (
    AllOf,
    AnyOf,
    CreatedBefore,
    CreatedSince,
    Not,
    OnlyTags,
    Search,
    Site,
    Tag,
    Text,
    fold_text,
)
from storage.uri import is_below

TagCounts = Sequence[tuple[str, int]]
TagCountCache = dict[tuple[Query, int], TagCounts]  # By query and limit.
_Item = TypeVar("_Item", Entry, TombstoneEntry)


class Selection:
    """The bookmarks that a query selects. They stay the same when the index changes."""

    def __init__(
        self,
        query: Query,
        state: State,
        candidates: Sequence[Entry],
        tombstones: Sequence[TombstoneEntry],
        latest: str,
        number_of_tags: int,
        tag_count_cache: TagCountCache,
    ) -> None:
        self.query = query
        self.state = state
        self.latest = latest  # The time of the latest change or deletion.
        self.number_of_tags = number_of_tags  # Of all bookmarks, not only the selected ones.
        self._candidates = candidates
        self._tombstones = tombstones
        self._tag_count_cache = tag_count_cache

    @cached_property
    def _matches_oldest_first(self) -> Sequence[Entry]:
        return search_entries(self._candidates, self.query.search)

    @property
    def total(self) -> int:
        """The number of bookmarks on all pages."""
        return len(self._matches_oldest_first)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """The bookmarks of the page, in the order of the query."""
        if self.query.sort == NEWEST_FIRST:
            return self._page_from_end(self._matches_oldest_first)
        return self._page(_sort(self._matches_oldest_first, self.query.sort))

    @property
    def tombstone_count(self) -> int:
        return len(self._tombstones)

    @property
    def tombstones(self) -> Sequence[Tombstone]:
        """The tombstones of the page, newest first."""
        page = self._page_from_end(self._tombstones)
        return [entry.tombstone for entry in page]

    def tag_counts(self, limit: int) -> TagCounts:
        """Return the most used tags of the bookmarks on all pages."""
        query_of_all_pages = replace(
            self.query, limit=None, offset=0, sort=NEWEST_FIRST
        )
        key = (query_of_all_pages, limit)
        if key not in self._tag_count_cache:
            counts = count_tags(self._matches_oldest_first, limit)
            self._tag_count_cache[key] = counts
        return self._tag_count_cache[key]

    def _page(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        start = self.query.offset
        if self.query.limit is None:
            return entries[start:]
        return entries[start : start + self.query.limit]

    def _page_from_end(self, oldest_first: Sequence[_Item]) -> Sequence[_Item]:
        """Return the page, newest first."""
        stop = max(len(oldest_first) - self.query.offset, 0)
        start = 0
        if self.query.limit is not None:
            start = max(stop - self.query.limit, 0)
        return oldest_first[start:stop][::-1]


# Bookmarks with equal values are sorted by id.
_ORDERS: Mapping[str, Callable[[Entry], Any]] = {
    "created": attrgetter("bookmark.created", "bookmark.id"),
    "modified": attrgetter("bookmark.modified", "bookmark.id"),
    "title": lambda entry: (fold_text(entry.bookmark.title), entry.bookmark.id),
    "uri": lambda entry: (fold_text(entry.bookmark.uri), entry.bookmark.id),
}


def _sort(entries: Sequence[Entry], sort: str) -> Sequence[Entry]:
    order = _ORDERS[sort.removeprefix("-")]
    is_descending = sort.startswith("-")
    return sorted(entries, key=order, reverse=is_descending)


def candidates(index: Index, query: Query) -> Sequence[Entry]:
    """Return the entries that match the query's uri and tags, oldest first."""
    entries = _with_uri_and_tags(index, query)
    for tag in query.without_tags:
        excluded = frozenset(index.of_tag(tag))
        if excluded:
            entries = [entry for entry in entries if entry not in excluded]
    return entries


def _with_uri_and_tags(index: Index, query: Query) -> Sequence[Entry]:
    if query.uri_key is not None:
        return _with_tags(index.of_uri_key(query.uri_key), query.tags)
    if query.tags:
        rarest = min(query.tags, key=index.count)
        others = [tag for tag in query.tags if tag != rarest]
        return _with_tags(index.of_tag(rarest), others)
    return index.entries


def _with_tags(
    entries: Sequence[Entry], tags: Sequence[str]
) -> Sequence[Entry]:
    if not tags:
        return entries
    wanted = frozenset(tags)
    return [entry for entry in entries if wanted.issubset(entry.tags)]


def meets(entry: Entry, query: Query) -> bool:
    """Return whether a query selects this bookmark, on any page."""
    if query.uri_key is not None and query.uri_key != entry.uri_key:
        return False
    if not set(query.tags).issubset(entry.tags):
        return False
    if not set(query.without_tags).isdisjoint(entry.tags):
        return False
    return bool(search_entries([entry], query.search))


def search_entries(
    entries: Sequence[Entry], search: Search | None
) -> Sequence[Entry]:
    """Return the entries that match the search, in the given order."""
    match search:
        case None:
            return entries
        case Text(text):
            return _with_text(entries, text)
        case Tag(tag):
            return [entry for entry in entries if tag in entry.tags]
        case OnlyTags(tags):
            return [entry for entry in entries if tags.issuperset(entry.tags)]
        case Site(host):
            return _of_host(entries, host)
        # Timestamps are compared as texts: "2024-03-15T…" is greater than "2024-03".
        case CreatedSince(date):
            return [entry for entry in entries if entry.bookmark.created >= date]
        case CreatedBefore(date):
            return [entry for entry in entries if entry.bookmark.created < date]
        case AllOf(parts):
            return _search_all(entries, parts)
        case AnyOf(parts):
            return _search_any(entries, parts)
        case Not(part):
            excluded = set(search_entries(entries, part))
            return [entry for entry in entries if entry not in excluded]
    raise AssertionError(search)


def _search_all(
    entries: Sequence[Entry], parts: Sequence[Search]
) -> Sequence[Entry]:
    for part in parts:
        entries = search_entries(entries, part)
    return entries


def _search_any(
    entries: Sequence[Entry], parts: Sequence[Search]
) -> Sequence[Entry]:
    found: set[Entry] = set()
    rest = entries
    for part in parts:
        found.update(search_entries(rest, part))
        rest = [entry for entry in rest if entry not in found]
    return [entry for entry in entries if entry in found]


def _with_text(entries: Sequence[Entry], text: str) -> Sequence[Entry]:
    return [entry for entry in entries if text in (entry.text or _set_text(entry))]


def _of_host(entries: Sequence[Entry], host: str) -> Sequence[Entry]:
    # Most uris do not contain the host, so they need no parsing.
    similar = [entry for entry in entries if host in entry.uri_key]
    return [entry for entry in similar if is_below(entry.uri_key, host)]


def _set_text(entry: Entry) -> str:
    bookmark = entry.bookmark
    fields = [bookmark.title, bookmark.description, bookmark.uri, *bookmark.tags]
    decoded_uri = unquote(bookmark.uri)
    if decoded_uri != bookmark.uri:
        fields.append(decoded_uri)
    # No searched text has a line break, so no match extends over two fields.
    entry.text = "\n".join(map(fold_text, fields))
    return entry.text
