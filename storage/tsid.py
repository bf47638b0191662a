"""Make time-sorted unique ids (TSIDs) for bookmarks, and derive linkding's numbers from ids."""

import random
import threading
import time
import zlib

_CROCKFORD_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_MS_FROM_1970_TO_2020 = 1_577_836_800_000


class Minter:
    """Mint TSIDs: 42 bits of milliseconds since 2020, then 22 random bits.

    The ids of one minter ascend strictly, except for random ids that it makes while the clock is
    not set (before 2020). The ids of different machines very probably differ, by their random bits.
    """

    def __init__(self) -> None:
        self._last_number = 0
        self._lock = threading.Lock()

    def mint(self) -> str:
        """Return a new id: 13 characters of lower-case Crockford base32."""
        milliseconds = int(time.time() * 1000) - _MS_FROM_1970_TO_2020
        if milliseconds <= 0:  # An unset clock, as on a board without a battery, shows 1970.
            number = random.getrandbits(64)  # 64 random bits, without the wrong time.
        else:
            number = milliseconds << 22 | random.getrandbits(22)
            # Lists sort by time and id, so even ids of one millisecond must ascend.
            with self._lock:
                number = self._last_number = max(number, self._last_number + 1)
        # A base32 digit has 5 bits, and 13 digits hold all 64 bits.
        return "".join([_CROCKFORD_BASE32[number >> shift & 31] for shift in range(60, -1, -5)])


def linkding_number(id: str) -> int:
    """Return the number by which linkding's API addresses the bookmark or tag with this id.

    Its clients may store the number in 32 bits, so it is from 1 to 2^31 - 1, and two ids may have
    the same number.
    """
    return zlib.crc32(id.encode()) & 0x7FFF_FFFF or 1
