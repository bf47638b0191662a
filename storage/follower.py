"""Keep the index in memory equal to the files of a data folder."""

import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from storage import files
from storage.bookmark import ID, Bookmark, fold_tag
from storage.errors import Gone, Invalid, StorageError, Unavailable, Unreadable
from storage.index import Entry, Index, Item, State, TombstoneEntry
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Watch

log = logging.getLogger("bookmarks")

SUFFIX = ".json"
BOOKMARKS, TOMBSTONES = 0, 1  # Positions in `Follower.folders`.
# FAT stores times in steps of two seconds, so two changes of a file may leave the same time.
_TIME_RESOLUTION_NS = 2_000_000_000
_READ_AGAIN = 0  # In place of a file's signature: the next rescan reads the file in any case.
RETRY_SECONDS = 1.0  # A file that the system could not read is read again after this time.
_MAX_CHANGES_IN_PLACE = 500  # For more changed files than this, making a new index is faster.

_File = tuple[int, str]  # BOOKMARKS or TOMBSTONES, and the id in the file's name.


class Follower:
    """Keep an `Index` equal to the files in `bookmarks/` and `tombstones/` of a data folder.

    A bookmark that was read before stays in the index as it was while the system cannot read its
    file: clients would take its absence for a deletion. `change_count` grows with every change of
    the index. Not thread-safe: `Store` holds a mutex except to read `change_count`, to call
    `is_up_to_date`, and to call `reset` in a forked child, which has no other thread.
    """

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.change_count = 0
        self.watch = Watch(self.folders, one_machine)
        self.reset()  # Creates the empty index.

    def reset(self) -> None:
        """Drop the index and the watch: the next refresh compares all files."""
        self.watch.close()
        self._forget()
        self._must_rescan = True  # The next refresh compares all files instead of reading events.

    def _forget(self) -> None:
        self.index = Index({})
        # The latest ctime of a file or folder. It only grows: replacing or removing a file is a
        # later change, of its folder.
        self._changed_at = 0.0
        self._errors: dict[str, StorageError] = {}  # By id: of each file that cannot be used.
        self._retry_at = 0.0  # When to read files again that failed, by the monotonic clock.
        # By folder and id: a hash of inode, size and times, to notice a change.
        self._signatures: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def is_up_to_date(self) -> bool:
        """Return whether no file has changed since the last refresh. Needs no mutex."""
        # Another thread sets `_must_rescan` before it takes events from the queue.
        return self.watch.has_no_event() and not (self._must_rescan or self._is_retry_due())

    def _is_retry_due(self) -> bool:
        """Return whether to read again the files that could not be read."""
        return bool(self._errors) and time.monotonic() >= self._retry_at

    @property
    def state(self) -> State:
        """The validators of the whole collection as of the last refresh."""
        return State(self.index.version, self._changed_at)

    def compares_each_time(self) -> bool:
        """Return whether each refresh compares all files, because inotify is missing."""
        return not (self._must_rescan or self.watch.is_open)

    def refresh_one(self, id: str) -> None:
        """Bring the index up to date for one id at least. Raises Unavailable.

        Where inotify is missing, this reads the files of this id in place of comparing all files.
        """
        if self.compares_each_time():
            self.reread(id)
        else:
            self.refresh()

    def refresh(self) -> Index:
        """Return the index after bringing it up to date.

        Raises Unavailable if the folders cannot be read.
        """
        # Events can be read only once: if this method raises, the next refresh has to rescan.
        must_rescan, self._must_rescan = self._must_rescan, True
        folder = self.watch.first_folder_identity
        events = self.watch.read_events()
        if self.watch.first_folder_identity != folder:  # The times of another folder do not count.
            self._forget()
        if must_rescan or events is None:
            self._read(self._find_changed_files())
        elif events or self._is_retry_due():
            self._read([*self._files_of(events), *self._files_to_retry()])
        self._must_rescan = False
        return self.index

    def refresh_or_raise_if_all_reads_failed(self) -> Index:
        """Return the up-to-date index for a response in which bookmarks must not be missing.

        Raises Unavailable also if reading every file failed: clients would take an empty list for
        the deletion of all bookmarks.
        """
        index = self.refresh()
        if not index.entries and self._failed_ids():
            raise Unavailable("The data folder cannot be read: reading every bookmark failed.")
        return index

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if id in self._errors and not isinstance(self._errors[id], files.ReadFailed):
            self.reread(id)  # Its file may have been corrected through a hard link.
        if error := self._errors.get(id):
            raise Unreadable(id, str(error))
        item = self.index.items.get(id)
        if isinstance(item, TombstoneEntry):
            raise Gone(id, item.tombstone.deleted)
        return item

    def reread(self, id: str) -> None:
        """Read the files of one id again, for a change that no inotify event has reported.

        The kernel reports no write through a hard link in another folder, and none behind a FUSE
        mount.
        """
        self._read([(BOOKMARKS, id), (TOMBSTONES, id)])

    # --- Which files have changed ---

    def _files_of(self, events: list[tuple[int, str]]) -> Iterator[_File]:
        """Yield the file of each event, which has BOOKMARKS or TOMBSTONES and the file's name."""
        for kind, file_name in events:
            if id := _id_of(file_name):
                yield kind, id
            elif not file_name:  # The folder has changed: new permissions may make files readable.
                yield from [(kind, id) for id in self._errors]

    def _files_to_retry(self) -> list[_File]:
        """Return the files that could not be read, once in `RETRY_SECONDS`."""
        if not self._is_retry_due():
            return []
        self._retry_at = time.monotonic() + RETRY_SECONDS
        # Reading a tombstone reads the bookmark's file, too.
        return [(TOMBSTONES, id) for id in self._failed_ids()]

    def _failed_ids(self) -> list[str]:
        """Return the ids whose files the system could not read: it may succeed later."""
        return [id for id, e in self._errors.items() if isinstance(e, files.ReadFailed)]

    def _find_changed_files(self) -> Iterator[_File]:
        """Yield each file that has changed since it was last read, and each file to read again.

        Raises OSError if a folder cannot be listed.
        """
        for kind, folder in enumerate(self.folders):  # BOOKMARKS is 0, TOMBSTONES is 1.
            if kind == TOMBSTONES and not folder.exists():  # git checks out no empty folder.
                yield from [(kind, id) for id in self._signatures[kind]]
                continue
            with files.open_folder(folder) as descriptor:
                changed = _changed_ids(descriptor, self._signatures[kind])
            skipped = set(self._failed_ids())
            if kind == BOOKMARKS:  # A deleted one does not count while its tombstone is unchanged.
                skipped.update(self._signatures[TOMBSTONES])
            yield from [(kind, id) for id in changed if id not in skipped]
        yield from self._files_to_retry()

    # --- Reading the changed files ---

    def _read(self, changed: Iterable[_File]) -> None:
        """Update the index with the content of these files. Raises Unavailable."""
        changed_before = self._changed_at
        try:
            # A removal changes only the time of its folder. Take this time before reading, so that
            # a change during the reading makes the next Last-Modified later.
            folders_changed_at, now_ns = self._folders_changed_at(), time.time_ns()
            ids = self._ids_of(changed)
        except OSError as reason:  # Of a folder: the error of a single file is not raised.
            message = f"The data folder cannot be read: {reason.strerror}."
            raise Unavailable(message) from reason
        self._changed_at = max(self._changed_at, folders_changed_at)
        items: dict[str, Item | None] = {}
        is_other_error = False
        try:
            for id, may_be_deleted in ids.items():
                item, error = self._read_item(id, may_be_deleted, now_ns)
                if item is not self.index.items.get(id):
                    items[id] = item
                # All cached responses are stale after a change, so the same error must not count.
                is_other_error |= self._record_error(id, error)
        finally:  # The next rescan takes the files that were read for known, even after an error.
            if items or is_other_error or self._changed_at != changed_before:
                self._change_index(items)
                self.change_count += 1

    def _change_index(self, items: Mapping[str, Item | None]) -> None:
        """Set the item of each id in the index, or remove the ids whose item is None."""
        if len(items) > _MAX_CHANGES_IN_PLACE:
            self.index = Index({**self.index.items, **items})
        else:
            for id, item in items.items():
                self.index.change(id, item)

    def _ids_of(self, changed: Iterable[_File]) -> dict[str, bool]:
        """Return the ids of the files, each with whether it may have a tombstone."""
        # A dictionary keeps the order of `changed`, in which a rescan reads files faster.
        ids: dict[str, bool] = {}
        for kind, id in changed:
            is_known = id in self._errors or id in self._signatures[TOMBSTONES]
            ids[id] = kind == TOMBSTONES or is_known or ids.get(id, False)
        return ids

    def _read_item(
        self, id: str, may_be_deleted: bool, now_ns: int
    ) -> tuple[Item | None, StorageError | None]:
        """Return what the files of an id say, and the error if a file cannot be used.

        The tombstone wins over the bookmark. If the system cannot read a file now, the item is the
        one that was read last.
        """
        last = self.index.items.get(id)
        for kind in (TOMBSTONES, BOOKMARKS) if may_be_deleted else (BOOKMARKS,):
            path = f"{self.folders[kind]}/{id}{SUFFIX}"
            try:
                data, status = files.read(path)
                self._signatures[kind][id] = _signature(status, now_ns)
                version, changed_at = digest(data), status.st_ctime
                self._changed_at = max(self._changed_at, changed_at)
                if last and (last.version, last.changed_at) == (version, changed_at):
                    return last, None  # The same object shows that nothing has changed.
                if kind == BOOKMARKS:
                    return new_entry(decode_bookmark(id, data), data, changed_at), None
                return TombstoneEntry(decode_tombstone(id, data), version, changed_at), None
            except FileNotFoundError:
                self._signatures[kind].pop(id, None)
            except (files.BadFile, Invalid) as error:
                if str(error) != str(self._errors.get(id)):
                    log.warning("%s is skipped: %s", path, error)
                # A deletion removes the bookmark's file, even if its tombstone cannot be read now.
                file = self.folders[BOOKMARKS] / (id + SUFFIX)
                is_deleted = isinstance(last, Entry) and files.is_missing(file)
                has_failed = isinstance(error, files.ReadFailed)
                return last if has_failed and not is_deleted else None, error
        return None, None

    def _record_error(self, id: str, error: StorageError | None) -> bool:
        """Remember the error of an id; return whether it is another than before."""
        old = self._errors.pop(id, None)
        if error:
            self._errors[id] = error
        return str(error) != str(old)  # Compare the texts: two exceptions are never equal.

    def _folders_changed_at(self) -> float:
        """Return when files were last added, replaced or removed: the later ctime of a folder."""
        bookmarks, tombstones = self.folders
        # Removing the folder of tombstones changes the time of its parent folder.
        folder = tombstones if tombstones.exists() else tombstones.parent
        return max(bookmarks.stat().st_ctime, folder.stat().st_ctime)


def new_entry(bookmark: Bookmark, data: bytes, changed_at: float) -> Entry:
    """Return the index entry of a bookmark whose file holds `data`."""
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:  # Keeping one of the two equal tuples saves 100 bytes a bookmark.
        tags = bookmark.tags
    return Entry(bookmark, digest(data), uri_key(bookmark.uri), tags, changed_at)


def _id_of(file_name: str) -> str | None:
    """Return the id in the file name `{id}.json`, None for any other name."""
    id = file_name.removesuffix(SUFFIX)
    return id if id != file_name and ID.fullmatch(id) else None


def _changed_ids(folder_descriptor: int, known_signatures: dict[str, int]) -> list[str]:
    """Return the ids in an open folder whose files are new, changed or gone.

    `known_signatures` has a hash of inode, size and times for each known file. Raises OSError.
    """
    # Without search permission a folder can be listed, but reading each of its files would fail.
    os.stat(".", dir_fd=folder_descriptor)  # Raises PermissionError then.
    with os.scandir(folder_descriptor) as entries:
        # Reading is faster in this order: similar inode numbers are close together on most disks.
        in_disk_order = sorted(entries, key=os.DirEntry.inode)
    ids = (_id_of(entry.name) for entry in in_disk_order)
    new = [id for id in ids if id and id not in known_signatures]
    now_ns = time.time_ns()
    return new + [
        id
        for id, signature in known_signatures.items()
        if signature == _READ_AGAIN  # A later change may have left the same times.
        or signature != _signature_of(folder_descriptor, id, now_ns)
    ]


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
