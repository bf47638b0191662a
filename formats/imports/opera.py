"""Read the bookmarks of Opera up to version 12 (`bookmarks.adr`)."""

import re
from collections.abc import Iterator

from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, values_by_role

OPERA_FIRST_LINE = "Opera Hotlist version 2"
# Group 1 is the kind of a record, `-` for the end of a folder; group 2 has its members in lines.
_RECORD = re.compile(r"^(#[A-Z]+|-)[ \t]*$((?:\n(?![#-]).*)*+)", re.MULTILINE)
_IGNORED_RECORDS = ("#SEPERATOR", "#SEPARATOR", "#DELETED")  # The first is Opera's spelling.
_LINE_BREAK = "\2\2"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders become tags. Raises Malformed for other files."""
    text = decode(data)
    if not text.startswith(OPERA_FIRST_LINE):
        raise Malformed(f"The first line is not {OPERA_FIRST_LINE}.0.")
    folders, line, counted = Folders(), 1, 0
    for record in _RECORD.finditer(text):
        line += text.count("\n", counted, record.start())
        counted = record.start()
        members = (member.strip().partition("=") for member in record[2].split("\n"))
        values = values_by_role((m[0], m[2].replace(_LINE_BREAK, "\n")) for m in members)
        if record[1] == "-":
            folders.close()
        elif record[1] == "#FOLDER":
            name = str(values.get("title", [""])[0])
            folders.open(folder_tags(name, is_top=folders.depth == 0))
        elif record[1] in _IGNORED_RECORDS:
            yield ignored_entry(line)
        else:
            yield entry_with_uri(line, fields_of_roles(values, (), folders.tags))
