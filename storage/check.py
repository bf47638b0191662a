"""Check a data folder and repair what can be repaired without loss."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from storage import files
from storage.bookmark import ID, Bookmark
from storage.errors import Invalid, Unavailable
from storage.lock import Lock, OpenFolders
from storage.numbers import number_of_id
from storage.record import decode_bookmark, decode_tombstone
from storage.trash import check_keep_deleted, oldest_kept
from storage.uri import uri_key

_Value = TypeVar("_Value")

# Advice for findings.
_RESTORE = "correct it by hand, or restore it from a backup"
_ADD_AGAIN = (
    "clients that know bookmarks by numbers find neither; "
    "delete both and add them again"
)
_REMOVE = "remove it, or run `bookmarks check --repair`"

# https://docs.syncthing.net/users/syncing.html#conflicting-changes
_SYNCTHING_CONFLICT = re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.json")


@dataclass(frozen=True)
class Finding:
    """A problem with one file."""

    path: Path
    problem: str
    advice: str  # Such as "remove it".
    is_safe_to_remove: bool = False
    # The path of the tombstone, if the bookmark of this file was deleted.
    tombstone: Path | None = None
    is_harmless: bool = False  # The service can use the file.

    @property
    def is_in_trash(self) -> bool:
        """Whether the file was kept so that its deleted bookmark can be restored."""
        return self.tombstone is not None

    def __str__(self) -> str:
        path = _printable(str(self.path))
        return f"{path}: {self.problem}: {self.advice}"


def _printable(text: str) -> str:
    """Escape control characters, which would confuse the terminal."""
    printable = ""
    for character in text:
        if character.isprintable():
            printable += character
        else:
            printable += ascii(character)[1:-1]  # Without the quotes.
    return printable


# --- Checking ---


def check(folder: Path, keep_deleted: int) -> list[Finding]:
    """Return all problems in a data folder, and the files of deleted bookmarks.

    These files are kept for restoring the bookmarks, and are safe to remove after
    `keep_deleted` days. Raises Unavailable if a folder cannot be listed, or Invalid.
    """
    check_keep_deleted(keep_deleted)
    tombstones = folder / "tombstones"
    findings: list[Finding] = []
    tombstones_by_id: dict[str, Path] = {}
    if tombstones.exists():  # The first deletion may create this folder.
        for path in _paths(tombstones):
            finding = _check_tombstone(path)
            if finding:
                findings.append(finding)
            else:
                tombstones_by_id[path.stem] = path
    kept_since = oldest_kept(keep_deleted)
    findings += _check_bookmarks(
        folder / "bookmarks", tombstones_by_id, kept_since
    )
    return findings


def _check_tombstone(path: Path) -> Finding | None:
    finding = _check_name(path)
    if finding:
        return finding
    _, problem = _decode(path, decode_tombstone)
    if problem:
        return Finding(path, f"is no valid tombstone: {problem}", _RESTORE)
    return None


def _check_bookmarks(
    folder: Path, tombstones_by_id: dict[str, Path], kept_since: str
) -> Iterator[Finding]:
    """Yield the problems with the files of bookmarks.

    The files of bookmarks that were deleted before `kept_since` may be removed.
    """
    names_by_uri_key: dict[str, str] = {}
    ids_by_number = {number_of_id(id): id for id in tombstones_by_id}
    for path in _paths(folder):
        finding = _check_name(path)
        if finding:
            yield finding
            continue
        bookmark, problem = _decode(path, decode_bookmark)
        if bookmark is None and not problem:
            continue  # The file has been removed since the folder was listed.
        if path.stem in tombstones_by_id:
            tombstone = tombstones_by_id[path.stem]
            yield _check_deleted(path, tombstone, bookmark, kept_since)
        elif bookmark is None:
            yield Finding(path, f"is no valid bookmark: {problem}", _RESTORE)
        else:
            first_name = names_by_uri_key.setdefault(uri_key(bookmark.uri), path.name)
            if first_name != path.name:
                problem = f"has the same uri as {first_name}"
                yield Finding(path, problem, "delete one of the two")
            number = number_of_id(path.stem)
            first_id = ids_by_number.setdefault(number, path.stem)
            if first_id != path.stem:
                problem = f"has an id with the same number as {first_id}"
                yield Finding(path, problem, _ADD_AGAIN, is_harmless=True)


def _check_deleted(
    path: Path, tombstone: Path, bookmark: Bookmark | None, kept_since: str
) -> Finding:
    problem = "belongs to a deleted bookmark"
    if bookmark is None:  # The file may hold something else that its owner needs.
        return Finding(path, problem, "move it away, because it is no valid bookmark")
    value, _ = _decode(tombstone, decode_tombstone)
    has_expired = value is not None and value.deleted <= kept_since
    return Finding(
        path,
        problem,
        _REMOVE,
        is_safe_to_remove=has_expired,
        tombstone=tombstone,
    )


def _check_name(path: Path) -> Finding | None:
    """Return the problem with the name of a file, None if the name is `{id}.json`."""
    if files.is_temporary(path.name):
        problem = "is a temporary file that a crash left"
        return Finding(path, problem, _REMOVE, is_safe_to_remove=True)
    if match := _SYNCTHING_CONFLICT.fullmatch(path.name):
        problem = f"is another version of {match[1]}.json, kept by Syncthing"
        return Finding(path, problem, "copy from it what you need, then remove it")
    if path.suffix != ".json" or not ID.fullmatch(path.stem):
        advice = "rename it to its id, or move it away"
        return Finding(path, "is not named ID.json", advice)
    return None


def _decode(path: Path, decode: Callable[[str, bytes], _Value]) -> tuple[_Value | None, str]:
    """Return (value, ""), (None, problem), or (None, "") for a file that is gone."""
    try:
        data, _ = files.read(path)
        return decode(path.stem, data), ""
    except FileNotFoundError:
        return None, ""
    except (Invalid, files.BadFile) as error:
        return None, str(error)


def _paths(folder: Path) -> list[Path]:
    """Return the folder's files, sorted by name.

    A temporary file that a program may still be writing is left out. Raises
    Unavailable.
    """
    paths = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry)
                if not files.is_temporary(path.name) or files.is_abandoned(path):
                    paths.append(path)
    except OSError as error:
        message = f"The data folder cannot be read: {error.filename}: {error.strerror}."
        raise Unavailable(message) from error
    return sorted(paths)


# --- Repairing ---


def repair(
    folder: Path, findings: list[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Remove the files that are safe to remove; return the removed and the other findings.

    A running service cannot write meanwhile. Raises Busy, Full or Unavailable.
    """
    safe = [finding for finding in findings if finding.is_safe_to_remove]
    removed = []
    if safe:
        with ExitStack() as opened:
            folders = OpenFolders(folder, opened)
            with Lock().hold(folders):
                removed = _remove(folders, safe)
    remaining = [finding for finding in findings if finding not in removed]
    return [replace(finding, advice="removed") for finding in removed], remaining


def _remove(folders: OpenFolders, findings: list[Finding]) -> list[Finding]:
    # A tombstone must be durable before the bookmark that it deletes is removed.
    if any(finding.tombstone for finding in findings):
        files.sync_folder(folders.tombstones)
    removed = []
    for finding in findings:
        if _may_be_removed(finding):
            folder = folders.by_name(finding.path.parent.name)
            files.remove(finding.path.name, folder)
            removed.append(finding)
    for name in {finding.path.parent.name for finding in removed}:
        files.sync_folder(folders.by_name(name))
    return removed


def _may_be_removed(finding: Finding) -> bool:
    """Return False if the file's tombstone has been removed or damaged since the check."""
    if finding.tombstone is None:
        return True
    tombstone, _ = _decode(finding.tombstone, decode_tombstone)
    return tombstone is not None
