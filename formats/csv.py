"""CSV (RFC 4180) with a header, safe to open in a spreadsheet."""

import csv
import re
from collections.abc import Iterable, Iterator

from formats.view import View
from storage.bookmark import FIELDS, Bookmark

# What a spreadsheet would run as a formula, whether it has our apostrophes in front or not.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _Line:
    """A file for csv.writer that holds the last line written to it."""

    def write(self, line: str) -> None:
        self.last = line


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A line each under the header, tags joined by commas, a formula's cell behind a `'`."""
    line = _Line()
    writer = csv.writer(line)
    writer.writerow(FIELDS)
    yield line.last.encode()
    for b in bookmarks:
        cells = (b.id, b.uri, b.title, b.description, ",".join(b.tags), b.created, b.modified)
        writer.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells])
        yield line.last.encode()
