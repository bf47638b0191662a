"""One writer at a time: who can't be had is waited for, 5 seconds; who can't lock doesn't start."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from clients import ask, at_once, put, service_of, titles

HOLD = """
import fcntl, os, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def held(folder):
    """Holds the folder's lock, as another process than the service."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.fixture
def address(start, data):
    """A service that holds a and b."""
    address = start(service_of(data)).address
    for id in ("a", "b"):
        assert put(address, id, "Old").status == 201
    return address


def test_a_lock_that_is_not_had_in_five_seconds_is_503(address, data):
    changes = [
        lambda: put(address, "c", "New"),
        lambda: put(address, "a", "New"),
        lambda: ask(address, "DELETE", "/b"),
    ]
    with held(data / "bookmarks"):
        start = time.monotonic()
        *answers, seen = at_once([*changes, lambda: titles(address)])
        assert 4.5 < time.monotonic() - start < 8
        assert seen == {"a": "Old", "b": "Old"}
        assert titles(address) == {"a": "Old", "b": "Old"}
    assert [answer.status for answer in answers] == [503, 503, 503]
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers)
    assert titles(address) == {"a": "Old", "b": "Old"}
    assert [change().status for change in changes] == [201, 200, 204]


def test_a_lock_that_is_had_in_time_is_waited_for(address, data):
    waiting = threading.Event()

    def hold():
        with held(data / "bookmarks"):
            waiting.set()
            time.sleep(1)

    holder = threading.Thread(target=hold)
    holder.start()
    waiting.wait()
    start = time.monotonic()
    assert put(address, "a", "New").status == 200
    assert time.monotonic() - start > 0.9
    holder.join()


def test_a_holder_that_is_killed_holds_nothing(address, data):
    command = [sys.executable, "-c", HOLD, str(data / "bookmarks")]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert put(address, "a", "New").status == 200


def test_a_file_system_that_cannot_lock_is_refused_at_the_start(data, require_programs):
    require_programs("strace")
    fails = ["-f", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"]
    done = subprocess.run(
        ["strace", *fails, *service_of(data)], capture_output=True, text=True, timeout=30
    )
    assert done.returncode not in (0, -9)
    assert "flock" in done.stderr
    assert len(done.stderr.splitlines()) == 1
