"""The limit of the nesting of JSON, the same for bodies and files and on every Python."""

from itertools import accumulate

# msgspec's own limit is from 998 to more than 100,000 levels, depending on the version of Python.
# The indentation of a file of so many levels needs 500,000 bytes; it grows with their square.
MAX_DEPTH = 500

_CHUNK = 65_536  # In bytes. Other threads wait while a chunk is split.
_ALL_BUT_PUNCTUATION_AND_QUOTES = bytes(set(range(256)) - set(b'[]{},"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def is_too_deep(data: bytes) -> bool:
    """Return whether arrays and objects of a JSON document are nested in more than MAX_DEPTH."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    brackets = punctuation(data).replace(b",", b"")
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


def punctuation(document: bytes) -> bytes:
    """Return the brackets, braces and commas of a JSON document, without those in its strings."""
    text = document.replace(rb"\\", b"").replace(rb"\"", b"")  # No quote is escaped any more.
    text = text.translate(None, _ALL_BUT_PUNCTUATION_AND_QUOTES)
    kept, is_in_string = [], 0
    for start in range(0, len(text), _CHUNK):
        parts = text[start : start + _CHUNK].split(b'"')  # Every second part is in a string.
        kept.append(b"".join(parts[is_in_string::2]))
        is_in_string = (is_in_string + len(parts) - 1) % 2
    return b"".join(kept)
