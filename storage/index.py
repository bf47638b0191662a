"""All bookmarks in memory, by id, uri and tag."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec

from storage.bookmark import PRIVATE, Bookmark, Tombstone
from storage.numbers import Numbers

_EPOCH = "1970-01-01T00:00:00Z"  # When an empty collection was last modified.
_VERSIONS = 1 << 128  # A version is a number of 128 bits.
UNTAGGED = ""  # The index has bookmarks without tags under this tag.


# With gc=False, the garbage collector skips entries. With eq=False, `==` is `is`.
class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file."""

    bookmark: Bookmark
    version: int  # The digest of the file's bytes.
    uri_key: str  # The normalized uri.
    tags: tuple[str, ...]  # Folded, in the order of `bookmark.tags`.
    changed_at: float  # The file's ctime, because `cp -a` sets an old mtime.
    text: str = ""  # All fields as one folded text, set by the first search.

    @property
    def is_public(self) -> bool:
        """Whether visitors may see the bookmark."""
        return PRIVATE not in self.tags


class TombstoneEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A tombstone with the digest and the ctime of its file."""

    tombstone: Tombstone
    version: int
    changed_at: float

    @property
    def is_public(self) -> bool:
        """Whether visitors may know of the bookmark that was deleted."""
        return not self.tombstone.private


Item = Entry | TombstoneEntry
_Item = TypeVar("_Item", Entry, TombstoneEntry)
_KeysOf = Callable[[Entry], Sequence[str]]


class State(msgspec.Struct, frozen=True):
    """The version and time of a collection, by which clients notice changes."""

    version: int  # Every change of a file changes it.
    changed_at: float  # When a file or folder last changed, in Unix seconds.


_entry_order: Callable[[Entry], Any] = attrgetter(
    "bookmark.created", "bookmark.id"
)
tombstone_order: Callable[[TombstoneEntry], Any] = attrgetter(
    "tombstone.deleted", "tombstone.id"
)


class SortedList(Generic[_Item]):
    """A sorted list. `read` returns it as it is, so the next change copies it first."""

    __slots__ = ("_items", "_order", "_has_readers")

    def __init__(
        self, sorted_items: list[_Item], order: Callable[[_Item], Any]
    ) -> None:
        self._items: list[_Item] = sorted_items
        self._order: Callable[[_Item], Any] = order
        self._has_readers = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> _Item:
        return self._items[0]

    def read(self) -> Sequence[_Item]:
        """Return the items. The result never changes."""
        self._has_readers = True
        return self._items

    def replace(self, old: _Item | None, new: _Item | None) -> None:
        """Remove `old`, and insert `new`. Both may be None."""
        if old is None and new is None:
            return
        if self._has_readers:
            self._items = self._items.copy()
            self._has_readers = False
        if old and new and self._order(old) == self._order(new):
            # Assignment is much faster, because it moves no other items.
            self._items[self._place(old)] = new
            return
        if old:
            del self._items[self._place(old)]
        if new:
            self._items.insert(self._place(new), new)

    def _place(self, item: _Item) -> int:
        """Return the index that the item has or would get."""
        return bisect_left(self._items, self._order(item), key=self._order)


class Index:
    """All bookmarks and tombstones, oldest first.

    Not thread-safe, but the returned sequences never change.
    """

    def __init__(self, items: Mapping[str, Item | None]) -> None:
        """Index these items, mapped by id. None stands for no item."""
        self.items = {id: item for id, item in items.items() if item is not None}
        present = self.items.values()
        # The latest ctime that an item has or had, in Unix seconds; 0 without items.
        self.changed_at = max((item.changed_at for item in present), default=0.0)
        # A sum, so that a change of one item updates it quickly.
        self.version = sum(item.version for item in present) % _VERSIONS
        self._latest: str | None = None  # A cache for `latest`.
        self._public: Index | None = None  # A cache for `public`.

        entries = [item for item in present if isinstance(item, Entry)]
        entries.sort(key=_entry_order)
        tombstones = [item for item in present if isinstance(item, TombstoneEntry)]
        tombstones.sort(key=tombstone_order)
        self._entries = SortedList(entries, _entry_order)
        self._tombstones = SortedList(tombstones, tombstone_order)
        self._numbers = Numbers(self.items)
        self._by_uri_key = _group(entries, _uri_keys)
        self._by_tag = _group(entries, _tag_keys)

        hides_entry = PRIVATE in self._by_tag
        hides_tombstone = any(not entry.is_public for entry in tombstones)
        self._hides_something = hides_entry or hides_tombstone

    @property
    def public(self) -> "Index":
        """The index of the public items, which is this index if all are public."""
        if self._hides_something and self._public is None:
            public = {id: item for id, item in self.items.items() if item.is_public}
            self._public = Index(public)
        return self._public or self

    @property
    def latest(self) -> str:
        """The timestamp of the latest change or deletion."""
        if self._latest is None:
            times = map(_change_time, self.items.values())
            self._latest = max(times, default=_EPOCH)
        return self._latest

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries.read()

    @property
    def tombstones(self) -> Sequence[TombstoneEntry]:
        return self._tombstones.read()

    def ids_of_number(self, number: int) -> Sequence[str]:
        """Return the ids of bookmarks and tombstones that have this number."""
        return self._numbers.ids_of(number)

    def of_tag(self, tag: str) -> Sequence[Entry]:
        """Return the bookmarks with a folded tag, or without tags for UNTAGGED."""
        if tag not in self._by_tag:
            return ()
        return self._by_tag[tag].read()

    def of_uri_key(self, uri_key: str) -> Sequence[Entry]:
        if uri_key not in self._by_uri_key:
            return ()
        return self._by_uri_key[uri_key].read()

    def count(self, tag: str) -> int:
        """Return how many bookmarks `of_tag` returns."""
        return len(self._by_tag.get(tag, ()))

    def tag_counts(self) -> list[tuple[str, int]]:
        """Return all tags with counts, most used first.

        Each tag is spelled as in its oldest bookmark.
        """
        counts = {tag: len(entries) for tag, entries in self._by_tag.items()}
        counts.pop(UNTAGGED, None)
        result = []
        for tag, count in _most_used(counts):
            oldest = self._by_tag[tag].first
            result.append((_spelling(tag, oldest), count))
        return result

    def change(self, id: str, new: Item | None) -> None:
        """Replace the item of an id, or remove it if `new` is None."""
        old = self.items.get(id)
        self._change_items(id, old, new)
        self._change_latest(old, new)
        self._change_lists(old, new)
        self._change_public(id, new)

    def _change_items(self, id: str, old: Item | None, new: Item | None) -> None:
        if old:
            self.version = (self.version - old.version) % _VERSIONS
        if new:
            self.version = (self.version + new.version) % _VERSIONS
            self.changed_at = max(self.changed_at, new.changed_at)
            self.items[id] = new
        if new and not old:
            self._numbers.add(id)
        if old and not new:
            del self.items[id]
            self._numbers.remove(id)

    def _change_latest(self, old: Item | None, new: Item | None) -> None:
        if old and _change_time(old) == self._latest:
            self._latest = None
        elif new and self._latest is not None:
            self._latest = max(self._latest, _change_time(new))

    def _change_lists(self, old: Item | None, new: Item | None) -> None:
        self._tombstones.replace(_if_tombstone(old), _if_tombstone(new))
        old_entry = _if_entry(old)
        new_entry = _if_entry(new)
        self._entries.replace(old_entry, new_entry)
        _replace(self._by_uri_key, _uri_keys, old_entry, new_entry)
        _replace(self._by_tag, _tag_keys, old_entry, new_entry)

    def _change_public(self, id: str, new: Item | None) -> None:
        if self._public is not None:
            self._public.change(id, _if_public(new))
        elif new and not new.is_public:
            self._hides_something = True


def _if_public(item: Item | None) -> Item | None:
    if item and item.is_public:
        return item
    return None


def _if_entry(item: Item | None) -> Entry | None:
    if isinstance(item, Entry):
        return item
    return None


def _if_tombstone(item: Item | None) -> TombstoneEntry | None:
    if isinstance(item, TombstoneEntry):
        return item
    return None


def _uri_keys(entry: Entry) -> Sequence[str]:
    return (entry.uri_key,)


def _tag_keys(entry: Entry) -> Sequence[str]:
    return entry.tags or (UNTAGGED,)


def _group(
    entries: Iterable[Entry], keys_of: _KeysOf
) -> dict[str, SortedList[Entry]]:
    lists: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        for key in keys_of(entry):
            lists[key].append(entry)
    return {key: SortedList(lists[key], _entry_order) for key in lists}


def _replace(
    lists: dict[str, SortedList[Entry]],
    keys_of: _KeysOf,
    old: Entry | None,
    new: Entry | None,
) -> None:
    """Replace an entry in the list of each of its keys."""
    old_keys = set(keys_of(old) if old else ())
    new_keys = set(keys_of(new) if new else ())
    for key in old_keys & new_keys:
        lists[key].replace(old, new)
    for key in new_keys - old_keys:
        lists.setdefault(key, SortedList([], _entry_order)).replace(None, new)
    for key in old_keys - new_keys:
        lists[key].replace(old, None)
        if not lists[key]:  # A tag without bookmarks is not listed any more.
            del lists[key]


def _change_time(item: Item) -> str:
    if isinstance(item, Entry):
        return item.bookmark.modified
    return item.tombstone.deleted


def count_tags(
    oldest_first: Sequence[Entry], limit: int
) -> list[tuple[str, int]]:
    """Return the `limit` most used tags with their counts.

    Each tag is spelled as in its oldest entry.
    """
    tags = chain.from_iterable(entry.tags for entry in oldest_first)
    most_used = _most_used(Counter(tags))[:limit]
    spellings = _spellings({tag for tag, _ in most_used}, oldest_first)
    return [(spellings[tag], count) for tag, count in most_used]


def _most_used(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return tags and counts, most used first, equal counts by tag."""
    # Negative counts sort faster than a key function.
    order = sorted((-count, tag) for tag, count in counts.items())
    return [(tag, -negative) for negative, tag in order]


def _spellings(
    tags: set[str], oldest_first: Sequence[Entry]
) -> dict[str, str]:
    """Map each folded tag to its spelling in its oldest entry."""
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
    place = entry.tags.index(folded_tag)
    return entry.bookmark.tags[place]
