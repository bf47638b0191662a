"""Make ids that sort by time."""

import random
import time

_CROCKFORD_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_MS_FROM_1970_TO_2020 = 1_577_836_800_000


class Minter:
    """Mint TSIDs: 42 bits of milliseconds since 2020, then 22 random bits.

    Not thread-safe.
    """

    def __init__(self) -> None:
        self._last_number = 0

    def mint(self) -> str:
        milliseconds = int(time.time() * 1000) - _MS_FROM_1970_TO_2020
        if milliseconds <= 0:  # Some clocks start in 1970.
            return _to_base32(random.getrandbits(64))
        number = milliseconds << 22 | random.getrandbits(22)
        if number <= self._last_number:
            # Ids of the same millisecond must ascend. The sizes of the steps differ so much that
            # visitors cannot tell one step from two, with the id of a private bookmark between.
            number = self._last_number + int(32 * random.paretovariate(0.7))
        self._last_number = number
        return _to_base32(number)


def _to_base32(number: int) -> str:
    digits = [_CROCKFORD_BASE32[number >> shift & 31] for shift in range(60, -1, -5)]
    return "".join(digits)
