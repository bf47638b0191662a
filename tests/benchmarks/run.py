"""Runs the benchmarks: the service against what nothing over the same server could exceed.

Each row is measured in turns with its ceiling, the servers on the first core, the client on the
last one; a row's value is the median of the rounds' ratios. It needs Linux.
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
from table import Measured, Row

ROWS: tuple[Row, ...] = (*rates.ROWS, *whole.ROWS, *writes.ROWS)
LEFT_OUT = Measured([], "left out")


def main() -> None:
    """Measures what is asked for, and prints and writes the table."""
    options = _options()
    rows = [row for row in ROWS if row.name in (options.only or row.name)]
    beside = options.data and options.data.absolute().parent
    with tempfile.TemporaryDirectory(prefix="bookmarks-", dir=beside) as folder:
        data = collection.make(options.data or Path(folder, "many"), options.bookmarks)
        notes = [table.machine(data), ""]
        os.sched_setaffinity(0, {servers.CLIENT_CORE})
        bench = Bench(data, Path(folder), options.seconds, options.rounds)
        with bench:
            cells = [_row(row, bench, options) for row in rows]
    notes[1] = _how(bench)
    print("\n".join(notes))
    if options.markdown:
        options.markdown.write_text(table.markdown(cells, notes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [row.name for row in ROWS]
    add = parser.add_argument
    add("--bookmarks", type=int, default=100_000, metavar="N", help="how many (%(default)s)")
    add("--data", type=Path, metavar="DIR", help="keep them there, or take what is there")
    add("--seconds", type=float, default=1.0, help="how long each load takes (%(default)s)")
    add("--rounds", type=int, default=7, help="how often each is measured (%(default)s)")
    add("--only", nargs="+", choices=names, metavar="ROW", help=f"of {', '.join(names)}")
    add("--skip", nargs="+", choices=names, metavar="ROW", default=[], help="leave these out")
    add("--markdown", type=Path, metavar="FILE", help="write the table to this file")
    return parser.parse_args()


def _row(row: Row, bench: Bench, options: argparse.Namespace) -> Sequence[str]:
    """Measures a row and prints it at once."""
    is_left_out = row.name in options.skip
    measured = LEFT_OUT if is_left_out else row.measure(bench, *row.arguments)
    cells = row.cells(measured)
    print(table.line(cells), flush=True)
    return cells


def _how(bench: Bench) -> str:
    text = f"{len(bench.ids):,} bookmarks; medians of {bench.rounds} rounds of {bench.seconds:g} s."
    if bench.busy:
        text += f" The client was at work for {median(bench.busy):.0%} of the ceiling's time."
    return text


if __name__ == "__main__":
    sys.exit(main())
