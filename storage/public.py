"""What visitors may read: the one place that decides it."""

import time
from threading import RLock

from storage.follower import Follower
from storage.index import Entry, Index, State

_NO_VERSION = -1  # Before the first refresh.


class PublicFollower:
    """Follow the public items of a folder, for the `Reader` of visitors.

    It has the members of `Follower` that readers use, and no others. Its
    validators do not move with private bookmarks and their tombstones.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.change_count = 0
        self.state = State(_NO_VERSION, 0.0)  # Of the public items.
        self._looked_at = -1  # The follower's `change_count` at the last look.

    @property
    def mutex(self) -> RLock:
        """The follower's mutex, which a forked child makes anew."""
        return self._follower.mutex

    @property
    def index(self) -> Index:
        """The public items."""
        return self._follower.index.public

    def find(self, id: str) -> Entry | None:
        """Return the public bookmark of this id, or None. Raises Gone or Unreadable."""
        if id not in self.index.items:
            return None
        return self._follower.find(id)

    def ids_of_uri_key(self, key: str) -> list[str]:
        """Return the ids of public bookmarks that have a uri with this key."""
        return [entry.bookmark.id for entry in self.index.of_uri_key(key)]

    # --- Refreshing ---

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh."""
        if not self._follower.is_up_to_date():
            return False
        return self._looked_at == self._follower.change_count

    def compares_each_time(self) -> bool:
        """Return whether each refresh compares all files."""
        return self._follower.compares_each_time()

    def refresh_one(self, id: str) -> None:
        """Bring at least this id up to date. Raises Unavailable."""
        if id in self.index.items:
            self._follower.refresh_one(id)
        else:  # The time must not tell whether the id has a file.
            self._follower.refresh()

    def refresh(self) -> Index:
        """Return the up-to-date index. Raises Unavailable."""
        self._follower.refresh()
        return self._look()

    def refresh_or_raise_if_all_reads_failed(self) -> Index:
        """Return the index. Raises Unavailable also if reading every file failed."""
        self._follower.refresh_or_raise_if_all_reads_failed()
        return self._look()

    def _look(self) -> Index:
        """Return the index, and notice if it has changed."""
        index = self.index
        if self._looked_at != self._follower.change_count:
            state = self._state_of(index)
            if state != self.state:
                self.state = state
                self.change_count += 1
            self._looked_at = self._follower.change_count
        return index

    def _state_of(self, index: Index) -> State:
        if index is self._follower.index:
            return self._follower.state
        if index.version == self.state.version:
            return self.state
        # The times of files and folders tell of private changes, too.
        return State(index.version, time.time())
