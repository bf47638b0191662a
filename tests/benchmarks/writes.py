"""How many durable creates a second, against plain file operations behind the same server."""

import itertools
import json
import random
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import collection
from bench import Bench, share
from load import Connection, post
from servers import Server
from table import Goal, Measured, Row


def creates(**given: object) -> Iterator[bytes]:
    """Requests to create a bookmark with what is given, each with a uri of its own."""
    mark, chance = secrets.token_hex(8), random.Random(1)
    for number in itertools.count():
        fields = {"uri": f"https://example.com/{mark}/{number}", **collection.fields(chance)}
        yield post("/", json.dumps(fields | given).encode())


class Writer:
    """Creates 40 bookmarks with this tag a second while the `with` block lasts."""

    def __init__(self, port: int, tag: str) -> None:
        self._connection = Connection(port)
        self._requests = creates(tags=[tag])
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> "Writer":
        self._written = self._pool.submit(self._write)
        return self

    def _write(self) -> None:
        begun = time.monotonic()
        for number in itertools.count(1):
            answer = self._connection.ask(next(self._requests))
            assert answer.startswith(b"HTTP/1.1 201 "), answer[:100]
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
        self._connection.close()
        self._written.result()


def durable(bench: Bench, clients: int) -> Measured:
    """Durable creates, against plain file operations."""

    def rate(server: Server) -> float:
        return bench.load(server, creates(), clients, status=201).rate

    return share(bench.turns(lambda: rate(bench.many), lambda: rate(bench.files)))


ROWS = (
    Row("create-1", "durable create, one client", [Goal("≥", 0.7)], durable, [1]),
    Row("create-8", "durable create, eight clients", [Goal("≥", 0.6)], durable, [8]),
)
