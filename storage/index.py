"""The bookmarks in memory: by id, by uri, by tag, in list order. Reads and writes no files."""

import itertools
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import attrgetter
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from storage.bookmark import Bookmark, Tombstone, fold
from storage.query import Query
from storage.search import Kind, Search, Term, fold_text
from storage.tsid import linkding_number

_MAX_INSERTIONS = 500  # For more changes than this, sorting all items once is faster.


# gc=False: garbage collections skip entries, which are in no cycle. eq=False: compare by identity.
class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file.

    `version` is the digest of the file's bytes; `uri_key` the normalized uri, which is equal for
    uris that count as the same; `tags` the folded tags; `changed_at` when the file was last
    changed, in seconds since 1970; `text` the folded text of all fields, which is empty until a
    search for a word first needs the text.
    """

    bookmark: Bookmark
    version: int
    uri_key: str
    tags: tuple[str, ...]
    changed_at: float
    text: str = ""


# gc=False and eq=False are for speed, as in Entry.
class TombstoneEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A tombstone with the digest of its file."""

    tombstone: Tombstone
    version: int


class State(msgspec.Struct, frozen=True):
    """The validators of the whole collection.

    `version` differs after a change of any file; `modified` is the newest timestamp in all
    bookmarks and tombstones; `changed_at` is when a file or folder last changed, in Unix seconds.
    """

    version: int
    modified: str
    changed_at: float


class Page(msgspec.Struct, frozen=True):
    """One page of the bookmarks that match a query, and of all tombstones if `deletions` is set.

    `bookmarks` and `tombstones` are those of this page, newest first; `total` and
    `tombstone_count` are the numbers of both on all pages. `versions` has the version of each of
    the `bookmarks`; `tag_counts` the most used tags, each with its number of matching bookmarks.
    """

    bookmarks: Sequence[Bookmark]
    total: int
    state: State
    tombstones: Sequence[Tombstone] = ()
    tombstone_count: int = 0
    versions: Sequence[int] = ()
    tag_counts: Sequence[tuple[str, int]] = ()


_EPOCH = "1970-01-01T00:00:00Z"  # When an empty collection was last modified.
_T = TypeVar("_T")
_Item = TypeVar("_Item", Entry, TombstoneEntry)
_SortKey = Callable[[_Item], tuple[str, str]]
# The keys of the sorted lists, oldest first. The id decides between equal times.
_entry_order: _SortKey[Entry] = attrgetter("bookmark.created", "bookmark.id")
_tombstone_order: _SortKey[TombstoneEntry] = attrgetter("tombstone.deleted", "tombstone.id")


@dataclass
class Index:
    """All bookmarks, and the tombstones of deleted ones. Not thread-safe.

    All lists of entries are sorted oldest first.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    tombstones: dict[str, TombstoneEntry] = field(default_factory=dict)
    changed_at: float = 0.0  # When a file or folder was last changed, for Last-Modified.
    version: int = 0  # The sum of the versions of all files, for ETags.
    # The number of bookmarks without tags. Counting them anew would double the time of a tag list.
    untagged_count: int = 0
    _by_uri_key: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    _by_tag: dict[str, list[Entry]] = field(default_factory=dict)  # By folded tag.
    _sorted_entries: list[Entry] = field(default_factory=list)
    _sorted_tombstones: list[TombstoneEntry] = field(default_factory=list)
    # The `modified` of all bookmarks and the `deleted` of all tombstones, in ascending order. Feeds
    # show the last one.
    _change_times: list[str] = field(default_factory=list)
    # The ids of all bookmarks and tombstones, to find the ids of a number in linkding's API.
    _ids_sorted_by_linkding_number: list[str] = field(default_factory=list)

    @property
    def state(self) -> State:
        """The validators of the whole collection as it is now."""
        latest = self._change_times[-1] if self._change_times else _EPOCH
        return State(self.version, latest, self.changed_at)

    # --- Reading ---

    def with_uri_key(self, uri_key: str) -> tuple[Entry, ...]:
        """Return the bookmarks whose uri has this comparison key, oldest first."""
        return self._by_uri_key.get(uri_key, ())

    def matches(self, query: Query) -> Sequence[Entry]:
        """Return the entries that the query selects by tags and uri, oldest first.

        The result may be a list of the index itself: do not change it, and copy it to keep it.
        """
        if query.without_tag and query.without_tag in self._by_tag:  # A tag such as `archived`.
            candidates = self.matches(replace(query, without_tag=""))
            return [entry for entry in candidates if query.without_tag not in entry.tags]
        has_all_tags = frozenset(query.tags).issubset
        if query.uri_key is not None:
            return [e for e in self.with_uri_key(query.uri_key) if has_all_tags(e.tags)]
        if not query.tags:
            return self._sorted_entries
        with_rarest_tag = min((self._by_tag.get(tag, []) for tag in query.tags), key=len)
        if len(query.tags) == 1:
            return with_rarest_tag
        return [entry for entry in with_rarest_tag if has_all_tags(entry.tags)]

    def tag_counts(self, limit: int | None = None) -> list[tuple[str, int]]:
        """Return the most used tags, as spelled in the oldest bookmark, with their counts."""
        counts = [(tag, len(entries)) for tag, entries in self._by_tag.items()]
        return [(_spelling(tag, self._by_tag[tag]), n) for tag, n in _most_used(counts, limit)]

    def deletions(self, query: Query) -> list[Tombstone]:
        """Return the tombstones that the query's `limit` and `offset` select, newest first."""
        entries = newest_first(self._sorted_tombstones, query.limit, query.offset)
        return [entry.tombstone for entry in entries]

    def ids_of_linkding_number(self, number: int) -> Sequence[str]:
        """Return the ids that this number stands for in linkding's API, those of tombstones too."""
        start = bisect_left(self._ids_sorted_by_linkding_number, number, key=linkding_number)
        stop = bisect_right(self._ids_sorted_by_linkding_number, number, start, key=linkding_number)
        return self._ids_sorted_by_linkding_number[start:stop]

    # --- Changing ---

    def change(
        self,
        changed_entries: Mapping[str, Entry | None],
        changed_tombstones: Mapping[str, TombstoneEntry | None],
    ) -> None:
        """Set the entry and the tombstone of each id, or remove those whose value is None."""
        if len(changed_entries) + len(changed_tombstones) > _MAX_INSERTIONS:
            for id, tombstone in changed_tombstones.items():
                set_or_remove(self.tombstones, id, tombstone)
            for id, entry in changed_entries.items():
                set_or_remove(self.entries, id, entry)
            self._rebuild_from_entries_and_tombstones()
            return
        for id, tombstone in changed_tombstones.items():
            self._change_tombstone(id, tombstone)
        for id, entry in changed_entries.items():
            self._change_entry(id, entry)
        # An id can lose its entry and get a tombstone, so look at the ids after both changes.
        for id in {*changed_tombstones, *changed_entries}:
            self._update_sorted_ids(id)

    def _change_tombstone(self, id: str, tombstone: TombstoneEntry | None) -> None:
        """Set the tombstone of an id; None removes it."""
        if old := self.tombstones.pop(id, None):
            self.version = _sum_of_versions(self.version, -old.version)
            _remove_sorted(self._sorted_tombstones, old, _tombstone_order)
            self._remove_time(old.tombstone.deleted)
        if tombstone:
            self.version = _sum_of_versions(self.version, tombstone.version)
            self.tombstones[id] = tombstone
            insort(self._sorted_tombstones, tombstone, key=_tombstone_order)
            insort(self._change_times, tombstone.tombstone.deleted)

    def _change_entry(self, id: str, entry: Entry | None) -> None:
        """Set the entry of an id; None removes it."""
        if old := self.entries.pop(id, None):
            self.version = _sum_of_versions(self.version, -old.version)
            self._remove_from_lists(old)
        if entry:
            self.version = _sum_of_versions(self.version, entry.version)
            self.entries[id] = entry
            self._insert_into_lists(entry)

    def _update_sorted_ids(self, id: str) -> None:
        """Insert an id that now has an entry or a tombstone; remove an id that has neither."""
        # A deleted id stays in the list, so that `Store.mint` makes no id with the same number.
        is_used = id in self.entries or id in self.tombstones
        is_in_list = id in self.ids_of_linkding_number(linkding_number(id))
        if is_used and not is_in_list:
            insort(self._ids_sorted_by_linkding_number, id, key=linkding_number)
        elif is_in_list and not is_used:
            self._ids_sorted_by_linkding_number.remove(id)

    def _insert_into_lists(self, entry: Entry) -> None:
        same_uri = self.with_uri_key(entry.uri_key)
        self._by_uri_key[entry.uri_key] = tuple(sorted((*same_uri, entry), key=_entry_order))
        insort(self._change_times, entry.bookmark.modified)
        insort(self._sorted_entries, entry, key=_entry_order)
        for tag in entry.tags:
            insort(self._by_tag.setdefault(tag, []), entry, key=_entry_order)
        if not entry.tags:
            self.untagged_count += 1

    def _remove_from_lists(self, entry: Entry) -> None:
        if same_uri := tuple(e for e in self.with_uri_key(entry.uri_key) if e is not entry):
            self._by_uri_key[entry.uri_key] = same_uri
        else:
            del self._by_uri_key[entry.uri_key]
        _remove_sorted(self._sorted_entries, entry, _entry_order)
        self._remove_time(entry.bookmark.modified)
        for tag in entry.tags:
            _remove_sorted(self._by_tag[tag], entry, _entry_order)
            if not self._by_tag[tag]:  # Clients see no tag without bookmarks.
                del self._by_tag[tag]
        if not entry.tags:
            self.untagged_count -= 1

    def _remove_time(self, timestamp: str) -> None:
        """Remove one time: the collection's `modified` is the newest of those that remain."""
        del self._change_times[bisect_left(self._change_times, timestamp)]

    def _rebuild_from_entries_and_tombstones(self) -> None:
        """Sort all lists and compute all sums anew, after more than `_MAX_INSERTIONS` changes."""
        items: Iterable[Entry | TombstoneEntry]
        items = itertools.chain(self.entries.values(), self.tombstones.values())
        self.version = _sum_of_versions(*[item.version for item in items])
        ids = {*self.entries, *self.tombstones}
        self._ids_sorted_by_linkding_number = sorted(ids, key=linkding_number)
        self._sorted_entries = sorted(self.entries.values(), key=_entry_order)
        self._sorted_tombstones = sorted(self.tombstones.values(), key=_tombstone_order)
        deleted = (entry.tombstone.deleted for entry in self._sorted_tombstones)
        modified = (entry.bookmark.modified for entry in self._sorted_entries)
        self._change_times = sorted(itertools.chain(modified, deleted))
        # Most uris have one entry, for which a tuple takes less memory than a list.
        by_uri_key: dict[str, tuple[Entry, ...]] = {}
        by_tag: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self._sorted_entries:
            by_uri_key[entry.uri_key] = (*by_uri_key.get(entry.uri_key, ()), entry)
            for tag in entry.tags:
                by_tag[tag].append(entry)
        self._by_uri_key, self._by_tag = by_uri_key, dict(by_tag)
        self.untagged_count = sum(not entry.tags for entry in self._sorted_entries)


def _sum_of_versions(*versions: int) -> int:
    """Return the sum, cut to 128 bits. A collection's version is the sum of its files' versions.

    A version of a file has 128 bits, too. The sum does not depend on the order of the files. When
    one file changes, its old version is subtracted and its new version is added, without a pass
    over all files.
    """
    return sum(versions) % (1 << 128)


def count_tags(oldest_first: Sequence[Entry], limit: int) -> list[tuple[str, int]]:
    """Return the most used tags, as spelled in the oldest of the entries, with their counts."""
    counts = Counter(itertools.chain.from_iterable(entry.tags for entry in oldest_first))
    return [(_spelling(tag, oldest_first), n) for tag, n in _most_used(counts.items(), limit)]


def _most_used(counts: Iterable[tuple[str, int]], limit: int | None) -> list[tuple[str, int]]:
    """Return the tags with the greatest counts, `limit` or fewer of them; None means all."""

    def order(tag_and_count: tuple[str, int]) -> tuple[int, str]:
        tag, count = tag_and_count
        return -count, tag  # Equal counts in alphabetical order.

    return sorted(counts, key=order) if limit is None else nsmallest(limit, counts, key=order)


def _spelling(tag: str, oldest_first: Iterable[Entry]) -> str:
    """Return the spelling of a folded tag in the oldest of the entries that have this tag."""
    oldest = next(entry for entry in oldest_first if tag in entry.tags)
    return next(spelled for spelled in oldest.bookmark.tags if fold(spelled) == tag)


def newest_first(oldest_first: Sequence[_Item], limit: int | None, offset: int) -> Sequence[_Item]:
    """Return `limit` items, newest first, after skipping the `offset` newest ones."""
    stop = max(len(oldest_first) - offset, 0)
    start = 0 if limit is None else max(stop - limit, 0)
    return oldest_first[start:stop][::-1]


def is_match(entry: Entry, query: Query) -> bool:
    """Return whether the entry has the query's tags and meets the query's search."""
    return set(query.tags) <= set(entry.tags) and bool(search_entries([entry], query.search))


def search_entries(entries: Sequence[Entry], search: Search) -> list[Entry]:
    """Return the entries that meet the search, in the given order."""
    if "or" in search or "not" in search:
        return _evaluate_postfix(entries, search)
    # The only operator is `and`: an entry has to meet all terms.
    return _filter_entries(entries, [step for step in search if isinstance(step, Term)])


def _filter_entries(entries: Iterable[Entry], terms: Iterable[Term]) -> list[Entry]:
    """Return the entries that meet all terms.

    Each term is tested only on the entries that meet the terms before it: a search for two words
    in 100,000 bookmarks takes 36 ms, and would take 67 ms if `_evaluate_postfix` did it.
    """
    entries = list(entries)
    for term in terms:
        entries = list(itertools.compress(entries, _test(term, entries)))
    return entries


def _evaluate_postfix(entries: Sequence[Entry], search: Search) -> list[Entry]:
    """Return the entries that meet the search, which is in postfix notation.

    One large integer has the outcomes of a term for all entries, in one byte for each: 1 or 0. An
    operator combines the outcomes for all entries by one operation on these integers.
    """
    one_for_each_entry = int.from_bytes(b"\1" * len(entries))
    stack: list[int] = []  # One such integer for each operand.
    for step in search:
        if isinstance(step, Term):
            stack.append(int.from_bytes(bytes(_test(step, entries))))
        elif step == "not":
            stack.append(stack.pop() ^ one_for_each_entry)
        elif step == "and":
            stack.append(stack.pop() & stack.pop())
        else:
            stack.append(stack.pop() | stack.pop())
    outcomes = stack.pop().to_bytes(len(entries))  # One byte for each entry, 1 for a match.
    return list(itertools.compress(entries, outcomes))


def _test(term: Term, entries: Iterable[Entry]) -> list[bool]:
    """Return for each entry whether it meets the term."""
    if term.kind is Kind.TAG:
        return [term.value in entry.tags for entry in entries]
    if term.kind is Kind.UNTAGGED:
        return [not entry.tags for entry in entries]
    # The service starts faster if the text of an entry is folded only when a search needs the text.
    return [term.value in (entry.text or _fold_fields(entry)) for entry in entries]


def _fold_fields(entry: Entry) -> str:
    """Set `entry.text` to the folded fields, separated by line breaks, and return it.

    No match crosses two fields, because folded words and phrases have no line break.
    """
    b = entry.bookmark
    entry.text = "\n".join(map(fold_text, (b.title, b.description, b.uri, *b.tags)))
    return entry.text


def set_or_remove(target: dict[str, _T], id: str, value: _T | None) -> None:
    """Set the value of an id in `target`; the value None removes the id."""
    if value is not None:
        target[id] = value
    else:
        target.pop(id, None)


def _remove_sorted(items: list[_Item], item: _Item, key: _SortKey[_Item]) -> None:
    """Remove an item from a list that is sorted by `key`; no two items have the same key."""
    del items[bisect_left(items, key(item), key=key)]
