"""Read CSV files with a header: this service's own, and others whose columns have known names."""

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
from formats.imports.roles import (
    WORDS_FOR_NO_TAG,
    is_read,
    read_fields,
    role_of,
)
from storage.bookmark import FIELDS, from_text, split_tags
from storage.errors import Malformed
from storage.importer import NOTE

# Of the whole process. By default csv.reader refuses long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
# The columns of a file of this service, of whatever version.
_OWN_COLUMNS = frozenset({"id", "uri", "created", "modified"})
_WRONG_QUOTE = "has a misplaced quotation mark"
_PART_OF_ROW = "may be a part of a row, because a quotation mark above is not closed"


class _Row(NamedTuple):
    """A row, or a line of a row whose quotation mark is not closed."""

    line: int  # The number of its first line.
    text: str
    cells: list[str]
    error: str  # Empty if the row can be read; else `cells` may be wrong.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    text = decode(data)
    lines = io.StringIO(text)
    header = read_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter, names = _split_header(header)
    unread_values = UnreadValues()
    for row in _read_rows(text, lines, delimiter, len(names)):
        if row.error:
            yield _read_damaged(row, names)
        else:
            _count_unread(names, row.cells, unread_values)
            yield _read_entry(row, names)
    yield from unread_values.entries()


def _count_unread(names: Sequence[str], cells: Sequence[str], unread_values: UnreadValues) -> None:
    """Count the cells of columns that are not read, and those beyond the header."""
    for name, cell in zip_longest(names, cells, fillvalue=""):
        if not is_read(name, cell.strip()):
            unread_values.add(name or "a column without a name")


def read_header(lines: Iterator[str]) -> str:
    """Return the first line that is not blank, and not Excel's `sep=;`."""
    for line in lines:
        if not line.isspace() and not line.lower().startswith("sep="):
            return line
    return ""


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most known column names, and all names."""
    best_delimiter = ""
    best_names: list[str] = []
    best_count = -1
    for delimiter in _DELIMITERS:
        # `csv` raises an error for cells longer than MAX_ENTRY.
        reader = csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True)
        names = next(reader, [])
        known_names = list(filter(role_of, names))
        if len(known_names) > best_count:
            best_delimiter = delimiter
            best_names = names
            best_count = len(known_names)
    return best_delimiter, best_names


def _is_own_header(names: Sequence[str]) -> bool:
    """Return whether this service wrote the header, in whatever version."""
    columns = set(names)
    return _OWN_COLUMNS <= columns <= FIELDS.keys()


# --- Rows ---


def _read_rows(text: str, lines: io.StringIO, delimiter: str, width: int) -> Iterator[_Row]:
    """Yield the rows below the header, which has `width` cells.

    After an open quotation mark, each line that it joined is read again as a row of its own.
    """
    number = 1
    position = 0  # Of the line with this number.
    end_of_retry = 0  # Lines before this position are read as rows of their own.
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
        end_of_line = start + len(line)
        if row.error and lines.tell() > end_of_line:
            end_of_retry = lines.tell()
            lines.seek(end_of_line)
        row = row._replace(text=text[start : lines.tell()])
        if len(row.cells) < width and not row.error and not row.text.endswith("\n"):
            row = row._replace(error=CUT_OFF)
        yield row


def _read_line(number: int, line: str, delimiter: str, width: int) -> _Row:
    """Return a line as a row that ends with it."""
    row = _read_row(number, line, iter(()), delimiter)
    if len(row.cells) < width and not row.error:
        return row._replace(error=_PART_OF_ROW)
    return row


def _read_row(number: int, line: str, lines: Iterator[str], delimiter: str) -> _Row:
    """Return the row that begins with this line; a quoted cell may end in a later line."""
    reader = csv.reader(_lines_of_row(line, lines), delimiter=delimiter, strict=True)
    try:
        return _Row(number, line, next(reader), error="")
    except Malformed as error:
        reason = str(error)
    except csv.Error as error:
        cells = next(csv.reader([line], delimiter=delimiter))
        return _Row(number, line, cells, f"{_WRONG_QUOTE}: {error}")
    return _Row(number, line, [], reason)


def _lines_of_row(first_line: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a row as they are asked for. Raises Malformed if the row is too large."""
    size = 0
    for line in chain([first_line], lines):
        size += len(line)
        if size > MAX_ENTRY:  # No other thread runs while csv.reader splits a line.
            raise Malformed(TOO_LARGE)
        yield line


# --- Entries ---


def _read_entry(row: _Row, names: Sequence[str]) -> ImportedEntry:
    """Return the entry in a row, skipped if it has no uri or perhaps only a part of it."""
    if not any(map(str.strip, row.cells)):  # Spreadsheets write such rows below a table.
        return ignored_entry(row.line)
    fields = _fields(names, row.cells)
    entry = entry_with_uri(row.line, fields)
    reason = entry.skip_reason
    # The uri goes on over the next lines if its quotation mark is never closed.
    has_whole_uri = not reason and "\n" not in str(fields["uri"])
    # Some programs leave out empty cells at the end of a row.
    if len(row.cells) < len(names) and not has_whole_uri:
        reason = f"has {len(row.cells)} cells, not {len(names)}"
    if reason:
        return _skip(row, ", ".join(filter(None, row.cells)), reason)
    return entry


def _read_damaged(row: _Row, names: Sequence[str]) -> ImportedEntry:
    """Return the entry in a row with an error, skipped if its uri may be wrong."""
    fields = _fields(names, row.cells)
    uri = str(fields.get("uri", ""))
    is_written_so = URI.fullmatch(uri) and '"' not in uri and uri in row.text
    if not row.error.startswith(_WRONG_QUOTE) or not is_written_so:
        return _skip(row, row.text.rstrip("\n"), row.error)
    is_open = row.text.count('"') % 2 == 1
    # The last cell may have further cells inside it.
    if is_open and row.cells[-1].strip() == uri:
        return _skip(row, row.text.rstrip("\n"), row.error)
    return ImportedEntry(row.line, {**fields, NOTE: row.error})


def _skip(row: _Row, title: str, reason: str) -> ImportedEntry:
    """Return an entry to skip, whose reason names the last of several lines."""
    breaks = row.text.count("\n", 0, -1)
    if breaks:
        reason = f"{reason}, up to line {row.line + breaks}"
    return ImportedEntry(row.line, {"title": title}, reason)


def _fields(names: Sequence[str], cells: Sequence[str]) -> dict[str, object]:
    if _is_own_header(names):
        return _own_fields(names, cells)
    columns = zip(names, map(str.strip, cells), strict=False)
    return read_fields(columns, _tags)


def _own_fields(names: Sequence[str], cells: Sequence[str]) -> dict[str, object]:
    """Return the fields in a row of this service, without empty ones."""
    fields: dict[str, object] = {}
    for name, cell in zip(names, cells, strict=False):
        text = cell.removeprefix("'")
        if not FORMULA.match(text):  # The export has put no apostrophe in front.
            text = cell
        if text:
            fields[name] = from_text(name, text)
    return fields


def _tags(cell: str) -> list[str]:
    """Return the tags in a cell: a JSON array (Instapaper), or separated by `,`, `|` or `;`."""
    if cell in WORDS_FOR_NO_TAG:
        return []
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):  # The cell may be no JSON.
            return _tags_in_array(cell)
        if cell.endswith("]"):  # A list of Python (Readwise, Omnivore).
            quoted_tags = split_tags(cell[1:-1])
            return split_tags(",".join(tag.strip("'\" ") for tag in quoted_tags))
    if "," not in cell:  # Pocket writes `a|b`. If there are commas, only they separate.
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)


def _tags_in_array(cell: str) -> list[str]:
    """Return the tags in a JSON array of texts. Raises ValueError or RecursionError."""
    tags: list[str] = []
    for text in json.loads(cell):
        if isinstance(text, str):
            tags += split_tags(text)
    return tags
