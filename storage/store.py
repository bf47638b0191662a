"""The store of a data folder, which threads and processes share."""

import logging
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from storage import files
from storage.errors import StorageError, Unavailable
from storage.follower import BOOKMARKS, TOMBSTONES, Follower
from storage.lock import Lock, OpenFolders
from storage.public import PublicFollower
from storage.reader import Reader
from storage.transaction import Transaction
from storage.trash import Trash
from storage.tsid import Minter

log = logging.getLogger("bookmarks")

# All stores share one fork handler, because Python never forgets a handler.
_STORES: "weakref.WeakSet[Store]" = weakref.WeakSet()


def _reset_stores_in_child() -> None:
    for store in list(_STORES):
        store._writer_lock.close_in_child()
        store._prepare_for_process()


os.register_at_fork(after_in_child=_reset_stores_in_child)


class Store(Reader):
    """The bookmarks and tombstones in a folder, whose files are the only truth."""

    _follower: Follower

    def __init__(
        self,
        folder: Path,
        one_machine: bool = False,
        keep_deleted: int | None = None,
    ) -> None:
        """Open the folder and create missing folders. Raises Unavailable or Full.

        `one_machine` promises that no other machine writes to it. Deleted
        bookmarks are kept for `keep_deleted` days, with None for ever.
        """
        super().__init__(Follower(folder, one_machine))
        self.trash = Trash(self._follower, keep_deleted)
        self._folder = folder
        folders = self._follower.folders
        files.make_folder(folder)
        files.make_folder(folders[BOOKMARKS])
        with suppress(Unavailable):  # A read-only disk may be without it.
            files.make_folder(folders[TOMBSTONES])
        self._prepare_for_process()
        _STORES.add(self)

    def _prepare_for_process(self) -> None:
        """Make new locks and a new watch: during a fork, another thread may hold a lock."""
        self._follower.mutex = threading.RLock()
        self._writer_lock = Lock()
        self._minter = Minter()
        self._follower.reset()

    def close(self) -> None:
        """Close the inotify watch. The next call reads the folder again."""
        with self._follower.mutex:
            self._follower.reset()

    def for_visitors(self) -> Reader:
        """Return what visitors may read of the folder."""
        return Reader(PublicFollower(self._follower))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Lock the folder for a block, and store its changes durably at the end.

        If the block raises, nothing is changed. If storing raises Busy, Full or
        Unavailable, some changes may be stored, each of them completely.
        """
        if not self.compares_each_time():
            self.refresh()  # Reading a new folder takes long: do not lock yet.
        with ExitStack() as opened, ExitStack() as after_unlocking:
            with self._lock_folders(opened) as folders:
                transaction = Transaction(
                    self._follower,
                    self._minter,
                    folders,
                    keeps_deleted=self.trash.keep_deleted != 0,
                )
                # Even after an error: the changes before it are stored.
                after_unlocking.callback(transaction.sync)
                yield transaction
                transaction.publish(opened)
                self.trash.expire(folders)

    def expire(self) -> None:
        """Remove bookmarks that were deleted too long ago. An error is only logged."""
        try:
            self.refresh()
            while self.trash.has_expired():
                with self.transaction():  # Other writers get their turns.
                    pass
        except StorageError as error:
            log.warning("Deleted bookmarks are not removed now: %s", error)

    @contextmanager
    def _lock_folders(self, opened: ExitStack) -> Iterator[OpenFolders]:
        """Exclude all other writers, and bring the index up to date."""
        while True:
            folders = OpenFolders(self._folder, opened)
            with self._writer_lock.hold(folders):
                with self._follower.mutex:
                    self._follower.refresh()
                watched = self._follower.watch.first_folder_identity
                if folders.identity == watched:
                    yield folders
                    return
            # Another folder has taken its place: lock that.


class Rehearsal(Store):
    """A store for a dry run, whose transactions are one that is never stored."""

    _rehearsed: Transaction | None = None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Let a block make changes that only later transactions see."""
        self.refresh()
        with ExitStack() as opened:
            folders = OpenFolders(self._folder, opened)
            if self._rehearsed is None:
                self._rehearsed = Transaction(
                    self._follower, self._minter, folders
                )
            self._rehearsed.folders = folders
            yield self._rehearsed
