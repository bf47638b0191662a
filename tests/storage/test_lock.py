"""Writers take turns: a write waits 5 seconds for the lock and never happens without it."""

import fcntl
import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext

import pytest
import webtest
from clients import ask, faults, put, run_together, service_of, titles

from bookmarks import make_app
from storage import files
from storage.errors import Busy
from storage.lock import Lock, OpenFolders
from tests.conftest import locked


@pytest.fixture
def data(shared_data):
    return shared_data


@pytest.fixture
def address(shared_service, data):
    address = shared_service.address
    for id in ("a", "b"):
        assert put(address, id, "Old").status == 201
    return address


def test_a_write_is_503_if_the_lock_is_not_free_within_five_seconds(address, data):
    changes = [
        lambda: put(address, "c", "New"),
        lambda: put(address, "a", "New"),
        lambda: ask(address, "DELETE", "/b"),
    ]
    with locked(data / "bookmarks"):
        start = time.monotonic()
        *responses, listed = run_together([*changes, lambda: titles(address)])
        assert 4.5 < time.monotonic() - start < 30
        assert listed == {"a": "Old", "b": "Old"}
        assert titles(address) == {"a": "Old", "b": "Old"}
    assert [response.status for response in responses] == [503, 503, 503]
    assert all(int(response.headers["Retry-After"]) > 0 for response in responses)
    assert titles(address) == {"a": "Old", "b": "Old"}
    assert [change().status for change in changes] == [201, 200, 204]


def test_reading_the_whole_folder_does_not_need_the_lock(address, data, monkeypatch, inotify):
    """The first write of a process reads the whole folder, but not under the lock."""
    read, seen = files.read, set()

    def read_unlocked(path):
        name = os.path.basename(path)
        with locked(data / "bookmarks") if name in ("a.json", "b.json") else nullcontext():
            seen.add(name)
            return read(path)

    flock = fcntl.flock
    # Raise BlockingIOError in place of waiting for a lock that the test itself holds.
    monkeypatch.setattr(fcntl, "flock", lambda folder, kind: flock(folder, kind | fcntl.LOCK_NB))
    monkeypatch.setattr(files, "read", read_unlocked)
    webtest.TestApp(make_app(data)).post_json("/", {"uri": "https://c.example/"}, status=201)
    assert {"a.json", "b.json"} <= seen


def test_reads_do_not_wait_for_writes_that_wait_for_the_lock(address, data):
    with ThreadPoolExecutor(30) as pool:
        with locked(data / "bookmarks"):
            writes = [pool.submit(put, address, f"w{n}", "New") for n in range(30)]
            time.sleep(0.5)
            for path in ("/", "/a", "/feed", "/?format=html", "/tags", "/health"):
                start = time.monotonic()
                assert ask(address, path=path).status == 200
                assert time.monotonic() - start < 1
            assert not any(write.done() for write in writes)
        assert [write.result().status for write in writes] == [201] * 30


def test_imports_in_two_processes_and_others_take_turns(start, data, require_programs):
    require_programs("strace")
    services = [start(service_of(data)) for _ in range(2)]
    slow = ("-e", "trace=fsync", "-e", "inject=fsync:delay_enter=150000")

    def send_import(number):
        entries = [{"uri": f"https://{number}.example/{n}"} for n in range(600)]
        return ask(services[number].address, "POST", "/-/import", entries).json["created"]

    def send_posts(number):
        uris = [f"https://post.example/{number}/{n}" for n in range(5)]
        address = services[number % 2].address
        return [ask(address, "POST", "/", {"uri": uri}).status for uri in uris]

    with ExitStack() as slowed, ThreadPoolExecutor() as pool:
        for service in services:
            slowed.enter_context(faults(service.process, *slow))
        imports = pool.map(send_import, range(2))
        posts = pool.map(send_posts, range(4))
        assert list(posts) == [[201] * 5] * 4
        assert list(imports) == [600] * 2


def take(lock, data):
    """Hold the lock for a moment, as a write does."""
    with OpenFolders(data) as folders, lock.hold(folders):
        time.sleep(0.05)


def test_threads_take_turns(data):
    lock, turns = Lock(), []

    def take_turns(name):
        for _ in range(6):
            take(lock, data)
            turns.append(name)

    run_together([functools.partial(take_turns, name) for name in "abc"])
    assert all(turns[:12].count(name) > 2 for name in "abc"), turns


def test_a_process_lets_another_go_first_that_waits_already(data, monkeypatch):
    """A waiting process has locked the data folder."""
    monkeypatch.setattr("storage.lock.LOCK_SECONDS", 0.2)
    with locked(data), pytest.raises(Busy):
        take(Lock(), data)
    take(Lock(), data)


def test_a_thread_waits_as_long_as_its_process_gets_the_lock(data, monkeypatch):
    monkeypatch.setattr("storage.lock.LOCK_SECONDS", 0.4)
    run_together([functools.partial(take, Lock(), data)] * 20)


def test_a_file_system_without_locks_can_be_read_but_not_written(start, data, require_programs):
    require_programs("strace")
    service = start(service_of(data))
    assert put(service.address, "a", "Old").status == 201
    with faults(service.process, "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"):
        for response in (put(service.address, "a", "New"), ask(service.address, "DELETE", "/a")):
            assert response.status == 503
            assert "flock" in response.json["detail"]
        assert titles(service.address) == {"a": "Old"}
    assert put(service.address, "a", "New").status == 200
