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
_IGNORED_RECORDS = ("#SEPERATOR", "#SEPARATOR", "#DELETED")  # Opera writes SEPERATOR.
_LINE_BREAK = "\2\2"


class _Record(NamedTuple):
    kind: str  # Such as `#URL`, or `-` for the end of a folder.
    line: int
    members: list[tuple[str, str]]  # Such as `("NAME", "Travel")`.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed for a file of another format."""
    text = decode(data)
    if not text.lstrip().startswith(OPERA_BEGINNING):
        raise Malformed("The first line is not Opera Hotlist version 2.0.")
    folders = Folders()
    depth_of_trash: int | None = None  # None outside the trash.
    for record in _records(text):
        if record.kind == "-":
            folders.close_one()
            if folders.depth == depth_of_trash:
                depth_of_trash = None
        elif record.kind == "#FOLDER":
            members = dict(record.members)
            if members.get("TRASH FOLDER") == "YES" and depth_of_trash is None:
                depth_of_trash = folders.depth
            name = members.get("NAME", "")
            folders.open(folder_tags(name, is_top_level=folders.depth == 0))
        elif record.kind in _IGNORED_RECORDS or depth_of_trash is not None:
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
