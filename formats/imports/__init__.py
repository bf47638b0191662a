"""Read files of bookmarks that this service or another program has exported."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath

from formats.charset import count_guessed_bytes
from formats.imports import csv, json, netscape, opera, outline, shortcut, text, xbel
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry, note_of_unused_values
from formats.xml import declared_charset
from storage.errors import Malformed
from storage.importer import REST_NOT_READ

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
_READERS_OF_DECLARED_CHARSET = {
    "xbel": declared_charset,
    "outline": declared_charset,
    "netscape": netscape.declared_charset,
}
_GUESSED_BYTES_TEXT = "bytes that are not UTF-8, read as windows-1252"


def read_entries(data: bytes, format: str | None, file_name: str) -> Iterator[ImportedEntry]:
    """Yield the entries of a file, whose format is detected if `format` is empty.

    Raises Malformed for an error before the first entry. A later error becomes a skipped entry.
    """
    if not format:
        format = detect_format(data)
    entries = FILE_READERS[format](data)
    if format == "shortcut" and file_name:
        entries = _add_missing_titles(entries, PurePath(file_name).stem)
    yield from islice(entries, 1)
    yield from _skip_rest_after_error(entries)
    yield from _note_guessed_charset(data, format)


def _skip_rest_after_error(entries: Iterator[ImportedEntry]) -> Iterator[ImportedEntry]:
    try:
        yield from entries
    except Malformed as error:
        yield ImportedEntry(error.line, {}, f"{REST_NOT_READ}: {error}")


def _note_guessed_charset(data: bytes, format: str) -> Iterator[ImportedEntry]:
    declared_charset = ""
    if format in _READERS_OF_DECLARED_CHARSET:
        declared_charset = _READERS_OF_DECLARED_CHARSET[format](data)
    count = count_guessed_bytes(data, declared_charset)
    if count:
        yield note_of_unused_values({_GUESSED_BYTES_TEXT: count})


def _add_missing_titles(entries: Iterator[ImportedEntry], title: str) -> Iterator[ImportedEntry]:
    for entry in entries:
        yield entry._replace(fields={"title": title} | entry.fields)
