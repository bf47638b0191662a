"""The lock of a data folder for writers, and open descriptors of its folders."""

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from storage import files
from storage.errors import Busy, OutcomeUnknown, StorageError, Unavailable

LOCK_SECONDS = 5.0
_BUSY_TEXT = (
    "Another writer has held the lock of the data folder for "
    f"{LOCK_SECONDS:.0f} seconds."
)


class OpenFolders:
    """Descriptors of a data folder and its folders, valid even if the folders are moved."""

    def __init__(self, data: Path, opened: ExitStack) -> None:
        """Open the folders. Closing `opened` closes them. Raises Unavailable."""
        self._path = data
        self._opened = opened
        self._tombstones_if_open: int | None = None
        with files.translate_disk_errors():
            self.data = opened.enter_context(files.open_folder(data))
            self.bookmarks = opened.enter_context(
                files.open_folder("bookmarks", self.data)
            )

    @property
    def tombstones(self) -> int:
        """The folder of tombstones, created if missing. Raises Unavailable or Full."""
        if self._tombstones_if_open is None:
            problem = "The folder tombstones cannot be used"
            with files.translate_disk_errors(problem):
                self._make_tombstones()
                folder = files.open_folder("tombstones", self.data)
                self._tombstones_if_open = self._opened.enter_context(folder)
        return self._tombstones_if_open

    def _make_tombstones(self) -> None:
        if not files.is_missing("tombstones", self.data):
            return
        with suppress(FileExistsError):
            os.mkdir("tombstones", 0o700, dir_fd=self.data)
        files.sync_folder(self.data)

    def by_name(self, name: str) -> int:
        if name == "tombstones":
            return self.tombstones
        return self.bookmarks

    @property
    def identity(self) -> tuple[int, int] | None:
        """The device and inode of the folder of bookmarks."""
        return _identity(self.bookmarks)

    def require_in_place(self) -> None:
        """Raise OutcomeUnknown if other folders have replaced the written folders."""
        for name, descriptor in (
            ("bookmarks", self.bookmarks),
            ("tombstones", self._tombstones_if_open),
        ):
            if descriptor is None:
                continue
            if _identity(self._path / name) != _identity(descriptor):
                raise OutcomeUnknown(
                    f"Another folder {name} has taken the place of the one "
                    "that was written: read the bookmark before you send it "
                    "again."
                )


def _identity(folder: Path | int) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Lock:
    """An exclusive lock on a data folder, for all threads and processes.

    Threads take turns first, then processes: a process locks the folder `data`, which
    is the queue, waits for `bookmarks`, which is the lock itself, and unlocks `data`.
    So a busy process does not get the lock again and again.
    """

    def __init__(self) -> None:
        self._turns = _Turns()
        self._held_at = 0.0  # When this process last held the lock.
        self._locked: set[int] = set()  # The descriptors of locked folders.

    @contextmanager
    def hold(self, folders: OpenFolders) -> Iterator[None]:
        """Hold the lock for a `with` block.

        Waits while other threads get the lock. Raises Busy if none does for
        LOCK_SECONDS, or Unavailable.
        """
        asked_at = time.monotonic()

        def is_timed_out() -> bool:
            last_progress_at = max(asked_at, self._held_at)
            return time.monotonic() > last_progress_at + LOCK_SECONDS

        with self._turns.take(is_timed_out):
            self._lock_as_next_process(folders, is_timed_out)
            self._held_at = time.monotonic()
            try:
                yield
            finally:
                self._unlock(folders.bookmarks)
                self._held_at = time.monotonic()

    def _lock_as_next_process(
        self, folders: OpenFolders, is_timed_out: Callable[[], bool]
    ) -> None:
        self._lock(folders.data, is_timed_out)
        try:
            self._lock(folders.bookmarks, is_timed_out)
        finally:
            self._unlock(folders.data)

    def _lock(self, folder: int, is_timed_out: Callable[[], bool]) -> None:
        # Add it first, because a child that is forked now must close its copy.
        self._locked.add(folder)
        try:
            _flock(folder, is_timed_out)
        except StorageError:
            self._locked.discard(folder)
            raise

    def _unlock(self, folder: int) -> None:
        # Closing unlocks the folder only if no forked child has a copy.
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)
        self._locked.discard(folder)

    def close_in_child(self) -> None:
        """In a forked child, close copies of locked folders, which would keep the locks."""
        for descriptor in self._locked:
            with suppress(OSError):
                os.close(descriptor)


class _Turns:
    """A lock that threads get in the order in which they ask.

    A thread that asks again at once would often overtake those that wait for a
    `threading.Lock`.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def take(self, is_timed_out: Callable[[], bool]) -> Iterator[None]:
        """Take the lock for a `with` block. Raises Busy when the wait is over."""
        self._wait(is_timed_out)
        try:
            yield
        finally:
            self._pass_on()

    def _wait(self, is_timed_out: Callable[[], bool]) -> None:
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        while not turn.wait(0.1):
            with self._mutex:
                # Another thread may have passed the lock on just now.
                has_got_turn = turn.is_set()
                if is_timed_out() and not has_got_turn:
                    self._waiting.remove(turn)
                    raise Busy(_BUSY_TEXT)

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:  # The lock stays taken, by the next thread.
                self._waiting.popleft().set()
            else:
                self._is_taken = False


def _flock(descriptor: int, is_timed_out: Callable[[], bool]) -> None:
    pause = 0.0001  # Seconds. Most writers soon release the lock.
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_timed_out():
                raise Busy(_BUSY_TEXT) from None
        except OSError as error:
            raise Unavailable(
                f"The data folder cannot be locked: {error.strerror}. "
                "Put it on a local disk that supports flock."
            ) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.005)
