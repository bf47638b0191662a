"""Durable files: read, stage, publish, sync, and the folder's lock. Knows no bookmark.

A file is written whole to a place without its name, synced, and only then given the name, in one
step that a reader sees completely or not at all; the folder is synced last, so that the new name
survives a power cut.
"""

import ctypes
import errno
import fcntl
import functools
import os
import random
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from storage.errors import Busy, Full, Stale, StorageError, Unavailable

MAX_SIZE = 16 * 1024 * 1024
LOCK_SECONDS = 5.0
STALE_SECONDS = 3600.0

Content = tuple[bytes, os.stat_result]

_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_A_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_TEMPORARY = re.compile(r"\..+\.(?:json|index)\.[0-9a-f]{16}\.tmp")
_O_TMPFILE = getattr(os, "O_TMPFILE", 0)
_OF_THE_FILE = {
    errno.ELOOP: "is a symbolic link",
    errno.ENXIO: "is not a regular file",
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: not permitted",
}
_NO_LINK = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}
_NO_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}


class BadFile(StorageError):
    """What is there under this name is not a file that can be read; the text says why."""


class Failing(BadFile):
    """The disk fails to give a file now: the next time it may not, and nobody tells."""


def read(path: str | Path, limit: int = MAX_SIZE) -> Content:
    """A regular file's bytes, up to a limit, and its status from before they were read.

    Raises FileNotFoundError, BadFile if it is a link, no file, too large or not readable, or
    Unavailable if nothing could be opened or read now.
    """
    return _read_open(_open(path), limit)


def read_all(folder: Path, names: Sequence[str]) -> Iterator[Content | StorageError | None]:
    """Each file of the folder as `read` gives it, or what that raises; None if there is none.

    Once the disk turns out to be slow, the next ones are asked for ahead.
    """
    begun = time.perf_counter()
    first = [_content(_opened(folder, name)) for name in names[:_CHUNK]]
    is_slow = time.perf_counter() - begun > _SLOW * _CHUNK
    yield from first
    if is_slow:
        yield from _read_ahead(folder, names[_CHUNK:])
    else:
        for name in names[_CHUNK:]:
            yield _content(_opened(folder, name))


_CHUNK = 128  # Files that are open at once.
_SLOW = 60e-6  # Seconds for a file that does not come from memory.


def _read_ahead(folder: Path, names: Sequence[str]) -> Iterator[Content | StorageError | None]:
    read = functools.partial(_read_chunk, folder)
    with ThreadPoolExecutor(2) as readers:
        for start in range(0, len(names), 32 * _CHUNK):  # Not all at once: it may be too much.
            stop = min(start + 32 * _CHUNK, len(names))
            chunks = [names[i : min(i + _CHUNK, stop)] for i in range(start, stop, _CHUNK)]
            for contents in readers.map(read, chunks):
                yield from contents


def _read_chunk(folder: Path, names: Sequence[str]) -> list[Content | StorageError | None]:
    """Opens all, so that the disk can read them in the best order, and then reads them."""
    opened = [_opened(folder, name) for name in names]
    for file in opened:
        if isinstance(file, int) and hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # A pipe takes no advice.
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
    return [_content(file) for file in opened]


def _opened(folder: Path, name: str) -> int | StorageError | None:
    try:
        return _open(f"{folder}/{name}")
    except FileNotFoundError:
        return None
    except StorageError as error:
        return error


def _content(opened: int | StorageError | None) -> Content | StorageError | None:
    if not isinstance(opened, int):
        return opened
    try:
        return _read_open(opened)
    except StorageError as error:
        return error


def _open(path: str | Path) -> int:
    try:
        return os.open(path, _TO_READ)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _bad(error) from error


def _read_open(descriptor: int, limit: int = MAX_SIZE) -> Content:
    """The open file's bytes and status; closes it."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadFile("is not a regular file")
        if status.st_size > limit:
            raise BadFile(f"is larger than {limit:,} bytes")
        return _read_all(descriptor, status.st_size), status
    except OSError as error:
        raise _bad(error) from error
    finally:
        os.close(descriptor)


def _bad(error: OSError) -> StorageError:
    """Whether an error is about this one file, or about all of them."""
    if error.errno == errno.EIO:
        return Failing("cannot be read: the disk fails")
    if error.errno in _OF_THE_FILE:
        return BadFile(_OF_THE_FILE[error.errno])
    return Unavailable(f"The data folder cannot be read: {error.strerror}.")


def _read_all(descriptor: int, size: int) -> bytes:
    """Everything, mostly in one read: a byte is asked for that is not there."""
    data = chunk = os.read(descriptor, size + 1)
    while len(data) > size and chunk:
        chunk = os.read(descriptor, 65_536)
        data += chunk
    return data


class _Failures:
    """Names what the disk refuses: raises Full or Unavailable for an OSError. A context manager."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, OSError):
            return
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Full("The disk is full.") from error
        raise Unavailable(f"The disk cannot be written: {error.strerror}.") from error


_failures = _Failures()


class Staged:
    """New content for `folder/name`, on the disk but not yet under its name.

    Where the file system can, it has no name at all, so that a crash leaves nothing behind and a
    copy of the folder made meanwhile never meets half a file. A context manager: what was not
    published is discarded. Until it is left, `settled` waits for it. Raises Full or Unavailable.
    """

    def __init__(
        self, folder: Path, name: str, data: bytes, durable: bool = True, mode: int = 0o666
    ) -> None:
        self._target = f"{folder}/{name}"
        self._temporary = f"{folder}/.{name}.{random.getrandbits(64):016x}.tmp"
        self._named = False
        with _failures:
            self._descriptor = self._open(folder, mode)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
                _write_all(self._descriptor, data)
                if durable:
                    self.sync()
            except BaseException:
                self.discard()
                raise

    def _open(self, folder: Path, mode: int) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC
        if _O_TMPFILE:
            try:
                return os.open(folder, flags | _O_TMPFILE, mode)
            except OSError as error:
                if error.errno not in _NO_TMPFILE:
                    raise
        descriptor = os.open(self._temporary, flags | os.O_CREAT | os.O_EXCL, mode)
        self._named = True
        return descriptor

    @property
    def written(self) -> float:
        """When the content was written, as a reader of the file will see it."""
        with _failures:
            return os.fstat(self._descriptor).st_mtime

    def sync(self) -> None:
        """Makes the content durable. Raises OSError."""
        os.fsync(self._descriptor)

    def publish_new(self) -> bool:
        """Gives the content its name; whether by a link, not a rename. Raises Stale if something
        has that name.
        """
        with _failures:
            try:
                self._link(self._target)
                return True
            except FileExistsError:
                raise Stale from None
            except OSError as error:
                if not self._named or error.errno not in _NO_LINK:
                    raise
                os.rename(self._temporary, self._target)
                self._named = False
                return False

    def publish(self) -> None:
        """Gives the content its name, in place of what had the name before."""
        with _failures:
            if not self._named:
                self._link(self._temporary)
                self._named = True
            os.rename(self._temporary, self._target)
            self._named = False

    def _link(self, path: str) -> None:
        if self._named:
            os.link(self._temporary, path)
        else:
            # What stands behind the name is linked only if a descriptor is given besides.
            os.link(f"/proc/self/fd/{self._descriptor}", path, src_dir_fd=self._descriptor)

    def discard(self) -> None:
        """Leaves nothing of what was not published."""
        if self._named:
            with suppress(OSError):  # What remains all the same, a later start sweeps.
                os.unlink(self._temporary)
            self._named = False
        _release(self._descriptor)

    def __enter__(self) -> "Staged":
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """The descriptor of a folder while the block lasts. Raises OSError."""
    descriptor = os.open(folder, _A_FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync(folder: Path) -> None:
    """Makes the folder's names durable. Raises Full or Unavailable."""
    with _failures, opened(folder) as descriptor:
        os.fsync(descriptor)


class Folder:
    """A folder that is opened before anything is written to it. To sync it afterwards takes no
    descriptor, of which there may be none left, and a sync of its disk tells of all that failed
    since. A context manager. Raises Full or Unavailable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _failures:
            self._descriptor = os.open(path, _A_FOLDER)

    def sync(self) -> None:
        """Makes the names durable that were made by the path, though it lead elsewhere by now."""
        with _failures:
            if os.path.samestat(os.stat(self._path), os.fstat(self._descriptor)):
                os.fsync(self._descriptor)
                return
        sync(self._path)

    def sync_disk(self, staged: Sequence[Staged]) -> None:
        """Makes staged content durable, all of it at once where the system can."""
        with _failures:
            sync_disk = _syncfs()
            if sync_disk is None:
                for one in staged:
                    one.sync()
            elif sync_disk(self._descriptor):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _syncfs() -> Callable[[int], int] | None:
    """syncfs(2), where it tells of failures: since Linux 5.8."""
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    if os.uname().sysname != "Linux" or release < (5, 8):
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return found


def settled(path: Path) -> None:
    """Waits until whoever published this file knows whether it is durable.

    Raises FileNotFoundError, Busy after 5 seconds, or Unavailable.
    """
    try:
        descriptor = os.open(path, _TO_READ)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unavailable(f"A file cannot be opened: {error.strerror}.") from error
    try:
        _flock(descriptor, fcntl.LOCK_SH, time.monotonic() + LOCK_SECONDS)
    finally:
        _release(descriptor)


def remove(path: Path) -> None:
    """Removes a file, if it is there. Raises Full or Unavailable."""
    with _failures:
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Makes a folder that its parent holds durably, if it is not there yet.

    Raises Full or Unavailable, for a missing parent too.
    """
    with _failures:
        if path.is_dir():
            return
        path.mkdir(exist_ok=True)
    sync(path.parent)


def make_folders(paths: Sequence[Path]) -> None:
    """Makes those that are not there yet, in this order. Raises Full, or Unavailable naming one."""
    for path in paths:
        try:
            make_folder(path)
        except Unavailable as error:
            raise Unavailable(f"The folder {path} cannot be used. {error}") from error


def require_writable(paths: Sequence[Path]) -> None:
    """Raises Unavailable, naming the folder, if this user must not write to one of them.

    A disk that is read-only for all may be read, and may become writable.
    """
    for path in paths:
        there = path if path.exists() else path.parent  # Where it is made when it is needed.
        if not is_open_to_us(there) and not _is_read_only(there):
            raise Unavailable(f"The folder {there} cannot be written: permission denied.")


def is_open_to_us(path: Path) -> bool:
    """Whether this user may write to a folder, on a disk that may be written."""
    # Not to whoever started this: rights may have been given or dropped since.
    return os.access(path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def is_temporary(name: str) -> bool:
    """Whether content that is not published yet has this name."""
    return name.startswith(".") and bool(_TEMPORARY.fullmatch(name))


def is_stale(path: Path) -> bool:
    """Whether the file was last touched more than an hour ago."""
    try:
        return path.lstat().st_mtime < time.time() - STALE_SECONDS
    except FileNotFoundError:
        return False


class Lock:
    """One writer at a time over the threads and processes that share a folder: `flock` on the
    folder itself, so that there is no lock file to lose, copy or leave behind. A context manager.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._threads = threading.Lock()

    def check(self) -> None:
        """Raises Unavailable if this file system cannot lock."""
        descriptor = self._open()
        try:
            _flock(descriptor, fcntl.LOCK_SH, time.monotonic())
        except Busy:
            pass  # Somebody holds it: it works.
        finally:
            _release(descriptor)

    def __enter__(self) -> tuple[int, int]:
        """The device and inode of the folder that is locked while the block lasts: by now, the
        path may lead to another.

        Raises Busy if the lock cannot be had in 5 seconds, Unavailable if it cannot work.
        """
        deadline = time.monotonic() + LOCK_SECONDS
        # All that can be done before others have to wait is done before.
        descriptor = self._open()
        try:
            with _failures:
                status = os.fstat(descriptor)
            if not self._threads.acquire(timeout=LOCK_SECONDS):
                raise Busy(_BUSY)
            try:
                _flock(descriptor, fcntl.LOCK_EX, deadline)
            except BaseException:
                self._threads.release()
                raise
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return status.st_dev, status.st_ino

    def __exit__(self, *_: object) -> None:
        descriptor = self._descriptor  # The next one to hold it has another.
        _unlock(descriptor)
        self._threads.release()
        os.close(descriptor)

    def _open(self) -> int:
        try:
            return os.open(self._folder, _A_FOLDER)
        except OSError as error:
            raise Unavailable(f"The data folder cannot be opened: {error.strerror}.") from error


def _flock(descriptor: int, kind: int, deadline: float) -> None:
    """Locks the open file. Raises Busy at the deadline, Unavailable if it cannot be locked."""
    pause = 0.0001
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Busy(_BUSY) from None
        except OSError as error:
            raise Unavailable(
                f"The data folder cannot be locked: {error.strerror}. "
                "Put it on a file system that supports flock."
            ) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.005)


def _unlock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:  # To close it, which is next, has to do.
        pass


def _release(descriptor: int) -> None:
    # Closing is not enough: a child forked meanwhile has the same open file, and so the lock.
    _unlock(descriptor)
    os.close(descriptor)


_BUSY = "The data folder's lock was not had within 5 seconds."
