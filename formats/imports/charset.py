"""The text of a file, decoded from the charset in which it was written."""

import codecs
import re
from collections.abc import Callable

import webencodings

from formats.errors import Malformed

# Bookmark files of old Macs declare these labels, which the Encoding Standard does not have.
_MAC_LABELS = ("x-mac-system", "mac-roman", "macroman")
_HEAD = 64 * 1024  # A file declares its charset in its first bytes.
_FindLabel = Callable[[bytes], str | None]
# The characters that the error handler `surrogateescape` puts in place of undecodable bytes.
_UNDECODED_BYTE = re.compile("[\udc80-\udcff]")
_WINDOWS_1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}


def decode(data: bytes, find_label: _FindLabel | None = None) -> str:
    """Return the text of a file, with every line break as LF.

    `find_label` returns the charset that the first bytes declare. Bytes that are not valid UTF-8
    are read as windows-1252; in other charsets they become U+FFFD.
    """
    codec, errors = _choose_codec(data, find_label)
    text = data.decode(codec, errors).replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else _UNDECODED_BYTE.sub(_from_windows_1252, text)


def decode_strictly(data: bytes) -> str:
    """Return the text of a file in UTF-8 or UTF-16. Raises Malformed, naming the line."""
    codec, _ = _choose_codec(data, None)
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(codec, "replace").count("\n") + 1
        name = "UTF-8" if codec == "utf-8-sig" else "UTF-16"
        raise Malformed(f"It is not valid {name} in line {line}.") from None


def _from_windows_1252(match: re.Match[str]) -> str:
    return _WINDOWS_1252[ord(match[0])]


def _choose_codec(data: bytes, find_label: _FindLabel | None) -> tuple[str, str]:
    """Return the codec for a file, and how the codec handles invalid bytes."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", "replace"
    # Without a BOM: every other byte of the ASCII at the beginning of such a file is NUL.
    zeros = [byte == 0 for byte in data[:4]]
    if zeros in ([False, True] * 2, [True, False] * 2):
        return ("utf-16-be" if zeros[0] else "utf-16-le"), "replace"
    label = None
    if find_label and not data.startswith(codecs.BOM_UTF8):
        label = find_label(data[:_HEAD])
    codec = find_codec(label) if label else None
    if codec in (None, "utf-8"):
        return "utf-8-sig", "surrogateescape"
    # Python's codec for windows-1252 lacks five bytes.
    return ("ascii", "surrogateescape") if codec == "cp1252" else (str(codec), "replace")


def find_codec(label: str) -> str | None:
    """Return the codec for a declared charset by the Encoding Standard, None if it is unknown."""
    encoding = webencodings.lookup("macintosh" if label.lower() in _MAC_LABELS else label)
    # A declaration that can be read as ASCII is wrong if it says UTF-16.
    if encoding is None or encoding.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return None
    # The Encoding Standard decodes gbk as gb18030, which has more characters.
    return "gb18030" if encoding.name == "gbk" else encoding.codec_info.name
