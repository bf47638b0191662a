"""Deleted bookmarks stay in the trash for some days, can be put back, and then expire."""

import errno
import json
import os
import time

import pytest
from clients import bookmarks_of, delete_bookmark, put_bookmark, raise_error, run_together

from storage import files, trash
from storage.bookmark import clean, create, timestamp
from storage.errors import Conflict, Full, Gone, NotFound, Unavailable, Unreadable
from storage.store import Store
from tests.conftest import write_file

CREATED = "2020-01-01T00:00:00Z"
DAY = 86_400
DAYS = 30


def make(folder, keep_deleted=DAYS):
    return Store(folder, keep_deleted=keep_deleted)


@pytest.fixture
def store(tmp_path):
    store = make(tmp_path)
    yield store
    store.close()


def fill(store, *ids):
    for id in ids:
        fields = clean({"uri": f"https://{id}.example/", "created": CREATED})
        put_bookmark(store, create(fields, id))


def delete(store, *ids, age=0.0):
    """Delete bookmarks, as if that was `age` days ago."""
    for id in ids:
        delete_bookmark(store, store.get(id))
        if age:
            write_tombstone(store, id, age)


def write_tombstone(store, id, age):
    deleted = timestamp(time.time() - age * DAY)
    write_file(store._folder, "tombstones", id, deleted=deleted)


def path(store, id, folder="bookmarks"):
    return store._folder / folder / f"{id}.json"


def restore(store, id):
    with store.transaction() as folder:
        return trash.restore(folder, id).bookmark


def erase(store, id):
    with store.transaction() as folder:
        trash.erase(folder, id)


def kept(store):
    found, count = store.trash.find(100, 0)
    assert count == len(found)
    return [deleted.bookmark.id for deleted in found]


def remaining(store):
    return sorted(file.stem for file in (store._folder / "bookmarks").iterdir())


# --- Deleting and putting back ---

def test_what_is_put_back_has_a_new_id_and_everything_else(store):
    file = path(store, "a")
    content = {
        "id": "a", "uri": "https://a.example/", "title": "A", "description": "D", "tags": ["x"],
        "created": CREATED, "modified": CREATED, "unknown": [1.00, "kept"],
    }  # fmt: skip
    file.write_text(json.dumps(content))
    delete(store, "a")
    bookmark = restore(store, "a")
    stored = json.loads(path(store, bookmark.id).read_bytes())
    assert stored == {**content, "id": bookmark.id, "modified": bookmark.modified}
    assert bookmark.id != "a" and time.time() - DAY < os.path.getmtime(path(store, bookmark.id))
    assert bookmark.modified > timestamp(time.time() - 60)
    assert not file.exists() and kept(store) == []
    with pytest.raises(Gone):
        store.get("a")
    with pytest.raises(NotFound):
        restore(store, "a")


def test_what_is_put_back_after_the_clock_was_set_back_is_not_older_than_its_creation(store):
    created = timestamp(time.time() + DAY)
    put_bookmark(store, create(clean({"uri": "https://a.example/", "created": created}), "a"))
    delete(store, "a")
    assert restore(store, "a").modified == created


def test_a_file_that_is_no_bookmark_is_neither_put_back_nor_removed(store):
    fill(store, "a")
    delete(store, "a", age=DAYS + 1)
    path(store, "a").write_text("notes")
    for act in (restore, erase):
        with pytest.raises(Unreadable):
            act(store, "a")
    make(store._folder).expire()
    assert path(store, "a").read_text() == "notes"
    assert store.trash.find(10, 0)[0] == []


def test_an_erasure_that_fails_is_no_success(store, monkeypatch):
    fill(store, "a")
    delete(store, "a")
    monkeypatch.setattr(os, "unlink", raise_error(errno.EIO))
    with pytest.raises(Unavailable):
        erase(store, "a")
    assert kept(store) == ["a"]


def test_the_old_file_stays_if_the_new_one_is_not_stored(store, monkeypatch):
    fill(store, "a")
    delete(store, "a")
    with monkeypatch.context() as patch, pytest.raises(Full):
        patch.setattr(os, "link", raise_error(errno.ENOSPC))
        restore(store, "a")
    assert kept(store) == remaining(store) == ["a"]
    assert restore(store, "a").uri == "https://a.example/"


def test_the_trash_is_paged_and_lists_the_latest_deletion_first(store):
    fill(store, "a", "b", "c", "d")
    for age, id in ((3, "b"), (1, "c"), (2, "a"), (DAYS + 1, "d")):
        delete(store, id, age=age)
    assert kept(store) == ["c", "a", "b"]
    found, count = store.trash.find(1, 1)
    assert ([deleted.bookmark.id for deleted in found], count) == (["a"], 3)
    path(store, "a").unlink()
    assert kept(store) == ["c", "b"]


def test_of_two_who_put_one_bookmark_back_one_wins(tmp_path):
    stores = [make(tmp_path) for _ in range(2)]
    for number in range(30):
        fill(stores[0], f"a{number}")
        delete(stores[0], f"a{number}")

        def put_back(store, id=f"a{number}"):
            try:
                return restore(store, id)
            except (Conflict, NotFound) as error:
                return error

        calls = [lambda store=store: put_back(store) for store in stores]
        won, lost = sorted(run_together(calls), key=lambda result: isinstance(result, Exception))
        assert isinstance(lost, Exception)
        if isinstance(lost, Conflict):
            assert lost.id == won.id
    assert len(bookmarks_of(stores[1])) == len(remaining(stores[0])) == 30


# --- Expiry ---

def test_a_start_removes_all_expired_files_some_at_a_time(store, monkeypatch):
    monkeypatch.setattr(trash, "MAX_EXPIRED", 2)
    ids = [f"a{number}" for number in range(7)]
    fill(store, *ids)
    delete(store, *ids)
    for id in ids:  # All in one second.
        write_file(store._folder, "tombstones", id, deleted=CREATED)
    assert kept(store) == []
    other = make(store._folder)
    fill(other, "new")
    assert len(remaining(store)) == 6
    other.expire()
    assert remaining(store) == ["new"]


def test_without_a_number_of_days_nothing_expires(store):
    fill(store, "a")
    delete(store, "a", age=10_000)
    store = Store(store._folder)
    store.expire()
    fill(store, "new")
    assert remaining(store) == ["a", "new"] and kept(store) == ["a"]


def test_a_file_whose_tombstone_is_not_valid_any_more_stays(store, monkeypatch):
    fill(store, "a")
    delete(store, "a", age=DAYS + 1)
    store = make(store._folder)
    find = store.trash._next_expired

    def find_and_break(tombstones):
        found = find(tombstones)
        path(store, "a", "tombstones").write_bytes(b"{")
        return found

    monkeypatch.setattr(store.trash, "_next_expired", find_and_break)
    fill(store, "b")
    assert path(store, "a").exists()


def test_a_failing_expiry_is_logged_and_fails_no_change(store, monkeypatch, caplog):
    fill(store, "a")
    delete(store, "a", age=DAYS + 1)
    store = make(store._folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", raise_error(errno.EIO))
        fill(store, "b")
        store.expire()
    assert "Files of deleted bookmarks remain" in caplog.text
    make(store._folder).expire()
    assert remaining(store) == ["b"]


def test_an_unreadable_tombstone_brings_no_bookmark_back(store, monkeypatch):
    fill(store, "a", "b")
    store.refresh()
    other = make(store._folder)
    read = files.read

    def fail_for_tombstones(file, folder=None):
        if "tombstones" in str(file):
            raise files.ReadFailed("cannot be read")
        return read(file, folder)

    delete(other, "a")
    monkeypatch.setattr(files, "read", fail_for_tombstones)
    assert [bookmark.id for bookmark in bookmarks_of(store)] == ["b"]


def test_expired_files_are_removed_with_the_next_change(store):
    store = make(store._folder)
    fill(store, "a", "b", "young")
    delete(store, "b", age=DAYS + 1)
    delete(store, "young", age=DAYS - 1)
    fill(store, "c")
    assert remaining(store) == ["a", "c", "young"]
    with pytest.raises(Gone):
        store.get("b")
    write_tombstone(store, "a", age=DAYS * 10)  # It comes while the service runs.
    fill(store, "d")
    assert remaining(store) == ["c", "d", "young"]


# --- Processes that are killed ---

def run_killed(step, work):
    """Do the work in a child process that ends at the call `step`; return whether it ended so."""
    child = os.fork()
    if child == 0:
        calls = 0
        for name in ("link", "rename", "unlink", "fsync"):
            original = getattr(os, name)

            def end_or_call(*arguments, original=original, **options):
                nonlocal calls
                calls += 1
                if calls == step:
                    os._exit(9)
                return original(*arguments, **options)

            setattr(os, name, end_or_call)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9)
    return status == 9


WORK = {
    "delete": lambda store: delete(store, "a"),
    "restore": lambda store: restore(store, "b"),
    "erase": lambda store: erase(store, "b"),
    "expire": Store.expire,
}


@pytest.mark.parametrize("work", WORK)
def test_a_kill_between_any_two_steps_loses_nothing(tmp_path, work):
    step, is_killed = 0, True
    while is_killed:
        step += 1
        folder = tmp_path / f"{work}{step}"
        with_work(folder)
        is_killed = run_killed(step, lambda folder=folder: WORK[work](make(folder)))
        require_nothing_lost(folder, work)
    assert step > 1


def require_nothing_lost(folder, work, is_done=False):
    """Require each bookmark of `with_work` to be as before the work, or as after it."""
    store = make(folder)
    active = {bookmark.uri for bookmark in bookmarks_of(store)}
    in_trash = set(kept(store))
    assert ("https://a.example/" in active) != ("a" in in_trash)
    if work == "restore":
        assert "https://b.example/" in active or "b" in in_trash
    elif work != "erase":
        assert "b" in in_trash
    if is_done:
        assert ("a" in in_trash) == (work == "delete")
        assert ("https://b.example/" in active) == (work == "restore")
        assert ("b" in in_trash) == (work in ("delete", "expire"))
    for id in ("b", "c"):
        with pytest.raises(Gone):
            store.get(id)
    store.expire()
    assert "c" not in remaining(store)
    store.close()


def with_work(folder):
    store = make(folder)
    fill(store, "a", "b", "c")
    delete(store, "b", age=1)
    delete(store, "c", age=DAYS + 1)
    store.close()
