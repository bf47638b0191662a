"""Decide which bookmarks visitors without a login may read."""

import time
from threading import RLock

from storage.follower import Follower
from storage.index import Entry, Index, State

_NO_VERSION = -1  # No collection has this version.


class PublicFollower:
    """A `Follower` that hides private bookmarks and their tombstones from a `Reader`.

    `state` stays the same when only private bookmarks change.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.change_count = 0
        self.state = State(_NO_VERSION, 0.0)
        # The follower's `change_count` when `state` was updated.
        self._seen_change_count = -1

    @property
    def mutex(self) -> RLock:
        """The mutex of the follower, which a forked child replaces."""
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
            # The duration must not show whether a bookmark is private or missing.
            self._follower.refresh()

    def refresh(self) -> Index:
        self._follower.refresh()
        return self._update_if_changed()

    def refresh_readable(self) -> Index:
        self._follower.refresh_readable()
        return self._update_if_changed()

    def _update_if_changed(self) -> Index:
        index = self.index
        if self._seen_change_count != self._follower.change_count:
            state = self._new_state(index)
            if state != self.state:
                self.state = state
                self.change_count += 1
            self._seen_change_count = self._follower.change_count
        return index

    def _new_state(self, index: Index) -> State:
        if index is self._follower.index:
            return self._follower.state
        if index.version == self.state.version:
            return self.state
        # Use only the times of public files, because those of the folders would tell
        # visitors when private bookmarks change.
        changed_at = index.changed_at or self._follower.created_at
        if changed_at <= self.state.changed_at:
            # Removing a bookmark or making it private changes no time of a public file.
            changed_at = time.time()
        return State(index.version, changed_at)
