"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from storage import files
from storage.bookmark import Bookmark, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, Item, State, TombstoneEntry
from storage.known_files import SUFFIX, KnownFiles, id_of
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Watch

log = logging.getLogger("bookmarks")

BOOKMARKS, TOMBSTONES = 0, 1  # Positions in `Follower.folders`.
# A file whose reading failed is read again after this time.
RETRY_SECONDS = 1.0
# For more changes, and more than this part of the collection, a new index is
# faster: from 600 of 10,000 bookmarks, 4,300 of 100,000, 13,000 of 500,000.
MIN_CHANGES_TO_REBUILD = 500
_PART_TO_REBUILD = 1 / 30

_File = tuple[int, str]  # BOOKMARKS or TOMBSTONES, and the id.


class Follower:
    """Keep an `Index` equal to the files in `bookmarks/` and `tombstones/`.

    A bookmark stays while the system cannot read its file: clients would take
    its absence for a deletion. Callers hold `mutex` unless a method needs none.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        self.change_count = 0  # Of the index. Reading it needs no mutex.
        self.watch = Watch(self.folders, one_machine)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch; the next refresh reads all files."""
        self.watch.close()
        self._forget()
        self._must_rescan = True  # The next refresh compares all files.

    def _forget(self) -> None:
        self.index = Index({})
        self._changed_at = 0.0  # The latest ctime of a file or folder.
        # By id: why its file cannot be used.
        self._errors: dict[str, StorageError] = {}
        # By id: the address of a bookmark whose file has become invalid. An
        # editor may be writing it, so no other bookmark may get the address.
        self._last_uri_keys: dict[str, str] = {}
        # When to read failed files again, by the monotonic clock.
        self._retry_at = 0.0
        self._known = (KnownFiles(), KnownFiles())

    @property
    def state(self) -> State:
        """The validators of the collection as of the last refresh."""
        return State(self.index.version, self._changed_at)

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if self._has_invalid_file(id):
            self.reread(id)  # A hard link may have corrected it.
        error = self._errors.get(id)
        if error:
            raise Unreadable(id, str(error))
        item = self.index.items.get(id)
        if isinstance(item, TombstoneEntry):
            raise Gone(id, item.tombstone.deleted)
        return item

    def ids_of_uri_key(self, key: str) -> list[str]:
        """Return the ids of the bookmarks that have a uri with this key.

        The oldest comes first, those whose files are invalid last.
        """
        entries = self.index.of_uri_key(key)
        ids = [entry.bookmark.id for entry in entries]
        for id, last_key in self._last_uri_keys.items():
            if last_key == key:
                ids.append(id)
        return ids

    def _has_invalid_file(self, id: str) -> bool:
        error = self._errors.get(id)
        return error is not None and not isinstance(error, files.ReadFailed)

    # --- Refreshing ---

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh.

        Needs no mutex.
        """
        # In this order, because `refresh` sets `_must_rescan` before it takes events.
        if not self.watch.has_no_event():
            return False
        return not (self._must_rescan or self._is_retry_due())

    def compares_each_time(self) -> bool:
        """Return whether each refresh compares all files, for want of inotify."""
        return not (self._must_rescan or self.watch.is_open)

    def refresh(self) -> Index:
        """Return the up-to-date index. Raises Unavailable."""
        # Events can be read only once: after an error, rescan.
        must_rescan = self._must_rescan
        self._must_rescan = True
        folder = self.watch.first_folder_identity
        events = self.watch.read_events()
        if self.watch.first_folder_identity != folder:
            self._forget()  # Another folder has taken its place.
        if must_rescan or events is None:
            self._read(self._find_changed_files())
        elif events or self._is_retry_due():
            self._read([*self._files_of(events), *self._files_to_retry()])
        self._must_rescan = False
        return self.index

    def refresh_or_raise_if_all_reads_failed(self) -> Index:
        """Return the index. Raises Unavailable also if reading every file failed."""
        index = self.refresh()
        if not index.entries and self._failed_ids():
            raise Unavailable(
                "The data folder cannot be read: reading every bookmark failed."
            )
        return index

    def refresh_one(self, id: str) -> None:
        """Bring at least this id up to date. Raises Unavailable."""
        if self.compares_each_time():
            self.reread(id)
        else:
            self.refresh()

    def reread(self, id: str) -> None:
        """Read the files of an id, which a hard link may have changed unseen."""
        self._read([(BOOKMARKS, id), (TOMBSTONES, id)])

    # --- Which files have changed ---

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_File]:
        for kind, file_name in events:
            id = id_of(file_name)
            if id:
                yield kind, id
            elif not file_name:
                # New permissions of the folder may make its files readable.
                for id_of_error in self._errors:
                    yield kind, id_of_error

    def _find_changed_files(self) -> Iterator[_File]:
        """Yield each file that has changed since it was last read. Raises OSError."""
        bookmarks, tombstones = self.folders
        # Failed files wait for the next retry, and the file of a deleted
        # bookmark for a change of its tombstone.
        skipped = {*self._failed_ids(), *self._known[TOMBSTONES]}
        for id in self._known[BOOKMARKS].find_changed(bookmarks):
            if id not in skipped:
                yield BOOKMARKS, id
        skipped = set(self._failed_ids())
        for id in self._find_changed_tombstones(tombstones):
            if id not in skipped:
                yield TOMBSTONES, id
        yield from self._files_to_retry()

    def _find_changed_tombstones(self, folder: Path) -> list[str]:
        if not folder.exists():  # git checks out no empty folder.
            return list(self._known[TOMBSTONES])
        return self._known[TOMBSTONES].find_changed(folder)

    def _files_to_retry(self) -> list[_File]:
        """Return the failed files, once in `RETRY_SECONDS`."""
        if not self._is_retry_due():
            return []
        self._retry_at = time.monotonic() + RETRY_SECONDS
        # Reading a tombstone reads the bookmark's file, too.
        return [(TOMBSTONES, id) for id in self._failed_ids()]

    def _is_retry_due(self) -> bool:
        return bool(self._errors) and time.monotonic() >= self._retry_at

    def _failed_ids(self) -> list[str]:
        failed = []
        for id, error in self._errors.items():
            if isinstance(error, files.ReadFailed):
                failed.append(id)
        return failed

    # --- Reading the changed files ---

    def _read(self, changed: Iterable[_File]) -> None:
        """Update the index with these files. Raises Unavailable."""
        changed_before = self._changed_at
        began_ns = time.time_ns()
        ids = self._ids_to_read(changed)
        items: dict[str, Item | None] = {}
        has_other_error = False
        try:
            for id, may_be_deleted in ids.items():
                found = self._read_item(id, may_be_deleted, began_ns)
                if self._record_error(id, found):
                    has_other_error = True
                if isinstance(found, StorageError):
                    found = self._item_of_failed(id, found)
                if found is not self.index.items.get(id):
                    items[id] = found
        finally:  # What was read before an error is known from now on.
            has_other_time = self._changed_at != changed_before
            if items or has_other_error or has_other_time:
                self._change_index(items)
                self.change_count += 1

    def _ids_to_read(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Return `_ids_of` the files, and note when their folders changed.

        Raises Unavailable for an error of a folder.
        """
        try:
            # Before reading, so that a later change has a later time.
            folders_changed_at = self._folders_changed_at()
            ids = self._ids_of(changed)
        except OSError as reason:
            raise Unavailable(
                f"The data folder cannot be read: {reason.strerror}."
            ) from reason
        self._changed_at = max(self._changed_at, folders_changed_at)
        return ids

    def _change_index(self, items: Mapping[str, Item | None]) -> None:
        """Set the item of each id; None removes it."""
        part = len(self.index.items) * _PART_TO_REBUILD
        if len(items) > max(MIN_CHANGES_TO_REBUILD, part):
            self.index = Index({**self.index.items, **items})
            return
        for id, item in items.items():
            self.index.change(id, item)

    def _ids_of(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Return the ids of files in order, each with whether it may be deleted."""
        ids: dict[str, bool] = {}
        for kind, id in changed:
            may_be_deleted = (
                kind == TOMBSTONES
                or id in self._known[TOMBSTONES]
                or id in self._errors
            )
            ids[id] = may_be_deleted or ids.get(id, False)
        return ids

    def _read_item(
        self, id: str, may_be_deleted: bool, began_ns: int
    ) -> Item | StorageError | None:
        """Return what the files of an id say; the tombstone wins."""
        if may_be_deleted:
            found = self._read_file(TOMBSTONES, id, began_ns)
            if found:
                return found
        return self._read_file(BOOKMARKS, id, began_ns)

    def _read_file(
        self, kind: int, id: str, began_ns: int
    ) -> Item | StorageError | None:
        """Return what a file says, or why it cannot be used; None if missing.

        For an unchanged file, it is the item in the index.
        """
        path = f"{self.folders[kind]}/{id}{SUFFIX}"
        try:
            data, status = files.read(path)
            self._known[kind].remember(id, status, began_ns)
            self._changed_at = max(self._changed_at, status.st_ctime)
            return self._item(kind, id, data, status.st_ctime)
        except FileNotFoundError:
            self._known[kind].forget(id)
            return None
        except (files.BadFile, Invalid) as error:
            if str(error) != str(self._errors.get(id)):
                # A folder of `--hosts` has a path in /proc.
                folder = os.path.realpath(self.folders[kind])
                log.warning("%s/%s is skipped: %s", folder, id + SUFFIX, error)
            return error

    def _item(
        self, kind: int, id: str, data: bytes, changed_at: float
    ) -> Item:
        version = digest(data)
        last = self.index.items.get(id)
        if last and last.version == version and last.changed_at == changed_at:
            return last
        if kind == BOOKMARKS:
            return new_entry(decode_bookmark(id, data), data, changed_at)
        return TombstoneEntry(decode_tombstone(id, data), version, changed_at)

    def _item_of_failed(self, id: str, error: StorageError) -> Item | None:
        """Return the item that an id keeps in spite of an error."""
        last = self.index.items.get(id)
        if not isinstance(error, files.ReadFailed):
            if isinstance(last, Entry):
                self._last_uri_keys[id] = last.uri_key
            return None
        if isinstance(last, Entry) and self._is_deleted(id):
            return None
        return last

    def _is_deleted(self, id: str) -> bool:
        """Return whether a bookmark is gone; its tombstone may be unreadable."""
        bookmarks, tombstones = self.folders
        name = id + SUFFIX
        has_tombstone = os.path.lexists(tombstones / name)
        return has_tombstone or files.is_missing(bookmarks / name)

    def _record_error(self, id: str, found: Item | StorageError | None) -> bool:
        """Remember the error of an id; return whether it is another one."""
        old = self._errors.pop(id, None)
        new = None
        if isinstance(found, StorageError):
            new = found
            self._errors[id] = found
        else:
            self._last_uri_keys.pop(id, None)
        return str(new) != str(old)  # Two exceptions are never equal.

    def _folders_changed_at(self) -> float:
        """Return when files were last added, replaced or removed."""
        bookmarks, tombstones = self.folders
        # Removing that folder changes its parent.
        other = tombstones
        if not tombstones.exists():
            other = tombstones.parent
        return max(bookmarks.stat().st_ctime, other.stat().st_ctime)


def new_entry(bookmark: Bookmark, data: bytes, changed_at: float) -> Entry:
    """Return the index entry of a bookmark whose file holds `data`."""
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:
        tags = bookmark.tags  # Sharing the tuple saves 100 bytes a bookmark.
    return Entry(
        bookmark, digest(data), uri_key(bookmark.uri), tags, changed_at
    )
