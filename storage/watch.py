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
        | flags.MODIFY  # A program writes to a file that it keeps open.
        | flags.CLOSE_WRITE  # Writing through mmap causes no MODIFY, but ends with this event.
        | flags.ATTRIB  # New permissions can make a file readable.
        | flags.MOVED_FROM
        | flags.MOVED_TO
        | flags.DELETE
        | flags.ONLYDIR
        | flags.EXCL_UNLINK  # No events of writes to staged files, which have no name yet.
    )
    # A folder was created, removed or replaced.
    _PARENT_EVENTS = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR
    # The queue was full, or the kernel stopped watching a folder that was deleted or unmounted.
    _EVENTS_LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT

# FIONREAD returns the number of queued bytes as a C int, in a copy of the buffer that it is given.
_ZERO_BYTES_QUEUED = bytes(4)


class Watch:
    """Watch some folders of one parent by inotify, where the system has it.

    All folders but the first may be missing. The kernel queues an event inside the system call
    that changes a folder, so `read_events` returns every change that was finished before the call.
    A forked child has to open a watch of its own. `first_folder_identity` is the device and inode
    that the first folder had when the watch was opened.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._first_folder = str(folders[0])
        self._folder_names = {folder.name for folder in folders}
        self._folder_numbers_by_watch: dict[int, int] = {}  # By watch descriptor.
        self.first_folder_identity: tuple[int, int] | None = None
        self._inotify: INotify | None = None
        self._has_logged_missing_inotify = False

    def read_events(self) -> list[tuple[int, str]] | None:
        """Return the number of the folder and the file name of each change since the last call.

        The number is the folder's position in `folders`. An empty name stands for the folder
        itself. Returns None if events are missing, so that the caller has to compare all files: at
        the first call, after a folder was replaced or the queue overflowed, and at each call
        without inotify. Raises Unavailable if the first folder is missing.
        """
        # If the parent was replaced, no event says so, but the first path has another folder now.
        if self._inotify is None or _identity(self._first_folder) != self.first_folder_identity:
            self._open()
            return None
        size = fcntl.ioctl(self._inotify, termios.FIONREAD, _ZERO_BYTES_QUEUED)
        if size == _ZERO_BYTES_QUEUED:
            return []
        changes = []
        data = os.read(self._inotify.fileno(), int.from_bytes(size, sys.byteorder))
        for event in parse_events(data):
            number = self._folder_numbers_by_watch.get(event.wd)
            # Apart from an overflow, only the parent's watch, which reports replaced folders, has
            # no number.
            is_folder_replaced = number is None and event.name in self._folder_names
            if is_folder_replaced or event.mask & _EVENTS_LOST:
                self._open()
                return None
            if number is not None:
                changes.append((number, event.name))
        return changes

    def has_no_event(self) -> bool:
        """Return True only if `read_events` would return an empty list.

        Needs no mutex, although another thread may read events or close the watch meanwhile.
        """
        inotify = self._inotify  # Another thread may set the attribute to None.
        if inotify is None or _identity(self._first_folder) != self.first_folder_identity:
            return False
        try:
            size = fcntl.ioctl(inotify, termios.FIONREAD, _ZERO_BYTES_QUEUED)
            return size == _ZERO_BYTES_QUEUED
        except (OSError, ValueError):  # Another thread has closed the watch.
            return False

    def _open(self) -> None:
        """Watch the folders that the paths lead to now. Raises Unavailable."""
        self.close()
        others = range(1, len(self._folders))
        # The first folder is required: if it is missing, `_identity` raises Unavailable.
        numbers = [0, *(number for number in others if self._folders[number].exists())]
        # `_identity` raises for a folder that is a link. Writers compare the identity of the first
        # folder with that of the folder that they have locked.
        identities = [_identity(str(self._folders[number])) for number in numbers]
        self.first_folder_identity = identities[0]
        try:
            if sys.platform == "linux" and not any(map(self._is_on_network, numbers)):
                self._watch(numbers)
        except OSError as error:  # Such as the limit of inotify instances of this user.
            self.close()
            if not self._has_logged_missing_inotify:
                log.warning("Without inotify each request compares all files: %s", error)
            self._has_logged_missing_inotify = True

    def _watch(self, numbers: Sequence[int]) -> None:
        self._inotify = INotify(nonblocking=True)
        # Watch the parent first, so that no folder is replaced unnoticed before its watch begins.
        self._inotify.add_watch(self._folders[0].parent, _PARENT_EVENTS)
        self._folder_numbers_by_watch = {
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
