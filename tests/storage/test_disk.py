"""A full, failing or read-only disk: nothing is acknowledged, nothing half appears, reads go on."""

import signal
import threading
import time

import pytest
from clients import ask, faults, put, service_of, temporaries, titles, uri_of

from storage.query import Query
from storage.store import Store

# A failing disk is a running service whose fsync fails, by strace. A folder's fsync is told by the
# folder's path; that of a file without a name can't be, but it is the first of every write.
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


def test_a_file_that_cannot_be_synced_is_not_there(failing, change):
    with faults(failing.services[0].process, *FSYNC_FAILS):
        refuse(change(failing.address))
        failing.require_nothing_changed()
    failing.require_nothing_changed()
    assert change(failing.address).status in (200, 201, 204)


def test_a_folder_that_cannot_be_synced_has_changed_nothing(failing, change, data):
    folders = ["-P", str(data / "bookmarks"), "-P", str(data / "tombstones")]
    if change is CHANGES["delete"]:
        del folders[:2]
    with faults(failing.services[0].process, *FSYNC_FAILS, *folders):
        refuse(change(failing.address))
        failing.require_nothing_changed()
    failing.require_nothing_changed()
    assert change(failing.address).status in (200, 201, 204)


def test_a_deletion_counts_once_its_tombstone_is_on_the_disk(failing, data, start):
    fails = (*FSYNC_FAILS, "-P", str(data / "bookmarks"))
    with faults(failing.services[0].process, *fails):
        assert ask(failing.address, "DELETE", "/old").status == 204
        assert ask(failing.other, path="/old").status == 410
    assert ask(start(service_of(data)).address, path="/old").status == 410


def refuse(answer):
    assert answer.status == 503, answer
    assert "Retry-After" in answer.headers
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.fixture
def slow_failure(failing, data):
    """A service whose folders take a second to sync, and then fail."""
    slow = "inject=fsync:error=EIO:delay_enter=1000000"
    folders = ("-P", str(data / "bookmarks"), "-P", str(data / "tombstones"))
    with faults(failing.services[0].process, "-e", "trace=fsync", "-e", slow, *folders):
        yield failing


@pytest.mark.parametrize("same", [True, False], ids=["the same", "another"])
@pytest.mark.parametrize("id", ["old", "new"])
def test_what_another_process_acknowledged_outlives_a_failing_write(slow_failure, id, same):
    first = threading.Thread(target=lambda: refuse(put(slow_failure.address, id, "New")))
    first.start()
    deadline = time.monotonic() + 5
    while titles(slow_failure.other).get(id) != "New" and first.is_alive():
        assert time.monotonic() < deadline
    wanted = "New" if same else "Newer"
    second = put(slow_failure.other, id, wanted)
    first.join()
    if second.status in (200, 201):
        assert titles(slow_failure.other).get(id) == wanted
    assert titles(slow_failure.other) == titles(slow_failure.address)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_nobody_is_told_of_a_deletion_that_fails(slow_failure, method):
    first = threading.Thread(target=lambda: refuse(ask(slow_failure.address, "DELETE", "/old")))
    first.start()
    deadline = time.monotonic() + 5
    while "old" in titles(slow_failure.other) and first.is_alive():
        assert time.monotonic() < deadline
    told = ask(slow_failure.other, method, "/old").status
    first.join()
    found = ask(slow_failure.other, path="/old").status
    assert (told, found) in ((200, 200), (204, 410), (410, 410), (503, 200))


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
