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
        self.change_count = 0
        self.state = State(version=-1, changed_at=0.0)
        self._seen_change_count = -1  # The follower's, when `state` was made.

    @property
    def mutex(self) -> RLock:
        return self._follower.mutex

    @property
    def index(self) -> Index:
        return self._follower.index.public

    def find(self, id: str) -> Entry | None:
        if id not in self.index.items:
            return None
        return self._follower.find(id)

    def ids_of_uri_key(self, key: str) -> list[str]:
        return [entry.bookmark.id for entry in self.index.of_uri_key(key)]

    def is_up_to_date(self) -> bool:
        if not self._follower.is_up_to_date():
            return False
        return self._seen_change_count == self._follower.change_count

    def has_inotify(self) -> bool:
        return self._follower.has_inotify()

    def refresh_one(self, id: str) -> None:
        if id in self.index.items:
            self._follower.refresh_one(id)
        else:
            # The time that a request takes must not show which bookmarks are private.
            self._follower.refresh()

    def refresh(self) -> Index:
        self._follower.refresh()
        self._update_state()
        return self.index

    def refresh_readable(self) -> Index:
        self._follower.refresh_readable()
        self._update_state()
        return self.index

    def _update_state(self) -> None:
        if self._seen_change_count == self._follower.change_count:
            return
        state = self._new_state()
        if state != self.state:
            self.state = state
            self.change_count += 1
        self._seen_change_count = self._follower.change_count

    def _new_state(self) -> State:
        index = self.index
        is_all_public = index is self._follower.index
        if is_all_public:
            return self._follower.state
        if index.version == self.state.version:
            return self.state
        return State(index.version, self._changed_at(index))

    def _changed_at(self, index: Index) -> float:
        # Not the folders' ctimes: they tell when private bookmarks change.
        latest_ctime = index.changed_at or self._follower.created_at
        if latest_ctime > self.state.changed_at:
            return latest_ctime
        # A bookmark was removed or made private, which no public file's ctime shows.
        return time.time()
