"""Read files with one address: `.url` of Windows, `.desktop` of Linux, `.webloc` of macOS."""

import io
import plistlib
import re
from collections.abc import Iterator
from html import unescape

from formats.charset import decode
from formats.imports.entry import ImportedEntry, entry_with_uri
from storage.bookmark import Fields
from storage.errors import Malformed

_SECTION_OF_WINDOWS = r"\{000214.*"
_BLANK_LINES_AND_COMMENTS = r"(?: \s | [#;].*\n )*"
SHORTCUT_BEGINNING = re.compile(
    rf"""
    bplist00                    # A binary property list.
    | {_BLANK_LINES_AND_COMMENTS}
      \[ (?: InternetShortcut | Desktop\ Entry | DEFAULT | {_SECTION_OF_WINDOWS} ) \]
      (?! \( )                  # Not a Markdown link.
    """,
    re.VERBOSE | re.IGNORECASE,
)
_STRING = re.compile(r"\s*<string>([^<]*)")

_FURTHER_ADDRESS_TEXT = "is a further address: only the first of such a file is imported"
_NO_URL_TEXT = "It is a property list of macOS: export the bookmarks from Safari or its program."


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the first address, and the others as skipped. Raises Malformed without an address."""
    entries = _read_entries(data)
    first = next(entries, None)
    if first is None:
        raise Malformed("It has no address named URL.")
    yield first
    for entry in entries:
        yield entry._replace(skip_reason=_FURTHER_ADDRESS_TEXT)


def _read_entries(data: bytes) -> Iterator[ImportedEntry]:
    if data.startswith(b"bplist00"):
        return _read_binary_property_list(data)
    text = decode(data)
    if "<plist" in text:
        return _read_property_list(text)
    return _read_sections(text)


def _read_binary_property_list(data: bytes) -> Iterator[ImportedEntry]:
    try:
        url = plistlib.loads(data, fmt=plistlib.FMT_BINARY)["URL"]
    except (plistlib.InvalidFileException, RecursionError, KeyError, TypeError):
        raise Malformed(_NO_URL_TEXT) from None
    yield entry_with_uri(1, {"uri": url})


def _read_property_list(text: str) -> Iterator[ImportedEntry]:
    before, *parts = text.split("<key>URL</key>")
    has_all_bookmarks_of_safari = "<key>Children</key>" in text
    if not parts or has_all_bookmarks_of_safari:
        raise Malformed(_NO_URL_TEXT)
    line = 1 + before.count("\n")
    for part in parts:
        if match := _STRING.match(part):
            yield entry_with_uri(line, {"uri": unescape(match[1])})
        line += part.count("\n")


def _read_sections(text: str) -> Iterator[ImportedEntry]:
    title = ""
    for number, line in enumerate(io.StringIO(text), 1):
        key, _, value = line.partition("=")
        match key.strip().lower():
            case "name":
                title = value.strip()
            case "url" | "url[$e]":  # KDE marks an address with variables by `[$e]`.
                fields: Fields = {"uri": value}
                if title:
                    fields["title"] = title
                yield entry_with_uri(number, fields)
