"""Read lists of addresses: our own text format, `text/uri-list`, and OneTab's lines."""

import io
import re
from collections.abc import Iterator

from formats.imports.charset import decode
from formats.imports.entry import ImportedEntry, entry_with_uri
from storage.bookmark import split_tags

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,99}:[^\s\x00-\x1f\x7f-\x9f]+")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each line that is neither empty nor a comment (RFC 2483 section 5)."""
    for number, line in enumerate(io.StringIO(decode(data)), 1):
        if (line := line.strip()) and not line.startswith("#"):
            yield _read_line(number, line)


def begins_with_uri(line: str) -> bool:
    """Return whether the line has a form that `read_file` reads as a bookmark."""
    return bool(_URI.fullmatch(str(_fields(line)["uri"])))


def _read_line(number: int, line: str) -> ImportedEntry:
    if not begins_with_uri(line):
        return ImportedEntry(number, {"uri": line}, "does not begin with a uri")
    return entry_with_uri(number, _fields(line))


def _fields(line: str) -> dict[str, object]:
    uri, tab, rest = line.partition("\t")
    if not tab:
        # OneTab writes `uri | title`; with an empty title the last space may be stripped.
        uri, bar, title = f"{line} ".partition(" | ")
        return {"uri": uri.strip(), "title": title.strip()} if bar else {"uri": line}
    title, _, tags = rest.partition("\t")
    return {"uri": uri.strip(), "title": title.strip(), "tags": split_tags(tags)}
