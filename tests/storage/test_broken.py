"""A file that is no bookmark is skipped, reported, never touched, and in nobody's way."""

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
    require_in_nobodys_way,
    require_unusable,
    service_of,
    titles,
    uri_of,
    whole,
)

from storage.errors import Unavailable, Unreadable
from storage.store import Store

GOOD = {"id": "x", "uri": uri_of("x"), "title": "x", "created": "2020-01-01T00:00:00Z"}
MENDED = json.dumps(GOOD).encode()
TOMBSTONE = {"id": "x", "deleted": "2020-01-01T00:00:00Z"}
DEEP = b"[" * 200_000 + b"]" * 200_000


def holding(content):
    return lambda path: path.write_bytes(content)


def of(value, **changed):
    return holding(json.dumps({**value, **changed}).encode())


def without(value, name):
    return of({other: value[other] for other in value if other != name})


def is_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(path.parent, os.O_RDONLY)  # A socket's path must be short.
        try:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def is_link(path):
    target = path.parent.parent / "target"
    target.write_bytes(MENDED)
    path.symlink_to(target)


def is_forbidden(path):
    path.write_bytes(MENDED)
    path.chmod(0)


def is_folder(path):
    path.mkdir()
    (path / "within").write_text("kept")


def is_huge(path):
    path.write_bytes(MENDED[:-1] + b', "more": "' + b"x" * 17 * 1024 * 1024 + b'"}')


ANY_KIND = {
    "cut short": holding(MENDED[:30]),
    "empty": holding(b""),
    "binary": holding(bytes(range(256))),
    "no object": holding(b"[]"),
    "only nested": holding(DEEP),
    "a folder": is_folder,
    "a socket": is_socket,
    "a fifo": os.mkfifo,
    "a link": is_link,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "forbidden": is_forbidden,
    "huge": is_huge,
}
BROKEN_BOOKMARKS = {
    **ANY_KIND,
    "another id": of(GOOD, id="y"),
    "no uri": without(GOOD, "uri"),
    "no absolute uri": of(GOOD, uri="x.example"),
    "a title that is no string": of(GOOD, title=1),
    "a title that is too long": of(GOOD, title="x" * 5000),
    "a tag with a comma": of(GOOD, tags=["a,b"]),
    "no date": of(GOOD, created="yesterday"),
    "a lone surrogate": of(GOOD, title="\ud800"),
    "no number": holding(MENDED[:-1] + b', "more": NaN}'),
}
BROKEN_TOMBSTONES = {
    **ANY_KIND,
    "another id": of(TOMBSTONE, id="y"),
    "no date": of(TOMBSTONE, deleted=""),
    "no time of deletion": without(TOMBSTONE, "deleted"),
}


@pytest.fixture
def prefix():
    """What takes root's right to read everything from a command."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def service(start, data, prefix):
    """A service that holds a and b."""
    service = start([*prefix, *service_of(data)])
    for id in ("a", "b"):
        assert put(service.address, id, id).status == 201
    return service


def identity(path):
    """What would change if anybody touched the file."""
    status = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
    return status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content


def require_left_alone(service, data, path, prefix):
    """The broken file is in nobody's way, reported once each way, and as it was."""
    before = identity(path)
    require_unusable(service.address, path.stem)
    require_in_nobodys_way(service.address)
    require_unusable(service.address, path.stem)
    require_reported(data, path, prefix)
    assert identity(path) == before
    assert service.log.count("is skipped") == 1
    assert service.log.count(str(path)) == 1


def require_reported(data, path, prefix=()):
    """`check` has one finding, that file, and nothing that it could repair."""
    status, lines = check(data, "--repair", prefix=prefix)
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(f"{path}: ")


@pytest.mark.parametrize("break_it", BROKEN_BOOKMARKS.values(), ids=BROKEN_BOOKMARKS)
def test_a_broken_bookmark_is_left_alone(service, data, prefix, break_it):
    path = data / "bookmarks" / "x.json"
    break_it(path)
    require_left_alone(service, data, path, prefix)
    put_in_place(path, MENDED)
    assert titles(service.address) == {"a": "New", "c": "c", "x": "x"}


@pytest.mark.parametrize("has_file", [False, True], ids=["alone", "with its bookmark"])
@pytest.mark.parametrize("break_it", BROKEN_TOMBSTONES.values(), ids=BROKEN_TOMBSTONES)
def test_a_broken_tombstone_is_left_alone_and_so_is_its_bookmark(
    service, data, prefix, break_it, has_file
):
    path, bookmark = data / "tombstones" / "x.json", data / "bookmarks" / "x.json"
    if has_file:
        bookmark.write_bytes(MENDED)
    break_it(path)
    require_left_alone(service, data, path, prefix)
    assert not has_file or bookmark.read_bytes() == MENDED
    put_in_place(path, json.dumps(TOMBSTONE).encode())
    assert ask(service.address, path="/x").status == 410


def put_in_place(path, content):
    """Mends the file as a person would."""
    swap = path.parent.parent / "swap"
    swap.write_bytes(content)
    if path.is_dir():
        shutil.rmtree(path)
    swap.rename(path)


@pytest.mark.parametrize("break_it", ANY_KIND.values(), ids=ANY_KIND)
def test_a_deleted_id_is_gone_even_if_its_bookmark_file_is_broken(service, data, break_it):
    assert ask(service.address, "DELETE", "/b").status == 204
    break_it(data / "bookmarks" / "b.json")
    assert ask(service.address, path="/b").status == 410
    assert put(service.address, "b", "New").status == 410
    assert titles(service.address) == {"a": "a"}


def test_a_bookmark_with_a_member_nested_deep_is_left_alone(service, data):
    path = data / "bookmarks" / "x.json"
    path.write_bytes(MENDED[:-1] + b', "more": ' + DEEP + b"}")
    require_left_alone(service, data, path, ())


def test_a_broken_file_stays_broken_after_a_moment_in_which_nothing_could_be_read(
    data, monkeypatch
):
    store = Store(data)
    (data / "bookmarks" / "x.json").write_bytes(MENDED[:30])
    for moment in range(3):
        with monkeypatch.context() as patch, pytest.raises((Unreadable, Unavailable)):
            if moment == 1:
                patch.setattr(os, "open", refuse_to_open)
            store.get("x")


def refuse_to_open(*_, **__):
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_data_folder_that_cannot_be_listed_can_be_used(start, data, prefix):
    for folder in ("bookmarks", "tombstones"):
        (data / folder).mkdir(parents=True)
    data.chmod(0o311)
    address = start([*prefix, *service_of(data)]).address
    assert put(address, "a", "A").status == 201
    (data / "bookmarks" / "a.json").unlink()
    assert ask(address, "GET", "/a").status == 404
    data.chmod(0o755)


def test_a_file_hidden_by_its_folders_permissions_is_listed_again_with_them(start, data, prefix):
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


# --- Files that are whole, but not as the service would have made them ---


@pytest.mark.parametrize("name", ["X.json", "x.JSON", "x.txt", "feed.json", "é.json"])
def test_a_file_that_is_not_named_as_a_bookmark_is_none(service, data, name):
    path = data / "bookmarks" / name
    path.write_bytes(MENDED)
    require_in_nobodys_way(service.address)
    assert path.read_bytes() == MENDED
    require_reported(data, path)


@pytest.fixture
def twins(service, data):
    """Two bookmarks of one uri, the second of which is the older one."""
    for id, year in (("a", 2020), ("b", 2010)):
        twin = {"id": id, "uri": uri_of("twin"), "title": id, "created": f"{year}-01-01T00:00:00Z"}
        (data / "bookmarks" / f"{id}.json").write_text(json.dumps(twin))
    return service.address


def test_two_bookmarks_of_one_uri_are_both_listed_and_reported(twins, data):
    assert titles(twins) == {"a": "a", "b": "b"}
    assert titles(twins, f"/?uri={uri_of('twin')}") == {"a": "a", "b": "b"}
    status, lines = check(data)
    assert (status, len(lines)) == (1, 1)
    assert "a.json" in lines[0] and "b.json" in lines[0]


def test_post_updates_the_older_of_two_bookmarks_of_one_uri(twins):
    answer = ask(twins, "POST", "/", {"uri": "HTTPS://twin.example:443", "title": "New"})
    assert (answer.status, answer.json["id"]) == (200, "b")
    assert titles(twins) == {"a": "a", "b": "New"}


def test_an_update_that_leaves_a_shared_uri_alone_is_no_conflict(twins, data):
    assert ask(twins, "PUT", "/a", whole(uri_of("twin"), "New")).status == 200
    assert ask(twins, "POST", "/b", {"title": "New"}).status == 200
    assert ask(twins, "PUT", "/b/uri", (uri_of("twin") + "#").encode()).status == 200
    assert ask(twins, "PUT", "/b/uri", uri_of("twin").encode()).status == 409
    assert ask(twins, "DELETE", "/a").status == 204
    assert check(data) == (0, [])
    assert ask(twins, "PUT", "/b/uri", uri_of("twin").encode()).status == 200


def test_a_bookmark_may_not_move_to_a_uri_that_two_have(twins):
    assert put(twins, "c", "c").status == 201
    assert ask(twins, "PUT", "/c/uri", uri_of("twin").encode()).status == 409
