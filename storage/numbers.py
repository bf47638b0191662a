"""Number ids, for clients that need integers."""

import zlib


def number_of_id(id: str) -> int:
    """Return a positive 31-bit number for an id or tag. Ids may share a number."""
    number = zlib.crc32(id.encode()) & 0x7FFF_FFFF
    return number or 1
