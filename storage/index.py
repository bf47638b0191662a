"""All bookmarks in memory, by id, uri and tag."""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Generic, TypeVar

import msgspec

from storage.bookmark import PRIVATE, Bookmark, Tombstone
from storage.numbers import Numbers

_EPOCH = "1970-01-01T00:00:00Z"  # When an empty collection was last modified.
UNTAGGED = ""  # The index has bookmarks without tags under this tag.


# With gc=False, the garbage collector skips entries. With eq=False, `in` and `==`
# need not compare all fields.
class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file."""

    bookmark: Bookmark
    version: int  # The digest of the file's bytes.
    uri_key: str  # The normalized uri.
    tags: tuple[str, ...]  # Folded, in the order of `bookmark.tags`.
    changed_at: float  # The file's ctime, because `cp -a` sets an old mtime.
    text: str = ""  # All fields as one folded text, set by the first search.

    @property
    def sort_key(self) -> str:
        """The time of creation and the id, such as `2024-02-29T12:00:00Zabc`.

        It is unique, because all times have the same length.
        """
        return self.bookmark.created + self.bookmark.id

    @property
    def modified(self) -> str:
        return self.bookmark.modified

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
    def sort_key(self) -> str:
        """The time of deletion and the id, such as `2024-02-29T12:00:00Zabc`."""
        return self.tombstone.deleted + self.tombstone.id

    @property
    def modified(self) -> str:
        return self.tombstone.deleted

    @property
    def is_public(self) -> bool:
        """Whether visitors may know of the bookmark that was deleted."""
        return not self.tombstone.private


Item = Entry | TombstoneEntry
_Sorted = TypeVar("_Sorted", Entry, TombstoneEntry)

_VERSIONS = 1 << 128  # The versions of items and of an index are below this number.
sort_key_of: Callable[[Item], str] = attrgetter("sort_key")


class State(msgspec.Struct, frozen=True):
    """The version and time of a collection, by which clients notice changes."""

    version: int  # Every change of a file changes it.
    changed_at: float  # When a file or folder last changed, in Unix seconds.


class SortedList(Generic[_Sorted]):
    """A list of entries or tombstones, oldest first.

    `read` returns the list itself, not a copy. The next change therefore works on
    a new copy, so that the readers keep a list that never changes.
    """

    __slots__ = ("_items", "_has_readers")

    def __init__(self, sorted_items: list[_Sorted]) -> None:
        self._items: list[_Sorted] = sorted_items
        self._has_readers = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> _Sorted:
        return self._items[0]

    def read(self) -> Sequence[_Sorted]:
        self._has_readers = True
        return self._items

    def add(self, item: _Sorted) -> None:
        self._copy_for_readers()
        insort(self._items, item, key=sort_key_of)

    def remove(self, item: _Sorted) -> None:
        self._copy_for_readers()
        place = bisect_left(self._items, item.sort_key, key=sort_key_of)
        del self._items[place]

    def _copy_for_readers(self) -> None:
        if self._has_readers:
            self._items = self._items.copy()
            self._has_readers = False


class Index:
    """All bookmarks and tombstones, oldest first.

    Not thread-safe, but the returned sequences never change.
    """

    def __init__(self, items: Mapping[str, Item]) -> None:
        """Index these items by their ids."""
        self.items = dict(items)
        entries = [item for item in items.values() if isinstance(item, Entry)]
        entries.sort(key=sort_key_of)
        tombstones = [item for item in items.values() if isinstance(item, TombstoneEntry)]
        tombstones.sort(key=sort_key_of)
        self._entries = SortedList(entries)
        self._tombstones = SortedList(tombstones)
        self._by_tag = _group_by_tag(entries)
        # Nearly all uris have one bookmark, so each change may make a new list.
        self._by_uri_key = _group_by_uri_key(entries)
        self._numbers = Numbers(items)

        # Clients notice changes by the version: a sum, to which `change` can add.
        self.version = sum(item.version for item in items.values()) % _VERSIONS
        # The latest ctime of all present and former items, in Unix seconds.
        self.changed_at = max((item.changed_at for item in items.values()), default=0.0)
        self._latest: str | None = None  # A cache for `latest`.

        self._public: Index | None = None  # A cache for `public`.
        hides_tombstone = any(not entry.is_public for entry in tombstones)
        self._hides_something = hides_tombstone or PRIVATE in self._by_tag

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
            times = (item.modified for item in self.items.values())
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
        return self._by_uri_key.get(uri_key, ())

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
        if old:
            self._remove(id, old)
        if new:
            self._add(id, new)
        if old and not new:
            self._numbers.remove(id)
        elif new and not old:
            self._numbers.add(id)
        self._change_public(id, new)

    def _add(self, id: str, item: Item) -> None:
        self.items[id] = item
        self.version = (self.version + item.version) % _VERSIONS
        self.changed_at = max(self.changed_at, item.changed_at)
        if self._latest is not None:
            self._latest = max(self._latest, item.modified)
        if isinstance(item, TombstoneEntry):
            self._tombstones.add(item)
            return
        self._entries.add(item)
        same_uri = [*self.of_uri_key(item.uri_key), item]
        self._by_uri_key[item.uri_key] = sorted(same_uri, key=sort_key_of)
        for tag in _tags_of(item):
            self._by_tag.setdefault(tag, SortedList([])).add(item)

    def _remove(self, id: str, item: Item) -> None:
        del self.items[id]
        self.version = (self.version - item.version) % _VERSIONS
        if item.modified == self._latest:
            self._latest = None
        if isinstance(item, TombstoneEntry):
            self._tombstones.remove(item)
            return
        self._entries.remove(item)
        same_uri = [other for other in self.of_uri_key(item.uri_key) if other is not item]
        self._by_uri_key[item.uri_key] = same_uri
        if not same_uri:
            del self._by_uri_key[item.uri_key]
        for tag in _tags_of(item):
            self._by_tag[tag].remove(item)
            if not self._by_tag[tag]:  # A tag without bookmarks is not listed any more.
                del self._by_tag[tag]

    def _change_public(self, id: str, new: Item | None) -> None:
        if self._public is None:
            if new and not new.is_public:
                self._hides_something = True
        elif new and new.is_public:
            self._public.change(id, new)
        else:
            self._public.change(id, None)


def _tags_of(entry: Entry) -> Sequence[str]:
    return entry.tags or (UNTAGGED,)


def _group_by_tag(sorted_entries: Iterable[Entry]) -> dict[str, SortedList[Entry]]:
    lists: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted_entries:
        for tag in _tags_of(entry):
            lists[tag].append(entry)
    return {tag: SortedList(lists[tag]) for tag in lists}


def _group_by_uri_key(sorted_entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    lists: dict[str, list[Entry]] = {}
    for entry in sorted_entries:
        if entry.uri_key in lists:
            lists[entry.uri_key].append(entry)
        else:
            lists[entry.uri_key] = [entry]
    return lists


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
