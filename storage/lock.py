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
from storage.errors import Busy, OutcomeUnknown, Unavailable

LOCK_SECONDS = 5.0
_BUSY_TEXT = (
    "Another writer has held the lock of the data folder for "
    f"{LOCK_SECONDS:.0f} seconds."
)


class OpenFolders:
    """Descriptors of a data folder, valid even if the folder is moved.

    The end of the `with` block unlocks and closes the folders.
    """

    def __init__(self, data: Path) -> None:
        """Open the folders. Raises Unavailable."""
        self._path = data
        self._tombstones: int | None = None
        self._held_lock = ExitStack()  # Closing this stack unlocks, but leaves the folders open.
        with files.translate_disk_errors(), ExitStack() as opened:
            try:
                self.data = opened.enter_context(files.open_folder(data))
                self.bookmarks = opened.enter_context(
                    files.open_folder("bookmarks", self.data)
                )
            except FileNotFoundError:
                raise Unavailable(files.FOLDER_MISSING_TEXT) from None
            # From here on, `opened` closes nothing. `__exit__` closes the folders.
            self._descriptors = opened.pop_all()

    def __enter__(self) -> "OpenFolders":
        return self

    def __exit__(self, *_: object) -> None:
        self.unlock()
        self._descriptors.close()

    def lock(self, lock: "Lock") -> None:
        """Wait for the lock and hold it. Raises Busy or Unavailable."""
        self._held_lock.enter_context(lock.hold(self))

    def unlock(self) -> None:
        self._held_lock.close()

    def open_tombstones(self) -> int:
        """Return the descriptor of `tombstones`, which is created if missing.

        Raises Unavailable or Full.
        """
        if self._tombstones is None:
            with files.translate_disk_errors("The folder tombstones cannot be used"):
                self._make_tombstones()
                folder = files.open_folder("tombstones", self.data)
                self._tombstones = self._descriptors.enter_context(folder)
        return self._tombstones

    def _make_tombstones(self) -> None:
        if not files.is_missing("tombstones", self.data):
            return
        with suppress(FileExistsError):
            os.mkdir("tombstones", 0o700, dir_fd=self.data)
        files.sync_folder(self.data)

    def descriptor_of(self, name: str) -> int:
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

    Waiting threads and processes get it in turn.
    """

    def __init__(self) -> None:
        self._thread_lock = _FairLock()
        self._last_held_at = 0.0

    @contextmanager
    def hold(self, folders: OpenFolders) -> Iterator[None]:
        """Hold the lock for a `with` block.

        Raises Busy after LOCK_SECONDS in which no thread of this process got or released the
        lock. Raises Unavailable if the folder cannot be locked.
        """
        asked_at = time.monotonic()

        def is_timed_out() -> bool:
            last_progress_at = max(asked_at, self._last_held_at)
            return time.monotonic() > last_progress_at + LOCK_SECONDS

        with self._thread_lock.hold(is_timed_out):
            _flock_in_turn(folders, is_timed_out)
            self._last_held_at = time.monotonic()
            try:
                yield
            finally:
                _unlock(folders.bookmarks)
                self._last_held_at = time.monotonic()


class _FairLock:
    """A lock that threads get in the order in which they ask.

    With a `threading.Lock`, a thread that asks again at once overtakes others.
    """

    def __init__(self) -> None:
        self._queue: deque[object] = deque()  # The ticket of the holder is the first.
        self._queue_changed = threading.Condition()

    @contextmanager
    def hold(self, is_timed_out: Callable[[], bool]) -> Iterator[None]:
        ticket = object()
        with self._queue_changed:
            self._queue.append(ticket)
        try:
            self._wait_until_first(ticket, is_timed_out)
            yield
        finally:
            with self._queue_changed:
                self._queue.remove(ticket)
                self._queue_changed.notify_all()

    def _wait_until_first(
        self, ticket: object, is_timed_out: Callable[[], bool]
    ) -> None:
        with self._queue_changed:
            while self._queue[0] is not ticket:
                if is_timed_out():
                    raise Busy(_BUSY_TEXT)
                self._queue_changed.wait(0.1)


def _flock_in_turn(folders: OpenFolders, is_timed_out: Callable[[], bool]) -> None:
    """Lock `bookmarks`, and hold a lock on the folder `data` while waiting.

    So only one process at a time waits for `bookmarks`. Among several, a process that unlocks
    and asks again at once would often overtake the others.
    """
    _flock(folders.data, is_timed_out)
    try:
        _flock(folders.bookmarks, is_timed_out)
    finally:
        _unlock(folders.data)


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


def _unlock(descriptor: int) -> None:
    # Closing the descriptor would not unlock while a forked child has a copy of it.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
