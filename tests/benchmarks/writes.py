"""How many durable creates a second, against plain file operations behind the same server."""

import http.client
import itertools
import json
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from bench import Bench, share
from servers import Server
from table import Goal, Measured, Row


class Client:
    """Creates bookmarks over one connection, each with a uri of its own."""

    def __init__(self, port: int, **fields: object) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._uris = (f"https://example.com/{secrets.token_hex(8)}/{n}" for n in itertools.count())
        self._fields = {"title": "A title", **fields}

    def create(self) -> None:
        """Creates one, durably."""
        body = json.dumps({"uri": next(self._uris), **self._fields})
        self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        response.read()
        assert response.status == 201, response.status

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


class Writer:
    """Creates 40 bookmarks with this tag a second while the `with` block lasts."""

    def __init__(self, port: int, tag: str) -> None:
        self._client = Client(port, tags=[tag])
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> "Writer":
        self._written = self._pool.submit(self._write)
        return self

    def _write(self) -> None:
        begun = time.monotonic()
        for number in itertools.count(1):
            self._client.create()
            if self._ended.wait(max(begun + number / 40 - time.monotonic(), 0)):
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._pool.shutdown()
        self._client.close()
        self._written.result()


def rate(server: Server, clients: int, seconds: float) -> float:
    """Acknowledged creates a second."""
    begun = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        counts = [pool.submit(_create, server.port, begun + seconds) for _ in range(clients)]
    return sum(count.result() for count in counts) / (time.monotonic() - begun)


def _create(port: int, deadline: float) -> int:
    """How many one client creates until the deadline."""
    client = Client(port)
    for number in itertools.count(1):
        client.create()
        if time.monotonic() >= deadline:
            client.close()
            return number
    raise AssertionError("unreachable")


def creates(bench: Bench, clients: int) -> Measured:
    """Durable creates, against plain file operations."""
    rates = bench.turns(
        lambda: rate(bench.many, clients, bench.seconds),
        lambda: rate(bench.files, clients, bench.seconds),
    )
    return share(rates)


ROWS = (
    Row("create-1", "durable create, one client", [Goal("≥", 0.7)], creates, [1]),
    Row("create-8", "durable create, eight clients", [Goal("≥", 0.6)], creates, [8]),
)
