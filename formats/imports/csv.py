"""Read CSV files whose header has known names."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
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
from formats.imports.roles import is_unused, read_fields, role_of
from storage.bookmark import FIELDS, Fields, from_text, split_tags
from storage.errors import Malformed
from storage.importer import NOTE

# The default limit, 131,072 characters, is too low.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
_COLUMNS_OF_EVERY_OWN_EXPORT = {"id", "uri", "created", "modified"}
_PART_OF_ROW_TEXT = "may be a part of a row, because a quotation mark above is not closed"

_NumberedLines = Iterator[tuple[int, str]]


class _Row(NamedTuple):
    first_line: int
    lines: list[str]  # Several if a quoted cell has line breaks.
    cells: list[str]
    error: str  # Why cells are missing or may be wrong.

    @property
    def text(self) -> str:
        return "".join(self.lines).rstrip("\n")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield an entry for each row. Raises Malformed without a column for uris."""
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
    """Read up to the first line that is neither blank nor Excel's `sep=;`. Return the line."""
    for _, line in lines:
        if not line.isspace() and not line.lower().startswith("sep="):
            return line
    return ""


def is_header(line: str) -> bool:
    """Return whether the line names a column for uris."""
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most known names, and the names."""
    candidates = []
    for delimiter in _DELIMITERS:
        # csv.reader raises an error for a longer cell.
        reader = csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True)
        candidates.append((delimiter, next(reader, [])))
    return max(candidates, key=_count_known_names)


def _count_known_names(candidate: tuple[str, list[str]]) -> int:
    _, names = candidate
    return sum(1 for name in names if role_of(name))


def _read_rows(lines: _NumberedLines, delimiter: str, width: int) -> Iterator[_Row]:
    for number, line in lines:
        if line.isspace():
            continue
        # If a quoted cell has line breaks, this takes its further lines from `lines`.
        row = _take_row(number, line, lines, delimiter)
        if row.error:
            yield row._replace(lines=[line])
            # An unclosed quotation mark may have joined other rows, so read them singly.
            yield from _read_single_lines(row.lines[1:], number + 1, delimiter, width)
        elif _is_cut_off(row, width):
            yield row._replace(cells=[], error=CUT_OFF)
        else:
            yield row


def _is_cut_off(row: _Row, width: int) -> bool:
    has_line_end = row.lines[-1].endswith("\n")
    return len(row.cells) < width and not has_line_end


def _read_single_lines(
    lines: Sequence[str], first_number: int, delimiter: str, width: int
) -> Iterator[_Row]:
    for number, line in enumerate(lines, first_number):
        if line.isspace():
            continue
        row = _take_row(number, line, (), delimiter)
        if not row.error and len(row.cells) < width:
            row = row._replace(cells=[], error=_PART_OF_ROW_TEXT)
        yield row


def _take_row(
    number: int, line: str, further_lines: Iterable[tuple[int, str]], delimiter: str
) -> _Row:
    """Read the row that begins with `line`, and take the further lines of its quoted cells."""
    row_lines: list[str] = []
    lines = _keep_lines(chain([(number, line)], further_lines), row_lines)
    error = ""
    try:
        cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except Malformed as too_large:  # Raised by `_keep_lines`.
        cells = []
        error = str(too_large)
    except csv.Error as misplaced_quote:
        # Without `strict`, csv.reader accepts any quotation marks. Read the first line alone.
        cells = next(csv.reader([line], delimiter=delimiter))
        error = f"has a misplaced quotation mark: {misplaced_quote}"
    return _Row(number, row_lines, cells, error)


def _keep_lines(lines: _NumberedLines, kept: list[str]) -> Iterator[str]:
    """Yield the lines of a row, and append each to `kept`. Raises Malformed for a large row."""
    size = 0
    for _, line in lines:
        kept.append(line)
        size += len(line)
        if size > MAX_ENTRY:  # csv.reader holds the GIL for the whole row.
            raise Malformed(TOO_LARGE)
        yield line


class _Table:
    def __init__(self, names: Sequence[str]) -> None:
        self.unused_values = UnusedValues()
        self._names = names
        self._is_own_export = _COLUMNS_OF_EVERY_OWN_EXPORT <= set(names) <= FIELDS.keys()

    def read_entry(self, row: _Row) -> ImportedEntry:
        """Return an entry, skipped if the uri is missing or may be wrong."""
        if not row.cells:
            return _skip(row, row.error)
        if not any(map(str.strip, row.cells)):  # Spreadsheets write empty rows.
            return ignored_entry(row.first_line)
        self._count_unused(row.cells)
        fields = self._fields_of_cells(row.cells)
        if row.error:
            return _entry_with_misplaced_quote(row, fields)
        return self._entry_of_row(row, fields)

    def _entry_of_row(self, row: _Row, fields: Fields) -> ImportedEntry:
        width = len(self._names)
        # Some programs omit empty cells at the end.
        if len(row.cells) < width and not _has_uri_on_one_line(fields):
            return _skip(row, f"has {len(row.cells)} cells, not {width}")
        entry = entry_with_uri(row.first_line, fields)
        if entry.skip_reason:
            return _skip(row, entry.skip_reason)
        return entry

    def _count_unused(self, cells: Sequence[str]) -> None:
        for name, cell in zip_longest(self._names, cells, fillvalue=""):
            if self._is_own_export and name in FIELDS:
                continue
            if is_unused(name, cell.strip()):
                self.unused_values.add(name or "a column without a name")

    def _fields_of_cells(self, cells: Sequence[str]) -> Fields:
        if self._is_own_export:
            return _fields_of_own_export(self._names, cells)
        columns = zip(self._names, map(str.strip, cells), strict=False)
        return read_fields(columns, _tags_in_cell)


def _has_uri_on_one_line(fields: Fields) -> bool:
    uri = str(fields.get("uri", ""))
    # A line break shows that the uri's quotation mark is not closed, so it has other rows in it.
    return uri.strip() != "" and "\n" not in uri


def _entry_with_misplaced_quote(row: _Row, fields: Fields) -> ImportedEntry:
    if _is_intact(str(fields.get("uri", "")), row):
        return ImportedEntry(row.first_line, {**fields, NOTE: row.error})
    return _skip(row, row.error)


def _is_intact(uri: str, row: _Row) -> bool:
    """Return whether the uri is intact although a quotation mark is misplaced."""
    if not URI.fullmatch(uri):
        return False
    if '"' in uri:  # As in `https://a.example/"b`.
        return False
    if uri not in row.text:  # As in `"https://a.example/"b`, read as `https://a.example/b`.
        return False
    has_unclosed_quote = row.text.count('"') % 2 == 1
    is_last_cell = row.cells[-1].strip() == uri
    if has_unclosed_quote and is_last_cell:  # It may be several, as in `A,"https://a.example/,b`.
        return False
    return True


def _skip(row: _Row, reason: str) -> ImportedEntry:
    text = ", ".join(filter(None, row.cells))
    if row.error:  # The cells are missing or may be wrong.
        text = row.text
    if len(row.lines) > 1:
        reason = f"{reason}, up to line {row.first_line + len(row.lines) - 1}"
    return ImportedEntry(row.first_line, {"title": text}, reason)


def _fields_of_own_export(names: Sequence[str], cells: Sequence[str]) -> Fields:
    fields: Fields = {}
    for name, cell in zip(names, cells, strict=False):
        # The export writes an apostrophe before a formula.
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
        with suppress(ValueError, RecursionError):
            return tags_in(json.loads(cell))
        if cell.endswith("]"):
            return _quoted_tags(cell[1:-1])
    if "," not in cell:
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)


def _quoted_tags(text: str) -> list[str]:
    """Return the tags in `'a', 'b'`, as Readwise and Omnivore write them."""
    unquoted = [tag.strip("'\" ") for tag in split_tags(text)]
    return split_tags(",".join(unquoted))
