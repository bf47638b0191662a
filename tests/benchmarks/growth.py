"""Measure how cost grows with the collection, and print a table in Markdown.

For each size, make a collection, start the service over it, and time requests on one connection.
It needs Linux.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import collection
import servers
import table
from load import Connection, first, get, with_body
from servers import Server

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_HEAD = ("bookmarks", "memory", "start", "one", "page", "search", "retagging 1 %", "an export")
# About one bookmark in a hundred has this tag of the collection.
_RETAGGING = with_body("POST", "/tags", json.dumps({"tag": "tag60", "add": "retagged"}).encode())
_TIMES = 5  # How often a fast request is sent; the median counts.


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="numbers of bookmarks")
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="bookmarks-") as folder:
            data = collection.make(Path(folder, "data"), size)
            rows.append([f"{size:,}", *_measure(data)])
            print(*rows[-1], flush=True)
            machine = table.machine(data)
    print(table.markdown(_HEAD, rows), machine, sep="\n")


def _measure(data: Path) -> list[str]:
    """Return the cells of a row. Every request differs, so that no response is cached."""
    ids, began = collection.ids(data), time.perf_counter()
    with Server(servers.service(data)) as server:
        first(server.port)
        started = time.perf_counter() - began
        memory = server.memory()
        with closing(Connection(server.port)) as connection:

            def seconds(request: Callable[[int], bytes], times: int = _TIMES) -> float:
                durations = []
                for number in range(times):
                    prepared, sent = request(number), time.perf_counter()
                    response = connection.ask(prepared)
                    durations.append(time.perf_counter() - sent)
                    assert response.startswith(b"HTTP/1.1 200 "), response[:100]
                return median(durations)

            one = seconds(lambda number: get(f"/{ids[number]}"))
            page = seconds(lambda number: get(f"/?limit={50 + number}&format=html"))
            search = seconds(lambda number: get(f"/?q=word{number}+word7&limit=20"))
            retagging = seconds(lambda _: _RETAGGING, times=1)
            export = seconds(lambda _: get("/"), times=1)
    times = map(_time, (started, one, page, search, retagging, export))
    return [f"{memory / 10**6:,.0f} MB", *times]


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
