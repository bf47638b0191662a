"""Durable files: read, stage, publish, sync, and the folder's lock. Knows no bookmark.

A file is written whole to a place without its name, synced, and only then given the name, in one
step that a reader sees completely or not at all; the folder is synced last, so that the new name
survives a power cut.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from storage.errors import Busy, Full, StorageError, Unavailable

MAX_SIZE = 16 * 1024 * 1024
LOCK_SECONDS = 5.0
STALE_SECONDS = 3600.0

_TEMPORARY = re.compile(r"\.[^/]+\.[0-9a-f]{16}\.tmp")
_O_TMPFILE = getattr(os, "O_TMPFILE", 0)
_NO_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}


class BadFile(StorageError):
    """What is there under this name is not a file that can be read; the text says why."""


def read(path: Path) -> tuple[bytes, os.stat_result]:
    """A regular file's bytes and its status from before they were read.

    Raises FileNotFoundError, or BadFile if it is a link, no file, too large or not readable.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadFile("is a symbolic link") from None
        if error.errno == errno.ENXIO:
            raise BadFile("is not a regular file") from None
        raise BadFile(f"cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadFile("is not a regular file")
        if status.st_size > MAX_SIZE:
            raise BadFile(f"is larger than {MAX_SIZE:,} bytes")
        return _read_all(descriptor), status
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    chunks = []
    while chunk := os.read(descriptor, 65_536):
        chunks.append(chunk)
    return b"".join(chunks)


@contextmanager
def _failures() -> Iterator[None]:
    """Names what the disk refuses: raises Full or Unavailable for an OSError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Full("The disk is full: nothing was changed.") from error
        raise Unavailable(f"The disk cannot be written: {error.strerror}.") from error


class Staged:
    """New content for `folder/name`, on the disk but not yet under its name.

    Where the file system can, it has no name at all, so that a crash leaves nothing behind and a
    copy of the folder made meanwhile never meets half a file. A context manager: what was not
    published is discarded. Raises Full or Unavailable.
    """

    def __init__(self, folder: Path, name: str, data: bytes, durable: bool = True) -> None:
        self._target = folder / name
        self._temporary = folder / f".{name}.{secrets.token_hex(8)}.tmp"
        self._named = False
        with _failures():
            self._descriptor = self._open(folder)
            try:
                _write_all(self._descriptor, data)
                if durable:
                    os.fsync(self._descriptor)
            except BaseException:
                self.discard()
                raise

    def _open(self, folder: Path) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC
        if _O_TMPFILE:
            try:
                return os.open(folder, flags | _O_TMPFILE, 0o666)
            except OSError as error:
                if error.errno not in _NO_TMPFILE:
                    raise
        descriptor = os.open(self._temporary, flags | os.O_CREAT | os.O_EXCL, 0o666)
        self._named = True
        return descriptor

    def publish(self) -> None:
        """Gives the content its name, in place of what had the name before."""
        with _failures():
            if not self._named:
                # The descriptor's own link is followed only when a folder's descriptor is given.
                link = f"/proc/self/fd/{self._descriptor}"
                os.link(link, self._temporary, src_dir_fd=self._descriptor)
                self._named = True
            os.rename(self._temporary, self._target)
            self._named = False

    def discard(self) -> None:
        """Leaves nothing of what was not published."""
        if self._named:
            self._temporary.unlink(missing_ok=True)
            self._named = False
        os.close(self._descriptor)

    def __enter__(self) -> "Staged":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.discard()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync(folder: Path) -> None:
    """Makes the folder's names durable. Raises Full or Unavailable."""
    with _failures():
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove(path: Path) -> None:
    """Removes a file, if it is there. Raises Full or Unavailable."""
    with _failures():
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Makes a folder that its parent holds durably, if it is not there yet.

    Raises Full or Unavailable, for a missing parent too.
    """
    with _failures():
        if path.is_dir():
            return
        path.mkdir(exist_ok=True)
    sync(path.parent)


def is_temporary(path: Path) -> bool:
    """Whether this is the name of content that is not published yet."""
    return bool(_TEMPORARY.fullmatch(path.name))


def is_stale(path: Path) -> bool:
    """Whether the file was last touched more than an hour ago."""
    try:
        return path.lstat().st_mtime < time.time() - STALE_SECONDS
    except FileNotFoundError:
        return False


class Lock:
    """One writer at a time over the threads and processes that share a folder: `flock` on the
    folder itself, so that there is no lock file to lose, copy or leave behind.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = os.getpid()
        self._threads = threading.Lock()

    def check(self) -> None:
        """Raises Unavailable if this file system cannot lock."""
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass  # Somebody holds it: it works.
        except OSError as error:
            raise self._unavailable(error) from error
        finally:
            os.close(descriptor)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises Busy if the lock cannot be had in 5 seconds, Unavailable if it cannot work."""
        deadline = time.monotonic() + LOCK_SECONDS
        if self._process != os.getpid():  # A fork may have copied the lock while it was held.
            self._process, self._threads = os.getpid(), threading.Lock()
        threads = self._threads
        if not threads.acquire(timeout=LOCK_SECONDS):
            raise Busy(_BUSY)
        try:
            descriptor = self._acquire(deadline)
            try:
                yield
            finally:
                os.close(descriptor)
        finally:
            threads.release()

    def _acquire(self, deadline: float) -> int:
        pause = 0.0001
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(descriptor):
                    return descriptor
            except BlockingIOError:
                pass  # Held elsewhere: wait, below.
            except OSError as error:
                os.close(descriptor)
                raise self._unavailable(error) from error
            os.close(descriptor)
            if time.monotonic() > deadline:
                raise Busy(_BUSY)
            time.sleep(pause)
            pause = min(pause * 2, 0.005)

    def _open(self) -> int:
        try:
            return os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"The data folder cannot be opened: {error.strerror}.") from error

    def _is_current(self, descriptor: int) -> bool:
        """Whether the path still leads to what was locked: the folder may have been replaced."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._folder))
        except FileNotFoundError:
            return False

    def _unavailable(self, error: OSError) -> Unavailable:
        return Unavailable(
            f"The data folder cannot be locked: {error.strerror}. "
            "Put it on a file system that supports flock."
        )


_BUSY = "The data folder's lock was not had within 5 seconds."
