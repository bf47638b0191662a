"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.bookmark import Bookmark, Tombstone, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, Item, State, TombstoneEntry
from storage.known_files import SUFFIX, KnownFiles, id_of
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Event, Watch

log = logging.getLogger("bookmarks")

RETRY_SECONDS = 1.0  # Between two attempts to read unreadable files.
# For more changes than both limits, building a new index is faster.
MIN_CHANGES_TO_REBUILD = 500
_MIN_SHARE_TO_REBUILD = 1 / 30
_READ_PROBLEM = "The data folder cannot be read"


class _Folders(NamedTuple):
    bookmarks: Path
    tombstones: Path


class _ChangedIds(NamedTuple):
    bookmarks: list[str]
    tombstones: list[str]

    def unique(self) -> Iterable[str]:
        """Return each id once, in the order of the lists, which disks read fast."""
        return dict.fromkeys([*self.bookmarks, *self.tombstones])


class Follower:
    """Keep an `Index` equal to the files. Callers must hold `mutex`."""

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = _Folders(folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        # Grows when an item, an error or `state` changes. May be read without the mutex.
        self.change_count = 0
        self.watch = Watch(self.folders, one_machine)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch. The next refresh reads all files."""
        self.watch.close()
        self._has_lost_events = False  # Then all files must be compared.
        self._forget_files()

    def _forget_files(self) -> None:
        self.index = Index({})
        # Of the folder that the index was read from.
        self.folder_identity = self.watch.first_folder_identity
        self._latest_ctime = 0.0
        self._bookmark_files = KnownFiles(self.folders.bookmarks)
        self._tombstone_files = KnownFiles(self.folders.tombstones)
        # Why files cannot be used. Unreadable files are read again, the others are invalid.
        self._error_by_id: dict[str, StorageError] = {}
        self._unreadable_ids: set[str] = set()
        self._retry_at = 0.0  # On the monotonic clock.
        # An editor may still be writing an invalid file, so its last uri is reserved.
        self._reserved_uri_key_by_id: dict[str, str] = {}

    @property
    def state(self) -> State:
        return State(self.index.version, self._latest_ctime)

    @property
    def created_at(self) -> float:
        """When the folders were created, in Unix seconds. Raises Unavailable."""
        with files.translate_disk_errors(_READ_PROBLEM):
            return self.folders.bookmarks.parent.stat().st_ctime

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None. Raises Gone or Unreadable."""
        is_invalid = id in self._error_by_id and id not in self._unreadable_ids
        if is_invalid:
            # Inotify does not report that an invalid file is corrected through a hard link.
            self.refresh_one(id)
        if id in self._error_by_id:
            raise Unreadable(id, str(self._error_by_id[id]))
        item = self.index.items.get(id)
        if isinstance(item, TombstoneEntry):
            raise Gone(id, item.tombstone.deleted)
        return item

    def ids_of_uri_key(self, key: str) -> list[str]:
        """Return the ids of the bookmarks with this uri, those with invalid files last."""
        ids = [entry.bookmark.id for entry in self.index.of_uri_key(key)]
        for id, reserved_key in self._reserved_uri_key_by_id.items():
            if reserved_key == key:
                ids.append(id)
        return ids

    def refresh(self) -> Index:
        """Read all changed files, and return the index. Raises Unavailable."""
        try:
            events = self.watch.read_events()
            if events != [] or self._has_lost_events or self._is_retry_due():
                self._read_changed_files(events)
        except BaseException:
            self._has_lost_events = True
            raise
        return self.index

    def require_readable(self) -> None:
        """Raise Unavailable if every bookmark is unreadable.

        An empty list would look as if all were deleted.
        """
        if self._unreadable_ids and not self.index.entries:
            raise Unavailable(
                "The data folder cannot be read: reading every bookmark failed."
            )

    def refresh_one(self, id: str) -> None:
        """Read the files of one id, even if no change is known. Raises Unavailable."""
        self._note_ctimes_of_folders()
        self._read(_ChangedIds(bookmarks=[id], tombstones=[id]))

    def _read_changed_files(self, events: Sequence[Event] | None) -> None:
        if self.folder_identity != self.watch.first_folder_identity:
            self._forget_files()
        self._note_ctimes_of_folders()
        if events is None or self._has_lost_events:
            changed = self._compare_files()
        else:
            changed = self._ids_of_events(events)
        self._read_and_retry(changed)
        self._has_lost_events = False

    def _read_and_retry(self, changed: _ChangedIds) -> None:
        if self._is_retry_due():
            self._retry_at = time.monotonic() + RETRY_SECONDS
            changed.bookmarks.extend(self._unreadable_ids)
        self._read(changed)

    def _is_retry_due(self) -> bool:
        return bool(self._unreadable_ids) and time.monotonic() >= self._retry_at

    def _ids_of_events(self, events: Sequence[Event]) -> _ChangedIds:
        changed = _ChangedIds([], [])
        for folder, file_name in set(events):  # Writing in small steps causes equal events.
            ids = self._ids_of_event(file_name)
            if folder == str(self.folders.tombstones):
                changed.tombstones.extend(ids)
            else:
                changed.bookmarks.extend(ids)
        return changed

    def _ids_of_event(self, file_name: str) -> list[str]:
        if not file_name:
            # The folder itself has changed. New permissions may have made files readable.
            return list(self._error_by_id)
        id = id_of(file_name)
        if id is None:
            return []
        return [id]

    def _compare_files(self) -> _ChangedIds:
        with files.translate_disk_errors(_READ_PROBLEM):
            bookmarks = self._bookmark_files.find_changed()
            tombstones = self._find_changed_tombstones()
        # The files of deleted bookmarks are not read.
        bookmarks = [id for id in bookmarks if id not in self._tombstone_files]
        # Unreadable files are only read when a retry is due.
        return _ChangedIds(
            [id for id in bookmarks if id not in self._unreadable_ids],
            [id for id in tombstones if id not in self._unreadable_ids],
        )

    def _find_changed_tombstones(self) -> list[str]:
        if self.folders.tombstones.exists():
            return self._tombstone_files.find_changed()
        return list(self._tombstone_files)  # All are gone: git removes empty folders.

    def _note_ctimes_of_folders(self) -> None:
        """Call this before reading files: a file that changes meanwhile has a later time."""
        bookmarks, tombstones = self.folders
        with files.translate_disk_errors(_READ_PROBLEM):
            if tombstones.exists():
                other = tombstones
            else:
                other = tombstones.parent  # Its ctime shows when `tombstones` was removed.
            ctime = max(bookmarks.stat().st_ctime, other.stat().st_ctime)
        self._note_ctime(ctime)

    def _read(self, changed: _ChangedIds) -> None:
        items: dict[str, Item | None] = {}
        try:
            for id, item in self._read_changed_items(changed):
                items[id] = item
        finally:  # An error must not lose the files that were read before it.
            if items:
                self._change_index(items)

    def _read_changed_items(
        self, changed: _ChangedIds
    ) -> Iterator[tuple[str, Item | None]]:
        changed_tombstones = set(changed.tombstones)
        for id in changed.unique():
            item = self._read_item(id, has_changed_tombstone=id in changed_tombstones)
            # For an unchanged file, `_read_item` returns the same object.
            if item is not self.index.items.get(id):
                yield id, item

    def _read_item(self, id: str, has_changed_tombstone: bool) -> Item | None:
        try:
            item = self._read_tombstone_or_bookmark(id, has_changed_tombstone)
        except files.ReadFailed:
            return self._last_item_of_unreadable_file(id)
        except (files.BadFile, Invalid):
            self._reserve_last_uri(id)
            return None
        self._forget_error(id)
        return item

    def _read_tombstone_or_bookmark(
        self, id: str, has_changed_tombstone: bool
    ) -> Item | None:
        if has_changed_tombstone or self._may_have_tombstone(id):
            tombstone = self._read_file(self._tombstone_files, id, decode_tombstone)
            if tombstone:
                return tombstone
        return self._read_file(self._bookmark_files, id, decode_bookmark)

    def _may_have_tombstone(self, id: str) -> bool:
        # The error of an id may be the error of its tombstone.
        return id in self._tombstone_files or id in self._error_by_id

    def _last_item_of_unreadable_file(self, id: str) -> Item | None:
        last = self.index.items.get(id)
        if isinstance(last, Entry) and self._is_deleted(id):
            return None
        return last  # Clients would take a missing bookmark for deleted.

    def _is_deleted(self, id: str) -> bool:
        name = id + SUFFIX
        if os.path.lexists(self.folders.tombstones / name):
            return True
        return files.is_missing(self.folders.bookmarks / name)

    def _reserve_last_uri(self, id: str) -> None:
        last = self.index.items.get(id)
        if isinstance(last, Entry):
            self._reserved_uri_key_by_id[id] = last.uri_key

    def _read_file(
        self,
        known_files: KnownFiles,
        id: str,
        decode: Callable[[str, bytes], Bookmark | Tombstone],
    ) -> Item | None:
        began_ns = time.time_ns()
        try:
            data, status = files.read(f"{known_files.folder}/{id}{SUFFIX}")
            known_files.remember(id, status, began_ns)
            self._note_ctime(status.st_ctime)
            version = digest(data)
            last = self.index.items.get(id)
            if last and last.version == version and last.changed_at == status.st_ctime:
                return last
            return _new_item(decode(id, data), version, status.st_ctime)
        except FileNotFoundError:
            known_files.forget(id)
            return None
        except (files.BadFile, Invalid) as error:
            self._note_error(known_files.folder, id, error)
            raise

    def _note_ctime(self, ctime: float) -> None:
        if ctime > self._latest_ctime:
            self._latest_ctime = ctime
            self.change_count += 1

    def _note_error(self, folder: Path, id: str, error: StorageError) -> None:
        if isinstance(error, files.ReadFailed):
            self._unreadable_ids.add(id)
        else:
            self._unreadable_ids.discard(id)
        if id in self._error_by_id and str(self._error_by_id[id]) == str(error):
            return
        self._error_by_id[id] = error
        self.change_count += 1
        # Log a path that users know: `folder` may be /proc/self/fd/N/bookmarks.
        real_folder = os.path.realpath(folder)
        log.warning("%s/%s is skipped: %s", real_folder, id + SUFFIX, error)

    def _forget_error(self, id: str) -> None:
        if id in self._error_by_id:
            del self._error_by_id[id]
            self._unreadable_ids.discard(id)
            self.change_count += 1
        self._reserved_uri_key_by_id.pop(id, None)

    def _change_index(self, changed: dict[str, Item | None]) -> None:
        self.change_count += 1
        max_changes = max(
            MIN_CHANGES_TO_REBUILD, len(self.index.items) * _MIN_SHARE_TO_REBUILD
        )
        if len(changed) > max_changes:
            merged = {**self.index.items, **changed}
            self.index = Index({id: item for id, item in merged.items() if item})
            return
        for id, item in changed.items():
            self.index.change(id, item)


def _new_item(record: Bookmark | Tombstone, version: int, changed_at: float) -> Item:
    if isinstance(record, Tombstone):
        return TombstoneEntry(record, version, changed_at)
    return new_entry(record, version, changed_at)


def new_entry(bookmark: Bookmark, version: int, changed_at: float) -> Entry:
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:
        tags = bookmark.tags  # One tuple for both saves memory.
    return Entry(bookmark, version, uri_key(bookmark.uri), tags, changed_at)
