"""Read CSV files with a header of known names, of this or another program."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, zip_longest
from typing import NamedTuple

from formats.charset import decode
from formats.csv import FORMULA
from formats.imports.entry import (
    CUT_OFF,
    MAX_ENTRY,
    TOO_LARGE,
    URI,
    ImportedEntry,
    UnreadValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.members import tags_in
from formats.imports.roles import (
    WORDS_FOR_NO_TAG,
    is_read,
    read_fields,
    role_of,
)
from storage.bookmark import FIELDS, from_text, split_tags
from storage.errors import Malformed
from storage.importer import NOTE

# By default, csv.reader raises an error for a cell of more than 131,072 characters.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
# Every version of this service has exported these columns.
_OWN_COLUMNS = frozenset({"id", "uri", "created", "modified"})
_PART_OF_ROW = "may be a part of a row, because a quotation mark above is not closed"


class _Row(NamedTuple):
    """A row of the table, or one line of a row whose quotation mark is never closed."""

    line: int  # The number of its first line.
    text: str
    cells: list[str]
    error: str = ""  # Why the row cannot be read.
    misplaced_quote: str = ""  # A message. Because of this quotation mark, `cells` may be wrong.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield an entry for each row. Raises Malformed if the header names no column for the uri."""
    text = decode(data)
    lines = io.StringIO(text)
    header = read_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter, names = _split_header(header)
    table = _Table(names)
    for row in _read_rows(text, lines, delimiter, len(names)):
        yield table.read_entry(row)
    yield from table.unread_values.entries()


def read_header(lines: Iterator[str]) -> str:
    """Return the header: the first line that is neither blank nor Excel's `sep=;`."""
    for line in lines:
        if not line.isspace() and not line.lower().startswith("sep="):
            return line
    return ""


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most known names, and the names of the columns."""
    best_delimiter = ""
    best_names: list[str] = []
    best_count = -1
    for delimiter in _DELIMITERS:
        # csv.reader raises an error for a cell of more than MAX_ENTRY characters.
        reader = csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True)
        names = next(reader, [])
        known_names = list(filter(role_of, names))
        if len(known_names) > best_count:
            best_delimiter = delimiter
            best_names = names
            best_count = len(known_names)
    return best_delimiter, best_names


# --- Rows ---


def _read_rows(text: str, lines: io.StringIO, delimiter: str, width: int) -> Iterator[_Row]:
    """Yield the rows below the header, which has `width` cells.

    An unclosed quotation mark makes csv.reader join the following lines into one row. These
    lines are then read again, one by one.
    """
    number = 1
    position = 0  # Where line `number` begins in `text`.
    end_of_retry = 0  # Lines before this position are read one by one.
    for line in lines:
        if line.isspace():  # A file may have 32 million blank lines.
            continue
        start = lines.tell() - len(line)
        number += text.count("\n", position, start)
        position = start
        if start < end_of_retry:
            yield _read_line(number, line, delimiter, width)
            continue
        row = _read_row(number, line, lines, delimiter)
        has_no_line_end = lines.tell() == len(text) and not text.endswith("\n")
        if row.error or row.misplaced_quote:
            end_of_retry = lines.tell()
            lines.seek(start + len(line))
        elif has_no_line_end and len(row.cells) < width:
            row = row._replace(error=CUT_OFF)
        yield row._replace(text=text[start : lines.tell()])


def _read_line(number: int, line: str, delimiter: str, width: int) -> _Row:
    """Return one line as a row."""
    row = _read_row(number, line, iter(()), delimiter)
    if row.error or row.misplaced_quote or len(row.cells) >= width:
        return row
    return row._replace(error=_PART_OF_ROW)


def _read_row(number: int, line: str, lines: Iterator[str], delimiter: str) -> _Row:
    """Return the row that begins with `line`; a quoted cell may continue in `lines`."""
    reader = csv.reader(_lines_of_row(line, lines), delimiter=delimiter, strict=True)
    try:
        return _Row(number, line, next(reader))
    except Malformed as error:
        return _Row(number, line, [], str(error))
    except csv.Error as error:
        cells = next(csv.reader([line], delimiter=delimiter))
        message = f"has a misplaced quotation mark: {error}"
        return _Row(number, line, cells, misplaced_quote=message)


def _lines_of_row(first_line: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a row. Raises Malformed if it is too large."""
    size = 0
    for line in chain([first_line], lines):
        size += len(line)
        if size > MAX_ENTRY:  # csv.reader would block other threads.
            raise Malformed(TOO_LARGE)
        yield line


# --- Entries ---


class _Table:
    """The columns of a file."""

    def __init__(self, names: Sequence[str]) -> None:
        self.unread_values = UnreadValues()
        self._names = names
        columns = set(names)
        self._is_own = _OWN_COLUMNS <= columns <= FIELDS.keys()

    def read_entry(self, row: _Row) -> ImportedEntry:
        """Return the entry in a row, skipped if its uri is missing or may be wrong."""
        if row.error:
            return _skip(row, row.text.rstrip("\n"), row.error)
        if not any(map(str.strip, row.cells)):  # Spreadsheets write empty rows.
            return ignored_entry(row.line)
        self._count_unread(row.cells)
        fields = self._fields(row.cells)
        if row.misplaced_quote and _is_certain(str(fields.get("uri", "")), row):
            return ImportedEntry(row.line, {**fields, NOTE: row.misplaced_quote})
        if row.misplaced_quote:
            return _skip(row, row.text.rstrip("\n"), row.misplaced_quote)
        entry = entry_with_uri(row.line, fields)
        reason = entry.skip_reason
        # If a quotation mark is never closed, csv.reader adds the next lines to the uri.
        has_whole_uri = not reason and "\n" not in str(fields["uri"])
        # Some programs leave out empty cells at the end of a row.
        if len(row.cells) < len(self._names) and not has_whole_uri:
            reason = f"has {len(row.cells)} cells, not {len(self._names)}"
        if reason:
            return _skip(row, ", ".join(filter(None, row.cells)), reason)
        return entry

    def _count_unread(self, cells: Sequence[str]) -> None:
        for name, cell in zip_longest(self._names, cells, fillvalue=""):
            if self._is_own and name in FIELDS:
                continue
            if not is_read(name, cell.strip()):
                self.unread_values.add(name or "a column without a name")

    def _fields(self, cells: Sequence[str]) -> dict[str, object]:
        if self._is_own:
            return _own_fields(self._names, cells)
        columns = zip(self._names, map(str.strip, cells), strict=False)
        return read_fields(columns, _tags)


def _is_certain(uri: str, row: _Row) -> bool:
    """Return whether the uri is right, although a quotation mark in its row is misplaced.

    It is right if the row has the same text, and the quotation mark cannot have changed its end.
    """
    if not URI.fullmatch(uri) or '"' in uri:
        return False
    if uri not in row.text:
        return False
    # An unclosed quotation mark may put several cells into the last one.
    is_unclosed = row.text.count('"') % 2 == 1
    is_in_last_cell = row.cells[-1].strip() == uri
    return not (is_unclosed and is_in_last_cell)


def _skip(row: _Row, title: str, reason: str) -> ImportedEntry:
    """Return a skipped entry. If the row has several lines, the reason names the last line."""
    breaks = row.text.count("\n", 0, -1)
    if breaks:
        reason = f"{reason}, up to line {row.line + breaks}"
    return ImportedEntry(row.line, {"title": title}, reason)


def _own_fields(names: Sequence[str], cells: Sequence[str]) -> dict[str, object]:
    """Return the non-empty fields in a row that this service has exported."""
    fields: dict[str, object] = {}
    for name, cell in zip(names, cells, strict=False):
        # This service exports a formula with an apostrophe before it.
        if cell.startswith("'") and FORMULA.match(cell[1:]):
            cell = cell[1:]
        if cell:
            fields[name] = from_text(name, cell)
    return fields


def _tags(cell: str) -> Sequence[object]:
    """Return the tags in a cell such as `["a", "b"]`, `a,b`, `a|b` or `a;b`."""
    if cell in WORDS_FOR_NO_TAG:
        return []
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):  # The cell may be no JSON.
            return tags_in(json.loads(cell))
        if cell.endswith("]"):  # Readwise and Omnivore write `['a', 'b']`.
            quoted_tags = split_tags(cell[1:-1])
            return split_tags(",".join(tag.strip("'\" ") for tag in quoted_tags))
    if "," not in cell:  # In `a|b, c`, only the comma separates tags.
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)
