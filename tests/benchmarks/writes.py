"""Rates of durable creates, compared with plain file operations behind the same server."""

import itertools
import json
import random
import secrets
from collections.abc import Iterator

import collection
from bench import Bench, share
from load import with_body
from servers import Server
from table import Goal, Measured, Row


def creates() -> Iterator[bytes]:
    mark, chance = secrets.token_hex(8), random.Random(1)
    for number in itertools.count():
        fields = {"uri": f"https://example.com/{mark}/{number}", **collection.fields(chance)}
        yield with_body("POST", "/", json.dumps(fields).encode())


def durable(bench: Bench, clients: int) -> Measured:
    def rate(server: Server) -> float:
        return bench.load(server, creates(), clients, status=201).rate

    return share(bench.turns(lambda: rate(bench.many), lambda: rate(bench.plain("files"))))


ROWS = (
    Row("create-1", "durable create, one client", [Goal("≥", 0.7)], durable, [1]),
    Row("create-8", "durable create, eight clients", [Goal("≥", 0.4)], durable, [8]),
)
