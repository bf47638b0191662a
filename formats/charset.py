"""The charsets of imported files (https://encoding.spec.whatwg.org/)."""

import codecs
import re

import webencodings

# `surrogateescape` decodes invalid bytes to these characters.
_SURROGATES = re.compile("[\udc80-\udcff]+")


def decode(data: bytes, label: str = "") -> str:
    """Return a text with LF as line break. `label` is the declared charset.

    Without a known charset, read UTF-8, and other bytes as windows-1252. Undecodable bytes
    become U+FFFD.
    """
    codec = _choose_codec(data, label)
    if codec:
        text = data.decode(codec, "replace")
    elif _is_utf_8(data):  # Much faster than the way below.
        text = data.decode("utf-8-sig")
    else:
        text = data.decode("utf-8-sig", "surrogateescape")
        text = _SURROGATES.sub(_decode_windows_1252, text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count_guessed_bytes(data: bytes, label: str = "") -> int:
    """Return how many bytes `decode` would guess to be windows-1252."""
    if _choose_codec(data, label) or _is_utf_8(data):
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
    """Return the declared codec, or "" to try UTF-8 first."""
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
    if label.lower() == "x-mac-system":
        label = "macintosh"
    encoding = webencodings.lookup(label)
    if encoding is None:
        return ""
    # A file whose label is readable as ASCII is not UTF-16.
    if encoding.name in ("utf-16le", "utf-16be", "x-user-defined"):
        return ""
    if encoding.name == "gbk":  # As the Encoding Standard requires.
        return "gb18030"
    return str(encoding.codec_info.name)
