"""CSV (RFC 4180) with a header, safe to open in a spreadsheet."""

import csv
import re
from collections.abc import Iterable, Iterator

from formats.listing import Listing
from storage.bookmark import FIELDS, Bookmark

# A cell that a spreadsheet would run as a formula, with apostrophes in front or not.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _LastLine:
    """A file for csv.writer that keeps only the last line, so that each is sent at once."""

    def write(self, line: str) -> None:
        self.text = line


def write(bookmarks: Iterable[Bookmark], listing: Listing) -> Iterator[bytes]:
    """Write one row for each bookmark, tags joined by commas, a `'` in front of each formula."""
    line = _LastLine()
    writer = csv.writer(line)
    writer.writerow(FIELDS)
    yield line.text.encode()
    for b in bookmarks:
        texts = map(_escape_formula, (b.uri, b.title, b.description, ",".join(b.tags)))
        writer.writerow((b.id, *texts, b.created, b.modified))
        yield line.text.encode()


def _escape_formula(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell
