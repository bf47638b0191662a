"""Read and change a data folder, from many threads and processes."""

import logging
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storage import files
from storage.errors import StorageError, Unavailable
from storage.follower import Follower
from storage.lock import Lock, OpenFolders
from storage.public import PublicFollower
from storage.reader import Reader
from storage.transaction import Transaction
from storage.trash import Trash
from storage.tsid import Minter

log = logging.getLogger("bookmarks")

# Fork handlers cannot be unregistered, so all stores share one.
_STORES: "weakref.WeakSet[Store]" = weakref.WeakSet()


def _reset_stores_in_child() -> None:
    for store in list(_STORES):
        store.prepare_for_process()


os.register_at_fork(after_in_child=_reset_stores_in_child)


class Store(Reader):
    """The bookmarks and tombstones in a data folder."""

    _follower: Follower

    def __init__(
        self,
        folder: Path,
        one_machine: bool = False,
        keep_deleted: int | None = None,
    ) -> None:
        """Create missing folders. Raises Unavailable, Full, or Invalid for `keep_deleted`.

        `one_machine` promises that no other machine writes to the folder.
        """
        super().__init__(Follower(folder, one_machine))
        self.trash = Trash(self._follower, keep_deleted)
        self._folder = folder
        files.make_folder(folder)
        files.make_folder(self._follower.folders.bookmarks)
        with suppress(Unavailable):  # A read-only disk may lack this folder.
            files.make_folder(self._follower.folders.tombstones)
        self.prepare_for_process()
        _STORES.add(self)

    def prepare_for_process(self) -> None:
        """Make new locks, and forget all files.

        In a forked child, a lock that a thread of the parent held would stay locked.
        """
        self._follower.mutex = threading.RLock()
        self._writer_lock = Lock()
        self._minter = Minter()
        self._follower.reset()

    def close(self) -> None:
        """Free the index and inotify. A later call reads all files again."""
        with self._follower.mutex:
            self._follower.reset()

    def for_visitors(self) -> Reader:
        return Reader(PublicFollower(self._follower))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Lock the folder for a `with` block, and store its changes at the end.

        If the block fails, nothing is stored. The end raises Busy, Full or Unavailable if
        nothing is stored, or OutcomeUnknown if some changes may be stored.
        """
        # Read changed files before the lock makes other writers wait. Without inotify, each
        # refresh compares all files, so refresh only under the lock.
        if not self._follower.watch.lacks_inotify:
            self.refresh()
        with self._locked_folders() as folders:
            transaction = Transaction(
                self._follower,
                self._minter,
                folders,
                keeps_deleted=self.trash.keep_deleted != 0,
            )
            try:
                yield transaction
                transaction.publish()
                self.trash.expire(folders)
            finally:
                folders.unlock()  # Other writers need not wait for the sync.
                # Sync after an error too, because some changes may be stored.
                transaction.sync()
            transaction.remove_files()

    def expire(self) -> None:
        """Remove expired files from the trash. Only logs errors."""
        try:
            self.refresh()
            while self.trash.has_expired():
                with self._locked_folders() as folders:
                    self.trash.expire(folders)
        except StorageError as error:
            log.warning("Deleted bookmarks are not removed now: %s", error)

    @contextmanager
    def _locked_folders(self) -> Iterator[OpenFolders]:
        """Open and lock the folders, and bring the index up to date."""
        while True:
            with OpenFolders(self._folder) as folders:
                folders.lock(self._writer_lock)
                with self._follower.mutex:
                    self._follower.refresh()
                if folders.identity == self._follower.folder_identity:
                    yield folders
                    return
            # Another folder, such as a restored backup, has this path now: lock that one.


class Rehearsal(Store):
    """A store for a dry run: its transactions change no files."""

    _rehearsed: Transaction | None = None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        self.refresh()
        with OpenFolders(self._folder) as folders:
            # All batches share one transaction, so that a batch sees earlier changes.
            if self._rehearsed is None:
                self._rehearsed = Transaction(
                    self._follower, self._minter, folders
                )
            self._rehearsed.folders = folders  # The folders of the last call are closed.
            yield self._rehearsed
