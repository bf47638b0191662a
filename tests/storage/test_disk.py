"""On a full, failing or read-only disk no change is acknowledged or half made, and reads go on."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from clients import (
    ask,
    faults,
    put,
    require_whole,
    service_of,
    temporaries,
    titles,
    uri_of,
    whole,
)

from storage.query import Query
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
    """One request that would change the collection."""
    return request.param


def contents(data):
    """Every file of the folder, by name."""
    return {path: path.read_bytes() for path in data.glob("*/*")}


class Witness:
    """Two services on a folder with one bookmark, and all that either shows of it."""

    def __init__(self, start, data):
        self.data = data
        self.services = [start(service_of(data)), start(service_of(data))]
        self.address, self.other = [service.address for service in self.services]
        assert put(self.address, "old", "Old", description="as it was").status == 201
        self.before = self._all()

    def require_nothing_changed(self):
        assert self._all() == self.before
        assert temporaries(self.data) == []

    def _all(self):
        paths = ("/", "/old", "/old/title", "/new", "/feed")
        seen = [ask(a, path=path) for a in (self.address, self.other) for path in paths]
        shown = [(a.status, a.headers.get("ETag")) for a in seen]
        return shown, titles(self.address), titles(self.other), contents(self.data)


# --- A full disk ---


@pytest.fixture
def small(mount):
    return mount("-t", "tmpfs", "-o", "size=256k", "none")


def fill(disk):
    """Leaves no room on the disk; the file that takes it."""
    ballast = disk.path / "ballast"
    with pytest.raises(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def test_a_full_disk_changes_nothing_until_there_is_room(small, start, change):
    witness = Witness(start, small.path / "data")
    ballast = fill(small)
    answer = change(witness.address)
    assert (answer.status, answer.headers["Content-Type"]) == (507, "application/problem+json")
    witness.require_nothing_changed()
    ballast.unlink()
    assert change(witness.address).status in (200, 201, 204)


def test_writers_that_fill_the_disk_lose_nothing_that_was_acknowledged(small, start):
    address = start(service_of(small.path / "data")).address
    kept = {}
    for number in range(100):
        answer = put(address, f"b{number}", f"{number}", description="x" * 10_000)
        if answer.status == 507:
            break
        assert answer.status == 201
        kept[f"b{number}"] = f"{number}"
    assert 5 < len(kept) < 100
    assert titles(address) == kept
    assert titles(start(service_of(small.path / "data")).address) == kept


# --- A failing disk ---


@pytest.fixture
def failing(start, data, require_programs):
    require_programs("strace")
    return Witness(start, data)


def test_a_change_whose_file_cannot_be_synced_is_refused_and_not_made(failing, change):
    with faults(failing.services[0].process, *FSYNC_FAILS):
        require_refused(change(failing.address))
        failing.require_nothing_changed()
    failing.require_nothing_changed()
    assert change(failing.address).status in (200, 201, 204)


def test_a_change_whose_folder_cannot_be_synced_is_refused_and_made_whole_or_not_at_all(
    failing, change, data, start
):
    folders = ["-P", str(data / "bookmarks"), "-P", str(data / "tombstones")]
    if change is CHANGES["delete"]:
        del folders[:2]
    with faults(failing.services[0].process, *FSYNC_FAILS, *folders):
        answer = change(failing.address)
        require_refused(answer)
        assert "may be stored or not" in answer.json["detail"]
    address = start(service_of(data)).address
    outcomes = [outcome(each) for each in (failing.address, failing.other, address)]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0] in (OUTCOMES["before"], OUTCOMES[change])
    require_whole(data)
    assert temporaries(data) == []
    assert change(failing.address).status in (200, 201, 204, 410)
    assert outcome(failing.address) == outcome(failing.other) == OUTCOMES[change]


def folders_of(data, change):
    """Strace's options that name the folders whose sync a change waits for."""
    tombstones = ["-P", str(data / "tombstones")]
    is_deletion = change is CHANGES["delete"]
    return tombstones if is_deletion else [*tombstones, "-P", str(data / "bookmarks")]


def outcome(address):
    """What each of the two ids is now, and the uris and titles that are listed."""
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


READS = ("/", "/old", "/old/title", "/?q=old", "/?format=html", "/feed", "/tags.json")


def test_nobody_else_waits_for_a_folder_that_is_being_synced(failing, change, data):
    before = published(data)
    slow = ("-e", "trace=fsync", "-e", "inject=fsync:delay_enter=3000000")
    process = failing.services[0].process
    with faults(process, *slow, *folders_of(data, change)), ThreadPoolExecutor(1) as pool:
        write = pool.submit(change, failing.address)
        until(lambda: published(data) != before)
        assert not write.done()
        for address in (failing.address, failing.other):
            for path in READS:
                assert asked_quickly(address, path=path).status in (200, 410)
        body = whole(uri_of("another"), "Another")
        assert asked_quickly(failing.other, "PUT", "/another", body).status == 201
        assert write.result().status in (200, 201, 204)


def published(data):
    """Every file that has a name of ours."""
    return {path: path.read_bytes() for path in data.glob("*/[!.]*")}


def asked_quickly(*request, **named):
    start = time.monotonic()
    response = ask(*request, **named)
    assert time.monotonic() - start < 0.5, request
    return response


def require_refused(answer):
    assert answer.status == 503, answer
    assert "Retry-After" in answer.headers
    assert answer.headers["Content-Type"] == "application/problem+json"


# --- A read-only disk ---


@pytest.mark.parametrize("how", [lambda a: a, None], ids=["remounted", "from the start"])
def test_a_read_only_disk_is_read_and_not_written(small, start, change, how):
    witness = Witness(start, small.path / "data")
    if how is None:
        for service in witness.services:
            service.stop(signal.SIGTERM)
    small.remount("ro")
    if how is None:
        witness.address = start(service_of(witness.data)).address
        witness.other = start(service_of(witness.data)).address
    answer = change(witness.address)
    assert answer.status in (503, 507)
    assert "disk" in answer.json["detail"]
    witness.require_nothing_changed()
    small.remount("rw")
    assert change(witness.address).status in (200, 201, 204)


def test_a_read_only_disk_without_tombstones_is_read(small, start):
    """Such as a clone of a git repository, which has no empty folders."""
    data = small.path / "data"
    assert put(start(service_of(data)).address, "a", "A").status == 201
    (data / "tombstones").rmdir()
    small.remount("ro")
    assert [bookmark.id for bookmark in Store(data).select(Query()).bookmarks] == ["a"]
    address = start(service_of(data)).address
    assert titles(address) == {"a": "A"}
    assert ask(address, "DELETE", "/a").status == 503
    small.remount("rw")
    assert ask(address, "DELETE", "/a").status == 204
    assert ask(address, path="/a").status == 410
