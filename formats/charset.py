"""The charsets of imported files (https://encoding.spec.whatwg.org/)."""

import codecs
import re

import webencodings

# `surrogateescape` decodes an invalid byte 0x80 as U+DC80, and so on.
_SURROGATES = re.compile("[\udc80-\udcff]+")


def decode(data: bytes, label: str = "") -> str:
    """Return the text of a file that declares the charset `label`, with LF as line break.

    Without a known charset, the text is UTF-8; bytes that are not UTF-8 are read as windows-1252.
    Bytes that cannot be decoded become U+FFFD.
    """
    codec = _choose_codec(data, label)
    if codec:
        text = data.decode(codec, "replace")
    elif _is_utf_8(data):  # This is much faster than the way below.
        text = data.decode("utf-8-sig")
    else:
        text = data.decode("utf-8-sig", "surrogateescape")
        text = _SURROGATES.sub(_decode_windows_1252, text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_guessed_bytes(data: bytes, label: str = "") -> int:
    """Return the number of bytes that `decode` would read as windows-1252 by guess."""
    is_certain = _choose_codec(data, label) or _is_utf_8(data)
    if is_certain:
        return 0
    text = data.decode("utf-8-sig", "surrogateescape")
    return sum(map(len, _SURROGATES.findall(text)))


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _choose_codec(data: bytes, label: str) -> str:
    """Return the codec that a file declares, or "" to try UTF-8 first."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    codec = find_codec(label)
    if codec == "utf-8" or data.startswith(codecs.BOM_UTF8):
        return ""
    return codec


def _decode_windows_1252(surrogates: re.Match[str]) -> str:
    return surrogates[0].encode("ascii", "surrogateescape").decode("cp1252", "replace")


def find_codec(label: str) -> str:
    """Return the codec for a declared charset, or "" if it is unknown."""
    if label.lower() == "x-mac-system":  # Written by old Macs.
        label = "macintosh"
    encoding = webencodings.lookup(label)
    if encoding is None:
        return ""
    # The label was read as ASCII, so the file cannot be UTF-16.
    if encoding.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return ""
    # The Encoding Standard decodes gbk as gb18030, which extends it.
    if encoding.name == "gbk":
        return "gb18030"
    return str(encoding.codec_info.name)
