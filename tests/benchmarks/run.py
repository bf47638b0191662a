"""Run the benchmarks: compare the service with the least work that any service must do.

Each row measures the service and a plain program in turns. The servers run on the first core and
the client on the last one. The value of a row is the ratio of the medians of all rounds. It needs
Linux.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import collection
import rates
import servers
import table
import whole
import writes
from bench import Bench
from table import Row

ROWS: tuple[Row, ...] = (*rates.ROWS, *whole.ROWS, *writes.ROWS)


def main() -> None:
    options = _options()
    rows = [row for row in ROWS if row.name in (options.only or row.name)]
    beside = options.data and options.data.absolute().parent
    if beside:
        beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bookmarks-", dir=beside) as folder:
        data = collection.make(options.data or Path(folder, "many"), options.bookmarks)
        notes = [table.machine(data), ""]
        os.sched_setaffinity(0, {servers.CLIENT_CORE})
        bench = Bench(data, Path(folder), options.seconds, options.rounds)
        with bench:
            cells = [_row(row, bench) for row in rows]
    notes[1] = _how(bench)
    print("\n".join(notes))
    if options.markdown:
        text = table.markdown(table.HEAD, cells)
        options.markdown.write_text("\n".join([text, *notes, ""]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [row.name for row in ROWS]
    add = parser.add_argument
    add("--bookmarks", type=int, default=100_000, metavar="N", help="how many (%(default)s)")
    add("--data", type=Path, metavar="DIR", help="the collection; it is created if absent")
    add("--seconds", type=float, default=1.0, help="duration of a load (%(default)s)")
    add("--rounds", type=int, default=7, help="repetitions (%(default)s)")
    add("--only", nargs="+", choices=names, metavar="ROW", help=f"of {', '.join(names)}")
    add("--markdown", type=Path, metavar="FILE", help="write the table to this file")
    return parser.parse_args()


def _row(row: Row, bench: Bench) -> Sequence[str]:
    cells = row.cells(row.measure(bench, *row.arguments))
    print(table.line(cells), flush=True)
    return cells


def _how(bench: Bench) -> str:
    text = f"{len(bench.ids):,} bookmarks; medians of {bench.rounds} rounds of {bench.seconds:g} s."
    if bench.busy:
        text += f" The client used {median(bench.busy):.0%} of its core."
    return text


if __name__ == "__main__":
    sys.exit(main())
