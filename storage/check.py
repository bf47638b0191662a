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
from storage.uri import uri_key

_Value = TypeVar("_Value")

# Advice for findings.
_RESTORE = "correct it by hand, or restore it from a backup"
_REMOVE = "remove it, or run `bookmarks check --repair`"

# https://docs.syncthing.net/users/syncing.html#conflicting-changes
_SYNCTHING_CONFLICT = re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z2-7]{7}\.json")


@dataclass(frozen=True)
class Finding:
    """A problem with one file, and advice, or "removed" after `repair`.

    `repair` removes the file if `is_safe_to_remove` is true. If a crash left the file of a deleted
    bookmark, `tombstone` is the path of the bookmark's tombstone, and `repair` removes the file
    only if this tombstone is still valid.
    """

    path: Path
    problem: str
    advice: str
    is_safe_to_remove: bool = False
    tombstone: Path | None = None

    def __str__(self) -> str:
        # A file name may contain control characters, which would confuse the terminal.
        path = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(self.path))
        return f"{path}: {self.problem}: {self.advice}"


def check(folder: Path) -> list[Finding]:
    """Return everything that is wrong in the data folder.

    Raises Unavailable if the folder cannot be listed.
    """
    tombstones = folder / "tombstones"
    findings: list[Finding] = []
    deleted: dict[str, Path] = {}  # By id: the path of each valid tombstone.
    # Without deletions this folder may be missing.
    for path in _paths(tombstones) if tombstones.exists() else []:
        tombstone, problem = _decode(path, decode_tombstone)
        if finding := _check_name(path):
            findings.append(finding)
        elif problem:
            findings.append(Finding(path, f"is no valid tombstone: {problem}", _RESTORE))
        elif tombstone:
            deleted[path.stem] = path
    return [*findings, *_check_bookmarks(folder / "bookmarks", deleted)]


def repair(findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Remove the files that are safe to remove; return the removed and the remaining findings.

    Raises Full or Unavailable.
    """
    safe = [finding for finding in findings if finding.is_safe_to_remove]
    removed = []
    # A tombstone must be durable before the bookmark that it deletes is removed.
    for folder in {finding.tombstone.parent for finding in safe if finding.tombstone}:
        files.sync_folder(folder)
    for finding in safe:
        # Remove a deleted bookmark's file only if its tombstone is still valid: another program
        # may have damaged the tombstone since the check. Other files have none.
        if finding.tombstone is None or _decode(finding.tombstone, decode_tombstone)[0]:
            files.remove(finding.path)
            removed.append(finding)
    for folder in {finding.path.parent for finding in removed}:
        files.sync_folder(folder)
    remaining = [finding for finding in findings if finding not in removed]
    # The command prints the advice at the end of a line, where "removed" takes its place.
    return [replace(finding, advice="removed") for finding in removed], remaining


def _check_bookmarks(folder: Path, deleted: dict[str, Path]) -> Iterator[Finding]:
    """Yield the problems with the folder's files; `deleted` has the tombstones' paths by id."""
    names_by_uri_key: dict[str, str] = {}
    for path in _paths(folder):
        bookmark, problem = _decode(path, decode_bookmark)
        if finding := _check_name(path):
            yield finding
        elif bookmark is None and not problem:
            continue  # The file has been removed since the folder was listed.
        elif path.stem in deleted:
            yield _deleted_finding(path, deleted[path.stem], problem)
        elif problem:
            yield Finding(path, f"is no valid bookmark: {problem}", _RESTORE)
        elif bookmark:
            first_name = names_by_uri_key.setdefault(uri_key(bookmark.uri), path.name)
            if first_name != path.name:
                yield Finding(path, f"has the same uri as {first_name}", "delete one of the two")


def _decode(path: Path, decode: Callable[[str, bytes], _Value]) -> tuple[_Value | None, str]:
    """Return (value, ""), or (None, problem), or (None, "") if the file does not exist any more."""
    try:
        data, _ = files.read(path)
        return decode(path.stem, data), ""
    except FileNotFoundError:
        return None, ""
    except (Invalid, files.BadFile) as error:
        return None, str(error)


def _deleted_finding(path: Path, tombstone: Path, problem: str) -> Finding:
    """Return the finding for a file of a deleted bookmark, which a crash may have left.

    A file that is no valid bookmark, as `problem` says, may hold something else that its owner
    needs, so `repair` must not remove it.
    """
    finding = "belongs to a deleted bookmark: it has a tombstone"
    if problem:
        return Finding(path, finding, "move it away, because it is no valid bookmark")
    # `repair` removes the deleted bookmark's file only if the tombstone is still valid then.
    return Finding(path, finding, _REMOVE, is_safe_to_remove=True, tombstone=tombstone)


def _paths(folder: Path) -> list[Path]:
    """Return the folder's files, without temporary ones that may still be written, sorted by name.

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
        problem = "is a temporary file that a crash left"
        return Finding(path, problem, _REMOVE, is_safe_to_remove=True)
    if match := _SYNCTHING_CONFLICT.fullmatch(path.name):
        problem = f"is another version of {match[1]}.json, kept by Syncthing"
        return Finding(path, problem, "copy from it what you need, then remove it")
    if path.suffix != ".json" or not ID.fullmatch(path.stem):
        advice = "rename it to its id, or move it away"
        return Finding(path, "is not named ID.json", advice)
    return None
