"""Keep and restore deleted bookmarks."""

import logging
import os
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
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
MAX_EXPIRED = 500  # In each transaction, because other writers wait for its end.
_SECONDS_PER_DAY = 86_400


def check_keep_deleted(days: int | None) -> None:
    if days is not None and days < 0:
        raise Invalid([("keep_deleted", "must be 0 days or more")])


class DeletedBookmark(NamedTuple):
    bookmark: Bookmark
    deleted: str


class _Progress(NamedTuple):
    """How far `expire` has got in the list of tombstones, which begins with the oldest."""

    tried_count: int = 0
    last_tried_sort_key: str = ""


class Trash:
    """The files of deleted bookmarks.

    Files are kept for `keep_deleted` days, or for ever if it is None. Raises Invalid for a
    negative number.
    """

    def __init__(self, follower: Follower, keep_deleted: int | None) -> None:
        check_keep_deleted(keep_deleted)
        self.keep_deleted = keep_deleted
        self._follower = follower
        self._progress = _Progress()

    def find(
        self, limit: int, offset: int
    ) -> tuple[list[DeletedBookmark | Unreadable], int]:
        """Return a page of deleted bookmarks, latest first, and the total.

        Unreadable stands for a bookmark whose file cannot be used.
        """
        with self._follower.mutex:
            tombstones = self._follower.refresh().tombstones
        kept = tombstones[self._count_expired(tombstones) :]
        with files.translate_disk_errors("The data folder cannot be read"):
            names = set(os.listdir(self._follower.folders.bookmarks))
        found = [
            entry.tombstone
            for entry in reversed(kept)
            if entry.tombstone.id + SUFFIX in names  # The files of erased bookmarks are gone.
        ]
        page = found[offset : offset + limit]
        return self._read_bookmarks(page), len(found)

    def _read_bookmarks(
        self, tombstones: Sequence[Tombstone]
    ) -> list[DeletedBookmark | Unreadable]:
        found: list[DeletedBookmark | Unreadable] = []
        for tombstone in tombstones:
            path = self._follower.folders.bookmarks / (tombstone.id + SUFFIX)
            try:
                with suppress(FileNotFoundError):
                    _, bookmark = _read(tombstone.id, path)
                    found.append(DeletedBookmark(bookmark, tombstone.deleted))
            except Unreadable as error:
                found.append(error)
        return found

    def has_expired(self) -> bool:
        return bool(self._next_expired(self._tombstones()))

    def expire(self, folders: OpenFolders) -> None:
        """Remove up to MAX_EXPIRED expired files from a locked folder. Logs errors."""
        tombstones = self._tombstones()
        expired = self._next_expired(tombstones)
        if not expired:
            return
        last_sort_key = expired[-1].sort_key
        count = _count_up_to(last_sort_key, tombstones)
        # Note these files as tried, even if removing them fails below. Otherwise each later
        # write would try again.
        self._progress = _Progress(count, last_sort_key)
        ids = [entry.tombstone.id for entry in expired]
        try:
            remove_deleted(folders, [id for id in ids if _is_bookmark(id, folders)])
        except StorageError as error:
            log.warning(
                "Files of deleted bookmarks remain in %s: %s",
                self._follower.folders.bookmarks,
                error,
            )

    def _tombstones(self) -> Sequence[TombstoneEntry]:
        with self._follower.mutex:
            return self._follower.index.tombstones

    def _next_expired(
        self, tombstones: Sequence[TombstoneEntry]
    ) -> Sequence[TombstoneEntry]:
        start = self._progress.tried_count
        if _count_up_to(self._progress.last_tried_sort_key, tombstones) != start:
            # Another program has added or removed tombstones before the last tried one.
            start = 0
        stop = min(start + MAX_EXPIRED, self._count_expired(tombstones))
        return tombstones[start:stop]

    def _count_expired(self, tombstones: Sequence[TombstoneEntry]) -> int:
        if self.keep_deleted is None:
            return 0
        return _count_up_to(days_ago(self.keep_deleted), tombstones)


def _count_up_to(sort_key: str, tombstones: Sequence[TombstoneEntry]) -> int:
    return bisect_right(tombstones, sort_key, key=sort_key_of)


def days_ago(days: int) -> str:
    """Return the timestamp of some days ago, but not before 1970."""
    return timestamp(max(time.time() - days * _SECONDS_PER_DAY, 0))


def _is_bookmark(id: str, folders: OpenFolders) -> bool:
    try:
        _read(id, id + SUFFIX, folders.bookmarks)
    except (FileNotFoundError, Unreadable):
        return False
    return True


def _read(
    id: str, path: str | Path, folder: int | None = None
) -> tuple[bytes, Bookmark]:
    """Return the content of a file, and its bookmark.

    Raises FileNotFoundError, Unreadable or Unavailable.
    """
    try:
        content, _ = files.read(path, folder)
        return content, decode_bookmark(id, content)
    except (files.BadFile, Invalid) as error:
        raise Unreadable(id, str(error)) from None


def restore(transaction: Transaction, id: str) -> Entry:
    """Store a deleted bookmark under a new id.

    Raises NotFound, Unreadable, or Conflict if another bookmark has the uri.
    """
    content, deleted = _read_deleted(transaction, id)
    # Clients that ask for recent changes find the bookmark by its new `modified`.
    modified = max(now(), deleted.created)
    bookmark = replace(deleted, id=transaction.mint(), modified=modified)
    return transaction.put_restored(bookmark, id, content)


def erase(transaction: Transaction, id: str) -> None:
    """Remove a deleted bookmark's file. Raises NotFound or Unreadable."""
    _read_deleted(transaction, id)
    transaction.erase(id)


def _read_deleted(transaction: Transaction, id: str) -> tuple[bytes, Bookmark]:
    if not _is_deleted(transaction, id):
        raise NotFound(id)
    try:
        return _read(id, id + SUFFIX, transaction.folders.bookmarks)
    except FileNotFoundError:
        raise NotFound(id) from None


def _is_deleted(transaction: Transaction, id: str) -> bool:
    try:
        transaction.find(id)
    except Gone:
        return True
    return False
