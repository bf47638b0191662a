"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.bookmark import Bookmark, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, Item, State, TombstoneEntry
from storage.known_files import SUFFIX, File, KnownFiles, id_of
from storage.record import decode_bookmark, decode_tombstone
from storage.uri import uri_key
from storage.watch import Event, Watch

log = logging.getLogger("bookmarks")

RETRY_SECONDS = 1.0  # The pause before unreadable files are read again.
# More changes than both limits take longer than building a new index.
MIN_CHANGES_TO_REBUILD = 500
_MIN_SHARE_TO_REBUILD = 1 / 30
_READ_PROBLEM = "The data folder cannot be read"


class _Folders(NamedTuple):
    bookmarks: Path
    tombstones: Path


class _Failure(NamedTuple):
    error: StorageError
    failed_at: float  # On the monotonic clock.

    def is_retry_due(self) -> bool:
        return time.monotonic() >= self.failed_at + RETRY_SECONDS


class Follower:
    """Keep an `Index` equal to the files. Callers must hold `mutex`.

    Methods raise Unavailable if the data folder cannot be read.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = _Folders(folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        # Counts changes of items, errors and `state`. May be read without the mutex.
        self.change_count = 0
        self.watch = Watch(self.folders, one_machine)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch. The next refresh reads all files."""
        self.watch.close()
        self._must_compare_files = True
        self._forget_files()

    def _forget_files(self) -> None:
        self.index = Index({})
        self.folder_identity = self.watch.first_folder_identity
        self._latest_ctime = 0.0
        self._bookmark_files = KnownFiles(self.folders.bookmarks)
        self._tombstone_files = KnownFiles(self.folders.tombstones)
        # Files that could not be read, by id, oldest failure first. They are read again when
        # they change, and after RETRY_SECONDS.
        self._unreadable: dict[str, _Failure] = {}
        # Errors by id. Invalid files are read again when they change.
        self._invalid: dict[str, StorageError] = {}
        # The last uri of an invalid file stays reserved, because somebody may be about to
        # correct the file.
        self._reserved_uri_key_by_id: dict[str, str] = {}

    @property
    def state(self) -> State:
        return State(self.index.version, self._latest_ctime)

    @property
    def created_at(self) -> float:
        """When the folders were created, in Unix seconds."""
        with files.translate_disk_errors(_READ_PROBLEM):
            return self.folders.bookmarks.parent.stat().st_ctime

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None. Raises Gone or Unreadable."""
        if id in self._invalid:
            # Inotify does not report a correction that is made through another hard link.
            self.read_again(id)
        error = self._find_error(id)
        if error:
            raise Unreadable(id, str(error))
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

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh.

        Callers need not hold `mutex`.
        """
        if self.watch.may_have_changed():
            return False
        # Read the flag after asking for events. While `refresh` in another thread reads changes,
        # it has taken their events, but has set the flag before.
        return not (self._must_compare_files or self._is_retry_due())

    def refresh(self) -> Index:
        """Read all changed files, and return the index."""
        must_compare_files = self._must_compare_files
        # If an error ends this method after `read_events`, the events are lost. Then this flag
        # stays set, and the next refresh finds the changes by comparing all files.
        self._must_compare_files = True
        events = self.watch.read_events()
        if self.folder_identity != self.watch.first_folder_identity:
            self._forget_files()
        if must_compare_files or events is None:
            self._note_ctimes_of_folders()
            self._read_and_retry(self._compare_files())
        elif events or self._is_retry_due():
            self._note_ctimes_of_folders()
            self._expect_tombstones(events)
            self._read_and_retry(self._ids_of_events(events))
        self._must_compare_files = False
        return self.index

    def refresh_bookmark(self, id: str) -> None:
        """Read the changed files of this id, and maybe other changed files."""
        if self.watch.lacks_inotify:
            self.read_again(id)  # `refresh` would compare all files.
        else:
            self.refresh()

    def require_readable(self) -> None:
        """Raise Unavailable if every bookmark is unreadable.

        Clients would take an empty list for the deletion of all bookmarks.
        """
        if self._unreadable and not self.index.entries:
            raise Unavailable(
                "The data folder cannot be read: reading every bookmark failed."
            )

    def read_again(self, id: str) -> None:
        """Read the files of an id, even if no event names them.

        A file that has just been unreadable is only read if it has changed.
        """
        self._note_ctimes_of_folders()
        self._tombstone_files.look_for(id)
        if not self._has_just_failed(id):
            self._update_index([id])

    def _has_just_failed(self, id: str) -> bool:
        """Return whether reading failed within RETRY_SECONDS, and the file has not changed."""
        failure = self._unreadable.get(id)
        if failure is None or failure.is_retry_due():
            return False
        if id in self._tombstone_files:
            return not self._tombstone_files.has_changed(id)
        return not self._bookmark_files.has_changed(id)

    def _read_and_retry(self, ids: list[str]) -> None:
        for id, failure in self._unreadable.items():
            if not failure.is_retry_due():
                break  # The others failed later.
            ids.append(id)
        self._update_index(ids)

    def _is_retry_due(self) -> bool:
        failures = list(self._unreadable.values())  # Another thread may change the dictionary.
        return bool(failures) and failures[0].is_retry_due()

    def _note_ctimes_of_folders(self) -> None:
        """Note when the folders have changed last. Call this before reading files.

        Otherwise `state` would claim changes that were made after a file was read.
        """
        bookmarks, tombstones = self.folders
        with files.translate_disk_errors(_READ_PROBLEM):
            self._note_ctime(bookmarks.stat().st_ctime)
            if tombstones.exists():
                self._note_ctime(tombstones.stat().st_ctime)
            else:
                # Removing `tombstones` has changed the ctime of the folder above.
                self._note_ctime(tombstones.parent.stat().st_ctime)

    def _compare_files(self) -> list[str]:
        with files.translate_disk_errors(_READ_PROBLEM):
            bookmarks = self._bookmark_files.find_changed()
            tombstones = self._find_changed_tombstones()
        # A tombstone hides the file of its bookmark.
        bookmarks = [id for id in bookmarks if id not in self._tombstone_files]
        return bookmarks + tombstones

    def _find_changed_tombstones(self) -> list[str]:
        if self.folders.tombstones.exists():
            return self._tombstone_files.find_changed()
        # The folder is missing, for example because git removes empty folders.
        return list(self._tombstone_files)

    def _expect_tombstones(self, events: Sequence[Event]) -> None:
        """Note the tombstones that events name. `_read_tombstone` reads only noted ones."""
        for event in events:
            id = id_of(event.file_name)
            if id and event.folder == str(self.folders.tombstones):
                self._tombstone_files.expect(id)

    def _ids_of_events(self, events: Sequence[Event]) -> list[str]:
        ids: list[str] = []
        for event in set(events):
            if event.is_change_of_folder:
                # New permissions of the folder may have made files readable.
                ids += [*self._unreadable, *self._invalid]
                continue
            id = id_of(event.file_name)
            if id:
                ids.append(id)
        return ids

    def _update_index(self, ids: Sequence[str]) -> None:
        changed: dict[str, Item | None] = {}
        try:
            for id in dict.fromkeys(ids):
                item = self._read_item(id)
                # `_read_item` returns the same object for an unchanged file.
                if item is not self.index.items.get(id):
                    changed[id] = item
        finally:
            # After an error, keep the items that were read: they are not read again.
            if changed:
                self._change_index(changed)

    def _read_item(self, id: str) -> Item | None:
        """Read the tombstone or else the bookmark. Return None for a missing or invalid file."""
        try:
            item = self._read_tombstone(id) or self._read_bookmark(id)
        except files.ReadFailed as error:
            self._note_unreadable(id, error)
            return self._item_as_last_read(id)
        except (files.BadFile, Invalid) as error:
            self._note_invalid(id, error)
            return None
        self._forget_error(id)
        return item

    def _read_tombstone(self, id: str) -> Item | None:
        if id not in self._tombstone_files:
            return None
        return self._read_file(self._tombstone_files, id, _new_tombstone_entry)

    def _read_bookmark(self, id: str) -> Item | None:
        return self._read_file(self._bookmark_files, id, _new_bookmark_entry)

    def _read_file(
        self,
        known_files: KnownFiles,
        id: str,
        new_item: Callable[[str, File], Item],
    ) -> Item | None:
        file = known_files.read(id)
        if file is None:
            return None
        self._note_ctime(file.changed_at)
        last = self.index.items.get(id)
        if last and last.version == file.version and last.changed_at == file.changed_at:
            return last
        return new_item(id, file)

    def _item_as_last_read(self, id: str) -> Item | None:
        """Return the last item of an unreadable file, or None if the bookmark was deleted.

        An unreadable bookmark stays in lists, because clients would delete their copies of a
        missing bookmark.
        """
        last = self.index.items.get(id)
        has_tombstone = os.path.lexists(self.folders.tombstones / (id + SUFFIX))
        if isinstance(last, Entry) and has_tombstone:
            return None
        return last

    def _note_ctime(self, ctime: float) -> None:
        if ctime > self._latest_ctime:
            self._latest_ctime = ctime
            self.change_count += 1

    def _find_error(self, id: str) -> StorageError | None:
        if id in self._unreadable:
            return self._unreadable[id].error
        return self._invalid.get(id)

    def _note_unreadable(self, id: str, error: StorageError) -> None:
        self._report_new_error(id, error)
        # Move the id to the end, after older failures.
        self._unreadable.pop(id, None)
        self._unreadable[id] = _Failure(error, time.monotonic())
        self._invalid.pop(id, None)

    def _note_invalid(self, id: str, error: StorageError) -> None:
        self._report_new_error(id, error)
        self._invalid[id] = error
        self._unreadable.pop(id, None)
        last = self.index.items.get(id)
        if isinstance(last, Entry):
            self._reserved_uri_key_by_id[id] = last.uri_key

    def _report_new_error(self, id: str, error: StorageError) -> None:
        known_error = self._find_error(id)
        if known_error and str(known_error) == str(error):
            return
        self.change_count += 1
        folder = self.folders.bookmarks
        if id in self._tombstone_files:
            folder = self.folders.tombstones
        log.warning("%s/%s is skipped: %s", folder, id + SUFFIX, error)

    def _forget_error(self, id: str) -> None:
        if self._find_error(id):
            self.change_count += 1
        self._unreadable.pop(id, None)
        self._invalid.pop(id, None)
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


def _new_tombstone_entry(id: str, file: File) -> TombstoneEntry:
    tombstone = decode_tombstone(id, file.content)
    return TombstoneEntry(tombstone, file.version, file.changed_at)


def _new_bookmark_entry(id: str, file: File) -> Entry:
    bookmark = decode_bookmark(id, file.content)
    return new_entry(bookmark, file.version, file.changed_at)


def new_entry(bookmark: Bookmark, version: int, changed_at: float) -> Entry:
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:
        tags = bookmark.tags  # One tuple for both saves memory.
    return Entry(bookmark, version, uri_key(bookmark.uri), tags, changed_at)
