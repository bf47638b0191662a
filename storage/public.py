"""Decide which bookmarks visitors without a login may read."""

import time
from threading import RLock

from storage.follower import Follower
from storage.index import Entry, Index, State


class PublicFollower:
    """A `Follower` for visitors, who must not learn of private bookmarks or their changes.

    It hides private bookmarks and their tombstones. `state` stays the same when a private
    bookmark changes.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.state = State(version=-1, changed_at=0.0)  # Until the first `refresh`.

    @property
    def mutex(self) -> RLock:
        return self._follower.mutex

    @property
    def index(self) -> Index:
        return self._follower.index.public

    @property
    def change_count(self) -> int:
        """A counter of all changes, including those of private bookmarks."""
        return self._follower.change_count

    def find(self, id: str) -> Entry | None:
        if id not in self.index.items:
            return None
        return self._follower.find(id)

    def ids_of_uri_key(self, key: str) -> list[str]:
        return [entry.bookmark.id for entry in self.index.of_uri_key(key)]

    def is_up_to_date(self) -> bool:
        return self._follower.is_up_to_date()

    def refresh_bookmark(self, id: str) -> None:
        if id in self.index.items:
            self._follower.refresh_bookmark(id)
        else:
            # The time that a request takes must not show which bookmarks are private.
            self._follower.refresh()

    def refresh(self) -> Index:
        index = self._follower.refresh()
        if not index.has_private_items:
            self.state = self._follower.state
        elif index.public.version != self.state.version:
            changed_at = self._find_time_of_change(index.public)
            self.state = State(index.public.version, changed_at)
        return index.public

    def require_readable(self) -> None:
        self._follower.require_readable()

    def _find_time_of_change(self, public: Index) -> float:
        """Return when the public bookmarks were last changed, in Unix seconds."""
        # Private changes also give the folders new ctimes, so use only the ctimes of files.
        latest_ctime = public.changed_at or self._follower.created_at
        if latest_ctime > self.state.changed_at:
            return latest_ctime
        # A bookmark was removed or made private, which gives no public file a new ctime.
        return time.time()
