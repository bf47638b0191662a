"""The store of a data folder that threads and processes share: transactions."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path

from storage import files
from storage.errors import Unavailable
from storage.follower import BOOKMARKS, TOMBSTONES, Follower
from storage.lock import Lock
from storage.reader import Reader
from storage.transaction import Transaction
from storage.tsid import Minter

# Python never forgets a fork handler, so all stores share one. Otherwise the
# memory of a process that opens and closes many folders would grow.
_STORES: "weakref.WeakSet[Store]" = weakref.WeakSet()


def _reset_stores_in_child() -> None:
    for store in list(_STORES):
        store._writer_lock.close_in_child()
        store._prepare_for_process()


os.register_at_fork(after_in_child=_reset_stores_in_child)


class Store(Reader):
    """The bookmarks and tombstones in a folder, whose files are the only truth."""

    def __init__(self, folder: Path, one_machine: bool = False) -> None:
        """Open the folder and create missing folders.

        With `one_machine`, inotify is used on every file system: no other
        machine writes to the folder. Raises Unavailable or Full.
        """
        super().__init__(Follower(folder, one_machine))
        folders = self._follower.folders
        files.make_folder(folder)
        files.make_folder(folders[BOOKMARKS])
        with suppress(Unavailable):  # A read-only disk may be without it.
            files.make_folder(folders[TOMBSTONES])
        self._prepare_for_process()
        _STORES.add(self)

    def _prepare_for_process(self) -> None:
        """Make new locks and a new watch, which no child shares with its parent.

        Another thread of the parent may have held one during the fork.
        """
        self._follower.mutex = threading.RLock()
        self._writer_lock = Lock(self._follower.folders[BOOKMARKS])
        self._minter = Minter()
        self._follower.reset()

    def close(self) -> None:
        """Close the inotify watch. The next call reads the folder again."""
        with self._follower.mutex:
            self._follower.reset()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Lock the folder for a block, and store its changes at the end.

        If the block raises, nothing is changed. If the transaction itself
        raises Busy, Full or Unavailable, some changes may be stored, each of
        them completely. Without an error all are durable.
        """
        if not self.compares_each_time():
            self.refresh()  # Reading a new folder takes long: do not lock yet.
        transaction = Transaction(self._follower, self._minter)
        with ExitStack() as opened:
            try:
                with self._lock_folder():
                    yield transaction
                    transaction.publish(opened)
            finally:  # If one change fails, those before it are stored.
                transaction.sync()

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        """Exclude all other writers, and bring the index up to date."""
        while True:
            with self._writer_lock.hold() as locked_folder:
                with self._follower.mutex:
                    self._follower.refresh()
                if locked_folder == self._follower.watch.first_folder_identity:
                    yield
                    return
            # Another folder has taken the place of the locked one: lock that.


class Rehearsal(Store):
    """A store for a dry run, whose transactions are one that is never stored."""

    @cached_property
    def _rehearsed(self) -> Transaction:
        return Transaction(self._follower, self._minter)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Let a block make changes that only later transactions see."""
        self.refresh()
        yield self._rehearsed
