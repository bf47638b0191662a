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

    _FOLDER_EVENTS = (
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
    # A folder was created, removed or replaced.
    _PARENT_EVENTS = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR
    _EVENTS_LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT

_NO_BYTES = bytes(4)  # The answer of FIONREAD, a C int, if no event is queued.


class Watch:
    """Watch some folders of one parent by inotify, where the system has it.

    All folders but the first may be missing. The kernel queues an event inside the system call
    that changes a folder, so `read_events` returns every change that any process finished before.
    Belongs to the process that opened it. `identity` is the device and inode that the first folder
    had when the watch was opened.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._first_path = str(folders[0])
        self._names = {folder.name for folder in folders}
        self._numbers: dict[int, int] = {}  # The number of a folder by its watch descriptor.
        self.identity: tuple[int, int] | None = None
        self._inotify: INotify | None = None
        self._has_warned = False

    def read_events(self) -> list[tuple[int, str]] | None:
        """Return the number of the folder and the file name of each change since the last call.

        None if any name may have changed: at the first call, after a folder was replaced or the
        queue overflowed, and always without inotify. An empty name stands for the folder itself.
        Raises Unavailable if the first folder is missing.
        """
        # The watch of the parent reports a replaced folder, but no watch a replaced parent.
        if self._inotify is None or _identity(self._first_path) != self.identity:
            self._open()
            return None
        size = fcntl.ioctl(self._inotify, termios.FIONREAD, _NO_BYTES)
        if size == _NO_BYTES:
            return []
        changes = []
        data = os.read(self._inotify.fileno(), int.from_bytes(size, sys.byteorder))
        for event in parse_events(data):
            number = self._numbers.get(event.wd)  # None for an event of the parent.
            is_replaced = number is None and event.name in self._names
            if is_replaced or event.mask & _EVENTS_LOST:
                self._open()
                return None
            if number is not None:
                changes.append((number, event.name))
        return changes

    def is_quiet(self) -> bool:
        """Return whether `read_events` would return no event; other threads may read meanwhile."""
        inotify = self._inotify
        if inotify is None or _identity(self._first_path) != self.identity:
            return False
        try:
            return fcntl.ioctl(inotify, termios.FIONREAD, _NO_BYTES) == _NO_BYTES
        except (OSError, ValueError):  # Another thread has closed it.
            return False

    def _open(self) -> None:
        """Watch the folders that the paths lead to now. Raises Unavailable."""
        self.close()
        existing = [n for n, folder in enumerate(self._folders) if n == 0 or folder.exists()]
        # Every folder is looked at, because `_identity` refuses a symbolic link.
        identities = [_identity(str(self._folders[number])) for number in existing]
        self.identity = identities[0]
        try:
            if sys.platform == "linux" and not any(map(self._is_on_network, existing)):
                self._watch(existing)
        except OSError as error:  # Such as the limit of inotify instances of this user.
            self.close()
            if not self._has_warned:
                log.warning("Without inotify each request compares all files: %s", error)
            self._has_warned = True

    def _watch(self, numbers: Sequence[int]) -> None:
        self._inotify = INotify(nonblocking=True)
        # The parent comes first, so that no replacement of a folder goes unreported.
        self._inotify.add_watch(self._folders[0].parent, _PARENT_EVENTS)
        self._numbers = {
            self._inotify.add_watch(self._folders[number], _FOLDER_EVENTS): number
            for number in numbers
        }

    def _is_on_network(self, number: int) -> bool:
        """Return whether other machines can write to the folder; inotify reports no such write."""
        with files.open_folder(self._folders[number]) as descriptor:
            return bool(_NETWORK_FILE_SYSTEM.match(files.file_system(descriptor)))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the watch; the next `read_events` opens it again."""
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None


# `fuse` and `fuse.sshfs` may be network file systems, but `fuseblk` is a local disk.
_NETWORK_FILE_SYSTEM = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gluster|gfs2|ocfs2|lustre|virtiofs|vboxsf|fuse(\.|$)"
)


def _identity(folder: str) -> tuple[int, int]:
    """Return the device and inode of a folder. Raises Unavailable if it is missing or a link."""
    try:
        status = os.lstat(folder)
    except OSError as error:
        message = f"The data folder cannot be read: {_name(folder)}: {error.strerror}."
        raise Unavailable(message) from error
    if stat.S_ISLNK(status.st_mode):  # A link could lead out of the data folder.
        raise Unavailable(f"The data folder cannot be used: {_name(folder)} is a symbolic link.")
    return status.st_dev, status.st_ino


_name = os.path.basename
