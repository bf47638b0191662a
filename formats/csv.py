"""CSV (RFC 4180) with a header, safe to open in a spreadsheet."""

import csv
import re
from collections.abc import Iterator

from msgspec.structs import astuple

from formats.listing import Listing
from storage.bookmark import Bookmark, to_text

# A formula, which a spreadsheet would run, with any apostrophes before it. The export adds an
# apostrophe, the import removes one.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _Echo:
    """A file that lets `csv.writer.writerow` return the line."""

    def write(self, line: str) -> str:
        return line


def write(listing: Listing) -> Iterator[bytes]:
    writer = csv.writer(_Echo())
    yield writer.writerow(Bookmark.__struct_fields__).encode()
    for bookmark in listing.bookmarks:
        yield writer.writerow(_cells(bookmark)).encode()


def _cells(bookmark: Bookmark) -> list[str]:
    cells = []
    for value in astuple(bookmark):
        text = to_text(value)
        if FORMULA.match(text):
            text = f"'{text}"
        cells.append(text)
    return cells
