"""`bookmarks check` reports what is wrong in the folder and what to do; it loses nothing."""

import json
import os
import time

import pytest
from clients import ask, check, put, service_of, temporaries, titles, uri_of

import storage.check
from storage import files

HOUR = 3600


@pytest.fixture
def address(start, data):
    """A service that holds a, and had b."""
    address = start(service_of(data)).address
    for id in ("a", "b"):
        assert put(address, id, id).status == 201
    assert ask(address, "DELETE", "/b").status == 204
    return address


def leave(path, age=0, content=b"{"):
    """A file as it is left behind, so many seconds ago."""
    path.write_bytes(content)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def interrupt_deletion(data, id="b"):
    """What a crash leaves when the tombstone is on the disk and the file is still there."""
    bookmark = {"id": id, "uri": uri_of(id), "title": id, "created": "2020-01-01T00:00:00Z"}
    return leave(data / "bookmarks" / f"{id}.json", content=json.dumps(bookmark).encode())


def require_findings(found, *paths):
    """One line for each of the files: its path, what is wrong, what to do."""
    status, lines = found
    assert status == (1 if paths else 0)
    assert len(lines) == len(paths)
    for path in paths:
        (line,) = [line for line in lines if line.startswith(f"{path}: ")]
        assert line.count(": ") >= 2


def test_a_correct_folder_has_no_finding(address, data):
    assert check(data) == (0, [])
    assert check(data, "--repair") == (0, [])


def test_an_empty_folder_has_no_finding(start, data):
    start(service_of(data))
    assert check(data) == (0, [])


def test_each_finding_is_one_line_that_says_what_to_do(address, data):
    bookmarks, tombstones = data / "bookmarks", data / "tombstones"
    findings = [
        interrupt_deletion(data),
        leave(bookmarks / "cut.json"),
        leave(bookmarks / "Strange.json"),
        leave(tombstones / "cut.json"),
        leave(bookmarks / f".x.json.{'0' * 16}.tmp", 2 * HOUR),
        leave(tombstones / f".x.json.{'0' * 16}.tmp", 2 * HOUR),
    ]
    require_findings(check(data), *findings)
    remaining = [findings[1], findings[2], findings[3]]
    require_findings(check(data, "--repair"), *remaining)
    require_findings(check(data), *remaining)
    assert titles(address) == {"a": "a"}


def test_a_twin_is_reported_by_name(address, data):
    twin = {"id": "c", "uri": uri_of("a"), "created": "2020-01-01T00:00:00Z"}
    path = leave(data / "bookmarks" / "c.json", content=json.dumps(twin).encode())
    require_findings(check(data), path)
    assert "a.json" in check(data, "--repair")[1][0]


def test_a_conflict_file_of_syncthing_is_reported_as_one_and_stays(address, data):
    path = data / "bookmarks" / "a.sync-conflict-20240101-120000-ABCDEF7.json"
    leave(path, content=(data / "bookmarks" / "a.json").read_bytes())
    require_findings(check(data, "--repair"), path)
    assert "another version of a.json, which Syncthing kept" in check(data)[1][0]
    assert titles(address) == {"a": "a"}


def test_repair_finishes_a_deletion_that_was_interrupted(address, data):
    path = interrupt_deletion(data)
    assert ask(address, path="/b").status == 410
    require_findings(check(data), path)
    assert path.exists()
    assert check(data, "--repair") == (0, [])
    assert not path.exists()
    assert ask(address, path="/b").status == 410
    assert titles(address) == {"a": "a"}


def test_repair_leaves_a_finding_it_cannot_repair_and_repairs_the_others(address, data):
    folder = data / "bookmarks" / "b.json"
    folder.mkdir()
    (folder / "within").write_text("kept")
    old = leave(data / "tombstones" / f".x.json.{'0' * 16}.tmp", 2 * HOUR)
    require_findings(check(data, "--repair"), folder)
    assert (folder / "within").read_text() == "kept"
    assert not old.exists()


def test_check_alone_changes_nothing(address, data):
    interrupt_deletion(data)
    leave(data / "bookmarks" / "cut.json")
    leave(data / "bookmarks" / f".x.json.{'0' * 16}.tmp", 2 * HOUR)
    before = {path: path.stat() for path in data.glob("**/*")}
    assert check(data)[0] == 1
    after = {path: path.stat() for path in data.glob("**/*")}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()
    }


STRANGERS = [
    "notes.tmp",
    f".notes.{'0' * 16}.tmp",
    f".x.json.{'0' * 15}.tmp",
    f"x.json.{'0' * 16}.tmp",
]


def sweep_by_check(data, start):
    check(data, "--repair")


def sweep_by_start(data, start):
    start(service_of(data))


@pytest.mark.parametrize("sweep", [sweep_by_check, sweep_by_start], ids=["check", "start"])
def test_only_temporary_files_older_than_an_hour_are_removed(address, data, start, sweep):
    folders = (data / "bookmarks", data / "tombstones")
    for folder in folders:
        leave(folder / f".old.json.{'0' * 16}.tmp", HOUR + 60)
    kept = [
        leave(folder / f".young.json.{'0123456789abcdef'}.tmp", HOUR - 60) for folder in folders
    ]
    kept += [leave(data / "bookmarks" / name, 2 * HOUR) for name in STRANGERS]
    sweep(data, start)
    assert [path for path in kept if not path.exists()] == []
    assert [path for path in temporaries(data) if "old" in path.name] == []
    assert titles(address) == {"a": "a"}


def test_a_temporary_file_that_is_young_is_no_finding(address, data):
    leave(data / "bookmarks" / f".x.json.{'0' * 16}.tmp", HOUR - 60)
    assert check(data) == (0, [])


@pytest.mark.parametrize("name", ["two\nlines.json", b"\xff.json"], ids=["line break", "no UTF-8"])
def test_a_name_that_cannot_be_printed_is_one_line_too(address, data, name):
    with open(os.path.join(os.fsencode(data / "bookmarks"), os.fsencode(name)), "wb"):
        pass
    status, lines = check(data)
    assert (status, len(lines)) == (1, 1)
    assert titles(address) == {"a": "a"}


def test_an_id_inside_a_file_cannot_add_a_line(address, data):
    leave(data / "bookmarks" / "c.json", content=b'{"id": "x\\n\\u001b", "uri": "", "created": ""}')
    require_findings(check(data), data / "bookmarks" / "c.json")
    assert "\x1b" not in check(data)[1][0]


def test_a_folder_without_tombstones_is_checked(address, data):
    (data / "tombstones" / "b.json").unlink()
    (data / "tombstones").rmdir()
    assert check(data) == (0, [])


def test_the_index_of_an_earlier_version_is_reported_and_removed(address, data):
    path = leave(data / "snapshot.index")
    require_findings(check(data), path)
    assert check(data, "--repair") == (0, [])
    assert not path.exists()
    assert titles(address) == {"a": "a"}


def test_a_file_that_is_removed_during_the_check_is_no_finding(address, data, monkeypatch):
    path, read = interrupt_deletion(data), files.read

    def read_or_gone(file):
        if file == path:
            path.unlink()
        return read(file)

    monkeypatch.setattr(files, "read", read_or_gone)
    assert storage.check.check(data) == []
    assert not path.exists()
