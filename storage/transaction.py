"""Decide on changes by the present files, and store them together."""

import logging
import os
import time
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
from storage.follower import BOOKMARKS, Follower, new_entry
from storage.index import Entry, State
from storage.known_files import SUFFIX
from storage.lock import OpenFolders
from storage.numbers import number_of_id
from storage.record import decode_tombstone, digest, encode
from storage.tsid import Minter
from storage.uri import uri_key

log = logging.getLogger("bookmarks")


class _Put(NamedTuple):
    """A bookmark to store, and the content of its file."""

    entry: Entry
    before: Entry | None  # The stored bookmark that it replaces.
    data: bytes


class Transaction:
    """Changes of a locked folder, which `Store.transaction` stores together.

    Every method sees the earlier changes.
    """

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

        self._puts: dict[str, _Put] = {}  # By id.
        self._ids_by_uri_key: dict[str, str] = {}  # The ids in `_puts`.
        self._numbers: set[int] = set()  # The numbers of these ids.
        self._deleted: list[Entry] = []
        # The ids of bookmarks whose files are only synced.
        self._unchanged: set[str] = set()
        # The ids of deleted bookmarks whose files `sync` removes.
        self._to_erase: list[str] = []  # An error is raised.
        self._to_clean_up: list[str] = []  # An error is only logged.

        self._has_published_some = False
        self._has_published_all = False
        # Each folder that has new files, and one of these files.
        self._folders_to_sync: list[tuple[int, int]] = []

    # --- Reading ---

    @property
    def state(self) -> State:
        """The validators of the collection before this transaction."""
        with self._follower.mutex:
            return self._follower.state

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None. Raises Gone or Unreadable."""
        put = self._puts.get(id)
        if put:
            return put.entry
        with self._follower.mutex:
            # Inotify does not report writing through a hard link.
            if id in self._follower.index.items:
                self._follower.reread(id)
            return self._follower.find(id)

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id. Raises NotFound, Gone or Unreadable."""
        try:
            entry = self.find(id)
        except Gone:
            # The client may repeat a deletion whose sync has failed.
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
        if key in self._ids_by_uri_key:
            # A bookmark that this transaction has changed comes first.
            candidate_ids = [self._ids_by_uri_key[key], *candidate_ids]
        for id in candidate_ids:
            current = self.find(id)
            if current and current.uri_key == key:
                return current
        return None

    # --- Changing ---

    def mint(self) -> str:
        """Return a new id with a new number, which some clients use instead."""
        while True:
            id = self._minter.mint()
            number = number_of_id(id)
            with self._follower.mutex:
                is_used = bool(self._follower.index.ids_of_number(number))
            if not is_used and number not in self._numbers:
                return id

    def put(
        self,
        bookmark: Bookmark,
        before: Entry | None = None,
        restored_file: bytes = b"",
    ) -> Entry:
        """Store a bookmark in place of `before`, or as a new bookmark.

        A restored bookmark keeps unknown members of `restored_file`. Raises Conflict
        if another bookmark has the uri or id, Gone, Unreadable, or Invalid if the
        file would be too large.
        """
        id = bookmark.id
        if before and bookmark is before.bookmark:
            # Another program may have written the file without a sync.
            self._unchanged.add(id)
            return before
        if before is None and self.find(id):
            raise Conflict(id)
        stored, content = self._replaced_by(id, before)
        data = encode(bookmark, content or restored_file)
        entry = new_entry(bookmark, digest(data), time.time())
        self._refuse_uri_of_another(entry, before)
        self._puts[id] = _Put(entry, stored, data)
        self._ids_by_uri_key[entry.uri_key] = id
        self._numbers.add(number_of_id(id))
        return entry

    def _replaced_by(
        self, id: str, before: Entry | None
    ) -> tuple[Entry | None, bytes]:
        """Return the stored bookmark, and the content that `put` replaces."""
        if id in self._puts:  # This transaction has changed it already.
            return self._puts[id].before, self._puts[id].data
        if before:
            return before, self._read_unchanged(before)
        return None, b""

    def _refuse_uri_of_another(
        self, entry: Entry, before: Entry | None
    ) -> None:
        # After a merge by git, two bookmarks may have one uri. Both may keep it.
        if before and before.uri_key == entry.uri_key:
            return
        holder = self.holder(entry.bookmark.uri)
        if holder and holder.bookmark.id != entry.bookmark.id:
            raise Conflict(holder.bookmark.id)

    def delete(self, entry: Entry) -> None:
        """Delete a bookmark: store a tombstone, which hides the bookmark's file."""
        self._deleted.append(entry)
        if not self._keeps_deleted:
            self._to_clean_up.append(entry.bookmark.id)

    def remove_restored(self, id: str) -> None:
        """Let `sync` remove the old file of a restored bookmark. Errors are only logged."""
        self._to_clean_up.append(id)

    def erase(self, id: str) -> None:
        """Let `sync` remove a deleted bookmark's file."""
        self._to_erase.append(id)

    # --- Storing ---

    def publish(self, until_synced: ExitStack) -> None:
        """Write and sync all new files, then give them their names.

        One file of each folder stays open for `sync`. Raises Busy if another program
        has changed a file, or OutcomeUnknown if some changes may be stored.
        """
        with ExitStack() as until_published:
            unchanged = self._open_unchanged(until_published)
            puts = [
                (put, self._stage(until_published, put))
                for put in self._puts.values()
            ]
            deletions = [
                (entry, self._stage_tombstone(until_published, entry))
                for entry in self._deleted
            ]
            bookmarks = unchanged + [file.descriptor for _, file in puts]
            tombstones = [file.descriptor for _, file in deletions]
            files.sync(bookmarks + tombstones)
            if bookmarks:
                self._sync_later(self.folders.bookmarks, bookmarks[0], until_synced)
            if tombstones:
                self._sync_later(self.folders.tombstones, tombstones[0], until_synced)
            self._publish_all(puts, deletions)

    def _sync_later(self, folder: int, new_file: int, until_synced: ExitStack) -> None:
        with files.translate_disk_errors():
            file = os.dup(new_file)
        until_synced.callback(files.close, file)
        self._folders_to_sync.append((folder, file))

    def _publish_all(
        self,
        puts: list[tuple[_Put, files.Staged]],
        deletions: list[tuple[Entry, files.Staged]],
    ) -> None:
        try:
            for put, file in puts:
                self._publish(put, file)
            for entry, file in deletions:
                self._publish_tombstone(entry, file)
        except StorageError as error:
            if not self._has_published_some:
                raise
            message = f"{error} Some of the changes may be stored."
            raise OutcomeUnknown(message) from error
        self._has_published_all = True

    def sync(self) -> None:
        """Make the published names durable, then remove files of deleted bookmarks.

        In this order, a power cut loses no bookmark. Raises OutcomeUnknown, or another
        StorageError.
        """
        for folder, new_file in self._folders_to_sync:
            files.sync_folder(folder, new_file)
        if self._has_published_some:
            self.folders.require_in_place()
        if self._has_published_all:
            self._remove_files()

    def _remove_files(self) -> None:
        self._remove(self._to_erase)
        try:
            self._remove(self._to_clean_up)
        except StorageError as error:
            folder = self._follower.folders[BOOKMARKS]
            log.warning(
                "Files of deleted bookmarks remain in %s: %s", folder, error
            )

    def _remove(self, ids: list[str]) -> None:
        if not ids:
            return
        # Another process may not have synced the tombstones yet.
        files.sync_folder(self.folders.tombstones)
        for id in ids:
            # A restored backup may have removed the tombstone.
            if read_tombstone(self.folders, id):
                files.remove(id + SUFFIX, self.folders.bookmarks)
        files.sync_folder(self.folders.bookmarks)

    def _open_unchanged(self, opened: ExitStack) -> list[int]:
        descriptors = []
        for id in self._unchanged - self._puts.keys():
            name = id + SUFFIX
            with files.translate_disk_errors(f"The file {name} cannot be synced"):
                file = files.open_file(name, folder=self.folders.bookmarks)
                descriptors.append(opened.enter_context(file))
        return descriptors

    def _stage(self, opened: ExitStack, put: _Put) -> files.Staged:
        name = put.entry.bookmark.id + SUFFIX
        file = files.Staged(self.folders.bookmarks, name, put.data)
        return opened.enter_context(file)

    def _stage_tombstone(self, opened: ExitStack, entry: Entry) -> files.Staged:
        id = entry.bookmark.id
        data = encode(Tombstone(id, now(), private=not entry.is_public))
        file = files.Staged(self.folders.tombstones, id + SUFFIX, data)
        return opened.enter_context(file)

    def _publish(self, put: _Put, file: files.Staged) -> None:
        if put.before:
            self._read_unchanged(put.before)
            file.publish()
        else:
            file.publish_new()
        self._has_published_some = True
        put.entry.changed_at = file.changed_at

    def _publish_tombstone(self, entry: Entry, file: files.Staged) -> None:
        self._read_unchanged(entry)
        file.publish_new()
        self._has_published_some = True

    def _sync_tombstone(self, id: str) -> None:
        folder = self.folders.tombstones
        with files.translate_disk_errors():
            with files.open_file(id + SUFFIX, folder=folder) as descriptor:
                files.sync_folder(folder, descriptor)

    def _read_unchanged(self, found: Entry) -> bytes:
        """Return the content of a bookmark's file. Raises Busy if it has changed."""
        name = found.bookmark.id + SUFFIX
        with suppress(FileNotFoundError, files.BadFile):
            content, _ = files.read(name, self.folders.bookmarks)
            if digest(content) == found.version:
                return content
        raise Busy(f"Another program has just changed {name}. Try again.")


def read_tombstone(folders: OpenFolders, id: str) -> Tombstone | None:
    """Return the tombstone of an id, or None if the file is missing or invalid."""
    try:
        data, _ = files.read(id + SUFFIX, folders.tombstones)
        return decode_tombstone(id, data)
    except (FileNotFoundError, files.BadFile, Invalid):
        return None
