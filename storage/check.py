"""Check a data folder, and repair what can be repaired without loss."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from storage import files
from storage.bookmark import ID, Tombstone
from storage.errors import Invalid, Unavailable
from storage.lock import Lock, OpenFolders
from storage.numbers import number_of_id
from storage.record import decode_bookmark, decode_tombstone
from storage.transaction import read_tombstone
from storage.trash import check_keep_deleted, oldest_kept
from storage.uri import uri_key

_Record = TypeVar("_Record")

_INVALID_FILE = (Invalid, files.BadFile)

_HOW_TO_RESTORE = "correct it by hand, or restore it from a backup"
_HOW_TO_RENUMBER = (
    "clients that know bookmarks by numbers find neither; "
    "delete both and add them again"
)
_HOW_TO_REMOVE = "remove it, or run `bookmarks check --repair`"
# https://docs.syncthing.net/users/syncing.html#conflicting-changes
_SYNCTHING_CONFLICT = re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.json")


@dataclass(frozen=True)
class Finding:
    """A problem with one file."""

    path: Path
    problem: str
    advice: str  # Such as "remove it".
    is_safe_to_remove: bool = False
    is_in_trash: bool = False  # The deleted bookmark can be restored from the file.
    is_harmless: bool = False  # The service can use the file.

    def __str__(self) -> str:
        path = _printable(str(self.path))
        return f"{path}: {self.problem}: {self.advice}"


def _printable(text: str) -> str:
    """Escape control characters, because they could change the terminal's display."""
    printable = ""
    for character in text:
        if character.isprintable():
            printable += character
        else:
            printable += ascii(character)[1:-1]  # Without the quotes.
    return printable


def check(folder: Path, keep_deleted: int) -> list[Finding]:
    """Return all problems in a data folder, and the files of deleted bookmarks.

    These files are safe to remove after `keep_deleted` days. Raises Unavailable, or
    Invalid for a negative `keep_deleted`.
    """
    check_keep_deleted(keep_deleted)
    tombstones: dict[str, Tombstone] = {}
    findings: list[Finding] = []
    if (folder / "tombstones").exists():  # The first deletion may create this folder.
        findings += _check_tombstones(folder / "tombstones", tombstones)
    last_expired = oldest_kept(keep_deleted)
    findings += _check_bookmarks(folder / "bookmarks", tombstones, last_expired)
    return findings


def _check_tombstones(
    folder: Path, tombstones: dict[str, Tombstone]
) -> Iterator[Finding]:
    """Add the valid tombstones to `tombstones`, by id. Yield problems with the others."""
    for path in _paths(folder):
        finding = _check_name(path)
        if finding:
            yield finding
            continue
        try:
            tombstone = _decode(path, decode_tombstone)
        except _INVALID_FILE as error:
            yield Finding(path, f"is no valid tombstone: {error}", _HOW_TO_RESTORE)
            continue
        if tombstone:
            tombstones[path.stem] = tombstone


def _check_bookmarks(
    folder: Path, tombstones: dict[str, Tombstone], last_expired: str
) -> Iterator[Finding]:
    names_by_uri_key: dict[str, str] = {}
    ids_by_number = {number_of_id(id): id for id in tombstones}
    for path in _paths(folder):
        finding = _check_name(path)
        if finding:
            yield finding
        elif path.stem in tombstones:
            has_expired = tombstones[path.stem].deleted <= last_expired
            yield from _check_deleted(path, has_expired)
        else:
            yield from _check_bookmark(path, names_by_uri_key, ids_by_number)


def _check_deleted(path: Path, has_expired: bool) -> Iterator[Finding]:
    problem = "belongs to a deleted bookmark"
    try:
        bookmark = _decode(path, decode_bookmark)
    except _INVALID_FILE:  # The file may hold something else that its owner needs.
        yield Finding(path, problem, "move it away, because it is no valid bookmark")
        return
    if bookmark:
        yield Finding(
            path, problem, _HOW_TO_REMOVE, is_safe_to_remove=has_expired, is_in_trash=True
        )


def _check_bookmark(
    path: Path, names_by_uri_key: dict[str, str], ids_by_number: dict[int, str]
) -> Iterator[Finding]:
    """Add a valid bookmark to the two dictionaries. Yield the problems with the file."""
    try:
        bookmark = _decode(path, decode_bookmark)
    except _INVALID_FILE as error:
        yield Finding(path, f"is no valid bookmark: {error}", _HOW_TO_RESTORE)
        return
    if bookmark is None:
        return
    first_name = names_by_uri_key.setdefault(uri_key(bookmark.uri), path.name)
    if first_name != path.name:
        problem = f"has the same uri as {first_name}"
        yield Finding(path, problem, "delete one of the two")
    first_id = ids_by_number.setdefault(number_of_id(path.stem), path.stem)
    if first_id != path.stem:
        problem = f"has an id with the same number as {first_id}"
        yield Finding(path, problem, _HOW_TO_RENUMBER, is_harmless=True)


def _check_name(path: Path) -> Finding | None:
    """Return the problem with a file's name, None for a name such as `abc.json`."""
    if files.is_temporary(path.name):
        problem = "is a temporary file that a crash left"
        return Finding(path, problem, _HOW_TO_REMOVE, is_safe_to_remove=True)
    if match := _SYNCTHING_CONFLICT.fullmatch(path.name):
        problem = f"is another version of {match[1]}.json, kept by Syncthing"
        return Finding(path, problem, "copy from it what you need, then remove it")
    if path.suffix != ".json" or not ID.fullmatch(path.stem):
        advice = "rename it to its id, or move it away"
        return Finding(path, "is not named ID.json", advice)
    return None


def _decode(path: Path, decode: Callable[[str, bytes], _Record]) -> _Record | None:
    """Return what a file records, or None if the file has been removed meanwhile."""
    try:
        data, _ = files.read(path)
    except FileNotFoundError:
        return None
    return decode(path.stem, data)


def _paths(folder: Path) -> list[Path]:
    """Return the files by name, without those that a program may still be writing."""
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


def repair(
    folder: Path, findings: list[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Remove the files that are safe to remove. Return the findings removed and left.

    Raises Busy, Full or Unavailable.
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
    # The tombstones must be durable before the files of their bookmarks are removed.
    if any(finding.is_in_trash for finding in findings):
        files.sync_folder(folders.tombstones)
    removed = []
    for finding in findings:
        if _may_be_removed(folders, finding):
            folder = folders.by_name(finding.path.parent.name)
            files.remove(finding.path.name, folder)
            removed.append(finding)
    for name in {finding.path.parent.name for finding in removed}:
        files.sync_folder(folders.by_name(name))
    return removed


def _may_be_removed(folders: OpenFolders, finding: Finding) -> bool:
    if not finding.is_in_trash:
        return True
    # Since the check, the tombstone may have been removed or damaged.
    return read_tombstone(folders, finding.path.stem) is not None
