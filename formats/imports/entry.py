"""The entries that the readers of all formats yield."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from storage.bookmark import MAX_URI
from storage.importer import IGNORED, NOT_READ, Place

MAX_ENTRY = 1024 * 1024  # Valid bookmarks are smaller, even escaped.
MAX_UNREAD_NAMES = 1_000

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
NO_URI = "has no uri"
CUT_OFF = "is cut off at the end of the file"

_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
# An address in a list with titles has no white space.
SCHEME = "[A-Za-z][A-Za-z0-9+.-]{0,99}:"
URI = re.compile(SCHEME + r"[^\s\0-\x1f\x7f-\x9f]+")


class ImportedEntry(NamedTuple):
    """An entry of a file, unchecked.

    With the skip reason NOT_READ, `fields` has the numbers of unread values in the
    whole file by the names of their columns or members.
    """

    place: Place
    fields: dict[str, object]
    skip_reason: str = ""  # Empty for an entry to store.


def entry_with_uri(place: Place, fields: dict[str, object]) -> ImportedEntry:
    """Return an entry, skipped if it has no uri; encode white space in the uri."""
    uri = fields.get("uri")
    if isinstance(uri, str):
        uri = uri.strip()
        encoded = _encode_white_space(uri)
        # A report quotes any other text as it stands.
        if _SCHEME.match(encoded):
            uri = encoded
        fields = fields | {"uri": uri}
    if not uri:
        return ImportedEntry(place, fields, NO_URI)
    return ImportedEntry(place, fields)


def _encode_white_space(uri: str) -> str:
    """Return the uri as browsers read it (https://url.spec.whatwg.org/#url-parsing)."""
    if len(uri) > MAX_URI:  # The importer skips it.
        return uri
    uri = re.sub(r"[\t\n\r]", "", uri)
    return re.sub(r"\s", lambda space: quote(space[0]), uri)


def ignored_entry(place: Place) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator."""
    return ImportedEntry(place, {}, skip_reason=IGNORED)


class UnreadValues(Counter[str]):
    """The numbers of unread values, by the names of columns or members."""

    def add(self, name: str, number: int = 1) -> None:
        """Count some values."""
        if name in self or len(self) < MAX_UNREAD_NAMES:
            self[name] += number

    def entries(self) -> Iterator[ImportedEntry]:
        """Yield a note, if there are any."""
        if self:
            yield note_of_unread_values(self)


def note_of_unread_values(numbers: Mapping[str, int]) -> ImportedEntry:
    """Return the note on these numbers, by name."""
    return ImportedEntry(0, dict(numbers), NOT_READ)
