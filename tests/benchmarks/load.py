"""A client that sends prepared requests at the highest rate and parses as little as possible.

It works with waitress only, which writes the names of headers in one way.
"""

import json
import re
import secrets
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

CLIENTS = 8
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)")
_ETAG = re.compile(rb"(?i)\r\netag: (\S+)")


@dataclass(frozen=True)
class Sample:
    """The result of a load in seconds: each latency, the total, and the client's CPU time."""

    latencies: list[float]
    seconds: float
    busy: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "\r\n"]).encode()


def with_body(method: str, path: str, body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "\r\n"]).encode() + body


class Connection:
    def __init__(self, port: int) -> None:
        self._port = port
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self._port), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> None:
        self._received = bytearray()
        self.begun = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """Read once; return the response if it is complete, else None."""
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionError("The server closed the connection before its response.")
        received = self._received
        received += chunk
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return None
        length = _LENGTH.search(received, 0, end)
        if length and len(received) < end + 4 + int(length[1]):
            return None
        self.is_closed = received.find(b"\r\nConnection: close", 0, end) > 0
        return bytes(received)

    def ask(self, request: bytes) -> bytes:
        self.send(request)
        while (response := self.receive()) is None:
            pass
        if self.is_closed:  # waitress closes the connection after a 204 or 304.
            self.close()
            self.connect()
        return response

    def close(self) -> None:
        self.socket.close()


def load(
    port: int, requests: Iterator[bytes], seconds: float, clients: int = CLIENTS, status: int = 200
) -> Sample:
    """Send requests on so many connections at once, each time when the response has arrived."""
    latencies: list[float] = []
    expected = f"HTTP/1.1 {status} ".encode()
    begun, busy = time.perf_counter(), time.thread_time()
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            _begin(selector, Connection(port), next(requests))
        for connection, response in _responses(selector):
            now = time.perf_counter()
            assert response.startswith(expected), response[:100]
            latencies.append(now - connection.begun)
            _continue(selector, connection, next(requests) if now < begun + seconds else None)
    return Sample(latencies, time.perf_counter() - begun, time.thread_time() - busy)


def _responses(selector: selectors.BaseSelector) -> Iterator[tuple[Connection, bytes]]:
    while selector.get_map():
        for key, _ in selector.select():
            if response := key.data.receive():
                yield key.data, response


def _begin(selector: selectors.BaseSelector, connection: Connection, request: bytes) -> None:
    selector.register(connection.socket, selectors.EVENT_READ, connection)
    connection.send(request)


def _continue(
    selector: selectors.BaseSelector, connection: Connection, request: bytes | None
) -> None:
    """Send the next request, on a new connection if necessary; without one, close it."""
    if request and not connection.is_closed:
        connection.send(request)
        return
    selector.unregister(connection.socket)
    connection.close()
    if request:
        connection.connect()
        _begin(selector, connection, request)


def first(port: int, path: str = "/?limit=1") -> bytes:
    """Return the response to a GET on a new connection."""
    with closing(Connection(port)) as connection:
        return connection.ask(get(path))


def ask_twice(port: int, requests: list[bytes]) -> None:
    """Send each request twice, one after the other, so that the responses are cached."""
    with closing(Connection(port)) as connection:
        for request in requests * 2:
            connection.ask(request)


def gone_ids(port: int, count: int) -> list[str]:
    mark = secrets.token_hex(6)
    ids = [f"{mark}-{number}" for number in range(count)]
    with closing(Connection(port)) as connection:
        for id in ids:
            body = {"uri": f"https://{id}.example/", "title": "", "description": "", "tags": []}
            created = connection.ask(with_body("PUT", f"/{id}", json.dumps(body).encode()))
            deleted = connection.ask(with_body("DELETE", f"/{id}", b""))
            assert (created[9:12], deleted[9:12]) == (b"201", b"204")
    return ids


def conditional(port: int, paths: list[str]) -> list[bytes]:
    requests = []
    with closing(Connection(port)) as connection:
        for path in paths:
            (tag,) = _ETAG.findall(connection.ask(get(path)))
            requests.append(get(path, f"If-None-Match: {tag.decode()}"))
    return requests
