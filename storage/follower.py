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
from storage.index import Entry, Index, TombstoneEntry, set_each
from storage.record import decode_bookmark, decode_tombstone, digest
from storage.uri import uri_key
from storage.watch import Watch

log = logging.getLogger("bookmarks")

SUFFIX = ".json"
BOOKMARKS, TOMBSTONES = 0, 1
# File systems store times with a resolution of up to two seconds (FAT). A file that changed this
# shortly before it was read can change once more without a new time or size.
_TIME_RESOLUTION_NS = 2_000_000_000

_Name = tuple[int, str]  # BOOKMARKS or TOMBSTONES, and an id.
_Value = TypeVar("_Value", Entry, TombstoneEntry)


class Follower:
    """Keep an `Index` equal to the files in `bookmarks/` and `tombstones/` of a data folder.

    The caller holds one mutex around every method but `is_quiet`. `change_count` grows with every
    change of the index.
    """

    def __init__(self, folder: Path) -> None:
        self.folders = (folder / "bookmarks", folder / "tombstones")
        self.change_count = 0
        self.watch = Watch(self.folders)
        self.reset()

    def reset(self) -> None:
        """Drop the index and the watch; the next refresh reads every file."""
        self.watch.close()
        self._index = Index()
        self._unreadable: tuple[dict[str, StorageError], dict[str, StorageError]] = ({}, {})
        self._signatures: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._must_rescan = True

    def is_quiet(self) -> bool:
        """Return whether nothing has changed since the last refresh. Needs no mutex."""
        return not self._must_rescan and self.watch.is_quiet()

    def refresh(self) -> Index:
        """Return the index after bringing it up to date.

        Raises Unavailable if the folders cannot be read.
        """
        # Drained events cannot be read again: if this raises, the next refresh has to rescan.
        must_rescan, self._must_rescan = self._must_rescan, True
        events = self.watch.read_events()
        if must_rescan or events is None:
            self._apply(self._changed_names())
        elif events:
            self._apply(self._names_of(events))
        self._must_rescan = False
        return self._index

    def refresh_for_list(self) -> Index:
        """Return the up-to-date index for a response that lists bookmarks.

        Raises Unavailable also if reading every file failed: an empty list would tell clients that
        every bookmark is gone.
        """
        index = self.refresh()
        if not index.entries and (failed := self._failed_reads()):
            self._apply(failed)  # The error may have passed.
            if not index.entries and self._failed_reads():
                raise Unavailable("The data folder cannot be read: reading every bookmark failed.")
        return index

    def find(self, id: str) -> Entry | None:
        """Return the entry of this id, or None. Raises Gone or Unreadable."""
        if tombstone := self._index.tombstones.get(id):
            raise Gone(id, tombstone.tombstone.deleted)
        for unreadable in self._unreadable:
            if id in unreadable:
                raise Unreadable(id, str(unreadable[id]))
        return self._index.entries.get(id)

    def reread(self, id: str) -> None:
        """Read the files of one id again, for a change that no inotify event has reported.

        A write through a hard link in another folder or below a FUSE mount causes no event.
        """
        self._apply([(BOOKMARKS, id), (TOMBSTONES, id)])

    # --- Which files have changed ---

    def _failed_reads(self) -> list[_Name]:
        errors = self._unreadable[BOOKMARKS].items()
        return [(BOOKMARKS, id) for id, error in errors if isinstance(error, files.ReadFailed)]

    def _names_of(self, events: list[tuple[int, str]]) -> Iterator[_Name]:
        for kind, file_name in events:
            if id := _id_of(file_name):
                yield kind, id
            elif not file_name:  # New permissions of the folder may make its files readable.
                yield from [(kind, id) for id in self._unreadable[kind]]

    def _changed_names(self) -> Iterator[_Name]:
        """Yield the name of each file whose identity, size or times differ from the last reading.

        Raises OSError if a folder cannot be listed.
        """
        for kind, folder in enumerate(self.folders):
            known, ids = self._signatures[kind], list(self._signatures[kind])
            if kind == BOOKMARKS or folder.exists():  # git keeps no empty folder of tombstones.
                with files.open_folder(folder) as descriptor:
                    ids = _changed_ids(descriptor, known)
            yield from ((kind, id) for id in [*ids, *self._unreadable[kind]])

    # --- Reading them ---

    def _apply(self, names: Iterable[_Name]) -> None:
        """Read the named files and change the index to what they hold.

        Raises Unavailable, and changes nothing, if the system cannot read now.
        """
        try:
            self._read_and_commit(names)
        except OSError as error:
            raise Unavailable(f"The data folder cannot be read: {error.strerror}.") from error

    def _read_and_commit(self, names: Iterable[_Name]) -> None:
        started, touched = time.time_ns(), self._folders_touched()
        ids: tuple[dict[str, None], dict[str, None]] = ({}, {})
        for kind, id in names:
            ids[kind][id] = None
        tombstones = _Batch(self.folders[TOMBSTONES], ids[TOMBSTONES], _tombstone_entry, started)
        changed = ids[BOOKMARKS] | ids[TOMBSTONES]
        hidden = dict.fromkeys(id for id in changed if self._is_hidden(id, tombstones))
        unhidden = [id for id in changed if id not in hidden]
        bookmarks = _Batch(self.folders[BOOKMARKS], unhidden, _entry, started)
        bookmarks.values.update(hidden)
        self._commit(bookmarks, tombstones, max(touched, bookmarks.touched, tombstones.touched))

    def _is_hidden(self, id: str, tombstones: "_Batch[TombstoneEntry]") -> bool:
        """Return whether a tombstone, valid or not, hides the bookmark file of this id."""
        if id in tombstones.values:
            return bool(tombstones.values[id]) or id in tombstones.errors
        return id in self._index.tombstones or id in self._unreadable[TOMBSTONES]

    def _commit(
        self, bookmarks: "_Batch[Entry]", tombstones: "_Batch[TombstoneEntry]", touched: float
    ) -> None:
        index = self._index
        is_change = (
            touched > index.touched
            or self._is_change(BOOKMARKS, bookmarks, index.entries)
            or self._is_change(TOMBSTONES, tombstones, index.tombstones)
        )
        index.change(bookmarks.values, tombstones.values)
        index.touched = max(index.touched, touched)
        self._record(BOOKMARKS, bookmarks)
        self._record(TOMBSTONES, tombstones)
        self.change_count += is_change

    def _is_change(self, kind: int, batch: "_Batch[_Value]", held: Container[str]) -> bool:
        """Return whether the batch differs from the index and the known errors.

        Without this each GET of an unreadable id would empty the response cache.
        """
        before, after = self._unreadable[kind], batch.errors
        return any(
            value or id in held or str(before.get(id)) != str(after.get(id))
            for id, value in batch.values.items()
        )

    def _record(self, kind: int, batch: "_Batch[_Value]") -> None:
        for id, error in batch.errors.items():
            if str(error) != str(self._unreadable[kind].get(id)):
                log.warning("%s is skipped: %s", self.folders[kind] / (id + SUFFIX), error)
        set_each(self._unreadable[kind], batch.values, batch.errors)
        set_each(self._signatures[kind], batch.values, batch.signatures)

    def _folders_touched(self) -> float:
        """Return the time of the last change of the folders' names, in seconds since 1970."""
        bookmarks, tombstones = self.folders
        newest = tombstones if tombstones.exists() else tombstones.parent
        return max(files.touched(bookmarks.stat()), files.touched(newest.stat()))


class _Batch(Generic[_Value]):
    """The files of some ids as they were read.

    `values` has every id, with None for a file that is absent or has an error; `touched` is the
    newest time of these files, in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        ids: Collection[str],
        parse: Callable[[str, bytes, float], _Value],
        started: int,
    ) -> None:
        self.values: dict[str, _Value | None] = {}
        self.errors: dict[str, StorageError] = {}
        self.signatures: dict[str, int] = {}
        self.touched = 0.0
        contents = files.read_all(folder, [id + SUFFIX for id in ids])
        for id, content in zip(ids, contents, strict=True):
            self.values[id] = None
            try:
                if isinstance(content, files.BadFile):
                    raise content
                if content:
                    self.signatures[id] = _signature(content[1], started)
                    touched = files.touched(content[1])
                    self.touched = max(self.touched, touched)
                    self.values[id] = parse(id, content[0], touched)
            except (files.BadFile, Invalid) as error:
                self.errors[id] = error


def new_entry(bookmark: Bookmark, data: bytes, touched: float) -> Entry:
    """Return the index entry of a bookmark whose file holds `data`."""
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:  # One shared object saves 100 bytes a bookmark.
        tags = bookmark.tags
    return Entry(bookmark, digest(data), uri_key(bookmark.uri), tags, touched)


def _entry(id: str, data: bytes, touched: float) -> Entry:
    return new_entry(decode_bookmark(id, data), data, touched)


def _tombstone_entry(id: str, data: bytes, touched: float) -> TombstoneEntry:
    return TombstoneEntry(decode_tombstone(id, data), digest(data))


def _id_of(file_name: str) -> str | None:
    """Return the id whose file has this name, None if it is no name of ours."""
    id = file_name.removesuffix(SUFFIX)
    return id if id != file_name and ID.fullmatch(id) else None


def _changed_ids(folder: int, known: Mapping[str, int]) -> list[str]:
    """Return the ids in an open folder that are new, changed or gone. Raises OSError."""
    os.stat(".", dir_fd=folder)  # A folder without search permission can be listed but not read.
    now = time.time_ns()
    changed = [id for id, s in known.items() if not s or s != _signature_of(folder, id, now)]
    with os.scandir(folder) as entries:
        # Reading in the order of inodes is mostly reading in the order of the disk.
        new = sorted(entries, key=os.DirEntry.inode)
    ids = (_id_of(entry.name) for entry in new)
    return changed + [id for id in ids if id and id not in known]


def _signature_of(folder: int, id: str, started: int) -> int:
    try:
        status = os.stat(id + SUFFIX, dir_fd=folder, follow_symlinks=False)
    except OSError:  # The file is gone or damaged; reading it shows which.
        return 0
    return _signature(status, started)


def _signature(status: os.stat_result, started: int) -> int:
    """Return a number that changes with a file's identity, size or times.

    0 if the file is so new that it may change again without changing its times; `started` is
    the time, in nanoseconds, before the file was read.
    """
    modified, changed = status.st_mtime_ns, status.st_ctime_ns
    if max(modified, changed) > started - _TIME_RESOLUTION_NS:
        return 0
    return hash((status.st_ino, status.st_size, modified, changed))
