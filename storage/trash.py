"""The trash: the files of deleted bookmarks, which are kept for some days."""

import logging
import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from storage import files
from storage.bookmark import Bookmark, Tombstone, now, timestamp
from storage.errors import Gone, Invalid, NotFound, StorageError, Unreadable
from storage.follower import BOOKMARKS, Follower
from storage.index import Entry, TombstoneEntry, tombstone_order
from storage.known_files import SUFFIX
from storage.lock import OpenFolders
from storage.record import decode_bookmark
from storage.transaction import Transaction, read_tombstone

log = logging.getLogger("bookmarks")

KEEP_DELETED = 30  # Days.
# Removing so many files keeps other writers waiting for 50 ms.
MAX_EXPIRED = 500
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
    """The files of deleted bookmarks, kept so that the bookmarks can be restored.

    They are kept for `keep_deleted` days. None means for ever, 0 not at all.
    """

    def __init__(self, follower: Follower, keep_deleted: int | None) -> None:
        self.keep_deleted = keep_deleted
        self._follower = follower
        # `expire` has handled the first `_handled_count` tombstones, and
        # `_last_handled` is the sort key (time and id) of the last of them. If the
        # number of tombstones up to this key differs, other programs have added or
        # removed some of them.
        self._last_handled = ("", "")
        self._handled_count = 0

    def find(
        self, limit: int, offset: int
    ) -> tuple[list[DeletedBookmark], int]:
        """Return a page of the deleted bookmarks, and the number of all.

        The latest deletion comes first. Raises Unavailable.
        """
        with self._follower.mutex:
            self._follower.refresh()
            tombstones = self._follower.index.tombstones
        with files.translate_disk_errors("The data folder cannot be read"):
            names = set(os.listdir(self._follower.folders[BOOKMARKS]))
        first = bisect_left(tombstones, self._oldest_kept_key(), key=tombstone_order)
        kept = []
        for entry in reversed(tombstones[first:]):
            if entry.tombstone.id + SUFFIX in names:
                kept.append(entry.tombstone)
        page = kept[offset : offset + limit]
        return self._read_deleted(page), len(kept)

    def _read_deleted(
        self, tombstones: Sequence[Tombstone]
    ) -> list[DeletedBookmark]:
        """Read the files of deleted bookmarks; leave out what cannot be read.

        `bookmarks check` reports damaged files.
        """
        found = []
        for tombstone in tombstones:
            path = self._follower.folders[BOOKMARKS] / (tombstone.id + SUFFIX)
            with suppress(FileNotFoundError, files.BadFile, Invalid):
                data, _ = files.read(path)
                bookmark = decode_bookmark(tombstone.id, data)
                found.append(DeletedBookmark(bookmark, tombstone.deleted))
        return found

    # --- Expiry ---

    def has_expired(self) -> bool:
        return bool(self._expired())

    def expire(self, folders: OpenFolders) -> None:
        """Remove up to MAX_EXPIRED files of bookmarks that were deleted too long ago.

        The folder must be locked. A file that cannot be removed is only tried again
        after a restart of the service.
        """
        expired = self._expired()
        if not expired:
            return
        # The files count as handled even if their removal fails: otherwise every
        # later change would try it again.
        self._last_handled = tombstone_order(expired[-1])
        self._handled_count = self._count_up_to_last_handled(self._tombstones())
        try:
            _remove(folders, [entry.tombstone.id for entry in expired])
        except StorageError as error:
            log.warning(
                "Files of deleted bookmarks remain in %s: %s",
                self._follower.folders[BOOKMARKS],
                error,
            )

    def _expired(self) -> Sequence[TombstoneEntry]:
        """Return tombstones whose files are to be removed, the oldest first."""
        tombstones = self._tombstones()
        start = self._count_up_to_last_handled(tombstones)
        if start != self._handled_count:
            start = 0  # Another program has changed older tombstones: begin again.
        stop = bisect_left(tombstones, self._oldest_kept_key(), key=tombstone_order)
        return tombstones[start : min(stop, start + MAX_EXPIRED)]

    def _count_up_to_last_handled(self, tombstones: Sequence[TombstoneEntry]) -> int:
        return bisect_right(tombstones, self._last_handled, key=tombstone_order)

    def _tombstones(self) -> Sequence[TombstoneEntry]:
        with self._follower.mutex:
            return self._follower.index.tombstones

    def _oldest_kept_key(self) -> tuple[str, str]:
        """Return the sort key where tombstones begin whose bookmarks' files are kept.

        A tombstone is sorted by its time and id. No id is before the empty id.
        """
        if self.keep_deleted is None:
            return ("", "")
        return (oldest_kept(self.keep_deleted), "")


def oldest_kept(keep_deleted: int) -> str:
    """Return the timestamp of `keep_deleted` days ago, but not before 1970."""
    return timestamp(max(time.time() - keep_deleted * _SECONDS_OF_DAY, 0))


def _remove(folders: OpenFolders, ids: Sequence[str]) -> None:
    """Remove the files of deleted bookmarks. Raises StorageError.

    A file is left alone if it has no valid tombstone or is no valid bookmark.
    """
    present = []
    for id in ids:
        if not files.is_missing(id + SUFFIX, folders.bookmarks):
            present.append(id)
    if not present:
        return
    # Another process may not have synced the tombstones yet.
    files.sync_folder(folders.tombstones)
    for id in present:
        name = id + SUFFIX
        with suppress(FileNotFoundError, files.BadFile, Invalid):
            data, _ = files.read(name, folders.bookmarks)
            decode_bookmark(id, data)  # Raises Invalid if it is no bookmark.
            if read_tombstone(folders, id):
                files.remove(name, folders.bookmarks)


# --- Changes of one bookmark in the trash ---


def restore(folder: Transaction, id: str) -> Entry:
    """Store a deleted bookmark under a new id, and return it.

    Raises NotFound if it is not in the trash, Conflict if its address is saved
    again, or Unreadable.
    """
    content = _read(folder, id)
    try:
        deleted = decode_bookmark(id, content)
    except Invalid as error:
        raise Unreadable(id, str(error)) from None
    # Clients that ask for recent changes find the bookmark by its new time.
    modified = max(now(), deleted.created)
    bookmark = replace(deleted, id=folder.mint(), modified=modified)
    entry = folder.put(bookmark, previous_content=content)
    folder.remove_restored(id)
    return entry


def erase(folder: Transaction, id: str) -> None:
    """Remove the file of a deleted bookmark; its tombstone stays.

    Raises NotFound if it is not in the trash, or Unreadable.
    """
    _read(folder, id)
    folder.erase(id)


def _read(folder: Transaction, id: str) -> bytes:
    """Return the content of the file of a deleted bookmark."""
    try:
        folder.find(id)
    except Gone:
        pass
    else:  # The bookmark is not deleted.
        raise NotFound(id)
    try:
        content, _ = files.read(id + SUFFIX, folder.folders.bookmarks)
    except FileNotFoundError:
        raise NotFound(id) from None
    except files.BadFile as error:
        raise Unreadable(id, str(error)) from None
    return content
