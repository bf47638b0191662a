"""One writer at a time: who can't be had is waited for, 5 seconds; who can't lock doesn't start."""

import fcntl
import functools
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
import webtest
from clients import ask, at_once, put, service_of, titles

from bookmarks import make_app
from storage import files

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


def test_a_process_that_reads_the_whole_folder_does_not_hold_the_lock(address, data, monkeypatch):
    """As a process does for its first request."""
    read_all, seen = files.read_all, []

    def read_unlocked(folder, names):
        with held(data / "bookmarks"):
            seen.extend(names)
            yield from read_all(folder, names)

    monkeypatch.setattr(fcntl, "flock", functools.partial(_at_once, fcntl.flock))
    monkeypatch.setattr(files, "read_all", read_unlocked)
    webtest.TestApp(make_app(data)).post_json("/", {"uri": "https://c.example/"}, status=201)
    assert {"a.json", "b.json"} <= set(seen)


def _at_once(flock, descriptor, kind):
    """Instead of waiting for a lock that this process has itself."""
    flock(descriptor, kind | fcntl.LOCK_NB)


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


def test_the_lock_of_a_killed_process_is_free(address, data):
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
