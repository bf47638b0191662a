"""A full, failing or read-only disk: no change is acknowledged or half made, reads succeed."""

import errno
import itertools
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from clients import (
    ask,
    ask_within,
    faults,
    put,
    put_body,
    require_whole,
    service_of,
    temporary_files,
    titles,
    uri_of,
)

from tests.conftest import until

# strace makes fsync fail in a running service. It selects a folder's fsync by the folder's path. A
# file without a name has no path, but its fsync is the first of every write.
FSYNC_FAILS = ("-e", "trace=fsync", "-e", "inject=fsync:error=EIO")

CHANGES = {
    "create": lambda address: put(address, "new", "New"),
    "create through POST": lambda address: ask(address, "POST", "/", {"uri": uri_of("new")}),
    "update": lambda address: put(address, "old", "New", description="x" * 5000),
    "update of a field": lambda address: ask(address, "PUT", "/old/title", "New"),
    "delete": lambda address: ask(address, "DELETE", "/old"),
}
OLD, NEW = (uri_of("old"), "Old"), (uri_of("new"), "New")
# The statuses of both ids after a change, and the listed uris and titles.
OUTCOMES = {
    "create": ([200, 200], [NEW, OLD]),
    "update": ([200, 404], [(uri_of("old"), "New")]),
    "delete": ([410, 404], []),
}


class Pair:
    """Two services on one folder with one bookmark, and the responses of both."""

    def __init__(self, start, data):
        self.data = data
        self.services = [start(service_of(data)), start(service_of(data))]
        self.address, self.other = [service.address for service in self.services]
        assert put(self.address, "old", "Old", description="as it was").status == 201
        self.before = self._observe()

    def require_refuses_all(self, *statuses):
        for send in CHANGES.values():
            response = send(self.address)
            assert response.status in statuses, response
            assert response.headers["Content-Type"] == "application/problem+json"
            assert response.status == 507 or "Retry-After" in response.headers
            assert "disk" in response.json["detail"]
            self.require_nothing_changed()

    def require_accepts_all(self):
        for send in CHANGES.values():
            assert send(self.address).status in (200, 201, 204)

    def require_nothing_changed(self):
        assert self._observe() == self.before
        assert temporary_files(self.data) == []

    def _observe(self):
        paths = ("/", "/old", "/old/title", "/new", "/feed")
        responses = [ask(a, path=path) for a in (self.address, self.other) for path in paths]
        validators = [(r.status, r.headers.get("ETag")) for r in responses]
        contents = {path: path.read_bytes() for path in self.data.glob("*/*")}
        return validators, titles(self.address), titles(self.other), contents


# --- A full disk ---

@pytest.fixture
def small(mount):
    return mount("-t", "tmpfs", "-o", "size=256k", "none")


def fill(disk):
    ballast = disk.path / "ballast"
    with pytest.raises(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def test_a_write_to_a_full_disk_is_507_and_changes_nothing(small, start):
    pair = Pair(start, small.path / "data")
    ballast = fill(small)
    pair.require_refuses_all(507)
    ballast.unlink()
    pair.require_accepts_all()


# --- A failing disk ---

@pytest.fixture
def failing(start, data, require_programs):
    require_programs("strace")
    return Pair(start, data)


def test_a_change_whose_file_cannot_be_synced_is_503_and_not_made(failing):
    with faults(failing.services[0].process, *FSYNC_FAILS):
        failing.require_refuses_all(503)
    failing.require_nothing_changed()
    failing.require_accepts_all()


@pytest.mark.parametrize("change", OUTCOMES)
def test_a_change_whose_folder_cannot_be_synced_is_503_and_atomic(failing, change, data, start):
    before = outcome(failing.address)
    send, done = CHANGES[change], OUTCOMES[change]
    with faults(failing.services[0].process, *FSYNC_FAILS, *folder_of(data, change)):
        response = send(failing.address)
        assert response.status == 503 and "Retry-After" in response.headers
        assert "may be stored or not" in response.json["detail"]
    address = start(service_of(data)).address
    outcomes = [outcome(each) for each in (failing.address, failing.other, address)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0] in (before, done)
    require_whole(data)
    assert temporary_files(data) == []
    assert send(failing.address).status in (200, 201, 204, 410)
    assert outcome(failing.address) == outcome(failing.other) == done


def folder_of(data, change):
    """Return strace's options that select the folder whose sync a change waits for."""
    return "-P", str(data / ("tombstones" if change == "delete" else "bookmarks"))


def outcome(address):
    statuses = [ask(address, path=f"/{id}").status for id in ("old", "new")]
    return statuses, sorted((each["uri"], each["title"]) for each in ask(address).json)


def test_a_deletion_is_acknowledged_once_its_tombstone_is_durable(failing, data, start):
    fails = (*FSYNC_FAILS, "-P", str(data / "bookmarks"))
    with faults(failing.services[0].process, *fails):
        assert ask(failing.address, "DELETE", "/old").status == 204
        assert ask(failing.other, path="/old").status == 410
    assert ask(start(service_of(data)).address, path="/old").status == 410


# --- Pages about a failing disk ---

ADD = {"do": "add", "tags": "new"}


@pytest.fixture
def send_form(app, data, monkeypatch):
    """Return a function that sends a form of the page while syncs of a folder fail.

    The first `synced` syncs of the folder succeed.
    """

    def send_form(path, fields, count, folder="", synced=0):
        ids = [f"b{n}" for n in range(count)]
        entries = [{"id": id, "uri": uri_of(id), "tags": ["x", "unread"]} for id in ids]
        assert app.post_json("/-/import", entries).json["created"] == count
        page = app.get(f"/?format=html&limit={count}").text
        sent = [*fields.items(), *[("selected", id) for id in ids]]
        sent.append(("_shown", re.search('name="_shown" value="([^"]*)"', page)[1]))
        fsync, syncs = os.fsync, itertools.count()

        def fail_for_folder(descriptor):
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            if is_folder and os.readlink(f"/proc/self/fd/{descriptor}").endswith(folder):
                if next(syncs) >= synced:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", fail_for_folder)
        response = app.post(path, sent, headers={"Accept": "text/html"}, status=503)
        require_whole(data)
        return response

    return send_form


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/-/add", {"uri": uri_of("new"), "title": "New"}),
        ("/-/delete/b0", {}),
        ("/-/read/b0", {}),
        ("/-/selected", {"do": "delete"}),
        ("/-/selected", ADD),
        ("/-/retag", ADD | {"tag": "x", "expected": "3"}),
        ("/-/tags", {"tag": "x", "expected": "3", "do": "rename", "tags": "new"}),
    ],
)
def test_a_page_says_the_outcome_is_unknown_if_a_folder_cannot_be_synced(send_form, path, fields):
    page = send_form(path, fields, count=3).html.main
    assert page.h1.text == "This may be done or not"
    assert "The change may be stored or not" in page.text and "not done yet" not in page.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"do": "delete"}, "200 bookmarks deleted"),
        (ADD, "200 bookmarks changed"),
    ],
)
def test_a_page_says_what_was_stored_before_a_folder_cannot_be_synced(send_form, fields, said):
    folder = "tombstones" if fields["do"] == "delete" else "bookmarks"
    response = send_form("/-/selected", fields, count=250, folder=folder, synced=1)
    text = response.html.main.text
    assert said in text and "The change may be stored or not" in text
    assert "50 bookmarks not known to be" in text
    assert ("/-/restore" in response.text) == (fields["do"] == "delete")


@pytest.mark.parametrize("change", ["update", "delete"])
def test_other_requests_do_not_wait_for_the_sync_of_a_folder(failing, change, data):
    def published():
        return {path: path.read_bytes() for path in data.glob("*/[!.]*")}

    before = published()
    slow = ("-e", "trace=fsync", "-e", "inject=fsync:delay_enter=3000000")
    process = failing.services[0].process
    with faults(process, *slow, *folder_of(data, change)), ThreadPoolExecutor(1) as pool:
        write = pool.submit(CHANGES[change], failing.address)
        until(lambda: published() != before)
        assert not write.done()
        for address in (failing.address, failing.other):
            for path in ("/", "/old", "/old/title", "/?q=old", "/?format=html", "/feed", "/tags"):
                assert ask_within(0.5, address, path=path).status in (200, 410)
        body = put_body(uri_of("another"), "Another")
        assert ask_within(0.5, failing.other, "PUT", "/another", body).status == 201
        assert write.result().status in (200, 201, 204)


# --- A read-only disk ---

def test_a_read_only_disk_is_read_and_not_written(small, start):
    pair = Pair(start, small.path / "data")
    pair.services[1].stop()
    small.remount("ro")
    pair.other = start(service_of(pair.data)).address
    pair.require_refuses_all(503, 507)
    pair.address = pair.other
    pair.require_refuses_all(503, 507)
    small.remount("rw")
    pair.require_accepts_all()


def test_a_read_only_disk_without_a_folder_of_tombstones_is_read(small, start):
    """A clone of a git repository has no empty folders."""
    data = small.path / "data"
    assert put(start(service_of(data)).address, "a", "A").status == 201
    (data / "tombstones").rmdir()
    small.remount("ro")
    assert titles(start(service_of(data)).address) == {"a": "A"}
