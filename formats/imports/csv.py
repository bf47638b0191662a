"""Read CSV files with a header: this service's own, and those with columns of known names."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from formats.csv import FORMULA
from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.entry import MAX_ENTRY, TOO_LARGE, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.roles import fields_of_roles, role_of, values_by_role
from storage.bookmark import FIELDS, split_tags

# The limit is one of the whole process; its default of 131,072 would cut long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
_MAX_BEGINNING = 200  # Characters of a row that cannot be parsed.
# At most 10,000 lines at once, because other threads wait while a pattern is matched.
_BLANK_LINES = re.compile(r"(?:[^\S\n]*+\n){1,10000}+")
_FIELD_LIMIT = "field limit"  # In the message of csv.Error for a field that is too large.
_ABSENT_IF_EMPTY = ("id", "created", "modified")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    text = decode(data).removesuffix("\n") + "\n"  # Each line has a line break, to be counted.
    lines = io.StringIO(text)
    delimiter, names = parse_header(_read_header(text, lines))
    if "uri" not in _roles(names):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    for row in _rows(text, lines, delimiter):
        yield _entry(row, names)


def _read_header(text: str, lines: io.StringIO) -> str:
    """Return the first line that is neither blank nor names the delimiter for spreadsheets."""
    while True:
        _skip_blank_lines(text, lines)
        line = next(lines, "")
        if not line.lower().startswith("sep="):
            return line


def parse_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter with which most column names are known, and the names."""
    headers = [(delimiter, split_cells(line, delimiter)) for delimiter in _DELIMITERS]
    return max(headers, key=lambda header: len([role for role in _roles(header[1]) if role]))


def is_header(line: str) -> bool:
    """Return whether a column in the line has the uri."""
    return "uri" in _roles(parse_header(line)[1])


def split_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line."""
    return next(csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True), [])


def _roles(names: Iterable[str]) -> list[str]:
    return [role_of(name) for name in names]


class _Row(NamedTuple):
    """A row: the numbers of its first and last line, its cells, the error if it cannot be parsed.

    The only cell of a row with an error is the beginning of its text.
    """

    first: int
    last: int
    cells: list[str]
    error: str = ""


def _rows(text: str, lines: io.StringIO, delimiter: str) -> Iterator[_Row]:
    """Yield the rows of the text from the present position of `lines`, without blank lines."""
    reader = csv.reader(map(_limit_line, lines), delimiter=delimiter, strict=True)
    last = text.count("\n", 0, lines.tell())
    while True:
        last += _skip_blank_lines(text, lines)
        first, start, reason = last + 1, lines.tell(), ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            is_large = _FIELD_LIMIT in str(error)
            reason = TOO_LARGE if is_large else f"has a misplaced quotation mark: {error}"
            cells = [text[start : start + _MAX_BEGINNING].partition("\n")[0]]
        last += text.count("\n", start, lines.tell())
        yield _Row(first, last, cells, reason)


def _limit_line(line: str) -> str:
    """Raise csv.Error for a line that csv.reader would split for so long that others wait."""
    if len(line) > MAX_ENTRY:
        raise csv.Error(_FIELD_LIMIT)
    return line


def _skip_blank_lines(text: str, lines: io.StringIO) -> int:
    """Move on to the next line that is not blank; return the number of skipped lines."""
    count = 0
    while blanks := _BLANK_LINES.match(text, lines.tell()):
        lines.seek(blanks.end())
        count += blanks[0].count("\n")
    return count


def _entry(row: _Row, names: Sequence[str]) -> ImportedEntry:
    """Return the entry in a row. A row that is too short needs at least its uri."""
    if not any(map(str.strip, row.cells)):
        return ignored_entry(row.first)
    read = _read_own_row if tuple(names) == FIELDS else _read_row
    fields = read(names, row.cells)
    entry = entry_with_uri(row.first, fields)
    # An open quotation mark joins the address with the rows that follow.
    has_uri = not entry.skip_reason and "\n" not in str(fields["uri"])
    if row.error:
        return _skipped(row, row.error)
    if any(row.cells[len(names) :]) or len(row.cells) < len(names) and not has_uri:
        return _skipped(row, f"has {len(row.cells)} cells, not {len(names)}")
    return _skipped(row, entry.skip_reason) if entry.skip_reason else entry


def _skipped(row: _Row, reason: str) -> ImportedEntry:
    """Return an entry that the first cells of its row name."""
    end = f", up to line {row.last}" if row.last > row.first else ""
    return ImportedEntry(row.first, {"title": ", ".join(filter(None, row.cells))}, reason + end)


def _read_own_row(names: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    cells = (cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(names, cells, strict=False))
    fields["tags"] = split_tags(str(fields.get("tags", "")))
    return {name: value for name, value in fields.items() if value or name not in _ABSENT_IF_EMPTY}


def _read_row(names: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    values = values_by_role(zip(names, map(str.strip, row), strict=False))
    tags = [tag for cell in values.get("tags", ()) for tag in _tags(str(cell))]
    return fields_of_roles(values, tags)


def _tags(cell: str) -> list[str]:
    """Split tags as Pocket (bars), Instapaper (a JSON array) and others (commas) write them."""
    if cell.startswith("["):
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, list):
            return [tag for text in value if isinstance(text, str) for tag in split_tags(text)]
        if cell.endswith("]"):  # Readwise and Omnivore write Python's lists, which are no JSON.
            return split_tags(",".join(tag.strip("'\" ") for tag in split_tags(cell[1:-1])))
    if "," not in cell:
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)
