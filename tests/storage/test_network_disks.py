"""On a real FUSE file system (sshfs): the warning, and `--one-machine`."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from clients import COMMAND, put, service_of, titles

from tests.conftest import until

SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server")


@pytest.fixture
def mount(tmp_path):
    sftp_server = next(filter(os.path.exists, SFTP_SERVERS), None)
    if not (shutil.which("sshfs") and sftp_server and os.access("/dev/fuse", os.W_OK)):
        pytest.skip("needs sshfs, sftp-server and /dev/fuse")
    folder, connect = tmp_path / "server", tmp_path / "connect"
    folder.mkdir()
    connect.write_text(f"#!/bin/sh\nexec {sftp_server}\n")  # In place of ssh: uses no network.
    connect.chmod(0o700)
    with contextlib.ExitStack() as stack:

        def mount(*options):
            path = stack.enter_context(tempfile.TemporaryDirectory(prefix="bookmarks-sshfs-"))
            names = ",".join([f"ssh_command={connect}", *options])
            command = ["sshfs", "-o", names, f"server:{folder}", path]
            mounted = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if mounted.returncode:
                pytest.skip("cannot mount: " + mounted.stderr.strip())
            unmount = ["fusermount3", "-u", "-z", path]
            stack.callback(partial(subprocess.run, unmount, check=True, timeout=60))
            return Path(path)

        yield mount


def test_a_network_disk_is_warned_about_once_or_trusted_and_followed_with_inotify(start, mount):
    data = mount() / "data"
    service = start(service_of(data))
    for id in "abc":
        assert put(service.address, id, id).status == 201
    until(lambda: "WARNING" in service.log)
    (line,) = [line for line in service.log.splitlines() if "WARNING" in line]
    assert "fuse.sshfs" in line and "no other machine may write" in line
    service.stop()
    for options in ([], ["--one-machine"]):
        command = [*COMMAND, "export", "--data", str(data), *options]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert ("no other machine may write" in result.stderr) == (not options)
    services = [start(service_of(data), BOOKMARKS_ONE_MACHINE="1") for _ in range(2)]
    for number in range(10):
        writer, reader = services[number % 2], services[1 - number % 2]
        assert put(writer.address, f"b{number}", f"B {number}").status == 201
        assert titles(reader.address)[f"b{number}"] == f"B {number}"
    for service in services:
        opened = []
        for link in Path(f"/proc/{service.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # A connection was closed.
                opened.append(os.readlink(link))
        assert opened.count("anon_inode:inotify") == 1
        assert "WARNING" not in service.log
