"""The charsets of imported files (https://encoding.spec.whatwg.org/)."""

import codecs
import re

import webencodings

# `surrogateescape` decodes a byte that is not UTF-8, such as 0xE9, to U+DCE9.
_BYTES_THAT_ARE_NOT_UTF_8 = re.compile("[\udc80-\udcff]+")


def decode(data: bytes, label: str = "") -> str:
    """Return a text with LF as line break. `label` is the declared charset.

    Without a known charset, bytes that are not UTF-8 are read as windows-1252.
    """
    codec = _codec_other_than_utf_8(data, label)
    if codec:
        text = data.decode(codec, "replace")
    else:
        text = _decode_utf_8_or_windows_1252(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_guessed_bytes(data: bytes, label: str = "") -> int:
    """Return the number of bytes that `decode` has to read as windows-1252."""
    if _codec_other_than_utf_8(data, label):
        return 0
    valid = data.decode("utf-8", "ignore").encode()
    return len(data) - len(valid)


def _codec_other_than_utf_8(data: bytes, label: str) -> str:
    """Return the codec of a file, or "" for UTF-8 or an unknown charset."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if data.startswith(codecs.BOM_UTF8):
        return ""
    codec = find_codec(label)
    if codec == "utf-8":
        return ""
    return codec


def _decode_utf_8_or_windows_1252(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "surrogateescape")
        return _BYTES_THAT_ARE_NOT_UTF_8.sub(_decode_windows_1252, text)


def _decode_windows_1252(surrogates: re.Match[str]) -> str:
    return surrogates[0].encode("ascii", "surrogateescape").decode("cp1252", "replace")


def find_codec(label: str) -> str:
    """Return the codec for a declared charset, or "" if it is unknown."""
    if label.lower() == "x-mac-system":
        label = "macintosh"
    encoding = webencodings.lookup(label)
    if encoding is None:
        return ""
    # The label was read from the file as ASCII, so the file cannot be UTF-16.
    if encoding.name in ("utf-16le", "utf-16be"):
        return ""
    if encoding.name == "x-user-defined":  # Python has no such codec.
        return ""
    if encoding.name == "gbk":  # The Encoding Standard decodes GBK as GB 18030.
        return "gb18030"
    return str(encoding.codec_info.name)
