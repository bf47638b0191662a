"""What changed in some folders since the last look."""

import fcntl
import logging
import math
import os
import re
import stat
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

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
        | flags.EXCL_UNLINK  # Files that are being staged without a name would tell of themselves.
    )
    _REPLACED = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR
    _LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT

_NO_BYTES = bytes(4)
# So long all is compared before inotify is asked for once more, where the system refused it.
_RETRY_SECONDS = 10.0


class Watch:
    """Watches folders of one parent, by inotify where the system has it. All but the first may be
    missing.

    The kernel queues an event inside the very call that changes the folder, so that a look sees
    every change that any process finished before. Belongs to the process that made it.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._first = str(folders[0])
        self._names = {folder.name for folder in folders}
        self._identities: list[tuple[int, int] | None] = []
        self._inotify: INotify | None = None
        self._retry_at, self._warned = math.inf, False

    def changes(self) -> list[tuple[int, str]] | None:
        """Each changed name with its folder's number, or None: any name may have changed.

        None comes at the first look, after a folder was replaced or a queue overflowed, and always
        where there is no inotify. Raises Unavailable if the first folder is missing.
        """
        # The parent tells when one of the folders is replaced; what happens above it, nobody tells.
        if self._inotify is None or [_identity(self._first)] != self._identities[:1]:
            self._open()
            return None
        told = fcntl.ioctl(self._inotify, termios.FIONREAD, _NO_BYTES)
        if told == _NO_BYTES:
            return []
        changes = []
        size = int.from_bytes(told, sys.byteorder)
        for event in parse_events(os.read(self._inotify.fileno(), size)):
            number = self._numbers.get(event.wd)
            if event.mask & _LOST or number is None and event.name in self._names:
                self.close()
                return self.changes()
            if number is not None:
                changes.append((number, event.name))
        return changes

    def is_quiet(self) -> bool:
        """Whether `changes` would name none: it costs less, and another thread may ask for those at
        the same time. Raises Unavailable if the first folder is missing.
        """
        watched = self._inotify
        if watched is None or [_identity(self._first)] != self._identities[:1]:
            return False
        try:
            return fcntl.ioctl(watched, termios.FIONREAD, _NO_BYTES) == _NO_BYTES
        except (OSError, ValueError):  # Closed just now.
            return False

    @property
    def tells(self) -> bool:
        """Whether the system names what has changed."""
        return self._inotify is not None

    @property
    def identity(self) -> tuple[int, int] | None:
        """The device and inode of the first folder, as it was at the last look."""
        return self._identities[0]

    def _open(self) -> None:
        """Watches what the paths lead to now; without inotify there is nothing to watch."""
        others = [_identity_if_there(str(folder)) for folder in self._folders[1:]]
        identities = [_identity(self._first), *others]
        if identities == self._identities and time.monotonic() < self._retry_at:
            return
        self.close()
        self._retry_at = math.inf
        there = [number for number, identity in enumerate(identities) if identity]
        try:
            shared = any(_is_shared(self._folders[number]) for number in there)
            if sys.platform == "linux" and not shared:
                self._begin(there)
        except OSError as error:  # None left for this user or process now, or a disk without.
            self.close()
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            if not self._warned:
                log.warning("Each request compares all files, for want of inotify: %s", error)
            self._warned = True
        self._identities = identities

    def _begin(self, there: Sequence[int]) -> None:
        self._inotify = INotify(nonblocking=True)
        # First, so that it tells of what happens to the others from here on.
        self._inotify.add_watch(self._folders[0].parent, _REPLACED)
        self._numbers = {
            self._inotify.add_watch(self._folders[number], _MASK): number for number in there
        }

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the watch; the next look begins a new one."""
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None
        self._identities = []


def _identity(folder: str) -> tuple[int, int]:
    try:
        status = os.lstat(folder)
    except OSError as error:
        message = f"The data folder cannot be read: {_name(folder)}: {error.strerror}."
        raise Unavailable(message) from error
    if stat.S_ISLNK(status.st_mode):  # It may lead anywhere.
        raise Unavailable(f"The data folder cannot be used: {_name(folder)} is a symbolic link.")
    return status.st_dev, status.st_ino


def _identity_if_there(folder: str) -> tuple[int, int] | None:
    try:
        return _identity(folder)
    except Unavailable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


_name = os.path.basename


# Disks that other machines can write to: of their changes inotify tells nothing.
_SHARED = re.compile(r"nfs|cifs|smb|9p|afs|ceph|gluster|gfs2|ocfs2|lustre|virtiofs|vboxsf|fuse\.")


def _is_shared(folder: Path) -> bool:
    """Whether the folder is on a disk of several machines, as /proc/self/mountinfo tells."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        mount, _, disk = line.partition(" - ")
        if mount.split()[2] == number:
            return bool(_SHARED.match(disk))
    return False
