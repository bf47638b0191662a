"""A client that asks prepared requests as fast as they are answered, and reads only what it must.

It knows one server: waitress, which writes the names of headers in one way only.
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
    """What came of a load: the seconds of each answer, of all together, and of the client's own."""

    latencies: list[float]
    seconds: float
    busy: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, percent: float) -> float:
        """The milliseconds within which so many of a hundred were answered."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def get(path: str, *headers: str) -> bytes:
    """A prepared request."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "\r\n"]).encode()


def post(path: str, body: bytes) -> bytes:
    """A prepared request with a JSON body."""
    return _request("POST", path, body)


def _request(method: str, path: str, body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "\r\n"]).encode() + body


class Connection:
    """A connection that stays, for one request at a time; a new one once the server closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.connect()

    def connect(self) -> None:
        """Begins anew."""
        self.socket = socket.create_connection(("127.0.0.1", self._port), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> None:
        """Asks."""
        self._received = b""
        self.begun = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """The whole answer, or None if more of it is still to come."""
        chunk = self.socket.recv(65536)
        if not chunk:
            raise ConnectionError("The server closed before it had answered.")
        received = self._received = self._received + chunk
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return None
        length = _LENGTH.search(received, 0, end)
        if length and len(received) < end + 4 + int(length[1]):
            return None
        self.is_closed = received.find(b"\r\nConnection: close", 0, end) > 0
        return received

    def ask(self, request: bytes) -> bytes:
        """The answer to one request."""
        self.send(request)
        while (answer := self.receive()) is None:
            pass
        if self.is_closed:  # waitress closes the connection after a 204 or 304.
            self.close()
            self.connect()
        return answer

    def close(self) -> None:
        """Ends it."""
        self.socket.close()


def load(
    port: int, requests: Iterator[bytes], seconds: float, clients: int = CLIENTS, status: int = 200
) -> Sample:
    """Asks on so many connections at once, on each again as soon as it has its answer."""
    latencies: list[float] = []
    expected = f"HTTP/1.1 {status} ".encode()
    begun, busy = time.perf_counter(), time.thread_time()
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            _begin(selector, Connection(port), next(requests))
        for connection, answer in _answers(selector):
            now = time.perf_counter()
            assert answer.startswith(expected), answer[:100]
            latencies.append(now - connection.begun)
            _go_on(selector, connection, next(requests) if now < begun + seconds else None)
    return Sample(latencies, time.perf_counter() - begun, time.thread_time() - busy)


def _answers(selector: selectors.BaseSelector) -> Iterator[tuple[Connection, bytes]]:
    """Each answer as it comes, until there are no connections left."""
    while selector.get_map():
        for key, _ in selector.select():
            if answer := key.data.receive():
                yield key.data, answer


def _begin(selector: selectors.BaseSelector, connection: Connection, request: bytes) -> None:
    selector.register(connection.socket, selectors.EVENT_READ, connection)
    connection.send(request)


def _go_on(selector: selectors.BaseSelector, connection: Connection, request: bytes | None) -> None:
    """Asks the next, on a new connection if the server closed this one; None ends it."""
    if request and not connection.is_closed:
        connection.send(request)
        return
    selector.unregister(connection.socket)
    connection.close()
    if request:
        connection.connect()
        _begin(selector, connection, request)


def first(port: int, path: str = "/?limit=1") -> bytes:
    """The answer to one GET on a connection of its own."""
    with closing(Connection(port)) as connection:
        return connection.ask(get(path))


def ask_twice(port: int, requests: list[bytes]) -> None:
    """Asks each, one after the other, and again: from then on the answers are kept."""
    with closing(Connection(port)) as connection:
        for request in requests * 2:
            connection.ask(request)


def gone_ids(port: int, count: int) -> list[str]:
    """Create and delete bookmarks; return their ids."""
    mark = secrets.token_hex(6)
    ids = [f"{mark}-{number}" for number in range(count)]
    with closing(Connection(port)) as connection:
        for id in ids:
            body = {"uri": f"https://{id}.example/", "title": "", "description": "", "tags": []}
            created = connection.ask(_request("PUT", f"/{id}", json.dumps(body).encode()))
            assert created.startswith(b"HTTP/1.1 201 "), created[:100]
            _delete(port, id)
    return ids


def _delete(port: int, id: str) -> None:
    with closing(Connection(port)) as connection:  # waitress closes it after a 204.
        deleted = connection.ask(_request("DELETE", f"/{id}", b""))
        assert deleted.startswith(b"HTTP/1.1 204 "), deleted[:100]


def conditional(port: int, paths: list[str]) -> list[bytes]:
    """Prepared requests for what the client has already, as the entity tags of now tell."""
    with closing(Connection(port)) as connection:
        tags = [_tag(connection.ask(get(path))) for path in paths]
    return [get(path, f"If-None-Match: {tag}") for path, tag in zip(paths, tags, strict=True)]


def _tag(answer: bytes) -> str:
    found = _ETAG.search(answer)
    assert found, answer[:100]
    return found[1].decode()
