"""Read CSV files with a header: this service's own, and those with columns of known names."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from formats.csv import FORMULA
from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.entry import (
    MAX_ENTRY,
    TOO_LARGE,
    ImportedEntry,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.roles import fields_of_roles, role_of
from storage.bookmark import FIELDS, split_tags

# The limit is one of the whole process; its default of 131,072 would cut long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
_BLANKS = re.compile(r"(?:[^\S\n]*+\n)*+")
_OPTIONAL = ("id", "created", "modified")

_ReadRow = Callable[[Sequence[str]], dict[str, object]]


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    lines = _Lines(decode(data))
    header = lines.next_row_start()
    if header.lower().startswith("sep="):  # The delimiter, for spreadsheets.
        header = lines.next_row_start()
    delimiter, names = parse_header(header)
    if "uri" not in _roles(names):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    read = _read_own_row if tuple(names) == FIELDS else _row_reader(_roles(names))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while (row := _next_row(reader, lines, len(names))) is not None:
        if isinstance(row, ImportedEntry):
            yield row
        elif any(map(str.strip, row)):
            yield entry_with_uri(lines.first, read(row))
        else:
            yield ignored_entry(lines.first)


def parse_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter with which most column names are known, and the names."""
    headers = [(delimiter, _cells(line, delimiter)) for delimiter in _DELIMITERS]
    return max(headers, key=lambda header: len([role for role in _roles(header[1]) if role]))


def is_header(line: str) -> bool:
    """Return whether a column in the line has the uri."""
    return "uri" in _roles(parse_header(line)[1])


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line[:MAX_ENTRY]], delimiter=delimiter), [])


def _roles(names: Iterable[str]) -> list[str]:
    return [role_of(name) for name in names]


class _Lines:
    """The lines of a text for csv.reader, which joins lines while a quote is open.

    `first` is the number of a row's first line, `last` that of the last line read.
    """

    def __init__(self, text: str) -> None:
        self._text, self._position = text, 0
        self.first = self.last = 0

    def begin_row(self) -> None:
        """Begin a row with the next line that is not empty."""
        blanks = _BLANKS.match(self._text, self._position)
        assert blanks
        self._position = blanks.end()
        self.last += blanks[0].count("\n")
        self.first = self.last + 1

    def next_row_start(self) -> str:
        """Return the first line of the next row, empty at the end."""
        self.begin_row()
        return next(self, "")

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        if self._position >= len(self._text):
            raise StopIteration
        end = self._text.find("\n", self._position)
        line = self._text[self._position : end if end >= 0 else None]
        self._position += len(line) + 1
        self.last += 1
        return line + "\n"


def _next_row(
    reader: Iterator[list[str]], lines: _Lines, width: int
) -> list[str] | ImportedEntry | None:
    """Return the next row, an entry that names the reason to skip it, or None at the end."""
    lines.begin_row()
    try:
        row = next(reader, None)
    except csv.Error as error:
        is_large = "field limit" in str(error)
        misplaced = f"has a misplaced quotation mark: {error}"
        return _skipped(lines, TOO_LARGE if is_large else misplaced)
    if row and any(row) and (len(row) < width or any(row[width:])):
        return _skipped(lines, f"has {len(row)} cells, not {width}")
    return row


def _skipped(lines: _Lines, reason: str) -> ImportedEntry:
    end = f", up to line {lines.last}" if lines.last > lines.first else ""
    return ImportedEntry(lines.first, {}, reason + end)


def _read_own_row(row: Sequence[str]) -> dict[str, object]:
    cells = (cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(FIELDS, cells, strict=False))
    fields["tags"] = split_tags(str(fields["tags"]))
    return {name: value for name, value in fields.items() if value or name not in _OPTIONAL}


def _row_reader(roles: Sequence[str]) -> _ReadRow:
    """Return a function that reads a row whose cells have these roles."""

    def read(row: Sequence[str]) -> dict[str, object]:
        values: dict[str, list[object]] = {}
        for role, cell in zip(roles, row, strict=False):
            if role and (cell := cell.strip()):
                values.setdefault(role, []).append(cell)
        tags = [tag for cell in values.get("tags", ()) for tag in _tags(str(cell))]
        return fields_of_roles(values, tags)

    return read


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
