"""The numbers of ids, for clients that know a bookmark by an integer."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence

NumberOf = Callable[[str], int]


def unique_number(id: str) -> int:
    """Return a number that no other id has."""
    return int.from_bytes(id.encode(), "big")


class Numbers:
    """Ids by their numbers, of which several may have the same one."""

    def __init__(self, ids: Iterable[str], number_of: NumberOf) -> None:
        self._number_of = number_of
        # A sorted list needs 8 bytes for each id, a dictionary 150.
        self._ids = sorted(ids, key=number_of)

    def ids_of(self, number: int) -> Sequence[str]:
        """Return the ids that have this number."""
        start = self._place(number)
        stop = bisect_right(self._ids, number, start, key=self._number_of)
        return self._ids[start:stop]

    def add(self, id: str) -> None:
        """Add an id, which must be new."""
        insort(self._ids, id, key=self._number_of)

    def remove(self, id: str) -> None:
        """Remove an id."""
        start = self._place(self._number_of(id))
        del self._ids[self._ids.index(id, start)]

    def _place(self, number: int) -> int:
        return bisect_left(self._ids, number, key=self._number_of)
