"""Names of files that have changed in some folders, by inotify."""

import fcntl
import functools
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
        | flags.MOVE_SELF  # The folder was moved away and back, which changes its ctime.
        | flags.ONLYDIR
        | flags.EXCL_UNLINK  # No events of writes to files of O_TMPFILE, which have no name.
    )
    # The queue was full, or the kernel stopped watching a folder that was deleted or unmounted.
    _EVENTS_LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT


class Watch:
    """Watch some folders by inotify, where the system has it.

    Only the first folder must exist. The kernel queues an event inside the system call that changes
    a folder, so `read_events` returns every change that was finished before the call. A forked
    child has to open another watch. Writers compare `first_folder_identity`, the device and
    inode of the first folder as it is watched, with those of the folder that they locked before: if
    they differ, the locked folder is not at its path any more.
    """

    def __init__(self, folders: Sequence[Path], one_machine: bool = False) -> None:
        """`one_machine` promises that no other machine writes to a network or FUSE file system."""
        self._folders = [str(folder) for folder in folders]  # `lstat` takes longer for a `Path`.
        self._one_machine = one_machine
        self._positions_by_watch: dict[int, int] = {}  # In `folders`, by watch descriptor.
        # Of the folders when the watch was opened.
        self._identities: list[tuple[int, int] | None] = [None for _ in folders]
        self._inotify: INotify | None = None

    @property
    def is_open(self) -> bool:
        """Whether inotify reports changes."""
        return self._inotify is not None

    @property
    def first_folder_identity(self) -> tuple[int, int] | None:
        """The device and inode of the first folder; None if it is missing."""
        return self._identities[0]

    def read_events(self) -> list[tuple[int, str]] | None:
        """Return the position in `folders` and the file name of each change since the last call.

        An empty name stands for the folder itself. Returns None if events are missing, so that the
        caller has to compare all files: at the first call, after a folder was replaced, after an
        overflow, and at each call without inotify. Raises Unavailable if the first folder
        cannot be found, or a folder is a link.
        """
        if self._inotify is None or self._is_folder_replaced():
            self._open()
            return None
        size = _size_of_queue(self._inotify)
        if size == 0:
            return []
        events = parse_events(os.read(self._inotify.fileno(), size))
        if any(event.mask & _EVENTS_LOST for event in events):
            self._open()
            return None
        return [(self._positions_by_watch[event.wd], event.name) for event in events]

    def has_no_event(self) -> bool:
        """Return True only if `read_events` would return an empty list: no change was reported.

        Needs no mutex, although another thread may read events or close the watch meanwhile.
        Raises Unavailable if the first folder cannot be found or is a link.
        """
        inotify = self._inotify  # Another thread may set the attribute to None.
        if inotify is None or self._is_folder_replaced():
            return False
        try:
            return _size_of_queue(inotify) == 0
        except (OSError, ValueError):  # Another thread has closed the watch.
            return False

    def _is_folder_replaced(self) -> bool:
        """Return whether a path leads to another folder than when the watch was opened.

        A watch follows the folder that it was opened for, so no event reports a new folder.
        """
        return [_identity(folder) for folder in self._folders] != self._identities

    def _open(self) -> None:
        """Watch the folders that are now at the paths. Raises Unavailable."""
        self.close()
        # `_identity` refuses a link, which could leave the data folder.
        self._identities = [_identity(folder) for folder in self._folders]
        if self.first_folder_identity is None:  # `tombstones/` may be missing.
            raise Unavailable("The data folder cannot be read: its folder bookmarks is missing.")
        existing = [n for n, identity in enumerate(self._identities) if identity]
        try:
            if all(reports_all_changes(self._folders[n], self._one_machine) for n in existing):
                self._inotify = inotify = INotify(nonblocking=True)
                self._positions_by_watch = {
                    inotify.add_watch(self._folders[n], _FOLDER_EVENTS): n for n in existing
                }
        except OSError as error:
            self.close()
            warn_once(_NO_INOTIFY.format(error.strerror))

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the watch; the next `read_events` opens it again."""
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None


def _size_of_queue(inotify: "INotify") -> int:
    """Return the number of bytes in the queued events. Raises OSError or ValueError if closed."""
    size = fcntl.ioctl(inotify, termios.FIONREAD, bytes(4))  # Returns the buffer with a C int.
    return int.from_bytes(size, sys.byteorder)


# Types on which inotify does not report every change: another machine, or another mount of the same
# files, may write. `fuse` and `fuse.sshfs` are among them, but `fuseblk` is a local disk.
_SHARED_FILE_SYSTEM = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gluster|gfs2|ocfs2|lustre|virtiofs|vboxsf|fuse(\.|$)|"
    r"overlay|aufs|gpfs|mmfs|beegfs|orangefs|pvfs2|wekafs|panfs|coda|acfs|vmhgfs|prl_fs"
)
_SHARED = (
    "The data is on a file system of type {}: no other machine may write there, and each request "
    "compares all files. With --one-machine the service trusts this promise and uses inotify."
)
_NO_INOTIFY = (
    "Without inotify each request compares all files: {}. If this user has no inotify instance "
    "left, allow more as root: sysctl fs.inotify.max_user_instances=1024"
)


def reports_all_changes(folder: str | Path, one_machine: bool) -> bool:
    """Return whether inotify reports every change in a folder; if not, warn once.

    Raises OSError if the folder cannot be opened.
    """
    with files.open_folder(folder) as descriptor:
        type = "" if one_machine else files.file_system(descriptor)
    if is_shared := bool(_SHARED_FILE_SYSTEM.match(type)):
        warn_once(_SHARED.format(type))
    return sys.platform == "linux" and not is_shared


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning once in a process, however many folders it opens."""
    log.warning(text)


def _identity(folder: str) -> tuple[int, int] | None:
    """Return a folder's device and inode, to notice that it was replaced; None if it is missing.

    Raises Unavailable if the folder is a link, or `lstat` fails.
    """
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"The data folder cannot be read: {os.path.basename(folder)}: {error.strerror}."
        raise Unavailable(message) from error
    if stat.S_ISLNK(status.st_mode):  # Its target may be outside the data folder.
        name = os.path.basename(folder)
        raise Unavailable(f"The data folder cannot be used: {name} is a symbolic link.")
    return status.st_dev, status.st_ino
