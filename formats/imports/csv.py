"""Read CSV files with a header: this service's own, and those with columns of known names."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from formats.csv import FORMULA
from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.entry import MAX_ENTRY, TOO_LARGE, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.roles import fields_of_roles, group_by_role, role_of
from storage.bookmark import FIELDS, split_tags

# Raise the limit of the whole process: by default csv.reader would refuse long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
EXCEL_DELIMITER_LINE = "sep="  # Files for Excel may name the delimiter above the header: `sep=;`.
_MAX_QUOTED = 200  # In characters: the report quotes the beginning of a row that cannot be parsed.
# At most 10,000 lines at once, because other threads must wait while Python matches a pattern.
_BLANK_LINES = re.compile(r"(?:[^\S\n]*+\n){1,10000}+")
_FIELD_LIMIT_MESSAGE = "field limit"  # csv.reader's message for a longer cell has these words.
# No bookmark has an empty id or date, so an empty cell means that the field is missing.
_NEVER_EMPTY = ("id", "created", "modified")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    text = decode(data).removesuffix("\n") + "\n"  # Each line has a line break, to be counted.
    lines = io.StringIO(text)
    header = _read_header(text, lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter = _find_delimiter(header)
    names = split_cells(header, delimiter)
    for row in _rows(text, lines, delimiter):
        yield _entry(row, names)


def _read_header(text: str, lines: io.StringIO) -> str:
    """Return the header: the first line after blank lines and the line for Excel."""
    while True:
        _skip_blank_lines(text, lines)
        line = next(lines, "")
        if not line.lower().startswith(EXCEL_DELIMITER_LINE):
            return line


def _find_delimiter(header: str) -> str:
    """Return the delimiter that splits the header into most known names of columns."""
    return max(_DELIMITERS, key=lambda delimiter: len(_known_roles(header, delimiter)))


def _known_roles(header: str, delimiter: str) -> list[str]:
    return [role for name in split_cells(header, delimiter) if (role := role_of(name))]


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    return "uri" in _known_roles(line, _find_delimiter(line))


def split_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line up to the limit of csv.reader, which refuses longer cells."""
    return next(csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True), [])


class _Row(NamedTuple):
    """A row. If it cannot be parsed, `error` says why, and `cells` quotes the beginning of it."""

    first_line: int
    last_line: int
    cells: list[str]
    error: str = ""


def _rows(text: str, lines: io.StringIO, delimiter: str) -> Iterator[_Row]:
    """Yield the rows of the text from the present position of `lines`, without blank lines."""
    reader = csv.reader(map(_refuse_long_line, lines), delimiter=delimiter, strict=True)
    end_of_row, line_after_row = 0, 1  # Before the first row: the beginning of the text.
    while True:
        _skip_blank_lines(text, lines)
        start, error_reason = lines.tell(), ""
        first_line = line_after_row + text.count("\n", end_of_row, start)  # Plus the blank lines.
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            is_too_large = _FIELD_LIMIT_MESSAGE in str(error)
            error_reason = TOO_LARGE if is_too_large else f"has a misplaced quotation mark: {error}"
            quoted_text, _, _ = text[start : start + _MAX_QUOTED].partition("\n")
            cells = [quoted_text]
        end_of_row = lines.tell()
        line_after_row = first_line + text.count("\n", start, end_of_row)
        yield _Row(first_line, line_after_row - 1, cells, error_reason)


def _refuse_long_line(line: str) -> str:
    """Raise csv.Error for a long line, because no other thread runs while csv.reader splits it."""
    if len(line) > MAX_ENTRY:
        raise csv.Error(_FIELD_LIMIT_MESSAGE)  # As csv.reader does for a long cell.
    return line


def _skip_blank_lines(text: str, lines: io.StringIO) -> None:
    """Move `lines`, which reads from the text, on to the next line that is not blank."""
    while blanks := _BLANK_LINES.match(text, lines.tell()):  # 1 to 10,000 lines.
        lines.seek(blanks.end())


def _entry(row: _Row, names: Sequence[str]) -> ImportedEntry:
    """Return the entry in a row. A row that has a uri may lack cells at its end."""
    if not any(map(str.strip, row.cells)):  # Spreadsheets write such rows below a table.
        return ignored_entry(row.first_line)
    read = _read_own_row if tuple(names) == FIELDS else _read_row
    fields = read(names, row.cells)
    entry = entry_with_uri(row.first_line, fields)
    # If the quotation mark before a uri is never closed, the uri goes on over the next lines.
    has_uri = not entry.skip_reason and "\n" not in str(fields["uri"])
    is_short = len(row.cells) < len(names) and not has_uri
    is_long = any(row.cells[len(names) :])  # Empty cells at the end do no harm.
    miscount = f"has {len(row.cells)} cells, not {len(names)}" if is_short or is_long else ""
    if reason := row.error or miscount or entry.skip_reason:
        up_to = f", up to line {row.last_line}" if row.last_line > row.first_line else ""
        row_text = ", ".join(filter(None, row.cells))  # The report shows its beginning as a title.
        return ImportedEntry(row.first_line, {"title": row_text}, reason + up_to)
    return entry


def _read_own_row(names: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    # Our writer put `'` in front of a formula, so that no spreadsheet runs the formula.
    cells = (cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(names, cells, strict=False))
    fields["tags"] = split_tags(str(fields.get("tags", "")))
    return {name: value for name, value in fields.items() if value or name not in _NEVER_EMPTY}


def _read_row(names: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    cells_by_role = group_by_role(zip(names, map(str.strip, row), strict=False))
    tags = [tag for cell in cells_by_role.get("tags", ()) for tag in _tags(str(cell))]
    return fields_of_roles(cells_by_role, own_tags=tags)


def _tags(cell: str) -> list[str]:
    """Return the tags in a cell: a JSON array (Instapaper), or separated by `,`, `|` or `;`."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):  # Where the cell is no JSON.
            texts = [text for text in json.loads(cell) if isinstance(text, str)]
            return [tag for text in texts for tag in split_tags(text)]
        if cell.endswith("]"):  # Readwise and Omnivore write Python's lists, which are no JSON.
            return split_tags(",".join(tag.strip("'\" ") for tag in split_tags(cell[1:-1])))
    if "," not in cell:  # Pocket writes `a|b`. If there are commas, only they separate.
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)
