"""Read errors: an error of one file affects that file, an error of the process the request."""

import os

import pytest
from clients import (
    ask,
    faults,
    put,
    require_others_usable,
    require_unreadable,
    service_of,
    temporary_files,
    titles,
    uri_of,
)

from tests.conftest import until


def fails(calls, error, *paths):
    of_paths = [option for path in paths for option in ("-P", str(path), "-P", path.name)]
    return ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}", *of_paths]


@pytest.fixture
def service(start, data, require_programs):
    require_programs("strace")
    service = start(service_of(data))
    for id in ("a", "b", "x"):
        assert put(service.address, id, id).status == 201
    return service


# --- Errors of one file ---

# Errors that a network file system, a disk or a corrupt inode gives for one file.
@pytest.mark.parametrize(
    ("calls", "error"), [("openat", "ESTALE"), ("read", "EIO"), ("%%stat", "EBADMSG")]
)
def test_an_error_of_one_file_affects_only_that_file(service, data, calls, error):
    """Lists have x meanwhile, as it was read last."""
    path = data / "bookmarks" / "x.json"
    assert titles(service.address) == {"a": "a", "b": "b", "x": "x"}
    with faults(service.process, *fails(calls, error, path)):
        os.utime(path)
        require_unreadable(service.address, "x")
        require_others_usable(service.address, x="x")
        require_unreadable(service.address, "x")
    assert service.log.count(str(path)) == 1
    os.utime(path)
    assert titles(service.address) == {"a": "New", "c": "c", "x": "x"}
    until(lambda: ask(service.address, path="/x").status == 200)


# --- Errors of the process ---

WRITES = {
    "create": lambda address: put(address, "c", "New"),
    "update": lambda address: put(address, "a", "New"),
    "delete": lambda address: ask(address, "DELETE", "/b"),
    "import": lambda address: ask(
        address, "POST", "/-/import", [{"uri": uri_of("d"), "title": "New"}]
    ),
}


def test_a_write_that_cannot_open_a_folder_fails_and_changes_nothing(inotify, service, data):
    folders = [data / "bookmarks", data / "tombstones"]
    before = {path: path.read_bytes() for path in data.glob("*/*")}
    with faults(service.process, *fails("openat", "EMFILE", *folders)):
        for write in WRITES.values():
            response = write(service.address)
            assert response.status == 503 and "Retry-After" in response.headers
        assert titles(service.address) == {"a": "a", "b": "b", "x": "x"}
    assert {path: path.read_bytes() for path in data.glob("*/*")} == before
    assert [write(service.address).status for write in WRITES.values()] == [201, 200, 204, 200]
    assert sorted(titles(service.address).values()) == ["New", "New", "New", "x"]
    assert temporary_files(data) == []
