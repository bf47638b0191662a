"""On a real FUSE file system (sshfs): the warning, `--one-machine`, and two machines at once."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from clients import COMMAND, ask, put, run_together, service_of, titles

from storage.store import Store
from tests.conftest import until

SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server")
TRIES = 30


@pytest.fixture
def mount(tmp_path):
    """Return a function that mounts one folder once more, as another machine would."""
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


def race(services, number):
    """Send a change of the same version to each service at once; return the statuses."""
    tag = ask(services[0].address, path="/a").headers["ETag"]
    changes = [
        partial(ask, each.address, "POST", "/a", {"title": f"{number} {each}"}, If_Match=tag)
        for each in services
    ]
    return sorted(response.status for response in run_together(changes))


def test_the_start_says_once_that_no_other_machine_may_write(start, mount):
    service = start(service_of(mount() / "data"))
    for id in "abc":
        assert put(service.address, id, id).status == 201
    until(lambda: "WARNING" in service.log)
    (line,) = [line for line in service.log.splitlines() if "WARNING" in line]
    assert "fuse.sshfs" in line and "no other machine may write" in line


@pytest.mark.parametrize("command", [["export"], ["tag", "--tag", "x", "--add", "y"]])
def test_the_other_commands_trust_one_machine_too(mount, command):
    data = mount() / "data"
    Store(data)
    for options in ([], ["--one-machine"]):
        arguments = [*COMMAND, *command, "--data", str(data), *options]
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0
        assert ("no other machine may write" in result.stderr) == (not options)


def count_of_inotify_instances(process):
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    return [os.readlink(link) for link in links].count("anon_inode:inotify")


def test_two_processes_of_one_machine_lose_nothing_with_inotify(start, mount):
    data = mount() / "data"
    services = [start(service_of(data), BOOKMARKS_ONE_MACHINE="1") for _ in range(2)]
    assert put(services[0].address, "a", "Old").status == 201
    for number in range(TRIES):
        writer, reader = services[number % 2], services[1 - number % 2]
        assert put(writer.address, f"b{number}", f"B {number}").status == 201
        assert titles(reader.address)[f"b{number}"] == f"B {number}"
        assert race(services, number) == [200, 412]
        assert len({titles(service.address)["a"] for service in services}) == 1
    assert [count_of_inotify_instances(service.process) for service in services] == [1, 1]
    assert len(titles(services[0].address)) == TRIES + 1
    assert "WARNING" not in services[0].log
