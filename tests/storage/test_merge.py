"""An import merges many bookmarks by uri, syncs seldom, and loses nothing of other writers."""

import errno
import os
import threading
import tracemalloc

import pytest

from storage import files, merge
from storage.bookmark import clean, create
from storage.check import check
from storage.errors import Busy, Full, Stale, Unavailable
from storage.merge import Merge
from storage.query import Query
from storage.store import MAX_CHANGES, Change, Store

URI = "https://example.com/"
OLD, NEW = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def take(store, *entries, **options):
    """The numbers of a report, and who was skipped."""
    importing = Merge(store, **options)
    for line, entry in enumerate(entries, 1):
        importing.add(line, entry)
    report = importing.finish()
    numbers = (report.created, report.updated, report.unchanged, report.skipped)
    return numbers, [(e.line, e.value, e.reason) for e in report.entries]


def everything(store):
    return store.select(Query()).bookmarks


def one(store):
    (bookmark,) = everything(store)
    return bookmark


def test_an_entry_becomes_a_bookmark_with_all_its_fields(store):
    given = {
        "id": "mine", "uri": URI, "title": "T", "description": "D", "tags": ["a", "b"],
        "created": OLD, "modified": NEW,
    }  # fmt: skip
    assert take(store, given) == ((1, 0, 0, 0), [])
    assert one(store) == create(clean(given), "mine", NEW)


def test_an_existing_bookmark_keeps_its_fields_and_gains_new_ones(store):
    mine = {"uri": URI, "title": "Mine", "tags": ["a"], "created": NEW}
    theirs = {
        "uri": "HTTPS://EXAMPLE.com", "title": "Theirs", "description": "D", "tags": ["A", "b"],
        "created": OLD,
    }  # fmt: skip
    take(store, mine)
    assert take(store, theirs)[0] == (0, 1, 0, 0)
    found = one(store)
    assert (found.uri, found.title, found.description) == (URI, "Mine", "D")
    assert (found.tags, found.created) == (("a", "b"), OLD)
    assert found.modified > NEW


def test_a_title_that_is_only_the_uri_is_replaced_by_a_real_one(store):
    take(store, {"uri": URI})
    assert take(store, {"uri": URI, "title": "A title"})[0] == (0, 1, 0, 0)
    assert one(store).title == "A title"
    assert take(store, {"uri": URI, "title": ""}, {"uri": URI})[0] == (0, 0, 2, 0)


def test_the_same_import_again_changes_nothing(store, tmp_path):
    entries = [{"uri": f"{URI}{n}", "tags": [f"t{n % 3}"], "created": OLD} for n in range(500)]
    entries += [{"uri": f"{URI}1", "tags": ["more"]}, {"uri": f"{URI}1"}]
    assert take(store, *entries)[0] == (500, 1, 1, 0)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "bookmarks").iterdir()}
    assert take(store, *entries)[0] == (0, 0, 502, 0)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "bookmarks").iterdir()}
    assert after == before


@pytest.mark.parametrize(
    "first, second, dates",
    [
        ({"created": OLD}, {"created": NEW}, (OLD, NEW)),
        ({"created": NEW}, {"created": OLD}, (OLD, NEW)),
        ({"created": OLD, "modified": NEW}, {"created": OLD}, (OLD, NEW)),
        ({"created": OLD}, {"created": OLD, "modified": NEW}, (OLD, NEW)),
        ({"created": OLD}, {}, (OLD, OLD)),
    ],
)
@pytest.mark.parametrize("tags", [[], ["b"]])
def test_two_entries_of_one_uri_keep_the_first_created_and_the_last_modified(
    store, first, second, dates, tags
):
    entries = [{"uri": URI, "tags": ["a"], **first}, {"uri": URI, "tags": tags, **second}]
    take(store, *entries)
    found = store.holder(URI).bookmark
    assert (found.created, found.modified, found.tags) == (*dates, ("a", *tags))
    assert take(store, *entries)[0] == (0, 0, 2, 0)
    assert take(store, {"uri": URI, "tags": ["c"], "modified": OLD})[0] == (0, 1, 0, 0)
    assert store.holder(URI).bookmark.modified > NEW


def test_a_bad_entry_stops_no_other(store):
    numbers, skipped = take(
        store, {"uri": URI}, {"uri": "no uri", "title": "x"}, {"title": "only"},
        {"uri": f"{URI}2", "tags": ["a,b"]}, {"uri": f"{URI}3"},
    )  # fmt: skip
    assert numbers == (2, 0, 0, 3)
    assert [(line, value) for line, value, _ in skipped] == [
        (2, "no uri"), (3, "only"), (4, f"{URI}2"),
    ]  # fmt: skip
    assert skipped[0][2].startswith("uri must be an absolute URI")
    assert skipped[1][2] == "uri is required"
    assert skipped[2][2].startswith("tags must not contain a tag with the character")


def test_too_many_tags_together_are_refused_by_name(store):
    take(store, {"uri": URI, "tags": [f"a{n}" for n in range(60)]})
    numbers, skipped = take(store, {"uri": URI, "tags": [f"b{n}" for n in range(60)]})
    assert numbers == (0, 0, 0, 1)
    assert skipped[0][2].startswith("tags together with those that are there must be at most 100")
    assert len(one(store).tags) == 60


def test_an_entry_that_its_reader_skips_is_reported(store):
    importing = Merge(store)
    importing.add(7, {"uri": "place:x"}, "is a query")
    (entry,) = importing.finish().entries
    assert (entry.line, entry.value, entry.reason) == (7, "place:x", "is a query")


def test_the_report_of_skipped_entries_is_bounded(store, monkeypatch):
    monkeypatch.setattr(merge, "MAX_NAMED", 5)
    numbers, skipped = take(store, *[{"uri": "x" * 1000}] * 9)
    assert numbers[3] == 9
    assert [len(value) for _, value, _ in skipped] == [merge.MAX_VALUE] * 5


def test_an_id_is_kept_if_it_is_free_and_was_never_deleted(store):
    take(store, {"id": "taken", "uri": URI}, {"id": "deleted", "uri": f"{URI}d"})
    store.delete(store.get("deleted"))
    entries = [("taken", 1), ("deleted", 2), ("No id!", 3), ("free", 4), ("free", 5)]
    assert take(store, *[{"id": id, "uri": f"{URI}{n}"} for id, n in entries])[0] == (5, 0, 0, 0)
    ids = {b.uri: b.id for b in everything(store)}
    assert ids[URI] == "taken" and ids[f"{URI}4"] == "free"
    assert {len(ids[f"{URI}{n}"]) for n in (1, 2, 3, 5)} == {13}


def test_a_dry_run_counts_and_writes_nothing(store, tmp_path):
    take(store, {"uri": URI, "title": "T"})
    entries = [{"uri": URI, "tags": ["a"]}, {"uri": f"{URI}2"}, {"uri": f"{URI}2"}, {"uri": "-"}]
    assert take(store, *entries, dry_run=True)[0] == (1, 1, 1, 1)
    assert one(store).tags == ()
    assert take(store, *entries)[0] == (1, 1, 1, 1)


def test_an_import_needs_few_syncs(store, monkeypatch):
    calls = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append(1), fsync(descriptor)))
    assert take(store, *[{"uri": f"{URI}{n}"} for n in range(1000)])[0] == (1000, 0, 0, 0)
    assert len(calls) <= 2 * 1000 / MAX_CHANGES


def test_each_file_is_synced_on_a_file_system_where_syncfs_may_do_nothing(store, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(files, "file_system", lambda descriptor: "fuse.sshfs")
    monkeypatch.setattr(os, "fsync", lambda d: (synced.append(os.fstat(d).st_ino), fsync(d)))
    take(store, *[{"uri": f"{URI}{n}"} for n in range(10)])
    assert len(set(synced)) == 11  # The files and the folder.
    synced.clear()
    assert take(store, *[{"uri": f"{URI}{n}"} for n in range(10)])[0] == (0, 0, 10, 0)
    assert len(set(synced)) == 11  # Another program may have written the unchanged files.


@pytest.mark.parametrize("number, error", [(errno.ENOSPC, Full), (errno.EIO, Unavailable)])
@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_failing_disk_leaves_every_bookmark_whole_and_the_next_import_finishes(
    store, tmp_path, monkeypatch, call, number, error
):
    take(store, {"uri": URI, "title": "Before"})
    entries = [{"uri": URI, "tags": ["new"]}, *({"uri": f"{URI}{n}"} for n in range(5))]
    calls = []

    def fail_at_the_third(*arguments, **options):
        calls.append(arguments)
        if len(calls) >= 3:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    real = getattr(os, call)
    with monkeypatch.context() as patch:
        patch.setattr(files, "file_system", lambda descriptor: "")  # Sync each file.
        patch.setattr(os, call, fail_at_the_third)
        with pytest.raises((error, Unavailable)):
            take(store, *entries)
    assert store.holder(URI).bookmark.title == "Before"
    assert everything(store) == everything(Store(tmp_path))
    assert check(tmp_path) == []
    take(store, *entries)
    assert len(everything(store)) == 6
    assert take(store, *entries)[0] == (0, 0, 6, 0)


def test_an_interrupted_import_is_finished_by_the_next(store, monkeypatch):
    entries = [{"uri": f"{URI}{n}"} for n in range(3 * MAX_CHANGES)]
    write_all, turns = store.write_all, []

    def full(*arguments):
        turns.append(1)
        if len(turns) == 2:
            raise Full("The disk is full.")
        return write_all(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_all", full)
        with pytest.raises(Full):
            take(store, *entries)
    assert len(everything(store)) == MAX_CHANGES
    assert take(store, *entries)[0] == (2 * MAX_CHANGES, 0, MAX_CHANGES, 0)


def test_two_imports_at_once_lose_nothing_of_each_other(store, tmp_path):
    """Two imports and a writer at once: every tag of each is there in the end."""
    entries = {
        name: [{"uri": f"{URI}{n}", "tags": [name]} for n in range(300)] for name in ("a", "b")
    }
    others = {name: Store(tmp_path) for name in entries}
    threads = [
        threading.Thread(target=take, args=(others[name], *entries[name])) for name in entries
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = everything(store)
    assert len(found) == 300
    assert {tuple(sorted(b.tags)) for b in found} == {("a", "b")}


def test_a_change_of_an_old_version_is_returned_and_not_made(store):
    take(store, {"id": "a", "uri": URI})
    seen = store.get("a")
    newer = create({"uri": URI, "title": "Newer"}, "a", NEW)
    store.replace(newer, seen)
    stale = create({"uri": URI, "title": "Stale"}, "a", NEW)
    taken = create({"uri": URI}, "b", NEW)
    changes = [Change(stale, seen), Change(taken, None)]
    assert [change for change, _ in store.write_all(changes)] == changes
    assert one(store) == newer


def test_an_import_that_others_always_overtake_ends_with_an_error(store, monkeypatch):
    monkeypatch.setattr(store, "write_all", lambda changes, _: [(c, Stale()) for c in changes])
    with pytest.raises(Busy):
        take(store, {"uri": URI})


def test_a_bookmark_that_cannot_be_written_is_skipped_alone(store, tmp_path):
    path = tmp_path / "bookmarks" / "big.json"
    known = '{"id": "big", "uri": "x:big", "created": "2024-01-01T00:00:00Z", "more": "'
    path.write_text(known + "x" * (files.MAX_SIZE - len(known) - 10) + '"}')
    entries = [{"uri": f"{URI}{n}"} for n in range(5)] + [{"uri": "x:big", "tags": ["a", "b"]}]
    numbers, skipped = take(store, *entries)
    assert numbers == (5, 0, 0, 1)
    assert skipped[0][:2] == (6, "x:big") and "larger than" in skipped[0][2]


def test_a_bookmark_that_can_no_longer_be_read_is_skipped_alone(store, tmp_path):
    take(store, {"uri": URI, "id": "a"})
    write_all, path = store.write_all, tmp_path / "bookmarks" / "a.json"

    def break_and_write(*arguments):
        path.unlink()
        path.mkdir()
        return write_all(*arguments)

    store.write_all = break_and_write
    numbers, ((line, uri, _),) = take(store, {"uri": URI, "title": "New"}, {"uri": "x:b"})
    assert (numbers, line, uri) == ((1, 0, 0, 1), 1, URI)
    assert [b.uri for b in everything(store)] == ["x:b"]
    assert path.is_dir()


def test_an_entry_that_no_longer_fits_after_another_update_is_skipped(store, monkeypatch):
    take(store, {"uri": URI, "tags": ["a"]})
    write_all = store.write_all

    def overtake_and_write(*arguments):
        monkeypatch.undo()
        entry = store.holder(URI)
        tags = tuple(f"t{n}" for n in range(99))
        store.replace(create({"uri": URI, "tags": tags}, entry.bookmark.id, NEW), entry)
        return write_all(*arguments)

    monkeypatch.setattr(store, "write_all", overtake_and_write)
    numbers, skipped = take(store, {"uri": URI, "tags": ["b", "c"]}, {"uri": f"{URI}2"})
    assert numbers == (1, 0, 0, 1)
    assert skipped[0][0] == 1 and "together with those" in skipped[0][2]


def test_many_entries_of_one_uri_take_bounded_memory(store):
    importing = Merge(store)
    tracemalloc.start()
    try:
        for line in range(10 * merge.MAX_GIVEN):
            importing.add(line, {"uri": URI, "tags": [f"t{line % 90}"]})
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    assert importing.finish().created == 1


def test_each_file_is_synced_on_a_kernel_whose_syncfs_hides_errors(monkeypatch):
    uname = os.uname()
    for release, has in (("5.7.9-x", False), ("4.18.0", False), ("5.8.0", True), ("6.1.0", True)):
        fake = os.uname_result((uname.sysname, uname.nodename, release, *uname[3:]))
        monkeypatch.setattr(files.os, "uname", lambda fake=fake: fake)
        assert (files._syncfs() is not None) == has
