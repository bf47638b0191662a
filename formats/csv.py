"""CSV (RFC 4180) with a header, safe to open in a spreadsheet."""

import csv
import re
from collections.abc import Iterator

from formats.listing import Listing
from storage.bookmark import FIELDS

# The beginning of a cell that a spreadsheet would run as a formula. A cell with apostrophes before
# a formula gets one more, so that the import can remove exactly one from every cell that matches.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _Echo:
    """A file whose `write` returns the line, so that `writerow` of csv.writer returns it too."""

    def write(self, line: str) -> str:
        return line


def write(listing: Listing) -> Iterator[bytes]:
    """Write one row for each bookmark, tags joined by commas, a `'` in front of each formula."""
    writer = csv.writer(_Echo())
    yield writer.writerow(FIELDS).encode()
    for b in listing.bookmarks:
        texts = map(_escape_formula, (b.uri, b.title, b.description, ",".join(b.tags)))
        yield writer.writerow((b.id, *texts, b.created, b.modified)).encode()


def _escape_formula(cell: str) -> str:
    return f"'{cell}" if FORMULA.match(cell) else cell
