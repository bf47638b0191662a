"""Find changed files without inotify."""

import os
from collections.abc import Iterator
from pathlib import Path

from storage import files
from storage.bookmark import ID

SUFFIX = ".json"
# FAT stores times in steps of two seconds.
_TIME_RESOLUTION_NS = 2_000_000_000
_CHANGED_JUST_NOW = -1  # `hash` never returns it, so the file is read again.


class KnownFiles:
    """The files `{id}.json` of a folder, each with a signature to notice changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._signatures: dict[str, int] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._signatures

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def remember(
        self, id: str, status: os.stat_result, reading_began_ns: int
    ) -> None:
        changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
        # The clock is coarse: if the file changes again now, its times may stay the same.
        if changed_ns > reading_began_ns - _TIME_RESOLUTION_NS:
            self._signatures[id] = _CHANGED_JUST_NOW
        else:
            self._signatures[id] = _signature(status)

    def forget(self, id: str) -> None:
        self._signatures.pop(id, None)

    def find_changed(self) -> list[str]:
        """Return the ids of files that are new, changed or gone. Raises OSError."""
        with files.open_folder(self.folder) as descriptor:
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
        for id, signature in self._signatures.items():
            if signature != _current_signature(id, descriptor):
                yield id


def _current_signature(id: str, folder: int) -> int | None:
    try:
        status = os.stat(id + SUFFIX, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
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
    """Return the id in a name `{id}.json`, None for other names."""
    id = file_name.removesuffix(SUFFIX)
    if id == file_name or not ID.fullmatch(id):
        return None
    return id
