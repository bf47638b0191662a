"""Read files, and write them so that a power cut leaves only whole files."""

import errno
import os
import random
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from storage.errors import Busy, Full, OutcomeUnknown, StorageError, Unavailable

MAX_FILE_SIZE = 16 * 1024 * 1024
ABANDONED_SECONDS = 3600.0
SYNC_THREADS = 16

# With O_NONBLOCK, opening a named pipe does not wait for its writer.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_O_TMPFILE = getattr(os, "O_TMPFILE", 0)
_TEMPORARY_NAME = re.compile(r"\..+\.json\.[0-9a-f]{16}\.tmp")

# These errors are not caused by the file that is opened.
_ERRORS_OF_ALL_FILES = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOTDIR}
_ERRORS_WITHOUT_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}
_ERRORS_WITHOUT_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}

FOLDER_MISSING_TEXT = (
    "The data folder cannot be read: its folder bookmarks is missing. "
    "Put it back, or make an empty one to begin without bookmarks."
)
_NAME_TAKEN_TEXT = "Another program has just added this file. Try again."


class BadFile(StorageError):
    """A file cannot be used."""


class ReadFailed(BadFile):
    """A file could not be read. A later attempt may succeed."""


def read(path: str | Path, folder: int | None = None) -> tuple[bytes, os.stat_result]:
    """Return a file's bytes, and its status before they were read.

    Raises FileNotFoundError, BadFile or Unavailable.
    """
    try:
        descriptor = os.open(path, _READ_FLAGS, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadFile("is not a regular file")
            if status.st_size > MAX_FILE_SIZE:
                raise BadFile(f"is larger than {MAX_FILE_SIZE:,} bytes")
            return _read_bytes(descriptor, status.st_size), status
        finally:
            close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _read_error(error) from error


def _read_bytes(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    # The file has just grown, or a network disk has returned only a part.
    while chunk := os.read(descriptor, 65_536):
        data += chunk
    return data


def _read_error(error: OSError) -> StorageError:
    if error.errno in _ERRORS_OF_ALL_FILES:
        return Unavailable(f"The data folder cannot be read: {error.strerror}.")
    if error.errno == errno.ELOOP:
        return BadFile("is a symbolic link")
    if error.errno == errno.ENXIO:  # The file is a socket.
        return BadFile("is not a regular file")
    return ReadFailed(f"cannot be read: {error.strerror}")


@contextmanager
def open_file(
    path: str | Path, flags: int = _READ_FLAGS, folder: int | None = None
) -> Iterator[int]:
    """Open a file for a `with` block. Raises OSError."""
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        close(descriptor)


def close(descriptor: int) -> None:
    """Close a file, and ignore errors. A file to keep must be synced before."""
    with suppress(OSError):
        os.close(descriptor)


def is_missing(path: str | Path, folder: int | None = None) -> bool:
    """Return whether no file has this name. After an error, return False."""
    try:
        os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def translate_disk_errors(problem: str = "The disk cannot be written") -> Iterator[None]:
    """Raise Full, or Unavailable with `problem`, if the block raises an OSError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Full("The disk is full.") from error
        raise Unavailable(f"{problem}: {error.strerror}.") from error


class Staged:
    """A new file that has no name until it is published.

    If the process crashes, the kernel removes the file. On file systems that require names, the
    file has a temporary name. The end of the `with` block discards an unpublished file. Methods
    raise Full or Unavailable.
    """

    def __init__(self, folder: int, name: str, data: bytes) -> None:
        self._folder = folder
        self._name = name
        self._temporary_name = f".{name}.{random.getrandbits(64):016x}.tmp"
        self._has_temporary_name = False
        with translate_disk_errors():
            self.descriptor = self._open()
            try:
                _write_bytes(self.descriptor, data)
            except BaseException:
                self._discard()
                raise

    def _open(self) -> int:
        if not _O_TMPFILE:
            return self._open_with_temporary_name()
        flags = os.O_WRONLY | os.O_CLOEXEC | _O_TMPFILE
        try:
            return os.open(".", flags, 0o666, dir_fd=self._folder)
        except OSError as error:
            if error.errno not in _ERRORS_WITHOUT_TMPFILE:
                raise
        return self._open_with_temporary_name()

    def _open_with_temporary_name(self) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
        descriptor = os.open(self._temporary_name, flags, 0o666, dir_fd=self._folder)
        self._has_temporary_name = True
        return descriptor

    @property
    def changed_at(self) -> float:
        """The file's ctime. Publishing the file changes it."""
        with translate_disk_errors():
            return os.fstat(self.descriptor).st_ctime

    def publish_new(self) -> None:
        """Give the file its name. Raises Busy if another file has this name."""
        with translate_disk_errors():
            try:
                self._link(self._name)
            except FileExistsError:
                raise Busy(_NAME_TAKEN_TEXT) from None
            except OSError as error:
                if error.errno in _ERRORS_WITHOUT_HARD_LINKS and self._has_temporary_name:
                    self._rename_without_replacing()
                else:
                    raise

    def _rename_without_replacing(self) -> None:
        if not is_missing(self._name, self._folder):
            raise Busy(_NAME_TAKEN_TEXT)
        self._rename()

    def replace_old(self) -> None:
        """Give the file its name, in place of the old file that has this name."""
        with translate_disk_errors():
            # os.rename replaces a file, but needs a name. os.link does not replace a file.
            if not self._has_temporary_name:
                self._link(self._temporary_name)
                self._has_temporary_name = True
            self._rename()

    def _rename(self) -> None:
        os.rename(
            self._temporary_name,
            self._name,
            src_dir_fd=self._folder,
            dst_dir_fd=self._folder,
        )
        self._has_temporary_name = False

    def _link(self, name: str) -> None:
        if self._has_temporary_name:
            source = self._temporary_name
        else:
            source = f"/proc/self/fd/{self.descriptor}"
        os.link(source, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _discard(self) -> None:
        if self._has_temporary_name:
            with suppress(OSError):
                os.unlink(self._temporary_name, dir_fd=self._folder)
        close(self.descriptor)

    def __enter__(self) -> "Staged":
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()


def _write_bytes(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.write(descriptor, rest)
        rest = rest[written:]


def remove(name: str, folder: int) -> None:
    """Remove a file if it exists. Raises Full or Unavailable."""
    with translate_disk_errors(), suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def open_folder(path: str | Path, folder: int | None = None) -> AbstractContextManager[int]:
    """Open a folder for a `with` block. Raises OSError."""
    return open_file(path, _FOLDER_FLAGS, folder)


def sync_folder(folder: int, changed_file: int | None = None) -> None:
    """Make the names of files in an open folder durable. Raises OutcomeUnknown.

    XFS reports some errors only when a file is synced, so `changed_file` is synced too.
    """
    try:
        os.fsync(folder)
        if changed_file is not None:
            os.fsync(changed_file)
    except OSError as error:
        raise OutcomeUnknown(
            f"The disk cannot be synced: {error.strerror}. The change may be stored or not: "
            "read the bookmark before you send it again."
        ) from error


def sync(descriptors: Sequence[int]) -> None:
    """Make open files durable. Raises Full or Unavailable."""
    with translate_disk_errors():
        if len(descriptors) == 1:
            os.fsync(descriptors[0])
        elif descriptors:
            # Files that are synced at the same time share one write of the disk's journal.
            with ThreadPoolExecutor(SYNC_THREADS) as pool:
                list(pool.map(os.fsync, descriptors))  # `list` raises the errors of the threads.


def file_system(descriptor: int) -> str:
    """Return the type of a folder's file system, such as `ext4`, or "" if it is unknown.

    Raises OSError.
    """
    if sys.platform != "linux":
        return ""
    mount_id = _mount_id(descriptor)
    # A mount point may contain \r, which must not end the line.
    with open("/proc/self/mountinfo", errors="replace", newline="\n") as mounts:
        for line in mounts:
            # Mount 24 of type ext4: `24 1 8:1 / / rw - ext4 /dev/sda1 rw` (proc_pid_mountinfo(5))
            id_and_options, _, type_and_source = line.partition(" - ")
            if id_and_options.split()[0] == mount_id:
                return type_and_source.split()[0]
    return ""


def _mount_id(descriptor: int) -> str:
    info = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    for line in info.splitlines():
        name, _, value = line.partition(":")
        if name == "mnt_id":
            return value.strip()
    return ""


def make_folder(path: Path) -> None:
    """Create a missing folder durably. Raises Full or Unavailable."""
    if path.is_dir():
        return
    problem = f"The folder {path} cannot be created"
    with translate_disk_errors(problem):
        try:
            # Other users must not read the folder, because then they could lock it too.
            path.mkdir(0o700, exist_ok=True)
        except FileNotFoundError:
            reason = f"its parent folder {path.parent} does not exist. Create that folder first"
            raise Unavailable(f"{problem}: {reason}.") from None
        with open_folder(path.parent) as parent:
            sync_folder(parent)


def is_readable(data: Path) -> bool:
    """Return whether bookmarks can be listed."""
    try:
        if not os.listdir(data):
            return True  # `bookmarks` is not created yet.
        with os.scandir(data / "bookmarks") as entries:
            next(entries, None)
    except OSError:
        return False
    return True


def is_temporary(name: str) -> bool:
    return _TEMPORARY_NAME.fullmatch(name) is not None


def is_abandoned(path: Path) -> bool:
    """Return whether a temporary file is so old that its writer must have crashed."""
    try:
        changed_at = path.lstat().st_mtime
    except FileNotFoundError:
        return False
    return changed_at < time.time() - ABANDONED_SECONDS
