"""Limit the nesting of JSON before it is decoded."""

MAX_DEPTH = 500  # Decoding this depth fits into a thread's small stack on Alpine Linux.
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
        if is_in_string:
            chunk = b'"' + chunk  # The chunk begins inside a string.
        parts = chunk.split(b'"')
        parts_outside = parts[::2]
        parts_inside = parts[1::2]
        outside.append(b"".join(parts_outside))
        # The first part is outside. With equal numbers, the last part is inside.
        is_in_string = len(parts_inside) == len(parts_outside)
    return b"".join(outside)
