"""Keep and restore deleted bookmarks."""

import logging
import os
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from storage import files
from storage.bookmark import Bookmark, Tombstone, now, timestamp
from storage.errors import Gone, Invalid, NotFound, StorageError, Unreadable
from storage.follower import Follower
from storage.index import Entry, TombstoneEntry, sort_key_of
from storage.known_files import SUFFIX
from storage.lock import OpenFolders
from storage.record import decode_bookmark
from storage.transaction import Transaction, remove_deleted

log = logging.getLogger("bookmarks")

KEEP_DELETED = 30  # Days.
MAX_EXPIRED = 500  # Meanwhile, other writers have to wait.
_SECONDS_OF_DAY = 86_400


def check_keep_deleted(days: int) -> None:
    """Raise Invalid for a negative number of days."""
    if days < 0:
        raise Invalid([("keep_deleted", "must be 0 days or more")])


class DeletedBookmark(NamedTuple):
    """A deleted bookmark that can be restored."""

    bookmark: Bookmark
    deleted: str  # The timestamp of the deletion.


class Trash:
    """The files of deleted bookmarks, kept for `keep_deleted` days.

    None means for ever, 0 not at all.
    """

    def __init__(self, follower: Follower, keep_deleted: int | None) -> None:
        self.keep_deleted = keep_deleted
        self._follower = follower
        # `expire` handles the oldest tombstones first, and goes on behind these.
        self._handled_count = 0
        self._last_handled_key = ""  # The sort key of the last of them.

    def find(
        self, limit: int, offset: int
    ) -> tuple[list[DeletedBookmark], int]:
        """Return a page of the deleted bookmarks, and the number of all.

        The latest deletion comes first. Raises Unavailable.
        """
        with self._follower.mutex:
            tombstones = self._follower.refresh().tombstones
        first_kept = self._count_expired(tombstones)
        with files.translate_disk_errors("The data folder cannot be read"):
            names = set(os.listdir(self._follower.folders.bookmarks))
        kept = [
            entry.tombstone
            for entry in reversed(tombstones[first_kept:])
            if entry.tombstone.id + SUFFIX in names  # The file has not been erased.
        ]
        page = kept[offset : offset + limit]
        return self._read_bookmarks(page), len(kept)

    def _read_bookmarks(
        self, tombstones: Sequence[Tombstone]
    ) -> list[DeletedBookmark]:
        found = []
        for tombstone in tombstones:
            path = self._follower.folders.bookmarks / (tombstone.id + SUFFIX)
            # `bookmarks check` reports these errors.
            with suppress(FileNotFoundError, files.BadFile, Invalid):
                data, _ = files.read(path)
                bookmark = decode_bookmark(tombstone.id, data)
                found.append(DeletedBookmark(bookmark, tombstone.deleted))
        return found

    def has_expired(self) -> bool:
        return bool(self._expired())

    def expire(self, folders: OpenFolders) -> None:
        """Remove up to MAX_EXPIRED files of bookmarks that were deleted too long ago.

        The folder must be locked. After an error, a file is only tried again when the
        service is restarted.
        """
        expired = self._expired()
        if not expired:
            return
        self._last_handled_key = expired[-1].sort_key
        self._handled_count = _count_up_to(self._last_handled_key, self._tombstones())
        ids = [entry.tombstone.id for entry in expired]
        try:
            remove_deleted(folders, [id for id in ids if _is_bookmark_of(id, folders)])
        except StorageError as error:
            log.warning(
                "Files of deleted bookmarks remain in %s: %s",
                self._follower.folders.bookmarks,
                error,
            )

    def _expired(self) -> Sequence[TombstoneEntry]:
        tombstones = self._tombstones()
        start = _count_up_to(self._last_handled_key, tombstones)
        if start != self._handled_count:
            # Another program has added or removed old tombstones, so begin again.
            start = 0
        stop = self._count_expired(tombstones)
        return tombstones[start : min(stop, start + MAX_EXPIRED)]

    def _tombstones(self) -> Sequence[TombstoneEntry]:
        with self._follower.mutex:
            return self._follower.index.tombstones

    def _count_expired(self, tombstones: Sequence[TombstoneEntry]) -> int:
        if self.keep_deleted is None:
            return 0
        return _count_up_to(oldest_kept(self.keep_deleted), tombstones)


def _count_up_to(sort_key: str, tombstones: Sequence[TombstoneEntry]) -> int:
    return bisect_right(tombstones, sort_key, key=sort_key_of)


def oldest_kept(keep_deleted: int) -> str:
    """Return the timestamp of `keep_deleted` days ago, but not before 1970."""
    return timestamp(max(time.time() - keep_deleted * _SECONDS_OF_DAY, 0))


def _is_bookmark_of(id: str, folders: OpenFolders) -> bool:
    """Return whether the file of an id is a bookmark that has this id."""
    try:
        data, _ = files.read(id + SUFFIX, folders.bookmarks)
        decode_bookmark(id, data)
    except (FileNotFoundError, files.BadFile, Invalid):
        return False
    return True


def restore(transaction: Transaction, id: str) -> Entry:
    """Store a deleted bookmark under a new id, and return it.

    Raises NotFound if it is not in the trash, Conflict if its address is saved
    again, or Unreadable.
    """
    content = _read(transaction, id)
    try:
        deleted = decode_bookmark(id, content)
    except Invalid as error:
        raise Unreadable(id, str(error)) from None
    # Clients that ask for recent changes find the bookmark by its new time.
    modified = max(now(), deleted.created)
    bookmark = replace(deleted, id=transaction.mint(), modified=modified)
    entry = transaction.add(bookmark, content)
    transaction.remove_restored(id)
    return entry


def erase(transaction: Transaction, id: str) -> None:
    """Remove the file of a deleted bookmark; its tombstone stays.

    Raises NotFound if it is not in the trash, or Unreadable.
    """
    _read(transaction, id)
    transaction.erase(id)


def _read(transaction: Transaction, id: str) -> bytes:
    if not _is_deleted(transaction, id):
        raise NotFound(id)
    try:
        content, _ = files.read(id + SUFFIX, transaction.folders.bookmarks)
    except FileNotFoundError:
        raise NotFound(id) from None
    except files.BadFile as error:
        raise Unreadable(id, str(error)) from None
    return content


def _is_deleted(transaction: Transaction, id: str) -> bool:
    try:
        transaction.find(id)
    except Gone:
        return True
    return False
