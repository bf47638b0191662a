"""Limit the nesting of JSON before it is decoded."""

# The limits of the JSON decoders differ, and some are too high for the small stacks of
# threads on Alpine Linux.
MAX_DEPTH = 500

_CHUNK = 65_536  # In bytes. Splitting a large document at once takes much memory.
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
    """Return the wanted bytes outside of strings: `{[]}` for `{"a": ["]", 1]}`."""
    # Without escaped quotes, each quote begins or ends a string.
    unescaped = document.replace(rb"\\", b"").replace(rb"\"", b"")
    # Keep only quotes and the wanted bytes, such as `{""["]"]}`.
    unwanted = _ALL_BYTES.translate(None, delete=wanted + b'"')
    text = unescaped.translate(None, delete=unwanted)
    outside = []
    open_quote = b""
    for start in range(0, len(text), _CHUNK):
        chunk = open_quote + text[start : start + _CHUNK]
        # Every second part is inside a string, such as `]` in `[`, `]`, `]}`.
        parts = chunk.split(b'"')
        outside.append(b"".join(parts[::2]))
        ends_in_string = len(parts) % 2 == 0
        open_quote = b'"' if ends_in_string else b""  # Begins the next chunk.
    return b"".join(outside)
