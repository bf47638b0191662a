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
from storage.index import Entry, Index, Page, State, count_tags, newest_first, search_entries
from storage.query import Query
from storage.record import digest, encode
from storage.tsid import Minter, linkding_number
from storage.uri import host_of, uri_key

log = logging.getLogger("bookmarks")

_Result = TypeVar("_Result")

RETRY_SECONDS = 5.0  # `retry_if_stale` raises Busy after this time.
# Each change holds one file open until all are written, and a process may open 1,024 files.
MAX_CHANGES = 200
# More tags of a host than the form shows, because the form leaves out those entered already.
MAX_HOST_TAGS = 30


class Change(NamedTuple):
    """A bookmark to store in place of the version `seen`, which is None for a new bookmark."""

    bookmark: Bookmark
    seen: Entry | None


# Python never forgets a fork handler, so all stores share one. With a handler for each, the memory
# of a process that opens and closes many folders would grow.
_STORES: "weakref.WeakSet[Store]" = weakref.WeakSet()


def _reset_stores_in_child() -> None:
    for store in list(_STORES):
        store._create_locks_and_reset_follower()


os.register_at_fork(after_in_child=_reset_stores_in_child)


class Store:
    """The bookmarks and tombstones in `folder`, whose files are the only truth.

    Every call sees each change that any process finished before it.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        """Open the folder and create missing folders.

        Raises Unavailable if the folder cannot be created, Full if the disk is full. With
        `one_machine`, inotify is used on every file system: no other machine writes to the folder.
        """
        self._folders = (folder / "bookmarks", folder / "tombstones")
        files.make_folder(folder)
        files.make_folder(self._folders[BOOKMARKS])
        with suppress(Unavailable):  # A read-only disk is served even if this folder is missing.
            files.make_folder(self._folders[TOMBSTONES])
        self._follower = Follower(folder, one_machine)  # Keeps the index equal to the files.
        self._create_locks_and_reset_follower()
        for path in self._folders:  # A killed writer may have renamed a file without a sync.
            with suppress(Unavailable):  # The folder of tombstones may be missing.
                files.sync_folder(path)
        _STORES.add(self)

    def _create_locks_and_reset_follower(self) -> None:
        """Prepare the store for this process: a child cannot use its parent's locks and inotify."""
        self._mutex = threading.RLock()
        self._writer_lock = files.Lock(self._folders[BOOKMARKS])
        self._minter = Minter()  # It has a lock, too, which another thread may hold during a fork.
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
                self._follower.reread_into_index(id)
                entry = self._follower.find(id)
        if entry is None:
            raise NotFound(id)
        return entry

    def get_numbered(self, number: int) -> Entry:
        """Return the bookmark whose id has this `linkding_number`. Raises NotFound or Unreadable.

        Several ids can have the same number; then it raises NotFound.
        """
        with self._mutex:
            index = self._follower.refresh_or_raise_if_all_reads_failed()
            ids = index.ids_of_linkding_number(number)
        if len(ids) == 1:  # With several, a client could change the wrong bookmark.
            with suppress(Gone):  # A deleted bookmark keeps its number, but linkding has no 410.
                return self.get(ids[0])
        raise NotFound(str(number))

    @property
    def change_count(self) -> int:
        """The number of index changes as of the last refresh, by which cached responses expire."""
        return self._follower.change_count

    def refresh(self) -> int:
        """Update the index if any file has changed; return `change_count`.

        Without changes the mutex is not locked: waiting for it would delay every request.
        """
        if not self._follower.is_up_to_date():
            with self._mutex:
                self._follower.refresh()
        return self._follower.change_count

    def state(self) -> State:
        """Return the validators of the collection. Raises Unavailable if no file can be read."""
        with self._mutex:
            return self._follower.refresh_or_raise_if_all_reads_failed().state

    def holder(self, uri: str) -> Entry | None:
        """Return the bookmark that has this uri, the oldest if several have it, or None.

        Unreadable files are left out: they must not prevent clients from adding bookmarks.
        """
        key = uri_key(uri)
        with self._mutex:
            return next(iter(self._follower.refresh().with_uri_key(key)), None)

    def tag_counts(self) -> tuple[list[tuple[str, int]], int, State]:
        """Return each tag with the number of its bookmarks, most used first.

        Return also the number of bookmarks without tags, and the collection's state.
        """
        with self._mutex:
            index = self._follower.refresh_or_raise_if_all_reads_failed()
            return index.tag_counts(), index.untagged_count, index.state

    def select_entries(self, query: Query) -> tuple[list[Entry], State]:
        """Return all entries that match the query's tags and search, and the collection's state."""
        with self._mutex:
            index = self._follower.refresh_or_raise_if_all_reads_failed()
            candidates, state = list(index.matches(query)), index.state
        # Searching takes long, so other threads must not wait for the mutex meanwhile.
        return search_entries(candidates, query.search), state

    def host_tags(self, uri: str) -> list[str]:
        """Return the most used tags of the other bookmarks whose uri has the same host.

        An index by host would save 6 ms with 100,000 bookmarks, but only the form needs these tags.
        """
        key = uri_key(uri)
        if not (host := host_of(key)):
            return []
        with self._mutex:
            # If all reads fail, `refresh` returns an empty index: the form works without tags.
            entries = list(self._follower.refresh().matches(Query()))
        # Searching for the text of the host first is six times as fast as parsing every uri.
        same_host = [e for e in entries if host in e.uri_key and host_of(e.uri_key) == host]
        others = [e for e in same_host if e.uri_key != key]
        return [tag for tag, _ in count_tags(others, MAX_HOST_TAGS)]

    def select(self, query: Query) -> Page:
        """Return the page of the matches that the query asks for, with its deletions and state."""
        limit, offset, tag_count_limit = query.limit, query.offset, query.tag_count_limit
        has_filter = bool(query.tags or query.search or query.uri_key is not None)
        counts: Sequence[tuple[str, int]] = ()
        # Searching, and counting the tags of a part of the bookmarks, take long.
        takes_long = bool(query.search) or (has_filter and tag_count_limit > 0)
        with self._mutex:
            index = self._follower.refresh_or_raise_if_all_reads_failed()
            matches, state = index.matches(query), index.state
            tombstones = index.deletions(query) if query.deletions else []
            tombstone_count = len(index.tombstones)  # On all pages, as `total` for bookmarks.
            if takes_long:
                matches = list(matches)  # A copy to search and to count after releasing the mutex.
            else:
                total, entries = len(matches), newest_first(matches, limit, offset)
                if tag_count_limit:  # Without a filter, the index has the counts.
                    counts = index.tag_counts(tag_count_limit)
        if takes_long:  # Other threads need not wait for this.
            matches = search_entries(matches, query.search)
            total, entries = len(matches), newest_first(matches, limit, offset)
            if tag_count_limit:
                counts = count_tags(matches, tag_count_limit)
        versions = [entry.version for entry in entries]
        bookmarks = [entry.bookmark for entry in entries]
        return Page(bookmarks, total, state, tombstones, tombstone_count, versions, counts)

    # --- Writing ---

    def mint(self) -> str:
        """Return an id for a new bookmark, whose `linkding_number` no other id has.

        Different ids can have the same number, which is shorter than an id.
        """
        with self._mutex:
            index = self._follower.refresh()
            while True:
                id = self._minter.mint()
                # In linkding's API, this number is the id of the bookmark.
                if not index.ids_of_linkding_number(linkding_number(id)):
                    return id

    def add(self, bookmark: Bookmark, checked_state: State | None = None) -> Entry:
        """Store a new bookmark durably.

        Raises Stale if a bookmark has its id, or if the collection is no longer in the state for
        which the caller checked a condition; Conflict if another bookmark has its uri; Gone if its
        id was deleted; Unreadable if a file of its id cannot be used; Busy, Full or Unavailable.
        """
        return self._write(Change(bookmark, None), checked_state)

    def replace(self, bookmark: Bookmark, seen: Entry, checked_state: State | None = None) -> Entry:
        """Store the bookmark durably in place of the version that the caller saw.

        If `bookmark` is the object `seen.bookmark`, only sync its file. Raises Stale if another
        version is stored now, or if the collection is no longer in the state for which the caller
        checked a condition; Gone if the bookmark was deleted; Unreadable if its file cannot be
        used; Conflict if another bookmark has the new uri; Busy, Full or Unavailable.
        """
        if bookmark is seen.bookmark:
            # Another program may have written the file without a sync. Nothing is changed, so
            # `checked_state` need not be compared again.
            return self._sync_unchanged(seen)
        return self._write(Change(bookmark, seen), checked_state)

    def _write(self, change: Change, checked_state: State | None) -> Entry:
        data = self._new_content(change)
        # Computing the key of a long uri can take half a second, so make the entry before locking.
        # Only the caller gets this entry: the index makes its own from the file.
        entry = new_entry(change.bookmark, data, changed_at=0.0)  # Set below, after publishing.
        with self._stage(BOOKMARKS, change.bookmark.id, data) as file:
            with self._locked_index() as index:
                # The client's condition, such as If-Match, was checked for `checked_state` only.
                if checked_state and checked_state.version != index.version:
                    raise Stale
                self._publish(index, file, change, entry.uri_key)
            files.sync_folder(self._folders[BOOKMARKS], synced_last=file.descriptor)
            entry.changed_at = file.changed_at
        return entry

    def write_all(
        self, changes: Sequence[Change], unchanged_to_sync: Iterable[Entry] = ()
    ) -> list[tuple[Change, StorageError]]:
        """Store up to `MAX_CHANGES` bookmarks durably, and sync the files of the unchanged ones.

        Files are synced together, not one by one, where the file system can do this. Returns the
        changes that were not made, each with its error. If it raises Busy, Full or Unavailable,
        each change is stored completely or not at all.
        """
        folder = self._folders[BOOKMARKS]
        failed: list[tuple[Change, StorageError]] = []
        with files.translate_disk_errors(), ExitStack() as stack:
            folder_descriptor = stack.enter_context(files.open_folder(folder))
            staged = list(self._stage_all(changes, stack, failed))
            descriptors = [file.descriptor for _change, file, _uri_key in staged]
            files.sync_files(folder_descriptor, descriptors)
            with self._locked_index() as index:
                for change, file, new_uri_key in staged:
                    try:
                        self._publish(index, file, change, new_uri_key)
                    except (Stale, Conflict, Gone, Unreadable) as error:
                        failed.append((change, error))
            files.sync_folder(folder, synced_last=descriptors[-1] if descriptors else None)
            # Unchanged bookmarks must be durable, too: other programs may not have synced them.
            unchanged_names = [entry.bookmark.id + SUFFIX for entry in unchanged_to_sync]
            if unchanged_names:
                files.sync_files(folder_descriptor, (), unchanged_names)
        return failed

    def _stage_all(
        self, changes: Sequence[Change], stack: ExitStack, failed: list[tuple[Change, StorageError]]
    ) -> Iterator[tuple[Change, files.Staged, str]]:
        """Stage the changes without a sync; yield each with its file and the index key of its uri.

        Append each change that cannot be staged to `failed`, with its error.
        """
        for change in changes:
            try:
                data = self._new_content(change)
            except (Stale, Invalid, Unreadable) as error:
                failed.append((change, error))
                continue
            # `write_all` syncs the staged files together.
            file = self._stage(BOOKMARKS, change.bookmark.id, data, sync_now=False)
            yield change, stack.enter_context(file), uri_key(change.bookmark.uri)

    def _new_content(self, change: Change) -> bytes:
        """Return the bookmark's new file; keep members that other programs added to the old one."""
        if change.seen is None:
            return encode(change.bookmark)
        return encode(change.bookmark, self._read_unchanged_file(change.seen))

    def _read_unchanged_file(self, seen: Entry) -> bytes:
        """Return the content of a bookmark's file, which must be the version that the caller saw.

        Raises Stale or Unreadable if it is not, after updating the index with the file.
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
        with self._mutex:  # The caller's next attempt must not see the old version again.
            self._follower.reread_into_index(id)
        raise error

    def _publish(self, index: Index, file: files.Staged, change: Change, new_uri_key: str) -> None:
        """Give a staged file its name. Raises Stale, Conflict, Gone or Unreadable."""
        id, seen = change.bookmark.id, change.seen
        if seen is not None:
            self._require_current(seen)
        elif self._follower.find(id):  # Another writer has added a bookmark of this id.
            raise Stale
        # If another program has stored two bookmarks with one uri, clients must still be able to
        # change their other fields, so check only a new uri.
        if seen is None or new_uri_key != seen.uri_key:
            for holder in index.with_uri_key(new_uri_key):
                if holder.bookmark.id != id:
                    raise Conflict(holder.bookmark.id)
        if seen is not None:
            file.publish()
        else:
            self._publish_new(file, id)

    def _publish_new(self, file: files.Staged, id: str) -> None:
        try:
            file.publish_new()
        except Stale:
            # Another program added this file after the refresh, or inotify did not report the file.
            # Read the file, so that the caller's next attempt finds it in the index.
            self._follower.reread_into_index(id)
            raise

    def _require_current(self, seen: Entry) -> None:
        """Raise Stale unless the up-to-date index has the version that the caller saw."""
        entry = self._follower.find(seen.bookmark.id)
        if entry is None or entry.version != seen.version:
            raise Stale

    def _sync_unchanged(self, seen: Entry) -> Entry:
        """Make the version that the caller saw durable, for an update that changes nothing.

        Another program may have written the file without a sync.
        """
        id = seen.bookmark.id
        self._read_unchanged_file(seen)  # Raises Stale after a change that inotify has missed.
        files.sync_name(self._folders[BOOKMARKS], id + SUFFIX)  # Syncs the file and its name.
        with suppress(NotFound):  # Another program may have removed the file before the sync.
            if self.get(id).version == seen.version:
                return seen
        raise Stale  # Another version may have been synced.

    def delete(self, seen: Entry) -> None:
        """Delete the version that the caller saw, durably and for ever.

        The tombstone is durable before the bookmark's file is removed, and wins over that file.
        Raises Stale, Gone, Unreadable, Busy, Full or Unavailable.
        """
        id = seen.bookmark.id
        data = encode(Tombstone(id, timestamp(time.time())))
        self._read_unchanged_file(seen)  # Raises Stale after a change that inotify has missed.
        files.make_folder(self._folders[TOMBSTONES])
        with self._stage(TOMBSTONES, id, data) as file:
            with self._locked_index():
                self._require_current(seen)
                self._publish_new(file, id)
            files.sync_folder(self._folders[TOMBSTONES], synced_last=file.descriptor)
        try:
            files.remove(self._path(BOOKMARKS, id))
            files.sync_folder(self._folders[BOOKMARKS])
        except StorageError as error:  # The bookmark is deleted; `check --repair` removes the file.
            log.warning("The file of the deleted bookmark %s remains: %s", id, error)

    def _stage(self, kind: int, id: str, data: bytes, sync_now: bool = True) -> files.Staged:
        return files.Staged(self._folders[kind], id + SUFFIX, data, sync_now)

    def _path(self, kind: int, id: str) -> Path:
        return self._folders[kind] / (id + SUFFIX)

    @contextmanager
    def _locked_index(self) -> Iterator[Index]:
        """Yield the up-to-date index while no other thread or process can publish."""
        while True:
            with self._writer_lock as locked_folder, self._mutex:
                index = self._follower.refresh()
                # The device and inode show whether the locked `bookmarks/` is the watched one.
                if locked_folder == self._follower.watch.first_folder_identity:
                    yield index
                    return
            # Another folder has taken the place of the locked one, so lock the new folder.


def retry_if_stale(attempt: Callable[[], _Result]) -> _Result:
    """Call `attempt`, which reads and then writes, until no other writer interferes.

    Raises Busy after `RETRY_SECONDS`.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return attempt()
        except Stale:
            if time.monotonic() > deadline:
                raise Busy("Other clients keep changing this. Try again later.") from None
            time.sleep(0.001)  # Give the other writer time to finish.
