"""The store: transactions on one data folder that any number of threads and processes share.

A version is the digest of a file's bytes. Every change is one compare-and-swap: the new file is
written and synced without the lock, and the lock is held only to compare versions and to rename.
"""

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from storage import files
from storage.bookmark import Bookmark, Tombstone, timestamp
from storage.errors import (
    Busy,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    Stale,
    StorageError,
    Unavailable,
    Unreadable,
)
from storage.follower import BOOKMARKS, SUFFIX, TOMBSTONES, Follower, new_entry
from storage.index import Entry, Index, Page, State, newest, search_entries, tag_counts
from storage.query import Query
from storage.record import digest, encode
from storage.tsid import Minter, number_of
from storage.uri import host_of, uri_key

log = logging.getLogger("bookmarks")

_Result = TypeVar("_Result")

RETRY_SECONDS = 5.0
# Each change holds one file open until all are written, and a process may open 1,024 files.
MAX_CHANGES = 200
MAX_HOST_TAGS = 30


class Change(NamedTuple):
    """A bookmark to store in place of the version `seen`; it is new if that is None."""

    bookmark: Bookmark
    seen: Entry | None


class Store:
    """The bookmarks and tombstones in `folder`, whose files are the only truth.

    Every call sees each change that any process finished before it.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder and create missing folders.

        Raises Unavailable if the folder cannot be created, Full if the disk is full.
        """
        self._folders = (folder / "bookmarks", folder / "tombstones")
        files.make_folder(folder)
        files.make_folder(self._folders[BOOKMARKS])
        with suppress(Unavailable):  # Without this folder, a read-only disk can still be served.
            files.make_folder(self._folders[TOMBSTONES])
        self._follower = Follower(folder)
        self._open()
        for path in self._folders:
            with suppress(Unavailable):  # A killed writer may have renamed a file without a sync.
                files.sync_folder(path)
        # The registration lasts as long as the process. With a weak reference, it does not keep a
        # store in memory that is not used any more.
        reopen = weakref.WeakMethod(self._open)
        os.register_at_fork(after_in_child=lambda: (method := reopen()) and method())

    def _open(self) -> None:
        """Create new locks and a new watch: a forked child cannot use those of its parent."""
        self._mutex = threading.RLock()
        self._lock = files.Lock(self._folders[BOOKMARKS])
        self._minter = Minter()
        self._follower.reset()

    def close(self) -> None:
        """Close the inotify watch. The next call reads the folder again."""
        self._follower.reset()

    # --- Reading ---

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable."""
        with self._mutex:
            self._follower.refresh()
            try:
                entry = self._follower.find(id)
            except Unreadable:  # The error may have passed.
                self._follower.reread(id)
                entry = self._follower.find(id)
        if entry is None:
            raise NotFound(id)
        return entry

    def get_numbered(self, number: int) -> Entry:
        """Return the bookmark whose id has this number. Raises NotFound or Unreadable.

        If several ids have it none is found, so that no client changes the wrong bookmark.
        """
        with self._mutex:
            ids = self._follower.refresh_for_list().ids_of_number(number)
        with suppress(Gone):
            if len(ids) == 1:
                return self.get(ids[0])
        raise NotFound(str(number))

    @property
    def change_count(self) -> int:
        """The number of changes that were seen, without looking for new ones."""
        return self._follower.change_count

    def refresh(self) -> int:
        """Look for changes; return the number of changes that were seen.

        The mutex is locked only if there are any: waiting for it would delay every request.
        """
        if not self._follower.is_quiet():
            with self._mutex:
                self._follower.refresh()
        return self._follower.change_count

    def state(self) -> State:
        """Return the validators of the whole collection."""
        with self._mutex:
            return self._follower.refresh_for_list().state

    def holder(self, uri: str) -> Entry | None:
        """Return the bookmark that has this uri, the oldest if several have it, or None."""
        key = uri_key(uri)
        with self._mutex:
            return next(iter(self._follower.refresh().holders(key)), None)

    def tag_counts(self) -> tuple[list[tuple[str, int]], int, State]:
        """Return each tag with the number of its bookmarks, most used first.

        Return also the number of bookmarks without tags, and the state.
        """
        with self._mutex:
            index = self._follower.refresh_for_list()
            return index.tag_counts(), index.untagged, index.state

    def select_entries(self, query: Query) -> tuple[list[Entry], State]:
        """Return every entry that has the query's tags and meets its search, and the state."""
        with self._mutex:
            index = self._follower.refresh_for_list()
            matches, state = list(index.matches(query)), index.state
        return search_entries(matches, query.search), state

    def host_tags(self, uri: str) -> list[str]:
        """Return the most used tags of the other bookmarks whose uri has the same host.

        An index by host would save 6 ms with 100,000 bookmarks, but only the form needs these tags.
        """
        key = uri_key(uri)
        if not (host := host_of(key)):
            return []
        with self._mutex:
            entries = list(self._follower.refresh().matches(Query()))
        # Searching for the text of the host first is six times as fast as parsing every uri.
        others = [e for e in entries if host in e.key and host_of(e.key) == host and e.key != key]
        return [tag for tag, _ in tag_counts(others, MAX_HOST_TAGS)]

    def select(self, query: Query) -> Page:
        """Return the bookmarks and deletions in the query's range, and the state they belong to."""
        limit, most = query.limit, query.most_used_tags
        is_filter = query.tags or query.search or query.key is not None
        with self._mutex:
            index = self._follower.refresh_for_list()
            matches, state = index.matches(query), index.state
            tombstones = index.deletions(query) if query.deletions else []
            tombstone_count = len(index.tombstones)
            total, entries = len(matches), newest(matches, limit, query.offset)
            counts = index.tag_counts(most) if most and not is_filter else []
            # Searching and counting take long: use a copy, after releasing the mutex.
            matches = list(matches) if query.search or most and is_filter else ()
        if query.search:
            matches = search_entries(matches, query.search)
            total, entries = len(matches), newest(matches, limit, query.offset)
        if most and is_filter:
            counts = tag_counts(matches, most)
        versions = [entry.version for entry in entries] if most else ()
        bookmarks = [entry.bookmark for entry in entries]
        return Page(bookmarks, total, state, tombstones, tombstone_count, versions, counts)

    # --- Writing ---

    def mint(self) -> str:
        """Return an id for a new bookmark, with a number that no other id has."""
        with self._mutex:
            index = self._follower.refresh()
            while index.ids_of_number(number_of(id := self._minter.mint())):
                pass
        return id

    def add(self, bookmark: Bookmark, state: State | None = None) -> Entry:
        """Store a new bookmark durably.

        Raises Stale if its id exists already or the collection is no longer in the `state` that
        the caller saw; Conflict if another bookmark has its uri; Gone or Unreadable for its id;
        Busy, Full or Unavailable.
        """
        return self._write(Change(bookmark, None), state)

    def replace(self, bookmark: Bookmark, seen: Entry, state: State | None = None) -> Entry:
        """Store the bookmark durably in place of the version that the caller saw.

        If it is that version's own bookmark, only make sure that its file is durable. Raises Stale
        if that version is no longer the current one; Gone or Unreadable; Conflict if another
        bookmark has the new uri; Busy, Full or Unavailable.
        """
        if bookmark is seen.bookmark:
            return self._keep(seen)
        return self._write(Change(bookmark, seen), state)

    def _write(self, change: Change, state: State | None) -> Entry:
        data = self._new_content(change)
        with self._stage(BOOKMARKS, change.bookmark.id, data) as file:
            entry = new_entry(change.bookmark, data, 0.0)  # Its time is set after publishing.
            with self._locked() as index:
                if state and state.version != index.version:
                    raise Stale
                self._publish(index, file, entry, change.seen)
            files.sync_folder(self._folders[BOOKMARKS], file.descriptor)
            entry.changed_at = file.changed_at
        return entry

    def write_all(
        self, changes: Sequence[Change], unchanged: Iterable[Entry] = ()
    ) -> list[tuple[Change, StorageError]]:
        """Store up to `MAX_CHANGES` bookmarks durably, with one sync for all of them.

        The files of the `unchanged` bookmarks become durable too. Returns the changes that were
        not made, each with its error. Raises Busy, Full or Unavailable; each bookmark is then
        stored whole or not at all.
        """
        folder = self._folders[BOOKMARKS]
        failed: list[tuple[Change, StorageError]] = []
        with files.translate_disk_errors(), ExitStack() as stack:
            descriptor = stack.enter_context(files.open_folder(folder))
            staged = list(self._stage_all(changes, stack, failed))
            files.sync_files(descriptor, [file.descriptor for _, file, _ in staged])
            with self._locked() as index:
                for change, file, entry in staged:
                    try:
                        self._publish(index, file, entry, change.seen)
                    except (Stale, Conflict, Gone, Unreadable) as error:
                        failed.append((change, error))
            files.sync_folder(folder)
            # Only the sync of a file reports that XFS has shut down: see sync_folder.
            last = [file.descriptor for _, file, _ in staged[-1:]]
            names = [entry.bookmark.id + SUFFIX for entry in unchanged]
            files.sync_files(descriptor, last, names)
        return failed

    def _stage_all(
        self, changes: Sequence[Change], stack: ExitStack, failed: list[tuple[Change, StorageError]]
    ) -> Iterator[tuple[Change, files.Staged, Entry]]:
        """Stage the changes without a sync; append the impossible ones to `failed`."""
        for change in changes:
            try:
                data = self._new_content(change)
            except (Stale, Invalid, Unreadable) as error:
                failed.append((change, error))
                continue
            file = self._stage(BOOKMARKS, change.bookmark.id, data, durable=False)
            yield change, stack.enter_context(file), new_entry(change.bookmark, data, 0.0)

    def _new_content(self, change: Change) -> bytes:
        """Return the file's new content, with the unknown members of the content it replaces."""
        if change.seen is None:
            return encode(change.bookmark)
        return encode(change.bookmark, self._read_seen(change.seen))

    def _read_seen(self, seen: Entry) -> bytes:
        """Return the content of a bookmark's file if it is the version that the caller saw.

        Raises Stale or Unreadable otherwise, after updating the index with the file.
        """
        id = seen.bookmark.id
        try:
            data, _ = files.read(self._path(BOOKMARKS, id))
            if digest(data) == seen.version:
                return data
            error: StorageError = Stale()
        except FileNotFoundError:
            error = Stale()
        except files.BadFile as reason:
            error = Unreadable(id, str(reason))
        with self._mutex:
            self._follower.reread(id)
        raise error

    def _publish(
        self, index: Index, file: files.Staged, entry: Entry, seen: Entry | None
    ) -> None:
        """Give a staged file its name. Raises Stale, Conflict, Gone or Unreadable."""
        id = entry.bookmark.id
        if seen is not None:
            self._require_seen(seen)
        elif self._follower.find(id):
            raise Stale
        if seen is None or entry.key != seen.key:
            for holder in index.holders(entry.key):
                if holder.bookmark.id != id:
                    raise Conflict(holder.bookmark.id)
        if seen is not None:
            file.publish()
        else:
            self._publish_new(file, id)

    def _publish_new(self, file: files.Staged, id: str) -> None:
        try:
            file.publish_new()
        except Stale:  # A file has the name, but no inotify event has reported it.
            self._follower.reread(id)
            raise

    def _require_seen(self, seen: Entry) -> None:
        """Raise Stale unless the stored version is the one that the caller saw."""
        entry = self._follower.find(seen.bookmark.id)
        if entry is None or entry.version != seen.version:
            raise Stale

    def _keep(self, seen: Entry) -> Entry:
        """Make the version that the caller saw durable, and return it.

        Another program may have written the file without a sync.
        """
        id = seen.bookmark.id
        self._read_seen(seen)
        files.sync_name(self._folders[BOOKMARKS], id + SUFFIX)
        with suppress(NotFound):
            if self.get(id).version == seen.version:
                return seen
        raise Stale

    def delete(self, seen: Entry) -> None:
        """Delete the version that the caller saw, durably and for ever.

        The tombstone is durable before the bookmark's file is removed, and wins over that file.
        Raises Stale, Gone, Unreadable, Busy, Full or Unavailable.
        """
        id = seen.bookmark.id
        data = encode(Tombstone(id, timestamp(time.time())))
        self._read_seen(seen)
        files.make_folder(self._folders[TOMBSTONES])
        with self._stage(TOMBSTONES, id, data) as file:
            with self._locked():
                self._require_seen(seen)
                self._publish_new(file, id)
            files.sync_folder(self._folders[TOMBSTONES], file.descriptor)
        try:
            files.remove(self._path(BOOKMARKS, id))
            files.sync_folder(self._folders[BOOKMARKS])
        except StorageError as error:  # The bookmark is deleted; `check --repair` removes the file.
            log.warning("The file of the deleted bookmark %s remains: %s", id, error)

    def _stage(self, kind: int, id: str, data: bytes, durable: bool = True) -> files.Staged:
        return files.Staged(self._folders[kind], id + SUFFIX, data, durable)

    def _path(self, kind: int, id: str) -> Path:
        return self._folders[kind] / (id + SUFFIX)

    @contextmanager
    def _locked(self) -> Iterator[Index]:
        """Yield the up-to-date index while no other thread or process can publish."""
        while True:
            with self._lock as locked, self._mutex:
                index = self._follower.refresh()
                if locked == self._follower.watch.identity:
                    yield index
                    return
            # Another folder has replaced the locked one: lock the new folder.


def retry_if_stale(attempt: Callable[[], _Result]) -> _Result:
    """Call `attempt`, which reads and then writes, until no other writer interferes.

    Raises Busy after 5 seconds.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return attempt()
        except Stale:
            if time.monotonic() > deadline:
                raise Busy("Other clients keep changing this. Try again later.") from None
            time.sleep(0.001)
