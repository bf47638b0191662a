"""Read files of one address: `.url` of Windows, `.desktop` of Linux, `.webloc` of macOS."""

import plistlib
import re
from collections.abc import Iterator
from contextlib import suppress
from html import unescape

from formats.charset import decode
from formats.imports.entry import ImportedEntry, entry_with_uri
from storage.errors import Malformed

# A binary property list, or a section, maybe below comments. A link of Markdown has `](`.
SHORTCUT_BEGINNING = re.compile(
    r"(?i)bplist00|(?:\s|[#;].*\n)*\[(?:InternetShortcut|Desktop Entry|DEFAULT|\{000214.*)\](?!\()"
)
# KDE marks an address with variables by `[$e]`.
_URL = re.compile(r"(?im)^[ \t]*URL(?:\[\$e\])?[ \t]*=(.*)|<key>URL</key>\s*<string>([^<]*)")
_PROPERTY_LIST = "It is a property list of macOS: export the bookmarks from Safari or its program."
_NAME = re.compile(r"(?im)^Name=[ \t]*(\S.*)")  # Only `.desktop` has a name.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the one entry, whose title the file's name must give; skip further addresses.

    Raises Malformed for a file without an address and for a list of bookmarks.
    """
    text = f"URL={_binary_url(data)}" if data.startswith(b"bplist00") else decode(data)
    if "<key>Children</key>" in text:
        raise Malformed(_PROPERTY_LIST)
    name = _NAME.search(text)
    title = {"title": name[1].strip()} if name else {}
    line, position, reason = 1, 0, ""
    for url in _URL.finditer(text):
        line += text.count("\n", position, url.start())
        position = url.start()
        entry = entry_with_uri(line, {"uri": unescape(url[2]) if url[2] else url[1], **title})
        yield entry._replace(skip_reason=reason or entry.skip_reason)
        reason = "is not the first address of a file of one"
    if not reason:
        raise Malformed(_PROPERTY_LIST if "<plist" in text else "It has no address named URL.")


def _binary_url(data: bytes) -> str:
    with suppress(plistlib.InvalidFileException, RecursionError):
        values = plistlib.loads(data, fmt=plistlib.FMT_BINARY)
        if isinstance(values, dict) and isinstance(values.get("URL"), str):
            return str(values["URL"])
    raise Malformed(_PROPERTY_LIST)
