"""`bookmarks check` reports every problem of a data folder; `--repair` loses no bookmark."""

import json
import os
import time

import pytest
from clients import ask, check, put, repair, titles, uri_of

import storage.check
from storage import files, lock
from storage.errors import Busy
from storage.store import Store

HOUR = 3600


@pytest.fixture
def data(shared_data):
    return shared_data


@pytest.fixture
def address(shared_service, data):
    address = shared_service.address
    for id in ("a", "b"):
        assert put(address, id, id).status == 201
    assert ask(address, "DELETE", "/b").status == 204
    return address


def write_file(path, age=0, content=b"{"):
    path.write_bytes(content)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def expire(data, id="b"):
    tombstone = {"id": id, "deleted": "2020-01-01T00:00:00Z"}
    write_file(data / "tombstones" / f"{id}.json", content=json.dumps(tombstone).encode())
    bookmark = {"id": id, "uri": uri_of(id), "title": id, "created": "2020-01-01T00:00:00Z"}
    return write_file(data / "bookmarks" / f"{id}.json", content=json.dumps(bookmark).encode())


def require_findings(result, *paths):
    status, lines = result
    assert status == (1 if paths else 0)
    assert len(lines) == len(paths)
    for path in paths:
        (line,) = [line for line in lines if line.startswith(f"{path}: ")]
        assert line.count(": ") >= 2


def test_each_finding_is_one_line_with_problem_and_advice(address, data):
    bookmarks, tombstones = data / "bookmarks", data / "tombstones"
    findings = [
        write_file(bookmarks / "cut.json"),
        write_file(bookmarks / "Upper.json"),
        write_file(bookmarks / "api.json"),  # A reserved id.
        write_file(bookmarks / "it's a \"\\\".json"),  # The path can be copied.
        write_file(tombstones / "cut.json"),
        write_file(bookmarks / f".x.json.{'0' * 16}.tmp", 2 * HOUR),
        write_file(tombstones / f".x.json.{'0' * 16}.tmp", 2 * HOUR),
    ]
    require_findings(check(data), *findings)
    remaining = findings[:5]
    require_findings(repair(data), *remaining)
    require_findings(check(data), *remaining)
    assert titles(address) == {"a": "a"}


def test_a_conflict_file_of_syncthing_is_reported_and_kept(address, data):
    path = data / "bookmarks" / "a.sync-conflict-20240101-120000-ABCDEF7.json"
    write_file(path, content=(data / "bookmarks" / "a.json").read_bytes())
    require_findings(check(data, "--repair"), path)
    assert "is another version of a.json, kept by Syncthing" in check(data)[1][0]
    assert titles(address) == {"a": "a"}


def test_the_file_of_a_deleted_bookmark_is_kept_and_no_problem(run, address, data):
    path = data / "bookmarks" / "b.json"
    good = f"{data}: the folder is good\n"
    kept = "kept: 1 deleted bookmark, which can be put back\n"
    for options in ([], ["--repair"]):
        assert run("check", *options, data=data) == (good + kept, "")
    path.unlink()
    assert run("check", data=data) == (good, "")


def test_repair_removes_the_file_of_a_bookmark_that_was_deleted_long_ago(run, address, data):
    path = expire(data)
    assert ask(address, path="/b").status == 410
    assert check(data) == (0, [])
    printed, _ = run("check", data=data)
    assert "kept: 1 deleted bookmark, which --repair removes\n" in printed
    assert check(data, "--repair", "--keep-deleted", "100000") == (0, [])
    run("check", "--repair", "--keep-deleted=-1", data=data, status=1)
    assert path.exists()
    removed = f"{path}: belongs to a deleted bookmark: removed"
    assert check(data, "--repair") == (0, [removed])
    assert not path.exists()
    assert ask(address, path="/b").status == 410
    assert titles(address) == {"a": "a"}


def test_repair_keeps_what_it_cannot_repair_and_repairs_the_rest(address, data):
    folder = data / "bookmarks" / "b.json"
    folder.unlink()
    folder.mkdir()
    (folder / "within").write_text("kept")
    old = write_file(data / "tombstones" / f".x.json.{'0' * 16}.tmp", 2 * HOUR)
    require_findings(repair(data), folder)
    assert (folder / "within").read_text() == "kept"
    assert not old.exists()


def test_check_without_repair_changes_nothing(address, data):
    expire(data)
    write_file(data / "bookmarks" / "cut.json")
    write_file(data / "bookmarks" / f".x.json.{'0' * 16}.tmp", 2 * HOUR)

    def state():
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in data.glob("**/*")}

    before = state()
    assert check(data)[0] == 1
    assert state() == before


@pytest.mark.parametrize("kind", ["bookmarks", "tombstones"])
def test_repair_removes_only_temporary_files_older_than_an_hour(address, data, kind):
    end = f"{'0' * 16}.tmp"
    old = write_file(data / kind / f".old.json.{end}", HOUR + 60)
    young = write_file(data / kind / f".young.json.{end}", HOUR - 60)
    names = ["notes.tmp", f".notes.{end}", f".x.json.{end[1:]}", f"x.json.{end}"]
    others = [write_file(data / kind / name, 2 * HOUR) for name in names]
    _, lines = check(data, "--repair")
    assert not any("young" in line for line in lines)
    assert [path for path in (young, *others) if not path.exists()] == []
    assert not old.exists()
    assert titles(address) == {"a": "a"}


def test_unprintable_characters_of_names_and_ids_add_no_line(address, data):
    content = b'{"id": "x\\n\\u001b", "uri": "", "created": ""}'
    folder = os.fsencode(data / "bookmarks")
    for name in (b"two\nlines.json", b"\xff.json", b"c.json"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    status, lines = check(data)
    assert (status, len(lines)) == (1, 3)
    assert not any("\x1b" in line for line in lines)
    assert titles(address) == {"a": "a"}


def test_a_data_folder_without_a_folder_of_tombstones_is_valid(address, data):
    for folder in ("bookmarks", "tombstones"):
        (data / folder / "b.json").unlink()
    (data / "tombstones").rmdir()
    assert check(data) == (0, [])


def test_a_file_removed_during_the_check_is_no_finding(address, data, monkeypatch):
    path, read = expire(data), files.read

    def remove_and_read(file):
        if file == path:
            path.unlink()
        return read(file)

    monkeypatch.setattr(files, "read", remove_and_read)
    assert storage.check.check(data, 30) == []
    assert not path.exists()


@pytest.mark.parametrize("is_removed", [False, True])
def test_repair_claims_no_removal_of_what_another_program_broke_or_removed(
    address, data, is_removed
):
    path = expire(data)
    findings = storage.check.check(data, 30)
    if is_removed:
        (data / "tombstones" / "b.json").unlink()
        path.unlink()
    else:
        write_file(data / "tombstones" / "b.json")
    assert storage.check.repair(data, findings) == ([], findings)
    assert path.exists() != is_removed


def test_repair_waits_for_the_lock_of_a_writer(address, data, monkeypatch):
    path = expire(data)
    monkeypatch.setattr(lock, "LOCK_SECONDS", 0.1)
    findings = storage.check.check(data, 30)
    with Store(data).transaction(), pytest.raises(Busy):
        storage.check.repair(data, findings)
    assert path.exists()
    assert storage.check.repair(data, findings)[1] == []
    assert not path.exists()
