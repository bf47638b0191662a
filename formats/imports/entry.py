"""An entry of an imported file, and reasons to skip it, for the readers of all formats."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from storage.bookmark import MAX_URI
from storage.importer import IGNORED, NOT_READ, Place

# Of an entry, and of a body of one bookmark. Every valid bookmark is smaller, even escaped.
MAX_ENTRY = 1024 * 1024
MAX_UNREAD_NAMES = 1_000  # A hostile file may have any number of them.

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
CUT_OFF = "is cut off at the end of the file"

_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
# In lists of addresses and their titles, an address has no white space.
SCHEME = "[A-Za-z][A-Za-z0-9+.-]{0,99}:"
URI = re.compile(SCHEME + r"[^\s\0-\x1f\x7f-\x9f]+")


class ImportedEntry(NamedTuple):
    """An entry of a file, whose values are not checked yet."""

    place: Place
    fields: dict[str, object]
    skip_reason: str = ""  # Empty for an entry to store.


def entry_with_uri(place: Place, fields: dict[str, object]) -> ImportedEntry:
    """Return the entry with white space in its uri encoded; skip an entry that has no uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = uri.strip()
        encoded = _encode_white_space(uri)
        # The report quotes any other text as it stands in the file.
        if _SCHEME.match(encoded):
            uri = encoded
        fields = fields | {"uri": uri}
    if not uri:
        return ImportedEntry(place, fields, NO_URI)
    return ImportedEntry(place, fields)


def _encode_white_space(uri: str) -> str:
    """Return the uri as browsers read it (https://url.spec.whatwg.org/#url-parsing)."""
    if len(uri) > MAX_URI:  # The importer skips it, and encoding it takes long.
        return uri
    uri = re.sub(r"[\t\n\r]", "", uri)
    return re.sub(r"\s", lambda space: quote(space[0]), uri)


def ignored_entry(place: Place) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator."""
    return ImportedEntry(place, {}, skip_reason=IGNORED)


class UnreadValues(Counter[str]):
    """The numbers of values that are not read, by the name of their column or member."""

    def add(self, name: str, number: int = 1) -> None:
        """Count the values of a column or member."""
        if name in self or len(self) < MAX_UNREAD_NAMES:
            self[name] += number

    def entries(self) -> Iterator[ImportedEntry]:
        """Yield one entry with the numbers, which are no fields, if there are any."""
        if self:
            yield ImportedEntry(0, dict(self), NOT_READ)
