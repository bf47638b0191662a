"""Read and select bookmarks."""

from collections.abc import Sequence
from contextlib import suppress

from storage.errors import NotFound
from storage.follower import Follower
from storage.index import Entry, Index, State, count_tags
from storage.public import PublicFollower
from storage.query import Query
from storage.selection import Selection, TagCountCache, TagCounts, candidates
from storage.uri import host_of, uri_key

MAX_HOST_TAGS = 30
_MAX_CACHED_TAG_COUNTS = 50


class Reader:
    """Read bookmarks. Methods raise Unavailable if the data folder cannot be read."""

    def __init__(self, follower: Follower | PublicFollower) -> None:
        self._follower = follower
        self._cached_tag_counts: TagCountCache = {}
        self._cached_change_count = follower.change_count

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable."""
        with self._follower.mutex:
            self._follower.refresh_bookmark(id)
            entry = self._follower.find(id)
        if entry is None:
            raise NotFound(id)
        return entry

    def raise_if_deleted(self, id: str) -> None:
        with suppress(NotFound):
            self.get(id)

    def holder(self, uri: str) -> Entry | None:
        """Return the oldest bookmark that has this uri, or None. Raises Unreadable."""
        with self._follower.mutex:
            self._follower.refresh()
            ids = self._follower.ids_of_uri_key(uri_key(uri))
            if not ids:
                return None
            return self._follower.find(ids[0])

    def _refresh_for_list(self) -> Index:
        index = self._follower.refresh()
        self._follower.require_readable()
        return index

    def ids_of_number(self, number: int) -> Sequence[str]:
        """Return the ids with this number, including those of deleted bookmarks."""
        with self._follower.mutex:
            index = self._refresh_for_list()
            return index.ids_of_number(number)

    def state(self) -> State:
        with self._follower.mutex:
            self._refresh_for_list()
            return self._follower.state

    def select(self, query: Query) -> Selection:
        """Return what a query selects."""
        with self._follower.mutex:
            index = self._refresh_for_list()
            return Selection(
                query,
                self._follower.state,
                candidates(index, query),
                index.tombstones,
                index.latest,
                index.number_of_tags,
                self._tag_count_cache(),
            )

    def _tag_count_cache(self) -> TagCountCache:
        is_stale = self._cached_change_count != self._follower.change_count
        is_full = len(self._cached_tag_counts) >= _MAX_CACHED_TAG_COUNTS
        if is_stale or is_full:
            self._cached_tag_counts = {}
            self._cached_change_count = self._follower.change_count
        return self._cached_tag_counts

    def tag_counts(self) -> tuple[TagCounts, State]:
        """Return the tags, most used first, and the state."""
        with self._follower.mutex:
            index = self._refresh_for_list()
            return index.tag_counts(), self._follower.state

    @property
    def change_count(self) -> int:
        """A counter of all changes."""
        return self._follower.change_count

    def has_changed(self, change_count: int) -> bool:
        """Return whether anything has changed since this count. Raises Unavailable.

        Does not wait for other threads.
        """
        if not self._follower.is_up_to_date():
            return True
        return self._follower.change_count != change_count

    def refresh(self) -> None:
        """Read all changed files. Raises Unavailable."""
        with self._follower.mutex:
            self._follower.refresh()

    def count(self, tag: str) -> int:
        with self._follower.mutex:
            return self._follower.index.count(tag)

    def oldest(self, tag: str) -> Entry | None:
        with self._follower.mutex:
            entries = self._follower.index.of_tag(tag)
        if not entries:
            return None
        return entries[0]

    def host_tags(self, uri: str) -> list[str]:
        """Return the most used tags of other bookmarks of the uri's host."""
        key = uri_key(uri)
        host = host_of(key)
        if not host:
            return []
        with self._follower.mutex:
            entries = self._follower.index.entries
        others = _entries_of_host(entries, host, key)
        return [tag for tag, _ in count_tags(others, MAX_HOST_TAGS)]


def _entries_of_host(
    entries: Sequence[Entry], host: str, excluded_key: str
) -> list[Entry]:
    found = []
    for entry in entries:
        # Most uris do not contain the host, so they need no parsing.
        if host not in entry.uri_key:
            continue
        if entry.uri_key != excluded_key and host_of(entry.uri_key) == host:
            found.append(entry)
    return found
