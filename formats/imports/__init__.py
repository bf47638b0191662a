"""Readers of whole files, this service's own and those of other programs."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath

from formats.charset import count_guessed_bytes
from formats.imports import csv, json, netscape, opera, outline, shortcut, text, xbel
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry, note_of_unread_values
from formats.xml import declared_charset
from storage.errors import Malformed

# By the name of the format, as in `bookmarks import --format`.
FILE_READERS: Mapping[str, Callable[[bytes], Iterator[ImportedEntry]]] = {
    "json": json.read_file,
    "xbel": xbel.read_file,
    "csv": csv.read_file,
    "netscape": netscape.read_file,
    "opera": opera.read_file,
    "outline": outline.read_file,
    "shortcut": shortcut.read_file,
    "text": text.read_file,
}
# The charset that a file of such a format declares. Those of other formats declare none.
CHARSET_READERS: Mapping[str, Callable[[bytes], str]] = {
    "xbel": declared_charset,
    "outline": declared_charset,
    "netscape": netscape.declared_charset,
}
# As many as the objects of a JSON document over HTTP, which take as long.
MAX_WORTHLESS_ENTRIES = 500_000


def read_entries(data: bytes, format: str | None, file_name: str) -> Iterator[ImportedEntry]:
    """Yield the entries of a file; without the name of its format, detect it.

    The title of a shortcut, such as a `.url`, may be the file's name.

    Raises Malformed if no entry can be read. An error further on is the `skip_reason` of a last
    entry, so that the entries before it can be imported.
    """
    if not format:
        format = detect_format(data)
    entries = FILE_READERS[format](data)
    if format == "shortcut" and file_name:
        entries = _add_title(entries, PurePath(file_name).stem)
    yield from islice(entries, 1)
    try:
        yield from _limit_worthless(entries)
    except Malformed as error:
        # An error of the XML parser has a position. Line 0 stands for the whole file.
        line, _ = getattr(error.__cause__, "position", (0, 0))
        yield ImportedEntry(line, fields={}, skip_reason=f"The rest cannot be read: {error}")
    yield from _note_guessed_charset(data, format)


def _note_guessed_charset(data: bytes, format: str) -> Iterator[ImportedEntry]:
    """Yield the number of bytes whose charset the file does not name, if there are any."""
    label = ""
    if format in CHARSET_READERS:
        label = CHARSET_READERS[format](data)
    count = count_guessed_bytes(data, label)
    if count:
        yield note_of_unread_values({"bytes that are not UTF-8, read as windows-1252": count})


def _limit_worthless(entries: Iterator[ImportedEntry]) -> Iterator[ImportedEntry]:
    """Yield the entries. Raises Malformed after too many that are skipped or ignored."""
    count = 0
    for entry in entries:
        yield entry
        if entry.skip_reason:
            count += 1
        if count == MAX_WORTHLESS_ENTRIES:
            raise Malformed(f"{count:,} entries have no bookmark.")


def _add_title(entries: Iterator[ImportedEntry], title: str) -> Iterator[ImportedEntry]:
    """Yield the entries; those without a title get this one."""
    for entry in entries:
        yield entry._replace(fields={"title": title} | entry.fields)
