"""A corrupt inode makes one bookmark unreadable; all others are served and written."""

import errno
import os
import subprocess

import pytest
from clients import ask, check, put, require_others_usable, require_unreadable, service_of, titles


@pytest.mark.parametrize("kind, is_running", [("bookmarks", True), ("tombstones", False)])
def test_a_corrupt_inode_affects_only_its_own_file(
    start, mount_image, require_programs, kind, is_running
):
    require_programs("debugfs")
    disk = mount_image("ext4")
    data = disk.path / "data"
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
    disk.unmount()
    field = f"set_inode_field /data/{kind}/x.json checksum 0x1234"  # A wrong one.
    subprocess.run(["debugfs", "-w", "-R", field, disk.source], check=True, capture_output=True)
    disk.mount()
    with pytest.raises(OSError, match=os.strerror(errno.EBADMSG)):
        path.lstat()
    if not is_running:
        service = start(service_of(data))

    require_unreadable(service.address, "x")
    require_others_usable(service.address, **kept)
    require_unreadable(service.address, "x")
    assert service.log.count(str(path)) == 1
    other = data / "bookmarks" / "y.json"
    other.write_text("{")
    status, lines = check(data, "--repair")
    assert status == 1
    assert {line.partition(": ")[0] for line in lines} == {str(path), str(other)}
    assert titles(service.address) == {"a": "New", "c": "c"} | kept
