"""The store: one folder of bookmarks, shared by any number of threads and processes."""

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from storage import files, snapshot
from storage.bookmark import (
    ID,
    Bookmark,
    Minter,
    Tombstone,
    digest,
    fold_tag,
    from_file,
    timestamp,
    to_file,
    tombstone_from_file,
    uri_key,
)
from storage.errors import (
    Busy,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    Stale,
    StorageError,
    Unavailable,
    Unreadable,
)
from storage.index import (
    MAX_SELECTIONS,
    Entry,
    Grave,
    Index,
    Page,
    State,
    matching,
    newest,
    tag_counts,
)
from storage.query import Query
from storage.watch import Watch

log = logging.getLogger("bookmarks")

_SUFFIX = ".json"
_BOOKMARKS, _TOMBSTONES = 0, 1
# A file that was touched this shortly before it was read may change again without its time or
# size showing it: a comparison of times has to read it once more.
_RACY_NS = 2_000_000_000
_Signatures = dict[str, int | None]
_Result = TypeVar("_Result")
_Value = TypeVar("_Value", Entry, Grave)


SWAP_SECONDS = 5.0
_RETRY_SECONDS = 5.0
# So many files are worth a snapshot: reading them takes half a second.
MANY = 10_000
# Each holds a file open until all are written, and a process may not open many.
MAX_CHANGES = 200


class Change(NamedTuple):
    """A bookmark to be stored, in place of the version that was seen if there was one."""

    bookmark: Bookmark
    seen: Entry | None


class Store:
    """The bookmarks in `folder`, whose files are the only truth.

    The index in memory follows what changes in the folder; every call sees each change that any
    process finished before it. A version is the digest of a file's bytes.
    """

    def __init__(self, folder: Path, writable: bool = False) -> None:
        """Opens the folder, makes what is missing in it, sweeps what crashes left in it.

        Raises Unavailable if the folder cannot be made, read or locked, or not be written to by
        this user though it is to be `writable`; Full if the disk is.
        """
        self._folder, self._writable = folder, writable
        self._folders = (folder / "bookmarks", folder / "tombstones")
        files.make_folders((folder, self._folders[_BOOKMARKS]))
        if files.is_open_to_us(folder):  # Else there are no tombstones, or their folder is there.
            files.make_folders(self._folders[_TOMBSTONES:])
        if writable:
            files.require_writable(self._folders)
        self._reported: dict[tuple[int, str], str] = {}
        self.seen = 0  # How many changes of the folder were seen so far.
        snapshot.rules()
        self._open()
        self._lock.check()
        self._sweep()
        self._settle_all()
        # Locks, watch and half-read changes belong to the process that has them.
        opened = weakref.WeakMethod(self._open)
        os.register_at_fork(after_in_child=lambda: (open := opened()) and open())

    def _open(self) -> None:
        """Begins anew in this process."""
        self._mutex = threading.RLock()
        self._lock = files.Lock(self._folders[_BOOKMARKS])
        self._minter = Minter()
        self._watch = Watch(self._folders)
        self._forget()

    def _forget(self) -> None:
        """Drops what is known of the files; the next look reads them all."""
        self._watch.close()
        self._index = Index()
        self._own: set[tuple[int, str]] = set()  # What the next look will tell, but is known.
        self._unreadable: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._failing: set[tuple[int, str]] = set()  # Those of them that may be well again.
        self._retry_at = 0.0  # When they are asked for again.
        self._blind = False  # Whether they may be all there is.
        self._looked = 0  # When the last look began, in nanoseconds; none has yet.
        self._signatures: tuple[_Signatures, _Signatures] = ({}, {})

    def _sweep(self) -> None:
        """Removes the temporary files that crashes left more than an hour ago."""
        for folder in (self._folder, *self._folders):
            try:
                names = os.listdir(folder)
            # What cannot be listed, the first look tells; there may be no tombstones.
            except (PermissionError, FileNotFoundError):
                continue
            for name in filter(files.is_temporary, names):
                path = folder / name
                if files.is_stale(path):
                    try:
                        files.remove(path)
                    except StorageError as error:
                        log.warning("%s remains: %s", path, error)

    def _settle_all(self) -> None:
        """Makes durable what a process may have published before it was killed."""
        for folder in filter(Path.exists, self._folders):
            try:
                files.sync(folder)
            except StorageError as error:
                log.warning("%s cannot be synced: %s", folder, error)

    def close(self) -> None:
        """Ends the watch. The next call begins a new one."""
        self._watch.close()

    # --- Reading ---

    def get(self, id: str) -> Entry:
        """The bookmark of this id. Raises NotFound, Gone or Unreadable."""
        try:
            return self._got(id)
        except Gone:  # For ever, unless whoever deletes it just now fails.
            self._await(_TOMBSTONES, id)
            return self._got(id)
        except Unreadable:  # What hindered may have passed.
            with self._mutex:
                self._look([(kind, id) for kind in (_BOOKMARKS, _TOMBSTONES)])
            return self._got(id)

    def _got(self, id: str) -> Entry:
        quiet = self._watch.is_quiet()
        with self._mutex:
            entry = self._find(self._refreshed(quiet), id)
        if entry is None:
            raise NotFound(id)
        return entry

    def changes(self) -> int:
        """How many changes of the folder there were: the same number means that there was none."""
        quiet = self._watch.is_quiet()
        with self._mutex:
            self._refreshed(quiet)
            return self.seen

    def state(self) -> State:
        """The validators of the whole collection."""
        quiet = self._watch.is_quiet()
        with self._mutex:
            return self._refreshed(quiet).state

    def holder(self, uri: str) -> Entry | None:
        """The bookmark that has this uri, the oldest if there are several."""
        key = uri_key(uri)
        # After an addition of ours there is an event to be read: nobody needs to ask.
        quiet = not self._own and self._watch.is_quiet()
        with self._mutex:
            return next(iter(self._refreshed(quiet).holders(key)), None)

    def tag_counts(self) -> tuple[list[tuple[str, int]], State]:
        """Each tag with the number of its bookmarks, the most used first; the validators."""
        quiet = self._watch.is_quiet()
        with self._mutex:
            index = self._refreshed(quiet)
            return index.tag_counts(), index.state

    def select(self, query: Query) -> Page:
        """The bookmarks and deletions in the query's range, with the validators of that moment."""
        quiet = self._watch.is_quiet()
        with self._mutex:
            index = self._refreshed(quiet)
            if query.key is None:
                found = index.tagged(query.tags)
            else:
                found = [e for e in index.holders(query.key) if set(query.tags) <= set(e.tags)]
            state = index.state
            tombstones = index.tombstones(query) if query.deletions else []
            buried, memory, counts = len(index.graves), index.counts, index.counted(query)
            if not query.words:
                total, entries = len(found), newest(found, query.limit, query.offset)
            if query.words or counts is None:
                found = list(found)
        if query.words:  # Over a copy, without keeping anybody waiting.
            found = matching(found, query.words)
            total, entries = len(found), newest(found, query.limit, query.offset)
        if counts is None:
            counts = tag_counts(found, query.counts)
            if len(memory) < MAX_SELECTIONS:
                memory[query.selection] = counts
        versions = [entry.version for entry in entries] if query.counts else ()
        bookmarks = [entry.bookmark for entry in entries]
        return Page(bookmarks, total, state, tombstones, buried, versions, counts)

    def _find(self, index: Index, id: str) -> Entry | None:
        if grave := index.graves.get(id):
            raise Gone(id, grave.tombstone.deleted)
        for unreadable in self._unreadable:
            if id in unreadable:
                raise Unreadable(id, unreadable[id])
        return index.entries.get(id)

    # --- Writing ---

    def mint(self) -> str:
        """An id for a new bookmark."""
        return self._minter.mint()

    def add(self, bookmark: Bookmark, state: State | None = None) -> Entry:
        """Stores a new bookmark durably.

        Raises Stale if its id is there already, or the collection is no longer in the state that
        the caller saw; Conflict if its uri is; Gone or Unreadable for its id; Busy, Full or
        Unavailable. Nothing was stored then.
        """
        return self._write(bookmark, None, state)

    def replace(self, bookmark: Bookmark, seen: Entry, state: State | None = None) -> Entry:
        """Stores the bookmark durably in place of the version that the caller saw.

        Raises Stale if that is no longer the current one, Gone or Unreadable; Conflict if its new
        uri is taken; Busy, Full or Unavailable. The old version stands then.
        """
        return self._write(bookmark, seen, state)

    def _write(self, bookmark: Bookmark, seen: Entry | None, state: State | None) -> Entry:
        before, data = self._contents(bookmark, seen)
        with (
            files.Folder(self._folders[_BOOKMARKS]) as folder,
            self._staged(_BOOKMARKS, bookmark.id, data) as staged,
        ):
            entry = _entry_of(bookmark, data, staged.written)
            with self._locked() as index:
                self._require_state(index, state)
                self._publish(index, staged, entry, seen)
            self._settle(_BOOKMARKS, folder, [(bookmark.id, data, before)])
        return entry

    def write_all(self, changes: Sequence[Change]) -> list[tuple[Change, StorageError]]:
        """Stores up to `MAX_CHANGES` bookmarks durably, with one sync for all of them.

        Gives back those changes that could not be made, with the reason: Invalid, Unreadable, or
        else somebody was faster. Raises Busy, Full or Unavailable; each bookmark is stored whole or
        not at all then.
        """
        undone: list[tuple[Change, StorageError]] = []
        written: list[tuple[str, bytes, bytes | None]] = []
        with ExitStack() as stack:
            folder = stack.enter_context(files.Folder(self._folders[_BOOKMARKS]))
            staged = []
            for change in changes:
                try:
                    before, data = self._contents(*change)
                except (Stale, Invalid, Unreadable) as error:
                    undone.append((change, error))
                    continue
                file = self._staged(_BOOKMARKS, change.bookmark.id, data, durable=False)
                entry = _entry_of(change.bookmark, data, stack.enter_context(file).written)
                staged.append((file, entry, change, data, before))
            folder.sync_disk([file for file, *_ in staged])
            try:
                with self._locked() as index:
                    for file, entry, change, data, before in staged:
                        try:
                            self._publish(index, file, entry, change.seen)
                            written.append((change.bookmark.id, data, before))
                        except (Stale, Conflict, Gone, Unreadable) as error:
                            undone.append((change, error))
            finally:
                self._settle(_BOOKMARKS, folder, written)
        return undone

    def _contents(self, bookmark: Bookmark, seen: Entry | None) -> tuple[bytes | None, bytes]:
        """What the bookmark's file holds, None if there is none yet, and what it shall hold."""
        if seen is None:
            return None, to_file(bookmark)
        try:
            before, _ = files.read(self._path(_BOOKMARKS, bookmark.id))
        except files.Failing as error:  # Nobody was faster, so to try again is in vain.
            raise Unreadable(bookmark.id, str(error)) from error
        except (FileNotFoundError, files.BadFile):
            raise Stale from None
        if digest(before) != seen.version:
            raise Stale
        return before, to_file(bookmark, before, files.MAX_SIZE)

    def _publish(
        self, index: Index, staged: files.Staged, entry: Entry, seen: Entry | None
    ) -> None:
        if seen is None:
            self._require_absent(index, entry.bookmark.id)
        else:
            self._require_seen(index, seen)
        if seen is None or entry.key != seen.key:
            self._require_free(index, entry)
        if seen is not None:
            staged.publish()
        elif staged.publish_new():
            self._learn(entry)

    def keep(self, seen: Entry) -> Entry:
        """Makes sure that a version stands which somebody else may be writing just now.

        Raises Stale, Gone or Unreadable if it does not; Busy or Unavailable.
        """
        self._await(_BOOKMARKS, seen.bookmark.id)
        files.sync(self._folders[_BOOKMARKS])  # Whoever wrote it may have died before this.
        with suppress(NotFound):
            if self.get(seen.bookmark.id).version == seen.version:
                return seen
        raise Stale

    def delete(self, seen: Entry) -> None:
        """Deletes the version that the caller saw, durably and for ever.

        The tombstone is on the disk before the bookmark's file goes, and wins over it. Raises
        Stale, Gone, Unreadable, Busy, Full or Unavailable; the bookmark stands then.
        """
        id = seen.bookmark.id
        data = to_file(Tombstone(id, timestamp(time.time())))
        files.make_folder(self._folders[_TOMBSTONES])
        with (
            files.Folder(self._folders[_TOMBSTONES]) as folder,
            self._staged(_TOMBSTONES, id, data) as staged,
        ):
            with self._locked() as index:
                self._require_seen(index, seen)
                staged.publish_new()
            self._settle(_TOMBSTONES, folder, [(id, data, None)])
        try:
            files.remove(self._path(_BOOKMARKS, id))
            files.sync(self._folders[_BOOKMARKS])
        except StorageError as error:  # Deleted all the same: `check --repair` finishes it.
            log.warning("The file of the deleted bookmark %s remains: %s", id, error)

    def _require_absent(self, index: Index, id: str) -> None:
        if self._find(index, id):
            raise Stale

    def _require_state(self, index: Index, state: State | None) -> None:
        if state and state.version != index.version:
            raise Stale

    def _require_seen(self, index: Index, seen: Entry) -> None:
        entry = self._find(index, seen.bookmark.id)
        if entry is None or entry.version != seen.version:
            raise Stale

    def _require_free(self, index: Index, entry: Entry) -> None:
        for holder in index.holders(entry.key):
            if holder.bookmark.id != entry.bookmark.id:
                raise Conflict(entry.bookmark.uri, holder.bookmark.id)

    def _settle(
        self, kind: int, folder: files.Folder, written: Sequence[tuple[str, bytes, bytes | None]]
    ) -> None:
        """Makes published files durable; if that fails, puts back what was there before."""
        try:
            folder.sync()
        except StorageError:
            with self._lock:
                for id, data, before in written:
                    try:
                        self._put_back(kind, id, data, before)
                    except StorageError as error:
                        log.warning("%s remains as written: %s", self._path(kind, id), error)
            raise

    def _put_back(self, kind: int, id: str, data: bytes, before: bytes | None) -> None:
        path = self._path(kind, id)
        try:
            now, _ = files.read(path)
        except files.Failing:
            raise
        except (FileNotFoundError, files.BadFile):
            return
        if now != data:  # Somebody else has written since: theirs stands.
            return
        if before is None:
            files.remove(path)
            return
        with files.Staged(path.parent, path.name, before, durable=False) as staged:
            staged.publish()

    def _await(self, kind: int, id: str) -> None:
        """Waits for whoever is writing this file. Raises Busy or Unavailable."""
        with suppress(FileNotFoundError):
            files.settled(self._path(kind, id))

    def _staged(self, kind: int, id: str, data: bytes, durable: bool = True) -> files.Staged:
        return files.Staged(self._folders[kind], id + _SUFFIX, data, durable)

    def _path(self, kind: int, id: str) -> Path:
        return self._folders[kind] / (id + _SUFFIX)

    @contextmanager
    def _locked(self) -> Iterator[Index]:
        """The up-to-date index while no other thread or process can write."""
        while True:
            with self._lock as locked, self._mutex:
                index = self._refreshed()
                if locked == self._watch.identity:
                    yield index
                    return
            # The folder was replaced by another one just now, which nobody has locked.

    # --- Following the folder ---

    def _refreshed(self, quiet: bool = False) -> Index:
        """The index, brought up to what the folder holds now, for whoever has the mutex.

        If the watch was just `quiet`, it is already: asked before the mutex is taken, that keeps
        nobody waiting.
        """
        is_due = bool(self._failing) and time.monotonic() > self._retry_at
        is_known = self._watch.tells and not self._blind  # Else somebody failed, and forgot all.
        if quiet and is_known and not is_due:
            return self._index
        try:
            told = self._watch.changes()
            if told is None:
                self._own.clear()
                self._look(None)
            else:
                if told:
                    self._look_at(told)
                if is_due:
                    self._look(list(self._failing))
        except Unavailable:
            raise
        except OSError as error:
            self._forget()
            raise _unavailable(error) from error
        except BaseException:  # What was told is not told again.
            self._forget()
            raise
        if self._blind:
            raise Unavailable("The data folder cannot be read: the disk fails.")
        return self._index

    def _look_at(self, told: list[tuple[int, str]]) -> None:
        """Looks at the files that the watch tells of."""
        # Files that are being staged may tell of themselves too.
        changes = [(kind, id) for kind, name in told if (id := _id_of(name))]
        for kind in {kind for kind, name in told if not name}:
            # Whatever changed at the folder itself may let them be read.
            changes += [(kind, id) for id in self._unreadable[kind]]
        if self._own:
            changes = self._not_own(changes)
            self._own.clear()
        if changes:
            self._look(changes)

    def _not_own(self, changes: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """The changes without the first of each id that was learned: any other is a stranger's.

        Inotify makes one of two that are alike, but nothing can be linked twice without going in
        between.
        """
        others = []
        for change in changes:
            if change in self._own:
                self._own.remove(change)
            else:
                others.append(change)
        return others

    def _learn(self, linked: Entry) -> None:
        """Takes into the index what was just linked as new, while nobody else publishes."""
        if not self._watch.tells:  # The next look is at all.
            return
        id = linked.bookmark.id
        self.seen += 1
        try:
            self._signatures[_BOOKMARKS][id] = None  # Too new for its times to show a change.
            self._index.touched = max(self._index.touched, time.time())
            self._index.change({id: linked}, {})
            self._own.add((_BOOKMARKS, id))
        except BaseException:
            self._forget()
            raise

    def _look(self, changes: list[tuple[int, str]] | None) -> None:
        """Reads the changed files into the index; without changes, all that differ."""
        is_first = not self._looked
        self._looked = time.time_ns()
        try:
            for folder in self._there():  # Its time tells of each name that came or went.
                self._index.touched = max(self._index.touched, folder.stat().st_mtime)
            recalled: dict[str, Entry] = {}
            if changes is None:
                recalled = self._recall()
                changes = list(self._differences())
            self._apply(changes, recalled)
            may_be_all = any(kind == _BOOKMARKS for kind, _ in self._failing)
            self._blind = may_be_all and not self._index.entries and (is_first or self._blind)
        except OSError as error:
            self._forget()  # These changes will not be told again.
            raise _unavailable(error) from error
        except BaseException:
            self._forget()
            raise
        finally:
            self.seen += 1

    def _there(self) -> tuple[Path, Path]:
        """The two folders, or for that of the tombstones what held it: git, for one, keeps no empty
        folder, and whoever restores a copy is about to make it.
        """
        bookmarks, tombstones = self._folders
        return bookmarks, tombstones if tombstones.exists() else self._folder

    def _recall(self) -> dict[str, Entry]:
        """The entries that a snapshot has, as if their files had been read then and not looked at
        since; only if nothing is known yet, no tombstone either: the look tells of each.
        """
        recalled: dict[str, Entry] = {}
        signatures = self._signatures[_BOOKMARKS]
        if not any(self._signatures):
            for signature, entry in snapshot.read(self._folder):
                id = entry.bookmark.id
                recalled[id], signatures[id] = entry, signature
        return recalled

    def _apply(self, changes: list[tuple[int, str]], recalled: dict[str, Entry]) -> None:
        ids: tuple[dict[str, None], dict[str, None]] = ({}, {})
        for kind, id in changes:
            ids[kind][id] = None
        graves = self._read_all(_TOMBSTONES, ids[_TOMBSTONES], _grave)
        # A tombstone that comes hides the bookmark, one that goes uncovers it.
        named = ids[_BOOKMARKS] | ids[_TOMBSTONES]
        hidden = {id: None for id in named if graves.get(id, id in self._index.graves)}
        for id in hidden:
            self._unreadable[_BOOKMARKS].pop(id, None)
            self._failing.discard((_BOOKMARKS, id))
            self._signatures[_BOOKMARKS].pop(id, None)
        outdated = recalled.keys() & named.keys()
        for id in outdated:
            del recalled[id]
        if recalled:
            touched = max(entry.touched for entry in recalled.values())
            self._index.touched = max(self._index.touched, touched)
        for id in recalled if self._reported else ():
            self._reported.pop((_BOOKMARKS, id), None)
        unread = [id for id in named if id not in hidden]
        read = self._read_all(_BOOKMARKS, unread, _entry)
        knows_none = not self._index.entries and not recalled
        entries: dict[str, Entry | None] = {**recalled, **read, **hidden}
        for id in self._unreadable[_TOMBSTONES].keys() & entries.keys():
            entries[id] = None
        self._index.change(entries, graves)
        is_useless = knows_none and os.path.lexists(self._folder / snapshot.NAME)
        if self._writable and (len(unread) >= MANY or outdated or is_useless):
            self._remember()

    def _remember(self) -> None:
        """Has a snapshot tell the next start of all files whose times would show a change, if it is
        worth it.
        """
        entries, signatures = self._index.entries, self._signatures[_BOOKMARKS]
        found = [(s, entries[id]) for id, s in signatures.items() if s and id in entries]
        try:
            if len(found) >= MANY:
                snapshot.write(self._folder, found)
            else:
                files.remove(self._folder / snapshot.NAME)
        except StorageError as error:
            log.warning("%s is not renewed: %s", self._folder / snapshot.NAME, error)

    def _read_all(
        self, kind: int, ids: Collection[str], parse: Callable[[str, bytes, float], _Value]
    ) -> dict[str, _Value | None]:
        """What each file holds, or None if there is none or it is not of this kind."""
        contents = files.read_all(self._folders[kind], [id + _SUFFIX for id in ids])
        return {
            id: self._parsed(kind, id, content, parse)
            for id, content in zip(ids, contents, strict=True)
        }

    def _parsed(
        self,
        kind: int,
        id: str,
        content: files.Content | StorageError | None,
        parse: Callable[[str, bytes, float], _Value],
    ) -> _Value | None:
        self._unreadable[kind].pop(id, None)
        self._failing.discard((kind, id))
        if content is None:
            self._signatures[kind].pop(id, None)
            self._reported.pop((kind, id), None)
            return None
        try:
            if isinstance(content, StorageError):
                raise content
            data, status = content
            self._signatures[kind][id] = _signature(status, self._looked)
            self._index.touched = max(self._index.touched, status.st_mtime)
            value = parse(id, data, status.st_mtime)
        except files.BadFile as error:
            self._signatures[kind].pop(id, None)
            self._skip(kind, id, str(error))
            if isinstance(error, files.Failing):
                self._failing.add((kind, id))
                # Whoever asks for one of them meanwhile does not put off the others.
                if time.monotonic() >= self._retry_at:
                    self._retry_at = time.monotonic() + _RETRY_SECONDS
            return None
        except Invalid as error:
            self._skip(kind, id, str(error))
            return None
        if self._reported:
            self._reported.pop((kind, id), None)
        return value

    def _skip(self, kind: int, id: str, reason: str) -> None:
        """Leaves a file alone that is no bookmark or tombstone, and reports it once."""
        self._unreadable[kind][id] = reason
        if self._reported.get((kind, id)) != reason:
            self._reported[kind, id] = reason
            log.warning("%s is skipped: %s", self._path(kind, id), reason)

    def _differences(self) -> Iterator[tuple[int, str]]:
        """The ids whose file's identity, size or times are not those of the last look."""
        for kind, folder in enumerate(self._there()):
            known = self._signatures[kind]
            if folder == self._folder:
                yield from ((kind, id) for id in {**known, **self._unreadable[kind]})
                continue
            with files.opened(folder) as descriptor:
                os.stat(".", dir_fd=descriptor)  # One that may only be listed is not an empty one.
                for id, before in known.items():
                    if not before or before != _signature_of(descriptor, id, self._looked):
                        yield kind, id
                with os.scandir(descriptor) as entries:
                    new = [e for e in entries if e.name.removesuffix(_SUFFIX) not in known]
            # In the order in which a disk has them, mostly.
            for entry in sorted(new, key=os.DirEntry.inode):
                if new_id := _id_of(entry.name):
                    yield kind, new_id
            yield from ((kind, id) for id in self._unreadable[kind] if id not in known)


def swap(attempt: Callable[[], _Result]) -> _Result:
    """Reads, decides and swaps, until what was read is what is swapped. Raises Busy."""
    deadline = time.monotonic() + SWAP_SECONDS
    while True:
        try:
            return attempt()
        except Stale:
            if time.monotonic() > deadline:
                raise Busy("Others change this faster than it can be changed.") from None


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(f"The data folder cannot be read: {error.strerror}.")


def _entry(id: str, data: bytes, touched: float) -> Entry:
    """The entry of a file's bytes. Raises Invalid."""
    return _entry_of(from_file(id, data), data, touched)


def _entry_of(bookmark: Bookmark, data: bytes, touched: float) -> Entry:
    tags = tuple(map(fold_tag, bookmark.tags))
    if tags == bookmark.tags:  # One object does for both.
        tags = bookmark.tags
    return Entry(bookmark, digest(data), uri_key(bookmark.uri), tags, touched)


def _grave(id: str, data: bytes, touched: float) -> Grave:
    """The tombstone of a file's bytes. Raises Invalid."""
    return Grave(tombstone_from_file(id, data), digest(data))


def _id_of(name: str) -> str | None:
    """The id whose file has this name, or None: it is no file of ours."""
    id = name.removesuffix(_SUFFIX)
    return id if id != name and ID.fullmatch(id) else None


def _signature_of(folder: int, id: str, looked: int) -> int | None:
    """The signature of an id's file in an open folder; None if it is gone."""
    try:
        return _signature(os.stat(id + _SUFFIX, dir_fd=folder, follow_symlinks=False), looked)
    except FileNotFoundError:
        return None


def _signature(status: os.stat_result, looked: int) -> int | None:
    """Differs whenever a file's identity, size or times do; None if they may not show a change, at
    a look that began then.
    """
    modified, changed = status.st_mtime_ns, status.st_ctime_ns
    settled = looked - _RACY_NS
    if modified > settled or changed > settled:
        return None
    return hash((status.st_ino, status.st_size, modified, changed))
