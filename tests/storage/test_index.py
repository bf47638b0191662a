"""The index after any changes is the index of what there is then; and so is its version."""

import os
import random
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import index as module
from storage.bookmark import (
    Bookmark,
    Tombstone,
    create,
    digest,
    fold,
    timestamp,
    to_file,
    update,
    uri_key,
)
from storage.index import Entry, Grave, Index
from storage.query import Query
from storage.store import Store

IDS = ["a", "b", "c", "d", "e"]
URIS = ["https://one.example/", "https://two.example/", "HTTPS://ONE.example:443"]
TAGS = ["x", "X", "y", "z", "Ü"]
TIMES = [timestamp(seconds) for seconds in (0, 1, 1_000_000_000)]

ids = st.sampled_from(IDS)
times = st.sampled_from(TIMES)
tags = st.lists(st.sampled_from(TAGS), unique_by=fold, max_size=3).map(tuple)


def entry_of(bookmark):
    folded = tuple(map(fold, bookmark.tags))
    return Entry(bookmark, digest(to_file(bookmark)), uri_key(bookmark.uri), folded, 0.0)


def grave_of(tombstone):
    return Grave(tombstone, digest(to_file(tombstone)))


bookmarks = st.builds(
    Bookmark,
    id=ids,
    uri=st.sampled_from(URIS),
    title=st.sampled_from(["one", "two"]),
    description=st.just(""),
    tags=tags,
    created=times,
    modified=times,
)


def changes_of(values, id_of):
    """Some values by their ids, None for those that go."""
    gone = ids.map(lambda id: (id, None))
    return st.lists(values.map(lambda value: (id_of(value), value)) | gone, max_size=4).map(dict)


entries = changes_of(bookmarks.map(entry_of), lambda entry: entry.bookmark.id)
tombstones = st.builds(Tombstone, id=ids, deleted=times)
graves = changes_of(tombstones.map(grave_of), lambda grave: grave.tombstone.id)


def shown(index):
    """All that an index answers, whatever way it came about."""
    folded = sorted({fold(tag) for tag in TAGS})
    asked = [tags for count in range(4) for tags in combinations(folded, count)]
    return (
        index.state,
        {id: (entry.bookmark, entry.version) for id, entry in index.entries.items()},
        {id: (grave.tombstone, grave.version) for id, grave in index.graves.items()},
        {tags: [entry.bookmark for entry in index.tagged(tags)] for tags in asked},
        {uri: [entry.bookmark.id for entry in index.holders(uri_key(uri))] for uri in URIS},
        index.tag_counts(),
        index.counted(Query(counts=2)),
        index.tombstones(Query()),
        index.tombstones(Query(limit=1, offset=1)),
    )


@pytest.mark.parametrize("rebuild", [0, 3, 10**9], ids=["always rebuilt", "mixed", "never rebuilt"])
@given(changes=st.lists(st.tuples(entries, graves), max_size=12))
@settings(max_examples=100, deadline=None, database=None)
def test_an_index_changed_step_by_step_equals_a_new_one(rebuild, changes):
    before, module._REBUILD = module._REBUILD, rebuild
    try:
        index = Index()
        for changed, buried in changes:
            index.change(changed, buried)
            fresh = Index()
            fresh.change(index.entries, index.graves)
            assert shown(index) == shown(fresh)
    finally:
        module._REBUILD = before


@dataclass
class Change:
    """One change of a folder: by the store itself, or behind its back."""

    kind: str
    id: str
    tags: tuple[str, ...]
    time: str

    def apply(self, store, folder):
        bookmark = create(
            {"uri": f"https://{self.id}.example/", "tags": self.tags}, self.id, self.time
        )
        path = folder / "bookmarks" / f"{self.id}.json"
        active = {found.id for found in store.select(Query()).bookmarks}
        buried = {path.stem for path in (folder / "tombstones").iterdir()}
        if self.kind == "write" and self.id in active:
            seen = store.get(self.id)
            store.replace(
                update(seen.bookmark, {"title": "New", "tags": self.tags}, self.time), seen
            )
        elif self.kind == "write" and self.id not in buried:
            store.add(bookmark)
        elif self.kind == "delete" and self.id in active:
            store.delete(store.get(self.id))
        elif self.kind == "edit":
            path.write_bytes(to_file(bookmark))
        elif self.kind == "remove":
            path.unlink(missing_ok=True)
        elif self.kind == "bury":
            (folder / "tombstones" / path.name).write_bytes(to_file(Tombstone(self.id, self.time)))
        elif self.kind == "unbury":
            (folder / "tombstones" / path.name).unlink(missing_ok=True)
        elif self.kind == "touch" and path.exists():
            os.utime(path)


KINDS = ["write", "write", "delete", "edit", "remove", "bury", "unbury", "touch"]
steps = st.builds(Change, kind=st.sampled_from(KINDS), id=ids, tags=tags, time=times)


@given(changes=st.lists(steps, max_size=15))
@settings(max_examples=60, deadline=None, database=None)
def test_a_store_shows_what_a_fresh_one_shows(changes):
    with TemporaryDirectory() as name:
        folder = Path(name)
        store, other = Store(folder), Store(folder)
        for change in changes:
            change.apply(store, folder)
            require_equal(store, other)
        fresh = Store(folder)
        require_equal(store, fresh)
        for one in (store, other, fresh):
            one.close()


def require_equal(one, other):
    mine, theirs = one.select(Query(deletions=True)), other.select(Query(deletions=True))
    assert mine.bookmarks == theirs.bookmarks
    assert mine.tombstones == theirs.tombstones
    assert one.state().version == other.state().version
    assert one.state().modified == other.state().modified
    assert one.tag_counts()[0] == other.tag_counts()[0]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_selected_stays_right_whatever_changes(seed):
    chance = random.Random(seed)
    index = Index()
    wanted = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "x")]
    for turn in range(300):
        id = f"{chance.randrange(30):02}"
        tags = chance.sample("abc", chance.randrange(4))
        created = f"2024-01-{chance.randrange(1, 5):02}T00:00:00Z"
        fields = {"uri": f"x:{id}", "tags": tuple(tags), "created": created}
        new = entry_of(create(fields, id, created))
        others = range(600 if turn == 99 else 0)  # So many that all is sorted anew.
        many = {
            f"{n}x": entry_of(create(fields | {"tags": ("a", "b")}, f"{n}x", created))
            for n in others
        }
        index.change({id: chance.choice([new, None])} | many, {})
        order = sorted(index.entries.values(), key=lambda e: (e.bookmark.created, e.bookmark.id))
        for selection in wanted:
            assert index.tagged(selection) == [e for e in order if set(selection) <= set(e.tags)]
