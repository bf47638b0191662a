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

# The kinds of files, and their positions in `Follower.folders`.
BOOKMARKS = 0
TOMBSTONES = 1
_File = tuple[int, str]  # The kind and the id of a file.

# A file that could not be read is read again after this time.
RETRY_SECONDS = 1.0
# For more changes than both this number and this share of the collection, a new
# index is built. For 100,000 bookmarks this is faster from 4,300 changes on.
MIN_CHANGES_TO_REBUILD = 500
_SHARE_TO_REBUILD = 1 / 30


class Follower:
    """Keep an `Index` equal to the files of bookmarks and tombstones.

    A tombstone records that a bookmark was deleted. Callers must hold `mutex`,
    unless a method needs no mutex.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        # The number of changes of the index. Reading it needs no mutex.
        self.change_count = 0
        self.watch = Watch(self.folders, one_machine)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch; the next refresh reads all files."""
        self.watch.close()
        self._forget()
        # Whether the next refresh has to compare all files. It stays True if a
        # refresh fails.
        self._must_rescan = True

    def _forget(self) -> None:
        self.index = Index({})
        self._changed_at = 0.0  # The latest ctime of a file or folder.
        # By id, why a file cannot be used: files.ReadFailed if it is unreadable,
        # another error if it is invalid.
        self._errors: dict[str, StorageError] = {}
        # By id, the last uri of a bookmark whose file has become invalid. No other
        # bookmark may get this uri, because an editor may be writing the file.
        self._uri_keys_of_invalid_files: dict[str, str] = {}
        # When to read unreadable files again, on the monotonic clock.
        self._retry_at = 0.0
        self._known = (KnownFiles(), KnownFiles())

    @property
    def state(self) -> State:
        """The validators of the collection as of the last refresh."""
        return State(self.index.version, self._changed_at)

    @property
    def created_at(self) -> float:
        """When the folders were created, in Unix seconds. Raises Unavailable."""
        bookmarks, _ = self.folders
        with files.translate_disk_errors("The data folder cannot be read"):
            return bookmarks.parent.stat().st_ctime

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        error = self._errors.get(id)
        if error and not isinstance(error, files.ReadFailed):
            # The invalid file may have been corrected through a hard link, which
            # inotify does not report.
            self.reread(id)
        if id in self._errors:
            raise Unreadable(id, str(self._errors[id]))
        item = self.index.items.get(id)
        if isinstance(item, TombstoneEntry):
            raise Gone(id, item.tombstone.deleted)
        return item

    def ids_of_uri_key(self, key: str) -> list[str]:
        """Return the ids of the bookmarks that have a uri with this key.

        The oldest comes first. Those whose files have become invalid come last.
        """
        entries = self.index.of_uri_key(key)
        ids = [entry.bookmark.id for entry in entries]
        for id, last_key in self._uri_keys_of_invalid_files.items():
            if last_key == key:
                ids.append(id)
        return ids

    # --- Refreshing ---

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh.

        Needs no mutex.
        """
        # Look for events first. In the other order, `refresh` in another thread
        # could set `_must_rescan` and take the events between the two tests.
        if not self.watch.has_no_event():
            return False
        return not (self._must_rescan or self._is_retry_due())

    def compares_each_time(self) -> bool:
        """Return whether each refresh compares all files, because inotify is missing."""
        if self._must_rescan:  # Only the next refresh tries to use inotify.
            return False
        return not self.watch.is_open

    def refresh(self) -> Index:
        """Return the up-to-date index. Raises Unavailable."""
        is_rescan = self._must_rescan
        # Inotify reports each change only once. If an error ends this refresh, the
        # next one finds the changes by comparing all files.
        self._must_rescan = True
        folder_before = self.watch.first_folder_identity
        events = self.watch.read_events()
        if self.watch.first_folder_identity != folder_before:
            self._forget()  # Another folder is at the path now.
        if is_rescan or events is None:
            self._read(self._find_changed_files())
        elif events or self._is_retry_due():
            self._read([*self._files_of(events), *self._take_files_to_retry()])
        self._must_rescan = False
        return self.index

    def refresh_or_raise_if_all_reads_failed(self) -> Index:
        """Return the up-to-date index. Raises Unavailable, also if no file can be read."""
        index = self.refresh()
        if not index.entries and self._unreadable_ids():
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
        """Read the files of an id, even if inotify has not reported any change."""
        self._read([(BOOKMARKS, id), (TOMBSTONES, id)])

    # --- Which files have changed ---

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_File]:
        for kind, file_name in events:
            id = id_of(file_name)
            if id:
                yield kind, id
            elif not file_name:
                # The folder itself has changed. If it has new permissions,
                # unreadable files may be readable now.
                for id_of_error in self._errors:
                    yield kind, id_of_error

    def _find_changed_files(self) -> Iterator[_File]:
        """Yield each file that has changed since it was last read. Raises OSError."""
        bookmarks, tombstones = self.folders
        known_bookmarks, known_tombstones = self._known
        unreadable = set(self._unreadable_ids())  # Only read again at the next retry.
        for id in known_bookmarks.find_changed(bookmarks):
            # A bookmark with a known tombstone is deleted, so its file is not read.
            # If the tombstone is removed, the loop below finds the id.
            if id not in unreadable and id not in known_tombstones:
                yield BOOKMARKS, id
        if tombstones.exists():
            changed_tombstones = known_tombstones.find_changed(tombstones)
        else:  # git removes a folder that becomes empty.
            changed_tombstones = list(known_tombstones)
        for id in changed_tombstones:
            if id not in unreadable:
                yield TOMBSTONES, id
        yield from self._take_files_to_retry()

    def _take_files_to_retry(self) -> list[_File]:
        """Return the unreadable files, at most once in RETRY_SECONDS.

        A tombstone may be the unreadable file. It is read, too, because `_read` tries
        both files of an id that has an error.
        """
        if not self._is_retry_due():
            return []
        self._retry_at = time.monotonic() + RETRY_SECONDS
        return [(BOOKMARKS, id) for id in self._unreadable_ids()]

    def _is_retry_due(self) -> bool:
        return bool(self._errors) and time.monotonic() >= self._retry_at

    def _unreadable_ids(self) -> list[str]:
        return [
            id
            for id, error in self._errors.items()
            if isinstance(error, files.ReadFailed)
        ]

    # --- Reading the changed files ---

    def _read(self, changed: Iterable[_File]) -> None:
        """Read these files and update the index. Raises Unavailable."""
        errors_before = self._errors.copy()
        changed_at_before = self._changed_at
        began_ns = time.time_ns()
        with files.translate_disk_errors("The data folder cannot be read"):
            # Read this time before the files, so that later changes have later times.
            folders_changed_at = self._folders_changed_at()
            ids = self._ids_of(changed)
        self._changed_at = max(self._changed_at, folders_changed_at)
        changed_items: dict[str, Item | None] = {}
        try:
            for id, may_have_tombstone in ids.items():
                found = self._read_files(id, may_have_tombstone, began_ns)
                item = self._item_after_reading(id, found)
                if item is not self.index.items.get(id):
                    changed_items[id] = item
        finally:  # An error must not lose the files that were read before it.
            has_other_time = self._changed_at != changed_at_before
            has_other_errors = self._errors != errors_before
            if changed_items or has_other_time or has_other_errors:
                self._change_index(changed_items)
                self.change_count += 1

    def _ids_of(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Map the id of each file to whether a tombstone may have this id, too."""
        ids: dict[str, bool] = {}
        for kind, id in changed:
            if kind == TOMBSTONES or id in self._known[TOMBSTONES]:
                ids[id] = True
            elif id in self._errors:  # The error may be that of a tombstone.
                ids[id] = True
            else:
                ids.setdefault(id, False)
        return ids

    def _item_after_reading(
        self, id: str, found: Item | StorageError | None
    ) -> Item | None:
        """Update the error of an id, and return its item for the index.

        A missing or invalid file has none. An unreadable file keeps its last item,
        unless its bookmark was deleted: clients would take a missing item for a
        deletion.
        """
        if not isinstance(found, StorageError):
            self._errors.pop(id, None)
            self._uri_keys_of_invalid_files.pop(id, None)
            return found
        self._errors[id] = found
        last = self.index.items.get(id)
        if isinstance(found, files.ReadFailed):
            if isinstance(last, Entry) and self._is_deleted(id):
                return None
            return last
        if isinstance(last, Entry):
            self._uri_keys_of_invalid_files[id] = last.uri_key
        return None

    def _is_deleted(self, id: str) -> bool:
        """Return whether a bookmark has any tombstone, or no file."""
        bookmarks, tombstones = self.folders
        name = id + SUFFIX
        return os.path.lexists(tombstones / name) or files.is_missing(bookmarks / name)

    def _change_index(self, items: Mapping[str, Item | None]) -> None:
        """Set the item of each id; None removes it."""
        share = len(self.index.items) * _SHARE_TO_REBUILD
        if len(items) > max(MIN_CHANGES_TO_REBUILD, share):
            self.index = Index({**self.index.items, **items})
            return
        for id, item in items.items():
            self.index.change(id, item)

    def _read_files(
        self, id: str, may_have_tombstone: bool, began_ns: int
    ) -> Item | StorageError | None:
        """Read the tombstone of an id, or its bookmark if it has no tombstone."""
        if may_have_tombstone:
            found = self._read_file(TOMBSTONES, id, began_ns)
            if found:
                return found
        return self._read_file(BOOKMARKS, id, began_ns)

    def _read_file(
        self, kind: int, id: str, began_ns: int
    ) -> Item | StorageError | None:
        """Return a file's item, None if it is missing, or why it cannot be used.

        If nothing has changed, the item or the error is the same object as before.
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
            if str(error) == str(self._errors.get(id)):
                return self._errors[id]
            # With `--hosts` the path is a link in /proc.
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
            return new_entry(decode_bookmark(id, data), version, changed_at)
        return TombstoneEntry(decode_tombstone(id, data), version, changed_at)

    def _folders_changed_at(self) -> float:
        """Return when files were last added, replaced or removed."""
        bookmarks, tombstones = self.folders
        times = [bookmarks.stat().st_ctime]
        if tombstones.exists():
            times.append(tombstones.stat().st_ctime)
        else:
            # The removal of the folder of tombstones has changed its parent.
            times.append(tombstones.parent.stat().st_ctime)
        return max(times)


def new_entry(bookmark: Bookmark, version: int, changed_at: float) -> Entry:
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:
        # The entry and the bookmark share one tuple, which saves 100 bytes.
        tags = bookmark.tags
    return Entry(bookmark, version, uri_key(bookmark.uri), tags, changed_at)
