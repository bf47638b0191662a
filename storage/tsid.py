"""Ids for new bookmarks: time-sorted unique identifiers (TSIDs). An integer for every id."""

import random
import threading
import time
import zlib

_CROCKFORD_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH_MS = 1_577_836_800_000  # 2020-01-01T00:00:00Z


class Minter:
    """Mint TSIDs: 42 bits of milliseconds since 2020, then 22 random bits.

    The ids of one minter ascend strictly; those of several machines differ without coordination.
    While the clock shows a time before 2020, as on a board without a battery, all bits are random.
    """

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def mint(self) -> str:
        """Return a new id: 13 characters of lower-case Crockford base32."""
        milliseconds, number = int(time.time() * 1000) - _EPOCH_MS, random.getrandbits(64)
        if milliseconds > 0:
            with self._lock:  # `>> 42` leaves 22 of the 64 random bits.
                number = self._last = max(milliseconds << 22 | number >> 42, self._last + 1)
        return "".join([_CROCKFORD_BASE32[number >> shift & 31] for shift in range(60, -1, -5)])


def number_of(id: str) -> int:
    """Return a number for an id, from 1 to 2^31 - 1. Two ids may have the same number.

    linkding's API addresses bookmarks by positive integers, which its clients may store in 32 bits.
    """
    return zlib.crc32(id.encode()) & 0x7FFF_FFFF or 1
