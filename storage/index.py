"""The bookmarks in memory: by id, by uri, by tag, in list order. Knows no file."""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import msgspec

from storage.bookmark import Bookmark, Tombstone, fold
from storage.query import Query

_VERSIONS = 1 << 128
_REBUILD = 500
MAX_SELECTIONS = 64


class Entry(msgspec.Struct, gc=False, eq=False):
    """A bookmark with what the index derives from it and its file.

    `version` is the digest of the file's bytes, `touched` the file's mtime in seconds, `text` what
    words are looked for in, once somebody has looked.
    """

    bookmark: Bookmark
    version: int
    key: str
    tags: tuple[str, ...]
    touched: float
    text: str = ""

    @property
    def modified(self) -> str:
        """The time of the bookmark's last change."""
        return self.bookmark.modified


class Grave(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A tombstone with the digest of its file."""

    tombstone: Tombstone
    version: int


class State(msgspec.Struct, frozen=True):
    """The whole collection's validators.

    `version` moves on every change; `modified` is the time of the last change that the bookmarks
    and tombstones tell of; `touched` is when a file or folder was last touched, in seconds.
    """

    version: int
    modified: str
    touched: float


class Page(msgspec.Struct, frozen=True):
    """What a query found: `bookmarks` newest first, `total` before paging.

    `tombstones` are the deletions of the same range, newest first, of `buried` in all. `versions`
    are those of the bookmarks, `counts` the tags that all the found ones have most often.
    """

    bookmarks: Sequence[Bookmark]
    total: int
    state: State
    tombstones: Sequence[Tombstone] = ()
    buried: int = 0
    versions: Sequence[int] = ()
    counts: Sequence[tuple[str, int]] = ()


EPOCH = "1970-01-01T00:00:00Z"
_Item = TypeVar("_Item", Entry, Grave)
_Key = Callable[[_Item], tuple[str, str]]
# Their places in a list, oldest first.
_entry_order: _Key[Entry] = attrgetter("bookmark.created", "bookmark.id")
_grave_order: _Key[Grave] = attrgetter("tombstone.deleted", "tombstone.id")


@dataclass
class Index:
    """Every active bookmark and every tombstone. A caller sees to one thread at a time."""

    entries: dict[str, Entry] = field(default_factory=dict)
    graves: dict[str, Grave] = field(default_factory=dict)
    touched: float = 0.0
    version: int = 0
    counts: dict[Query, Sequence[tuple[str, int]]] = field(default_factory=dict)
    _keys: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    _tags: dict[str, list[Entry]] = field(default_factory=dict)
    _order: list[Entry] = field(default_factory=list)
    _buried: list[Grave] = field(default_factory=list)
    _moments: list[str] = field(default_factory=list)
    _selections: dict[tuple[str, ...], list[Entry]] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The validators of what the index holds now."""
        latest = self._moments[-1] if self._moments else EPOCH
        return State(self.version, latest, self.touched)

    def holders(self, key: str) -> tuple[Entry, ...]:
        """The bookmarks whose uri has this key, oldest first."""
        return self._keys.get(key, ())

    def change(
        self, entries: Mapping[str, Entry | None], graves: Mapping[str, Grave | None]
    ) -> None:
        """Sets or, by None, removes what stands under each id."""
        self.counts = {}  # Whoever counts the old entries just now has the old one still.
        if len(entries) + len(graves) > _REBUILD:
            _set_all(self.graves, graves)
            _set_all(self.entries, entries)
            self._rebuild()
            return
        for id, grave in graves.items():
            self._change_grave(id, grave)
        for id, entry in entries.items():
            self._change_entry(id, entry)

    def _change_grave(self, id: str, grave: Grave | None) -> None:
        if old := self.graves.pop(id, None):
            self.version = (self.version - old.version) % _VERSIONS
            _discard(self._buried, old, _grave_order)
            _discard_text(self._moments, old.tombstone.deleted)
        if grave:
            self.version = (self.version + grave.version) % _VERSIONS
            self.graves[id] = grave
            insort(self._buried, grave, key=_grave_order)
            insort(self._moments, grave.tombstone.deleted)

    def _change_entry(self, id: str, entry: Entry | None) -> None:
        if old := self.entries.pop(id, None):
            self.version = (self.version - old.version) % _VERSIONS
            self._remove(old)
        if entry:
            self.version = (self.version + entry.version) % _VERSIONS
            self.entries[id] = entry
            self._insert(entry)

    def _insert(self, entry: Entry) -> None:
        if others := self.holders(entry.key):
            self._keys[entry.key] = tuple(sorted((*others, entry), key=_entry_order))
        else:
            self._keys[entry.key] = (entry,)
        insort(self._moments, entry.bookmark.modified)
        tagged = [self._tags.setdefault(tag, []) for tag in entry.tags]
        place = _entry_order(entry)
        for found in (self._order, *tagged, *self._selected(entry)):
            if found and place < _entry_order(found[-1]):
                insort(found, entry, key=_entry_order)
            else:  # It is the newest, mostly.
                found.append(entry)

    def _remove(self, entry: Entry) -> None:
        if others := tuple(e for e in self._keys[entry.key] if e is not entry):
            self._keys[entry.key] = others
        else:
            del self._keys[entry.key]
        _discard(self._order, entry, _entry_order)
        _discard_text(self._moments, entry.bookmark.modified)
        for tag in entry.tags:
            _discard(self._tags[tag], entry, _entry_order)
            if not self._tags[tag]:
                del self._tags[tag]

        for selection in self._selected(entry):
            _discard(selection, entry, _entry_order)

    def _selected(self, entry: Entry) -> list[list[Entry]]:
        """The kept selections that the entry is part of."""
        tags = set(entry.tags)
        return [found for wanted, found in self._selections.items() if tags.issuperset(wanted)]

    def _rebuild(self) -> None:
        """Adds up and sorts everything anew: cheaper than many single steps."""
        items: Iterable[Entry | Grave] = chain(self.entries.values(), self.graves.values())
        self.version = sum(item.version for item in items) % _VERSIONS
        self._selections.clear()
        self._order = sorted(self.entries.values(), key=_entry_order)
        self._buried = sorted(self.graves.values(), key=_grave_order)
        moments = [e.bookmark.modified for e in self._order]
        self._moments = sorted(moments + [g.tombstone.deleted for g in self._buried])
        keys: dict[str, tuple[Entry, ...]] = {}
        tags: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self._order:
            others = keys.get(entry.key)
            keys[entry.key] = (*others, entry) if others else (entry,)
            for tag in entry.tags:
                tags[tag].append(entry)
        self._keys, self._tags = keys, dict(tags)

    def tagged(self, tags: tuple[str, ...]) -> list[Entry]:
        """The entries that have all these folded tags, oldest first; not to be changed."""
        if not tags:
            return self._order
        if len(tags) == 1:
            return self._tags.get(tags[0], [])
        if tags not in self._selections:
            rarest = min((self._tags.get(tag, []) for tag in tags), key=len)
            has_all = frozenset(tags).issubset
            found = [entry for entry in rarest if has_all(entry.tags)]
            if len(self._selections) == MAX_SELECTIONS:
                self._selections.pop(next(iter(self._selections)))
            self._selections[tags] = found
        return self._selections[tags]

    def tag_counts(self, most: int | None = None) -> list[tuple[str, int]]:
        """The tags as first written, each with its number of bookmarks; the most used first."""
        counts = [(tag, len(entries)) for tag, entries in self._tags.items()]
        return [(_spelling(tag, self._tags[tag]), n) for tag, n in _most(counts, most)]

    def counted(self, query: Query) -> Sequence[tuple[str, int]] | None:
        """The tags that the query wants counted; None if they have to be counted first."""
        if not query.counts:
            return ()
        found = self.counts.get(query.selection)
        if found is None and query.selection == Query(counts=query.counts):
            found = self.counts[query.selection] = self.tag_counts(query.counts)
        return found

    def tombstones(self, query: Query) -> list[Tombstone]:
        """The deletions in the query's range, newest first."""
        return [grave.tombstone for grave in newest(self._buried, query.limit, query.offset)]


def tag_counts(entries: Sequence[Entry], most: int) -> list[tuple[str, int]]:
    """The tags that these entries have most often, as the first one writes it, with how often."""
    counts = Counter(chain.from_iterable(entry.tags for entry in entries))
    return [(_spelling(tag, entries), n) for tag, n in _most(counts.items(), most)]


def _most(counts: Iterable[tuple[str, int]], most: int | None) -> list[tuple[str, int]]:
    def order(pair: tuple[str, int]) -> tuple[int, str]:
        return -pair[1], pair[0]

    return sorted(counts, key=order) if most is None else nsmallest(most, counts, key=order)


def _spelling(tag: str, entries: Iterable[Entry]) -> str:
    first = next(entry for entry in entries if tag in entry.tags)
    return next(spelled for spelled in first.bookmark.tags if fold(spelled) == tag)


def newest(items: Sequence[_Item], limit: int | None, offset: int) -> Sequence[_Item]:
    """The range of `items`, which stand oldest first, counted and given newest first."""
    stop = max(len(items) - offset, 0)
    start = 0 if limit is None else max(stop - limit, 0)
    return items[start:stop][::-1]


def matching(entries: Iterable[Entry], words: Sequence[str]) -> list[Entry]:
    """The entries that have every folded word in title, description, uri or tags."""
    for word in words:
        entries = [entry for entry in entries if word in (entry.text or _text(entry))]
    return list(entries)


def _text(entry: Entry) -> str:
    b = entry.bookmark
    entry.text = fold("\n".join((b.title, b.description, b.uri, *b.tags)))
    return entry.text


def _set_all(held: dict[str, _Item], changes: Mapping[str, _Item | None]) -> None:
    """Sets or, by None, removes each; whoever asks rebuilds the rest."""
    for id, item in changes.items():
        if item:
            held[id] = item
        else:
            held.pop(id, None)


def _discard(items: list[_Item], item: _Item, key: _Key[_Item]) -> None:
    del items[bisect_left(items, key(item), key=key)]


def _discard_text(items: list[str], item: str) -> None:
    del items[bisect_left(items, item)]
