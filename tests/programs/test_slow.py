"""Slow clients must not hold the threads, memory or descriptors of the real command."""

import contextlib
import resource
import socket
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest

from tests.conftest import ROOT, free_port, resident_bytes, until, write_file

MIB = 1024 * 1024
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = (
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)
LIST = b"GET /?format=json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
THREADS = 8  # The number of threads that the service has.
# The service writes lists of 20 MiB within this time; a held thread is not free so soon.
SOON_SECONDS = 30


@pytest.fixture
def connect():
    with contextlib.ExitStack() as stack:

        def connect(service):
            url = urllib.parse.urlsplit(service.address)
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect((url.hostname, url.port))
            return connection

        yield connect


def response_seconds(connection):
    started = time.monotonic()
    connection.sendall(b"GET /?limit=1 HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
    assert connection.recv(15) == b"HTTP/1.0 200 OK"
    return time.monotonic() - started


def fill(data, count, size):
    for n in range(count):
        fields = {"uri": f"x:{n}", "created": "2024-01-01T00:00:00Z", "description": "x" * size}
        write_file(data, "bookmarks", f"b{n}", **fields)


@pytest.mark.parametrize("start", [HEAD, BODY, b""], ids=["headers", "bodies", "nothing"])
def test_80_slow_requests_do_not_delay_other_clients(service, connect, start):
    service.empty()
    slow = [connect(service) for _ in range(80)]
    for connection in slow:
        connection.sendall(start)
    for _ in range(5):
        for connection in slow:
            connection.sendall(b" " if start else b"")
        assert response_seconds(connect(service)) < SOON_SECONDS


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
def test_clients_that_stop_reading_hold_neither_thread_nor_memory(serve, data, connect):
    fill(data, 450, 50_000)
    # The allocator returns freed memory at once: what is left is held by the service.
    service = serve(MALLOC_MMAP_THRESHOLD_="65536")
    first = connect(service)
    first.sendall(LIST)
    size = sum(map(len, iter(lambda: first.recv(MIB), b"")))
    assert size > 20 * MIB
    stalled = [stall(connect(service)) for _ in range(THREADS)]
    assert response_seconds(connect(service)) < SOON_SECONDS
    before = resident_bytes(service)
    stalled += [stall(connect(service)) for _ in range(8)]
    assert response_seconds(connect(service)) < SOON_SECONDS
    until(lambda: resident_bytes(service) - before < size)
    # The unread response is still complete.
    assert sum(map(len, iter(lambda: stalled[-1].recv(MIB), b""))) == size


def stall(connection):
    connection.sendall(LIST)
    return connection


# --- Requests that arrive slowly ---

SERVE_WITH_SHORT_TIMES = """
import sys
import bookmarks
from formats.http import process
short = {"channel_timeout": 1, "cleanup_interval": 1}
process.WAITRESS_SETTINGS = {**process.WAITRESS_SETTINGS, **short}
bookmarks.main(["serve", "--data", sys.argv[1], "--listen", sys.argv[2]])
"""


@pytest.mark.parametrize("start", [HEAD, BODY], ids=["head", "body"])
def test_a_request_that_arrives_a_byte_at_a_time_is_closed(data, start):
    port = free_port()
    command = [sys.executable, "-c", SERVE_WITH_SHORT_TIMES, str(data), f"127.0.0.1:{port}"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:
        try:
            assert any(b"http://" in line for line in process.stderr)
            with socket.create_connection(("127.0.0.1", port), timeout=0.2) as connection:
                connection.sendall(start)
                until(lambda: is_closed_after_a_byte(connection))
        finally:
            process.kill()


def is_closed_after_a_byte(connection):
    """Send one more byte of the request; return whether the service has closed the connection."""
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


# --- A full disk for temporary files ---

def test_a_response_that_cannot_be_buffered_on_disk_is_aborted(serve, data, connect):
    fill(data, 60, 50_000)
    service = serve()
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (300_000, 300_000))
    assert response_seconds(connect(service)) < SOON_SECONDS
    stalled = stall(connect(service))
    time.sleep(1)
    size = 0
    with contextlib.suppress(ConnectionResetError):
        while chunk := stalled.recv(MIB):
            size += len(chunk)
    assert 0 < size < 3_000_000
    assert response_seconds(connect(service)) < SOON_SECONDS
