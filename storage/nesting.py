"""Limit the nesting of JSON before it is decoded."""

MAX_DEPTH = 500  # Fits into the small stacks of threads on Alpine Linux.
_CHUNK_SIZE = 65_536


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
    """Return the wanted bytes that are outside of JSON strings."""
    # Without escaped backslashes and quotes, each quote begins or ends a string.
    text = document.replace(rb"\\", b"").replace(rb"\"", b"")
    unwanted = bytes(set(range(256)).difference(wanted, b'"'))
    text = text.translate(None, delete=unwanted)
    outside = []
    is_in_string = False
    # Splitting a large text at once would take much memory.
    for start in range(0, len(text), _CHUNK_SIZE):
        chunk = text[start : start + _CHUNK_SIZE]
        parts = chunk.split(b'"')  # Alternately outside and inside strings.
        if is_in_string:
            outside_parts = parts[1::2]
        else:
            outside_parts = parts[::2]
        outside.append(b"".join(outside_parts))
        if chunk.count(b'"') % 2 == 1:
            is_in_string = not is_in_string
    return b"".join(outside)
