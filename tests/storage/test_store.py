"""The store under failing system calls and concurrent changes by other programs."""

import errno
import fcntl
import itertools
import os
import shutil
import signal
import threading
import time
import weakref
from contextlib import nullcontext, suppress
from pathlib import Path
from unittest import mock

import pytest
import webtest
from clients import (
    bookmarks_of,
    count_open_files,
    delete_bookmark,
    failing_from,
    put_bookmark,
    raise_error,
)

import storage.watch
from bookmarks import make_app
from storage import files, follower, known_files
from storage.bookmark import Tombstone, clean, create, update
from storage.errors import Busy, Conflict, Gone, OutcomeUnknown, Unavailable, Unreadable
from storage.query import Query
from storage.record import encode
from storage.retag import clean_retagging, retag
from storage.store import Store

NOW = "2024-01-01T00:00:00Z"


def bookmark(id, **fields):
    return create(clean({"uri": f"https://{id}.example/", "created": NOW, **fields}), id)


def with_title(entry, title):
    return update(entry.bookmark, clean({"title": title}))


def titles(store):
    return {b.id: b.title for b in bookmarks_of(store)}


@pytest.fixture
def a(store):
    return put_bookmark(store, bookmark("a", title="A"))


# --- Transactions ---

def test_an_exception_in_a_transaction_changes_nothing(store, other, a, tmp_path):
    before = store.state()
    with pytest.raises(KeyError), store.transaction() as folder:
        folder.put(bookmark("b"))
        folder.put(with_title(a, "New"), a)
        folder.delete(a)
        raise KeyError
    assert store.state() == other.state() == before
    assert titles(other) == {"a": "A"}
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_a_transaction_sees_its_own_changes(store, a):
    with store.transaction() as folder:
        entry = folder.put(bookmark("b"))
        assert folder.get("b") is folder.holder("https://b.example/") is entry
        folder.put(update(entry.bookmark, clean({"uri": "x:new"})), entry)
        assert folder.holder("https://b.example/") is None
        assert folder.holder("x:new").bookmark.id == "b"
        with pytest.raises(Conflict):
            folder.put(bookmark("c", uri="x:new"))
        with pytest.raises(Conflict):
            folder.put(bookmark("b", uri="x:other"))
    assert [b.uri for b in bookmarks_of(store)] == ["x:new", "https://a.example/"]


def update_a(folder):
    a = folder.get("a")
    folder.put(with_title(a, "Mine"), a)


def delete_a(folder):
    folder.delete(folder.get("a"))


def test_a_transaction_sees_a_deletion_by_another_program(store, a, tmp_path):
    with pytest.raises(Gone), store.transaction() as folder:
        (tmp_path / "tombstones" / "a.json").write_bytes(encode(Tombstone("a", NOW)))
        folder.get("a")


@pytest.mark.parametrize("change", [update_a, delete_a])
@pytest.mark.parametrize("is_removed", [False, True])
def test_a_file_that_another_program_changes_during_a_transaction_stays_so(
    store, a, tmp_path, change, is_removed
):
    file = tmp_path / "bookmarks" / "a.json"
    with pytest.raises(Busy), store.transaction() as folder:
        change(folder)
        if is_removed:
            file.unlink()
        else:
            file.write_bytes(encode(with_title(a, "Theirs")))
    assert titles(store) == ({} if is_removed else {"a": "Theirs"})


def test_a_file_that_another_program_creates_during_a_transaction_is_kept(store, tmp_path):
    with pytest.raises(Busy), store.transaction() as folder:
        folder.put(bookmark("a", title="Mine"))
        (tmp_path / "bookmarks" / "a.json").write_bytes(encode(bookmark("a", title="Theirs")))
    assert titles(store) == {"a": "Theirs"}


def test_the_files_that_got_their_names_before_a_failing_one_are_synced(
    store, tmp_path, monkeypatch, synced
):
    folder_inode = (tmp_path / "bookmarks").stat().st_ino
    entries = [put_bookmark(store, bookmark(id)) for id in "abcd"]
    for call, changes in (
        ("link", [(bookmark(id), None) for id in "efgh"]),
        ("rename", [(with_title(entry, "New"), entry) for entry in entries]),
    ):
        synced.clear()
        with monkeypatch.context() as patch, pytest.raises(Unavailable):
            patch.setattr(os, call, failing_from(3, getattr(os, call), errno.EIO))
            patch.setattr(files, "_O_TMPFILE", 0)
            with store.transaction() as folder:
                for change in changes:
                    folder.put(*change)
        assert folder_inode in synced
    stored = titles(store)
    assert len(stored) == 6
    assert list(stored.values()).count("New") == 2


def test_a_deletion_that_fails_leaves_every_file(store, a, tmp_path, monkeypatch):
    b = put_bookmark(store, bookmark("b"))
    monkeypatch.setattr(os, "link", failing_from(2, os.link, errno.EIO))
    with pytest.raises(Unavailable), store.transaction() as folder:
        folder.delete(a)
        folder.delete(b)
    assert list(titles(store)) == ["b"]
    with pytest.raises(Gone):
        store.get("a")
    names = sorted(path.name for path in (tmp_path / "bookmarks").iterdir())
    assert names == ["a.json", "b.json"]


def test_an_update_that_changes_nothing_syncs_the_file_and_its_folder(tmp_path, synced):
    app = webtest.TestApp(make_app(tmp_path))
    uri = "https://a.example/"
    whole = {"uri": uri, "title": "A", "description": "", "tags": []}
    app.put_json("/a", whole, status=201)
    folder = tmp_path / "bookmarks"
    for send in (
        lambda: app.put_json("/a", whole),
        lambda: app.put("/a/title", b"A", content_type="text/plain"),
        lambda: app.post_json("/a", {"title": "A"}),
        lambda: app.post_json("/", {"uri": uri, "title": "A"}),
        lambda: app.post_json("/-/import", [{"uri": uri, "title": "A"}]),
    ):
        synced.clear()
        send()
        assert synced == {folder.stat().st_ino, (folder / "a.json").stat().st_ino}


# --- Errors of one file, and of the system ---

@pytest.fixture
def fail_to_open():
    """Make opening the bookmark files of these ids fail; without ids, opening anything."""
    opened, fault = os.open, pytest.MonkeyPatch()

    def fail_to_open(number, *ids):
        def fail_or_open(path, *arguments, **options):
            if not ids or str(path).endswith(tuple(f"/bookmarks/{id}.json" for id in ids)):
                raise OSError(number, os.strerror(number))
            return opened(path, *arguments, **options)

        fault.setattr(os, "open", fail_or_open)
        return fault

    yield fail_to_open
    fault.undo()


def find(store, id):
    with store.transaction() as folder:
        return folder.find(id)


ERRORS_OF_ONE_FILE = [errno.EIO, errno.ESTALE, errno.EAGAIN, errno.EACCES, errno.ETIMEDOUT]
ERRORS_OF_ALL_FILES = [errno.EMFILE, errno.ENFILE, errno.ENOMEM]


@pytest.mark.parametrize("number", ERRORS_OF_ONE_FILE, ids=errno.errorcode.get)
def test_an_error_of_one_file_affects_only_its_bookmark(
    store, a, tmp_path, fail_to_open, number, caplog, monkeypatch
):
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0)
    b = put_bookmark(store, bookmark("b", title="B"))
    fault = fail_to_open(number, "a")
    other = Store(tmp_path)
    assert titles(other) == {"b": "B"}
    for access in (lambda: other.get("a"), lambda: find(other, "a")):
        with pytest.raises(Unreadable, match=os.strerror(number)):
            access()
    put_bookmark(other, with_title(b, "New"), b)
    put_bookmark(other, bookmark("c", title="C"))
    assert titles(other) == {"b": "New", "c": "C"}
    assert caplog.text.count("is skipped") == 1
    fault.undo()
    assert other.get("a").version == a.version
    assert titles(other) == {"a": "A", "b": "New", "c": "C"}


def test_a_failing_folder_of_tombstones_hides_no_bookmark(store, a, tmp_path, monkeypatch, inotify):
    read = files.read

    def fail_or_read(path, *folder):
        if str(path).startswith(str(tmp_path / "tombstones")):
            raise files.ReadFailed("cannot be read")
        return read(path, *folder)

    monkeypatch.setattr(files, "read", fail_or_read)
    put_bookmark(store, bookmark("b"))
    put_bookmark(store, with_title(a, "B"), a)
    assert store.get("a").bookmark.title == "B"
    assert titles(store).keys() == {"a", "b"}


@pytest.mark.parametrize("number", ERRORS_OF_ALL_FILES, ids=errno.errorcode.get)
def test_an_error_of_the_whole_system_makes_no_file_unreadable(
    store, a, tmp_path, fail_to_open, number, caplog
):
    put_bookmark(store, bookmark("b", title="B"))
    assert titles(store) == {"a": "A", "b": "B"}
    (tmp_path / "bookmarks" / "a.json").write_bytes(encode(bookmark("a", title="New")))
    fault = fail_to_open(number)
    for access in (store.state, lambda: store.get("b"), lambda: put_bookmark(store, bookmark("c"))):
        with pytest.raises(Unavailable):
            access()
    fault.undo()
    assert titles(store) == {"a": "New", "b": "B"}
    assert "is skipped" not in caplog.text


@pytest.mark.parametrize("has_inotify", [True, False])
def test_a_bookmark_that_was_read_stays_while_its_file_cannot_be_read(
    store, a, tmp_path, fail_to_open, monkeypatch, has_inotify
):
    if not has_inotify:
        monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
    put_bookmark(store, bookmark("b", title="B"))
    each = [store, Store(tmp_path)]
    assert [titles(one) for one in each] == [{"a": "A", "b": "B"}] * 2
    fault = fail_to_open(errno.EIO, "a")
    os.utime(tmp_path / "bookmarks" / "a.json")
    for one in each:
        one.refresh()
        change_count = one.change_count
        assert titles(one) == {"a": "A", "b": "B"}
        with pytest.raises(Unreadable):
            one.get("a")
        assert one.select(Query(limit=1)).total == 2
        with pytest.raises(Unreadable):  # The uri stays taken.
            with one.transaction() as folder:
                folder.holder("https://a.example/")
        report = retag(one, clean_retagging({"q": "x", "add": "new"}), one.select(Query()).entries)
        assert [failed.id for failed in report.failed] == ["a"]
        assert one.change_count - change_count <= 2  # The same error is no change.
    fault.undo()
    for one in each:
        monkeypatch.setattr(follower, "RETRY_SECONDS", 0)
        assert one.get("a").bookmark.title == "A"
        assert titles(one) == {"a": "A", "b": "B"}


def test_an_unreadable_bookmark_stays_if_its_folder_is_moved_away_and_back(
    store, a, tmp_path, fail_to_open
):
    put_bookmark(store, bookmark("b", title="B"))
    assert titles(store) == {"a": "A", "b": "B"}
    fail_to_open(errno.EIO, "a")
    os.utime(tmp_path / "bookmarks" / "a.json")
    (tmp_path / "bookmarks").rename(tmp_path / "away")
    with pytest.raises(Unavailable):
        store.refresh()
    (tmp_path / "away").rename(tmp_path / "bookmarks")
    assert titles(store) == {"a": "A", "b": "B"}


@pytest.mark.parametrize("has_inotify", [True, False])
def test_an_unreadable_file_is_tried_again_once_a_second_or_when_it_changes(
    store, a, tmp_path, fail_to_open, monkeypatch, has_inotify
):
    if not has_inotify:
        monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
        store = Store(tmp_path)
    put_bookmark(store, bookmark("b", title="B"))
    assert len(titles(store)) == 2
    file = tmp_path / "bookmarks" / "a.json"
    fault = fail_to_open(errno.EIO, "a")
    os.utime(file, (4_000_000_000, 4_000_000_000))  # In the future.
    read, tries = files.read, []
    monkeypatch.setattr(files, "read", lambda path: (tries.append(str(path)), read(path))[1])
    start = time.monotonic()
    for _ in range(100):
        assert len(titles(store)) == 2
        for access in (lambda: store.get("a"), lambda: find(store, "a")):
            with pytest.raises(Unreadable):
                access()
    seconds = time.monotonic() - start
    assert tries.count(str(file)) <= 2 + seconds
    fault.undo()
    monkeypatch.setattr(follower, "RETRY_SECONDS", 3600)
    file.write_bytes(encode(bookmark("a", title="New")))
    assert store.get("a").bookmark.title == "New"
    fault = fail_to_open(errno.EIO, "a")
    os.utime(file)
    with pytest.raises(Unreadable):
        store.get("a")
    fault.undo()
    file.unlink()
    assert titles(store) == {"b": "B"}


def test_a_file_that_is_replaced_while_reading_it_fails_is_seen_by_the_next_request(
    store, a, tmp_path, monkeypatch
):
    monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
    other = Store(tmp_path)
    opened = os.open

    def replace_and_fail(path, *arguments, **options):
        if not str(path).endswith("/bookmarks/a.json"):
            return opened(path, *arguments, **options)
        monkeypatch.setattr(os, "open", opened)
        put_bookmark(store, with_title(a, "New"), a)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "open", replace_and_fail)
    with pytest.raises(Unreadable):
        other.get("a")
    assert other.get("a").bookmark.title == "New"


def test_a_repeated_deletion_is_durable_before_it_is_gone(store, a, tmp_path, monkeypatch, synced):
    folder = tmp_path / "tombstones"
    fsync = os.fsync

    def fail_for_folder(descriptor):
        if os.fstat(descriptor).st_ino == folder.stat().st_ino:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_for_folder)
        for _ in range(2):
            with pytest.raises(Unavailable), store.transaction() as transaction:
                transaction.delete(transaction.get("a"))
    synced.clear()
    with pytest.raises(Gone), store.transaction() as transaction:
        transaction.get("a")
    assert synced == {folder.stat().st_ino, (folder / "a.json").stat().st_ino}


def test_a_change_in_place_moves_the_state_alike_in_every_process(store, a, tmp_path):
    file = tmp_path / "bookmarks" / "a.json"
    states = [store.state()]
    for content in (encode(bookmark("a", title="New")), b"not valid", file.read_bytes(), None):
        time.sleep(0.02)  # The clock of a file system has a resolution of some milliseconds.
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
            os.utime(file, (4_000_000_000, 4_000_000_000))  # A time in the future counts nowhere.
        states.append(store.state())
        assert states[-1] == Store(tmp_path).state()
        assert states[-2].changed_at < states[-1].changed_at <= time.time()


def test_the_state_of_a_folder_that_took_the_place_of_another_is_that_of_a_new_process(tmp_path):
    data = tmp_path / "data"
    store = Store(data)
    put_bookmark(store, bookmark("a", title="Old"))
    shutil.copytree(data, tmp_path / "restored")
    time.sleep(0.02)  # The clock of a file system has a resolution of some milliseconds.
    put_bookmark(store, bookmark("b", title="Later"))
    later = store.state()
    data.rename(tmp_path / "later")
    (tmp_path / "restored").rename(data)
    assert titles(store) == {"a": "Old"}
    assert store.state() == Store(data).state()
    assert store.state().changed_at < later.changed_at


def test_files_read_before_the_system_had_too_many_open_files_are_not_lost(
    store, a, tmp_path, fail_to_open, monkeypatch
):
    monkeypatch.setattr(known_files, "_TIME_RESOLUTION_NS", 0)  # Else new files are read again.
    put_bookmark(store, bookmark("b", title="B"))
    for id in "ab":  # One of the two is read first.
        other = Store(tmp_path)
        fault = fail_to_open(errno.EMFILE, id)
        with pytest.raises(Unavailable):
            other.state()
        fault.undo()
        assert titles(other) == {"a": "A", "b": "B"}


def test_a_tombstone_removed_while_the_system_had_too_many_open_files_hides_nothing(
    store, a, tmp_path, fail_to_open, monkeypatch
):
    monkeypatch.setattr(known_files, "_TIME_RESOLUTION_NS", 0)  # Else new files are read again.
    assert titles(store) == {"a": "A"}
    delete_bookmark(store, a)
    assert titles(store) == {}
    fault = fail_to_open(errno.EMFILE, "a")
    (tmp_path / "tombstones" / "a.json").unlink()
    with pytest.raises(Unavailable):
        store.refresh()
    fault.undo()
    assert titles(store) == {"a": "A"}


def test_a_collection_without_readable_files_is_unavailable_and_not_empty(
    store, a, tmp_path, fail_to_open, monkeypatch
):
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0)
    put_bookmark(store, bookmark("b", title="B"))
    fault = fail_to_open(errno.EIO, "a", "b")
    other = Store(tmp_path)
    for _ in range(2):
        with pytest.raises(Unavailable):
            other.select(Query())
    fault.undo()
    assert titles(other) == {"a": "A", "b": "B"}


@pytest.mark.parametrize("module, call", [(os, "fstat"), (os, "write"), (fcntl, "flock")])
def test_a_failing_system_call_leaves_nothing_open_or_locked(store, a, monkeypatch, module, call):
    real, before, calls = getattr(module, call), count_open_files(), []
    for number in itertools.count(1):
        calls.clear()

        def fail_once(*arguments, number=number):
            calls.append(arguments)
            if len(calls) == number:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            return real(*arguments)

        with monkeypatch.context() as patch, suppress(Unavailable):
            patch.setattr(module, call, fail_once)
            put_bookmark(store, bookmark(f"failed{number}"))
        assert count_open_files() == before
        put_bookmark(store, bookmark(f"added{number}"))
        if len(calls) < number:
            break
    assert number > 1


# --- Folders that go and come back ---

def test_the_store_is_unavailable_while_its_folder_is_missing(store, a, tmp_path):
    before = store.state()
    time.sleep(0.02)  # The clock of a file system has a resolution of some milliseconds.
    aside = (tmp_path / "bookmarks").rename(tmp_path / "aside")
    for access in (
        store.state,
        lambda: store.get("a"),
        lambda: put_bookmark(store, bookmark("b")),
        lambda: put_bookmark(store, with_title(a, "New"), a),
        lambda: put_bookmark(store, a.bookmark, a),
        lambda: delete_bookmark(store, a),
    ):
        with pytest.raises(Unavailable):
            access()
    aside.rename(tmp_path / "bookmarks")
    assert titles(store) == {"a": "A"}
    assert store.state() == Store(tmp_path).state()
    assert store.state().changed_at > before.changed_at


def replace_folder(folder):
    """Put a copy of a folder in its place, as restoring a backup does."""
    shutil.copytree(folder, folder.with_name("copy"))
    folder.rename(folder.with_name("aside"))
    folder.with_name("copy").rename(folder)


def replace_folder_at(patch, module, call, folder):
    real = getattr(module, call)

    def replace_and_call(*arguments, **options):
        patch.undo()
        replace_folder(folder)
        return real(*arguments, **options)

    patch.setattr(module, call, replace_and_call)


# Changes, folders that are replaced meanwhile, and the titles after the change.
REPLACED = [
    (lambda folder: folder.put(bookmark("b", title="B")), "bookmarks", {"a": "A", "b": "B"}),
    (update_a, "bookmarks", {"a": "Mine"}),
    (delete_a, "bookmarks", {}), (delete_a, "tombstones", {}),
]  # fmt: skip


@pytest.mark.parametrize("change, name, expected", REPLACED)
def test_a_write_after_a_folder_is_replaced_is_in_the_new_folder_and_locks_it(
    store, a, tmp_path, monkeypatch, change, name, expected
):
    link = os.link

    def require_lock_and_link(*arguments, **options):
        with files.open_folder(tmp_path / "bookmarks") as folder, pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        link(*arguments, **options)

    monkeypatch.setattr(os, "link", require_lock_and_link)
    with pytest.MonkeyPatch.context() as patch:
        replace_folder_at(patch, fcntl, "flock", tmp_path / name)
        with store.transaction() as folder:
            change(folder)
    assert (tmp_path / "aside").exists()
    assert titles(store) == titles(Store(tmp_path)) == expected


@pytest.mark.parametrize("call", ["write", "link", "fsync"])
@pytest.mark.parametrize("change, name, _", REPLACED)
def test_a_write_while_a_folder_is_replaced_changes_nothing_in_the_new_folder(
    store, a, tmp_path, call, change, name, _
):
    content = (tmp_path / "bookmarks" / "a.json").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        replace_folder_at(patch, os, call, tmp_path / name)
        with pytest.raises(OutcomeUnknown), store.transaction() as folder:
            change(folder)
    assert (tmp_path / "aside").exists()
    assert [path.name for path in (tmp_path / "bookmarks").iterdir()] == ["a.json"]
    assert (tmp_path / "bookmarks" / "a.json").read_bytes() == content
    if name == "tombstones":
        assert list((tmp_path / "tombstones").iterdir()) == []


def test_a_restore_during_a_deletion_keeps_the_restored_bookmark(a, tmp_path, monkeypatch):
    store = Store(tmp_path, keep_deleted=0)
    file = tmp_path / "bookmarks" / "a.json"
    content, sync = file.read_bytes(), files.sync_folder

    def sync_and_restore(*arguments):
        sync(*arguments)
        (tmp_path / "tombstones" / "a.json").unlink()
        file.write_bytes(content)
        monkeypatch.setattr(files, "sync_folder", sync)

    monkeypatch.setattr(files, "sync_folder", sync_and_restore)
    delete_bookmark(store, a)
    assert titles(store) == {"a": "A"}


def test_a_slow_sync_of_the_folder_keeps_few_files_open(store, monkeypatch):
    before, numbers, sync = count_open_files(), [], files.sync_folder

    def count_and_sync(*arguments):
        numbers.append(count_open_files() - before)
        sync(*arguments)

    monkeypatch.setattr(files, "sync_folder", count_and_sync)
    with store.transaction() as folder:
        entries = [folder.put(bookmark(f"b{number}")) for number in range(50)]
    with store.transaction() as folder:
        for entry in entries:
            folder.delete(folder.get(entry.bookmark.id))
    assert len(numbers) >= 2 and max(numbers) <= 5


# --- inotify ---

def test_a_folder_replaced_while_its_watch_is_opened_is_followed(tmp_path, monkeypatch, inotify):
    store, tombstones = Store(tmp_path), tmp_path / "tombstones"
    add_watch = storage.watch.INotify.add_watch

    def watch_and_replace(inotify, path, mask):
        number = add_watch(inotify, path, mask)
        if path == str(tombstones):
            monkeypatch.undo()
            replace_folder(tombstones)
        return number

    monkeypatch.setattr(storage.watch.INotify, "add_watch", watch_and_replace)
    put_bookmark(store, bookmark("a"))
    assert (tmp_path / "aside").exists()
    (tombstones / "a.json").write_bytes(encode(Tombstone("a", NOW)))
    with pytest.raises(Gone):
        store.get("a")


def test_a_missing_inotify_is_logged_once_and_used_when_it_is_available(
    store, other, monkeypatch, caplog, inotify
):
    storage.watch.warn_once.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
        for id in "ab":
            put_bookmark(store, bookmark(id, title=id))
            assert other.get(id).bookmark.title == id
    assert caplog.text.count("Without inotify") == 1  # Once for each process.
    for id in "cd":
        put_bookmark(store, bookmark(id))
        assert id in titles(other)


@pytest.mark.parametrize("name", ["bookmarks", "tombstones", "a.json"])
def test_without_inotify_only_a_folder_that_cannot_be_examined_is_unavailable(
    a, tmp_path, monkeypatch, name
):
    stat = os.stat

    def fail(path, **options):
        if not isinstance(path, int) and Path(path).name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return stat(path, **options)

    monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
    store = Store(tmp_path)
    assert titles(store) == {"a": "A"}
    is_file = name.endswith(".json")
    with monkeypatch.context() as patch, nullcontext() if is_file else pytest.raises(Unavailable):
        patch.setattr(os, "stat", fail)
        patch.setattr(os, "lstat", fail)
        put_bookmark(store, bookmark("b"))
    assert titles(store).keys() == ({"a", "b"} if is_file else {"a"})
    (tmp_path / "bookmarks").rename(tmp_path / "away")
    with pytest.raises(Unavailable, match="its folder bookmarks is missing"):
        put_bookmark(store, bookmark("c"))


@pytest.mark.parametrize(
    "kind, one_machine, is_used",
    [("fuseblk", False, True), ("", False, True), ("nfs4", False, False), ("nfs4", True, True)],
)
def test_inotify_is_used_on_network_file_systems_only_for_one_machine(
    tmp_path, monkeypatch, caplog, inotify, kind, one_machine, is_used
):
    storage.watch.warn_once.cache_clear()
    opened = mock.Mock(wraps=storage.watch.INotify)
    monkeypatch.setattr(storage.watch, "INotify", opened)
    monkeypatch.setattr(files, "file_system", lambda descriptor: kind)
    store = Store(tmp_path, one_machine)
    for title in ("One", "Two", "Six"):
        (tmp_path / "bookmarks" / "a.json").write_bytes(encode(bookmark("a", title=title)))
        assert titles(store) == {"a": title}
    assert opened.call_count == is_used
    assert ("no other machine may write" in caplog.text) != is_used


def test_without_inotify_a_request_compares_all_files_at_most_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
    find_changed = known_files.KnownFiles.find_changed
    compare = mock.create_autospec(find_changed, side_effect=find_changed)
    monkeypatch.setattr(known_files.KnownFiles, "find_changed", compare)
    app = webtest.TestApp(make_app(tmp_path))
    id = app.post_json("/", {"uri": "x:1"}).json["id"]
    app.get("/")
    compare.reset_mock()
    assert app.get(f"/{id}").json["title"] == app.get(f"/{id}/title").text == "x:1"
    compare.assert_not_called()
    for request in [
        lambda: app.get("/"), lambda: app.get("/", headers={"Accept": "text/html"}),
        lambda: app.get(f"/{id}?format=html"), lambda: app.post_json("/", {"uri": "x:2"}),
        lambda: app.post_json(f"/{id}", {"title": "B"}), lambda: app.put_json(f"/{id}/title", "C"),
    ] * 2:  # fmt: skip
        compare.reset_mock()
        request()
        assert compare.call_count / 2 <= 2  # Of both folders.
    put_bookmark(Store(tmp_path), bookmark("other"))
    assert "other" in [one["id"] for one in app.get("/").json]
    assert "other" in app.get("/", headers={"Accept": "text/html"})


def test_without_inotify_a_file_is_read_again_soon_or_with_its_old_time(a, tmp_path, monkeypatch):
    monkeypatch.setattr(storage.watch, "INotify", raise_error(errno.EMFILE))
    other = Store(tmp_path)
    assert titles(other) == {"a": "A"}
    with monkeypatch.context() as patch, pytest.raises(TypeError):
        # Another change in the same tick of the clock may leave the same times.
        patch.setattr(files, "read", None)
        titles(other)
    monkeypatch.setattr(known_files, "_TIME_RESOLUTION_NS", 0)  # Else new files are read again.
    assert titles(other) == {"a": "A"}
    path = tmp_path / "bookmarks" / "a.json"
    modified = path.stat().st_mtime_ns
    time.sleep(0.02)  # The kernel's clock has steps of up to 10 ms.
    path.write_bytes(path.read_bytes().replace(b'"A"', b'"B"'))
    os.utime(path, ns=(modified, modified))
    assert titles(other) == {"a": "B"}


# --- Forked processes ---

def test_a_closed_store_leaves_nothing_in_memory(tmp_path, monkeypatch):
    handlers = []
    monkeypatch.setattr(os, "register_at_fork", lambda **functions: handlers.append(functions))
    store = Store(tmp_path)
    put_bookmark(store, bookmark("a"))
    remaining = weakref.ref(store)
    del store
    assert remaining() is None
    assert handlers == []  # Python would keep one for each store as long as the process lasts.


def test_a_child_forked_during_a_write_reads_and_writes(store, a, monkeypatch):
    is_writing, may_finish, link = threading.Event(), threading.Event(), os.link

    def link_slowly(*arguments, **options):
        is_writing.set()
        may_finish.wait(10)
        link(*arguments, **options)

    monkeypatch.setattr(os, "link", link_slowly)
    writer = threading.Thread(target=put_bookmark, args=[store, bookmark("b", title="B")])
    writer.start()
    assert is_writing.wait(10)
    child = os.fork()
    if not child:
        signal.alarm(5)  # End the child if it waits for a lock that its parent's thread holds.
        os.link = link
        status = 1
        with suppress(Exception):
            store.get("a")
            put_bookmark(store, bookmark("c", title="C"))
            status = titles(store) != {"a": "A", "b": "B", "c": "C"}
        os._exit(status)
    may_finish.set()
    writer.join()
    assert os.waitpid(child, 0)[1] == 0
    assert titles(store) == {"a": "A", "b": "B", "c": "C"}
