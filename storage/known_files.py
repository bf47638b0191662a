"""Read the files of a folder, and notice by their times and sizes that they change."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.bookmark import ID
from storage.record import digest

SUFFIX = ".json"
# FAT stores times in steps of two seconds.
_TIME_RESOLUTION_NS = 2_000_000_000
# The signature of a file that must be read again. `hash` never returns -1.
_UNKNOWN = -1


class File(NamedTuple):
    content: bytes
    version: int  # The digest of the content.
    changed_at: float  # The ctime.


class KnownFiles:
    """The files `{id}.json` that have been seen in a folder.

    A signature is a hash of a file's inode, size and times, taken when the file was read or
    before reading it failed. It is None if the disk did not return the file's status.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._signatures: dict[str, int | None] = {}
        self._unreadable: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._signatures

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def expect(self, id: str) -> None:
        """Note that a file may be new or changed."""
        self._signatures[id] = _UNKNOWN

    def look_for(self, id: str) -> None:
        """Note a file if it exists."""
        if id not in self._signatures and os.path.lexists(self._path(id)):
            self.expect(id)

    def read(self, id: str) -> File | None:
        """Return a file, or None if it is missing. Raises BadFile or Unavailable."""
        began_ns = time.time_ns()
        signature_before: int | None = _UNKNOWN
        # To save time, ask for the status only if the last attempt failed.
        if id in self._unreadable:
            signature_before = _current_signature(self._path(id))
        self.expect(id)  # After an error that is not caught below, read the file again.
        try:
            content, status = files.read(self._path(id))
        except FileNotFoundError:
            del self._signatures[id]
            self._unreadable.discard(id)
            return None
        except files.ReadFailed:
            self._signatures[id] = signature_before
            self._unreadable.add(id)
            raise
        self._unreadable.discard(id)
        self._signatures[id] = _signature_after_reading(status, began_ns)
        return File(content, digest(content), status.st_ctime)

    def has_changed(self, id: str) -> bool:
        """Return whether a file has changed since it was read, or since reading it failed."""
        return _has_changed(self._path(id), self._signatures.get(id, _UNKNOWN))

    def find_changed(self) -> list[str]:
        """Return the ids of files that are new, changed or gone. Raises OSError."""
        with files.open_folder(self._folder) as descriptor:
            # Raises PermissionError if this user may list the files, but not open them.
            os.stat(".", dir_fd=descriptor)
            self._expect_new_files(descriptor)
            return [
                id
                for id, signature in self._signatures.items()
                if _has_changed(id + SUFFIX, signature, descriptor)
            ]

    def _path(self, id: str) -> str:
        return f"{self._folder}/{id}{SUFFIX}"

    def _expect_new_files(self, folder: int) -> None:
        with os.scandir(folder) as entries:
            # Most disks read files faster in the order of inodes.
            in_disk_order = sorted(entries, key=os.DirEntry.inode)
        for entry in in_disk_order:
            id = id_of(entry.name)
            if id and id not in self._signatures:
                self.expect(id)


def _has_changed(path: str, signature: int | None, folder: int | None = None) -> bool:
    """Compare a file with its signature. With `folder`, the path is relative to that folder."""
    if signature == _UNKNOWN:
        return True
    return signature != _current_signature(path, folder)


def _current_signature(path: str, folder: int | None = None) -> int | None:
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return _UNKNOWN
    except OSError:
        return None
    return _signature(status)


def _signature_after_reading(status: os.stat_result, began_ns: int) -> int:
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if changed_ns > began_ns - _TIME_RESOLUTION_NS:
        # The file has just changed. Another change at once could leave the file's times
        # as they are, because the clock of a disk is coarse.
        return _UNKNOWN
    return _signature(status)


def _signature(status: os.stat_result) -> int:
    parts = (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
    return hash(parts)


def id_of(file_name: str) -> str | None:
    """Return the id in a name `{id}.json`, or None."""
    id = file_name.removesuffix(SUFFIX)
    if id == file_name or not ID.fullmatch(id):
        return None
    return id
