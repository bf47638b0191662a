"""A transaction: decide on the present files, then store all changes durably."""

import logging
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from storage import files
from storage.bookmark import Bookmark, Tombstone, now
from storage.errors import (
    Busy,
    Conflict,
    Gone,
    NotFound,
    OutcomeUnknown,
    StorageError,
)
from storage.follower import BOOKMARKS, TOMBSTONES, Follower, new_entry
from storage.index import Entry, State
from storage.known_files import SUFFIX
from storage.record import digest, encode
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

    def __init__(self, follower: Follower, minter: Minter) -> None:
        self._follower = follower
        self._folders = follower.folders
        self._minter = minter
        self._puts: dict[str, _Put] = {}  # By id.
        self._ids_by_uri_key: dict[str, str] = {}  # Of the puts.
        self._deleted: list[Entry] = []
        self._unchanged: set[str] = set()  # Ids whose files are only synced.
        # A published file's descriptor for each folder, by its position.
        self._published: dict[int, int] = {}
        self._to_remove: list[Path] = []  # The files of deleted bookmarks.

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
        """Return an id that no bookmark has or had."""
        while True:
            id = self._minter.mint()
            with self._follower.mutex:
                is_used = id in self._follower.index.items
            if not is_used and id not in self._puts:
                return id

    def put(self, bookmark: Bookmark, before: Entry | None = None) -> Entry:
        """Store the bookmark in place of `before`, or as a new one.

        If it is the object `before.bookmark`, only sync its file, which
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
        previous_content = b""
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

    # --- Storing ---

    def publish(self, opened: ExitStack) -> None:
        """Write and sync all files, then give the new ones their names.

        The files stay open in `opened`. Raises Busy if another program
        changes a file meanwhile; OutcomeUnknown if some changes may be stored.
        """
        unchanged = self._open_unchanged(opened)
        puts = [(put, self._stage(opened, put)) for put in self._puts.values()]
        deletions = [
            (entry, self._stage_tombstone(opened, entry))
            for entry in self._deleted
        ]
        staged = [file for _, file in [*puts, *deletions]]
        files.sync(unchanged + [file.descriptor for file in staged])
        if unchanged:
            self._published[BOOKMARKS] = unchanged[-1]
        try:
            for put, file in puts:
                self._publish(put, file)
            for entry, file in deletions:
                self._publish_tombstone(entry, file)
        except StorageError as error:
            if not self._published:
                raise
            message = f"{error} Some of the changes may be stored."
            raise OutcomeUnknown(message) from error

    def sync(self) -> None:
        """Make the published names durable, then remove deleted bookmarks.

        Raises OutcomeUnknown.
        """
        for kind, descriptor in self._published.items():
            files.sync_folder(self._folders[kind], descriptor)
        if not self._to_remove:
            return
        try:
            for path in self._to_remove:
                files.remove(path)
            files.sync_folder(self._folders[BOOKMARKS])
        except StorageError as error:  # `check --repair` removes them later.
            folder = self._folders[BOOKMARKS]
            log.warning(
                "Files of deleted bookmarks remain in %s: %s", folder, error
            )

    def _open_unchanged(self, opened: ExitStack) -> list[int]:
        """Open the files that are only synced; return their descriptors."""
        descriptors = []
        for id in self._unchanged - self._puts.keys():
            problem = f"The file {id}{SUFFIX} cannot be synced"
            with files.translate_disk_errors(problem):
                file = files.open_file(self._path(id))
                descriptors.append(opened.enter_context(file))
        return descriptors

    def _stage(self, opened: ExitStack, put: _Put) -> files.Staged:
        name = put.entry.bookmark.id + SUFFIX
        file = files.Staged(self._folders[BOOKMARKS], name, put.data)
        return opened.enter_context(file)

    def _stage_tombstone(self, opened: ExitStack, entry: Entry) -> files.Staged:
        folder = self._folders[TOMBSTONES]
        files.make_folder(folder)
        id = entry.bookmark.id
        data = encode(Tombstone(id, now(), private=not entry.is_public))
        return opened.enter_context(files.Staged(folder, id + SUFFIX, data))

    def _publish(self, put: _Put, file: files.Staged) -> None:
        if put.before:
            self._read(put.before)  # Raises Busy.
            file.publish()
        else:
            file.publish_new()
        self._published[BOOKMARKS] = file.descriptor
        put.entry.changed_at = file.changed_at

    def _publish_tombstone(self, entry: Entry, file: files.Staged) -> None:
        self._read(entry)  # Raises Busy.
        file.publish_new()
        self._published[TOMBSTONES] = file.descriptor
        self._to_remove.append(self._path(entry.bookmark.id))

    def _sync_tombstone(self, id: str) -> None:
        folder = self._folders[TOMBSTONES]
        with files.translate_disk_errors():
            with files.open_file(folder / (id + SUFFIX)) as descriptor:
                files.sync_folder(folder, descriptor)

    def _read(self, found: Entry) -> bytes:
        """Return the content of a bookmark's file.

        Raises Busy if the file is not the version that was found: it must not
        be replaced.
        """
        id = found.bookmark.id
        with suppress(FileNotFoundError, files.BadFile):
            content, _ = files.read(self._path(id))
            if digest(content) == found.version:
                return content
        raise Busy(f"Another program has just changed {id}{SUFFIX}. Try again.")

    def _path(self, id: str) -> Path:
        return self._folders[BOOKMARKS] / (id + SUFFIX)
