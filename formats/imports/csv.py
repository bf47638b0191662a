"""Read CSV files with a header: this service's own, and others whose columns have known names."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain

from formats.csv import FORMULA
from formats.imports.entry import CUT_OFF, TOO_LARGE, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.roles import fields_of_roles, group_by_role, role_of
from formats.text import MAX_ENTRY, decode
from storage.bookmark import FIELDS, split_tags
from storage.errors import Malformed
from storage.importer import IGNORED

# Raise the limit of the whole process: by default csv.reader would refuse long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
EXCEL_DELIMITER_LINE = "sep="  # Files for Excel may name the delimiter above the header: `sep=;`.
_MAX_IN_REPORT = 200  # Characters of a row that cannot be parsed: the report quotes them.
_FIELD_LIMIT_MESSAGE = "field limit"  # Part of csv.reader's message for a cell above the limit.
_MISSING_IF_EMPTY = ("id", "created", "modified")  # An empty title, however, is a value.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    lines = _Lines(decode(data))
    header = _read_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter = _find_delimiter(header)
    names = _split_cells(header, delimiter)
    while line := lines.skip_blanks():
        yield _read_entry(line, lines, names, delimiter)


def _read_entry(line: str, lines: "_Lines", names: Sequence[str], delimiter: str) -> ImportedEntry:
    """Return the entry of the row that begins with this line; a quoted cell may end in a later one.

    After an error, the next row begins after the line that has the error.
    """
    number, all_lines = lines.read_count, map(_refuse_long_line, chain([line], lines))
    beginning: dict[str, object] = {"title": line[:_MAX_IN_REPORT].rstrip("\n")}
    try:
        cells = next(csv.reader(all_lines, delimiter=delimiter, strict=True))
        entry = _entry(number, names, cells)
        if not lines.last.endswith("\n") and len(cells) < len(names):
            entry = ImportedEntry(number, beginning, CUT_OFF)
    except csv.Error as error:
        is_too_large = _FIELD_LIMIT_MESSAGE in str(error)
        reason = TOO_LARGE if is_too_large else f"has a misplaced quotation mark: {error}"
        entry = ImportedEntry(number, beginning, reason)
    if entry.skip_reason not in ("", IGNORED) and lines.read_count > number:
        up_to = f", up to line {lines.read_count}"
        entry = entry._replace(skip_reason=entry.skip_reason + up_to)
    return entry


def _refuse_long_line(line: str) -> str:
    """Raise csv.Error for a long line, because no other thread runs while csv.reader splits it."""
    if len(line) > MAX_ENTRY:
        raise csv.Error(_FIELD_LIMIT_MESSAGE)  # As csv.reader does for a long cell.
    return line


class _Lines:
    """An iterator of the lines of a text; `last` is the one that was read last."""

    def __init__(self, text: str) -> None:
        self._numbered = enumerate(io.StringIO(text), 1)
        self.read_count, self.last = 0, ""

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.read_count, self.last = next(self._numbered)
        return self.last

    def skip_blanks(self) -> str:
        """Return the next line that is not blank, an empty text at the end."""
        # This loop is three times as fast as one over `self`: a file may have 32 million lines.
        for number, line in self._numbered:
            if not line.isspace():
                self.read_count, self.last = number, line
                return line
        return ""


def _read_header(lines: _Lines) -> str:
    """Return the first line that is neither blank nor a delimiter for Excel, such as `sep=;`."""
    while (line := lines.skip_blanks()).lower().startswith(EXCEL_DELIMITER_LINE):
        pass
    return line


def _find_delimiter(header: str) -> str:
    """Return the delimiter that splits the header into the largest number of known column names."""
    return max(_DELIMITERS, key=lambda delimiter: len(_known_roles(header, delimiter)))


def _known_roles(header: str, delimiter: str) -> list[str]:
    return [role for name in _split_cells(header, delimiter) if (role := role_of(name))]


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    return "uri" in _known_roles(line, _find_delimiter(line))


def _split_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, which is cut because `csv` raises an error for longer cells."""
    return next(csv.reader([line[:MAX_ENTRY]], delimiter=delimiter, skipinitialspace=True), [])


def _entry(first_line: int, names: Sequence[str], cells: Sequence[str]) -> ImportedEntry:
    """Return the entry in a row, skipped if it has no uri or a wrong number of cells."""
    if not any(map(str.strip, cells)):  # Spreadsheets write such rows below a table.
        return ignored_entry(first_line)
    read = _read_own_row if tuple(names) == FIELDS else _read_row  # FIELDS is our own header.
    fields = read(names, cells)
    entry = entry_with_uri(first_line, fields)
    # If the quotation mark before a uri is never closed, the uri goes on over the next lines.
    has_whole_uri = not entry.skip_reason and "\n" not in str(fields["uri"])
    # Some programs leave out empty cells at the end, so a short row with a whole uri is valid.
    is_too_short = len(cells) < len(names) and not has_whole_uri
    is_too_long = any(cells[len(names) :])  # Empty cells at the end do no harm.
    miscount = f"has {len(cells)} cells, not {len(names)}" if is_too_short or is_too_long else ""
    if reason := miscount or entry.skip_reason:
        row_text = ", ".join(filter(None, cells))  # The report shows its beginning as a title.
        return ImportedEntry(first_line, {"title": row_text}, reason)
    return entry


def _read_own_row(names: Sequence[str], row: Sequence[str]) -> dict[str, object]:
    # Our writer put `'` in front of a formula, so that no spreadsheet runs the formula.
    cells = (cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(names, cells, strict=False))
    fields["tags"] = split_tags(str(fields.get("tags", "")))
    return {name: value for name, value in fields.items() if value or name not in _MISSING_IF_EMPTY}


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
