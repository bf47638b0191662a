"""The numbers of ids, for clients that know a bookmark by an integer."""

import zlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence


def number_of_id(id: str) -> int:
    """Return a number of 31 bits, as some clients need it, for an id or a tag.

    Two ids may have the same number.
    """
    number = zlib.crc32(id.encode()) & 0x7FFF_FFFF
    return number or 1


class Numbers:
    """Find ids by their numbers."""

    def __init__(self, ids: Iterable[str]) -> None:
        # A sorted list needs less memory than a dictionary.
        self._ids = sorted(ids, key=number_of_id)

    def ids_of(self, number: int) -> Sequence[str]:
        start = self._place(number)
        stop = bisect_right(self._ids, number, start, key=number_of_id)
        return self._ids[start:stop]

    def add(self, id: str) -> None:
        """Add an id, which must be new."""
        insort(self._ids, id, key=number_of_id)

    def remove(self, id: str) -> None:
        start = self._place(number_of_id(id))
        # Several ids may have this number.
        del self._ids[self._ids.index(id, start)]

    def _place(self, number: int) -> int:
        return bisect_left(self._ids, number, key=number_of_id)
