"""What kind of file it is, told by what is in it and never by its name."""

import io
import re

from formats import csv, decode, text
from formats.errors import Malformed

_KINDS = "JSON, XBEL, CSV, a browser's bookmark file (HTML) or a list of addresses"
# What people try instead of an export, by how it begins.
_OTHERS = (
    (b"SQLite format 3\0", "a database: export the bookmarks from the program that has it"),
    (b"mozLz40\0", "a compressed backup of Firefox: export the bookmarks as HTML or JSON"),
    (b"bplist0", "a property list of macOS: export the bookmarks from Safari"),
    (b"PK\3\4", "a ZIP archive: unpack it"),
    (b"\x1f\x8b", "compressed: unpack it"),
    (b"%PDF-", "a PDF document"),
)
_JSON = re.compile(r'\s*+(?:\{\s*+["}]|\[\s*+[\[{"\]\d])')
# What may stand before the first element: white space, comments, instructions, a DOCTYPE.
_PROLOG = re.compile(
    r"(?:\s++|<!--.*?-->|<\?.*?>|<!DOCTYPE[^>\[]*+(?:\[.*?\]\s*+)?>)*+", re.S | re.I
)
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]*)")
_NETSCAPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark|<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.I)
_BINARY = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
_LINES = 100


def kind(head: bytes) -> str:
    """The name of the format in formats.FILES that reads a file beginning so.

    `head` are its first 64 KiB or more. Raises Malformed if none does, saying what it may be.
    """
    for magic, what in _OTHERS:
        if head.startswith(magic):
            raise Malformed(f"It is {what}.")
    beginning = "".join(decode.text(io.BytesIO(head[:decode.BLOCK])))
    if not beginning.strip():
        raise Malformed("It is empty.")
    if _JSON.match(beginning):
        return "json"
    return _markup(beginning) or _plain(beginning)


def _markup(beginning: str) -> str | None:
    """The kind of XML or HTML it is, if it is that. Raises Malformed if it has no bookmarks."""
    if not beginning.lstrip().startswith("<"):
        return None
    prolog = _PROLOG.match(beginning)
    root = _ELEMENT.match(beginning, prolog.end() if prolog else 0)
    if root and root[1].lower() == "xbel":
        return "xbel"
    if _NETSCAPE.search(beginning):
        return "netscape"
    what = f"whose first element is {root[1][:32]}" if root else "without any element"
    raise Malformed(f"It is an XML or HTML document {what}, not one of bookmarks.")


def _plain(beginning: str) -> str:
    lines = [line for line in beginning.split("\n", _LINES)[:_LINES] if line.strip()]
    header = lines[1:2] if lines[0].lower().startswith("sep=") else lines[:1]
    # A line that begins with a uri is none, though its title may be the name of a column.
    if any(csv.names_uri(line) and not text.begins_with_uri(line.strip()) for line in header):
        return "csv"
    if any(text.begins_with_uri(line.strip()) for line in lines):
        return "text"
    if _NETSCAPE.search(beginning):
        return "netscape"
    what = "binary data" if _BINARY.search(beginning) else "no known kind of text"
    raise Malformed(f"It is {what}. What can be read is {_KINDS}.")
