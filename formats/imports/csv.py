"""Read CSV files with a header: this service's own, and others whose columns have known names."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from formats.charset import decode
from formats.csv import FORMULA
from formats.imports.entry import (
    CUT_OFF,
    MAX_ENTRY,
    TOO_LARGE,
    ImportedEntry,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.roles import fields_of_roles, group_by_role, role_of
from storage.bookmark import FIELDS, split_tags
from storage.errors import Malformed

# Raise the limit of the whole process: by default csv.reader would refuse long descriptions.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
_PART_OF_ROW = "may be a part of a row, because a quotation mark above is not closed"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each row under the header. Raises Malformed if no column of the header has the uri."""
    text = decode(data)
    lines = io.StringIO(text)
    header = read_header(lines)
    if not is_header(header):
        raise Malformed("No column in the first line has a name for the address, such as url.")
    delimiter, names = _split_header(header)
    number, position = 1, 0  # Of the line in which the row begins.
    end_of_retry = 0  # Up to here each line is read alone, because an unclosed quote joined them.
    for line in lines:
        if line.isspace():  # A file may have 32 million blank lines.
            continue
        start = lines.tell() - len(line)
        number += text.count("\n", position, start)
        position = start
        is_alone = start < end_of_retry
        cells, error = _read_cells(line, iter(()) if is_alone else lines, delimiter)
        if error and lines.tell() > start + len(line):
            end_of_retry = lines.tell()
            lines.seek(start + len(line))
        row = text[start : lines.tell()]
        if not error and len(cells) < len(names) and (is_alone or not row.endswith("\n")):
            error = _PART_OF_ROW if is_alone else CUT_OFF
        if error:
            yield _skip(number, row, row.rstrip("\n"), error)
        else:
            yield _read_entry(number, row, names, cells)


def _read_cells(line: str, lines: Iterator[str], delimiter: str) -> tuple[list[str], str]:
    """Return the cells of the row that begins with this line, and an error, empty if there is none.

    A quoted cell may end in a later line.
    """
    try:
        return next(csv.reader(_lines_of_row(line, lines), delimiter=delimiter, strict=True)), ""
    except Malformed as error:
        return [], str(error)
    except csv.Error as error:
        return [], f"has a misplaced quotation mark: {error}"


def _lines_of_row(first_line: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a row as they are asked for. Raises Malformed if the row is too large."""
    size = 0
    for line in chain([first_line], lines):
        size += len(line)
        if size > MAX_ENTRY:  # No other thread runs while csv.reader splits a line.
            raise Malformed(TOO_LARGE)
        yield line


def read_header(lines: Iterator[str]) -> str:
    """Return the first line that is neither blank nor names the delimiter for Excel (`sep=;`)."""
    headers = (line for line in lines if not line.isspace() and line[:4].lower() != "sep=")
    return next(headers, "")


def is_header(line: str) -> bool:
    """Return whether the line is a header with a column for the uri."""
    _, names = _split_header(line)
    return "uri" in map(role_of, names)


def _split_header(line: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the largest number of known column names, and all names."""
    line = line[:MAX_ENTRY]  # `csv` raises an error for longer cells.
    readers = [csv.reader([line], delimiter=d, skipinitialspace=True) for d in _DELIMITERS]
    headers = zip(_DELIMITERS, (next(reader, []) for reader in readers), strict=True)
    return max(headers, key=lambda header: sum(role_of(name) != "" for name in header[1]))


def _read_entry(number: int, row: str, names: list[str], cells: list[str]) -> ImportedEntry:
    """Return the entry in a row, skipped if it has no uri or a wrong number of cells."""
    if not any(map(str.strip, cells)):  # Spreadsheets write such rows below a table.
        return ignored_entry(number)
    read = _read_own_row if tuple(names) == FIELDS else _read_row  # FIELDS is our own header.
    fields = read(names, cells)
    entry = entry_with_uri(number, fields)
    # Some programs leave out empty cells at the end, so a short row with a whole uri is valid. If
    # the quotation mark before a uri is never closed, the uri goes on over the next lines.
    has_whole_uri = not entry.skip_reason and "\n" not in str(fields["uri"])
    is_too_short = len(cells) < len(names) and not has_whole_uri
    is_too_long = any(cells[len(names) :])  # Empty cells at the end do no harm.
    miscount = f"has {len(cells)} cells, not {len(names)}" if is_too_short or is_too_long else ""
    if reason := miscount or entry.skip_reason:
        return _skip(number, row, ", ".join(filter(None, cells)), reason)
    return entry


def _skip(number: int, row: str, title: str, reason: str) -> ImportedEntry:
    """Return an entry to skip, whose reason names the last line of a row of several lines."""
    if breaks := row.count("\n", 0, -1):
        reason = f"{reason}, up to line {number + breaks}"
    return ImportedEntry(number, {"title": title}, reason)


def _read_own_row(names: list[str], row: list[str]) -> dict[str, object]:
    # Our writer put `'` in front of a formula, so that no spreadsheet runs the formula.
    cells = (cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(names, cells, strict=False))
    fields["tags"] = split_tags(str(fields.get("tags", "")))
    return {name: value for name, value in fields.items() if value}


def _read_row(names: list[str], row: list[str]) -> dict[str, object]:
    cells_by_role = group_by_role(zip(names, map(str.strip, row), strict=False))
    tags = [tag for cell in cells_by_role.get("tags", ()) for tag in _tags(str(cell))]
    return fields_of_roles(cells_by_role, own_tags=tags)


def _tags(cell: str) -> list[str]:
    """Return the tags in a cell: a JSON array (Instapaper), or separated by `,`, `|` or `;`."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):  # The cell may be no JSON.
            texts = [text for text in json.loads(cell) if isinstance(text, str)]
            return [tag for text in texts for tag in split_tags(text)]
        if cell.endswith("]"):  # Readwise and Omnivore write Python's lists, which are no JSON.
            return split_tags(",".join(tag.strip("'\" ") for tag in split_tags(cell[1:-1])))
    if "," not in cell:  # Pocket writes `a|b`. If there are commas, only they separate.
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)
