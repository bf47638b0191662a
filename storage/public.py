"""Decide which bookmarks visitors without a login may read."""

import time
from threading import RLock

from storage.follower import Follower
from storage.index import Entry, Index, State


class PublicFollower:
    """A `Follower` that hides private bookmarks and their tombstones.

    `state` stays the same when only private bookmarks change.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.state = State(version=-1, changed_at=0.0)

    @property
    def mutex(self) -> RLock:
        return self._follower.mutex

    @property
    def index(self) -> Index:
        return self._follower.index.public

    @property
    def change_count(self) -> int:
        """A number that each change increases, also one of a private bookmark."""
        return self._follower.change_count

    def find(self, id: str) -> Entry | None:
        if id not in self.index.items:
            return None
        return self._follower.find(id)

    def ids_of_uri_key(self, key: str) -> list[str]:
        return [entry.bookmark.id for entry in self.index.of_uri_key(key)]

    def refresh(self) -> Index:
        self._follower.refresh()
        self.state = self._new_state()
        return self.index

    def require_readable(self) -> None:
        self._follower.require_readable()

    def _new_state(self) -> State:
        index = self.index
        is_all_public = index is self._follower.index
        if is_all_public:
            return self._follower.state
        if index.version == self.state.version:
            return self.state
        return State(index.version, self._changed_at(index))

    def _changed_at(self, index: Index) -> float:
        # The folders' ctimes are not used, because private bookmarks change them too.
        latest_ctime = index.changed_at or self._follower.created_at
        if latest_ctime > self.state.changed_at:
            return latest_ctime
        # A bookmark was removed or made private, which no public file's ctime shows.
        return time.time()
