"""Read the bookmarks of Opera up to version 12 (`bookmarks.adr`)."""

import io
from collections.abc import Iterator
from typing import NamedTuple

from formats.charset import decode
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import read_fields
from storage.bookmark import split_tags
from storage.errors import Malformed

OPERA_BEGINNING = "Opera Hotlist version 2"
_IGNORED_RECORDS = ("#SEPERATOR", "#SEPARATOR", "#DELETED")  # The first is Opera's spelling.
_LINE_BREAK = "\2\2"
# Marks the trash folder among the tags of an entry. Tags never have control characters.
_TRASH = "\0"


class _Record(NamedTuple):
    """A bookmark, a folder, a separator, or the end of a folder."""

    kind: str  # Such as `#URL`, or `-` for the end of a folder.
    line: int
    members: list[tuple[str, str]]  # Names and values, such as `("NAME", "Travel")`.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Folders become tags. Raises Malformed for other files."""
    text = decode(data)
    if not text.lstrip().startswith(OPERA_BEGINNING):
        raise Malformed("The first line is not Opera Hotlist version 2.0.")
    folders = Folders()
    for record in _records(text):
        if record.kind == "-":
            folders.close_one()
        elif record.kind == "#FOLDER":
            folders.open(_folder_tags(record, is_top=folders.depth == 0))
        elif record.kind in _IGNORED_RECORDS or _TRASH in folders.tags:
            yield ignored_entry(record.line)
        else:
            fields = read_fields(record.members, split_tags, folders.tags)
            yield entry_with_uri(record.line, fields)


def _records(text: str) -> Iterator[_Record]:
    record = None
    for number, line in enumerate(io.StringIO(text), 1):
        line = line.strip()
        name, equals, value = line.partition("=")
        if line == "-" or line.startswith("#"):
            if record:
                yield record
            record = _Record(line, number, [])
        elif record and equals:
            record.members.append((name, value.replace(_LINE_BREAK, "\n")))
    if record:
        yield record


def _folder_tags(folder: _Record, is_top: bool) -> tuple[str, ...]:
    members = dict(folder.members)
    if members.get("TRASH FOLDER") == "YES":
        return (_TRASH,)
    # Browsers create their own folders only at the top.
    return folder_tags(members.get("NAME", ""), may_be_built_in=is_top)
