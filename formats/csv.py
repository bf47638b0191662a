"""CSV (RFC 4180) with a header, safe to open in a spreadsheet; and that of others."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from formats import decode
from formats.errors import Malformed
from formats.item import (
    MARKS,
    MAX_ENTRY,
    TOO_LARGE,
    Item,
    Stream,
    date,
    folder_tags,
    is_set,
    item,
    role_of,
    united,
)
from formats.view import View
from storage.bookmark import FIELDS, Bookmark, split_tags

# What a spreadsheet would run as a formula, whether it has our apostrophes in front or not.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _Line:
    """A file for csv.writer that holds the last line written to it."""

    def write(self, line: str) -> None:
        self.last = line


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A line each under the header, tags joined by commas, a formula's cell behind a `'`."""
    line = _Line()
    writer = csv.writer(line)
    writer.writerow(FIELDS)
    yield line.last.encode()
    for b in bookmarks:
        texts = _safe(b.uri), _safe(b.title), _safe(b.description), _safe(",".join(b.tags))
        writer.writerow((b.id, *texts, b.created, b.modified))
        yield line.last.encode()


def _safe(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


# --- Reading ---

# As long as a row may be. A cell over the limit of 131,072, which the whole process has, would take
# the rows after it along.
csv.field_size_limit(max(MAX_ENTRY, csv.field_size_limit()))

_DELIMITERS = ",;\t|"
# The folders that Raindrop and Instapaper have of themselves.
_ROOTS = ("unsorted", "archive")

_Row = Callable[[Sequence[str]], dict[str, object]]


def read_file(stream: Stream) -> Iterator[Item]:
    """Each row under the header: this service's own, or one with columns of known names.

    Raises Malformed if there is no such header.
    """
    lines = _Lines(decode.lines(decode.text(stream)))
    head = _head(lines)
    if head.lower().startswith("sep="):  # So a spreadsheet is told its delimiter.
        head = _head(lines)
    delimiter, names = header(head)
    if "uri" not in _roles(names):
        raise Malformed("The first line names no column for the address, such as url.")
    read = _own if tuple(names) == FIELDS else _foreign(_roles(names))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while (row := _row(reader, lines, len(names))) is not None:
        if isinstance(row, Item):
            yield row
        elif any(row):
            yield item(lines.first, read(row))


def _head(lines: "_Lines") -> str:
    """The next line that is not empty. Raises Malformed if there is too much before its end."""
    try:
        return next(filter(str.strip, lines), "")
    except csv.Error as error:
        raise Malformed(f"The first line {error}.") from None


def header(line: str) -> tuple[str, list[str]]:
    """The delimiter by which the line names the most known columns, and the line's cells."""
    found = [(delimiter, _cells(line, delimiter)) for delimiter in _DELIMITERS]
    return max(found, key=lambda one: len([role for role in _roles(one[1]) if role]))


def names_uri(line: str) -> bool:
    """Whether the line is a header that can be read by."""
    return "uri" in _roles(header(line)[1])


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line[:MAX_ENTRY]], delimiter=delimiter), [])
    except csv.Error:
        return []


def _roles(names: Iterable[str]) -> list[str]:
    return [role_of(name) for name in names]


class _Lines:
    """Lines for csv.reader, which joins lines while a quote is open: here up to MAX_ENTRY.

    `first` is the number of a row's first line, `last` that of the line read last.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.last = 0
        self.begin()

    def begin(self) -> None:
        """Take the next line for the first of a row."""
        self.first, self._size = self.last + 1, 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.last += 1
        self._size += len(line) + 1
        if self._size > MAX_ENTRY:
            raise csv.Error(TOO_LARGE)
        return line + "\n"


def _row(reader: Iterator[list[str]], lines: _Lines, width: int) -> list[str] | Item | None:
    """Return the next row, or an item that says why its lines are skipped; None at the end."""
    lines.begin()
    try:
        row = next(reader, None)
    except csv.Error as error:
        is_large = str(error) == TOO_LARGE
        return _skipped(lines, TOO_LARGE if is_large else f"has a wrong quote: {error}")
    if row and any(row) and (len(row) < width or any(row[width:])):
        return _skipped(lines, f"has {len(row)} cells, not {width}")
    return row


def _skipped(lines: _Lines, reason: str) -> Item:
    end = f", up to line {lines.last}" if lines.last > lines.first else ""
    return Item(lines.first, {}, reason + end)


def _own(row: Sequence[str]) -> dict[str, object]:
    """The fields of a row that write() wrote."""
    cells = (cell[1:] if cell[:1] == "'" and _FORMULA.match(cell, 1) else cell for cell in row)
    fields: dict[str, object] = dict(zip(FIELDS, cells, strict=False))
    fields["tags"] = split_tags(str(fields["tags"]))
    return {name: value for name, value in fields.items() if value or name not in _DATES}


_DATES = ("id", "created", "modified")


def _foreign(roles: Sequence[str]) -> _Row:
    """What reads a row whose cells have these roles."""

    def read(row: Sequence[str]) -> dict[str, object]:
        cells: dict[str, list[str]] = {}
        for role, cell in zip(roles, row, strict=False):
            if role and (cell := cell.strip()):
                cells.setdefault(role, []).append(cell)
        return _fields(cells)

    return read


def _fields(cells: dict[str, list[str]]) -> dict[str, object]:
    fields: dict[str, object] = {name: cells[name][0] for name in ("uri", "title") if name in cells}
    if texts := cells.get("description"):
        fields["description"] = "\n\n".join(dict.fromkeys(texts))
    own = [tag for cell in cells.get("tags", ()) for tag in _tags(cell)]
    folders = tuple(tag for cell in cells.get("folder", ()) for tag in _folder(cell))
    marks = tuple(mark for mark in MARKS if any(map(is_set, cells.get(mark, ()))))
    if "unread" in (status.lower() for status in cells.get("status", ())):
        marks += ("unread",)
    if tags := united(own, marks + folders):
        fields["tags"] = tags
    for name in ("created", "modified"):
        if moment := date(cells.get(name, [""])[0]):
            fields[name] = moment
    return fields


def _tags(cell: str) -> list[str]:
    """Pocket parts tags by bars, Instapaper writes an array, others commas or semicolons."""
    if cell.startswith("["):
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return [tag for one in found if isinstance(one, str) for tag in split_tags(one)]
        if cell.endswith("]"):  # Readwise and Omnivore write arrays that are no JSON.
            return split_tags(",".join(tag.strip("'\" ") for tag in split_tags(cell[1:-1])))
    if "," not in cell:
        cell = re.sub("[|;]", ",", cell)
    return split_tags(cell)


def _folder(cell: str) -> list[str]:
    """The tags of a path of folders. Instapaper's own folder Unread is a mark."""
    if cell.lower() in _ROOTS:
        return []
    if cell.lower() == "unread":
        return ["unread"]
    return [tag for n, name in enumerate(cell.split("/")) for tag in folder_tags(name, n == 0)]
