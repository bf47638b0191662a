"""A full, failing or read-only disk: no change is acknowledged or half made, reads succeed."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup
from clients import (
    ask,
    bookmarks_of,
    faults,
    put,
    put_body,
    require_whole,
    service_of,
    temporary_files,
    titles,
    uri_of,
)

from storage.store import Store
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


@pytest.fixture(params=CHANGES.values(), ids=CHANGES)
def change(request):
    """A function that sends one request that changes the collection."""
    return request.param


def contents(data):
    """Return the content of every file in the data folder, by path."""
    return {path: path.read_bytes() for path in data.glob("*/*")}


class Pair:
    """Two services on one folder with one bookmark, and the responses of both."""

    def __init__(self, start, data):
        self.data = data
        self.services = [start(service_of(data)), start(service_of(data))]
        self.address, self.other = [service.address for service in self.services]
        assert put(self.address, "old", "Old", description="as it was").status == 201
        self.before = self._observe()

    def require_nothing_changed(self):
        assert self._observe() == self.before
        assert temporary_files(self.data) == []

    def _observe(self):
        paths = ("/", "/old", "/old/title", "/new", "/feed")
        responses = [ask(a, path=path) for a in (self.address, self.other) for path in paths]
        validators = [(r.status, r.headers.get("ETag")) for r in responses]
        return validators, titles(self.address), titles(self.other), contents(self.data)


# --- A full disk ---


@pytest.fixture
def small(mount):
    return mount("-t", "tmpfs", "-o", "size=256k", "none")


def fill(disk):
    """Fill the disk; return the file that takes the space."""
    ballast = disk.path / "ballast"
    with pytest.raises(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def test_a_write_to_a_full_disk_is_507_and_changes_nothing(small, start, change):
    pair = Pair(start, small.path / "data")
    ballast = fill(small)
    response = change(pair.address)
    assert (response.status, response.headers["Content-Type"]) == (507, "application/problem+json")
    pair.require_nothing_changed()
    ballast.unlink()
    assert change(pair.address).status in (200, 201, 204)


def test_writes_that_fill_the_disk_lose_no_acknowledged_write(small, start):
    address = start(service_of(small.path / "data")).address
    acknowledged = {}
    for number in range(100):
        response = put(address, f"b{number}", f"{number}", description="x" * 10_000)
        if response.status == 507:
            break
        assert response.status == 201
        acknowledged[f"b{number}"] = f"{number}"
    assert 5 < len(acknowledged) < 100
    assert titles(address) == acknowledged
    assert titles(start(service_of(small.path / "data")).address) == acknowledged


# --- A failing disk ---


@pytest.fixture
def failing(start, data, require_programs):
    require_programs("strace")
    return Pair(start, data)


def test_a_change_whose_file_cannot_be_synced_is_503_and_not_made(failing, change):
    with faults(failing.services[0].process, *FSYNC_FAILS):
        require_refused(change(failing.address))
        failing.require_nothing_changed()
    failing.require_nothing_changed()
    assert change(failing.address).status in (200, 201, 204)


def test_a_change_whose_folder_cannot_be_synced_is_503_and_atomic(
    failing, change, data, start
):
    folders = ["-P", str(data / "bookmarks"), "-P", str(data / "tombstones")]
    if change is CHANGES["delete"]:
        del folders[:2]
    with faults(failing.services[0].process, *FSYNC_FAILS, *folders):
        response = change(failing.address)
        require_refused(response)
        assert "may be stored or not" in response.json["detail"]
    address = start(service_of(data)).address
    outcomes = [outcome(each) for each in (failing.address, failing.other, address)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0] in (OUTCOMES["before"], OUTCOMES[change])
    require_whole(data)
    assert temporary_files(data) == []
    assert change(failing.address).status in (200, 201, 204, 410)
    assert outcome(failing.address) == outcome(failing.other) == OUTCOMES[change]


def folders_of(data, change):
    """Return strace's options that select the folders whose sync a change waits for."""
    tombstones = ["-P", str(data / "tombstones")]
    is_deletion = change is CHANGES["delete"]
    return tombstones if is_deletion else [*tombstones, "-P", str(data / "bookmarks")]


def outcome(address):
    """Return the status of both ids, and the listed uris and titles."""
    statuses = [ask(address, path=f"/{id}").status for id in ("old", "new")]
    listed = ask(address).json
    return statuses, sorted((bookmark["uri"], bookmark["title"]) for bookmark in listed)


OLD = (uri_of("old"), "Old")
OUTCOMES = {
    "before": ([200, 404], [OLD]),
    CHANGES["create"]: ([200, 200], [(uri_of("new"), "New"), OLD]),
    CHANGES["create through POST"]: ([200, 404], [(uri_of("new"), uri_of("new")), OLD]),
    CHANGES["update"]: ([200, 404], [(uri_of("old"), "New")]),
    CHANGES["update of a field"]: ([200, 404], [(uri_of("old"), "New")]),
    CHANGES["delete"]: ([410, 404], []),
}


def test_a_deletion_is_acknowledged_once_its_tombstone_is_durable(failing, data, start):
    fails = (*FSYNC_FAILS, "-P", str(data / "bookmarks"))
    with faults(failing.services[0].process, *fails):
        assert ask(failing.address, "DELETE", "/old").status == 204
        assert ask(failing.other, path="/old").status == 410
    assert ask(start(service_of(data)).address, path="/old").status == 410


# --- Pages about a failing disk ---

FORMS = {
    "delete one": ("/-/delete/b0", {}),
    "delete several": ("/-/selected", {"do": "delete"}),
    "add tags": ("/-/selected", {"do": "add", "tags": "new"}),
    "remove tags": ("/-/selected", {"do": "remove", "tags": "x"}),
    "mark as read": ("/-/read/b0", {}),
    "add tags to a list": ("/-/retag", {"tag": "x", "expected": "3", "do": "add", "tags": "new"}),
    "rename a tag": ("/-/tags", {"tag": "x", "expected": "3", "do": "rename", "tags": "new"}),
    "add": ("/-/add", {"uri": uri_of("new"), "title": "New"}),
}


def fill_and_send(address, count, path, fields):
    """Add bookmarks, then return a function that sends a form of the page about them."""
    ids = [f"b{n}" for n in range(count)]
    entries = [{"id": id, "uri": uri_of(id), "tags": ["x", "unread"]} for id in ids]
    assert ask(address, "POST", "/-/import", entries).json["created"] == count
    page = ask(address, path=f"/?format=html&limit={count}").body.decode()
    sent = [*fields.items(), *[("selected", id) for id in ids]]
    sent.append(("_shown", re.search('name="_shown" value="([^"]*)"', page)[1]))
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    return lambda: ask(address, "POST", path, urlencode(sent).encode(), **headers)


def heading_and_text(response):
    """Return the heading of a page and its main text."""
    main = BeautifulSoup(response.body, "html.parser").main
    return main.h1.text, main.text


@pytest.mark.parametrize(("path", "fields"), FORMS.values(), ids=FORMS)
def test_a_page_says_that_the_outcome_is_unknown_if_a_folder_cannot_be_synced(
    start, data, require_programs, path, fields
):
    require_programs("strace")
    service = start(service_of(data))
    send = fill_and_send(service.address, 3, path, fields)
    folders = ("-P", str(data / "bookmarks"), "-P", str(data / "tombstones"))
    with faults(service.process, *FSYNC_FAILS, *folders):
        response = send()
    assert response.status == 503
    heading, text = heading_and_text(response)
    assert heading == "This may be done or not"
    assert "The change may be stored or not" in text and "not done yet" not in text
    require_whole(data)


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        (*FORMS["delete several"], "200 bookmarks deleted"),
        (*FORMS["add tags"], "200 bookmarks changed"),
        ("/-/retag", FORMS["add tags to a list"][1] | {"expected": "250"}, "200 bookmarks were"),
    ],
)
def test_a_page_says_what_was_stored_before_a_folder_cannot_be_synced(
    start, data, require_programs, path, fields, said
):
    require_programs("strace")
    service = start(service_of(data))
    send = fill_and_send(service.address, 250, path, fields)
    folder = "tombstones" if fields["do"] == "delete" else "bookmarks"
    fails = ("-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=2+", "-P", str(data / folder))
    with faults(service.process, *fails):
        response = send()
    heading, text = heading_and_text(response)
    assert response.status == 503
    assert said in heading + text and "The change may be stored or not" in text
    if "selected" in path:
        assert "Not known to be" in text and "50 bookmarks." in text
    assert (b"/-/restore" in response.body) == (fields["do"] == "delete")


READS = ("/", "/old", "/old/title", "/?q=old", "/?format=html", "/feed", "/tags.json")


def test_other_requests_do_not_wait_for_the_sync_of_a_folder(failing, change, data):
    before = published(data)
    slow = ("-e", "trace=fsync", "-e", "inject=fsync:delay_enter=3000000")
    process = failing.services[0].process
    with faults(process, *slow, *folders_of(data, change)), ThreadPoolExecutor(1) as pool:
        write = pool.submit(change, failing.address)
        until(lambda: published(data) != before)
        assert not write.done()
        for address in (failing.address, failing.other):
            for path in READS:
                assert ask_quickly(address, path=path).status in (200, 410)
        body = put_body(uri_of("another"), "Another")
        assert ask_quickly(failing.other, "PUT", "/another", body).status == 201
        assert write.result().status in (200, 201, 204)


def published(data):
    """Return the content of every file of a bookmark or tombstone, by path."""
    return {path: path.read_bytes() for path in data.glob("*/[!.]*")}


def ask_quickly(*request, **options):
    """Send a request that must take less than half a second."""
    start = time.monotonic()
    response = ask(*request, **options)
    assert time.monotonic() - start < 0.5, request
    return response


def require_refused(response):
    assert response.status == 503, response
    assert "Retry-After" in response.headers
    assert response.headers["Content-Type"] == "application/problem+json"


# --- A read-only disk ---


@pytest.mark.parametrize("is_restarted", [False, True], ids=["remounted", "from the start"])
def test_a_read_only_disk_is_read_and_not_written(small, start, change, is_restarted):
    pair = Pair(start, small.path / "data")
    if is_restarted:
        for service in pair.services:
            service.stop(signal.SIGTERM)
    small.remount("ro")
    if is_restarted:
        pair.address = start(service_of(pair.data)).address
        pair.other = start(service_of(pair.data)).address
    response = change(pair.address)
    assert response.status in (503, 507)
    assert "disk" in response.json["detail"]
    pair.require_nothing_changed()
    small.remount("rw")
    assert change(pair.address).status in (200, 201, 204)


def test_a_read_only_disk_without_a_folder_of_tombstones_is_read(small, start):
    """A clone of a git repository has no empty folders."""
    data = small.path / "data"
    assert put(start(service_of(data)).address, "a", "A").status == 201
    (data / "tombstones").rmdir()
    small.remount("ro")
    assert [bookmark.id for bookmark in bookmarks_of(Store(data))] == ["a"]
    address = start(service_of(data)).address
    assert titles(address) == {"a": "A"}
    assert ask(address, "DELETE", "/a").status == 503
    small.remount("rw")
    assert ask(address, "DELETE", "/a").status == 204
    assert ask(address, path="/a").status == 410
