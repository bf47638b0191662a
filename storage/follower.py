"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from storage import files
from storage.bookmark import ID, Bookmark, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, TombstoneEntry, set_or_remove
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Watch

log = logging.getLogger("bookmarks")

SUFFIX = ".json"
BOOKMARKS, TOMBSTONES = 0, 1  # The kinds of files: positions in `Follower.folders`.
# FAT stores times in steps of two seconds, so two changes of a file may leave the same time.
_TIME_RESOLUTION_NS = 2_000_000_000
_READ_AGAIN = 0  # In place of a file's signature: the next rescan reads the file in any case.

_FileKey = tuple[int, str]  # BOOKMARKS or TOMBSTONES, and the id in the file's name.
_Value = TypeVar("_Value", Entry, TombstoneEntry)


class Follower:
    """Keep an `Index` equal to the files in `bookmarks/` and `tombstones/` of a data folder.

    `change_count` grows with every change of the index. Not thread-safe: `Store` holds a mutex
    except to read `change_count`, to call `is_up_to_date`, and to call `reset` while no other
    thread uses the store.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.change_count = 0
        self.watch = Watch(self.folders, one_machine)
        self.reset()  # Creates the empty index.

    def reset(self) -> None:
        """Drop the index and the watch: the next refresh compares all files."""
        self.watch.close()
        self._index = Index()
        # For bookmarks and for tombstones, by id: the error of each file that cannot be used.
        self._unreadable: tuple[dict[str, StorageError], dict[str, StorageError]] = ({}, {})
        # For bookmarks and tombstones, by id: a hash of inode, size and times, to notice a change.
        self._signatures: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._must_rescan = True  # The next refresh compares all files instead of reading events.

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh. Needs no mutex."""
        return not self._must_rescan and self.watch.has_no_event()

    def refresh(self) -> Index:
        """Return the index after bringing it up to date.

        Raises Unavailable if the folders cannot be read.
        """
        # Events can be read only once: if this method raises, the next refresh has to rescan.
        must_rescan, self._must_rescan = self._must_rescan, True
        events = self.watch.read_events()
        if must_rescan or events is None:
            self._read_files(self._find_changed_files())
        elif events:
            self._read_files(self._files_of(events))
        self._must_rescan = False
        return self._index

    def refresh_or_raise_if_all_reads_failed(self) -> Index:
        """Return the up-to-date index for a response in which bookmarks must not be missing.

        Raises Unavailable also if reading every file failed: clients would take an empty list for
        the deletion of all bookmarks.
        """
        index = self.refresh()
        if not index.entries and (failed := self._failed_bookmark_reads()):
            self._read_files(failed)  # The errors may have passed.
            if not index.entries and self._failed_bookmark_reads():
                raise Unavailable("The data folder cannot be read: reading every bookmark failed.")
        return index

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if tombstone := self._index.tombstones.get(id):
            raise Gone(id, tombstone.tombstone.deleted)
        for errors in self._unreadable:  # The errors of bookmarks, then those of tombstones.
            if id in errors:
                raise Unreadable(id, str(errors[id]))
        return self._index.entries.get(id)

    def reread_into_index(self, id: str) -> None:
        """Read the files of one id again, for a change that no inotify event has reported.

        The kernel reports no write through a hard link in another folder, and none behind a FUSE
        mount.
        """
        self._read_files([(BOOKMARKS, id), (TOMBSTONES, id)])

    # --- Which files have changed ---

    def _failed_bookmark_reads(self) -> list[_FileKey]:
        """Return the bookmark files that could not be read, to try again, but no invalid ones."""
        errors = self._unreadable[BOOKMARKS].items()
        return [(BOOKMARKS, id) for id, error in errors if isinstance(error, files.ReadFailed)]

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_FileKey]:
        """Yield the file of each event, which has BOOKMARKS or TOMBSTONES and the file's name."""
        for kind, file_name in events:
            if id := _id_of(file_name):
                yield kind, id
            elif not file_name:  # The folder has changed: new permissions may make files readable.
                yield from [(kind, id) for id in self._unreadable[kind]]

    def _find_changed_files(self) -> Iterator[_FileKey]:
        """Yield each file that has changed since it was last read, and each unreadable file.

        Raises OSError if a folder cannot be listed.
        """
        for kind, folder in enumerate(self.folders):  # BOOKMARKS is 0, TOMBSTONES is 1.
            known_signatures = self._signatures[kind]
            if kind == TOMBSTONES and not folder.exists():  # git checks out no empty folder.
                ids = list(known_signatures)  # All files that were read before are gone.
            else:
                with files.open_folder(folder) as descriptor:
                    ids = _changed_ids(descriptor, known_signatures)
            yield from ((kind, id) for id in ids)
            # An error of a file, such as a bad sector, may pass without a change of the file.
            yield from ((kind, id) for id in self._unreadable[kind])

    # --- Reading the changed files ---

    def _read_files(self, keys: Iterable[_FileKey]) -> None:
        """Read these files and update the index with their content.

        If no file at all can be read now, raises Unavailable and keeps the index as it is.
        """
        try:
            self._read_and_commit(keys)
        except OSError as error:  # Of a folder: the error of a single file is recorded, not raised.
            raise Unavailable(f"The data folder cannot be read: {error.strerror}.") from error

    def _read_and_commit(self, keys: Iterable[_FileKey]) -> None:
        """Read the tombstones first, then only the files of bookmarks without a tombstone."""
        reading_began_ns = time.time_ns()  # `_Batch` notes which files to read again.
        # A removal changes only the time of its folder. Take the folders' times before reading, so
        # that a change during the reading makes the next Last-Modified later.
        changed_at = self._folders_changed_at()
        # Dictionaries keep the order of `keys`, in which a rescan reads new files faster.
        bookmark_ids: dict[str, None] = {}
        tombstone_ids: dict[str, None] = {}
        for kind, id in keys:
            ids = bookmark_ids if kind == BOOKMARKS else tombstone_ids
            ids[id] = None
        folder = self.folders[TOMBSTONES]
        tombstones = _Batch(folder, tombstone_ids, _parse_tombstone, reading_began_ns)
        # A bookmark whose tombstone was removed is active again: read its file too.
        changed_ids = bookmark_ids | tombstone_ids
        deleted = dict.fromkeys(id for id in changed_ids if self._has_tombstone(id, tombstones))
        # A tombstone wins over a bookmark's file, so read only the files without a tombstone.
        active = [id for id in changed_ids if id not in deleted]
        bookmarks = _Batch(self.folders[BOOKMARKS], active, _parse_bookmark, reading_began_ns)
        bookmarks.values.update(deleted)  # The value of each id is None: the index drops its entry.
        changed_at = max(changed_at, bookmarks.changed_at, tombstones.changed_at)
        self._commit(bookmarks, tombstones, changed_at)

    def _has_tombstone(self, id: str, tombstones: "_Batch[TombstoneEntry]") -> bool:
        """Return whether the id has a tombstone, valid or not, in the batch or from before."""
        if id in tombstones.values:  # The batch is newer than the index.
            # An unusable tombstone has an error in place of a value; a removed one has neither.
            return tombstones.values[id] is not None or id in tombstones.errors
        return id in self._index.tombstones or id in self._unreadable[TOMBSTONES]

    def _commit(
        self, bookmarks: "_Batch[Entry]", tombstones: "_Batch[TombstoneEntry]", changed_at: float
    ) -> None:
        """Update the index; increase `change_count` unless certainly nothing has changed."""
        index = self._index
        is_change = (
            changed_at > index.changed_at  # Responses have this time as Last-Modified.
            or self._is_change(BOOKMARKS, bookmarks, index.entries)
            or self._is_change(TOMBSTONES, tombstones, index.tombstones)
        )
        index.change(bookmarks.values, tombstones.values)
        index.changed_at = max(index.changed_at, changed_at)
        self._record(BOOKMARKS, bookmarks)
        self._record(TOMBSTONES, tombstones)
        if is_change:
            self.change_count += 1

    def _is_change(self, kind: int, batch: "_Batch[_Value]", indexed_ids: Container[str]) -> bool:
        """Return whether the batch sets or removes an index entry, or changes the error of a file.

        If so, `change_count` grows, and all cached responses are stale. So the same error must not
        count: each GET of an unreadable id reads its files again.
        """
        errors_before = self._unreadable[kind]
        for id, value in batch.values.items():
            if value is not None or id in indexed_ids:  # A value to set, or an entry to remove.
                return True
            # Compare the texts: two exceptions are never equal.
            if str(errors_before.get(id)) != str(batch.errors.get(id)):
                return True
        return False

    def _record(self, kind: int, batch: "_Batch[_Value]") -> None:
        """Store the batch's errors, and its signatures for the next rescan; log each new error."""
        for id, error in batch.errors.items():
            if str(error) != str(self._unreadable[kind].get(id)):
                log.warning("%s is skipped: %s", self.folders[kind] / (id + SUFFIX), error)
        for id in batch.values:
            set_or_remove(self._unreadable[kind], id, batch.errors.get(id))
            set_or_remove(self._signatures[kind], id, batch.signatures.get(id))

    def _folders_changed_at(self) -> float:
        """Return when files were last added, replaced or removed, in seconds since 1970."""
        # Last-Modified needs the times of the folders: a removed file has no time any more.
        bookmarks, tombstones = self.folders
        # Removing the folder of tombstones changes the time of its parent folder.
        folder = tombstones if tombstones.exists() else tombstones.parent
        return max(files.changed_at(bookmarks.stat()), files.changed_at(folder.stat()))


class _Batch(Generic[_Value]):
    """The files of some ids as they were read.

    `values` has every id, with None for a file that is absent or has an error. By `signatures` the
    next rescan notices which files have changed. `changed_at` is when the last of these files was
    changed, in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        ids: Collection[str],
        parse: Callable[[str, bytes, float], _Value],  # Of an id, its content, and when it changed.
        reading_began_ns: int,  # Files that changed later, or shortly before, are read again.
    ) -> None:
        self.values: dict[str, _Value | None] = {}
        self.errors: dict[str, StorageError] = {}
        self.signatures: dict[str, int] = {}
        self.changed_at = 0.0
        for id in ids:
            self.values[id] = None
            try:
                data, status = files.read(f"{folder}/{id}{SUFFIX}")
                # `_READ_AGAIN` if the file changed just now: a later change may leave equal times.
                self.signatures[id] = _signature(status, reading_began_ns)
                changed_at = files.changed_at(status)
                self.changed_at = max(self.changed_at, changed_at)
                self.values[id] = parse(id, data, changed_at)
            except FileNotFoundError:
                pass  # The value stays None.
            except (files.BadFile, Invalid) as error:
                self.errors[id] = error


def new_entry(bookmark: Bookmark, data: bytes, changed_at: float) -> Entry:
    """Return the index entry of a bookmark whose file holds `data`."""
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:  # Keeping one of the two equal tuples saves 100 bytes a bookmark.
        tags = bookmark.tags
    return Entry(bookmark, digest(data), uri_key(bookmark.uri), tags, changed_at)


def _parse_bookmark(id: str, data: bytes, changed_at: float) -> Entry:
    return new_entry(decode_bookmark(id, data), data, changed_at)


def _parse_tombstone(id: str, data: bytes, _changed_at: float) -> TombstoneEntry:
    # `_Batch` calls both parsers alike, but only the entry of a bookmark has a time.
    return TombstoneEntry(decode_tombstone(id, data), digest(data))


def _id_of(file_name: str) -> str | None:
    """Return the id in the file name `{id}.json`, None for any other name."""
    id = file_name.removesuffix(SUFFIX)
    return id if id != file_name and ID.fullmatch(id) else None


def _changed_ids(folder_descriptor: int, known_signatures: Mapping[str, int]) -> list[str]:
    """Return the ids in an open folder whose files are new, changed or gone.

    `known_signatures` has a hash of inode, size and times for each known file. Raises OSError.
    """
    # Without search permission a folder can be listed, but reading each of its files would fail.
    os.stat(".", dir_fd=folder_descriptor)  # Raises PermissionError then.
    now_ns = time.time_ns()
    changed = [
        id
        for id, signature in known_signatures.items()
        if signature == _READ_AGAIN  # A later change may have left the same times.
        or signature != _signature_of(folder_descriptor, id, now_ns)
    ]
    with os.scandir(folder_descriptor) as entries:
        # Reading is faster in this order: similar inode numbers are close together on most disks.
        in_disk_order = sorted(entries, key=os.DirEntry.inode)
    ids = (_id_of(entry.name) for entry in in_disk_order)
    return changed + [id for id in ids if id and id not in known_signatures]


def _signature_of(folder_descriptor: int, id: str, now_ns: int) -> int:
    """Return the file's present signature; `_READ_AGAIN` if it changed just before `now_ns`."""
    try:
        status = os.stat(id + SUFFIX, dir_fd=folder_descriptor, follow_symlinks=False)
    except OSError:  # The file is gone or unreadable; reading it shows which.
        return _READ_AGAIN
    return _signature(status, now_ns)


def _signature(status: os.stat_result, reading_began_ns: int) -> int:
    """Return a number that changes with a file's identity, size or times.

    Returns `_READ_AGAIN` for a file that was changed in the last two seconds before the reading or
    during it: another change may leave the same times.
    """
    modified, changed = status.st_mtime_ns, status.st_ctime_ns
    if max(modified, changed) > reading_began_ns - _TIME_RESOLUTION_NS:
        return _READ_AGAIN
    return hash((status.st_ino, status.st_size, modified, changed))
