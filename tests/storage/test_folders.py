"""New folders have mode 0700, because every user who can read a folder can hold its lock."""

import stat

import pytest
from clients import ask, put, service_of

FOLDERS = ("", "bookmarks", "tombstones")


def modes(data):
    return [stat.S_IMODE((data / name).stat().st_mode) for name in FOLDERS]


@pytest.mark.parametrize("umask", ["000", "027"])
def test_new_folders_have_mode_0700_and_files_follow_the_umask(start, data, umask):
    command = ["sh", "-c", f'umask {umask}; exec "$@"', "sh", *service_of(data)]
    address = start(command).address
    assert modes(data) == [0o700, 0o700, 0o700]
    assert put(address, "a", "A").status == 201
    mode = (data / "bookmarks" / "a.json").stat().st_mode
    assert stat.S_IMODE(mode) == 0o666 & ~int(umask, 8)
    (data / "tombstones").rmdir()
    assert ask(address, "DELETE", "/a").status == 204
    assert modes(data) == [0o700, 0o700, 0o700]


def test_existing_folders_keep_their_modes(start, data):
    for name in FOLDERS:
        (data / name).mkdir(parents=True, exist_ok=True)
        (data / name).chmod(0o750)
    assert put(start(service_of(data)).address, "a", "A").status == 201
    assert modes(data) == [0o750, 0o750, 0o750]
