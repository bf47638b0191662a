"""The commands import, export and check."""

import argparse
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import formats
from formats.errors import Malformed
from formats.listing import Listing
from storage.check import check, repair
from storage.importer import Importer
from storage.query import Query
from storage.store import Store

EXPORTS = [name for name in formats.LISTS if name != "html"]
_T = TypeVar("_T")


def check_files(options: argparse.Namespace) -> int:
    """Print what is wrong in the data folder; return 1 if anything is, or remains after repair."""
    findings = check(Path(options.data))
    if options.repair:
        findings = repair(findings)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def import_files(options: argparse.Namespace) -> int:
    """Import files, print what was skipped, and return 1 if anything was. Raises StorageError."""
    data = Path(options.data)
    is_new = options.dry_run and data.parent.is_dir() and not data.exists()
    # A dry run must not create the data folder.
    with TemporaryDirectory() if is_new else nullcontext(data) as folder:
        importer = Importer(Store(Path(folder)), options.dry_run)
        for name in options.files:
            _import_file(importer, name, options.format)
        print(importer.finish().summary())
    return 1 if importer.report.skipped else 0


def _import_file(importer: Importer, name: str, format: str | None) -> None:
    reported = len(importer.report.entries)
    try:
        entries = formats.read_entries(_read(name), format)
        for entry in _show_progress(entries, name):
            importer.add(*entry)
        importer.flush()
    except (Malformed, OSError) as error:
        importer.add(0, {}, str(error))
    for skipped in importer.report.entries[reported:]:
        print(f"{name}:{skipped.line}: {skipped.value}: {skipped.reason}", file=sys.stderr)


def export(options: argparse.Namespace) -> int:
    """Write all bookmarks to a file. Raises StorageError or OSError."""
    # The store would create a missing folder, and the export would look like an empty collection.
    if not (folder := Path(options.data, "bookmarks")).is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}.")
    page = Store(Path(options.data)).select(Query())
    write_file(options.file, formats.LISTS[options.format].write(page.bookmarks, Listing(page)))
    return 0


def _read(name: str) -> bytes:
    """Return the content of a file, or of standard input for `-`. Raises OSError."""
    with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
        return file.read()


def _show_progress(entries: Iterable[_T], name: str) -> Iterator[_T]:
    """Yield the entries, and count them on a terminal."""
    from tqdm import tqdm  # Only an import needs it.

    # `disable=None` shows nothing where the output is no terminal.
    yield from tqdm(entries, desc=Path(name).name[-30:], unit=" entries", disable=None)


def write_file(name: str, chunks: Iterable[bytes]) -> None:
    """Write a file, or standard output for `-`; a file is replaced when all is written.

    Raises OSError.
    """
    is_output, path = name in ("-", "/dev/stdout"), Path(name)
    if not is_output and (path.is_file() or not path.exists()):
        # Replace the target of a symbolic link; Path.resolve raises RuntimeError for a loop.
        _replace(Path(os.path.realpath(path)), chunks)
    else:  # A pipe or a device cannot be replaced.
        with open(1 if is_output else name, "wb", closefd=not is_output) as file:
            file.writelines(chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                shutil.copymode(path, part)
            file.writelines(chunks)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
