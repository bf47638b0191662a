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

# The kinds of files: indexes of `Follower.folders`.
BOOKMARKS = 0
TOMBSTONES = 1
_File = tuple[int, str]  # The kind and id of a file.

RETRY_SECONDS = 1.0  # Between two attempts to read unreadable files.
# After more changes than this number and this share of all bookmarks, building a new
# index is faster.
MIN_CHANGES_TO_REBUILD = 500
_SHARE_TO_REBUILD = 1 / 30


class Follower:
    """Keep an `Index` equal to the files of bookmarks and tombstones.

    Callers must hold `mutex`, if a method does not say otherwise.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.mutex = threading.RLock()
        self.change_count = 0  # Reading it needs no mutex.
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
        # By id: ReadFailed for an unreadable file, another error for an invalid file.
        self._errors: dict[str, StorageError] = {}
        # By id: the former uri, which no other bookmark may get, because an editor may
        # be writing the file.
        self._uri_keys_of_invalid_files: dict[str, str] = {}
        self._retry_at = 0.0  # For unreadable files, on the monotonic clock.
        self._known = (KnownFiles(), KnownFiles())  # Of bookmarks and tombstones.

    @property
    def state(self) -> State:
        """The version and time of the last change that a refresh has found."""
        return State(self.index.version, self._changed_at)

    @property
    def created_at(self) -> float:
        """When the folders were created, in Unix seconds. Raises Unavailable."""
        bookmarks, _ = self.folders
        with files.translate_disk_errors("The data folder cannot be read"):
            return bookmarks.parent.stat().st_ctime

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if id in self._errors and not self._is_unreadable(id):
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
        """Return whether no file has changed since the last refresh. Needs no mutex."""
        # Test this first: another thread sets `_must_rescan` before it takes the events.
        if self.watch.may_have_changed():
            return False
        return not (self._must_rescan or self._is_retry_due())

    def lacks_inotify(self) -> bool:
        """Return whether inotify is missing, so that each refresh compares all files."""
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
            self._read([*self._files_of(events), *self._begin_retry()])
        self._must_rescan = False
        return self.index

    def refresh_readable(self) -> Index:
        """Return the up-to-date index. Raises Unavailable, also if no file can be read."""
        index = self.refresh()
        if not index.entries and self._unreadable_ids():
            raise Unavailable(
                "The data folder cannot be read: reading every bookmark failed."
            )
        return index

    def refresh_one(self, id: str) -> None:
        """Bring at least this id up to date. Raises Unavailable."""
        if self.lacks_inotify():
            self.reread(id)
        else:
            self.refresh()

    def reread(self, id: str) -> None:
        """Read the files of an id again."""
        self._read([(BOOKMARKS, id), (TOMBSTONES, id)])

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_File]:
        for kind, file_name in events:
            id = id_of(file_name)
            if id:
                yield kind, id
            elif not file_name:
                # New permissions of the folder may make files readable.
                for unreadable_id in self._errors:
                    yield kind, unreadable_id

    def _find_changed_files(self) -> Iterator[_File]:
        for id in self._known[BOOKMARKS].find_changed(self.folders[BOOKMARKS]):
            # The file of a deleted bookmark is not read.
            is_deleted = id in self._known[TOMBSTONES]
            if not is_deleted and not self._is_unreadable(id):
                yield BOOKMARKS, id
        for id in self._find_changed_tombstones():
            if not self._is_unreadable(id):
                yield TOMBSTONES, id
        yield from self._begin_retry()

    def _find_changed_tombstones(self) -> Iterable[str]:
        folder = self.folders[TOMBSTONES]
        if folder.exists():
            return self._known[TOMBSTONES].find_changed(folder)
        return list(self._known[TOMBSTONES])  # git removes a folder that becomes empty.

    def _begin_retry(self) -> list[_File]:
        """Return the unreadable files, or none if the last retry was just now."""
        if not self._is_retry_due():
            return []
        self._retry_at = time.monotonic() + RETRY_SECONDS
        # `_read` also reads the tombstone of an id with an error.
        return [(BOOKMARKS, id) for id in self._unreadable_ids()]

    def _is_retry_due(self) -> bool:
        return bool(self._errors) and time.monotonic() >= self._retry_at

    def _unreadable_ids(self) -> list[str]:
        return [id for id in self._errors if self._is_unreadable(id)]

    def _is_unreadable(self, id: str) -> bool:
        return isinstance(self._errors.get(id), files.ReadFailed)

    # --- Reading files ---

    def _read(self, changed: Iterable[_File]) -> None:
        """Read these files and update the index. Raises Unavailable."""
        errors_before = self._errors.copy()
        changed_at_before = self._changed_at
        began_ns = time.time_ns()
        with files.translate_disk_errors("The data folder cannot be read"):
            # Read these times before `changed` lists the files, so that later changes
            # have later times.
            folders_changed_at = self._folders_changed_at()
            may_have_tombstone = self._may_have_tombstone(changed)
        self._changed_at = max(self._changed_at, folders_changed_at)
        changed_items: dict[str, Item | None] = {}
        try:
            for id in may_have_tombstone:
                item = self._read_item(id, may_have_tombstone[id], began_ns)
                if item is not self.index.items.get(id):
                    changed_items[id] = item
        finally:  # An error must not lose the files that were read before it.
            has_other_time = self._changed_at != changed_at_before
            has_other_errors = self._errors != errors_before
            if changed_items or has_other_time or has_other_errors:
                self._change_index(changed_items)
                self.change_count += 1

    def _may_have_tombstone(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Map the id of each file to whether a tombstone may have this id, too."""
        result: dict[str, bool] = {}
        for kind, id in changed:
            has_error = id in self._errors  # It may be the error of a tombstone.
            if kind == TOMBSTONES or id in self._known[TOMBSTONES] or has_error:
                result[id] = True
            else:
                result.setdefault(id, False)
        return result

    def _read_item(
        self, id: str, may_have_tombstone: bool, began_ns: int
    ) -> Item | None:
        """Return the tombstone of an id, else its bookmark, for the index."""
        item = None
        try:
            if may_have_tombstone:
                item = self._read_file(TOMBSTONES, id, began_ns)
            if item is None:
                item = self._read_file(BOOKMARKS, id, began_ns)
        except files.ReadFailed:
            return self._item_of_unreadable_file(id)
        except (files.BadFile, Invalid):
            self._reserve_uri_of_invalid_file(id)
            return None
        self._errors.pop(id, None)
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
        bookmarks, tombstones = self.folders
        name = id + SUFFIX
        return os.path.lexists(tombstones / name) or files.is_missing(bookmarks / name)

    def _reserve_uri_of_invalid_file(self, id: str) -> None:
        last = self.index.items.get(id)
        if isinstance(last, Entry):
            self._uri_keys_of_invalid_files[id] = last.uri_key

    def _change_index(self, items: Mapping[str, Item | None]) -> None:
        min_changes = len(self.index.items) * _SHARE_TO_REBUILD
        if len(items) > max(MIN_CHANGES_TO_REBUILD, min_changes):
            self.index = Index({**self.index.items, **items})
            return
        for id, item in items.items():
            self.index.change(id, item)

    def _read_file(self, kind: int, id: str, began_ns: int) -> Item | None:
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
        if kind == BOOKMARKS:
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
