"""The store in one process: what it finds, refuses and puts back."""

import errno
import os
import shutil
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from clients import descriptors
from msgspec.structs import replace

import storage.files
import storage.index
import storage.store
import storage.watch
from bookmarks import main
from storage.bookmark import Tombstone, clean, create, to_file, update
from storage.errors import Busy, Conflict, Full, Gone, NotFound, Stale, Unavailable, Unreadable
from storage.index import EPOCH
from storage.query import Query
from storage.store import Change, Store

NOW = "2024-01-01T00:00:00Z"
LATER = "2024-01-02T00:00:00Z"


def bookmark(id, **fields):
    return create(clean({"uri": f"https://{id}.example/", **fields}), id, NOW)


def shown(store):
    return {b.id: b.title for b in store.select(Query()).bookmarks}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def other(store, tmp_path):
    """Another one over the same folder, as in another process."""
    return Store(tmp_path)


@pytest.fixture
def a(store):
    return store.add(bookmark("a", title="A"))


def fail(monkeypatch, error, folder=None):
    """Syncing a folder fails from now on: this one, or each."""
    sync, sync_opened = storage.files.sync, storage.files.Folder.sync

    def failing(path):
        if folder in (None, path.name):
            raise error
        sync(path)

    def failing_opened(opened):
        if folder in (None, opened._path.name):
            raise error
        sync_opened(opened)

    monkeypatch.setattr(storage.files, "sync", failing)
    monkeypatch.setattr(storage.files.Folder, "sync", failing_opened)


@pytest.mark.parametrize("error", [Full("full"), Unavailable("failing")], ids=["full", "failing"])
def test_what_cannot_be_made_durable_is_put_back(store, other, a, monkeypatch, error):
    state = store.state()
    fail(monkeypatch, error)
    with pytest.raises(type(error)):
        store.add(bookmark("b"))
    with pytest.raises(type(error)):
        store.replace(update(a.bookmark, clean({"title": "New"}), LATER), a)
    with pytest.raises(type(error)):
        store.delete(a)
    for each in (store, other):
        assert shown(each) == {"a": "A"}
        assert each.get("a").version == a.version
        assert each.state().version == state.version


@pytest.mark.parametrize("theirs", ["changed", "removed"])
def test_what_somebody_else_did_meanwhile_is_not_put_back(
    store, other, a, tmp_path, monkeypatch, theirs
):
    path = tmp_path / "bookmarks" / "a.json"

    def interfere(folder):
        if theirs == "changed":
            path.write_bytes(to_file(bookmark("a", title="Theirs")))
        else:
            path.unlink()
        raise Unavailable("failing")

    monkeypatch.setattr(storage.files.Folder, "sync", interfere)
    with pytest.raises(Unavailable):
        store.replace(update(a.bookmark, clean({"title": "New"}), LATER), a)
    assert shown(other) == ({"a": "Theirs"} if theirs == "changed" else {})


def test_what_cannot_be_put_back_keeps_nothing_else_from_it(store, a, monkeypatch, caplog):
    real = storage.files.remove

    def remove(path):
        if path.stem == "b":
            raise Unavailable("failing")
        real(path)

    fail(monkeypatch, Full("full"))
    monkeypatch.setattr(storage.files, "remove", remove)
    with pytest.raises(Full):
        store.write_all([Change(bookmark(id, title=id), None) for id in "bc"])
    assert shown(store) == {"a": "A", "b": "b"}
    assert "b.json remains as written" in caplog.text


def test_a_deletion_stands_once_its_tombstone_is_durable(store, a, tmp_path, monkeypatch, caplog):
    fail(monkeypatch, Unavailable("failing"), "bookmarks")
    store.delete(a)
    with pytest.raises(Gone):
        store.get("a")
    assert "remains" in caplog.text


def test_a_version_that_is_no_more_is_not_swapped(store, other, a, tmp_path):
    new = other.replace(update(a.bookmark, clean({"title": "New"}), LATER), a)
    for attempt in (
        lambda: store.replace(update(a.bookmark, clean({"title": "Mine"}), LATER), a),
        lambda: store.delete(a),
        lambda: store.keep(a),
        lambda: store.add(bookmark("a")),
        lambda: store.add(bookmark("c"), store.state().__class__(1, EPOCH, 0.0)),
    ):
        with pytest.raises(Stale):
            attempt()
    assert store.keep(new).version == new.version
    (tmp_path / "bookmarks" / "a.json").unlink()
    with pytest.raises(Stale):
        store.replace(update(a.bookmark, clean({"title": "Mine"}), LATER), new)
    with pytest.raises(Stale):
        store.keep(new)


@pytest.mark.parametrize("call", ["fstat", "flock"])
def test_a_disk_that_goes_away_is_unavailable(store, a, monkeypatch, call):
    """And nothing is left open or locked, whichever call it is that finds out."""
    module = os if call == "fstat" else storage.files.fcntl
    real, calls = getattr(module, call), []
    before = descriptors()
    for failing in range(1, 10):
        calls.clear()

        def fail(*arguments, failing=failing):
            calls.append(arguments)
            if len(calls) == failing:
                raise OSError(errno.ESTALE, "Stale file handle")
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, call, fail)
            with suppress(Unavailable):
                store.add(bookmark(f"b{failing}"))
        if len(calls) < failing:
            break
        assert descriptors() == before
        store.add(bookmark(f"c{failing}"))
    assert 1 < failing < 9
    assert shown(Store(store._folders[0].parent)) == shown(store)


def test_a_version_that_goes_before_it_is_replaced_is_stale(store, a, tmp_path, monkeypatch):
    staged = storage.files.Staged.__init__

    def stage_and_remove(*arguments):
        staged(*arguments)
        (tmp_path / "bookmarks" / "a.json").unlink()

    monkeypatch.setattr(storage.files.Staged, "__init__", stage_and_remove)
    with pytest.raises(Stale):
        store.replace(update(a.bookmark, clean({"title": "New"}), LATER), a)
    assert shown(store) == {}


def test_what_hinders_reading_one_file_passes(store, a, tmp_path):
    path = tmp_path / "bookmarks" / "a.json"
    aside = path.rename(tmp_path / "aside")
    path.symlink_to(aside)
    with pytest.raises(Unreadable, match="symbolic link"):
        store.get("a")
    with pytest.raises(Unreadable):
        store.add(bookmark("a"))
    assert shown(store) == {}
    path.unlink()
    aside.rename(path)
    assert store.get("a").version == a.version


def test_each_kind_of_thing_that_is_no_file_is_named(store, tmp_path):
    folder = tmp_path / "bookmarks"
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    with open(folder / "large.json", "wb") as large:
        large.truncate(storage.files.MAX_SIZE + 1)
    for id, reason in [("folder", "regular"), ("pipe", "regular"), ("large", "larger")]:
        with pytest.raises(Unreadable, match=reason):
            store.get(id)
    (tmp_path / "tombstones" / "x.json").write_text("{}")
    (tmp_path / "tombstones" / "y.json").write_bytes(to_file(Tombstone("x", NOW)))
    (tmp_path / "tombstones" / "z.json").write_text('{"id": "z", "deleted": "yesterday"}')
    for id in "xyz":
        with pytest.raises(Unreadable):
            store.get(id)


def test_a_moment_without_descriptors_is_no_broken_file(store, a, monkeypatch):
    opened = os.open

    def none_left(*arguments, **options):
        raise OSError(errno.EMFILE, "Too many open files")

    os.utime(store._folders[0] / "a.json")
    monkeypatch.setattr(os, "open", none_left)
    with pytest.raises(Unavailable):
        store.get("a")
    monkeypatch.setattr(os, "open", opened)
    assert store.get("a").version == a.version
    assert shown(store) == {"a": "A"}


def test_without_the_folder_it_is_unavailable_until_that_is_back(store, a, tmp_path):
    aside = (tmp_path / "bookmarks").rename(tmp_path / "aside")
    with pytest.raises(Unavailable):
        store.state()
    with pytest.raises(Unavailable):
        store.add(bookmark("b"))
    aside.rename(tmp_path / "bookmarks")
    assert shown(store) == {"a": "A"}
    (tmp_path / "tombstones").rmdir()
    assert shown(store) == {"a": "A"}
    store.delete(store.get("a"))


@pytest.mark.parametrize("has_inotify", [True, False])
def test_without_the_folder_of_the_tombstones_there_are_none(
    store, a, tmp_path, monkeypatch, has_inotify
):
    if not has_inotify:
        monkeypatch.setattr(storage.watch, "INotify", no_inotify)
    store.delete(a)
    aside = (tmp_path / "tombstones").rename(tmp_path / "aside")
    with pytest.raises(NotFound):
        store.get("a")
    b = store.add(bookmark("b"))
    assert shown(store) == {"b": b.bookmark.title}
    assert not (tmp_path / "tombstones").exists()
    aside.rename(tmp_path / "tombstones")
    with pytest.raises(Gone):
        store.get("a")
    store.delete(b)
    assert sorted(os.listdir(tmp_path / "tombstones")) == ["a.json", "b.json"]


def test_a_folder_that_is_replaced_as_the_watch_begins_is_followed(tmp_path, monkeypatch):
    store, tombstones = Store(tmp_path), tmp_path / "tombstones"
    add_watch = storage.watch.INotify.add_watch

    def add_and_replace(inotify, path, mask):
        number = add_watch(inotify, path, mask)
        if path == tombstones:
            monkeypatch.setattr(storage.watch.INotify, "add_watch", add_watch)
            tombstones.rename(tmp_path / "aside")
            tombstones.mkdir()
        return number

    monkeypatch.setattr(storage.watch.INotify, "add_watch", add_and_replace)
    store.add(bookmark("a"))
    assert (tmp_path / "aside").exists()
    (tombstones / "a.json").write_bytes(to_file(Tombstone("a", NOW)))
    with pytest.raises(Gone):
        store.get("a")


def write_one(store):
    store.add(bookmark("b"))


def write_many(store):
    assert store.write_all([Change(bookmark("b"), None)]) == []


@pytest.fixture(params=["moved", "removed"])
def replace_before(request, tmp_path, monkeypatch):
    """Has somebody put a copy of a folder in its place, right before a step of staging."""

    def replace_before(step, folder):
        real = getattr(storage.files.Staged, step)

        def first(*arguments):
            monkeypatch.setattr(storage.files.Staged, step, real)
            aside = folder.rename(tmp_path / "aside")
            shutil.copytree(aside, folder)
            if request.param == "removed":
                shutil.rmtree(aside)
            return real(*arguments)

        monkeypatch.setattr(storage.files.Staged, step, first)

    return replace_before


@pytest.mark.parametrize("step", ["_open", "publish_new"])
@pytest.mark.parametrize("write", [write_one, write_many])
def test_what_is_written_while_the_folder_is_replaced_is_in_the_new_one(
    store, a, tmp_path, replace_before, step, write
):
    replace_before(step, tmp_path / "bookmarks")
    write(store)
    assert set(shown(store)) == set(shown(Store(tmp_path))) == {"a", "b"}


@pytest.mark.parametrize("step", ["_open", "publish_new"])
@pytest.mark.parametrize("name", ["bookmarks", "tombstones"])
def test_what_is_deleted_while_a_folder_is_replaced_is_gone(
    store, a, tmp_path, replace_before, step, name
):
    replace_before(step, tmp_path / name)
    store.delete(a)
    for each in (store, Store(tmp_path)):
        with pytest.raises(Gone):
            each.get("a")


def no_inotify(*arguments, **options):
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize("kind", ["missing", "shared"])
def test_without_inotify_every_change_is_seen_all_the_same(tmp_path, monkeypatch, kind):
    if kind == "missing":
        monkeypatch.setattr(storage.watch, "INotify", no_inotify)
    else:
        monkeypatch.setattr(storage.watch, "_is_shared", lambda folder: True)
    store = Store(tmp_path)
    path = tmp_path / "bookmarks" / "a.json"
    assert store._watch.changes() is None
    for title in ("One", "Two", "Six"):
        path.write_bytes(to_file(bookmark("a", title=title)))
        assert shown(store) == {"a": title}
    monkeypatch.setattr(storage.store, "_RACY_NS", 0)
    assert shown(store) == {"a": "Six"}
    assert store._watch.changes() is None
    assert list(store._differences()) == []
    path.unlink()
    assert shown(store) == {}


def test_without_inotify_what_is_broken_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(storage.watch, "_is_shared", lambda folder: True)
    monkeypatch.setattr(storage.store, "_RACY_NS", 0)
    store = Store(tmp_path)
    for kind in ("bookmarks", "tombstones"):
        (tmp_path / kind / "broken.json").write_bytes(b"{")
    store.state()
    read = []
    read_all = storage.files.read_all
    monkeypatch.setattr(
        storage.files, "read_all", lambda *asked: read.extend(asked[1]) or read_all(*asked)
    )
    store.state()
    assert read == []
    (tmp_path / "bookmarks" / "broken.json").write_bytes(to_file(bookmark("broken")))
    (tmp_path / "tombstones" / "broken.json").unlink()
    assert shown(store) == {"broken": bookmark("broken").title}
    assert set(read) == {"broken.json"}


@pytest.mark.parametrize("where", ["storage.store._id_of", "storage.watch.parse_events"])
def test_what_was_told_to_a_look_that_fails_is_seen_by_the_next(store, a, monkeypatch, where):
    def fail(*arguments):
        raise MemoryError

    assert shown(store) == {"a": "A"}
    if not store._watch.tells:
        pytest.skip("needs inotify")
    (store._folders[0] / "a.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(MemoryError):
            store.state()
    assert shown(store) == {}


def test_a_watch_that_fails_is_unavailable_and_begun_anew(store, a, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    assert shown(store) == {"a": "A"}
    if not store._watch.tells:
        pytest.skip("needs inotify")
    (store._folders[0] / "a.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(storage.watch, "parse_events", fail)
        with pytest.raises(Unavailable):
            store.state()
    assert shown(store) == {}


def _uncovered(folder):
    (folder / "tombstones" / "a.json").unlink()


def _moved_in(folder):
    (folder / "old.json").rename(folder / "bookmarks" / "b.json")


def _moved_away(folder):
    (folder / "bookmarks" / "b.json").rename(folder / "away")


@pytest.mark.parametrize("change", [_uncovered, _moved_in, _moved_away])
def test_a_change_is_of_now_though_the_files_are_old(tmp_path, change):
    Store(tmp_path)
    for id in ("a", "b"):
        (tmp_path / "bookmarks" / f"{id}.json").write_bytes(to_file(bookmark(id, uri=f"x:{id}")))
    (tmp_path / "tombstones" / "a.json").write_bytes(b"{")
    (tmp_path / "old.json").write_bytes(to_file(bookmark("b", uri="x:b", title="Old")))
    for path in [*tmp_path.rglob("*.json"), tmp_path / "bookmarks", tmp_path / "tombstones"]:
        os.utime(path, (1e9, 1e9))
    store = Store(tmp_path)
    before = store.state()
    assert before.touched == 1e9
    begun = time.time() - 0.1  # The clock of a file system has a resolution of some milliseconds.
    change(tmp_path)
    after = store.state()
    assert after.version != before.version and after.touched >= begun
    assert Store(tmp_path).state() == after


def test_what_was_just_added_is_known_without_being_read(store, tmp_path, monkeypatch):
    store.state()
    if not store._watch.tells:
        pytest.skip("needs inotify")
    reads = []
    read_all = storage.files.read_all
    monkeypatch.setattr(
        storage.files, "read_all", lambda *given: reads.append(given) or read_all(*given)
    )
    entry = store.add(bookmark("a", title="A", tags=["x"]))
    assert (store.get("a"), shown(store), reads) == (entry, {"a": "A"}, [])
    assert store.state().version == Store(tmp_path).state().version


def written_in_place(path):
    path.write_bytes(to_file(bookmark("a", title="B")))
    return {"a": "B"}


def replaced(path):
    other = path.parents[1] / "other"
    other.write_bytes(to_file(bookmark("a", title="B")))
    os.rename(other, path)
    return {"a": "B"}


def removed(path):
    path.unlink()
    return {}


def removed_and_linked_anew(path):
    path.unlink()
    other = path.parents[1] / "other"
    other.write_bytes(to_file(bookmark("a", title="B")))
    os.link(other, path)
    return {"a": "B"}


def another_added(path):
    path.with_name("b.json").write_bytes(to_file(bookmark("b", title="B")))
    return {"a": "A", "b": "B"}


@pytest.mark.parametrize(
    "change", [written_in_place, replaced, removed, removed_and_linked_anew, another_added]
)
@pytest.mark.parametrize("is_at_once", [True, False])
def test_what_happens_to_it_right_after_is_seen_too(
    store, tmp_path, monkeypatch, change, is_at_once
):
    path = tmp_path / "bookmarks" / "a.json"
    publish = storage.files.Staged.publish_new
    after = {}

    def publish_and_change(staged):
        is_linked = publish(staged)
        assert is_linked
        if is_at_once:
            after.update(change(path))
        return is_linked

    store.state()
    monkeypatch.setattr(storage.files.Staged, "publish_new", publish_and_change)
    store.add(bookmark("a", title="A"))
    if not is_at_once:
        after.update(change(path))
    assert shown(store) == after
    assert store.state().version == Store(tmp_path).state().version


def test_a_strangers_rename_right_after_one_of_ours_is_seen(store, tmp_path, monkeypatch):
    """Of two renames to one name inotify may make one event."""

    def no_link(*arguments, **options):
        raise OSError(errno.EPERM, "Operation not permitted")

    elsewhere = tmp_path / "bookmarks" / "elsewhere"
    elsewhere.mkdir()

    def sync(folder):
        (elsewhere / "a.json").write_bytes(to_file(bookmark("a", title="B")))
        os.rename(elsewhere / "a.json", tmp_path / "bookmarks" / "a.json")

    store.state()
    monkeypatch.setattr(storage.files, "_O_TMPFILE", 0)
    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(storage.files.Folder, "sync", sync)
    store.add(bookmark("a", title="A"))
    assert shown(store) == {"a": "B"}


def test_an_error_between_publishing_and_knowing_leaves_no_half_of_it(store, tmp_path, monkeypatch):
    for id in "bdf":
        store.add(bookmark(id))
    change = store._index.change

    def half(entries, graves):
        monkeypatch.setattr(store._index, "change", change)
        monkeypatch.setattr(storage.index, "insort", no_memory)
        change(entries, graves)

    def no_memory(*arguments, **options):
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(store._index, "change", half)
    with pytest.raises(MemoryError):
        store.add(bookmark("c"))
    assert list(shown(store)) == list("fdcb") == list(shown(Store(tmp_path)))


@pytest.mark.parametrize("read", [shown, lambda store: {"a": store.get("a").bookmark.title}])
def test_who_fails_meanwhile_makes_nobody_else_see_nothing(store, monkeypatch, read):
    store.add(bookmark("a", title="A"))
    seen = store.changes()
    is_quiet = store._watch.is_quiet

    def somebody_fails():
        quiet = is_quiet()
        store._forget()
        return quiet

    monkeypatch.setattr(store._watch, "is_quiet", somebody_fails)
    assert read(store) == {"a": "A"}
    assert store.changes() > seen


def test_what_is_added_and_removed_when_the_watch_is_lost_is_seen(store, tmp_path, monkeypatch):
    store.state()
    store.add(bookmark("a", title="A"))
    monkeypatch.setattr(storage.watch, "INotify", no_inotify)
    store._watch.close()
    (tmp_path / "bookmarks" / "a.json").unlink()
    assert shown(store) == {}


@pytest.mark.parametrize(
    "disk, shared",
    [
        ("ext4 /dev/sda1 rw", False),
        ("nfs4 server:/x rw", True),
        ("fuse.sshfs x: rw", True),
        ("fuseblk /dev/sdb1 rw", False),
        ("cifs //server/x rw", True),
    ],
)
def test_a_disk_of_several_machines_is_told_by_its_mount(tmp_path, monkeypatch, disk, shared):
    device = os.stat(tmp_path).st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /mnt rw,noatime shared:1 - {disk}\n"
    other = b"21 25 0:5000 / /caf\xe9 rw,nosuid - nfs proc rw\n"  # A name is any bytes.
    told = other + line.encode()
    monkeypatch.setattr(
        storage.watch.Path, "read_text", lambda path, errors: told.decode(errors=errors)
    )
    assert storage.watch._is_shared(tmp_path) is shared


def test_a_lock_that_is_not_had_in_time_is_busy(store, monkeypatch):
    monkeypatch.setattr(storage.files, "LOCK_SECONDS", 0.05)
    with store._lock:
        with pytest.raises(Busy):
            store.add(bookmark("a"))
        with pytest.raises(Busy):
            Store(store._folders[0].parent).add(bookmark("a"))
    store.add(bookmark("a"))


def test_check_finds_and_repairs_in_place(store, a, tmp_path, capsys):
    store.add(bookmark("gone"))
    folder, tombstones = tmp_path / "bookmarks", tmp_path / "tombstones"
    before = (folder / "gone.json").read_bytes()
    store.delete(store.get("gone"))
    (folder / "gone.json").write_bytes(before)
    (folder / "twin.json").write_bytes(
        to_file(create(clean({"uri": "https://A.example"}), "twin", NOW))
    )
    (folder / "cut.json").write_text("{")
    (folder / "Name.json").write_text("{}")
    (tombstones / "cut.json").write_text("{")
    old = folder / f".a.json.{'0' * 16}.tmp"
    old.write_text("{")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert main(["check", "--data", str(tmp_path)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert main(["check", "--data", str(tmp_path), "--repair"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert not old.exists()
    assert not (folder / "gone.json").exists()


def test_what_crashes_left_an_hour_ago_is_swept_at_start(store, tmp_path):
    left = [tmp_path / "bookmarks" / f".a.json.{digit * 16}.tmp" for digit in "01"]
    for path in left:
        path.write_text("{")
    os.utime(left[0], (time.time() - 7200, time.time() - 7200))
    Store(tmp_path)
    assert [path.exists() for path in left] == [False, True]


def test_a_child_of_a_fork_begins_anew(store, a):
    """Even if the parent holds every lock, and a change is already told to it."""
    with store._mutex, store._lock:
        child = os.fork()
        if not child:
            try:
                os._exit(0 if shown(store) == {"a": "A"} else 1)
            finally:
                os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "query", [Query(), Query(tags=("x",)), Query(tags=("x", "y")), Query(words=("b",))]
)
def test_the_tags_of_a_selection_are_counted(store, query):
    for id, tags in {"a": ["X", "y"], "b": ["x", "y", "z"], "bb": ["x"], "d": ["z", "w"]}.items():
        store.add(bookmark(id, uri=f"x:{id}", tags=tags))
    for id in ("e", "f", "g"):
        found = store.select(replace(query, limit=1, offset=1, counts=2))
        everything = store.select(query)
        counts = Counter(tag.lower() for b in everything.bookmarks for tag in b.tags)
        most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:2]
        assert [(tag.lower(), count) for tag, count in found.counts] == most
        assert found.versions == [store.get(b.id).version for b in found.bookmarks]
        assert (everything.counts, everything.versions) == ((), ())
        store.add(bookmark(id, uri=f"x:{id}b", tags=["y", "x"]))


@pytest.fixture
def broken(monkeypatch):
    """The ids of the files that the disk fails to give, and how often it was asked for one."""
    read, ids, asked = storage.files._read_all, set(), []

    def failing(descriptor, size):
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).stem in ids:
            asked.append(1)
            raise OSError(errno.EIO, "Input/output error")
        return read(descriptor, size)

    monkeypatch.setattr(storage.files, "_read_all", failing)
    return ids, asked


def test_what_the_disk_fails_to_give_is_asked_for_again(store, other, broken, monkeypatch):
    for id in "ab":
        store.add(bookmark(id, title=id))
    broken[0].add("a")
    monkeypatch.setattr(storage.store, "_RETRY_SECONDS", -1.0)
    assert shown(other) == {"b": "b"}
    broken[0].clear()
    seen = other.changes()
    assert shown(other) == {"a": "a", "b": "b"}
    assert other.state().version == store.state().version
    assert other.changes() == other.changes() >= seen


def test_what_the_disk_fails_to_give_is_not_asked_for_all_the_time(store, other, broken):
    for id in "ab":
        store.add(bookmark(id, title=id))
    broken[0].add("a")
    for _ in range(20):
        assert shown(other) == {"b": "b"}
    assert len(broken[1]) == 1


def test_who_asks_for_one_that_fails_does_not_put_off_the_others(store, other, broken, monkeypatch):
    for id in "abc":
        store.add(bookmark(id, title=id))
    broken[0].update("ab")
    assert shown(other) == {"c": "c"}
    broken[0].remove("b")
    due = time.monotonic() + storage.store._RETRY_SECONDS
    for moment in (due - 0.5, due + 0.5):
        monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
        with pytest.raises(Unreadable):
            other.get("a")
    assert shown(other) == {"b": "b", "c": "c"}


def test_a_bookmark_that_the_disk_fails_to_give_cannot_be_changed_now(store, a, broken):
    begun = time.monotonic()
    broken[0].add("a")
    changed = update(a.bookmark, clean({"title": "New"}), LATER)
    with pytest.raises(Unreadable, match="the disk fails"):
        storage.store.swap(lambda: store.replace(changed, store.get("a")))
    assert time.monotonic() - begun < storage.store.SWAP_SECONDS / 2
    broken[0].clear()
    assert store.replace(changed, a).bookmark.title == "New"


def test_what_the_disk_fails_to_give_is_not_put_back(store, a, broken, monkeypatch, caplog):
    fail(monkeypatch, Full("full"))
    broken[0].add("b")
    with pytest.raises(Full):
        store.add(bookmark("b", title="B"))
    assert "b.json remains as written" in caplog.text


def test_a_disk_that_gives_nothing_is_not_an_empty_collection(store, tmp_path, broken, monkeypatch):
    for id in "ab":
        store.add(bookmark(id, title=id))
    broken[0].update("ab")
    other = Store(tmp_path)
    for _ in range(5):
        with pytest.raises(Unavailable):
            other.state()
    assert len(broken[1]) == 2
    broken[0].clear()
    due = time.monotonic() + storage.store._RETRY_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: due)
    assert shown(other) == {"a": "a", "b": "b"}


def test_an_empty_collection_stays_one_where_the_disk_fails_to_give_a_new_file(
    store, tmp_path, broken
):
    assert shown(store) == {}
    broken[0].add("a")
    (tmp_path / "bookmarks" / "a.json").write_bytes(to_file(bookmark("a")))
    for _ in range(5):
        assert shown(store) == {}
    assert len(broken[1]) == 1
    store.add(bookmark("b", title="B"))
    assert shown(store) == {"b": "B"}


@pytest.mark.parametrize("has_inotify", [True, False])
@pytest.mark.parametrize("ids", ["a", "ab"])
def test_what_takes_the_place_of_what_fails_is_seen_at_once(
    store, tmp_path, broken, monkeypatch, has_inotify, ids
):
    for id in "ab":
        store.add(bookmark(id, title=id))
    if not has_inotify:
        monkeypatch.setattr(storage.watch, "INotify", no_inotify)
    other = Store(tmp_path)
    broken[0].update(ids)
    with suppress(Unavailable):
        other.state()
    folder = tmp_path / "bookmarks"
    shutil.copytree(folder, tmp_path / "copy")
    folder.rename(tmp_path / "old")
    (tmp_path / "copy").rename(folder)
    broken[0].clear()
    assert shown(other) == {"a": "a", "b": "b"}
    with pytest.raises(Conflict):
        other.add(bookmark("c", uri="https://a.example/"))


@pytest.mark.parametrize("titles", [{"a": "new"}, {}])
def test_without_inotify_what_fails_is_not_taken_from_a_snapshot(
    store, tmp_path, broken, monkeypatch, titles
):
    monkeypatch.setattr(storage.store, "MANY", 1)
    monkeypatch.setattr(storage.watch, "INotify", no_inotify)
    path = tmp_path / "bookmarks" / "a.json"
    path.write_bytes(to_file(bookmark("a", title="old")))
    os.utime(path, (1e9, 1e9))
    assert shown(Store(tmp_path, writable=True)) == {"a": "old"}
    path.unlink()
    for id, title in titles.items():
        path.write_bytes(to_file(bookmark(id, title=title)))
    broken[0].add("a")
    other = Store(tmp_path)
    for _ in range(2):
        with suppress(Unavailable):
            assert shown(other) == {}
    broken[0].clear()
    assert shown(other) == titles


def test_no_descriptor_has_to_be_had_once_something_is_published(store, other, a, monkeypatch):
    def none_left(*arguments, **options):
        raise OSError(errno.EMFILE, "Too many open files")

    def publish(staged, publish):
        publish(staged)
        monkeypatch.setattr(os, "open", none_left)

    for name in ("publish", "publish_new"):
        real = getattr(storage.files.Staged, name)
        monkeypatch.setattr(storage.files.Staged, name, lambda s, real=real: publish(s, real))
    opened = os.open
    store.add(bookmark("b", title="B"))
    monkeypatch.setattr(os, "open", opened)
    replaced = store.replace(update(a.bookmark, clean({"title": "New"}), LATER), a)
    monkeypatch.setattr(os, "open", opened)
    assert shown(other) == {"b": "B", "a": "New"}
    store.delete(replaced)
    monkeypatch.setattr(os, "open", opened)
    assert shown(other) == {"b": "B"}


def test_a_folder_that_is_replaced_before_the_sync_is_synced_too(store, tmp_path, monkeypatch):
    folder, synced = tmp_path / "bookmarks", []
    fsync = os.fsync

    def publish_new(staged):
        publish(staged)
        folder.rename(tmp_path / "before")
        shutil.copytree(tmp_path / "before", folder)

    publish = storage.files.Staged.publish_new
    monkeypatch.setattr(storage.files.Staged, "publish_new", publish_new)
    monkeypatch.setattr(os, "fsync", lambda d: (synced.append(os.fstat(d).st_ino), fsync(d)))
    store.add(bookmark("a", title="A"))
    assert synced[-1] == folder.stat().st_ino
    assert shown(store) == {"a": "A"}


def test_inotify_that_was_refused_is_asked_for_again(store, tmp_path, monkeypatch, caplog):
    if not (store.state() and store._watch.tells):
        pytest.skip("needs inotify")
    with monkeypatch.context() as patch:
        patch.setattr(storage.watch, "INotify", no_inotify)
        late = Store(tmp_path)
        for id in "ab":
            store.add(bookmark(id, title=id))
            assert late.get(id).bookmark.title == id
    assert not late._watch.tells
    assert caplog.text.count("inotify") == 1
    monkeypatch.setattr(storage.watch, "_RETRY_SECONDS", 0.0)
    late._watch._retry_at = 0.0
    store.add(bookmark("c", title="c"))
    assert list(shown(late)) == list("cba") and late._watch.tells
    store.add(bookmark("d", title="d"))
    assert list(shown(late)) == list("dcba")
