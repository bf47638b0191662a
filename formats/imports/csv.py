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
    UnusedValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.members import WORDS_FOR_NO_TAG, tags_in
from formats.imports.roles import is_used, read_fields, role_of
from storage.bookmark import FIELDS, from_text, split_tags
from storage.errors import Malformed
from storage.importer import NOTE

# Without this, csv.reader raises an error for a cell of more than 131,072 characters.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
# This service exports its fields as columns: these in each version, others only in some.
_COLUMNS_OF_EVERY_VERSION = {"id", "uri", "created", "modified"}
_PART_OF_ROW_TEXT = "may be a part of a row, because a quotation mark above is not closed"

_NumberedLines = Iterator[tuple[int, str]]


class _Row(NamedTuple):
    """A row of the table, which has several lines if a quoted cell has line breaks."""

    number: int  # The number of its first line.
    lines: list[str]
    cells: list[str]  # Empty if the row cannot be read.
    error: str  # With cells, it is a misplaced quotation mark, and they may be wrong.

    @property
    def text(self) -> str:
        return "".join(self.lines).rstrip("\n")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield an entry for each row. Raises Malformed if the header names no column for the uri."""
    lines = enumerate(io.StringIO(decode(data)), 1)
    header = find_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter, names = _split_header(header)
    table = _Table(names)
    for row in _read_rows(lines, delimiter, len(names)):
        yield table.read_entry(row)
    yield from table.unused_values.entries()


def find_header(lines: _NumberedLines) -> str:
    """Return the first line that is neither blank nor Excel's `sep=;`, or ""."""
    for _, line in lines:
        if not line.isspace() and not line.lower().startswith("sep="):
            return line
    return ""


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most known names, and the names."""
    candidates = []
    for delimiter in _DELIMITERS:
        # csv.reader raises an error for a cell of more than MAX_ENTRY characters.
        reader = csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True)
        candidates.append((delimiter, next(reader, [])))
    return max(candidates, key=_count_known_names)


def _count_known_names(candidate: tuple[str, list[str]]) -> int:
    _, names = candidate
    return len(list(filter(role_of, names)))


# --- Rows ---


def _read_rows(lines: _NumberedLines, delimiter: str, width: int) -> Iterator[_Row]:
    """Yield the rows below the header, which has `width` cells."""
    for number, line in lines:
        if line.isspace():
            continue
        row = _read_row(number, line, lines, delimiter)
        if row.error:
            yield row._replace(lines=[line])
            # An unclosed quotation mark may have joined the further lines to this row.
            yield from _read_single_lines(row.lines[1:], number + 1, delimiter, width)
        elif len(row.cells) < width and not row.lines[-1].endswith("\n"):
            yield row._replace(cells=[], error=CUT_OFF)
        else:
            yield row


def _read_single_lines(
    lines: Sequence[str], first_number: int, delimiter: str, width: int
) -> Iterator[_Row]:
    for number, line in enumerate(lines, first_number):
        if line.isspace():
            continue
        row = _read_row(number, line, iter(()), delimiter)
        if not row.error and len(row.cells) < width:
            row = row._replace(cells=[], error=_PART_OF_ROW_TEXT)
        yield row


def _read_row(number: int, line: str, lines: _NumberedLines, delimiter: str) -> _Row:
    """Return the row that begins with `line`; a quoted cell may continue in `lines`."""
    row_lines: list[str] = []
    all_lines = chain([(number, line)], lines)
    reader = csv.reader(_collect(all_lines, row_lines), delimiter=delimiter, strict=True)
    cells: list[str] = []
    error = ""
    try:
        cells = next(reader)
    except Malformed as malformed:
        error = str(malformed)
    except csv.Error as misplaced_quote:
        cells = next(csv.reader([line], delimiter=delimiter))
        error = f"has a misplaced quotation mark: {misplaced_quote}"
    return _Row(number, row_lines, cells, error)


def _collect(lines: _NumberedLines, row_lines: list[str]) -> Iterator[str]:
    """Yield the lines that csv.reader reads for a row, and keep them in `row_lines`."""
    size = 0
    for _, line in lines:
        row_lines.append(line)
        size += len(line)
        if size > MAX_ENTRY:  # csv.reader holds the GIL for the whole row.
            raise Malformed(TOO_LARGE)
        yield line


# --- Entries ---


class _Table:
    """The columns of a file."""

    def __init__(self, names: Sequence[str]) -> None:
        self.unused_values = UnusedValues()
        self._names = names
        self._is_own_export = _COLUMNS_OF_EVERY_VERSION <= set(names) <= FIELDS.keys()

    def read_entry(self, row: _Row) -> ImportedEntry:
        """Return the entry in a row, skipped if its uri is missing or may be wrong."""
        if not row.cells:
            return _skip(row, row.text, row.error)
        if not any(map(str.strip, row.cells)):  # Spreadsheets write empty rows.
            return ignored_entry(row.number)
        self._count_unused(row.cells)
        fields = self._fields_of_cells(row.cells)
        if row.error:
            return _entry_with_misplaced_quote(row, fields)
        return self._entry_of_row(row, fields)

    def _entry_of_row(self, row: _Row, fields: dict[str, object]) -> ImportedEntry:
        entry = entry_with_uri(row.number, fields)
        reason = entry.skip_reason
        # Some programs leave out empty cells at the end of a row.
        if len(row.cells) < len(self._names) and not _has_whole_uri(fields):
            reason = f"has {len(row.cells)} cells, not {len(self._names)}"
        if reason:
            return _skip(row, ", ".join(filter(None, row.cells)), reason)
        return entry

    def _count_unused(self, cells: Sequence[str]) -> None:
        for name, cell in zip_longest(self._names, cells, fillvalue=""):
            if self._is_own_export and name in FIELDS:
                continue
            if not is_used(name, cell.strip()):
                self.unused_values.add(name or "a column without a name")

    def _fields_of_cells(self, cells: Sequence[str]) -> dict[str, object]:
        if self._is_own_export:
            return _own_fields(self._names, cells)
        columns = zip(self._names, map(str.strip, cells), strict=False)
        return read_fields(columns, _tags_in_cell)


def _has_whole_uri(fields: dict[str, object]) -> bool:
    uri = str(fields.get("uri", ""))
    # After an unclosed quotation mark, csv.reader adds the next lines to the uri.
    return uri.strip() != "" and "\n" not in uri


def _entry_with_misplaced_quote(row: _Row, fields: dict[str, object]) -> ImportedEntry:
    if _is_right_uri(str(fields.get("uri", "")), row):
        return ImportedEntry(row.number, {**fields, NOTE: row.error})
    return _skip(row, row.text, row.error)


def _is_right_uri(uri: str, row: _Row) -> bool:
    """Return whether the misplaced quotation mark has left the uri as it is in the row."""
    if not URI.fullmatch(uri) or '"' in uri or uri not in row.text:
        return False
    is_closed = row.text.count('"') % 2 == 0
    if is_closed:
        return True
    # After an unclosed quotation mark, the last cell may include others.
    return row.cells[-1].strip() != uri


def _skip(row: _Row, row_text: str, reason: str) -> ImportedEntry:
    """Return a skipped entry. If the row has several lines, the reason names the last line."""
    if len(row.lines) > 1:
        reason = f"{reason}, up to line {row.number + len(row.lines) - 1}"
    return ImportedEntry(row.number, {"title": row_text}, reason)


def _own_fields(names: Sequence[str], cells: Sequence[str]) -> dict[str, object]:
    """Return the non-empty fields in a row that this service has exported."""
    fields: dict[str, object] = {}
    for name, cell in zip(names, cells, strict=False):
        # This service exports a formula with an apostrophe before it.
        unescaped = cell.removeprefix("'")
        if FORMULA.match(unescaped):
            cell = unescaped
        if cell:
            fields[name] = from_text(name, cell)
    return fields


def _tags_in_cell(cell: str) -> Sequence[object]:
    """Return the tags in a cell such as `["a", "b"]`, `a,b`, `a|b` or `a;b`."""
    if cell in WORDS_FOR_NO_TAG:
        return []
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):  # The cell may not be JSON.
            return tags_in(json.loads(cell))
        if cell.endswith("]"):
            return _quoted_tags(cell[1:-1])
    if "," not in cell:  # In `a|b, c`, only the comma separates tags.
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)


def _quoted_tags(text: str) -> list[str]:
    """Return the tags in `'a', 'b'`, as Readwise and Omnivore write them."""
    unquoted = [tag.strip("'\" ") for tag in split_tags(text)]
    return split_tags(",".join(unquoted))
