"""Learn from inotify which files have changed."""

import fcntl
import functools
import logging
import os
import re
import stat
import sys
import termios
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.errors import Unavailable

log = logging.getLogger("bookmarks")

if sys.platform == "linux":
    from inotify_simple import INotify, flags, parse_events

    _FOLDER_EVENTS = (
        flags.CREATE
        | flags.MODIFY
        | flags.CLOSE_WRITE  # Writing through mmap causes no MODIFY.
        | flags.ATTRIB  # New permissions can make a file readable.
        | flags.MOVED_FROM
        | flags.MOVED_TO
        | flags.DELETE
        | flags.MOVE_SELF
        | flags.ONLYDIR
        | flags.EXCL_UNLINK  # Ignore files without a name.
    )
    _EVENTS_LOST = flags.Q_OVERFLOW | flags.IGNORED | flags.UNMOUNT

# File systems where inotify misses changes of other machines or mounts.
_SHARED_FILE_SYSTEM = re.compile(
    r"nfs|cifs|smb|9p|afs|ceph|gluster|gfs2|ocfs2|lustre|virtiofs|vboxsf|"
    r"fuse(\.|$)|overlay|aufs|gpfs|mmfs|beegfs|orangefs|pvfs2|wekafs|panfs|"
    r"coda|acfs|vmhgfs|prl_fs"
)
_SHARED_TEXT = (
    "The data is on a file system of type {}: no other machine may write there, and each request "
    "compares all files. With --one-machine the service trusts this promise and uses inotify."
)
_NO_INOTIFY_TEXT = (
    "Without inotify each request compares all files: {}. If this user has no inotify instance "
    "left, allow more as root: sysctl fs.inotify.max_user_instances=1024"
)

Identity = tuple[int, int]  # The device and inode of a folder.


class Event(NamedTuple):
    """A change of a file in a folder, or of the folder itself."""

    folder: str
    file_name: str  # Empty for a change of the folder itself.

    @property
    def is_change_of_folder(self) -> bool:
        return self.file_name == ""


class Watch:
    """Watch folders by inotify, if possible."""

    def __init__(
        self, folders: Sequence[Path], one_machine: bool = False
    ) -> None:
        """Only the first folder has to exist."""
        self._folders = [str(folder) for folder in folders]
        self._identities_when_opened: list[Identity | None] = [None] * len(folders)
        self._one_machine = one_machine
        self._inotify: INotify | None = None
        self._folder_by_descriptor: dict[int, str] = {}
        # Whether the last attempt to use inotify failed. `read_events` tries again.
        self.lacks_inotify = False

    @property
    def first_folder_identity(self) -> Identity | None:
        return self._identities_when_opened[0]

    def read_events(self) -> list[Event] | None:
        """Return the changes since the last call, or None if some are unknown.

        Raises Unavailable.
        """
        if self._inotify is None or self._is_folder_replaced():
            self._open()
            return None
        size = _size_of_queue(self._inotify)
        if size == 0:
            return []
        events = []
        for event in parse_events(os.read(self._inotify.fileno(), size)):
            if event.mask & _EVENTS_LOST:
                self._open()
                return None
            events.append(Event(self._folder_by_descriptor[event.wd], event.name))
        return events

    def may_have_changed(self) -> bool:
        """Return whether a file may have changed. Thread-safe. Raises Unavailable."""
        inotify = self._inotify  # Another thread may set `_inotify` to None.
        if inotify is None or self._is_folder_replaced():
            return True
        try:
            return _size_of_queue(inotify) > 0
        except (OSError, ValueError):  # Another thread has closed `inotify`.
            return True

    def _is_folder_replaced(self) -> bool:
        return self._read_identities() != self._identities_when_opened

    def _read_identities(self) -> list[Identity | None]:
        return [_identity(folder) for folder in self._folders]

    def _open(self) -> None:
        self.close()
        # Read the identities before watching the folders. If a folder is replaced in between,
        # the next `read_events` notices it.
        self._identities_when_opened = self._read_identities()
        if self.first_folder_identity is None:
            raise Unavailable(files.FOLDER_MISSING_TEXT)
        try:
            self._watch_existing_folders()
        except OSError as error:
            self.close()
            warn_once(_NO_INOTIFY_TEXT.format(error.strerror))
        self.lacks_inotify = self._inotify is None

    def _watch_existing_folders(self) -> None:
        existing = [folder for folder in self._folders if os.path.lexists(folder)]
        for folder in existing:
            if not reports_all_changes(folder, self._one_machine):
                return  # Without `_inotify`, callers of `read_events` compare all files.
        self._inotify = INotify(nonblocking=True)
        # Close inotify when the watch is freed. Otherwise Python would warn of an open file.
        self._close_inotify = weakref.finalize(self, self._inotify.close)
        for folder in existing:
            descriptor = self._inotify.add_watch(folder, _FOLDER_EVENTS)
            self._folder_by_descriptor[descriptor] = folder

    def close(self) -> None:
        """Stop watching until the next `read_events`."""
        if self._inotify is not None:
            self._close_inotify()
        self._inotify = None


def _size_of_queue(inotify: "INotify") -> int:
    # The kernel writes a C int into the buffer.
    size = fcntl.ioctl(inotify, termios.FIONREAD, bytes(4))
    return int.from_bytes(size, sys.byteorder)


def reports_all_changes(folder: str | Path, one_machine: bool) -> bool:
    """Return whether inotify reports all changes in a folder. Raises OSError.

    Logs a warning for a shared file system.
    """
    with files.open_folder(folder) as descriptor:
        type = files.file_system(descriptor)
    if _SHARED_FILE_SYSTEM.match(type) and not one_machine:
        warn_once(_SHARED_TEXT.format(type))
        return False
    return sys.platform == "linux"


@functools.cache
def warn_once(text: str) -> None:
    log.warning(text)


def _identity(folder: str) -> Identity | None:
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        name = os.path.basename(folder)
        raise Unavailable(
            f"The data folder cannot be read: {name}: {error.strerror}."
        ) from error
    if stat.S_ISLNK(status.st_mode):  # The target may be in another folder.
        name = os.path.basename(folder)
        raise Unavailable(
            f"The data folder cannot be used: {name} is a symbolic link."
        )
    return status.st_dev, status.st_ino
