"""Read the bookmarks of Opera up to version 12 (`bookmarks.adr`)."""

import re
from collections.abc import Iterator
from itertools import pairwise

from formats.charset import decode
from formats.imports.entry import MAX_ENTRY, TOO_LARGE, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, group_by_role
from storage.errors import Malformed

OPERA_BEGINNING = "Opera Hotlist version 2"
# The line with the kind of a record, with a line `name=value` for each member below it; or the end
# of the file.
_RECORD = re.compile(r"(?m)^(?P<kind>#[A-Z]+|-)[ \t]*$|\Z")
_IGNORED_RECORDS = ("#SEPERATOR", "#SEPARATOR", "#DELETED")  # The first is Opera's spelling.
_TRASH = "\0"  # Stands for the trash folder among the tags: no other tag has a control character.
_LINE_BREAK = "\2\2"  # Opera writes two control characters for a line break in a value.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders become tags. Raises Malformed for other files."""
    text = decode(data)
    if not text.lstrip().startswith(OPERA_BEGINNING):
        raise Malformed("The first line is not Opera Hotlist version 2.0.")
    folders, line_number, line_start = Folders(), 1, 0
    for record, next_record in pairwise(_RECORD.finditer(text)):
        line_number += text.count("\n", line_start, record.start())
        line_start = record.start()
        record_text = text[record.end() : next_record.start()]
        lines = (line for line in record_text[:MAX_ENTRY].split("\n") if "=" in line)
        parts = (line.strip().partition("=") for line in lines)
        members = ((name, value.replace(_LINE_BREAK, "\n")) for name, _, value in parts)
        values_by_role = group_by_role(members)  # The role of a member URL is `uri`.
        fields = fields_of_roles(values_by_role, own_tags=(), tags_of_folders=folders.tags)
        if record["kind"] == "-":  # The end of a folder.
            folders.close_to(folders.depth - 1)
        elif record["kind"] == "#FOLDER":
            # Browsers create their own folders only at the top.
            tags = folder_tags(str(fields.get("title", "")), may_be_built_in=folders.depth == 0)
            folders.open((_TRASH,) if "TRASH FOLDER=YES" in record_text else tags)
        elif _TRASH in folders.tags or record["kind"] in _IGNORED_RECORDS:
            yield ignored_entry(line_number)
        elif len(record_text) > MAX_ENTRY:
            yield ImportedEntry(line_number, fields, TOO_LARGE)
        else:
            yield entry_with_uri(line_number, fields)
