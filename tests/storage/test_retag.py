"""A change of tags on many bookmarks keeps the writes of other clients, and can be repeated."""

import errno
import itertools
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest
from clients import ask, bookmarks_of, delete_bookmark, failing_from, put_bookmark, require_whole

from storage.batch import MAX_CHANGES
from storage.bookmark import clean, create, update
from storage.errors import Full
from storage.query import Query
from storage.retag import clean_retagging, retag
from storage.store import Store
from tests.conftest import until

OLD = "2024-01-01T00:00:00Z"
RENAME = {"tag": "old", "remove": "old", "add": "new"}


def fill(store, count, tags=("old",)):
    for start in range(0, count, MAX_CHANGES):
        numbers = range(start, min(count, start + MAX_CHANGES))
        with store.transaction() as folder:
            for n in numbers:
                folder.put(create(clean({"uri": f"x:{n}", "tags": tags, "created": OLD}), f"b{n}"))


def change(store, members):
    retagging = clean_retagging(members)
    return retag(store, retagging, store.select(retagging.query).entries)


def bookmarks(store):
    return {bookmark.id: bookmark for bookmark in bookmarks_of(store)}


def numbers(report):
    return report.matched, report.changed, report.unchanged, len(report.failed)


def set_fields(store, id, **fields):
    entry = store.get(id)
    put_bookmark(store, update(entry.bookmark, clean(fields)), entry)


@pytest.mark.parametrize("theirs, tags", [
    ({"title": "Theirs"}, ("new",)),
    ({"tags": ["first", "old", "last"]}, ("first", "new", "last")),
    # It is no longer selected.
    ({"tags": ["mine"]}, ("mine",)),
    ({"title": "other"}, ("old",)),
])  # fmt: skip
def test_what_another_client_changes_meanwhile_stays(
    store, other, before_transaction, theirs, tags
):
    fill(store, 2)
    before_transaction(store, lambda: set_fields(other, "b1", **theirs))
    count = 2 if "new" in tags else 1
    assert numbers(change(store, RENAME | {"q": "-other"})) == (2, count, 2 - count, 0)
    changed = bookmarks(store)
    assert (changed["b0"].tags, changed["b1"].tags) == (("new",), tags)
    assert changed["b1"].title == theirs.get("title", "x:1")


def test_a_bookmark_that_is_deleted_meanwhile_is_reported(store, other, before_transaction):
    fill(store, 2)
    before_transaction(store, lambda: delete_bookmark(other, other.get("b1")))
    report = change(store, RENAME)
    assert numbers(report) == (2, 1, 0, 1)
    assert report.failed[0].id == "b1"
    assert report.failed[0].reason.startswith("The bookmark b1 was deleted at ")


def test_a_file_that_becomes_unreadable_is_reported_and_kept(store, tmp_path, before_transaction):
    fill(store, 2)
    file = tmp_path / "bookmarks" / "b1.json"
    before_transaction(store, lambda: file.write_text("{"))
    report = change(store, RENAME)
    assert numbers(report) == (2, 1, 0, 1)
    assert "The file of bookmark b1 cannot be used" in report.failed[0].reason
    assert file.read_text() == "{"


def test_bookmarks_that_have_the_result_already_are_made_durable(store, tmp_path, synced):
    fill(store, MAX_CHANGES + 1)
    synced.clear()
    assert numbers(change(store, {"q": "x:", "add": "OLD"})) == (201, 0, 201, 0)
    folder = tmp_path / "bookmarks"
    assert synced == {folder.stat().st_ino, *(path.stat().st_ino for path in folder.iterdir())}


def test_a_full_disk_ends_the_change_and_repeating_it_finishes(store, monkeypatch):
    fill(store, 3 * MAX_CHANGES)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_from(MAX_CHANGES + 1, os.write, errno.ENOSPC))
        report = change(store, RENAME)
    assert numbers(report) == (3 * MAX_CHANGES, MAX_CHANGES, 0, 0)
    assert isinstance(report.error, Full)
    assert sum(b.tags == ("new",) for b in bookmarks(store).values()) == MAX_CHANGES
    assert numbers(change(store, RENAME)) == (2 * MAX_CHANGES, 2 * MAX_CHANGES, 0, 0)
    assert {b.tags for b in bookmarks(store).values()} == {("new",)}


# --- Real processes ---

def test_no_acknowledged_write_is_lost_while_tags_are_changed(serve, data):
    fill(Store(data), 100)
    address = serve().address
    stop, titles = threading.Event(), {}

    def write_titles():
        for n in itertools.count():
            id = f"b{n * 7 % 100}"
            assert ask(address, "POST", f"/{id}", {"title": str(n)}).status == 200
            titles[id] = str(n)
            if stop.is_set():
                return

    writer = threading.Thread(target=write_titles)
    writer.start()
    try:
        for old, new in itertools.pairwise(["old", "1", "2", "3", "4", "5"]):
            report = ask(address, "POST", "/tags", {"tag": old, "remove": old, "add": new}).json
            assert report == {"matched": 100, "changed": 100, "unchanged": 0, "failed": []}
    finally:
        stop.set()
        writer.join()
    found = {b["id"]: b for b in ask(address).json}
    assert len(titles) > 3
    assert {id: found[id]["title"] for id in titles} == titles
    assert {tuple(b["tags"]) for b in found.values()} == {("5",)}


def test_a_killed_change_leaves_whole_files_and_repeating_it_finishes(serve, data):
    store = Store(data)
    fill(store, 1_000)
    body = RENAME | {"expected": 1_000}
    service = serve()
    with ThreadPoolExecutor() as pool:
        request = pool.submit(ask, service.address, "POST", "/tags", body)
        until(lambda: store.select(Query(tags=("new",))).total >= MAX_CHANGES)
        service.stop(signal.SIGKILL)
        assert isinstance(request.exception(), (OSError, HTTPException))
    require_whole(data)
    done = Store(data).select(Query(tags=("new",))).total
    assert MAX_CHANGES <= done < 1_000
    address = serve().address
    assert ask(address, "POST", "/tags", body).status == 412
    report = ask(address, "POST", "/tags", RENAME).json
    assert (report["matched"], report["changed"]) == (1_000 - done, 1_000 - done)
    assert ask(address, path="/tags").json == [{"tag": "new", "count": 1_000}]
    files = [json.loads(path.read_bytes()) for path in data.glob("bookmarks/b*.json")]
    assert [file["tags"] for file in files] == [["new"]] * 1_000
