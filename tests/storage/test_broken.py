"""A file that is not a valid bookmark is skipped, reported and never changed."""

import errno
import json
import os
import shutil
import socket
import stat

import pytest
from clients import (
    ask,
    check,
    put,
    put_body,
    require_others_usable,
    require_unreadable,
    service_of,
    titles,
    uri_of,
)

from storage.errors import Unavailable, Unreadable
from storage.store import Store
from tests.conftest import require_program

VALID = {"id": "x", "uri": uri_of("x"), "title": "x", "created": "2020-01-01T00:00:00Z"}
VALID_FILE = json.dumps(VALID).encode()
TOMBSTONE = {"id": "x", "deleted": "2020-01-01T00:00:00Z"}
DEEP = b"[" * 200_000 + b"]" * 200_000


def with_content(content):
    """Return a function that writes these bytes to a file."""
    return lambda path: path.write_bytes(content)


def with_members(value, **changed):
    """Return a function that writes the value as JSON, with some members changed."""
    return with_content(json.dumps({**value, **changed}).encode())


def without(value, name):
    """Return a function that writes the value as JSON, without one member."""
    return with_members({other: value[other] for other in value if other != name})


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            one.bind(f"/proc/self/fd/{folder}/{path.name}")  # The path must be short.
        finally:
            os.close(folder)


def make_link(path):
    target = path.parent.parent / "target"
    target.write_bytes(VALID_FILE)
    path.symlink_to(target)


def make_unreadable(path):
    path.write_bytes(VALID_FILE)
    path.chmod(0)


def make_folder(path):
    path.mkdir()
    (path / "within").write_text("kept")


def make_huge(path):
    path.write_bytes(VALID_FILE[:-1] + b', "more": "' + b"x" * 17 * 1024 * 1024 + b'"}')


ANY_KIND = {
    "cut short": with_content(VALID_FILE[:30]),
    "empty": with_content(b""),
    "binary": with_content(bytes(range(256))),
    "no object": with_content(b"[]"),
    "only nested": with_content(DEEP),
    "a folder": make_folder,
    "a socket": make_socket,
    "a fifo": os.mkfifo,
    "a link": make_link,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "unreadable": make_unreadable,
    "huge": make_huge,
}
BROKEN_BOOKMARKS = {
    **ANY_KIND,
    "another id": with_members(VALID, id="y"),
    "no uri": without(VALID, "uri"),
    "no absolute uri": with_members(VALID, uri="x.example"),
    "a title that is no string": with_members(VALID, title=1),
    "a title that is too long": with_members(VALID, title="x" * 5000),
    "a tag with a comma": with_members(VALID, tags=["a,b"]),
    "no date": with_members(VALID, created="yesterday"),
    "a lone surrogate": with_members(VALID, title="\ud800"),
    "a member name that is not UTF-8": with_content(VALID_FILE[:-1] + b', "\xff": 1}'),
    "a deeply nested member": with_content(VALID_FILE[:-1] + b', "more": ' + DEEP + b"}"),
    "no number": with_content(VALID_FILE[:-1] + b', "more": NaN}'),
}
BROKEN_TOMBSTONES = {
    **ANY_KIND,
    "another id": with_members(TOMBSTONE, id="y"),
    "no date": with_members(TOMBSTONE, deleted=""),
    "no time of deletion": without(TOMBSTONE, "deleted"),
}


@pytest.fixture
def prefix():
    """A command prefix that removes root's permission to read every file."""
    if os.geteuid() != 0:
        return ()
    require_program("setpriv")
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def service(start, data, prefix):
    """A service with the bookmarks a and b."""
    service = start([*prefix, *service_of(data)])
    for id in ("a", "b"):
        assert put(service.address, id, id).status == 201
    return service


def file_state(path):
    """Return the inode, mode, times and content of a file."""
    status = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
    return status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content


def require_skipped(service, data, path, prefix):
    """Require that the invalid file is reported, unchanged, and affects no other bookmark."""
    before = file_state(path)
    require_unreadable(service.address, path.stem)
    require_others_usable(service.address)
    require_unreadable(service.address, path.stem)
    require_reported(data, path, prefix)
    assert file_state(path) == before
    assert service.log.count("is skipped") == 1
    assert service.log.count(str(path)) == 1


def require_reported(data, path, prefix=()):
    """Require that this file is the only finding of `check`, and that it is not repaired."""
    status, lines = check(data, "--repair", prefix=prefix)
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(f"{path}: ")


@pytest.mark.parametrize("damage", BROKEN_BOOKMARKS.values(), ids=BROKEN_BOOKMARKS)
def test_an_invalid_bookmark_file_is_skipped_and_reported(
    inotify, service, data, prefix, damage
):
    path = data / "bookmarks" / "x.json"
    damage(path)
    require_skipped(service, data, path, prefix)
    replace_file(path, VALID_FILE)
    assert titles(service.address) == {"a": "New", "c": "c", "x": "x"}


@pytest.mark.parametrize("has_file", [False, True], ids=["alone", "with its bookmark"])
@pytest.mark.parametrize("damage", BROKEN_TOMBSTONES.values(), ids=BROKEN_TOMBSTONES)
def test_an_invalid_tombstone_is_reported_and_hides_its_bookmark(
    service, data, prefix, damage, has_file
):
    path, bookmark = data / "tombstones" / "x.json", data / "bookmarks" / "x.json"
    if has_file:
        bookmark.write_bytes(VALID_FILE)
    damage(path)
    require_skipped(service, data, path, prefix)
    assert not has_file or bookmark.read_bytes() == VALID_FILE
    replace_file(path, json.dumps(TOMBSTONE).encode())
    assert ask(service.address, path="/x").status == 410


def replace_file(path, content):
    """Replace the file by rename, as an editor does."""
    new = path.parent.parent / "new"
    new.write_bytes(content)
    if path.is_dir():
        shutil.rmtree(path)
    new.rename(path)


@pytest.mark.parametrize("damage", ANY_KIND.values(), ids=ANY_KIND)
def test_a_deleted_id_is_gone_even_if_its_bookmark_file_is_invalid(service, data, damage):
    assert ask(service.address, "DELETE", "/b").status == 204
    path = data / "bookmarks" / "b.json"
    path.unlink()  # The trash keeps it.
    damage(path)
    assert ask(service.address, path="/b").status == 410
    assert put(service.address, "b", "New").status == 410
    assert titles(service.address) == {"a": "a"}


def test_an_invalid_file_stays_invalid_after_a_failure_to_open_files(
    data, monkeypatch
):
    store = Store(data)
    (data / "bookmarks" / "x.json").write_bytes(VALID_FILE[:30])
    for attempt in range(3):
        with monkeypatch.context() as patch, pytest.raises((Unreadable, Unavailable)):
            if attempt == 1:
                patch.setattr(os, "open", refuse_to_open)
            store.get("x")


def refuse_to_open(*_, **__):
    raise OSError(errno.EMFILE, "Too many open files")


def test_bookmarks_are_listed_again_once_their_folder_is_readable_again(
    inotify, start, data, prefix
):
    folder = data / "bookmarks"
    folder.mkdir(parents=True)
    address = start([*prefix, *service_of(data)]).address
    assert [put(address, id, "A").status for id in "ab"] == [201, 201]
    with open(folder / "b.json") as file:
        folder.chmod(0)
        os.utime(file.fileno())
    hidden = titles(address)
    folder.chmod(0o755)
    assert hidden == {"a": "A"}
    assert titles(address) == {"a": "A", "b": "A"}


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


@pytest.mark.parametrize("name", ["X.json", "x.JSON", "x.txt", "feed.json", "é.json"])
def test_a_file_whose_name_is_no_id_is_no_bookmark(service, data, name):
    path = data / "bookmarks" / name
    path.write_bytes(VALID_FILE)
    require_others_usable(service.address)
    assert path.read_bytes() == VALID_FILE
    require_reported(data, path)


@pytest.fixture
def duplicates(service, data):
    """The address of a service with two bookmarks of one uri, of which b is the older."""
    for id, year in (("a", 2020), ("b", 2010)):
        created = f"{year}-01-01T00:00:00Z"
        bookmark = {"id": id, "uri": uri_of("both"), "title": id, "created": created}
        (data / "bookmarks" / f"{id}.json").write_text(json.dumps(bookmark))
    return service.address


def test_two_bookmarks_of_one_uri_are_both_listed_and_reported(duplicates, data):
    assert titles(duplicates) == {"a": "a", "b": "b"}
    assert titles(duplicates, f"/?uri={uri_of('both')}") == {"a": "a", "b": "b"}
    status, lines = check(data)
    assert (status, len(lines)) == (1, 1)
    assert "a.json" in lines[0] and "b.json" in lines[0]


def test_post_updates_the_older_of_two_bookmarks_of_one_uri(duplicates):
    response = ask(duplicates, "POST", "/", {"uri": "HTTPS://both.example:443", "title": "New"})
    assert (response.status, response.json["id"]) == (200, "b")
    assert titles(duplicates) == {"a": "a", "b": "New"}


def test_an_update_that_keeps_a_shared_uri_is_no_conflict(duplicates, data):
    assert ask(duplicates, "PUT", "/a", put_body(uri_of("both"), "New")).status == 200
    assert ask(duplicates, "POST", "/b", {"title": "New"}).status == 200
    assert ask(duplicates, "PUT", "/b/uri", (uri_of("both") + "#").encode()).status == 200
    assert ask(duplicates, "PUT", "/b/uri", uri_of("both").encode()).status == 409
    assert ask(duplicates, "DELETE", "/a").status == 204
    assert check(data) == (0, [])
    assert ask(duplicates, "PUT", "/b/uri", uri_of("both").encode()).status == 200


def test_a_bookmark_cannot_take_a_uri_that_two_others_have(duplicates):
    assert put(duplicates, "c", "c").status == 201
    assert ask(duplicates, "PUT", "/c/uri", uri_of("both").encode()).status == 409
