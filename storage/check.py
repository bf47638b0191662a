"""Check a data folder and repair what can be repaired without loss."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from storage import files
from storage.bookmark import ID
from storage.errors import Invalid, Unavailable
from storage.record import decode_bookmark, decode_tombstone
from storage.tsid import number_of
from storage.uri import uri_key

_T = TypeVar("_T")


@dataclass(frozen=True)
class Finding:
    """A problem with one file, and advice.

    `repair` removes the file if `is_safe` is true. For the file of a deleted bookmark, `tombstone`
    is the tombstone, which must still be valid when the file is removed.
    """

    path: Path
    problem: str
    advice: str
    is_safe: bool = False
    tombstone: Path | None = None

    def __str__(self) -> str:
        path = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(self.path))
        return f"{path}: {self.problem}: {self.advice}"


def check(folder: Path) -> list[Finding]:
    """Return everything that is wrong in the data folder.

    Raises Unavailable if the folder cannot be listed.
    """
    deleted: dict[str, Path] = {}
    tombstones = folder / "tombstones"  # Without deletions this folder may be missing.
    findings = list(_check_tombstones(tombstones, deleted)) if tombstones.exists() else []
    if (snapshot := folder / "snapshot.index").exists():
        findings.append(Finding(snapshot, "is not used any more", _REMOVE, is_safe=True))
    return [*findings, *_check_bookmarks(folder / "bookmarks", deleted)]


def repair(findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Remove the files that are safe to remove; return their findings and the other ones.

    Raises Full or Unavailable.
    """
    safe = [finding for finding in findings if finding.is_safe]
    removed = []
    # A tombstone must be durable before the bookmark that it deletes is removed.
    for folder in {finding.tombstone.parent for finding in safe if finding.tombstone}:
        files.sync_folder(folder)
    for finding in safe:
        if finding.tombstone is None or _decode(finding.tombstone, decode_tombstone)[0]:
            files.remove(finding.path)
            removed.append(finding)
    for folder in {finding.path.parent for finding in removed}:
        files.sync_folder(folder)
    others = [finding for finding in findings if finding not in removed]
    return [replace(finding, advice="removed") for finding in removed], others


def _check_tombstones(folder: Path, deleted: dict[str, Path]) -> Iterator[Finding]:
    """Yield the problems with the folder's files; add each valid tombstone to `deleted`."""
    for path in _paths(folder):
        tombstone, problem = _decode(path, decode_tombstone)
        if finding := _check_name(path):
            yield finding
        elif problem:
            yield Finding(path, f"is no valid tombstone: {problem}", _RESTORE)
        elif tombstone:
            deleted[path.stem] = path


def _check_bookmarks(folder: Path, deleted: dict[str, Path]) -> Iterator[Finding]:
    names_by_uri: dict[str, str] = {}
    # Two ids must not share a number: linkding's clients address a bookmark by it.
    ids_by_number = {number_of(id): id for id in deleted}
    for path in _paths(folder):
        bookmark, problem = _decode(path, decode_bookmark)
        if finding := _check_name(path):
            yield finding
        elif path.stem in deleted and (bookmark or problem):
            yield _deleted_finding(path, deleted[path.stem], problem)
        elif problem:
            yield Finding(path, f"is no valid bookmark: {problem}", _RESTORE)
        elif bookmark:
            first = names_by_uri.setdefault(uri_key(bookmark.uri), path.name)
            if first != path.name:
                yield Finding(path, f"has the same uri as {first}", "delete one of the two")
            other = ids_by_number.setdefault(number_of(path.stem), path.stem)
            if other != path.stem:
                yield Finding(path, f"has an id with the same number as {other}", _RENUMBER)


def _decode(path: Path, decode: Callable[[str, bytes], _T]) -> tuple[_T | None, str]:
    """Return the value in a file, or the error in it; neither if the file is gone."""
    try:
        return decode(path.stem, files.read(path)[0]), ""
    except FileNotFoundError:
        return None, ""
    except (Invalid, files.BadFile) as error:
        return None, str(error)


def _deleted_finding(path: Path, tombstone: Path, problem: str) -> Finding:
    """Return the finding for the file of a deleted bookmark, which a crash may have left."""
    wrong = "belongs to a deleted bookmark: it has a tombstone"
    if problem:
        return Finding(path, wrong, "it is no valid bookmark either: move it away")
    return Finding(path, wrong, _REMOVE, is_safe=True, tombstone=tombstone)


# https://docs.syncthing.net/users/syncing.html#conflicting-changes
_SYNCTHING_CONFLICT = re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.json")
# Advice of findings.
_RESTORE = "correct it by hand, or restore it from a backup"
_RENUMBER = "add it again under another id if linkding's clients need it, then delete it"
_REMOVE = "remove it, or run `bookmarks check --repair`"


def _paths(folder: Path) -> list[Path]:
    """Return the folder's files by name, without temporary files that may still be written.

    Raises Unavailable.
    """
    try:
        with os.scandir(folder) as entries:
            paths = sorted(Path(entry) for entry in entries)
            return [p for p in paths if not files.is_temporary(p.name) or files.is_abandoned(p)]
    except OSError as error:
        message = f"The data folder cannot be read: {error.filename}: {error.strerror}."
        raise Unavailable(message) from error


def _check_name(path: Path) -> Finding | None:
    """Return the problem with the name of a file, None if the name is `{id}.json`."""
    if files.is_temporary(path.name):
        return Finding(path, "is a temporary file that a crash left", _REMOVE, is_safe=True)
    if match := _SYNCTHING_CONFLICT.fullmatch(path.name):
        problem = f"is another version of {match[1]}.json, kept by Syncthing"
        return Finding(path, problem, "copy from it what you need, then remove it")
    if path.suffix != ".json" or not ID.fullmatch(path.stem):
        advice = "rename it to its id, or move it away"
        return Finding(path, "has no name of a bookmark", advice)
    return None
