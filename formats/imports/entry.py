"""The entries that the readers of all formats yield."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from storage.bookmark import MAX_URI
from storage.importer import IGNORED, NOT_READ
from storage.importer import ImportedEntry as ImportedEntry
from storage.importer import Place

MAX_ENTRY = 1024 * 1024  # In characters.
_MAX_UNUSED_NAMES = 1_000

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
CUT_OFF = "is cut off at the end of the file"

# An address in a text ends at white space.
SCHEME = "[A-Za-z][A-Za-z0-9+.-]{0,99}:"
URI = re.compile(SCHEME + r"[^\s\0-\x1f\x7f-\x9f]+")


def entry_with_uri(place: Place, fields: dict[str, object]) -> ImportedEntry:
    """Return an entry, skipped if it has no uri. White space in the uri is encoded."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = uri.strip()
        encoded = _encode_white_space(uri)
        # Keep a text that is not a uri, because the report quotes it.
        if re.match(SCHEME, encoded):
            uri = encoded
        fields = fields | {"uri": uri}
    if not uri:
        return ImportedEntry(place, fields, NO_URI)
    return ImportedEntry(place, fields)


def _encode_white_space(uri: str) -> str:
    """Remove or encode white space as browsers do (https://url.spec.whatwg.org/)."""
    if len(uri) > MAX_URI:  # The importer refuses this uri.
        return uri
    uri = re.sub(r"[\t\n\r]", "", uri)
    return re.sub(r"\s", lambda space: quote(space[0]), uri)


def ignored_entry(place: Place) -> ImportedEntry:
    """Return an entry for a separator or the like."""
    return ImportedEntry(place, {}, IGNORED)


class UnusedValues(Counter[str]):
    """The numbers of values that an import does not use, by name."""

    def add(self, name: str, number: int = 1) -> None:
        if name in self or len(self) < _MAX_UNUSED_NAMES:
            self[name] += number

    def entries(self) -> Iterator[ImportedEntry]:
        """Yield a note if there are unused values."""
        if self:
            yield note_of_unused_values(self)


def note_of_unused_values(numbers: Mapping[str, int]) -> ImportedEntry:
    """Return a note on the whole file."""
    return ImportedEntry(0, dict(numbers), NOT_READ)
