"""All bookmarks in memory, by id, uri and tag."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

import msgspec

from storage.bookmark import PRIVATE, Bookmark, Tombstone
from storage.numbers import number_of_id

_EPOCH = "1970-01-01T00:00:00Z"
_VERSION_MODULUS = 1 << 128


# gc=False saves work of the garbage collector.
# eq=False makes `in` compare identities, which is fast.
class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with derived values."""

    bookmark: Bookmark
    version: int  # The digest of the file.
    uri_key: str  # The normalized uri.
    tags: tuple[str, ...]  # Case-folded, in the order of `bookmark.tags`.
    changed_at: float  # The file's ctime. The mtime may be old, for example after `cp -a`.
    text: str = ""  # The text to search, set by the first search.

    @property
    def sort_key(self) -> str:
        return self.bookmark.created + self.bookmark.id

    @property
    def modified(self) -> str:
        return self.bookmark.modified

    @property
    def is_public(self) -> bool:
        """Whether visitors may see the bookmark."""
        return PRIVATE not in self.tags


class TombstoneEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    tombstone: Tombstone
    version: int
    changed_at: float

    @property
    def sort_key(self) -> str:
        return self.tombstone.deleted + self.tombstone.id

    @property
    def modified(self) -> str:
        return self.tombstone.deleted

    @property
    def is_public(self) -> bool:
        return not self.tombstone.private


Item = Entry | TombstoneEntry
_T = TypeVar("_T")

sort_key_of: Callable[[Item], str] = attrgetter("sort_key")


class State(msgspec.Struct, frozen=True):
    """The version of a collection, and the time of its latest change."""

    version: int
    changed_at: float  # The latest ctime, in Unix seconds.


class SortedList(Generic[_T]):
    """A list sorted by a key.

    Sequences that `read` has returned never change, because changes are made in a copy.
    """

    __slots__ = ("_items", "_key", "_is_shared")

    def __init__(self, sorted_items: list[_T], key: Callable[[_T], Any]) -> None:
        self._items = sorted_items
        self._key = key
        self._is_shared = False  # Whether `read` has returned `_items`.

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> _T:
        return self._items[0]

    def read(self) -> Sequence[_T]:
        self._is_shared = True
        return self._items

    def find(self, key: Any) -> Sequence[_T]:
        start = bisect_left(self._items, key, key=self._key)
        stop = bisect_right(self._items, key, start, key=self._key)
        return self._items[start:stop]

    def add(self, item: _T) -> None:
        self._copy_if_shared()
        insort(self._items, item, key=self._key)

    def remove(self, item: _T) -> None:
        self._copy_if_shared()
        # Several items may have this key.
        first = bisect_left(self._items, self._key(item), key=self._key)
        del self._items[self._items.index(item, first)]

    def _copy_if_shared(self) -> None:
        if self._is_shared:
            self._items = self._items.copy()
            self._is_shared = False


class Index:
    """All bookmarks and tombstones, oldest first.

    Not thread-safe, but the returned sequences never change.
    """

    def __init__(self, items: Mapping[str, Item]) -> None:
        entries: list[Entry] = []
        tombstones: list[TombstoneEntry] = []
        for item in sorted(items.values(), key=sort_key_of):
            if isinstance(item, Entry):
                entries.append(item)
            else:
                tombstones.append(item)

        self.items = dict(items)
        self._entries = SortedList(entries, sort_key_of)
        self._tombstones = SortedList(tombstones, sort_key_of)
        self._by_tag = _group_by_tag(entries)
        self._by_uri_key = _group_by_uri_key(entries)
        self._ids_by_number = SortedList(sorted(items, key=number_of_id), number_of_id)

        self.version = sum(item.version for item in items.values()) % _VERSION_MODULUS
        # The latest ctime of all items, including items that were removed later.
        self.changed_at = max((item.changed_at for item in items.values()), default=0.0)
        self._cached_latest: str | None = None

        has_private_tombstones = any(not entry.is_public for entry in tombstones)
        self.has_private_items = has_private_tombstones or PRIVATE in self._by_tag
        self._cached_public: Index | None = None

    @property
    def public(self) -> "Index":
        """The index of the public items, or this index if all are public."""
        if not self.has_private_items:
            return self
        if self._cached_public is None:
            public = {id: item for id, item in self.items.items() if item.is_public}
            self._cached_public = Index(public)
        return self._cached_public

    @property
    def latest(self) -> str:
        """The timestamp of the latest change or deletion."""
        if self._cached_latest is None:
            times = (item.modified for item in self.items.values())
            self._cached_latest = max(times, default=_EPOCH)
        return self._cached_latest

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries.read()

    @property
    def tombstones(self) -> Sequence[TombstoneEntry]:
        return self._tombstones.read()

    def ids_of_number(self, number: int) -> Sequence[str]:
        """Return the ids of the bookmarks and tombstones with this number."""
        return self._ids_by_number.find(number)

    def of_tag(self, tag: str) -> Sequence[Entry]:
        """Return the bookmarks that have this case-folded tag."""
        if tag not in self._by_tag:
            return ()
        return self._by_tag[tag].read()

    def of_uri_key(self, uri_key: str) -> Sequence[Entry]:
        return self._by_uri_key.get(uri_key, ())

    def count(self, tag: str) -> int:
        return len(self._by_tag.get(tag, ()))

    @property
    def number_of_tags(self) -> int:
        return len(self._by_tag)

    def tag_counts(self) -> list[tuple[str, int]]:
        """Return all tags, spelled as in the oldest bookmark, most used first."""
        counts = {tag: len(entries) for tag, entries in self._by_tag.items()}
        result = []
        for tag, count in _most_used(counts):
            oldest = self._by_tag[tag].first
            result.append((_spelling(tag, oldest), count))
        return result

    def change(self, id: str, new: Item | None) -> None:
        """Store `new` as the item of an id. None removes the item."""
        old = self.items.get(id)
        if old:
            self._remove(id, old)
        if new:
            self._add(id, new)
        if new and not old:
            self._ids_by_number.add(id)
        if old and not new:
            self._ids_by_number.remove(id)
        self._change_public(id, new)

    def _add(self, id: str, item: Item) -> None:
        self.items[id] = item
        # The version is the sum of all items' versions, so one change needs one addition.
        self.version = (self.version + item.version) % _VERSION_MODULUS
        self.changed_at = max(self.changed_at, item.changed_at)
        if self._cached_latest is not None:
            self._cached_latest = max(self._cached_latest, item.modified)
        if isinstance(item, TombstoneEntry):
            self._tombstones.add(item)
            return
        self._entries.add(item)
        same_uri = [*self.of_uri_key(item.uri_key), item]
        self._by_uri_key[item.uri_key] = sorted(same_uri, key=sort_key_of)
        for tag in item.tags:
            self._by_tag.setdefault(tag, SortedList([], sort_key_of)).add(item)

    def _remove(self, id: str, item: Item) -> None:
        del self.items[id]
        self.version = (self.version - item.version) % _VERSION_MODULUS
        if item.modified == self._cached_latest:
            self._cached_latest = None
        if isinstance(item, TombstoneEntry):
            self._tombstones.remove(item)
            return
        self._entries.remove(item)
        same_uri = [other for other in self.of_uri_key(item.uri_key) if other is not item]
        if same_uri:
            self._by_uri_key[item.uri_key] = same_uri
        else:
            del self._by_uri_key[item.uri_key]
        for tag in item.tags:
            self._by_tag[tag].remove(item)
            if not self._by_tag[tag]:
                del self._by_tag[tag]

    def _change_public(self, id: str, new: Item | None) -> None:
        is_private = new is not None and not new.is_public
        if is_private:
            self.has_private_items = True
        if self._cached_public is None:
            return
        if is_private:
            self._cached_public.change(id, None)
        else:
            self._cached_public.change(id, new)


def _group_by_tag(sorted_entries: Iterable[Entry]) -> dict[str, SortedList[Entry]]:
    lists: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted_entries:
        for tag in entry.tags:
            lists[tag].append(entry)
    return {tag: SortedList(lists[tag], sort_key_of) for tag in lists}


def _group_by_uri_key(sorted_entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    lists: dict[str, list[Entry]] = {}
    for entry in sorted_entries:
        lists.setdefault(entry.uri_key, []).append(entry)
    return lists


def count_tags(
    oldest_first: Sequence[Entry], limit: int
) -> list[tuple[str, int]]:
    """Return the `limit` most used tags, spelled as in their oldest entries."""
    counts = Counter(chain.from_iterable(entry.tags for entry in oldest_first))
    most_used = _most_used(counts)[:limit]
    tags = {tag for tag, _ in most_used}
    spellings = _spellings(tags, oldest_first)
    return [(spellings[tag], count) for tag, count in most_used]


def _most_used(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    alphabetical = sorted(counts.items())
    # `sorted` keeps tags with equal counts in alphabetical order.
    return sorted(alphabetical, key=itemgetter(1), reverse=True)


def _spellings(
    tags: set[str], oldest_first: Sequence[Entry]
) -> dict[str, str]:
    spellings: dict[str, str] = {}
    missing = tags.copy()
    for entry in oldest_first:
        found = missing.intersection(entry.tags)
        for tag in found:
            spellings[tag] = _spelling(tag, entry)
        missing -= found
        if not missing:
            break
    return spellings


def _spelling(folded_tag: str, entry: Entry) -> str:
    index = entry.tags.index(folded_tag)
    return entry.bookmark.tags[index]
