"""The folder held against its contract: what is wrong in it, and what mends it without loss."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storage import files
from storage.bookmark import ID, from_file, tombstone_from_file, uri_key
from storage.errors import Invalid, Unavailable


@dataclass(frozen=True)
class Finding:
    """A file, what is wrong with it and what to do; `repair` can do it if it is `safe`, for the
    bookmark of a `tombstone` once that is durable.
    """

    path: Path
    wrong: str
    todo: str
    safe: bool = False
    tombstone: Path | None = None

    def __str__(self) -> str:
        path = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(self.path))
        return f"{path}: {self.wrong}: {self.todo}"


def check(folder: Path) -> list[Finding]:
    """Everything in the data folder that is not as it should be.

    Raises Unavailable if the folder cannot be listed.
    """
    deleted: dict[str, Path] = {}
    tombstones = folder / "tombstones"  # Without any, the folder may be missing.
    findings = list(_tombstones(tombstones, deleted)) if tombstones.exists() else []
    if (old := folder / "snapshot.index").exists():
        findings.append(Finding(old, "is not used any more", "remove it; --repair does", True))
    return [*findings, *_bookmarks(folder / "bookmarks", deleted)]


def repair(findings: list[Finding]) -> list[Finding]:
    """Does what can lose nothing; the findings that remain. Raises Busy, Full or Unavailable."""
    safe = [finding for finding in findings if finding.safe]
    # A tombstone must be durable before the bookmark that it deletes is removed.
    for folder in {finding.tombstone.parent for finding in safe if finding.tombstone}:
        files.sync_folder(folder)
    for finding in safe:
        if finding.tombstone is None or _is_tombstone(finding.tombstone):
            files.remove(finding.path)
    for folder in {finding.path.parent for finding in safe}:
        files.sync_folder(folder)
    return [finding for finding in findings if finding not in safe]


def _is_tombstone(path: Path) -> bool:
    try:
        tombstone_from_file(path.stem, files.read(path)[0])
    except (Invalid, files.BadFile, FileNotFoundError):
        return False
    return True


def _tombstones(folder: Path, deleted: dict[str, Path]) -> Iterator[Finding]:
    for path in _names(folder):
        if finding := _stranger(path):
            yield finding
            continue
        try:
            tombstone_from_file(path.stem, files.read(path)[0])
            deleted[path.stem] = path
        except FileNotFoundError:
            continue
        except (Invalid, files.BadFile) as error:
            yield Finding(path, f"is no tombstone: {error}", _RESTORE)


def _bookmarks(folder: Path, deleted: dict[str, Path]) -> Iterator[Finding]:
    twins: dict[str, str] = {}
    for path in _names(folder):
        if finding := _stranger(path):
            yield finding
        elif path.stem in deleted:
            yield from _leftover(path, deleted[path.stem])
        else:
            yield from _bookmark(path, twins)


def _bookmark(path: Path, twins: dict[str, str]) -> Iterator[Finding]:
    try:
        bookmark = from_file(path.stem, files.read(path)[0])
    except (Invalid, files.BadFile) as error:
        yield Finding(path, f"is no bookmark: {error}", _RESTORE)
    except FileNotFoundError:
        return
    else:
        first = twins.setdefault(uri_key(bookmark.uri), path.name)
        if first != path.name:
            yield Finding(path, f"has the same uri as {first}", "delete one of the two")


# https://docs.syncthing.net/users/syncing.html#conflicting-changes
_CONFLICT = re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.json")
_RESTORE = "mend it by hand, or put back a copy"


def _names(folder: Path) -> list[Path]:
    """The folder's files by name, but for those being written now. Raises Unavailable."""
    try:
        with os.scandir(folder) as entries:
            paths = sorted(Path(entry) for entry in entries)
            return [p for p in paths if not files.is_temporary(p.name) or files.is_stale(p)]
    except OSError as error:
        message = f"The data folder cannot be read: {error.filename}: {error.strerror}."
        raise Unavailable(message) from error


def _leftover(path: Path, tombstone: Path) -> Iterator[Finding]:
    """The file of a deleted bookmark: what an interrupted deletion left, or something else."""
    wrong = "is deleted: there is a tombstone for it"
    try:
        from_file(path.stem, files.read(path)[0])
    except (Invalid, files.BadFile):
        yield Finding(path, wrong, "it is no bookmark either: move it away")
    except FileNotFoundError:
        return
    else:
        yield Finding(path, wrong, "remove it; --repair does", safe=True, tombstone=tombstone)


def _stranger(path: Path) -> Finding | None:
    """What is wrong with a file that is not named as one of ours."""
    if files.is_temporary(path.name):
        return Finding(path, "was left by a crash", "remove it; --repair does", safe=True)
    if kept := _CONFLICT.fullmatch(path.name):
        wrong = f"is another version of {kept[1]}.json, which Syncthing kept"
        return Finding(path, wrong, "take from it what you want, then remove it")
    if path.suffix != ".json" or not ID.fullmatch(path.stem):
        todo = "rename it to its id, or move it away"
        return Finding(path, "is not named as a bookmark is", todo)
    return None
