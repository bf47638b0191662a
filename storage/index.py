"""The bookmarks in memory: by id, by uri, by tag, in list order. Knows no file."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain, compress
from operator import and_, attrgetter, or_
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from storage.bookmark import Bookmark, Tombstone, fold
from storage.query import Query
from storage.search import Kind, Search, Term, fold_text
from storage.tsid import number_of

_VERSION_RANGE = 1 << 128  # Sums of versions are taken modulo this number.
# For more changes than this, sorting everything once is faster than inserting each.
_MAX_INSERTIONS = 500


class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file.

    `version` is the digest of the file's bytes; `key` the uri as it is compared; `tags` the folded
    tags; `changed_at` when the file was last changed, in seconds since 1970; `text` the folded text
    that is searched, empty before the first search.
    """

    bookmark: Bookmark
    version: int
    key: str
    tags: tuple[str, ...]
    changed_at: float
    text: str = ""


class TombstoneEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A tombstone with the digest of its file."""

    tombstone: Tombstone
    version: int


class State(msgspec.Struct, frozen=True):
    """The validators of the whole collection.

    `version` changes with every file; `modified` is the newest timestamp in all bookmarks and
    tombstones; `changed_at` is when a file or folder was last changed, in seconds since 1970.
    """

    version: int
    modified: str
    changed_at: float


class Page(msgspec.Struct, frozen=True):
    """The result of a query: `bookmarks` newest first, `total` the number before paging.

    `tombstones` are the deletions in the query's range, newest first, out of `tombstone_count`.
    `versions` are those of the bookmarks, `tag_counts` the most used tags of all matches.
    """

    bookmarks: Sequence[Bookmark]
    total: int
    state: State
    tombstones: Sequence[Tombstone] = ()
    tombstone_count: int = 0
    versions: Sequence[int] = ()
    tag_counts: Sequence[tuple[str, int]] = ()


EPOCH = "1970-01-01T00:00:00Z"
_T = TypeVar("_T")
_Item = TypeVar("_Item", Entry, TombstoneEntry)
_Key = Callable[[_Item], tuple[str, str]]
# List order, oldest first.
_entry_order: _Key[Entry] = attrgetter("bookmark.created", "bookmark.id")
_tombstone_order: _Key[TombstoneEntry] = attrgetter("tombstone.deleted", "tombstone.id")


@dataclass
class Index:
    """Every active bookmark and every tombstone. Not thread-safe.

    `version` is the sum of the versions of all files, which does not depend on their order;
    `changed_at` is when a file or folder was last changed; `untagged` is the number of bookmarks
    without tags, because counting them would double the time of a list of all tags. `_by_key` has
    the entries by uri key, `_by_tag` by folded tag. All lists are sorted oldest first.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    tombstones: dict[str, TombstoneEntry] = field(default_factory=dict)
    changed_at: float = 0.0
    version: int = 0
    untagged: int = 0
    _by_key: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    _by_tag: dict[str, list[Entry]] = field(default_factory=dict)
    _sorted_entries: list[Entry] = field(default_factory=list)
    _sorted_tombstones: list[TombstoneEntry] = field(default_factory=list)
    _sorted_timestamps: list[str] = field(default_factory=list)  # Of changes and deletions.
    _ids_by_number: list[str] = field(default_factory=list)  # All ids, sorted by their integers.

    @property
    def state(self) -> State:
        """The validators of the whole collection as it is now."""
        latest = self._sorted_timestamps[-1] if self._sorted_timestamps else EPOCH
        return State(self.version, latest, self.changed_at)

    # --- Reading ---

    def holders(self, key: str) -> tuple[Entry, ...]:
        """Return the bookmarks whose uri has this comparison key, oldest first."""
        return self._by_key.get(key, ())

    def matches(self, query: Query) -> Sequence[Entry]:
        """Return the entries that the query selects by tags and uri, oldest first.

        The result may be a list of the index itself: do not change it, and copy it to keep it.
        """
        if query.without_tag in self._by_tag:
            others = self.matches(replace(query, without_tag=""))
            return [entry for entry in others if query.without_tag not in entry.tags]
        has_all = frozenset(query.tags).issubset
        if query.key is not None:
            return [entry for entry in self.holders(query.key) if has_all(entry.tags)]
        if not query.tags:
            return self._sorted_entries
        rarest = min((self._by_tag.get(tag, []) for tag in query.tags), key=len)
        if len(query.tags) == 1:
            return rarest
        return [entry for entry in rarest if has_all(entry.tags)]

    def tag_counts(self, most: int | None = None) -> list[tuple[str, int]]:
        """Return the tags as first written, each with its number of bookmarks, most used first."""
        counts = [(tag, len(entries)) for tag, entries in self._by_tag.items()]
        return [(_spelling(tag, self._by_tag[tag]), n) for tag, n in _most_used(counts, most)]

    def deletions(self, query: Query) -> list[Tombstone]:
        """Return the tombstones in the query's range, newest first."""
        entries = newest(self._sorted_tombstones, query.limit, query.offset)
        return [entry.tombstone for entry in entries]

    def ids_of_number(self, number: int) -> Sequence[str]:
        """Return the ids, those of tombstones too, that have this number."""
        start = bisect_left(self._ids_by_number, number, key=number_of)
        stop = bisect_right(self._ids_by_number, number, start, key=number_of)
        return self._ids_by_number[start:stop]

    # --- Changing ---

    def change(
        self,
        entries: Mapping[str, Entry | None],
        tombstones: Mapping[str, TombstoneEntry | None],
    ) -> None:
        """Set the entry and the tombstone of each id; the value None removes it."""
        if len(entries) + len(tombstones) > _MAX_INSERTIONS:
            set_each(self.tombstones, tombstones, tombstones)
            set_each(self.entries, entries, entries)
            self._rebuild()
            return
        for id, tombstone in tombstones.items():
            self._change_tombstone(id, tombstone)
        for id, entry in entries.items():
            self._change_entry(id, entry)
        for id in {*tombstones, *entries}:
            self._update_number(id)

    def _change_tombstone(self, id: str, tombstone: TombstoneEntry | None) -> None:
        if old := self.tombstones.pop(id, None):
            self.version = (self.version - old.version) % _VERSION_RANGE
            _remove_sorted(self._sorted_tombstones, old, _tombstone_order)
            self._remove_timestamp(old.tombstone.deleted)
        if tombstone:
            self.version = (self.version + tombstone.version) % _VERSION_RANGE
            self.tombstones[id] = tombstone
            insort(self._sorted_tombstones, tombstone, key=_tombstone_order)
            insort(self._sorted_timestamps, tombstone.tombstone.deleted)

    def _change_entry(self, id: str, entry: Entry | None) -> None:
        if old := self.entries.pop(id, None):
            self.version = (self.version - old.version) % _VERSION_RANGE
            self._remove(old)
        if entry:
            self.version = (self.version + entry.version) % _VERSION_RANGE
            self.entries[id] = entry
            self._insert(entry)

    def _update_number(self, id: str) -> None:
        is_used = id in self.entries or id in self.tombstones
        was_used = id in self.ids_of_number(number_of(id))
        if is_used and not was_used:
            insort(self._ids_by_number, id, key=number_of)
        elif was_used and not is_used:
            self._ids_by_number.remove(id)

    def _insert(self, entry: Entry) -> None:
        others = self.holders(entry.key)
        self._by_key[entry.key] = tuple(sorted((*others, entry), key=_entry_order))
        insort(self._sorted_timestamps, entry.bookmark.modified)
        insort(self._sorted_entries, entry, key=_entry_order)
        for tag in entry.tags:
            insort(self._by_tag.setdefault(tag, []), entry, key=_entry_order)
        self.untagged += not entry.tags

    def _remove(self, entry: Entry) -> None:
        if others := tuple(e for e in self._by_key[entry.key] if e is not entry):
            self._by_key[entry.key] = others
        else:
            del self._by_key[entry.key]
        _remove_sorted(self._sorted_entries, entry, _entry_order)
        self._remove_timestamp(entry.bookmark.modified)
        for tag in entry.tags:
            _remove_sorted(self._by_tag[tag], entry, _entry_order)
            if not self._by_tag[tag]:
                del self._by_tag[tag]
        self.untagged -= not entry.tags

    def _remove_timestamp(self, timestamp: str) -> None:
        del self._sorted_timestamps[bisect_left(self._sorted_timestamps, timestamp)]

    def _rebuild(self) -> None:
        items: Iterable[Entry | TombstoneEntry]
        items = chain(self.entries.values(), self.tombstones.values())
        # A sum, so that each change moves it in constant time, in any order.
        self.version = sum(item.version for item in items) % _VERSION_RANGE
        self._ids_by_number = sorted({*self.entries, *self.tombstones}, key=number_of)
        self._sorted_entries = sorted(self.entries.values(), key=_entry_order)
        self._sorted_tombstones = sorted(self.tombstones.values(), key=_tombstone_order)
        deleted = (entry.tombstone.deleted for entry in self._sorted_tombstones)
        modified = (entry.bookmark.modified for entry in self._sorted_entries)
        self._sorted_timestamps = sorted(chain(modified, deleted))
        keys: dict[str, tuple[Entry, ...]] = {}
        tags: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self._sorted_entries:
            others = keys.get(entry.key)
            keys[entry.key] = (*others, entry) if others else (entry,)
            for tag in entry.tags:
                tags[tag].append(entry)
        self._by_key, self._by_tag = keys, dict(tags)
        self.untagged = sum(not entry.tags for entry in self._sorted_entries)


def tag_counts(entries: Sequence[Entry], most: int) -> list[tuple[str, int]]:
    """Return the most used tags of the entries, as first written, with their numbers."""
    counts = Counter(chain.from_iterable(entry.tags for entry in entries))
    return [(_spelling(tag, entries), n) for tag, n in _most_used(counts.items(), most)]


def _most_used(counts: Iterable[tuple[str, int]], most: int | None) -> list[tuple[str, int]]:
    def order(pair: tuple[str, int]) -> tuple[int, str]:
        return -pair[1], pair[0]

    return sorted(counts, key=order) if most is None else nsmallest(most, counts, key=order)


def _spelling(tag: str, entries: Iterable[Entry]) -> str:
    """Return a folded tag as the first of the entries with this tag writes it."""
    first = next(entry for entry in entries if tag in entry.tags)
    return next(spelled for spelled in first.bookmark.tags if fold(spelled) == tag)


def newest(items: Sequence[_Item], limit: int | None, offset: int) -> Sequence[_Item]:
    """Return `limit` items, newest first, after skipping the `offset` newest ones.

    `items` are sorted oldest first.
    """
    stop = max(len(items) - offset, 0)
    start = 0 if limit is None else max(stop - limit, 0)
    return items[start:stop][::-1]


def is_match(entry: Entry, query: Query) -> bool:
    """Return whether the entry has the query's tags and meets its search."""
    return set(query.tags) <= set(entry.tags) and bool(search_entries([entry], query.search))


def search_entries(entries: Sequence[Entry], search: Search) -> list[Entry]:
    """Return the entries that meet the search, in their order; each term is tested once on each."""
    if {"or", "not"}.isdisjoint(search):
        return _filter_entries(entries, [step for step in search if isinstance(step, Term)])
    return _evaluate(entries, search)


def _filter_entries(entries: Iterable[Entry], terms: Iterable[Term]) -> list[Entry]:
    """Return the entries that meet all terms.

    Each term is tested only on the entries that meet those before it. In 100,000 bookmarks this
    finds two words in 36 ms in place of 67.
    """
    entries = list(entries)
    for term in terms:
        entries = list(compress(entries, _test(term, entries)))
    return entries


def _evaluate(entries: Sequence[Entry], search: Search) -> list[Entry]:
    """Return the entries that meet the search.

    A number holds the outcomes of a term, one byte for each entry, so that an operator combines all
    of them at once.
    """
    stack = [int.from_bytes(b"\1" * len(entries))]
    for step in search:
        if isinstance(step, Term):
            stack.append(int.from_bytes(bytes(_test(step, entries))))
        elif step == "not":
            stack.append(stack.pop() ^ stack[0])
        else:
            combine = and_ if step == "and" else or_
            stack.append(combine(stack.pop(), stack.pop()))
    return list(compress(entries, stack[-1].to_bytes(len(entries))))


def _test(term: Term, entries: Iterable[Entry]) -> list[bool]:
    if term.kind is Kind.TAG:
        return [term.value in entry.tags for entry in entries]
    if term.kind is Kind.UNTAGGED:
        return [not entry.tags for entry in entries]
    return [term.value in (entry.text or _text(entry)) for entry in entries]


def _text(entry: Entry) -> str:
    """Return the text to search. No folded word has a line break, so none matches across fields."""
    b = entry.bookmark
    entry.text = "\n".join(map(fold_text, (b.title, b.description, b.uri, *b.tags)))
    return entry.text


def set_each(target: dict[str, _T], ids: Iterable[str], values: Mapping[str, _T | None]) -> None:
    """Set the value of each id in `target`, or remove the id if `values` has no value for it."""
    for id in ids:
        if (value := values.get(id)) is not None:
            target[id] = value
        else:
            target.pop(id, None)


def _remove_sorted(items: list[_Item], item: _Item, key: _Key[_Item]) -> None:
    """Remove an item from a list that is sorted by `key`."""
    del items[bisect_left(items, key(item), key=key)]
