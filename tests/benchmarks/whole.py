"""The start over the whole collection, and the memory of the service."""

import time
from itertools import cycle
from pathlib import Path
from statistics import median

import collection
import servers
import writes
from bench import Bench
from load import first, get
from servers import Server
from table import Goal, Measured, Row


def start(bench: Bench) -> Measured:
    """Compare the time to the first response with reading and parsing every cached file."""
    _read_all(bench.data)
    rounds = bench.turns(lambda: _start(bench.data), lambda: _read_all(bench.data), most=3)
    ours, plain = (median(column) for column in zip(*rounds, strict=True))
    return Measured([ours / plain], f"{ours:.2f} of {plain:.2f} s")


def _start(data: Path) -> float:
    started = time.perf_counter()
    with Server(servers.service(data)) as server:
        first(server.port)
        return time.perf_counter() - started


def _read_all(data: Path) -> float:
    started = time.perf_counter()
    servers.run(servers.plain("loop", str(data / "bookmarks")))
    return time.perf_counter() - started


def memory(bench: Bench) -> Measured:
    """Measure the memory of one bookmark beyond the size of its JSON."""
    count = len(bench.ids)
    no_data = collection.make(bench.folder / "none", 0)
    taken = (_resident(bench, bench.data) - _resident(bench, no_data)) / count
    text = collection.text_size(bench.data) / count
    beyond = (taken - text) / 1024
    return Measured([beyond], f"{taken:,.0f} bytes for {text:,.0f} of JSON")


def _resident(bench: Bench, data: Path) -> int:
    with bench.serve(data) as server:
        return server.memory()


def growth(bench: Bench) -> Measured:
    data = collection.make(bench.folder / "few", 1000)
    ids, words = collection.ids(data), collection.WORDS
    paths = [f"/{id}" for id in ids]
    paths += [f"/?tag={tag}&limit=50&format=html" for tag in collection.TAGS[:200]]
    paths += [f"/?q={word}&format=html" for word in words[:1000]]
    paths += [f"/feed?offset={offset}" for offset in range(500)]
    reads = cycle([get(path) for path in paths])
    with bench.serve(data) as server:
        before = server.memory()
        count = 0
        for _ in range(_GROWTH_TURNS):
            count += len(bench.load(server, reads).latencies)
            count += len(bench.load(server, writes.creates(), status=201).latencies)
        grown = (server.memory() - before) / 2**20
    return Measured([grown], f"from {before / 2**20:,.0f} MiB, after {count:,} requests")


_GROWTH_TURNS = 10

ROWS = (
    Row("start", "start to first response", [Goal("≤", 2, "× reading the files")], start),
    Row("memory", "memory of a bookmark beyond its JSON", [Goal("≤", 1, "KiB")], memory),
    Row("growth", "memory after many different requests", [Goal("≤", 40, "MiB more")], growth),
)
