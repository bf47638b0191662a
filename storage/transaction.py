"""Read bookmarks, and store several changes together."""

import logging
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from storage import files
from storage.bookmark import Bookmark, Tombstone, now
from storage.errors import (
    Busy,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    OutcomeUnknown,
    StorageError,
)
from storage.follower import Follower, new_entry
from storage.index import Entry, State
from storage.known_files import SUFFIX
from storage.lock import OpenFolders
from storage.numbers import number_of_id
from storage.record import decode_tombstone, digest, encode
from storage.tsid import Minter
from storage.uri import uri_key

log = logging.getLogger("bookmarks")


class _Put(NamedTuple):
    entry: Entry
    file_content: bytes
    entry_on_disk: Entry | None  # The file to replace, or None for a new bookmark.


class Transaction:
    """Changes of a locked folder. Every method sees the earlier changes."""

    def __init__(
        self,
        follower: Follower,
        minter: Minter,
        folders: OpenFolders,
        keeps_deleted: bool = True,
    ) -> None:
        self.folders = folders
        self._follower = follower
        self._minter = minter
        self._keeps_deleted = keeps_deleted

        # `publish` writes these bookmarks, and tombstones of the deleted ones.
        self._put_by_id: dict[str, _Put] = {}
        self._put_id_by_uri_key: dict[str, str] = {}
        self._put_numbers: set[int] = set()
        self._deleted_by_id: dict[str, Entry] = {}
        # `publish` syncs these unchanged files, because their writers may not have synced them.
        self._ids_to_sync: set[str] = set()

        # `remove_files` removes these files of deleted bookmarks.
        self._ids_to_erase: list[str] = []  # The client learns of an error.
        self._ids_to_clean_up: list[str] = []  # Errors are only logged.

        # `sync` syncs each changed folder, and then one changed file of it. The keys are the
        # descriptors of the folders, and the values those of the files.
        self._file_by_folder_to_sync: dict[int, int] = {}
        self._has_published = False

    @property
    def state(self) -> State:
        """The state of the collection before this transaction."""
        with self._follower.mutex:
            return self._follower.state

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None. Raises Gone or Unreadable."""
        put = self._put_by_id.get(id)
        if put:
            return put.entry
        with self._follower.mutex:
            # Inotify does not report changes through another hard link of the file.
            if id in self._follower.index.items:
                self._follower.read_again(id)
            return self._follower.find(id)

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable."""
        try:
            entry = self.find(id)
        except Gone:
            # An earlier sync of the tombstone may have failed. Sync it before the client learns
            # of the deletion, because a power cut could still undo it.
            self._sync_tombstone(id)
            raise
        if entry is None:
            raise NotFound(id)
        return entry

    def holder(self, uri: str) -> Entry | None:
        """Return the oldest bookmark that has this uri, or None. Raises Unreadable."""
        key = uri_key(uri)
        with self._follower.mutex:
            candidate_ids = self._follower.ids_of_uri_key(key)
        if key in self._put_id_by_uri_key:
            candidate_ids = [self._put_id_by_uri_key[key], *candidate_ids]
        for id in candidate_ids:
            entry = self.find(id)
            # This transaction may have given the bookmark another uri.
            if entry and entry.uri_key == key:
                return entry
        return None

    def mint(self) -> str:
        """Return an unused id with an unused number. Some clients store only the number."""
        while True:
            id = self._minter.mint()
            number = number_of_id(id)
            with self._follower.mutex:
                is_stored = bool(self._follower.index.ids_of_number(number))
            if not is_stored and number not in self._put_numbers:
                return id

    def put(self, bookmark: Bookmark, before: Entry | None = None) -> Entry:
        """Store a new bookmark with an unused id, or a new version of the bookmark `before`.

        Keeps the unknown members of the old file. Raises Conflict, Gone, Unreadable, Busy, or
        Invalid if the file would be too large.
        """
        if before is None:
            return self._put(bookmark, b"", before=None)
        if bookmark is before.bookmark:
            self._ids_to_sync.add(bookmark.id)
            return before
        return self._put(bookmark, self._content_of(before), before)

    def put_restored(
        self, bookmark: Bookmark, deleted_id: str, deleted_content: bytes
    ) -> Entry:
        """Store a deleted bookmark with an unused id, and remove its old file later.

        Keeps the unknown members of the old file. Raises Conflict, Unreadable, or Invalid if
        the file would be too large.
        """
        entry = self._put(bookmark, deleted_content, before=None)
        self._ids_to_clean_up.append(deleted_id)
        return entry

    def _content_of(self, entry: Entry) -> bytes:
        earlier_put = self._put_by_id.get(entry.bookmark.id)
        if earlier_put:
            return earlier_put.file_content
        return self._read_unchanged(entry)

    def _put(
        self, bookmark: Bookmark, previous_content: bytes, before: Entry | None
    ) -> Entry:
        content = encode(bookmark, previous_content)
        entry = new_entry(bookmark, digest(content), time.time())
        self._require_no_conflict(entry, before)
        entry_on_disk = before
        earlier_put = self._put_by_id.get(bookmark.id)
        if earlier_put:
            # `before` was put by this transaction and is not on disk yet.
            entry_on_disk = earlier_put.entry_on_disk
        self._put_by_id[bookmark.id] = _Put(entry, content, entry_on_disk)
        self._put_id_by_uri_key[entry.uri_key] = bookmark.id
        self._put_numbers.add(number_of_id(bookmark.id))
        return entry

    def _require_no_conflict(self, entry: Entry, before: Entry | None) -> None:
        """Raise Conflict if another bookmark has the id or the changed uri.

        An unchanged uri may belong to two bookmarks, for example after a merge by git.
        """
        if before is None:
            if self.find(entry.bookmark.id):
                raise Conflict(entry.bookmark.id)
            self._require_free_uri(entry)
        elif before.uri_key != entry.uri_key:
            self._require_free_uri(entry)

    def _require_free_uri(self, entry: Entry) -> None:
        holder = self.holder(entry.bookmark.uri)
        if holder and holder.bookmark.id != entry.bookmark.id:
            raise Conflict(holder.bookmark.id)

    def delete(self, entry: Entry) -> None:
        """Store a tombstone, which hides the bookmark's file."""
        self._deleted_by_id[entry.bookmark.id] = entry
        if not self._keeps_deleted:
            self._ids_to_clean_up.append(entry.bookmark.id)

    def erase(self, id: str) -> None:
        """Remove a deleted bookmark's file later."""
        self._ids_to_erase.append(id)

    def publish(self) -> None:
        """Write and sync all new files, then give them their names.

        Raises Busy, Full, Unavailable, or OutcomeUnknown if some changes may be stored.
        """
        with ExitStack() as opened:
            bookmarks = self._stage_bookmarks(opened)
            tombstones = self._stage_tombstones(opened)
            bookmark_files = [staged.descriptor for staged in bookmarks.values()]
            bookmark_files += self._open_unchanged(opened)
            tombstone_files = [staged.descriptor for staged in tombstones.values()]
            # Sync the content before the files get names, so that a power cut leaves no
            # name without content.
            files.sync(bookmark_files + tombstone_files)
            if bookmark_files:
                self._sync_folder_later(self.folders.bookmarks, bookmark_files)
            if tombstone_files:
                self._sync_folder_later(self.folders.open_tombstones(), tombstone_files)
            self._publish_staged(bookmarks, tombstones)

    def _stage_bookmarks(self, opened: ExitStack) -> dict[str, files.Staged]:
        staged = {}
        for id, put in self._put_by_id.items():
            file = files.Staged(self.folders.bookmarks, id + SUFFIX, put.file_content)
            staged[id] = opened.enter_context(file)
        return staged

    def _stage_tombstones(self, opened: ExitStack) -> dict[str, files.Staged]:
        staged = {}
        for id, entry in self._deleted_by_id.items():
            content = encode(Tombstone(id, now(), private=not entry.is_public))
            file = files.Staged(self.folders.open_tombstones(), id + SUFFIX, content)
            staged[id] = opened.enter_context(file)
        return staged

    def _open_unchanged(self, opened: ExitStack) -> list[int]:
        descriptors = []
        for id in self._ids_to_sync - self._put_by_id.keys():
            name = id + SUFFIX
            with files.translate_disk_errors(f"The file {name} cannot be synced"):
                file = files.open_file(name, folder=self.folders.bookmarks)
                descriptors.append(opened.enter_context(file))
        return descriptors

    def _sync_folder_later(self, folder: int, changed_files: Sequence[int]) -> None:
        """Note a folder and one of its changed files for `sync`."""
        with files.translate_disk_errors():
            # `publish` closes its descriptors before `sync` runs, so keep a duplicate.
            self._file_by_folder_to_sync[folder] = os.dup(changed_files[0])

    def _publish_staged(
        self,
        bookmarks: dict[str, files.Staged],
        tombstones: dict[str, files.Staged],
    ) -> None:
        try:
            for id, staged in bookmarks.items():
                self._publish_bookmark(self._put_by_id[id], staged)
            for id, staged in tombstones.items():
                self._publish_tombstone(self._deleted_by_id[id], staged)
        except StorageError as error:
            if not self._has_published:
                raise
            message = f"{error} Some of the changes may be stored."
            raise OutcomeUnknown(message) from error

    def _publish_bookmark(self, put: _Put, staged: files.Staged) -> None:
        if put.entry_on_disk:
            self._require_unchanged(put.entry_on_disk)
            staged.replace_old()
        else:
            staged.publish_new()
        self._has_published = True
        put.entry.changed_at = staged.changed_at

    def _publish_tombstone(self, deleted: Entry, staged: files.Staged) -> None:
        self._require_unchanged(deleted)
        staged.publish_new()
        self._has_published = True

    def sync(self) -> None:
        """Make the names of the published files durable. Raises OutcomeUnknown."""
        try:
            for folder, file in self._file_by_folder_to_sync.items():
                files.sync_folder(folder, file)
        finally:
            for file in self._file_by_folder_to_sync.values():
                files.close(file)
        if self._has_published:
            self.folders.require_in_place()

    def remove_files(self) -> None:
        """Remove files of deleted bookmarks. Raises a StorageError.

        Call `sync` first. Otherwise, a power cut could lose a restored bookmark: the old file
        would be removed before the new one is durable.
        """
        self._remove(self._ids_to_erase)
        try:
            self._remove(self._ids_to_clean_up)
        except StorageError as error:
            folder = self._follower.folders.bookmarks
            log.warning(
                "Files of deleted bookmarks remain in %s: %s", folder, error
            )

    def _remove(self, ids: Sequence[str]) -> None:
        if ids:
            remove_deleted(self.folders, ids)
            files.sync_folder(self.folders.bookmarks)

    def _sync_tombstone(self, id: str) -> None:
        folder = self.folders.open_tombstones()
        with files.translate_disk_errors():
            with files.open_file(id + SUFFIX, folder=folder) as descriptor:
                files.sync_folder(folder, descriptor)

    def _require_unchanged(self, found: Entry) -> None:
        """Raise Busy if the file has changed since `find`."""
        self._read_unchanged(found)

    def _read_unchanged(self, found: Entry) -> bytes:
        """Return the content of a file. Raises Busy if the file has changed since `find`."""
        name = found.bookmark.id + SUFFIX
        with suppress(FileNotFoundError, files.BadFile):
            content, _ = files.read(name, self.folders.bookmarks)
            if digest(content) == found.version:
                return content
        raise Busy(f"Another program has just changed {name}. Try again.")


def remove_deleted(folders: OpenFolders, ids: Sequence[str]) -> set[str]:
    """Remove files of deleted bookmarks, and return their ids. Raises a StorageError."""
    removed: set[str] = set()
    if not ids:
        return removed
    # Tombstones must be durable first. Other processes may not have synced theirs yet.
    files.sync_folder(folders.open_tombstones())
    for id in ids:
        # A bookmark that was restored from a backup has no tombstone, so its file is kept.
        if read_tombstone(folders, id):
            files.remove(id + SUFFIX, folders.bookmarks)
            removed.add(id)
    return removed


def read_tombstone(folders: OpenFolders, id: str) -> Tombstone | None:
    """Return the tombstone of an id, or None if the file is missing or invalid."""
    try:
        data, _ = files.read(id + SUFFIX, folders.open_tombstones())
        return decode_tombstone(id, data)
    except (FileNotFoundError, files.BadFile, Invalid):
        return None
