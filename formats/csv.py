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
_GUARDED = re.compile(r"''*[=+\-@\t\r]")

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
    reader = csv.reader(lines, delimiter=delimiter)
    while (row := _row(reader, lines, delimiter, len(names))) is not None:
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
    """Lines for csv.reader, which goes on for as long as a quote is open: here up to MAX_ENTRY.

    `row` are those of the row so far, `first` is the number of the first of them; `is_cut` tells
    that there is no more though the row wants it.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: list[str] = []  # The last of them comes next.
        self._read = self._read_again = self._number = 0
        self.begin()

    def begin(self) -> None:
        """The next line is the first of a row."""
        self.row: list[str] = []
        self.first, self._size, self.is_cut = self._number + 1, 0, False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else self._next()
        self._number += 1
        self._size += len(line) + 1
        self.row.append(line)
        if self._size > MAX_ENTRY:
            raise csv.Error(TOO_LARGE)
        return line + "\n"

    def _next(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.is_cut = bool(self.row)
            raise StopIteration
        self._read += len(line) + 1
        return line

    def give_back(self) -> bool:
        """Has the row's lines but the first come once more, unless that would be too much: all that
        is read again is no more than twice what was read. Whether it could.
        """
        if self._read_again + self._size > 2 * self._read:
            return False
        self._read_again += self._size
        self._again += self.row[:0:-1]
        self._number = self.first
        return True


def _row(
    reader: Iterator[list[str]], lines: _Lines, delimiter: str, width: int
) -> list[str] | Item | None:
    """The next row, or why it can't be read; None at the end.

    One with a quote too many or too few goes on for lines that are none of its own: they are read
    as rows of their own then.
    """
    lines.begin()
    wrong = ""
    try:
        row = next(reader, None)
    except csv.Error as error:
        row, wrong = [], f"can't be read as CSV: {error}"
    first, last = lines.first, lines.first + len(lines.row) - 1
    # An end of the file closes a quote, but one of several lines is none that somebody meant.
    if lines.is_cut and last > first:
        wrong = "has a quote that is never closed"
    wrong = wrong or _wrong(row or (), width)
    if last > first and not _is_quoted(lines.row, delimiter):
        wrong = wrong or "has a quote too many or too few"
        if not lines.give_back():
            wrong += f", up to line {last}"
    return Item(first, {}, wrong) if wrong else row


def _wrong(row: Sequence[str], width: int) -> str:
    if any(row) and (len(row) < width or any(row[width:])):
        return f"has {len(row)} cells, not {width}"
    return ""


def _is_quoted(lines: Iterable[str], delimiter: str) -> bool:
    """Whether these lines are a row as RFC 4180 has it: after a closing quote the cell ends.

    Before its end there may be blanks, which some programs write.
    """
    blanks = re.compile(rf'"[ \t]+(?=[{re.escape(delimiter)}\n])')
    text = (blanks.sub('"', line + "\n") for line in lines)
    try:
        next(csv.reader(text, delimiter=delimiter, strict=True), None)
    except csv.Error:
        return False
    return True


def _own(row: Sequence[str]) -> dict[str, object]:
    """The fields of a row that write() wrote."""
    cells = (cell[1:] if _GUARDED.match(cell) else cell for cell in row)
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
