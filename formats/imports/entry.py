"""The entries of imported files."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from storage.bookmark import MAX_URI, Fields
from storage.importer import IGNORED, NOT_READ
from storage.importer import ImportedEntry as ImportedEntry
from storage.importer import Place

MAX_ENTRY = 1024 * 1024  # Characters.
_MAX_UNUSED_NAMES = 1_000
_WHOLE_FILE = 0

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
CUT_OFF = "is cut off at the end of the file"

SCHEME_PATTERN = "[A-Za-z][A-Za-z0-9+.-]{0,99}:"
URI = re.compile(SCHEME_PATTERN + r"[^\s\0-\x1f\x7f-\x9f]+")


def entry_with_uri(place: Place, fields: Fields) -> ImportedEntry:
    """Return an entry that the import skips if `fields` has no uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = _encode_white_space(uri.strip())
        fields = fields | {"uri": uri}
    if not uri:
        return ImportedEntry(place, fields, NO_URI)
    return ImportedEntry(place, fields)


def _encode_white_space(text: str) -> str:
    """Encode white space in a uri as browsers do (https://url.spec.whatwg.org/)."""
    if len(text) > MAX_URI:
        return text
    uri = re.sub(r"[\t\n\r]", "", text)
    if not re.match(SCHEME_PATTERN, uri):
        return text
    return re.sub(r"\s", lambda space: quote(space[0]), uri)


def ignored_entry(place: Place) -> ImportedEntry:
    """Return an entry that the import only counts, such as a separator."""
    return ImportedEntry(place, {}, IGNORED)


class UnusedValues:
    """Counts of the values that are not imported, by the name of the column or member."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def add(self, name: str, count: int = 1) -> None:
        # A file may have millions of names, so only the first ones are counted.
        if name in self._counts or len(self._counts) < _MAX_UNUSED_NAMES:
            self._counts[name] += count

    def entries(self) -> Iterator[ImportedEntry]:
        if self._counts:
            yield note_of_unused_values(self._counts)


def note_of_unused_values(counts: Mapping[str, int]) -> ImportedEntry:
    """Return an entry that reports numbers of unused values, such as `{"icon": 12}`."""
    return ImportedEntry(place=_WHOLE_FILE, fields=dict(counts), skip_reason=NOT_READ)
