"""One entry of an imported file, and the reasons to skip entries that all formats share."""

import re
from typing import NamedTuple
from urllib.parse import quote

from storage.bookmark import MAX_URI
from storage.importer import IGNORED

# The longest valid bookmark is shorter, even with every character escaped.
MAX_ENTRY = 1024 * 1024
# Deeper folders add no tags.
MAX_DEPTH = 100

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
TOO_DEEP = "is nested too deeply"
NO_URI = "has no uri"

# What browsers make of white space in an address: https://url.spec.whatwg.org/#url-parsing.
_ENCODED = {c: quote(c) for c in map(chr, range(0x3001)) if c.isspace()}
_ENCODED |= dict.fromkeys("\t\n\r", "")


class ImportedEntry(NamedTuple):
    """An entry of a file: the number of its line, its values by field name, a reason to skip it.

    The rules of the fields are not checked yet.
    """

    line: int
    fields: dict[str, object]
    skip_reason: str = ""


def entry_with_uri(line: int, fields: dict[str, object]) -> ImportedEntry:
    """Return the entry with white space in its uri encoded, to be skipped if it has no uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = uri.strip()
        if len(uri) <= MAX_URI:  # A longer one is invalid, and encoding it could take long.
            uri = re.sub(r"\s", lambda match: _ENCODED[match[0]], uri)
        fields = fields | {"uri": uri}
    return ImportedEntry(line, fields, "" if uri else NO_URI)


def ignored_entry(line: int) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator."""
    return ImportedEntry(line, {}, IGNORED)


def is_firefox_query(uri: object) -> bool:
    """Return whether this is a search that Firefox stores among its bookmarks."""
    return isinstance(uri, str) and uri.lstrip()[:6].lower() == "place:"
