"""Find ids by number, for clients that need integers."""

import zlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence


def number_of_id(id: str) -> int:
    """Return a positive 31-bit number for an id or tag. It may not be unique."""
    number = zlib.crc32(id.encode()) & 0x7FFF_FFFF
    return number or 1


class Numbers:
    def __init__(self, ids: Iterable[str]) -> None:
        # A list needs less memory than a dictionary.
        self._sorted_ids = sorted(ids, key=number_of_id)

    def ids_of(self, number: int) -> Sequence[str]:
        start = bisect_left(self._sorted_ids, number, key=number_of_id)
        stop = bisect_right(self._sorted_ids, number, start, key=number_of_id)
        return self._sorted_ids[start:stop]

    def add(self, id: str) -> None:
        """Add an id, which must be new."""
        insort(self._sorted_ids, id, key=number_of_id)

    def remove(self, id: str) -> None:
        number = number_of_id(id)
        first = bisect_left(self._sorted_ids, number, key=number_of_id)
        # Other ids may have the same number.
        index = self._sorted_ids.index(id, first)
        del self._sorted_ids[index]
