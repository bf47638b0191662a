"""A transaction: decide on the present files, then store all changes durably."""

import logging
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
from storage.follower import BOOKMARKS, TOMBSTONES, Follower, new_entry
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
    before: Entry | None  # The version that it replaces.
    data: bytes


class Transaction:
    """Changes of a locked folder, which `Store.transaction` stores together.

    Every method sees the changes that were made before in the transaction.
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
        self._ids_by_uri_key: dict[str, str] = {}  # Of the puts.
        self._numbers: set[int] = set()  # Of the puts' ids.
        self._deleted: list[Entry] = []
        self._unchanged: set[str] = set()  # Ids whose files are only synced.
        # A synced file of BOOKMARKS and of TOMBSTONES, by its descriptor.
        self._synced: dict[int, int] = {}
        self._has_published = False
        self._has_published_all = False
        # The ids of deleted bookmarks whose files go at the end.
        self._to_remove: list[str] = []
        self._to_erase: list[str] = []

    # --- Reading ---

    @property
    def state(self) -> State:
        """The validators of the collection before this transaction."""
        with self._follower.mutex:
            return self._follower.state

    def find(self, id: str) -> Entry | None:
        """Return the bookmark of this id, or None.

        Raises Gone or Unreadable.
        """
        put = self._puts.get(id)
        if put:
            return put.entry
        with self._follower.mutex:
            # Locking the folder has brought new files into the index. Read a
            # known one again: inotify does not report every change of it.
            if id in self._follower.index.items:
                self._follower.reread(id)
            return self._follower.find(id)

    def get(self, id: str) -> Entry:
        """Return the bookmark of this id.

        Raises NotFound, Gone or Unreadable. A client may repeat a deletion
        whose sync failed, so a tombstone is durable before Gone.
        """
        try:
            entry = self.find(id)
        except Gone:
            self._sync_tombstone(id)
            raise
        if entry is None:
            raise NotFound(id)
        return entry

    def holder(self, uri: str) -> Entry | None:
        """Return the bookmark that has this uri, the oldest of several.

        Raises Unreadable.
        """
        key = uri_key(uri)
        with self._follower.mutex:
            ids = self._follower.ids_of_uri_key(key)
        if key in self._ids_by_uri_key:
            ids.insert(0, self._ids_by_uri_key[key])
        for id in ids:
            current = self.find(id)
            if current and current.uri_key == key:
                return current
        return None

    # --- Changing ---

    def mint(self) -> str:
        """Return an id whose number no bookmark has or had."""
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
        previous_content: bytes = b"",
    ) -> Entry:
        """Store the bookmark in place of `before`, or as a new one.

        A new one keeps the unknown members of its `previous_content`. If the
        bookmark is the object `before.bookmark`, only sync its file, which
        another program may have written. Raises Conflict if another bookmark
        has its uri or, without `before`, its id; Gone or Unreadable; Invalid
        if its file would be too large.
        """
        id = bookmark.id
        if before and bookmark is before.bookmark:
            self._unchanged.add(id)
            return before
        if before is None and self.find(id):
            raise Conflict(id)
        first = before
        if id in self._puts:
            first = self._puts[id].before
            previous_content = self._puts[id].data
        elif before:
            previous_content = self._read(before)
        data = encode(bookmark, previous_content)  # Keeps unknown members.
        entry = new_entry(bookmark, data, time.time())
        self._refuse_uri_of_another(entry, before)
        self._puts[id] = _Put(entry, first, data)
        self._ids_by_uri_key[entry.uri_key] = id
        self._numbers.add(number_of_id(id))
        return entry

    def _refuse_uri_of_another(
        self, entry: Entry, before: Entry | None
    ) -> None:
        # Two files may have one uri, so keeping the uri is no conflict.
        if before and before.uri_key == entry.uri_key:
            return
        holder = self.holder(entry.bookmark.uri)
        if holder and holder.bookmark.id != entry.bookmark.id:
            raise Conflict(holder.bookmark.id)

    def delete(self, entry: Entry) -> None:
        """Delete a bookmark for ever: its tombstone wins over its file."""
        self._deleted.append(entry)

    def remove_restored(self, id: str) -> None:
        """Remove a deleted bookmark's file once all changes are durable.

        If that fails, the file stays in the trash.
        """
        self._to_remove.append(id)

    def erase(self, id: str) -> None:
        """Remove a deleted bookmark's file, or raise OutcomeUnknown."""
        self._to_erase.append(id)

    # --- Storing ---

    def publish(self, opened: ExitStack) -> None:
        """Write and sync all files, then give the new ones their names.

        One file of each folder stays open in `opened`, for the folder's sync.
        Raises Busy if another program changes a file meanwhile; OutcomeUnknown
        if some changes may be stored.
        """
        with ExitStack() as staged:
            bookmarks = self._open_unchanged(staged)
            puts = []
            for put in self._puts.values():
                file = self._stage(staged, put)
                puts.append((put, file))
                bookmarks.append(file.descriptor)
            tombstones = []
            deletions = []
            for entry in self._deleted:
                file = self._stage_tombstone(staged, entry)
                deletions.append((entry, file))
                tombstones.append(file.descriptor)
            files.sync(bookmarks + tombstones)
            self._keep_one(BOOKMARKS, bookmarks, opened)
            self._keep_one(TOMBSTONES, tombstones, opened)
            self._publish_all(puts, deletions)

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
            if not self._has_published:
                raise
            message = f"{error} Some of the changes may be stored."
            raise OutcomeUnknown(message) from error
        self._has_published_all = True

    def _keep_one(
        self, kind: int, descriptors: list[int], opened: ExitStack
    ) -> None:
        """Keep only one synced file open: the sync of its folder may be slow."""
        if descriptors:
            with files.translate_disk_errors():
                file = files.duplicate(descriptors[0])
                self._synced[kind] = opened.enter_context(file)

    def sync(self) -> None:
        """Make the published names durable, then remove deleted bookmarks.

        Raises OutcomeUnknown.
        """
        if BOOKMARKS in self._synced:
            files.sync_folder(self.folders.bookmarks, self._synced[BOOKMARKS])
        if TOMBSTONES in self._synced:
            files.sync_folder(self.folders.tombstones, self._synced[TOMBSTONES])
        if self._has_published:
            self.folders.require_in_place()
        if self._has_published_all:
            self._remove_files()

    def _remove_files(self) -> None:
        self._remove(self._to_erase)
        try:
            self._remove(self._to_remove)
        except StorageError as error:
            folder = self._follower.folders[BOOKMARKS]
            log.warning(
                "Files of deleted bookmarks remain in %s: %s", folder, error
            )

    def _remove(self, ids: list[str]) -> None:
        """Remove the files of deleted bookmarks. Raises OutcomeUnknown."""
        if not ids:
            return
        # Another process may not have synced its tombstone yet.
        files.sync_folder(self.folders.tombstones)
        for id in ids:
            if read_tombstone(self.folders, id):  # A restore may remove it.
                files.remove(id + SUFFIX, self.folders.bookmarks)
        files.sync_folder(self.folders.bookmarks)

    def _open_unchanged(self, opened: ExitStack) -> list[int]:
        """Open the files that are only synced; return their descriptors."""
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
            self._read(put.before)  # Raises Busy.
            file.publish()
        else:
            file.publish_new()
        self._has_published = True
        put.entry.changed_at = file.changed_at

    def _publish_tombstone(self, entry: Entry, file: files.Staged) -> None:
        self._read(entry)  # Raises Busy.
        file.publish_new()
        self._has_published = True
        if not self._keeps_deleted:
            self._to_remove.append(entry.bookmark.id)

    def _sync_tombstone(self, id: str) -> None:
        folder = self.folders.tombstones
        with files.translate_disk_errors():
            with files.open_file(id + SUFFIX, folder=folder) as descriptor:
                files.sync_folder(folder, descriptor)

    def _read(self, found: Entry) -> bytes:
        """Return the content of a bookmark's file.

        Raises Busy if the file is not the version that was found: it must not
        be replaced.
        """
        name = found.bookmark.id + SUFFIX
        with suppress(FileNotFoundError, files.BadFile):
            content, _ = files.read(name, self.folders.bookmarks)
            if digest(content) == found.version:
                return content
        raise Busy(f"Another program has just changed {name}. Try again.")


def read_tombstone(folders: OpenFolders, id: str) -> Tombstone | None:
    """Return the tombstone of an id, None without a valid one."""
    try:
        data, _ = files.read(id + SUFFIX, folders.tombstones)
        return decode_tombstone(id, data)
    except (FileNotFoundError, files.BadFile, Invalid):
        return None
