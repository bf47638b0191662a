"""A file that is not a valid bookmark is skipped, reported and never changed."""

import json
import os
import shutil
import socket
import subprocess

import pytest
from clients import (
    COMMAND,
    ask,
    put,
    put_body,
    require_others_usable,
    require_unreadable,
    service_of,
    titles,
    uri_of,
)

from tests.conftest import require_program

# Root, too, must not be able to read every file.
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") * (os.geteuid() == 0)
DATE = "2020-01-01T00:00:00Z"
DEEP = b"[" * 200_000 + b"]" * 200_000


def valid(path, **changed):
    id = path.stem
    if path.parent.name == "bookmarks":
        members = {"id": id, "uri": uri_of(id), "title": id, "created": DATE}
    else:
        members = {"id": id, "deleted": DATE}
    return json.dumps(members | changed).encode()


def with_content(content):
    return lambda path: path.write_bytes(content)


def with_members(**changed):
    return lambda path: path.write_bytes(valid(path, **changed))


def with_end(end):
    return lambda path: path.write_bytes(valid(path)[:-1] + end)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            one.bind(f"/proc/self/fd/{folder}/{path.name}")  # The path must be short.
        finally:
            os.close(folder)


def make_link(path):
    target = path.parent.parent / "target"
    target.write_bytes(valid(path))
    path.symlink_to(target)


def make_unreadable(path):
    path.write_bytes(valid(path))
    path.chmod(0)


def make_folder(path):
    path.mkdir()
    (path / "within").write_text("kept")


# Functions that make an invalid file, by the id of its bookmark.
ANY_KIND = {
    "cut-short": lambda path: path.write_bytes(valid(path)[:30]),
    "binary": with_content(bytes(range(256))),
    "no-object": with_content(b"[]"),
    "folder": make_folder,
    "socket": make_socket,
    "fifo": os.mkfifo,
    "link": make_link,
    "unreadable": make_unreadable,
    "huge": with_end(b', "more": "' + b"x" * 17 * 1024 * 1024 + b'"}'),
    "another-id": with_members(id="y"),
}
BROKEN_BOOKMARKS = ANY_KIND | {
    "no-uri": with_content(b'{"id": "no-uri", "created": "2020-01-01T00:00:00Z"}'),
    "no-absolute-uri": with_members(uri="x.example"),
    "title-is-no-string": with_members(title=1),
    "title-is-too-long": with_members(title="x" * 5000),
    "no-date": with_members(created="yesterday"),
    "lone-surrogate": with_members(title="\ud800"),
    "name-is-not-utf-8": with_end(b', "\xff": 1}'),
    "deeply-nested-member": with_end(b', "more": ' + DEEP + b"}"),
    "no-number": with_end(b', "more": NaN}'),
}
BROKEN_TOMBSTONES = ANY_KIND | {
    "no-date": with_members(deleted=""),
    "no-member": with_content(b'{"id": "no-member"}'),
}


@pytest.fixture
def service(start, data):
    require_program("setpriv")
    service = start([*UNPRIVILEGED, *service_of(data)])
    for id in ("a", "b"):
        assert put(service.address, id, id).status == 201
    return service


def make_files(folder, kinds, suffix=""):
    paths = {folder / f"{id}{suffix}.json": damage for id, damage in kinds.items()}
    for path, damage in paths.items():
        damage(path)
    return list(paths)


def require_skipped(service, data, paths):
    """Require that each file is reported once, unchanged, and affects no other bookmark."""

    def state():
        contents = [path.read_bytes() for path in paths if path.is_file()]
        return contents, [(path.lstat().st_ino, path.lstat().st_ctime_ns) for path in paths]

    before = state()
    for path in paths:
        require_unreadable(service.address, path.stem)
    require_others_usable(service.address)
    for path in paths:
        assert ask(service.address, path=f"/{path.stem}").status == 503
    require_reported(data, *paths)
    assert state() == before
    assert service.log.count("is skipped") == len(paths)
    assert [service.log.count(str(path)) for path in paths] == [1] * len(paths)


def require_reported(data, *paths):
    command = [*UNPRIVILEGED, *COMMAND, "check", "--repair", "--data", str(data)]
    process = subprocess.run(command, capture_output=True, text=True)
    found = [line.partition(": ")[0] for line in process.stdout.splitlines()]
    found.remove("kept")  # The deleted bookmark b.
    assert (process.returncode, sorted(found)) == (1, sorted(map(str, paths)))


def replace_file(path):
    new = path.parent.parent / "new"
    new.write_bytes(valid(path))
    if path.is_dir():
        shutil.rmtree(path)
    new.rename(path)


def test_invalid_bookmark_files_are_skipped_and_reported(inotify, service, data):
    paths = make_files(data / "bookmarks", BROKEN_BOOKMARKS)
    require_skipped(service, data, paths)
    for path in paths:
        replace_file(path)
    repaired = {path.stem: path.stem for path in paths}
    assert titles(service.address) == {"a": "New", "c": "c", **repaired}


def test_an_invalid_tombstone_is_reported_and_hides_its_bookmark(service, data):
    paths = make_files(data / "tombstones", BROKEN_TOMBSTONES)
    hiding = make_files(data / "tombstones", BROKEN_TOMBSTONES, "-hiding")
    hidden = [data / "bookmarks" / path.name for path in hiding]
    for path in hidden:
        path.write_bytes(valid(path))
    paths += hiding
    require_skipped(service, data, paths)
    assert [path.read_bytes() for path in hidden] == [valid(path) for path in hidden]
    for path in paths:
        replace_file(path)
        assert ask(service.address, path=f"/{path.stem}").status == 410


def test_a_deleted_id_is_gone_even_if_its_file_is_missing_or_invalid(service, data):
    for id in ANY_KIND:
        assert put(service.address, id).status == 201
        assert ask(service.address, "DELETE", f"/{id}").status == 204
        (data / "bookmarks" / f"{id}.json").unlink()  # The trash keeps it.
        assert put(service.address, id, "New").status == 410
    make_files(data / "bookmarks", ANY_KIND)
    for id in ANY_KIND:
        assert ask(service.address, path=f"/{id}").status == 410
        assert put(service.address, id, "New").status == 410
    assert titles(service.address) == {"a": "a", "b": "b"}


def test_bookmarks_are_listed_again_once_their_folder_is_readable_again(inotify, service, data):
    folder = data / "bookmarks"
    with open(folder / "b.json") as file:
        folder.chmod(0)
        os.utime(file.fileno())
    hidden = titles(service.address)
    folder.chmod(0o755)
    assert hidden == {"a": "a"}
    assert titles(service.address) == {"a": "a", "b": "b"}


# --- Valid files that the service would not have written ---

@pytest.mark.parametrize("is_saved", [True, False], ids=["saved", "removed"])
def test_no_bookmark_gets_the_address_of_one_whose_file_is_half_written(service, data, is_saved):
    put(service.address, "a", "A")
    file = data / "bookmarks" / "a.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:30])  # An editor is writing it.
    for method, path, body in [
        ("POST", "/", {"uri": uri_of("a")}),
        ("PUT", "/c", put_body(uri_of("a"))),
        ("POST", "/-/import", [{"uri": uri_of("a")}]),
    ]:
        response = ask(service.address, method, path, body)
        assert b"The file of bookmark a cannot be used" in response.body
        assert response.status == 503 or response.json["skipped"] == 1
    assert titles(service.address) == {"b": "b"}
    if is_saved:
        file.write_bytes(whole)
    else:
        file.unlink()
    expected = 200 if is_saved else 201
    assert ask(service.address, "POST", "/", {"uri": uri_of("a"), "title": "B"}).status == expected
    assert sorted(titles(service.address).values()) == ["B", "b"]


def test_a_file_whose_name_is_no_id_is_no_bookmark(service, data):
    names = ["X.json", "x.JSON", "x.txt", "feed.json", "é.json"]
    paths = [data / "bookmarks" / name for name in names]
    for path in paths:
        path.write_bytes(valid(path))
    require_others_usable(service.address)
    assert [path.read_bytes() for path in paths] == [valid(path) for path in paths]
    require_reported(data, *paths)
