"""One entry of an imported file, and the reasons to skip entries that all formats share."""

import re
from typing import NamedTuple
from urllib.parse import quote

from storage.importer import IGNORED

# The longest valid bookmark is shorter, even with every character escaped.
MAX_ENTRY = 1024 * 1024
# Deeper folders add no tags.
MAX_DEPTH = 100

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
TOO_DEEP = "is nested too deeply"
NO_URI = "has no uri"

_WHITE_SPACE = re.compile(r"\s")


class ImportedEntry(NamedTuple):
    """An entry of a file: the number of its line, its values by field name, a reason to skip it.

    The rules of the fields are not checked yet.
    """

    line: int
    fields: dict[str, object]
    skip_reason: str = ""


def entry_with_uri(line: int, fields: dict[str, object]) -> ImportedEntry:
    """Return the entry, to be skipped if it has no uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        fields = fields | {"uri": _WHITE_SPACE.sub(_encode_white_space, uri.strip())}
    return ImportedEntry(line, fields, "" if fields.get("uri") else NO_URI)


def _encode_white_space(match: re.Match[str]) -> str:
    """Return what browsers make of a character: https://url.spec.whatwg.org/#url-parsing."""
    return "" if match[0] in "\t\n\r" else quote(match[0])


def ignored_entry(line: int) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator."""
    return ImportedEntry(line, {}, IGNORED)


def is_firefox_query(uri: object) -> bool:
    """Return whether this is a search that Firefox stores among its bookmarks."""
    return isinstance(uri, str) and uri.lstrip()[:6].lower() == "place:"
