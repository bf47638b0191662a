"""Decide on changes by the present files, and store them together."""

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
    content: bytes  # Of its file.
    replaced: Entry | None  # The stored bookmark. Its file must not have changed.


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
        self._deleted: dict[str, Entry] = {}  # By id.
        # These files are only synced, because another program may have written them
        # without a sync.
        self._unchanged: set[str] = set()
        # The ids whose files `remove_files` removes. If this fails for the first, an error
        # is raised. For the others, it is only logged.
        self._to_erase: list[str] = []
        self._to_clean_up: list[str] = []

        self._has_published_some = False
        # Each folder with new files, and an open one of these files.
        self._folders_to_sync: list[tuple[int, int]] = []
        self._until_synced = ExitStack()

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
        """Return a new id. Some clients use the number in an id, so it is new, too."""
        while True:
            id = self._minter.mint()
            number = number_of_id(id)
            with self._follower.mutex:
                is_used = bool(self._follower.index.ids_of_number(number))
            if not is_used and number not in self._numbers:
                return id

    def add(self, bookmark: Bookmark, restored_content: bytes = b"") -> Entry:
        """Store a new bookmark, with the unknown members of `restored_content`."""
        if self.find(bookmark.id):
            raise Conflict(bookmark.id)
        return self._put(bookmark, restored_content, None)

    def put(self, bookmark: Bookmark, before: Entry | None = None) -> Entry:
        """Store a bookmark in place of `before`, or as a new bookmark.

        - Raises Conflict if another bookmark has the uri or id.
        - Raises Gone or Unreadable by the file of the uri or id.
        - Raises Busy if another program has just changed the file.
        - Raises Invalid if the file would be too large.
        """
        if before is None:
            return self.add(bookmark)
        if bookmark is before.bookmark:
            self._unchanged.add(bookmark.id)
            return before
        return self._put(bookmark, self._content_of(before), before)

    def _content_of(self, entry: Entry) -> bytes:
        earlier_put = self._puts.get(entry.bookmark.id)
        if earlier_put:
            return earlier_put.content
        return self._read_unchanged(entry)

    def _put(
        self, bookmark: Bookmark, previous_content: bytes, before: Entry | None
    ) -> Entry:
        content = encode(bookmark, previous_content)
        entry = new_entry(bookmark, digest(content), time.time())
        self._refuse_uri_of_another(entry, before)
        replaced = before
        if bookmark.id in self._puts:
            # `before` was never stored. The file has what the first put replaces.
            replaced = self._puts[bookmark.id].replaced
        self._puts[bookmark.id] = _Put(entry, content, replaced)
        self._ids_by_uri_key[entry.uri_key] = bookmark.id
        self._numbers.add(number_of_id(bookmark.id))
        return entry

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
        self._deleted[entry.bookmark.id] = entry
        if not self._keeps_deleted:
            self._to_clean_up.append(entry.bookmark.id)

    def remove_restored(self, id: str) -> None:
        """Let `remove_files` remove the old file. Errors are only logged."""
        self._to_clean_up.append(id)

    def erase(self, id: str) -> None:
        """Let `remove_files` remove a deleted bookmark's file."""
        self._to_erase.append(id)

    # --- Storing, in three phases: publish, sync, remove_files ---

    def publish(self) -> None:
        """Write all new files, sync them, then give them their names.

        A power cut before the names leaves the old files. Raises Busy if another
        program has changed a file, or OutcomeUnknown if some changes may be stored.
        """
        with ExitStack() as opened:
            bookmarks = self._stage_bookmarks(opened)
            tombstones = self._stage_tombstones(opened)
            new_bookmarks = [file.descriptor for file in bookmarks.values()]
            new_bookmarks += self._open_unchanged(opened)
            new_tombstones = [file.descriptor for file in tombstones.values()]
            files.sync(new_bookmarks + new_tombstones)
            if new_bookmarks:
                self._sync_later(self.folders.bookmarks, new_bookmarks[0])
            if new_tombstones:
                self._sync_later(self.folders.tombstones, new_tombstones[0])
            try:
                self._publish_bookmarks(bookmarks)
                self._publish_tombstones(tombstones)
            except StorageError as error:
                if not self._has_published_some:
                    raise
                message = f"{error} Some of the changes may be stored."
                raise OutcomeUnknown(message) from error

    def _open_unchanged(self, opened: ExitStack) -> list[int]:
        descriptors = []
        for id in self._unchanged - self._puts.keys():
            name = id + SUFFIX
            with files.translate_disk_errors(f"The file {name} cannot be synced"):
                file = files.open_file(name, folder=self.folders.bookmarks)
                descriptors.append(opened.enter_context(file))
        return descriptors

    def _stage_bookmarks(self, opened: ExitStack) -> dict[str, files.Staged]:
        staged = {}
        for id, put in self._puts.items():
            file = files.Staged(self.folders.bookmarks, id + SUFFIX, put.content)
            staged[id] = opened.enter_context(file)
        return staged

    def _stage_tombstones(self, opened: ExitStack) -> dict[str, files.Staged]:
        staged = {}
        for id, entry in self._deleted.items():
            content = encode(Tombstone(id, now(), private=not entry.is_public))
            file = files.Staged(self.folders.tombstones, id + SUFFIX, content)
            staged[id] = opened.enter_context(file)
        return staged

    def _sync_later(self, folder: int, new_file: int) -> None:
        """Let `sync` call `files.sync_folder` with a folder and a new file in it."""
        with files.translate_disk_errors():
            file = os.dup(new_file)
        self._until_synced.callback(files.close, file)
        self._folders_to_sync.append((folder, file))

    def _publish_bookmarks(self, staged: dict[str, files.Staged]) -> None:
        for id, file in staged.items():
            put = self._puts[id]
            if put.replaced:
                self._read_unchanged(put.replaced)
                file.publish()
            else:
                file.publish_new()
            self._has_published_some = True
            put.entry.changed_at = file.changed_at

    def _publish_tombstones(self, staged: dict[str, files.Staged]) -> None:
        for id, file in staged.items():
            self._read_unchanged(self._deleted[id])
            file.publish_new()
            self._has_published_some = True

    def sync(self) -> None:
        """Make the names of the published files durable. Raises OutcomeUnknown."""
        with self._until_synced:
            for folder, new_file in self._folders_to_sync:
                files.sync_folder(folder, new_file)
        if self._has_published_some:
            self.folders.require_in_place()

    def remove_files(self) -> None:
        """Remove files of deleted bookmarks. Raises a StorageError.

        Only after `sync`, so that a power cut loses no restored bookmark.
        """
        self._remove(self._to_erase)
        try:
            self._remove(self._to_clean_up)
        except StorageError as error:
            folder = self._follower.folders.bookmarks
            log.warning(
                "Files of deleted bookmarks remain in %s: %s", folder, error
            )

    def _remove(self, ids: Sequence[str]) -> None:
        if ids:
            remove_deleted(self.folders, ids)
            files.sync_folder(self.folders.bookmarks)

    # --- Files ---

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


def remove_deleted(folders: OpenFolders, ids: Sequence[str]) -> None:
    """Remove files of deleted bookmarks, but only if their tombstones are durable.

    Raises a StorageError.
    """
    if not ids:
        return
    # Another process may have written tombstones that it has not synced yet.
    files.sync_folder(folders.tombstones)
    for id in ids:
        # A restored backup may have removed the tombstone.
        if read_tombstone(folders, id):
            files.remove(id + SUFFIX, folders.bookmarks)


def read_tombstone(folders: OpenFolders, id: str) -> Tombstone | None:
    """Return the tombstone of an id, or None if the file is missing or invalid."""
    try:
        data, _ = files.read(id + SUFFIX, folders.tombstones)
        return decode_tombstone(id, data)
    except (FileNotFoundError, files.BadFile, Invalid):
        return None
