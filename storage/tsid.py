"""Make ids that sort by time."""

import random
import time

_CROCKFORD_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS = 13  # Of 5 bits each, for 64 bits.
_MS_FROM_1970_TO_2020 = 1_577_836_800_000


class Minter:
    """Mint TSIDs: 42 bits of milliseconds since 2020, then 22 random bits.

    Not thread-safe.
    """

    def __init__(self) -> None:
        self._last_number = 0

    def mint(self) -> str:
        milliseconds = int(time.time() * 1000) - _MS_FROM_1970_TO_2020
        if milliseconds <= 0:  # A clock that is not set may show 1970.
            return _to_base32(random.getrandbits(64))
        number = milliseconds << 22 | random.getrandbits(22)
        if number <= self._last_number:
            # Ids of the same millisecond must ascend. If all steps were 1, a step of 2 would
            # show visitors that there is a private bookmark. So the steps differ widely.
            number = self._last_number + int(32 * random.paretovariate(0.7))
        self._last_number = number
        return _to_base32(number)


def _to_base32(number: int) -> str:
    digits = ""
    for _ in range(_DIGITS):
        number, value = divmod(number, 32)
        digits = _CROCKFORD_BASE32[value] + digits
    return digits
