"""The limit of the nesting of JSON, the same for bodies and files and on every Python."""

# The decoders' own limits depend on Python; 3.13 overflows the small stack of a thread of musl. The
# indentation of a file grows with the square of its levels: 500,000 bytes for these.
MAX_DEPTH = 500

_CHUNK = 65_536  # In bytes. Other threads wait while a chunk is split.
_ALL_BUT_BRACKETS_AND_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))


def is_too_deep(document: bytes) -> bool:
    """Return whether arrays and objects of a JSON document are nested in more than MAX_DEPTH."""
    if document.count(b"[") + document.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in brackets(document):
        if bracket in b"[{":
            depth += 1
        else:
            depth -= 1
        if depth > MAX_DEPTH:
            return True
    return False


def brackets(document: bytes) -> bytes:
    """Return the brackets and braces of a JSON document, without those in its strings."""
    unescaped = document.replace(rb"\\", b"").replace(rb"\"", b"")
    text = unescaped.translate(None, _ALL_BUT_BRACKETS_AND_QUOTES)
    kept = []
    is_in_string = False
    for start in range(0, len(text), _CHUNK):
        parts = text[start : start + _CHUNK].split(b'"')
        outside = parts[1::2] if is_in_string else parts[::2]
        kept.append(b"".join(outside))
        has_odd_number_of_quotes = len(parts) % 2 == 0
        if has_odd_number_of_quotes:
            is_in_string = not is_in_string
    return b"".join(kept)
