"""Measure one process that serves the folders of many people: memory, disk, inodes and times.

Make the folders of some people, start `bookmarks serve --hosts` over them, and print two tables in
Markdown: what was measured, and what follows from it for 1, 1,000 and 1,000,000 people. It needs
Linux.
"""

import argparse
import http.client
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import collection
import servers
import table

PAGE = {"Accept": "text/html"}  # The slowest ordinary request: the page of 100 bookmarks.
MB, GB = 10**6, 10**9


class Figures(NamedTuple):
    """What was measured: sizes in bytes, times in seconds."""

    empty: int  # The memory of a process before it opens a folder.
    opened: int  # Its memory when `max_open` folders are open.
    after: int  # Its memory after requests to random people.
    first: Sequence[float]  # Times of the first requests to folders.
    again: Sequence[float]  # Times of further requests to folders that are open.
    mixed: Sequence[float]  # Times of requests to random people.


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="bookmarks-") as folder:
        hosts = [f"person{number}.example.com" for number in range(options.people)]
        for host in hosts:
            collection.make(Path(folder, host), options.bookmarks)
        disk, inodes = (size / len(hosts) for size in _size(Path(folder)))
        command = [sys.executable, "-m", "bookmarks", "serve", "--listen", "127.0.0.1:0"]
        command += ["--hosts", folder, "--max-open", str(options.max_open)]
        with servers.Server(command) as server:
            figures = _measure(server, hosts, options.max_open, options.visits)
        each = (figures.opened - figures.empty) / min(options.max_open, len(hosts))
        print(table.markdown(("what", "measured"), _measured(figures, each, options)))
        rows = (_row(people, options, disk, inodes, each) for people in _PEOPLE)
        print(table.markdown(_HEAD, rows))
        print(table.machine(Path(folder)), flush=True)  # Removing the folders takes long.


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--people", type=int, default=400, metavar="N", help="how many folders (%(default)s)")
    add("--bookmarks", type=int, default=500, metavar="N", help="in each folder (%(default)s)")
    add("--max-open", type=int, default=100, metavar="N", help="open folders (%(default)s)")
    add("--visits", type=int, default=500, metavar="N", help="random requests (%(default)s)")
    return parser.parse_args()


def _size(folder: Path) -> tuple[int, int]:
    """Return the bytes that a folder takes on the disk, and the number of its files and folders."""
    sizes = [path.lstat().st_blocks * 512 for path in folder.rglob("*")]
    return sum(sizes), len(sizes)


def _measure(server: servers.Server, hosts: Sequence[str], max_open: int, visits: int) -> Figures:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    chance = random.Random(1)
    _times(connection, ["unknown.example.com"] * 20)
    empty = server.memory()
    first = _times(connection, hosts[:max_open])
    again = _times(connection, chance.choices(hosts[:max_open], k=visits))
    opened = server.memory()
    mixed = _times(connection, chance.choices(hosts, k=visits))
    return Figures(empty, opened, server.memory(), first, again, mixed)


def _times(connection: http.client.HTTPConnection, hosts: Iterable[str]) -> list[float]:
    """Request the page of each host, one after the other; return how long each took."""
    times = []
    for host in hosts:
        began = time.perf_counter()
        connection.request("GET", "/", headers={"Host": host, **PAGE})
        connection.getresponse().read()
        times.append(time.perf_counter() - began)
    return times


def _measured(
    figures: Figures, each: float, options: argparse.Namespace
) -> Iterable[tuple[str, str]]:
    share = min(options.max_open / options.people, 1)
    yield "memory of a process without an open folder", f"{figures.empty / MB:.0f} MB"
    yield f"memory of each open folder of {options.bookmarks:,} bookmarks", f"{each / MB:.2f} MB"
    yield "first request to a folder: its page", _percentiles(figures.first)
    yield "the same of an open folder", _percentiles(figures.again)
    yield f"the same of anybody, {share:.0%} of the folders being open", _percentiles(figures.mixed)
    yield f"memory after {options.visits:,} such requests", f"{figures.after / MB:.0f} MB"


def _percentiles(times: Sequence[float]) -> str:
    parts = quantiles(times, n=100, method="inclusive")
    rate = len(times) / sum(times)
    return f"p50 {1000 * parts[49]:.1f} ms, p99 {1000 * parts[98]:.1f} ms, {rate:,.0f} a second"


_PEOPLE = (1, 1000, 1_000_000)
_HEAD = (
    "people", "bookmarks", "disk", "inodes", "memory, all folders open", "one in a hundred open"
)  # fmt: skip


def _row(
    people: int, options: argparse.Namespace, disk: float, inodes: float, each: float
) -> Sequence[str]:
    open_folders = max(1, people // 100)
    numbers = [f"{number:,.0f}" for number in (people, people * options.bookmarks)]
    sizes = [_size_text(people * disk), f"{people * inodes:,.0f}"]
    return *numbers, *sizes, _size_text(people * each), _size_text(open_folders * each)


def _size_text(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB else f"{size / MB:,.1f} MB"


if __name__ == "__main__":
    main()
