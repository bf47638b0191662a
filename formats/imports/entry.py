"""One entry of an imported file, and the reasons to skip entries that all formats share."""

from typing import NamedTuple

from storage.importer import IGNORED

# The longest valid bookmark, with every character escaped, is shorter.
MAX_ENTRY = 1024 * 1024
# Folders below this depth have the tags of their parent.
MAX_DEPTH = 100

TOO_LARGE = f"is larger than {MAX_ENTRY:,} characters"
TOO_DEEP = "is nested too deeply"
NO_URI = "has no uri"


class ImportedEntry(NamedTuple):
    """An entry of a file: the number of its line, its values by field name, a reason to skip it.

    The rules of the fields are not checked yet.
    """

    line: int
    fields: dict[str, object]
    skip_reason: str = ""


def entry_with_uri(line: int, fields: dict[str, object]) -> ImportedEntry:
    """Return the entry, to be skipped if it has no uri."""
    return ImportedEntry(line, fields, "" if fields.get("uri") else NO_URI)


def ignored_entry(line: int) -> ImportedEntry:
    """Return an entry that is no bookmark, such as a separator."""
    return ImportedEntry(line, {}, IGNORED)


def is_firefox_query(uri: object) -> bool:
    """Return whether this is a search that Firefox stores among its bookmarks."""
    return isinstance(uri, str) and uri.lstrip()[:6].lower() == "place:"
