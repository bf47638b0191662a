"""A copy of the folder is a backup, at any moment; copying it back restores, and merges."""

import shutil
import subprocess
import time

import pytest
from clients import (
    DELETED,
    Ledger,
    ask,
    check,
    load,
    put,
    require_kept,
    require_whole,
    service_of,
    titles,
)

WRITERS = 4
BACKUPS = 8


def copy(source, target):
    """Copies as a person does; what comes and goes meanwhile may make cp complain."""
    subprocess.run(["cp", "-r", f"{source}/.", target], capture_output=True, timeout=60)


@pytest.fixture
def address(start, data):
    """A service that holds a and b, and had c."""
    address = start(service_of(data)).address
    for id in ("a", "b", "c"):
        assert put(address, id, "Before").status == 201
    assert ask(address, "DELETE", "/c").status == 204
    return address


def test_a_copy_made_under_load_has_everything_that_was_acknowledged_before(start, data, tmp_path):
    address = start(service_of(data)).address
    ledgers = [Ledger() for _ in range(WRITERS)]
    writers = load(address, ledgers)
    time.sleep(1)
    promises = []
    for number in range(BACKUPS):
        promises.append([dict(ledger.acknowledged) for ledger in ledgers])
        copy(data, tmp_path / f"backup-{number}")
    for writer in writers:
        writer.stop()
    for number, promised in enumerate(promises):
        require_complete(start, tmp_path / f"backup-{number}", ledgers, promised)


def require_complete(start, backup, ledgers, promised):
    """What was acknowledged before the copy is in it, as it was then or later; what was deleted
    meanwhile is the next test's."""
    require_whole(backup)
    server = start(service_of(backup))
    for ledger, floor in zip(ledgers, promised, strict=True):
        require_kept(server.address, ledger, floor, lost={DELETED})
    server.stop()
    assert "skipped" not in server.log


@pytest.mark.parametrize("first", ["bookmarks", "tombstones"])
def test_a_bookmark_deleted_during_the_copy_is_in_it_or_is_not_active_in_it(
    start, address, data, tmp_path, first
):
    """The one order shows the bookmark's end by its tombstone, the other by its absence."""
    backup = tmp_path / "backup"
    for folder in (first, *{"bookmarks", "tombstones"} - {first}):
        shutil.copytree(data / folder, backup / folder)
        if folder == first:
            assert ask(address, "DELETE", "/a").status == 204
    status = ask(start(service_of(backup)).address, path="/a").status
    assert status == (410 if first == "bookmarks" else 404)


def test_restoring_over_a_running_service_is_seen_at_once(address, data, tmp_path):
    copy(data, tmp_path / "backup")
    etag = ask(address).headers["ETag"]
    assert put(address, "a", "After").status == 200
    (data / "bookmarks" / "b.json").unlink()
    copy(tmp_path / "backup", data)
    assert titles(address) == {"a": "Before", "b": "Before"}
    assert ask(address).headers["ETag"] == etag
    assert put(address, "a", "Again").status == 200


def test_restoring_brings_nothing_back_that_was_deleted(address, data, tmp_path):
    copy(data, tmp_path / "backup")
    assert ask(address, "DELETE", "/a").status == 204
    assert put(address, "d", "After").status == 201
    copy(tmp_path / "backup", data)
    assert titles(address) == {"b": "Before", "d": "After"}
    assert ask(address, path="/a").status == 410


def test_restoring_an_empty_folder_from_a_copy_brings_everything_back(address, data, tmp_path):
    copy(data, tmp_path / "backup")
    etag = ask(address).headers["ETag"]
    shutil.rmtree(data)
    assert ask(address).status == 503
    copy(tmp_path / "backup", data)
    assert titles(address) == {"a": "Before", "b": "Before"}
    assert ask(address, path="/c").status == 410
    assert ask(address).headers["ETag"] == etag


@pytest.mark.parametrize("first", ["bookmarks", "tombstones"])
def test_requests_during_a_restore_do_not_disturb_it(address, data, tmp_path, first):
    copy(data, tmp_path / "backup")
    shutil.rmtree(data)
    data.mkdir()
    for folder in (first, *{"bookmarks", "tombstones"} - {first}):
        ask(address)
        assert ask(address, path="/c").status in (503, 404)
        assert not (data / folder).exists()
        shutil.copytree(tmp_path / "backup" / folder, data / folder)
    assert titles(address) == {"a": "Before", "b": "Before"}
    assert ask(address, path="/c").status == 410


def test_restoring_under_load_loses_no_write_acknowledged_meanwhile(start, address, data):
    backup = data.parent / "backup"
    for number in range(300):
        assert put(address, f"n{number}", "Before").status == 201
    copy(data, backup)
    ledger = Ledger()
    (writer,) = load(address, [ledger])
    for _ in range(5):
        copy(backup, data)
    writer.stop()
    require_kept(address, ledger)
    assert sum(title == "Before" for title in titles(address).values()) == 302


def test_copying_one_collection_into_another_merges_them(start, address, data, tmp_path):
    copy(data, tmp_path / "other")
    other = start(service_of(tmp_path / "other")).address
    here = ask(address, "POST", "/", {"uri": "https://here.example/"}).json["id"]
    there = ask(other, "POST", "/", {"uri": "https://there.example/"}).json["id"]
    assert ask(address, "DELETE", "/a").status == 204
    assert ask(other, "DELETE", "/b").status == 204
    copy(tmp_path / "other", data)
    assert set(titles(address)) == {here, there}
    assert [ask(address, path=f"/{id}").status for id in "abc"] == [410, 410, 410]
    copy(data, tmp_path / "other")
    assert ask(other).body == ask(address).body
    assert ask(other).headers["ETag"] == ask(address).headers["ETag"]
    assert check(data)[0] == 1  # The file of a came back with the copy, and means nothing.
    assert check(data, "--repair") == (0, [])
    assert check(data) == (0, [])
    assert set(titles(address)) == {here, there}
