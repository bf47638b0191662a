"""The files of a folder as they were last read, to find changes without inotify."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from storage import files
from storage.bookmark import ID

SUFFIX = ".json"
# FAT stores times in steps of two seconds.
_TIME_RESOLUTION_NS = 2_000_000_000
_READ_AGAIN = 0  # The signature of a file that the next comparison reports.


class KnownFiles:
    """A signature of each file `{id}.json` that was read in one folder.

    The signature changes with the file's inode, size or times.
    """

    def __init__(self) -> None:
        self._signatures: dict[str, int] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._signatures

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def remember(
        self, id: str, status: os.stat_result, reading_began_ns: int
    ) -> None:
        """Take a file for known, whose reading began at this time."""
        self._signatures[id] = _signature(status, reading_began_ns)

    def forget(self, id: str) -> None:
        """Take a file for new, if it is there again."""
        self._signatures.pop(id, None)

    def find_changed(self, folder: Path) -> list[str]:
        """Return the ids of the files that are new, changed or gone.

        Raises OSError if the folder cannot be listed.
        """
        with files.open_folder(folder) as descriptor:
            # Raises PermissionError if the folder can be listed, but no file
            # in it can be read.
            os.stat(".", dir_fd=descriptor)
            return [*self._find_new(descriptor), *self._compare(descriptor)]

    def _find_new(self, descriptor: int) -> Iterator[str]:
        with os.scandir(descriptor) as entries:
            # Most disks read close inode numbers faster one after the other.
            in_disk_order = sorted(entries, key=os.DirEntry.inode)
        for entry in in_disk_order:
            id = id_of(entry.name)
            if id and id not in self._signatures:
                yield id

    def _compare(self, descriptor: int) -> Iterator[str]:
        """Yield the known files that have changed or are gone."""
        now_ns = time.time_ns()
        for id, signature in self._signatures.items():
            if signature == _READ_AGAIN:
                yield id
                continue
            try:
                status = os.stat(
                    id + SUFFIX, dir_fd=descriptor, follow_symlinks=False
                )
            except OSError:  # Reading shows whether it is gone or unreadable.
                yield id
                continue
            if signature != _signature(status, now_ns):
                yield id


def _signature(status: os.stat_result, reading_began_ns: int) -> int:
    """Return the signature of a file with this status.

    It is `_READ_AGAIN` if another change may leave the same times.
    """
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if changed_ns > reading_began_ns - _TIME_RESOLUTION_NS:
        return _READ_AGAIN
    parts = (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
    return hash(parts)


def id_of(file_name: str) -> str | None:
    """Return the id in the file name `{id}.json`, None for any other name."""
    id = file_name.removesuffix(SUFFIX)
    if id == file_name or not ID.fullmatch(id):
        return None
    return id
