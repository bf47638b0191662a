"""Read errors: an error of one file affects that file, an error of the process the request."""

import os
import subprocess
import time

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

# Errors that a disk, a network file system or a lease gives for one file.
OF_ONE_FILE = [
    ("openat", "EIO"), ("openat", "ESTALE"), ("openat", "EAGAIN"), ("read", "EBADMSG"),
    ("%%stat", "EIO"),
]  # fmt: skip
# The limit applies only to processes in the new user namespace.
_LIMIT = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'
WITHOUT_INOTIFY = ["unshare", "--map-root-user", "sh", "-c", _LIMIT, "sh"]


def fails(calls, error, *paths):
    """Return strace's options that make system calls on these paths fail."""
    of_paths = [option for path in paths for option in ("-P", str(path), "-P", path.name)]
    return ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}", *of_paths]


@pytest.fixture
def service(start, data, require_programs):
    require_programs("strace")
    service = start(service_of(data))
    for id in ("a", "b", "x"):
        assert put(service.address, id, id).status == 201
    return service


@pytest.fixture
def path(service, data):
    return data / "bookmarks" / "x.json"


# --- Errors of one file ---


def require_affects_one_file(service, path, fault):
    """Make x unreadable by the fault; require that a and b are served, and x again afterwards.

    Lists have x meanwhile, as it was read last.
    """
    assert titles(service.address) == {"a": "a", "b": "b", "x": "x"}
    with faults(service.process, *fault):
        os.utime(path)
        require_unreadable(service.address, "x")
        require_others_usable(service.address, x="x")
        require_unreadable(service.address, "x")
    assert service.log.count(str(path)) == 1
    os.utime(path)
    assert titles(service.address) == {"a": "New", "c": "c", "x": "x"}
    until(lambda: ask(service.address, path="/x").status == 200)


@pytest.mark.parametrize(("calls", "error"), OF_ONE_FILE)
def test_an_error_of_one_file_affects_only_that_file(service, path, calls, error):
    require_affects_one_file(service, path, fails(calls, error, path))


def test_an_error_of_one_file_affects_only_that_file_without_inotify(
    service, start, data, path, require_programs
):
    require_programs("unshare")
    if subprocess.run([*WITHOUT_INOTIFY, "true"], capture_output=True).returncode:
        pytest.skip("cannot make a user namespace")
    service.stop()
    service = start([*WITHOUT_INOTIFY, *service_of(data)])
    time.sleep(2.1)  # Older files are compared by their times, not read again.
    assert titles(service.address) == {"a": "a", "b": "b", "x": "x"}
    assert "inotify" in service.log
    require_affects_one_file(service, path, fails("%%stat", "EIO", path))


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
