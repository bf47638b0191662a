"""Names of files that have changed in some folders, by inotify."""

import fcntl
import logging
import os
import re
import stat
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from storage import files
from storage.errors import Unavailable

log = logging.getLogger("bookmarks")

if sys.platform == "linux":
    from inotify_simple import INotify, flags, parse_events

    _MASK = (
        flags.CREATE
        | flags.MODIFY
        | flags.CLOSE_WRITE
        | flags.ATTRIB
        | flags.MOVED_FROM
        | flags.MOVED_TO
        | flags.DELETE
        | flags.ONLYDIR
        | flags.EXCL_UNLINK  # Staged files without a name would cause events.
    )
    _REPLACED = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR
    _LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT

_NO_BYTES = bytes(4)


class Watch:
    """Watch some folders of one parent by inotify, where the system has it.

    All folders but the first may be missing. The kernel queues an event inside the system call
    that changes a folder, so `read_events` returns every change that any process finished before.
    Belongs to the process that opened it. `identity` is the device and inode of the first folder.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._first = str(folders[0])
        self._names = {folder.name for folder in folders}
        self._identities: list[tuple[int, int] | None] = []
        self._inotify: INotify | None = None
        self._has_warned = False

    def read_events(self) -> list[tuple[int, str]] | None:
        """Return the number of the folder and the file name of each change since the last call.

        None if any name may have changed: at the first call, after a folder was replaced or the
        queue overflowed, and always without inotify. An empty name stands for the folder itself.
        Raises Unavailable if the first folder is missing.
        """
        # The parent reports when a folder is replaced, but nothing reports it of the parent.
        if self._inotify is None or [_identity(self._first)] != self._identities[:1]:
            self._open()
            return None
        size = fcntl.ioctl(self._inotify, termios.FIONREAD, _NO_BYTES)
        if size == _NO_BYTES:
            return []
        changes = []
        data = os.read(self._inotify.fileno(), int.from_bytes(size, sys.byteorder))
        for event in parse_events(data):
            number = self._numbers.get(event.wd)
            if event.mask & _LOST or number is None and event.name in self._names:
                self.close()
                return self.read_events()
            if number is not None:
                changes.append((number, event.name))
        return changes

    def is_quiet(self) -> bool:
        """Return whether `read_events` would return no event; other threads may read meanwhile."""
        inotify = self._inotify
        if inotify is None or [_identity(self._first)] != self._identities[:1]:
            return False
        try:
            return fcntl.ioctl(inotify, termios.FIONREAD, _NO_BYTES) == _NO_BYTES
        except (OSError, ValueError):  # Another thread has closed it.
            return False

    def _open(self) -> None:
        """Watch the folders that the paths lead to now."""
        self.close()
        others = [_identity(str(f)) if f.exists() else None for f in self._folders[1:]]
        self.identity = _identity(self._first)
        self._identities = [self.identity, *others]
        existing = [number for number, identity in enumerate(self._identities) if identity]
        try:
            if sys.platform == "linux" and not any(map(self._is_shared, existing)):
                self._watch(existing)
        except OSError as error:  # Such as the limit of inotify instances of this user.
            self._close_inotify()
            if not self._has_warned:
                log.warning("Without inotify each request compares all files: %s", error)
            self._has_warned = True

    def _watch(self, numbers: Sequence[int]) -> None:
        self._inotify = INotify(nonblocking=True)
        # The parent comes first, so that no replacement of a folder goes unreported.
        self._inotify.add_watch(self._folders[0].parent, _REPLACED)
        self._numbers = {
            self._inotify.add_watch(self._folders[number], _MASK): number for number in numbers
        }

    def _is_shared(self, number: int) -> bool:
        """Return whether other machines can write to the folder; inotify does not see that."""
        with files.open_folder(self._folders[number]) as descriptor:
            return bool(_SHARED.match(files.file_system(descriptor)))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the watch; the next `read_events` opens it again."""
        self._close_inotify()
        self._identities = []

    def _close_inotify(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None


# Types of network file systems. `fuse` may be one too, but `fuseblk` is a local disk.
_SHARED = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gluster|gfs2|ocfs2|lustre|virtiofs|vboxsf|fuse(\.|$)"
)


def _identity(folder: str) -> tuple[int, int]:
    try:
        status = os.lstat(folder)
    except OSError as error:
        message = f"The data folder cannot be read: {_name(folder)}: {error.strerror}."
        raise Unavailable(message) from error
    if stat.S_ISLNK(status.st_mode):  # A link could lead out of the data folder.
        raise Unavailable(f"The data folder cannot be used: {_name(folder)} is a symbolic link.")
    return status.st_dev, status.st_ino


_name = os.path.basename
