"""The parts that all rows share: settings, collections, servers and comparisons."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TypeVar

import collection
import servers
from load import CLIENTS, Sample, first, load
from servers import Server
from table import Measured

T = TypeVar("T")


@dataclass
class Bench:
    """The collection in `data`, and servers that start when they are first used.

    A context manager that stops the servers and removes the created bookmarks. `folder` is for
    other data. `busy` has the shares of time in which the client itself used the CPU while the
    plain server was measured.
    """

    data: Path
    folder: Path
    seconds: float
    rounds: int
    busy: list[float] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _plain: dict[str, Server] = field(default_factory=dict)

    def __enter__(self) -> "Bench":
        self._stack.enter_context(collection.restored(self.data))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def serve(self, data: Path) -> Server:
        server = self._stack.enter_context(Server(servers.service(data)))
        first(server.port)
        return server

    @cached_property
    def many(self) -> Server:
        return self.serve(self.data)

    def plain(self, kind: str) -> Server:
        """Return a server of plain.py: `constant`, `unchanged` or `files`."""
        if kind not in self._plain:
            folder = self.folder / kind
            folder.mkdir()
            server = Server(servers.plain(kind, str(folder)))
            self._plain[kind] = self._stack.enter_context(server)
        return self._plain[kind]

    @cached_property
    def ids(self) -> list[str]:
        return collection.ids(self.data)

    def turns(self, *measures: Callable[[], T], most: int = 100) -> list[list[T]]:
        """Return the results of each round, whose order is reversed in every second round."""
        rounds = []
        for turn in range(min(self.rounds, most)):
            step = -1 if turn % 2 else 1
            rounds.append([measure() for measure in measures[::step]][::step])
        return rounds

    def load(
        self, server: Server, requests: Iterator[bytes], clients: int = CLIENTS, status: int = 200
    ) -> Sample:
        return load(server.port, requests, self.seconds, clients, status)

    def compare(
        self, plain: Server, requests: Iterator[bytes], status: int = 200, plain_status: int = 200
    ) -> Measured:
        pairs = self.turns(
            lambda: self.load(self.many, requests, status=status),
            lambda: self.load(plain, requests, status=plain_status),
        )
        self.busy += [sample.busy / sample.seconds for _, sample in pairs]
        return share([[sample.rate for sample in pair] for pair in pairs])


def share(rates: list[list[float]]) -> Measured:
    """Return the ratio of the medians of both rates, and these medians."""
    ours, others = (median(column) for column in zip(*rates, strict=True))
    return Measured([ours / others], f"{ours:,.0f} of {others:,.0f} a second")
