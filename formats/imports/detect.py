"""Detect the format of a file by its content."""

import io
import re

from formats.charset import decode
from formats.imports.csv import find_header, is_header
from formats.imports.netscape import is_bookmark_file
from formats.imports.opera import OPERA_BEGINNING
from formats.imports.shortcut import SHORTCUT_BEGINNING
from formats.imports.text import is_list
from storage.errors import Malformed

_READABLE = "JSON, XBEL, OPML, XML posts, CSV, HTML, Opera's .adr, shortcuts and lists of addresses"
_UNREADABLE_FILES = (
    (b"SQLite format 3\0", "a database: export the bookmarks from the program that it belongs to"),
    (b"mozLz40\0", "a compressed backup of Firefox: export the bookmarks as HTML or JSON"),
    (b"PK\3\4", "a ZIP archive: unpack it"),
    (b"\x1f\x8b", "compressed: unpack it"),
    (b"%PDF-", "a PDF document: save the page or list as HTML or text"),
    (b"{\\rtf", "an RTF document: save it as plain text"),
)
_FORMAT_BY_ROOT = {"xbel": "xbel", "posts": "outline", "opml": "outline", "plist": "shortcut"}
_JSON = re.compile(
    r"""
    [\s\[]*                                 # Outer arrays.
    (?: \{ \s* ["}]                         # An object.
      | \[ \s* "[^"]*" \s* [\],] (?! \( )   # An array of texts, but not the link ["a"](uri).
      | \[ \s* \d+ \s* ,                    # An array of numbers, but not the footnote [1].
      | \[ \s* \] (?! \( )                  # An empty array, but not the link [](uri).
    )
    """,
    re.VERBOSE,
)
_PART_OF_PROLOG = re.compile(
    r"""
    \s+
    | <!--.*?-->                                # A comment.
    | <\?.*?>                                   # A declaration such as <?xml version="1.0"?>.
    | <!DOCTYPE [^>\[]* (?: \[.*?\]\s* )? >     # Perhaps with a DTD in brackets.
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_START_TAG = re.compile(r"<([A-Za-z][\w:.-]*)")
# Control characters, without white space and without ESC, which ISO-2022-JP uses.
_BINARY = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_EXAMINED_BYTES = 64 * 1024


def detect_format(data: bytes) -> str:
    """Return a format, such as `xbel`. Raises Malformed if the file cannot be read."""
    for first_bytes, description in _UNREADABLE_FILES:
        if data.startswith(first_bytes):
            raise Malformed(f"It is {description}.")
    beginning = decode(data.lstrip()[:_MAX_EXAMINED_BYTES])
    if not beginning.strip():
        raise Malformed("It is empty: export the bookmarks again.")
    if _JSON.match(beginning):
        return "json"
    if beginning.lstrip().startswith("<"):
        return _detect_markup(beginning)
    if beginning.lstrip().startswith(OPERA_BEGINNING):
        return "opera"
    if SHORTCUT_BEGINNING.match(beginning):
        return "shortcut"
    return _detect_plain_text(beginning)


def _detect_markup(beginning: str) -> str:
    root = _root_element(beginning)
    if root.lower() in _FORMAT_BY_ROOT:
        return _FORMAT_BY_ROOT[root.lower()]
    if is_bookmark_file(beginning):
        return "netscape"
    description = "without any element"
    if root:
        description = f"whose first element is {root[:32]}"
    raise Malformed(
        f"It is an XML or HTML document {description}, and has no bookmarks: export them from "
        "their program as a bookmark file, JSON or CSV."
    )


def _root_element(text: str) -> str:
    position = 0
    while part := _PART_OF_PROLOG.match(text, position):
        position = part.end()
    root = _START_TAG.match(text, position)
    if not root:
        return ""
    return root[1]


def _detect_plain_text(beginning: str) -> str:
    header = find_header(enumerate(io.StringIO(beginning)))
    # A line such as `https://a.example | URL` is not a header.
    if is_header(header) and "://" not in header:
        return "csv"
    if is_list(beginning):
        return "text"
    if is_bookmark_file(beginning):
        return "netscape"
    kind = "text of an unknown kind"
    if _BINARY.search(beginning):
        kind = "binary data"
    raise Malformed(f"It is {kind}. The formats that can be read are {_READABLE}.")
