"""The lock of a data folder, which its writers hold one after the other."""

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from storage.errors import Busy, Unavailable
from storage.files import open_folder, translate_disk_errors

LOCK_SECONDS = 5.0  # Writers that all wait this long raise Busy.
_BUSY = f"Another writer has held the lock of the data folder for {LOCK_SECONDS:.0f} seconds."


class Lock:
    """An exclusive lock for writers in all threads and processes that share a folder.

    It locks the folder itself with `flock`. A separate lock file could be deleted
    or replaced while it is in use: two writers would then lock two different files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turns = _Turns()
        self._held_at = 0.0  # When a thread of this process last held the lock.
        self._descriptors: set[int] = set()  # Of the folders that are open to lock them.

    @contextmanager
    def hold(self) -> Iterator[tuple[int, int]]:
        """Hold the lock for a block, and yield the device and inode of the locked folder.

        They identify the folder: the caller can notice that another folder has
        taken its place. Raises Busy if no thread of this process got the lock for
        LOCK_SECONDS, Unavailable if it cannot be used.
        """
        asked_at = time.monotonic()

        def is_late() -> bool:
            return time.monotonic() > max(asked_at, self._held_at) + LOCK_SECONDS

        with self._turns.take(is_late), ExitStack() as opened:
            with translate_disk_errors():
                parent = opened.enter_context(self._open(self._folder.parent))
                descriptor = opened.enter_context(self._open(self._folder))
                status = os.fstat(descriptor)
            # One process at a time waits for the lock. Otherwise a process that
            # writes all the time would lock the folder again before another one
            # notices that it is free.
            _flock(parent, is_late)
            try:
                _flock(descriptor, is_late)
            finally:
                _unlock(parent)
            self._held_at = time.monotonic()
            try:
                yield status.st_dev, status.st_ino
            finally:
                _unlock(descriptor)
                self._held_at = time.monotonic()

    @contextmanager
    def _open(self, folder: Path) -> Iterator[int]:
        with open_folder(folder) as descriptor:
            self._descriptors.add(descriptor)
            try:
                yield descriptor
            finally:
                self._descriptors.remove(descriptor)

    def close_in_child(self) -> None:
        """Close the folders in a forked child, which shares their locks.

        Otherwise the child would keep the locks if its parent is killed.
        """
        for descriptor in self._descriptors:
            with suppress(OSError):
                os.close(descriptor)


class _Turns:
    """A lock that the threads of a process get in the order in which they ask.

    A thread that asks again at once for a `threading.Lock` mostly gets it before
    the threads that wait.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def take(self, is_late: Callable[[], bool]) -> Iterator[None]:
        """Take the lock for a block. Raises Busy if `is_late` before."""
        self._wait(is_late)
        try:
            yield
        finally:
            self._pass_on()

    def _wait(self, is_late: Callable[[], bool]) -> None:
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        while not turn.wait(0.1):
            with self._mutex:
                if is_late() and not turn.is_set():
                    self._waiting.remove(turn)
                    raise Busy(_BUSY)

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


def _flock(descriptor: int, is_late: Callable[[], bool]) -> None:
    """Lock the open file. Raises Busy if `is_late` before, Unavailable if it cannot be locked."""
    pause = 0.0001  # Most writers hold the lock for less than a millisecond.
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_late():
                raise Busy(_BUSY) from None
        except OSError as error:
            raise Unavailable(
                f"The data folder cannot be locked: {error.strerror}. "
                "Put it on a local disk that supports flock."
            ) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.005)


def _unlock(descriptor: int) -> None:
    # If this process forked meanwhile, its child shares the lock, and closing the
    # folder alone would not release the lock.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
