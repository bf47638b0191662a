"""Find changed files without inotify."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from storage import files
from storage.bookmark import ID

SUFFIX = ".json"
# FAT stores times in steps of two seconds.
_TIME_RESOLUTION_NS = 2_000_000_000
_READ_AGAIN = 0  # A file with this signature is always read again.


class KnownFiles:
    """The files `{id}.json` of a folder, each with a signature to notice changes."""

    def __init__(self) -> None:
        self._signatures: dict[str, int] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._signatures

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def remember(
        self, id: str, status: os.stat_result, reading_began_ns: int
    ) -> None:
        self._signatures[id] = _signature(status, reading_began_ns)

    def forget(self, id: str) -> None:
        self._signatures.pop(id, None)

    def find_changed(self, folder: Path) -> list[str]:
        """Return the ids of files that are new, changed or gone. Raises OSError."""
        with files.open_folder(folder) as descriptor:
            # Raise PermissionError if this user cannot reach any file.
            os.stat(".", dir_fd=descriptor)
            new = self._find_new(descriptor)
            return [*new, *self._find_changed_or_gone(descriptor)]

    def _find_new(self, descriptor: int) -> Iterator[str]:
        with os.scandir(descriptor) as entries:
            # Most disks read files faster in the order of inodes.
            in_disk_order = sorted(entries, key=os.DirEntry.inode)
        for entry in in_disk_order:
            id = id_of(entry.name)
            if id and id not in self._signatures:
                yield id

    def _find_changed_or_gone(self, descriptor: int) -> Iterator[str]:
        now_ns = time.time_ns()
        for id, signature in self._signatures.items():
            if signature == _READ_AGAIN:
                yield id
                continue
            try:
                status = os.stat(
                    id + SUFFIX, dir_fd=descriptor, follow_symlinks=False
                )
            except OSError:
                yield id
                continue
            if signature != _signature(status, now_ns):
                yield id


def _signature(status: os.stat_result, reading_began_ns: int) -> int:
    """Return the signature of a file, or `_READ_AGAIN` if the file has just changed."""
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if changed_ns > reading_began_ns - _TIME_RESOLUTION_NS:
        return _READ_AGAIN  # Another change may leave the same times.
    parts = (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
    return hash(parts)


def id_of(file_name: str) -> str | None:
    """Return the id in a name such as `abc.json`, None for other names."""
    id = file_name.removesuffix(SUFFIX)
    if id == file_name or not ID.fullmatch(id):
        return None
    return id
