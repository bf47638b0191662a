"""A corrupt inode makes one bookmark unreadable; all others are served and written."""

import errno
import subprocess

import pytest
from clients import (
    ask,
    check,
    put,
    require_others_usable,
    require_unreadable,
    service_of,
    titles,
)


@pytest.fixture
def disk(mount_image, require_programs):
    require_programs("debugfs")
    return mount_image("ext4")


@pytest.fixture
def data(disk):
    return disk.path / "data"


def corrupt(disk, path):
    """Give the file's inode a wrong checksum while the disk is unmounted."""
    disk.unmount()
    field = f"set_inode_field /{path.relative_to(disk.path)} checksum 0x1234"
    subprocess.run(["debugfs", "-w", "-R", field, disk.source], check=True, capture_output=True)
    disk.mount()
    with pytest.raises(OSError) as raised:
        path.lstat()
    assert raised.value.errno == errno.EBADMSG


@pytest.mark.parametrize("kind, is_running", [("bookmarks", True), ("tombstones", False)])
def test_a_corrupt_inode_affects_only_its_own_file(start, disk, data, kind, is_running):
    service = start(service_of(data))
    for id in ("a", "b", "x"):
        assert put(service.address, id, id).status == 201
    if kind == "tombstones":
        assert ask(service.address, "DELETE", "/x").status == 204
    kept = {"x": "x"} if is_running and kind == "bookmarks" else {}
    assert "a" in titles(service.address)  # Reads the files.
    if not is_running:
        service.stop()
    path = data / kind / "x.json"
    corrupt(disk, path)
    if not is_running:
        service = start(service_of(data))

    require_unreadable(service.address, "x")
    require_others_usable(service.address, **kept)
    require_unreadable(service.address, "x")
    assert service.log.count(str(path)) == 1
    (data / "bookmarks" / "y.json").write_text("{")
    status, lines = check(data, "--repair")
    assert (status, len(lines)) == (1, 2)
    assert sorted(line.partition(": ")[0] for line in lines) == sorted(
        [str(path), str(data / "bookmarks" / "y.json")]
    )
    assert titles(service.address) == {"a": "New", "c": "c"} | kept
