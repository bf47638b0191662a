"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.bookmark import Bookmark, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, Item, State, TombstoneEntry
from storage.known_files import SUFFIX, KnownFiles, id_of
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Watch

log = logging.getLogger("bookmarks")

# The kinds of files: indexes of `_Folders` and `_Known`.
_BOOKMARK = 0
_TOMBSTONE = 1
_File = tuple[int, str]  # The kind and id of a file.

RETRY_SECONDS = 1.0  # Between two attempts to read unreadable files.
# After more changes than this number and this share of all bookmarks, building a new
# index is faster.
MIN_CHANGES_TO_REBUILD = 500
_SHARE_TO_REBUILD = 1 / 30


class _Folders(NamedTuple):
    bookmarks: Path
    tombstones: Path


class _Known(NamedTuple):
    bookmarks: KnownFiles
    tombstones: KnownFiles


class Follower:
    """Keep an `Index` equal to the files. Callers must hold `mutex`."""

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = _Folders(folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        self.change_count = 0  # May be read without the mutex.
        self.watch = Watch(self.folders, one_machine)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch. The next refresh reads all files."""
        self.watch.close()
        self._forget_files()
        self._must_rescan = True  # The next refresh has to compare all files.

    def _forget_files(self) -> None:
        self.index = Index({})
        self._changed_at = 0.0  # The latest ctime of a file or folder.
        self._known = _Known(KnownFiles(), KnownFiles())
        # By id, why its file cannot be used: it is unreadable or invalid.
        self._errors: dict[str, StorageError] = {}
        # The ids of the unreadable files. They are read again at `_retry_at`.
        self._unreadable: set[str] = set()
        self._retry_at = 0.0  # On the monotonic clock.
        # By id, the last uri of a bookmark whose file is invalid now. No other bookmark
        # may get this uri, because an editor may still be writing the file.
        self._uri_keys_of_invalid_files: dict[str, str] = {}

    @property
    def state(self) -> State:
        """The version and time of the last change that a refresh has found."""
        return State(self.index.version, self._changed_at)

    @property
    def created_at(self) -> float:
        """When the folders were created, in Unix seconds. Raises Unavailable."""
        with files.translate_disk_errors("The data folder cannot be read"):
            return self.folders.bookmarks.parent.stat().st_ctime

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if id in self._errors and id not in self._unreadable:
            # Inotify does not report a correction through a hard link.
            self.reread(id)
        if id in self._errors:
            raise Unreadable(id, str(self._errors[id]))
        item = self.index.items.get(id)
        if isinstance(item, TombstoneEntry):
            raise Gone(id, item.tombstone.deleted)
        return item

    def ids_of_uri_key(self, key: str) -> list[str]:
        """Return the ids of the bookmarks that have a uri with this key, oldest first.

        Bookmarks with invalid files come last, with their former uri.
        """
        entries = self.index.of_uri_key(key)
        ids = [entry.bookmark.id for entry in entries]
        former_keys = self._uri_keys_of_invalid_files
        return ids + [id for id in former_keys if former_keys[id] == key]

    # --- Refreshing ---

    def is_up_to_date(self) -> bool:
        """Return whether nothing has changed since the last refresh. Needs no mutex."""
        # Test this first: another thread sets `_must_rescan` before it takes the events.
        if self.watch.may_have_changed():
            return False
        return not (self._must_rescan or self._is_retry_due())

    def lacks_inotify(self) -> bool:
        """Return whether each refresh compares all files."""
        if self._must_rescan:  # Only the next refresh tries to use inotify.
            return False
        return not self.watch.is_open

    def refresh(self) -> Index:
        """Return the up-to-date index. Raises Unavailable."""
        must_rescan = self._must_rescan
        # Events come only once: after an error, the next refresh must compare all files.
        self._must_rescan = True
        identity_before = self.watch.first_folder_identity
        events = self.watch.read_events()
        is_folder_replaced = self.watch.first_folder_identity != identity_before
        if is_folder_replaced:
            self._forget_files()
        if must_rescan or events is None:
            self._read(self._find_changed_files())
        elif events or self._is_retry_due():
            self._read([*self._files_of(events), *self._files_to_retry()])
        self._must_rescan = False
        return self.index

    def refresh_readable(self) -> Index:
        """Return the up-to-date index. Raises Unavailable, also if no file can be read."""
        index = self.refresh()
        if self._unreadable and not index.entries:
            raise Unavailable(
                "The data folder cannot be read: reading every bookmark failed."
            )
        return index

    def refresh_one(self, id: str) -> None:
        """Bring this id up to date. Raises Unavailable.

        Without inotify, only the files of this id are read, because a refresh is slow.
        """
        if self.lacks_inotify():
            self.reread(id)
        else:
            self.refresh()

    def reread(self, id: str) -> None:
        """Read the files of an id again."""
        self._read([(_BOOKMARK, id), (_TOMBSTONE, id)])

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_File]:
        for kind, file_name in events:
            id = id_of(file_name)
            if id:
                yield kind, id
            elif not file_name:
                # The event is about the folder itself. Its new permissions may make
                # files readable.
                for id_of_error in self._errors:
                    yield kind, id_of_error

    def _find_changed_files(self) -> Iterator[_File]:
        for id in self._known.bookmarks.find_changed(self.folders.bookmarks):
            # The file of a deleted bookmark is not read.
            if id not in self._known.tombstones and id not in self._unreadable:
                yield _BOOKMARK, id
        for id in self._find_changed_tombstones():
            if id not in self._unreadable:
                yield _TOMBSTONE, id
        yield from self._files_to_retry()

    def _find_changed_tombstones(self) -> Iterable[str]:
        if self.folders.tombstones.exists():
            return self._known.tombstones.find_changed(self.folders.tombstones)
        return list(self._known.tombstones)  # git removes a folder that becomes empty.

    def _files_to_retry(self) -> list[_File]:
        """Return the unreadable files, at most once in RETRY_SECONDS."""
        if not self._is_retry_due():
            return []
        self._retry_at = time.monotonic() + RETRY_SECONDS
        # `_read` also reads the tombstone of an id with an error.
        return [(_BOOKMARK, id) for id in self._unreadable]

    def _is_retry_due(self) -> bool:
        return bool(self._unreadable) and time.monotonic() >= self._retry_at

    # --- Reading files ---

    def _read(self, changed: Iterable[_File]) -> None:
        """Read these files and update the index. Raises Unavailable."""
        errors_before = self._errors.copy()
        changed_at_before = self._changed_at
        with files.translate_disk_errors("The data folder cannot be read"):
            # Read these times before `changed` lists the files, so that later changes
            # have later times.
            folders_changed_at = self._folders_changed_at()
            ids = self._ids_to_read(changed)
        self._changed_at = max(self._changed_at, folders_changed_at)
        changed_items: dict[str, Item | None] = {}
        try:
            for id, may_have_tombstone in ids.items():
                item = self._read_item(id, may_have_tombstone)
                if item is not self.index.items.get(id):
                    changed_items[id] = item
        finally:  # An error must not lose the files that were read before it.
            has_other_time = self._changed_at != changed_at_before
            has_other_errors = self._errors != errors_before
            if changed_items or has_other_time or has_other_errors:
                self._change_index(changed_items)
                self.change_count += 1

    def _ids_to_read(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Map the id of each file to whether a tombstone may have this id, too."""
        result: dict[str, bool] = {}
        for kind, id in changed:
            has_error = id in self._errors  # It may be the error of a tombstone.
            if kind == _TOMBSTONE or id in self._known.tombstones or has_error:
                result[id] = True
            else:
                result.setdefault(id, False)
        return result

    def _read_item(self, id: str, may_have_tombstone: bool) -> Item | None:
        """Return the tombstone of an id, else its bookmark, for the index."""
        item = None
        try:
            if may_have_tombstone:
                item = self._read_file(_TOMBSTONE, id)
            if item is None:
                item = self._read_file(_BOOKMARK, id)
        except files.ReadFailed:
            self._unreadable.add(id)
            return self._item_of_unreadable_file(id)
        except (files.BadFile, Invalid):
            self._unreadable.discard(id)
            self._reserve_uri_of_invalid_file(id)
            return None
        self._errors.pop(id, None)
        self._unreadable.discard(id)
        self._uri_keys_of_invalid_files.pop(id, None)
        return item

    def _item_of_unreadable_file(self, id: str) -> Item | None:
        # Clients would take a missing item for deleted, so keep the last one.
        last = self.index.items.get(id)
        if isinstance(last, Entry) and self._is_deleted(id):
            return None
        return last

    def _is_deleted(self, id: str) -> bool:
        """Return whether a bookmark has a tombstone, valid or not, or has no file."""
        name = id + SUFFIX
        if os.path.lexists(self.folders.tombstones / name):
            return True
        return files.is_missing(self.folders.bookmarks / name)

    def _reserve_uri_of_invalid_file(self, id: str) -> None:
        last = self.index.items.get(id)
        if isinstance(last, Entry):
            self._uri_keys_of_invalid_files[id] = last.uri_key

    def _change_index(self, changed: dict[str, Item | None]) -> None:
        min_changes = len(self.index.items) * _SHARE_TO_REBUILD
        if len(changed) > max(MIN_CHANGES_TO_REBUILD, min_changes):
            merged = {**self.index.items, **changed}
            self.index = Index({id: item for id, item in merged.items() if item})
            return
        for id, item in changed.items():
            self.index.change(id, item)

    def _read_file(self, kind: int, id: str) -> Item | None:
        began_ns = time.time_ns()
        path = f"{self.folders[kind]}/{id}{SUFFIX}"
        try:
            data, status = files.read(path)
            self._known[kind].remember(id, status, began_ns)
            self._changed_at = max(self._changed_at, status.st_ctime)
            return self._decode(kind, id, data, status.st_ctime)
        except FileNotFoundError:
            self._known[kind].forget(id)
            return None
        except (files.BadFile, Invalid) as error:
            is_new = str(error) != str(self._errors.get(id))
            if is_new:
                self._errors[id] = error
                # With `--hosts`, the path begins with a link in /proc.
                folder = os.path.realpath(self.folders[kind])
                log.warning("%s/%s is skipped: %s", folder, id + SUFFIX, error)
            raise

    def _decode(self, kind: int, id: str, data: bytes, changed_at: float) -> Item:
        version = digest(data)
        last = self.index.items.get(id)
        if last and last.version == version and last.changed_at == changed_at:
            return last
        if kind == _BOOKMARK:
            return new_entry(decode_bookmark(id, data), version, changed_at)
        return TombstoneEntry(decode_tombstone(id, data), version, changed_at)

    def _folders_changed_at(self) -> float:
        bookmarks, tombstones = self.folders
        changed = tombstones
        if not tombstones.exists():  # The removal has changed the parent.
            changed = tombstones.parent
        return max(bookmarks.stat().st_ctime, changed.stat().st_ctime)


def new_entry(bookmark: Bookmark, version: int, changed_at: float) -> Entry:
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:
        tags = bookmark.tags  # One tuple for both saves memory.
    return Entry(bookmark, version, uri_key(bookmark.uri), tags, changed_at)
