"""Read CSV files whose header has known names."""

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
from formats.imports.roles import is_unused, read_fields, role_of
from storage.bookmark import FIELDS, Fields, from_text, split_tags
from storage.errors import Malformed
from storage.importer import NOTE

# By default, csv.reader refuses a cell of more than 131,072 characters.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
_COLUMNS_OF_EVERY_OWN_EXPORT = {"id", "uri", "created", "modified"}
_PART_OF_ROW_TEXT = "may be a part of a row, because a quotation mark above is not closed"

_NumberedLines = Iterator[tuple[int, str]]


class _Row(NamedTuple):
    first_line: int
    text: str
    cells: list[str]
    error: str = ""  # Why cells are missing or may be wrong.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield an entry for each row. Raises Malformed if the header names no column for uris."""
    lines = enumerate(io.StringIO(decode(data)), 1)
    header = find_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter, names = _split_header(header)
    table = _Table(names, delimiter)
    for row in _read_rows(lines, delimiter, len(names)):
        yield table.read_entry(row)
    yield from table.unused_values.entries()


def find_header(lines: _NumberedLines) -> str:
    """Return the first line that is neither blank nor Excel's `sep=;`."""
    for _, line in lines:
        if not line.isspace() and not line.lower().startswith("sep="):
            return line
    return ""


def is_header(line: str) -> bool:
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    candidates = []
    for delimiter in _DELIMITERS:
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
        row_lines = _RowLines(line, lines)
        row = _parse_row(number, row_lines, delimiter)
        if row.error:
            yield row
            # An unclosed quotation mark may have joined several rows, so read each line as a row.
            yield from _read_single_lines(row_lines.taken[1:], number + 1, delimiter, width)
        elif len(row.cells) < width and not row.text.endswith("\n"):
            yield row._replace(cells=[], error=CUT_OFF)
        else:
            yield row


def _read_single_lines(
    lines: Sequence[str], first_number: int, delimiter: str, width: int
) -> Iterator[_Row]:
    for number, line in enumerate(lines, first_number):
        if line.isspace():
            continue
        only_this_line = _RowLines(line, rest_of_file=iter(()))
        row = _parse_row(number, only_this_line, delimiter)
        if not row.error and len(row.cells) < width:
            row = row._replace(cells=[], error=_PART_OF_ROW_TEXT)
        yield row


class _TooLarge(Exception):
    """A row is larger than MAX_ENTRY."""


class _RowLines:
    """An iterable from which csv.reader takes the lines of one row. `taken` has these lines.

    Raises _TooLarge when the row has more than MAX_ENTRY characters.
    """

    def __init__(self, first_line: str, rest_of_file: _NumberedLines) -> None:
        self.taken: list[str] = []
        self._first_line = first_line
        self._rest_of_file = rest_of_file

    def __iter__(self) -> Iterator[str]:
        size = 0
        rest = (line for _, line in self._rest_of_file)
        for line in chain([self._first_line], rest):
            self.taken.append(line)
            size += len(line)
            if size > MAX_ENTRY:  # csv.reader blocks other threads until a row ends.
                raise _TooLarge
            yield line


def _parse_row(number: int, lines: _RowLines, delimiter: str) -> _Row:
    """Return the row. A row with an error has only the text of the first line."""
    try:
        cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except _TooLarge:
        return _Row(number, lines.taken[0], [], TOO_LARGE)
    except csv.Error as misplaced_quote:
        # Without `strict`, csv.reader accepts any quotation marks.
        cells = next(csv.reader(lines.taken[:1], delimiter=delimiter))
        error = f"has a misplaced quotation mark: {misplaced_quote}"
        return _Row(number, lines.taken[0], cells, error)
    return _Row(number, "".join(lines.taken), cells)


class _Table:
    def __init__(self, names: Sequence[str], delimiter: str) -> None:
        self.unused_values = UnusedValues()
        self._names = names
        self._delimiter = delimiter
        self._is_own_export = _COLUMNS_OF_EVERY_OWN_EXPORT <= set(names) <= FIELDS.keys()

    def read_entry(self, row: _Row) -> ImportedEntry:
        if not row.cells:
            return _skip(row, row.error)
        if not any(map(str.strip, row.cells)):
            return ignored_entry(row.first_line)
        fields = self._fields_of_cells(row.cells)
        self._count_unused(row.cells, fields)
        reason_to_skip = self._find_reason_to_skip(row, fields)
        if reason_to_skip:
            return _skip(row, reason_to_skip)
        if row.error:
            fields[NOTE] = row.error
        entry = entry_with_uri(row.first_line, fields)
        if entry.skip_reason:
            return _skip(row, entry.skip_reason)
        return entry

    def _find_reason_to_skip(self, row: _Row, fields: Fields) -> str:
        if row.error:
            if self._has_whole_uri(row, str(fields.get("uri", ""))):
                return ""
            return row.error
        # A short row with a uri is read, because some programs omit empty cells at the end.
        if len(row.cells) < len(self._names) and not _has_uri_on_one_line(fields):
            return f"has {len(row.cells)} cells, not {len(self._names)}"
        return ""

    def _has_whole_uri(self, row: _Row, uri: str) -> bool:
        """Return whether the uri is the whole text of a cell.

        A misplaced quotation mark may cut or join cells: from the three cells `T,"a:1,x`,
        csv.reader reads the uri `a:1,x`.
        """
        if not URI.fullmatch(uri) or '"' in uri:
            return False
        raw_cells = _raw_cells(row.text, self._delimiter)
        for name, raw_cell in zip(self._names, raw_cells, strict=False):
            if role_of(name) == "uri" and _without_outer_marks(raw_cell) == uri:
                return True
        return False

    def _count_unused(self, cells: Sequence[str], fields: Fields) -> None:
        for name, cell in zip_longest(self._names, cells, fillvalue=""):
            if self._is_own_export and name in FIELDS:
                continue
            if is_unused(name, cell.strip(), fields):
                self.unused_values.add(name or "a column without a name")

    def _fields_of_cells(self, cells: Sequence[str]) -> Fields:
        if self._is_own_export:
            return _fields_of_own_export(self._names, cells)
        columns = zip(self._names, map(str.strip, cells), strict=False)
        return read_fields(columns, _tags_in_cell)


def _has_uri_on_one_line(fields: Fields) -> bool:
    uri = str(fields.get("uri", ""))
    # If the quotation mark after a uri is missing, csv.reader adds the next rows to the uri.
    return uri.strip() != "" and "\n" not in uri


def _raw_cells(text: str, delimiter: str) -> Iterator[str]:
    """Split a row at the delimiters outside quotation marks: `"a,b"c,d` into `"a,b"c` and `d`."""
    quoted_part = '"[^"]*(?:""[^"]*)*"?'
    raw_cell = f"((?:{quoted_part})?[^{delimiter}]*)[{delimiter}]?"
    for match in re.finditer(raw_cell, text):
        yield match[1]


def _without_outer_marks(raw_cell: str) -> str:
    text = raw_cell.strip()
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].strip()
    return text


def _skip(row: _Row, reason: str) -> ImportedEntry:
    text = row.text.strip()
    further_lines = text.count("\n")
    if further_lines:
        reason = f"{reason}, up to line {row.first_line + further_lines}"
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
    """Return the tags in `'a', 'b'`."""
    tags = []
    for quoted in split_tags(text):
        tag = quoted.strip("'\" ").strip()
        if tag:
            tags.append(tag)
    return tags
