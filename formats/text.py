"""Plain text: one line for each bookmark, uri TAB title TAB tags, and the charsets of files."""

import codecs
import re
from collections.abc import Callable, Iterator

import webencodings

from formats.listing import Listing
from storage.bookmark import Bookmark
from storage.errors import Malformed

# No entry of a file may be larger, and no body of one bookmark. Every valid bookmark is smaller,
# even with each character escaped.
MAX_ENTRY = 1024 * 1024
# Bookmark files of old Macs declare these labels, which the Encoding Standard does not have.
_MAC_LABELS = ("x-mac-system", "mac-roman", "macroman")
_HEAD = 64 * 1024  # A file declares its charset in these first bytes.
_FindLabel = Callable[[bytes], str | None]
# Python's error handler `surrogateescape` decodes an invalid byte 0x80 as the surrogate U+DC80, and
# so on up to U+DCFF for 0xFF; `decode` replaces each surrogate by its byte's character.
_SURROGATE = re.compile("[\udc80-\udcff]")
# Python's windows-1252 lacks five bytes, which browsers decode as control characters.
_WINDOWS_1252_BY_SURROGATE = {
    chr(0xDC00 + byte): bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}


def write(listing: Listing) -> Iterator[bytes]:
    """Write the lines. No field can contain a TAB or a line break, so nothing is escaped."""
    for b in listing.bookmarks:
        yield f"{b.uri}\t{b.title}\t{','.join(b.tags)}\n".encode()


def write_field(bookmark: Bookmark, field: str) -> Iterator[bytes]:
    """Write the value of one field; tags one on each line."""
    value = getattr(bookmark, field)
    yield ("\n".join(value) if field == "tags" else value).encode()


def read_value(body: bytes) -> str:
    """Return the value of a field in a body. Raises Malformed."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None


# --- Charsets ---


def decode(data: bytes, find_label: _FindLabel | None = None) -> str:
    """Return the text of a file, with every line break as LF.

    `find_label` takes the first bytes and returns the charset that they declare. Invalid bytes of
    UTF-8 are read as windows-1252, and those of other charsets become U+FFFD.
    """
    codec = _choose_codec(data, find_label)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        is_windows_1252 = codec in ("utf-8-sig", "ascii")
        text = data.decode(codec, "surrogateescape" if is_windows_1252 else "replace")
        text = _SURROGATE.sub(lambda match: _WINDOWS_1252_BY_SURROGATE[match[0]], text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def require_valid_utf_16(data: bytes) -> None:
    """Raise Malformed, which names the line, for invalid UTF-16, which `decode` would change."""
    codec = _choose_codec(data, None)
    try:
        if codec.startswith("utf-16"):
            data.decode(codec)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(codec, "ignore").count("\n") + 1
        raise Malformed(f"It is not valid UTF-16 in line {line}.") from None


def _choose_codec(data: bytes, find_label: _FindLabel | None) -> str:
    """Return the codec for a file."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a BOM: in UTF-16 each ASCII character at the beginning of a file is a byte and a NUL.
    are_nul = [byte == 0 for byte in data[:4]]
    if are_nul in ([False, True] * 2, [True, False] * 2):
        return "utf-16-be" if are_nul[0] else "utf-16-le"
    label = None
    if find_label and not data.startswith(codecs.BOM_UTF8):
        label = find_label(data[:_HEAD])
    codec = find_codec(label) if label else None
    if codec in (None, "utf-8"):  # Old programs declare nothing or UTF-8, yet write windows-1252.
        return "utf-8-sig"
    # Python's windows-1252 lacks five bytes that `_WINDOWS_1252_BY_SURROGATE` has.
    return "ascii" if codec == "cp1252" else str(codec)


def find_codec(label: str) -> str | None:
    """Return the codec for a declared charset by the Encoding Standard, None if it is unknown."""
    encoding = webencodings.lookup("macintosh" if label.lower() in _MAC_LABELS else label)
    # The caller found the label as ASCII text, so the file cannot be UTF-16, even if it declares
    # that. Python has no codec for x-user-defined.
    if encoding is None or encoding.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return None
    # The Encoding Standard decodes gbk as gb18030, which has all of its characters and more.
    return "gb18030" if encoding.name == "gbk" else encoding.codec_info.name
