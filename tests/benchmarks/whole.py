"""Work on the whole collection: giving everything, starting, and holding it in memory."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import collection
import servers
from bench import FEW, Bench
from load import download, first
from servers import Server
from table import Goal, Measured, Row

from storage import snapshot

_CACHES = Path("/proc/sys/vm/drop_caches")
_MILLION = 1_000_000


def everything(bench: Bench, format: str) -> Measured:
    """How fast everything comes, and how much memory a fresh service takes for it."""
    speeds, peaks = [], []
    with bench.serve(bench.data) as server:
        for _ in range(bench.rounds):
            server.forget_peak()
            rest = server.memory()
            size, seconds = download(server.port, f"/?format={format}")
            speeds.append(size / seconds / 1e6)
            peaks.append(server.memory("VmHWM") / rest)
    return Measured([median(speeds), max(peaks)], f"{size / 1e6:,.1f} MB")


def _start(data: Path) -> float:
    begun = time.perf_counter()
    with Server(servers.service(data)) as server:
        first(server.port)
        return time.perf_counter() - begun


def _loop(data: Path) -> float:
    begun = time.perf_counter()
    servers.run(servers.plain("loop", str(data / "bookmarks")))
    return time.perf_counter() - begun


def _against_loop(bench: Bench, prepare: Callable[[], object]) -> Measured:
    def start() -> float:
        prepare()
        return _start(bench.data)

    def loop() -> float:
        prepare()
        return _loop(bench.data)

    rounds = bench.turns(start, loop, most=3)
    ours, plain = (median(column) for column in zip(*rounds, strict=True))
    ratio = median(start / loop for start, loop in rounds)
    return Measured([ratio], f"{ours:.2f} of {plain:.2f} s")


def warm(bench: Bench) -> Measured:
    """Start to first answer, with every file in the page cache."""
    _loop(bench.data)
    once = _first_start(bench.data)
    measured = _against_loop(bench, lambda: None)
    return Measured(measured.values, f"{measured.details}; {once:.2f} s the first time")


def _first_start(data: Path) -> float:
    """A start that reads every file."""
    (data / snapshot.NAME).unlink(missing_ok=True)
    return _start(data)


def cold(bench: Bench) -> Measured:
    """Start to first answer, with nothing in the page cache."""
    if not os.access(_CACHES, os.W_OK):
        return Measured([], "needs root, for an empty page cache")
    return _against_loop(bench, _forget_files)


def _forget_files() -> None:
    os.sync()
    _CACHES.write_text("3")


def million(bench: Bench) -> Measured:
    """Start to first answer with ten times the collection, warm."""
    if not bench.million:
        return Measured([], "needs --million")
    data = collection.make(bench.folder / "million", _MILLION)
    once = _first_start(data)
    return Measured([median(_start(data) for _ in range(3))], f"{once:.0f} s the first time")


def memory_each(bench: Bench) -> Measured:
    """What a bookmark takes beyond its JSON text."""
    count = len(bench.ids)
    text = collection.text_size(bench.data) / count
    taken = (_resting(bench, bench.data) - _resting(bench, bench.no_data)) / count
    return Measured([(taken - text) / 1024], f"{taken:,.0f} bytes for {text:,.0f} of JSON")


def memory_few(bench: Bench) -> Measured:
    """What the whole service takes."""
    return Measured([_resting(bench, bench.few_data) / 2**20])


def _resting(bench: Bench, data: Path) -> int:
    with bench.serve(data) as server:
        return server.memory()


_PEAK = Goal("≤", 1.5, "× the memory at rest")

ROWS = (
    *(
        Row(
            f"all-{name}",
            f"everything as {name}",
            [Goal("≥", b, "MB/s"), _PEAK],
            everything,
            [name],
        )
        for name, b in (("json", 60), ("csv", 15), ("xbel", 15))
    ),
    Row("start", "start to first answer, warm", [Goal("≤", 1, "× a plain loop")], warm),
    Row("start-cold", "the same, page cache empty", [Goal("≤", 0.4, "× a plain loop")], cold),
    Row("start-million", "start with 1,000,000 bookmarks, warm", [Goal("≤", 30, "s")], million),
    Row("memory", "memory of a bookmark beyond its JSON", [Goal("≤", 1, "KiB")], memory_each),
    Row("memory-few", f"memory with {FEW:,} bookmarks", [Goal("≤", 45, "MiB")], memory_few),
)
