"""A start reads only what changed since the last one, and shows what it would show without that."""

import logging
import os
import shutil
import time
import unicodedata

import pytest
from test_store import bookmark

import storage.files
import storage.snapshot
import storage.store
import storage.watch
from storage.bookmark import Tombstone, to_file
from storage.errors import Full, Stale, Unreadable
from storage.query import Query
from storage.store import Store

MINUTE = 60
TITLES = {
    "a": {"title": "A", "tags": ["x", "Y"], "description": "several\nlines"},
    "b": {"title": "Ünï ✓ 日本", "tags": ["Straße", "x"], "uri": "HTTPS://b.Example:443/%7eb"},
    "c": {"title": "", "created": "2020-01-01T00:00:00Z", "modified": "2021-01-01T00:00:00Z"},
    "d": {"tags": [f"t{n}" for n in range(100)], "uri": "mailto:d@example.com"},
    "e": {"tags": ["y"], "uri": "https://e.example/ä"},
}


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """So few files are worth a snapshot, and the disk's clock is exact."""
    monkeypatch.setattr(storage.store, "MANY", len(TITLES) - 1)
    monkeypatch.setattr(storage.store, "_RACY_NS", 0)


@pytest.fixture
def folder(tmp_path):
    """A data folder with some bookmarks that were written a while ago, and a tombstone."""
    data = tmp_path / "data"
    Store(data)
    for id, fields in TITLES.items():
        write(data, id, **fields)
    bury(data, "f")
    return data


def path(data, id):
    return data / "bookmarks" / f"{id}.json"


def write(data, id, **fields):
    path(data, id).write_bytes(to_file(bookmark(id, **fields)))
    age(data, id)


def age(data, id):
    past = time.time() - MINUTE
    os.utime(path(data, id), (past, past))


def bury(data, id):
    tombstone = Tombstone(id, "2024-01-02T00:00:00Z")
    (data / "tombstones" / f"{id}.json").write_bytes(to_file(tombstone))


@pytest.fixture
def start(monkeypatch, folder):
    """Starts a store over the folder; it, and the ids whose files it read."""

    def start(data=folder, **options):
        read = []
        read_all = storage.files.read_all

        def counted(where, names):
            if where.name == "bookmarks":
                there = (name for name in names if os.path.lexists(where / name))
                read.extend(name.removesuffix(".json") for name in there)
            return read_all(where, names)

        with monkeypatch.context() as patch:
            patch.setattr(storage.files, "read_all", counted)
            store = Store(data, **{"writable": True} | options)
            store.state()
        return store, sorted(read)

    return start


def everything(store):
    """All that can be asked of a store."""
    page = store.select(Query(deletions=True, counts=100))
    lists = {
        query: store.select(query)
        for query in (Query(tags=("x",)), Query(tags=("x", "y")), Query(words=("ünï",)))
    }
    holders = {b.uri: store.holder(b.uri).bookmark.id for b in page.bookmarks}
    return page, lists, holders, store.tag_counts()


def unaided(data, monkeypatch):
    """The same of a store that reads all."""
    with monkeypatch.context() as patch:
        patch.setattr(storage.store, "MANY", 1000)
        return everything(Store(data))


@pytest.mark.parametrize("block", [1, 2, 1000])
def test_the_next_start_reads_nothing_and_shows_the_same(folder, start, monkeypatch, block):
    monkeypatch.setattr(storage.snapshot, "_BLOCK", block)
    assert start()[1] == sorted(TITLES)
    store, read = start()
    assert read == []
    assert everything(store) == unaided(folder, monkeypatch)
    assert len(store.select(Query()).bookmarks) == len(TITLES)


def test_who_only_looks_writes_none_but_uses_it(folder, start):
    assert start(writable=False)[1] == sorted(TITLES)
    assert not (folder / storage.snapshot.NAME).exists()
    start()
    assert start(writable=False)[1] == []


def test_few_bookmarks_need_none(folder, start, monkeypatch):
    monkeypatch.setattr(storage.store, "MANY", len(TITLES) + 1)
    start()
    assert sorted(entry.name for entry in folder.iterdir()) == ["bookmarks", "tombstones"]


def in_place(data):
    """Edited in place to the same size, and the old time given back."""
    before = path(data, "a").stat()
    time.sleep(0.02)  # The clock of a file's change has a resolution of some milliseconds.
    with path(data, "a").open("r+b") as file:
        content = file.read().replace(b'"A"', b'"B"')
        file.seek(0)
        file.write(content)
    os.utime(path(data, "a"), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path(data, "a").stat().st_size == before.st_size
    return ["a"]


def replaced(data):
    """Replaced by another file with the same time."""
    before = path(data, "a").stat()
    other = data / "other"
    other.write_bytes(path(data, "a").read_bytes().replace(b'"A"', b'"B"'))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path(data, "a"))
    return ["a"]


def touched(data):
    """Touched."""
    path(data, "a").touch()
    return ["a"]


def added(data):
    """One more."""
    write(data, "new", title="New")
    return ["new"]


def removed(data):
    """Removed."""
    path(data, "a").unlink()
    return []


def buried(data):
    """Deleted, its file still there."""
    bury(data, "a")
    return []


def unburied(data):
    """A tombstone taken away."""
    (data / "tombstones" / "f.json").unlink()
    return []


def broken(data):
    """Broken."""
    path(data, "a").write_bytes(b"{")
    return ["a"]


def a_link(data):
    """A link in its place."""
    path(data, "a").rename(data / "elsewhere")
    path(data, "a").symlink_to(data / "elsewhere")
    return ["a"]


def renamed(data):
    """Under another id, which is not the one inside."""
    path(data, "a").rename(path(data, "z"))
    return ["z"]


def swapped(data):
    """Two files under each other's names."""
    path(data, "a").rename(data / "other")
    path(data, "b").rename(path(data, "a"))
    (data / "other").rename(path(data, "b"))
    return ["a", "b"]


CHANGES = (
    in_place, replaced, touched, added, removed, buried, unburied, broken, a_link, renamed, swapped,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__doc__.rstrip("."))
def test_what_changed_since_is_read(folder, start, monkeypatch, change):
    start()
    changed = change(folder)
    store, read = start()
    assert read == changed
    assert everything(store) == unaided(folder, monkeypatch)


def test_what_is_deleted_stays_so_when_the_folder_comes_back(folder, start, monkeypatch):
    start()
    store, _ = start()
    bury(folder, "a")
    (folder / "bookmarks").rename(folder / "aside")
    (folder / "bookmarks").mkdir()
    assert store.select(Query()).bookmarks == []
    (folder / "bookmarks").rmdir()
    (folder / "aside").rename(folder / "bookmarks")
    assert [b.id for b in store.select(Query()).bookmarks] == ["e", "d", "b", "c"]
    assert everything(store) == unaided(folder, monkeypatch)
    assert store.holder(bookmark("a").uri) is None


@pytest.mark.parametrize("watched", [True, False])
def test_what_is_all_deleted_stays_so(folder, start, monkeypatch, watched):
    if not watched:
        monkeypatch.setattr(storage.watch, "_is_shared", lambda folder: True)
    start()
    for id in TITLES:
        bury(folder, id)
    store, _ = start(writable=False)
    for _ in range(3):
        assert store.select(Query()).bookmarks == []
        assert store.holder(bookmark("a").uri) is None


def test_what_may_change_again_without_showing_it_is_read(folder, start, monkeypatch):
    monkeypatch.setattr(storage.store, "_RACY_NS", 2_000_000_000)
    monkeypatch.setattr(storage.store, "MANY", len(TITLES) - 2)
    time.sleep(2.1)
    age(folder, "a")  # Its time is old; that it was given this time is not.
    path(folder, "b").touch()
    start()
    assert start()[1] == ["a", "b"]


def test_a_copy_of_the_folder_reads_all(folder, start, tmp_path, monkeypatch):
    start()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    store, read = start(copy)
    assert read == sorted(TITLES)
    assert everything(store) == unaided(copy, monkeypatch)
    assert start(copy)[1] == []


def cut(snapshot):
    os.truncate(snapshot, snapshot.stat().st_size - 1)


def emptied(snapshot):
    os.truncate(snapshot, 0)


def flipped(snapshot):
    content = bytearray(snapshot.read_bytes())
    content[len(content) // 2] ^= 1
    snapshot.write_bytes(content)


def flipped_at_its_beginning(snapshot):
    content = bytearray(snapshot.read_bytes())
    content[0] ^= 1
    snapshot.write_bytes(content)


def gone(snapshot):
    snapshot.unlink()


def linked(snapshot):
    snapshot.rename(snapshot.with_name("elsewhere"))
    snapshot.symlink_to(snapshot.with_name("elsewhere"))


def a_pipe(snapshot):
    snapshot.unlink()
    os.mkfifo(snapshot)


DAMAGES = (cut, emptied, flipped, flipped_at_its_beginning, gone, linked, a_pipe)


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_that_is_not_whole_counts_for_nothing_and_comes_back(folder, start, damage):
    before = everything(start()[0])
    damage(folder / storage.snapshot.NAME)
    store, read = start()
    assert read == sorted(TITLES)
    assert everything(store) == before
    assert start()[1] == []


def test_one_that_cannot_be_replaced_hinders_nothing(folder, start, caplog):
    (folder / storage.snapshot.NAME).mkdir()
    before = everything(start()[0])
    store, read = start()
    assert (read, everything(store)) == (sorted(TITLES), before)
    assert "snapshot.index is not renewed" in caplog.text
    assert not list(folder.glob(".*"))


def test_without_room_for_it_all_is_there_all_the_same(folder, start, monkeypatch, caplog):
    def full(*arguments):
        raise Full("The disk is full.")

    monkeypatch.setattr(storage.snapshot, "write", full)
    caplog.set_level(logging.WARNING)
    assert len(start()[0].select(Query()).bookmarks) == len(TITLES)
    assert "The disk is full." in caplog.text


def test_what_other_rules_have_read_is_read_anew(folder, start, monkeypatch):
    start()
    here = storage.snapshot.rules()
    storage.snapshot.rules.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(unicodedata, "unidata_version", "0.0.0")
        assert storage.snapshot.rules() != here
        assert start()[1] == sorted(TITLES)
    storage.snapshot.rules.cache_clear()
    assert storage.snapshot.rules() == here


def test_without_its_rules_there_is_none(folder, start, monkeypatch):
    storage.snapshot.rules.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(storage.snapshot, "_RULES", ("gone.py",))
        assert [start()[1] for _ in range(2)] == [sorted(TITLES)] * 2
    storage.snapshot.rules.cache_clear()
    assert not (folder / storage.snapshot.NAME).exists()


def test_it_is_for_its_owner_alone(folder, start):
    start()
    assert (folder / storage.snapshot.NAME).stat().st_mode & 0o777 == 0o600


def test_what_was_deleted_is_not_in_it_for_long(folder, start):
    start()
    assert b"several" in (folder / storage.snapshot.NAME).read_bytes()
    path(folder, "a").unlink()
    assert start()[1] == []
    assert b"several" not in (folder / storage.snapshot.NAME).read_bytes()
    assert start()[1] == []
    path(folder, "b").unlink()
    start()  # Too few are left for it.
    assert not (folder / storage.snapshot.NAME).exists()


def test_what_comes_back_whole_is_no_longer_broken(folder, start):
    store, _ = start()
    (folder / "bookmarks").rename(folder / "aside")
    (folder / "bookmarks").mkdir()
    path(folder, "a").write_bytes(b"{")
    with pytest.raises(Unreadable):
        store.get("a")
    path(folder, "a").unlink()
    (folder / "bookmarks").rmdir()
    (folder / "aside").rename(folder / "bookmarks")
    entry = store.get("a")
    assert store.keep(entry) is entry
    with pytest.raises(Stale):
        store.add(entry.bookmark)


def test_one_that_a_crash_left_unfinished_is_swept_after_an_hour(folder, start):
    left = folder / ".snapshot.index.0123456789abcdef.tmp"
    left.write_bytes(b"x")
    other = folder / ".mine.tmp"
    other.write_bytes(b"x")
    past = time.time() - 3601
    os.utime(other, (past, past))
    start()
    assert left.exists()
    os.utime(left, (past, past))
    start()
    assert not left.exists() and other.exists()


def test_one_that_is_written_while_it_runs_tells_of_all(folder, start):
    store, _ = start()
    for number in range(len(TITLES)):
        write(folder, f"new{number}")
    assert len(store.select(Query()).bookmarks) == 2 * len(TITLES)
    assert start()[1] == []
