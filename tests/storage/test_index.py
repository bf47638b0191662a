"""After any sequence of changes the index and its version match the files."""

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from clients import bookmarks_of, delete_bookmark, put_bookmark
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.bookmark import Bookmark, Tombstone, create, fold, timestamp, update
from storage.follower import new_entry
from storage.index import UNTAGGED, Index, TombstoneEntry
from storage.query import Query
from storage.record import digest, encode
from storage.selection import candidates
from storage.store import Store
from storage.uri import uri_key

IDS = ["a", "b", "c", "d", "e"]
URIS = ["https://one.example/", "https://two.example/", "HTTPS://ONE.example:443"]
TAGS = ["x", "X", "y", "z", "Ü"]
TIMES = [timestamp(seconds) for seconds in (0, 1, 1_000_000_000)]

ids = st.sampled_from(IDS)
times = st.sampled_from(TIMES)
tags = st.lists(st.sampled_from(TAGS), unique_by=fold, max_size=3).map(tuple)


def entry_of(bookmark):
    return new_entry(bookmark, digest(encode(bookmark)), 0.0)


def tombstone_entry_of(tombstone):
    return TombstoneEntry(tombstone, digest(encode(tombstone)), 0.0)


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


tombstones = st.builds(Tombstone, id=ids, deleted=times)
items = (
    bookmarks.map(lambda bookmark: (bookmark.id, entry_of(bookmark)))
    | tombstones.map(lambda tombstone: (tombstone.id, tombstone_entry_of(tombstone)))
    | ids.map(lambda id: (id, None))
)


def number_of(id):
    return id[0] // 2


def contents(index):
    folded = sorted({fold(tag) for tag in TAGS})
    selections = [tags for count in range(4) for tags in combinations(folded, count)]
    return (
        index.version,
        index.latest,
        [(entry.bookmark, entry.version) for entry in index.entries],
        [(entry.tombstone, entry.version) for entry in index.tombstones],
        {tags: [e.bookmark for e in candidates(index, Query(tags=tags))] for tags in selections},
        {uri: [e.bookmark for e in index.of_uri_key(uri_key(uri))] for uri in URIS},
        {id: sorted(index.ids_of_number(number_of(id.encode()))) for id in IDS},
        index.tag_counts(),
        list(index.of_tag(UNTAGGED)),
    )


@given(changes=st.lists(items, max_size=30))
@settings(max_examples=300, deadline=None, database=None)
def test_an_index_changed_in_steps_equals_one_built_at_once(changes):
    with mock.patch("zlib.crc32", number_of):
        index = Index({})
        for id, item in changes:
            index.change(id, item)
            assert contents(index) == contents(Index(index.items))


@dataclass
class Change:
    """One change of a data folder, by the store or by another program."""

    kind: str
    id: str
    tags: tuple[str, ...]
    time: str

    def apply(self, store, folder):
        uri = f"https://{self.id}.example/"
        bookmark = create({"uri": uri, "tags": self.tags, "created": self.time}, self.id)
        path = folder / "bookmarks" / f"{self.id}.json"
        active = {b.id for b in bookmarks_of(store)}
        deleted_ids = {path.stem for path in (folder / "tombstones").iterdir()}
        if self.kind == "write" and self.id in active:
            seen = store.get(self.id)
            changed = update(seen.bookmark, {"title": "New", "tags": self.tags})
            put_bookmark(store, changed, seen)
        elif self.kind == "write" and self.id not in deleted_ids:
            put_bookmark(store, bookmark)
        elif self.kind == "delete" and self.id in active:
            delete_bookmark(store, store.get(self.id))
        elif self.kind == "write file":
            path.write_bytes(encode(bookmark))
        elif self.kind == "remove file":
            path.unlink(missing_ok=True)
        elif self.kind == "write tombstone":
            (folder / "tombstones" / path.name).write_bytes(encode(Tombstone(self.id, self.time)))
        elif self.kind == "remove tombstone":
            (folder / "tombstones" / path.name).unlink(missing_ok=True)
        elif self.kind == "touch" and path.exists():
            os.utime(path)


KINDS = ["write", "write", "delete", "write file", "remove file"]
KINDS += ["write tombstone", "remove tombstone", "touch"]
steps = st.builds(Change, kind=st.sampled_from(KINDS), id=ids, tags=tags, time=times)


@given(changes=st.lists(steps, max_size=15))
@settings(max_examples=60, deadline=None, database=None)
def test_a_running_store_equals_a_newly_opened_one(changes):
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
    first, second = one.select(Query()), other.select(Query())
    assert [e.bookmark for e in first.entries] == [e.bookmark for e in second.entries]
    assert first.tombstones == second.tombstones
    assert one.state().version == other.state().version
    assert one.state().changed_at == other.state().changed_at
    assert first.latest == second.latest
    assert one.tag_counts()[0] == other.tag_counts()[0]
