"""Clients that dawdle: the real command, whose few threads and little memory they must not hold."""

import contextlib
import json
import re
import resource
import socket
import time
import urllib.parse
from pathlib import Path

import pytest

MIB = 1024 * 1024
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = (
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)
LIST = b"GET /?format=json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
THREADS = 8  # As many as the service has.
SOON = 10  # Seconds in which lists of 20 MiB are written, and a thread that is held is not free.
STALLED = 8


@pytest.fixture
def connect():
    """Opens connections to a service; all are closed in the end."""
    with contextlib.ExitStack() as stack:

        def connect(service, receives=None):
            url = urllib.parse.urlsplit(service.address)
            connection = stack.enter_context(socket.socket())
            if receives:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
            connection.settimeout(10)
            connection.connect((url.hostname, url.port))
            return connection

        yield connect


def answered(connection):
    """The seconds until a short request, sent now, has its answer."""
    started = time.monotonic()
    connection.sendall(b"GET /?limit=1 HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
    assert connection.recv(15) == b"HTTP/1.0 200 OK"
    return time.monotonic() - started


def resident(service):
    """The bytes of memory that the service has."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def fill(data, count, size):
    """Puts so many bookmarks of about so many bytes into the folder."""
    (data / "bookmarks").mkdir(parents=True)
    for n in range(count):
        bookmark = {"id": f"b{n}", "uri": f"x:{n}", "created": "2024-01-01T00:00:00Z"}
        text = json.dumps(bookmark | {"description": "x" * size})
        (data / "bookmarks" / f"b{n}.json").write_text(text)


@pytest.mark.parametrize("begin", [HEAD, BODY, b""], ids=["headers", "bodies", "nothing"])
def test_80_slow_connections_keep_nobody_waiting(serve, connect, begin):
    service = serve()
    slow = [connect(service) for _ in range(80)]
    for connection in slow:
        connection.sendall(begin)
    for _ in range(5):
        for connection in slow:
            connection.sendall(b" " if begin else b"")
        assert answered(connect(service)) < 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
def test_clients_that_stop_reading_hold_neither_thread_nor_memory(serve, data, connect):
    fill(data, 20_000, 1_000)
    service = serve()
    first = connect(service)
    first.sendall(LIST)
    size = sum(map(len, iter(lambda: first.recv(MIB), b"")))
    assert size > 20 * MIB
    stalled = [stall(connect(service, receives=4096)) for _ in range(THREADS)]
    assert answered(connect(service)) < SOON
    before = resident(service)
    stalled += [stall(connect(service, receives=4096)) for _ in range(STALLED)]
    for _ in range(5):
        assert answered(connect(service)) < SOON
        time.sleep(0.2)
        assert resident(service) - before < 20 * MIB
    # What they did not read is all there still.
    stalled[-1].settimeout(30)
    assert sum(map(len, iter(lambda: stalled[-1].recv(MIB), b""))) == size


def stall(connection):
    """Asks for the whole list and reads nothing of it."""
    connection.sendall(LIST)
    return connection


# --- Where descriptors are few ---


def test_connections_leave_descriptors_for_files(serve, connect):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        service = serve()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    connections = [connect(service) for _ in range(150)]
    time.sleep(0.2)
    body = b'{"uri": "https://example.com/"}'
    connections[0].sendall(BODY[:-1].replace(b"1000", b"%d" % len(body)) + body)
    assert connections[0].recv(12) == b"HTTP/1.1 201"


# --- Where nothing can wait on the disk ---


def without_room(service):
    """The service, of whose files none may become larger than this from now on."""
    limits = (300_000, 300_000)
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limits)
    return service


def test_a_body_that_cannot_wait_on_the_disk_ends_its_connection_alone(serve, connect):
    service = without_room(serve())
    connection = connect(service)
    with contextlib.suppress(ConnectionError):
        connection.sendall(BODY.replace(b"1000", b"900000") + b"x" * 899_999)
        assert connection.recv(1) == b""
    assert answered(connect(service)) < 2


def test_an_answer_that_cannot_wait_on_the_disk_is_broken_off_at_once(serve, data, connect):
    fill(data, 900, 1_000)
    service = without_room(serve())
    assert answered(connect(service)) < 2
    stalled = stall(connect(service, receives=4096))
    time.sleep(1)
    stalled.settimeout(5)
    size = 0
    with contextlib.suppress(ConnectionResetError):
        while chunk := stalled.recv(MIB):
            size += len(chunk)
    assert 0 < size < 900_000
    assert answered(connect(service)) < 2
