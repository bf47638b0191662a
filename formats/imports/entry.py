"""An entry of an imported file, and reasons to skip it, for the readers of all formats."""

import re
from typing import NamedTuple
from urllib.parse import quote

from storage.bookmark import MAX_URI
from storage.importer import IGNORED

# No entry of a file may be larger, and no body of one bookmark. Every valid bookmark is smaller,
# even with each character escaped.
MAX_ENTRY = 1024 * 1024

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
CUT_OFF = "is cut off at the end of the file"

# Browsers percent-encode white space in an address: https://url.spec.whatwg.org/#url-parsing. No
# character after U+3000 is white space.
_ENCODED_SPACES = {ord(c): quote(c) for c in map(chr, range(0x3000 + 1)) if c.isspace()}
_ENCODED_SPACES |= dict.fromkeys(map(ord, "\t\n\r"), "")  # Browsers remove these.
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")


class ImportedEntry(NamedTuple):
    """An entry of a file, whose values the importer will check."""

    line: int
    fields: dict[str, object]  # Values by the name of the field.
    skip_reason: str = ""  # The importer stores only entries whose reason is empty.


def entry_with_uri(line: int, fields: dict[str, object]) -> ImportedEntry:
    """Return the entry with white space in its uri encoded; skip an entry that has no uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = uri.strip()
        # The importer skips longer ones, and encoding them takes long.
        encoded = uri.translate(_ENCODED_SPACES) if len(uri) <= MAX_URI else uri
        # Any other text is no uri, and the report quotes it as it stands in the file.
        fields = fields | {"uri": encoded if _SCHEME.match(encoded) else uri}
    return ImportedEntry(line, fields, skip_reason="" if uri else NO_URI)


def ignored_entry(line: int) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator. The importer only counts it."""
    return ImportedEntry(line, {}, skip_reason=IGNORED)
