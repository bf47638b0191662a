"""After any sequence of changes, the store that followed them equals a newly opened one."""

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from clients import bookmarks_of, delete_bookmark, put_bookmark
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.bookmark import Tombstone, create, fold, timestamp, update
from storage.errors import Conflict
from storage.query import Query
from storage.record import encode
from storage.store import Store
from storage.uri import uri_key

IDS = ["a", "b", "c", "d", "e"]
TAGS = ["x", "X", "y", "z", "Ü"]
TIMES = [timestamp(seconds) for seconds in (0, 1, 1_000_000_000)]
FOLDED = sorted({fold(tag) for tag in TAGS})
SELECTIONS = [tags for count in range(3) for tags in combinations(FOLDED, count)]

ids = st.sampled_from(IDS)
times = st.sampled_from(TIMES)
tags = st.lists(st.sampled_from(TAGS), unique_by=fold, max_size=3).map(tuple)


def number_of(id):
    """Return the number of an id; two ids share it, and the uri."""
    return id[0] // 2


def uri_of(id):
    return f"https://{number_of(id.encode())}.example/"


@dataclass
class Change:
    """One change of a data folder, by the store or by another program."""

    kind: str
    id: str
    tags: tuple[str, ...]
    time: str

    def apply(self, store, folder):
        fields = {"uri": uri_of(self.id), "tags": self.tags, "created": self.time}
        bookmark = create(fields, self.id)
        path = folder / "bookmarks" / f"{self.id}.json"
        active = {b.id for b in bookmarks_of(store)}
        deleted_ids = {path.stem for path in (folder / "tombstones").iterdir()}
        if self.kind == "write" and self.id in active:
            seen = store.get(self.id)
            changed = update(seen.bookmark, {"title": "New", "tags": self.tags})
            put_bookmark(store, changed, seen)
        elif self.kind == "write" and self.id not in deleted_ids:
            with suppress(Conflict):
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
    with TemporaryDirectory() as name, mock.patch("zlib.crc32", number_of):
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
    for query in map(Query, SELECTIONS):
        assert bookmarks_of(one, query) == bookmarks_of(other, query)
    for id in IDS:
        query = Query(uri_key=uri_key(uri_of(id)))
        assert bookmarks_of(one, query) == bookmarks_of(other, query)
        number = number_of(id.encode())
        assert sorted(one.ids_of_number(number)) == sorted(other.ids_of_number(number))
    assert first.tombstones == second.tombstones
    assert one.state().version == other.state().version
    assert one.state().changed_at == other.state().changed_at
    assert first.latest == second.latest
    assert one.tag_counts()[:2] == other.tag_counts()[:2]
