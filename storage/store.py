"""The store: reading, and transactions, on one data folder that threads and processes share.

A version is the digest of a file's bytes. A transaction locks the folder, brings the index up to
date, lets the caller look and decide, and then stages, syncs and renames the new files.
"""

import logging
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from storage import files
from storage.bookmark import Bookmark, Tombstone, timestamp
from storage.errors import Busy, Conflict, Gone, NotFound, OutcomeUnknown, StorageError, Unavailable
from storage.follower import BOOKMARKS, SUFFIX, TOMBSTONES, Follower, new_entry
from storage.index import Entry, State, count_tags, newest_first, search_entries, sort_entries
from storage.query import NEWEST_FIRST, Query
from storage.record import digest, encode
from storage.tsid import Minter
from storage.uri import host_of, uri_key

log = logging.getLogger("bookmarks")

# More tags of a host than the form shows, because the form leaves out those entered already.
MAX_HOST_TAGS = 30
_MAX_COUNTED_SELECTIONS = 2_000  # In about 8 MiB.


class Page(msgspec.Struct, frozen=True):
    """One page of the entries that match a query, in its order, and of all tombstones if asked for.

    `total` and `tombstone_count` are the numbers on all pages; `latest` is the time of the latest
    change or deletion in the collection; `tag_counts` has the most used tags of all matches.
    """

    entries: Sequence[Entry]
    total: int
    state: State
    tombstones: Sequence[Tombstone] = ()
    tombstone_count: int = 0
    latest: str = ""
    tag_counts: Sequence[tuple[str, int]] = ()


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
        self._follower = Follower(folder, one_machine)  # Keeps the index equal to the files.
        folders = self._follower.folders
        files.make_folder(folder)
        files.make_folder(folders[BOOKMARKS])
        with suppress(Unavailable):  # A read-only disk is served even if this folder is missing.
            files.make_folder(folders[TOMBSTONES])
        self._create_locks_and_reset_follower()
        for path in folders:  # A killed writer may have renamed a file without a sync.
            with suppress(Unavailable):  # The folder of tombstones may be missing.
                files.sync_folder(path)
        # The tags of each selection, by `change_count` and query: counting them for each page of a
        # long list anew would take four times as long as the page.
        self._tag_counts: dict[tuple[int, Query], Sequence[tuple[str, int]]] = {}
        _STORES.add(self)

    def _create_locks_and_reset_follower(self) -> None:
        """Prepare the store for this process: a child cannot use its parent's locks and inotify."""
        self._mutex = threading.RLock()
        self._writer_lock = files.Lock(self._follower.folders[BOOKMARKS])
        self._minter = Minter()  # It has a lock, too, which another thread may hold during a fork.
        self._follower.reset()

    def close(self) -> None:
        """Close the inotify watch. The next call reads the folder again."""
        with self._mutex:
            self._follower.reset()

    # --- Reading ---

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable."""
        with self._mutex:
            self._follower.refresh_one(id)
            entry = self._follower.find(id)
        if entry is None:
            raise NotFound(id)
        return entry

    def raise_if_deleted(self, id: str) -> None:
        """Raise Gone if the bookmark of this id was deleted."""
        with suppress(NotFound):
            self.get(id)

    @property
    def change_count(self) -> int:
        """The number of index changes as of the last refresh, by which cached responses expire."""
        return self._follower.change_count

    def compares_each_time(self) -> bool:
        """Return whether each refresh compares all files, because inotify is missing."""
        return self._follower.compares_each_time()

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
            self._follower.refresh_or_raise_if_all_reads_failed()
            return self._follower.state

    def holder(self, uri: str) -> Entry | None:
        """Return the bookmark that has this uri, the oldest if several have it, or None."""
        with self._mutex:
            return next(iter(self._follower.refresh().by_uri_key.get(uri_key(uri), ())), None)

    def tag_counts(self) -> tuple[list[tuple[str, int]], int, State]:
        """Return each tag with the number of its bookmarks, most used first.

        Return also the number of bookmarks without tags, and the collection's state.
        """
        with self._mutex:
            index = self._follower.refresh_or_raise_if_all_reads_failed()
            return index.tag_counts(), len(index.by_tag.get("", ())), self._follower.state

    def host_tags(self, uri: str) -> list[str]:
        """Return the most used tags of the other bookmarks whose uri has the same host.

        An index by host would save 6 ms with 100,000 bookmarks, but only the form needs these tags.
        """
        key = uri_key(uri)
        if not (host := host_of(key)):
            return []
        with self._mutex:
            entries = list(self._follower.index.entries)  # As of the last refresh.
        # Searching for the text of the host first is six times as fast as parsing every uri.
        same_host = [e for e in entries if host in e.uri_key and host_of(e.uri_key) == host]
        others = [e for e in same_host if e.uri_key != key]
        return [tag for tag, _ in count_tags(others, MAX_HOST_TAGS)]

    def select(self, query: Query, is_refreshed: bool = False) -> Page:
        """Return the page of the matches that the query asks for, with its deletions and state.

        With `is_refreshed`, the index stays as of the last refresh: the caller needs no newer one.
        """
        with self._mutex:
            if not is_refreshed:
                self._follower.refresh_or_raise_if_all_reads_failed()
            index = self._follower.index
            matches, deleted = index.matches(query), index.tombstones if query.deletions else []
            counted = self.change_count, replace(query, limit=None, offset=0, sort=NEWEST_FIRST)
            counts = self._tag_counts.get(counted) if query.tag_count_limit else ()
            page = Page(
                entries=newest_first(matches, query.limit, query.offset),
                total=len(matches),
                state=self._follower.state,
                tombstones=[t.tombstone for t in newest_first(deleted, query.limit, query.offset)],
                tombstone_count=len(deleted),
                latest=index.latest,
                tag_counts=counts or (),
            )
            if counts is not None and not query.search and query.sort == NEWEST_FIRST:
                return page
            # All that follows takes long, so other threads must not wait for the mutex meanwhile.
            matches = list(matches)
        matches = search_entries(matches, query.search)
        entries = newest_first(sort_entries(matches, query.sort), query.limit, query.offset)
        if counts is None:
            counts = count_tags(matches, query.tag_count_limit)
            if len(self._tag_counts) >= _MAX_COUNTED_SELECTIONS:
                self._tag_counts.clear()
            self._tag_counts[counted] = counts
        return replace(page, entries=entries, total=len(matches), tag_counts=counts)

    # --- Writing ---

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Lock the folder for a block, and store the changes at its end, durably.

        If the block raises, nothing is changed. Raises Busy, Full or Unavailable: then each of the
        changes is stored completely or not at all.
        """
        if not self.compares_each_time():
            self.refresh()  # Reading the whole folder takes long, so do it before locking.
        with ExitStack() as staged:
            transaction = Transaction(self)
            try:
                with self._lock_folder():
                    yield transaction
                    transaction.publish(staged)
            finally:  # If one change fails, those before it are stored.
                transaction.sync()

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        """Lock the folder and bring the index up to date; no other thread or process can write."""
        while True:
            with self._writer_lock.hold() as locked_folder:
                with self._mutex:
                    self._follower.refresh()
                # The device and inode show whether the locked `bookmarks/` is the watched one.
                if locked_folder == self._follower.watch.first_folder_identity:
                    yield
                    return
            # Another folder has taken the place of the locked one, so lock the new folder.


class Rehearsal(Store):
    """A store for a dry run: all of its transactions are one, which is never stored."""

    @cached_property
    def _rehearsed(self) -> "Transaction":
        return Transaction(self)

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Let a block make changes, which only this store's later transactions see."""
        self.refresh()
        yield self._rehearsed


class _Put(NamedTuple):
    """A bookmark to store in place of another version, or as a new one, and its file's content."""

    entry: Entry
    before: Entry | None
    data: bytes


class Transaction:
    """Changes of a locked folder, which `Store.transaction` stores together.

    Every method sees the changes that were made before in the same transaction.
    """

    def __init__(self, store: Store) -> None:
        self._follower = store._follower
        self._folders = self._follower.folders
        self._mutex = store._mutex  # Other threads read and refresh the index meanwhile.
        self._minter = store._minter
        self._puts: dict[str, _Put] = {}  # By id.
        self._ids_by_uri_key: dict[str, str] = {}  # Of the puts.
        self._deleted: list[Entry] = []
        self._unchanged: set[str] = set()  # Ids whose files are only synced.
        self._synced_last: dict[Path, int] = {}  # By folder: a published file's descriptor.
        self._to_remove: list[Path] = []  # The files of the bookmarks that have a tombstone now.

    @property
    def state(self) -> State:
        """The validators of the collection before this transaction."""
        with self._mutex:
            return self._follower.state

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None. Raises Gone or Unreadable."""
        if put := self._puts.get(id):
            return put.entry
        with self._mutex:
            # Locking the folder has brought new files into the index. Read a known one again:
            # inotify does not report every change of it.
            if id in self._follower.index.items:
                self._follower.reread(id)
            return self._follower.find(id)

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable.

        A client may repeat a deletion whose sync failed, so a tombstone is durable before Gone.
        """
        try:
            entry = self.find(id)
        except Gone:
            self._sync_tombstone(id)
            raise
        if entry is None:
            raise NotFound(id)
        return entry

    def _sync_tombstone(self, id: str) -> None:
        folder = self._folders[TOMBSTONES]
        path = folder / (id + SUFFIX)
        with files.translate_disk_errors(), files.open_file(path) as descriptor:
            files.sync_folder(folder, descriptor)

    def holder(self, uri: str) -> Entry | None:
        """Return the bookmark that has this uri, the oldest if several have it, or None.

        Raises Unreadable.
        """
        key = uri_key(uri)
        with self._mutex:
            ids = [entry.bookmark.id for entry in self._follower.index.by_uri_key.get(key, ())]
        if key in self._ids_by_uri_key:
            ids.insert(0, self._ids_by_uri_key[key])
        current = map(self.find, ids)
        return next((entry for entry in current if entry and entry.uri_key == key), None)

    def mint(self) -> str:
        """Return an id that no bookmark has or had."""
        while True:
            id = self._minter.mint()
            with self._mutex:
                if id not in self._follower.index.items:
                    return id

    def put(self, bookmark: Bookmark, before: Entry | None = None) -> Entry:
        """Store the bookmark in place of `before`, or as a new one; return its entry.

        If it is the object `before.bookmark`, only sync its file, which another program may have
        written. Raises Conflict if another bookmark has its uri or, without `before`, its id; Gone
        or Unreadable; Invalid if its file would be too large.
        """
        id = bookmark.id
        if before and bookmark is before.bookmark:
            self._unchanged.add(id)
            return before
        if before is None and self.find(id):
            raise Conflict(id)
        pending = self._puts.get(id)
        previous_content = pending.data if pending else self._read_version(before)
        data = encode(bookmark, previous_content)  # Keeps unknown members.
        entry = new_entry(bookmark, data, time.time())
        # Two files may have one uri, so an update that leaves the uri alone is no conflict.
        is_new_uri = before is None or before.uri_key != entry.uri_key
        holder = self.holder(bookmark.uri) if is_new_uri else None
        if holder and holder.bookmark.id != id:
            raise Conflict(holder.bookmark.id)
        self._puts[id] = _Put(entry, pending.before if pending else before, data)
        self._ids_by_uri_key[entry.uri_key] = id
        return entry

    def delete(self, entry: Entry) -> None:
        """Delete a bookmark for ever: its tombstone wins over its file."""
        self._deleted.append(entry)

    def publish(self, staged: ExitStack) -> None:
        """Stage and sync all new files, then give them their names.

        Raises Busy, without changing any more files, if another program changes one meanwhile.
        """
        unchanged = [self._open(staged, id) for id in self._unchanged - self._puts.keys()]
        puts = [(p, self._stage(staged, BOOKMARKS, p.data, id)) for id, p in self._puts.items()]
        deletions = [(entry, self._stage_tombstone(staged, entry)) for entry in self._deleted]
        files.sync(unchanged + [file.descriptor for _, file in puts + deletions])
        for descriptor in unchanged:
            self._synced_last[self._folders[BOOKMARKS]] = descriptor
        try:
            for put, file in puts:
                self._read_version(put.before)  # Raises Busy.
                file.publish() if put.before else file.publish_new()
                self._synced_last[self._folders[BOOKMARKS]] = file.descriptor
                put.entry.changed_at = file.changed_at
            for entry, file in deletions:
                self._read_version(entry)  # Raises Busy.
                file.publish_new()
                self._synced_last[self._folders[TOMBSTONES]] = file.descriptor
                self._to_remove.append(self._path(entry.bookmark.id))
        except StorageError as error:
            if not self._synced_last:
                raise
            raise OutcomeUnknown(f"{error} Some of the changes may be stored.") from error

    def sync(self) -> None:
        """Sync the folders of the published files, then remove the files of deleted bookmarks.

        Raises Unavailable.
        """
        for folder, descriptor in self._synced_last.items():
            files.sync_folder(folder, descriptor)
        try:
            for path in self._to_remove:
                files.remove(path)
            if self._to_remove:
                files.sync_folder(self._folders[BOOKMARKS])
        except StorageError as error:  # `check --repair` removes the files later.
            folder = self._folders[BOOKMARKS]
            log.warning("Files of deleted bookmarks remain in %s: %s", folder, error)

    def _stage(self, staged: ExitStack, kind: int, data: bytes, id: str) -> files.Staged:
        return staged.enter_context(files.Staged(self._folders[kind], id + SUFFIX, data))

    def _stage_tombstone(self, staged: ExitStack, entry: Entry) -> files.Staged:
        files.make_folder(self._folders[TOMBSTONES])
        id = entry.bookmark.id
        return self._stage(staged, TOMBSTONES, encode(Tombstone(id, timestamp(time.time()))), id)

    def _open(self, opened: ExitStack, id: str) -> int:
        """Open the file of a bookmark, to sync it."""
        with files.translate_disk_errors(f"The file {id}{SUFFIX} cannot be synced"):
            return opened.enter_context(files.open_file(self._path(id)))

    def _read_version(self, found: Entry | None) -> bytes:
        """Return the content of a bookmark's file, which is empty for a new bookmark.

        Raises Busy if the file is not the version that was found: it must not be replaced.
        """
        if found is None:
            return b""
        with suppress(FileNotFoundError, files.BadFile):
            content, _ = files.read(self._path(found.bookmark.id))
            if digest(content) == found.version:
                return content
        raise Busy(f"Another program has just changed {found.bookmark.id}{SUFFIX}. Try again.")

    def _path(self, id: str) -> Path:
        return self._folders[BOOKMARKS] / (id + SUFFIX)
