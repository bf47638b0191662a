"""Lock a data folder for writers."""

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
    """Descriptors of a data folder, valid even if the folder is moved."""

    def __init__(self, data: Path, opened: ExitStack) -> None:
        """Open the folders until `opened` is closed. Raises Unavailable."""
        self._path = data
        self._opened = opened
        self._tombstones: int | None = None
        with files.translate_disk_errors():
            self.data = opened.enter_context(files.open_folder(data))
            self.bookmarks = opened.enter_context(
                files.open_folder("bookmarks", self.data)
            )

    def open_tombstones(self) -> int:
        """Return the descriptor of `tombstones`, which is created if missing.

        Raises Unavailable or Full.
        """
        if self._tombstones is None:
            with files.translate_disk_errors("The folder tombstones cannot be used"):
                self._make_tombstones()
                folder = files.open_folder("tombstones", self.data)
                self._tombstones = self._opened.enter_context(folder)
        return self._tombstones

    def _make_tombstones(self) -> None:
        if not files.is_missing("tombstones", self.data):
            return
        with suppress(FileExistsError):
            os.mkdir("tombstones", 0o700, dir_fd=self.data)
        files.sync_folder(self.data)

    def by_name(self, name: str) -> int:
        if name == "tombstones":
            return self.open_tombstones()
        return self.bookmarks

    @property
    def identity(self) -> tuple[int, int] | None:
        """The device and inode of `bookmarks`."""
        return _identity(self.bookmarks)

    def require_in_place(self) -> None:
        """Raise OutcomeUnknown if the folders have been replaced."""
        self._require_same("bookmarks", self.bookmarks)
        if self._tombstones is not None:
            self._require_same("tombstones", self._tombstones)

    def _require_same(self, name: str, descriptor: int) -> None:
        if _identity(self._path / name) != _identity(descriptor):
            raise OutcomeUnknown(
                f"Another folder {name} has taken the place of the one that was "
                "written: read the bookmark before you send it again."
            )


def _identity(folder: Path | int) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Lock:
    """An exclusive lock on a data folder, for all threads and processes.

    The folder `bookmarks` is the lock. The folder `data` is the queue of processes.
    """

    def __init__(self) -> None:
        self._thread_lock = _FairLock()
        self._last_held_at = 0.0
        self._locked_descriptors: set[int] = set()

    @contextmanager
    def hold(self, folders: OpenFolders) -> Iterator[None]:
        """Hold the lock for a `with` block.

        Raises Busy if no thread has had it for LOCK_SECONDS, or Unavailable.
        """
        asked_at = time.monotonic()

        def is_timed_out() -> bool:
            last_progress_at = max(asked_at, self._last_held_at)
            return time.monotonic() > last_progress_at + LOCK_SECONDS

        with self._thread_lock.hold(is_timed_out):
            self._lock_bookmarks_in_turn(folders, is_timed_out)
            self._last_held_at = time.monotonic()
            try:
                yield
            finally:
                self._unlock(folders.bookmarks)
                self._last_held_at = time.monotonic()

    def _lock_bookmarks_in_turn(
        self, folders: OpenFolders, is_timed_out: Callable[[], bool]
    ) -> None:
        # Only the process that holds `data` waits for `bookmarks`. A process that unlocks
        # `bookmarks` cannot lock it again before this one.
        self._lock(folders.data, is_timed_out)
        try:
            self._lock(folders.bookmarks, is_timed_out)
        finally:
            self._unlock(folders.data)

    def _lock(self, folder: int, is_timed_out: Callable[[], bool]) -> None:
        # Add it before locking: a child that is forked meanwhile must close its copy.
        self._locked_descriptors.add(folder)
        try:
            _flock(folder, is_timed_out)
        except StorageError:
            self._locked_descriptors.discard(folder)
            raise

    def _unlock(self, folder: int) -> None:
        # Closing alone would not unlock while a forked child has a copy.
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)
        self._locked_descriptors.discard(folder)

    def close_in_child(self) -> None:
        """Close a forked child's copies of the locked folders.

        If the parent is killed, an open copy would keep its lock.
        """
        for descriptor in self._locked_descriptors:
            with suppress(OSError):
                os.close(descriptor)


class _FairLock:
    """A lock that threads get in the order in which they ask.

    With a `threading.Lock`, a thread that asks again at once overtakes others.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._is_held = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def hold(self, is_timed_out: Callable[[], bool]) -> Iterator[None]:
        self._acquire(is_timed_out)
        try:
            yield
        finally:
            self._release()

    def _acquire(self, is_timed_out: Callable[[], bool]) -> None:
        with self._mutex:
            if not self._is_held:
                self._is_held = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        while not turn.wait(0.1):
            with self._mutex:
                # `_release` may have set `turn` just now.
                if is_timed_out() and not turn.is_set():
                    self._waiting.remove(turn)
                    raise Busy(_BUSY_TEXT)

    def _release(self) -> None:
        with self._mutex:
            if self._waiting:
                next_turn = self._waiting.popleft()
                next_turn.set()  # The next thread holds the lock now.
            else:
                self._is_held = False


def _flock(descriptor: int, is_timed_out: Callable[[], bool]) -> None:
    pause_seconds = 0.0001
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
        time.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, 0.005)
