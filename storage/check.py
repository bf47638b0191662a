"""Check and repair a data folder."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from storage import files
from storage.bookmark import ID, Tombstone
from storage.errors import Invalid, Unavailable
from storage.lock import Lock, OpenFolders
from storage.numbers import number_of_id
from storage.record import decode_bookmark, decode_tombstone
from storage.transaction import remove_deleted
from storage.trash import check_keep_deleted, days_ago
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
    advice: str
    is_safe_to_remove: bool = False
    is_in_trash: bool = False
    is_harmless: bool = False  # The service can use the file.

    @property
    def folder_name(self) -> str:
        return self.path.parent.name

    def __str__(self) -> str:
        path = _printable(str(self.path))
        return f"{path}: {self.problem}: {self.advice}"


def _printable(text: str) -> str:
    """Escape characters that could change the terminal's display."""
    printable = ""
    for character in text:
        if character.isprintable():
            printable += character
        else:
            printable += ascii(character)[1:-1]  # Without the quotes.
    return printable


def check(folder: Path, keep_deleted: int) -> list[Finding]:
    """Return all problems in a data folder, and the files of deleted bookmarks.

    The file of a deleted bookmark is safe to remove after `keep_deleted` days. Raises
    Unavailable or Invalid.
    """
    check_keep_deleted(keep_deleted)
    tombstone_by_id, findings = _check_tombstones(folder / "tombstones")
    checker = _BookmarkChecker(tombstone_by_id, expired_until=days_ago(keep_deleted))
    for path in _paths(folder / "bookmarks"):
        findings += checker.check(path)
    return findings


def _check_tombstones(folder: Path) -> tuple[dict[str, Tombstone], list[Finding]]:
    tombstone_by_id: dict[str, Tombstone] = {}
    findings: list[Finding] = []
    if not folder.exists():
        return tombstone_by_id, findings
    for path in _paths(folder):
        finding = _check_name(path)
        if finding:
            findings.append(finding)
            continue
        try:
            tombstone = _decode(path, decode_tombstone)
        except _INVALID_FILE as error:
            problem = f"is no valid tombstone: {error}"
            findings.append(Finding(path, problem, _HOW_TO_RESTORE))
            continue
        if tombstone:
            tombstone_by_id[path.stem] = tombstone
    return tombstone_by_id, findings


class _BookmarkChecker:
    def __init__(
        self, tombstone_by_id: dict[str, Tombstone], expired_until: str
    ) -> None:
        self._tombstone_by_id = tombstone_by_id
        self._expired_until = expired_until  # Deletions up to this time have expired.
        self._first_name_by_uri_key: dict[str, str] = {}
        self._first_id_by_number = {number_of_id(id): id for id in tombstone_by_id}

    def check(self, path: Path) -> list[Finding]:
        finding = _check_name(path)
        if finding:
            return [finding]
        tombstone = self._tombstone_by_id.get(path.stem)
        if tombstone:
            has_expired = tombstone.deleted <= self._expired_until
            return _check_deleted(path, has_expired)
        return self._check_bookmark(path)

    def _check_bookmark(self, path: Path) -> list[Finding]:
        try:
            bookmark = _decode(path, decode_bookmark)
        except _INVALID_FILE as error:
            problem = f"is no valid bookmark: {error}"
            return [Finding(path, problem, _HOW_TO_RESTORE)]
        if bookmark is None:
            return []
        findings = [self._check_uri(path, bookmark.uri), self._check_number(path)]
        return [finding for finding in findings if finding]

    def _check_uri(self, path: Path, uri: str) -> Finding | None:
        key = uri_key(uri)
        first_name = self._first_name_by_uri_key.setdefault(key, path.name)
        if first_name == path.name:
            return None
        problem = f"has the same uri as {first_name}"
        return Finding(path, problem, "delete one of the two")

    def _check_number(self, path: Path) -> Finding | None:
        number = number_of_id(path.stem)
        first_id = self._first_id_by_number.setdefault(number, path.stem)
        if first_id == path.stem:
            return None
        problem = f"has an id with the same number as {first_id}"
        return Finding(path, problem, _HOW_TO_RENUMBER, is_harmless=True)


def _check_deleted(path: Path, has_expired: bool) -> list[Finding]:
    problem = "belongs to a deleted bookmark"
    try:
        bookmark = _decode(path, decode_bookmark)
    except _INVALID_FILE:  # The user may still need the file.
        return [Finding(path, problem, "move it away, because it is no valid bookmark")]
    if bookmark is None:
        return []
    return [
        Finding(
            path, problem, _HOW_TO_REMOVE, is_safe_to_remove=has_expired, is_in_trash=True
        )
    ]


def _check_name(path: Path) -> Finding | None:
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
    """Decode a file, or return None if another program has just removed it."""
    try:
        data, _ = files.read(path)
    except FileNotFoundError:
        return None
    return decode(path.stem, data)


def _paths(folder: Path) -> list[Path]:
    """Return the files in order, without temporary files that are being written."""
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
    """Remove files that are safe to remove. Return removed and remaining findings.

    Raises Busy, Full or Unavailable.
    """
    safe = [finding for finding in findings if finding.is_safe_to_remove]
    removed = []
    if safe:
        with OpenFolders(folder) as folders:
            folders.lock(Lock())
            removed = _remove(folders, safe)
    remaining = [finding for finding in findings if finding not in removed]
    return [replace(finding, advice="removed") for finding in removed], remaining


def _remove(folders: OpenFolders, findings: list[Finding]) -> list[Finding]:
    """Remove the files of these findings. Return the findings whose files were removed."""
    deleted_ids = [finding.path.stem for finding in findings if finding.is_in_trash]
    removed_ids = remove_deleted(folders, deleted_ids)
    removed = []
    for finding in findings:
        if finding.is_in_trash:
            if finding.path.stem in removed_ids:
                removed.append(finding)
            continue
        folder = folders.descriptor_of(finding.folder_name)
        files.remove(finding.path.name, folder)
        removed.append(finding)
    for name in {finding.folder_name for finding in removed}:
        files.sync_folder(folders.descriptor_of(name))
    return removed
