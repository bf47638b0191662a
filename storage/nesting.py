"""Limit the nesting of JSON before it is decoded."""

# The limits of the JSON decoders differ between versions of Python, and one limit
# is too high for the small stacks of threads on Alpine Linux (musl).
MAX_DEPTH = 500

_CHUNK = 65_536  # Bytes. Python runs no other thread while it splits a chunk.
_ALL_BYTES = bytes(range(256))


def is_too_deep(document: bytes) -> bool:
    """Return whether more than MAX_DEPTH arrays and objects are nested."""
    if document.count(b"[") + document.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in outside_strings(document, b"[]{}"):
        if bracket in b"[{":
            depth += 1
        else:
            depth -= 1
        if depth > MAX_DEPTH:
            return True
    return False


def outside_strings(document: bytes, wanted: bytes) -> bytes:
    """Return only the wanted bytes of a JSON document outside its strings."""
    unwanted = _ALL_BYTES.translate(None, wanted + b'"')
    # Without escaped quotes, each quote begins or ends a string.
    unescaped = document.replace(rb"\\", b"").replace(rb"\"", b"")
    text = unescaped.translate(None, unwanted)
    kept = []
    is_in_string = False
    for start in range(0, len(text), _CHUNK):
        # Every second part is a string.
        parts = text[start : start + _CHUNK].split(b'"')
        outside = parts[1::2] if is_in_string else parts[::2]
        kept.append(b"".join(outside))
        has_odd_number_of_quotes = len(parts) % 2 == 0
        if has_odd_number_of_quotes:
            is_in_string = not is_in_string
    return b"".join(kept)
