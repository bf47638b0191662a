"""Limit the nesting of JSON before it is decoded."""

# The limits of the JSON decoders differ, and some are too high for the small stacks of
# threads on Alpine Linux.
MAX_DEPTH = 500

_CHUNK = 65_536  # In bytes. Other threads can run between two chunks.
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
    # Without escaped quotes, each quote begins or ends a string.
    unescaped = document.replace(rb"\\", b"").replace(rb"\"", b"")
    unwanted = _ALL_BYTES.translate(None, wanted + b'"')
    text = unescaped.translate(None, unwanted)
    kept = []
    is_in_string = False
    for start in range(0, len(text), _CHUNK):
        parts = text[start : start + _CHUNK].split(b'"')
        # Every second part is inside of a string.
        first_outside = int(is_in_string)
        kept.append(b"".join(parts[first_outside::2]))
        quote_count = len(parts) - 1
        if quote_count % 2:
            is_in_string = not is_in_string
    return b"".join(kept)
