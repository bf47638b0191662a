"""The bookmarks in memory: by id, by uri, by tag, in list order. Reads and writes no files."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any as Anything
from typing import TypeVar

import msgspec

from storage.bookmark import Bookmark, Tombstone, fold
from storage.query import NEWEST_FIRST, Query
from storage.search import All, Any, Not, OnlyTags, Search, Tag, Text, fold_text

_EPOCH = "1970-01-01T00:00:00Z"  # When an empty collection was last modified.


# gc=False: garbage collections skip entries, which are in no cycle. eq=False: compare by identity.
class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file.

    `version` is the digest of the file's bytes; `uri_key` the normalized uri, which is equal for
    uris that count as the same; `tags` the folded tags; `changed_at` the file's ctime: only the
    system can set it, but `cp -a` and rsync set an old mtime; `text` the folded text of all fields,
    which is empty until a search for a word first needs the text.
    """

    bookmark: Bookmark
    version: int
    uri_key: str
    tags: tuple[str, ...]
    changed_at: float
    text: str = ""


# gc=False and eq=False are for speed, as in Entry.
class TombstoneEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A tombstone with the digest and the ctime of its file."""

    tombstone: Tombstone
    version: int
    changed_at: float


Item = Entry | TombstoneEntry
_Item = TypeVar("_Item", Entry, TombstoneEntry)


class State(msgspec.Struct, frozen=True):
    """The validators of the whole collection.

    `version` differs after a change of any file; `changed_at` is when a file or folder last
    changed, in Unix seconds.
    """

    version: int
    changed_at: float


# The keys of the sorted lists, oldest first. The id decides between equal times.
_entry_order: Callable[[Entry], Anything] = attrgetter("bookmark.created", "bookmark.id")
_tombstone_order: Callable[[TombstoneEntry], Anything] = attrgetter(
    "tombstone.deleted", "tombstone.id"
)


class Index:
    """All bookmarks, and the tombstones of deleted ones. Not thread-safe.

    All lists of entries are sorted oldest first. `by_tag` has the entries without tags under "".
    """

    def __init__(self, items: Mapping[str, Item | None]) -> None:
        """Index the item of each id; None stands for no item."""
        self.items = {id: item for id, item in items.items() if item}
        # The sum of the versions of all items, modulo 2^128: it does not depend on their order, and
        # a change of one file needs no pass over all.
        self.version = sum(item.version for item in self.items.values()) % (1 << 128)
        self._latest = ""  # The value of `latest`, empty if it is not known.
        tombstones = (item for item in self.items.values() if isinstance(item, TombstoneEntry))
        self.tombstones = sorted(tombstones, key=_tombstone_order)
        entries = (item for item in self.items.values() if isinstance(item, Entry))
        self.entries = sorted(entries, key=_entry_order)
        self.by_uri_key: dict[str, list[Entry]] = {}
        self.by_tag: dict[str, list[Entry]] = {}
        for entry in self.entries:
            self.by_uri_key.setdefault(entry.uri_key, []).append(entry)
            for tag in entry.tags or ("",):
                self.by_tag.setdefault(tag, []).append(entry)

    @property
    def latest(self) -> str:
        """The time of the latest change or deletion."""
        if not self._latest:
            self._latest = max(map(_change_time, self.items.values()), default=_EPOCH)
        return self._latest

    # --- Reading ---

    def matches(self, query: Query) -> Sequence[Entry]:
        """Return the entries that the query selects by tags and uri, oldest first.

        The result may be a list of the index itself: do not change it, and copy it to keep it.
        """
        lists = [self.by_tag.get(tag, []) for tag in query.tags]
        if query.uri_key is not None:
            lists.append(self.by_uri_key.get(query.uri_key, []))
        shortest = min(lists, key=len, default=self.entries)
        if len(lists) < 2:
            return shortest
        has_all_tags = frozenset(query.tags).issubset
        return [entry for entry in shortest if has_all_tags(entry.tags)]

    def tag_counts(self) -> list[tuple[str, int]]:
        """Return all tags, as spelled in the oldest bookmark, and their counts, most used first."""
        counts = {tag: len(entries) for tag, entries in self.by_tag.items() if tag}
        return [(_spelling(tag, self.by_tag[tag]), n) for tag, n in _most_used(counts)]

    # --- Changing ---

    def change(self, id: str, new: Item | None) -> None:
        """Set the item of an id, or remove it if `new` is None."""
        old = self.items.get(id)
        if new:
            self.items[id] = new
        else:
            self.items.pop(id, None)
        self.version += (new.version if new else 0) - (old.version if old else 0)
        self.version %= 1 << 128
        self._change_latest(old, new)
        if isinstance(new, Entry):  # Before the old one is removed, whose place it may take.
            self._insert(new, old)
        if isinstance(old, Entry):
            self._remove(old)
        if isinstance(new, TombstoneEntry):
            insort(self.tombstones, new, key=_tombstone_order)
        if isinstance(old, TombstoneEntry):
            self.tombstones.remove(old)

    def _change_latest(self, old: Item | None, new: Item | None) -> None:
        """Bring `_latest` up to date: a pass over all items at each change would take too long."""
        if self._latest and new and _change_time(new) >= self._latest:
            self._latest = _change_time(new)
        elif old and _change_time(old) == self._latest:
            self._latest = ""

    def _insert(self, new: Entry, old: Item | None) -> None:
        """Insert an entry into its lists, in place of `old` where `old` has the same place.

        Moving all later entries of a list of 1,000,000 takes as long as 300 replacements.
        """
        for lists, key in self._lists_of(new):
            entries = lists.setdefault(key, [])
            place = _place(entries, new)
            if entries[place : place + 1] == [old]:
                entries[place] = new
            else:
                entries.insert(place, new)

    def _remove(self, old: Entry) -> None:
        """Remove an entry from those of its lists in which no other has taken its place."""
        for lists, key in self._lists_of(old):
            entries = lists[key]
            place = _place(entries, old)
            if entries[place : place + 1] == [old]:
                del entries[place]
            if not entries:  # Clients see no tag without bookmarks.
                del lists[key]

    def _lists_of(self, entry: Entry) -> Iterator[tuple[dict[str, list[Entry]], str]]:
        """Yield each dictionary of lists and the key of the list that the entry belongs to."""
        yield {"": self.entries}, ""
        yield self.by_uri_key, entry.uri_key
        for tag in entry.tags or ("",):
            yield self.by_tag, tag


def _place(entries: list[Entry], entry: Entry) -> int:
    """Return the place in a sorted list that the entry has or would get."""
    return bisect_left(entries, _entry_order(entry), key=_entry_order)


def _change_time(item: Item) -> str:
    return item.bookmark.modified if isinstance(item, Entry) else item.tombstone.deleted


def count_tags(oldest_first: Sequence[Entry], limit: int) -> list[tuple[str, int]]:
    """Return the most used tags, as spelled in the oldest of the entries, with their counts."""
    counts = Counter(chain.from_iterable(entry.tags for entry in oldest_first))
    return [(_spelling(tag, oldest_first), n) for tag, n in _most_used(counts)[:limit]]


def _most_used(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the tags with their counts, most used first and then in alphabetical order."""
    order = sorted((-count, tag) for tag, count in counts.items())  # Faster than a key function.
    return [(tag, -negative) for negative, tag in order]


def _spelling(tag: str, oldest_first: Iterable[Entry]) -> str:
    """Return the spelling of a folded tag in the oldest of the entries that have this tag."""
    oldest = next(entry for entry in oldest_first if tag in entry.tags)
    return next(spelled for spelled in oldest.bookmark.tags if fold(spelled) == tag)


def newest_first(oldest_first: Sequence[_Item], limit: int | None, offset: int) -> Sequence[_Item]:
    """Return `limit` items, newest first, after skipping the `offset` newest ones."""
    stop = max(len(oldest_first) - offset, 0)
    start = 0 if limit is None else max(stop - limit, 0)
    return oldest_first[start:stop][::-1]


# The id decides between equal values.
_SORT_ORDERS: Mapping[str, Callable[[Entry], Anything]] = {
    "created": _entry_order,
    "modified": attrgetter("bookmark.modified", "bookmark.id"),
    "title": lambda entry: (fold_text(entry.bookmark.title), entry.bookmark.id),
    "uri": lambda entry: (fold_text(entry.bookmark.uri), entry.bookmark.id),
}


def sort_entries(oldest_first: Sequence[Entry], sort: str) -> Sequence[Entry]:
    """Return the entries in the opposite of the order that `Query.sort` asks for."""
    if sort == NEWEST_FIRST:
        return oldest_first
    order = _SORT_ORDERS[sort.removeprefix("-")]
    return sorted(oldest_first, key=order, reverse=not sort.startswith("-"))


# --- Searching ---


def meets(entry: Entry, query: Query) -> bool:
    """Return whether the query selects the entry."""
    has_uri = query.uri_key in (None, entry.uri_key)
    has_tags = set(query.tags).issubset(entry.tags)
    return has_uri and has_tags and bool(search_entries([entry], query.search))


def search_entries(entries: Sequence[Entry], search: Search | None) -> Sequence[Entry]:
    """Return the entries that meet the search, in the given order; None selects all."""
    match search:
        case None:
            return entries
        case Text(text):
            return [entry for entry in entries if text in (entry.text or _fold_fields(entry))]
        case Tag(tag):
            return [entry for entry in entries if tag in entry.tags]
        case OnlyTags(tags):
            return [entry for entry in entries if tags.issuperset(entry.tags)]
        case All(parts):  # Each part is tested only on the entries that meet those before it.
            for part in parts:
                entries = search_entries(entries, part)
            return entries
        case Any(parts):
            found: set[Entry] = set()
            rest = entries
            for part in parts:  # Each part is tested only on the entries that met none before it.
                found.update(search_entries(rest, part))
                rest = [entry for entry in rest if entry not in found]
            return [entry for entry in entries if entry in found]
        case Not(part):
            excluded = set(search_entries(entries, part))
            return [entry for entry in entries if entry not in excluded]
    raise AssertionError(search)


def _fold_fields(entry: Entry) -> str:
    """Set `entry.text` to the folded fields, separated by line breaks, and return it.

    No match crosses two fields, because folded words and phrases have no line break.
    """
    b = entry.bookmark
    entry.text = "\n".join(map(fold_text, (b.title, b.description, b.uri, *b.tags)))
    return entry.text
