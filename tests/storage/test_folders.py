"""The folders are the service's user's own: whoever can read a folder can lock out its writers."""

import stat

import pytest
from clients import ask, put, service_of

FOLDERS = ("", "bookmarks", "tombstones")


def modes(data):
    return [stat.S_IMODE((data / name).stat().st_mode) for name in FOLDERS]


def with_umask(umask, command):
    return ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *command]


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_new_folders_are_open_to_their_owner_alone(start, data, umask):
    address = start(with_umask(umask, service_of(data))).address
    assert modes(data) == [0o700, 0o700, 0o700]
    assert put(address, "a", "A").status == 201
    (data / "tombstones").rmdir()
    assert ask(address, "DELETE", "/a").status == 204
    assert modes(data) == [0o700, 0o700, 0o700]


def test_folders_that_are_there_keep_their_modes(start, data):
    for name in FOLDERS:
        (data / name).mkdir(parents=True, exist_ok=True)
        (data / name).chmod(0o750)
    assert put(start(service_of(data)).address, "a", "A").status == 201
    assert modes(data) == [0o750, 0o750, 0o750]
