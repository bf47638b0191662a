"""The commands import, export, tag and check, and the options of all commands."""

import argparse
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import formats
from formats.errors import Malformed
from formats.listing import Listing
from storage.check import check, repair
from storage.errors import StorageError
from storage.importer import Importer, SkippedEntry
from storage.query import Query
from storage.retag import clean_retagging, retag
from storage.store import Store

EXPORTS = [name for name in formats.LISTS if name != "html"]
EXPORT_SUFFIXES = {
    ".html": "netscape",
    ".xbel": "xbel",
    ".csv": "csv",
    ".json": "json",
    ".txt": "text",
}
_RETAGGING_OPTIONS = ("tag", "q", "remove", "add")
_STANDARD_OUTPUT = ("-", "/dev/stdout")
_T = TypeVar("_T")


def run(options: argparse.Namespace) -> int:
    """Run the command in the options; return its exit status.

    Exits with one line for an error of the storage or of the system.
    """
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # The reader of the output has ended, as `head` does.
        # Python flushes the output at its exit, which would print another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (StorageError, OSError) as error:
        sys.exit(f"bookmarks: {error}")


# --- Options ---


def add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the parsers of the commands in this module."""
    checks = subparsers.add_parser("check", help="check the files in the data folder")
    checks.set_defaults(run=check_files)
    checks.add_argument("--repair", action="store_true", help="repair what loses nothing")
    imports = subparsers.add_parser("import", help="import files of bookmarks")
    imports.set_defaults(run=import_files)
    imports.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    imports.add_argument("--format", choices=formats.FILE_READERS, help="default: detected")
    imports.add_argument("--dry-run", action="store_true", help="only say what would happen")
    exports = subparsers.add_parser("export", help="write all bookmarks to a file")
    exports.set_defaults(run=export)
    help = "default: standard output"
    exports.add_argument("file", nargs="?", default="-", metavar="FILE", help=help)
    help = "default: as the suffix of FILE says; json for standard output"
    exports.add_argument("--format", choices=EXPORTS, help=help)
    tags = subparsers.add_parser("tag", help="change tags on many bookmarks")
    tags.set_defaults(run=change_tags)
    for name, help in (
        ("--tag", "select the bookmarks with this tag; several: with all of them"),
        ("--add", "add this tag"),
        ("--remove", "remove this tag; with one --add the new tag takes its place"),
    ):
        tags.add_argument(name, action="append", default=[], metavar="TAG", help=help)
    tags.add_argument("--q", default="", metavar="SEARCH", help="select the bookmarks that match")
    tags.add_argument("--dry-run", action="store_true", help="only say what would happen")
    for command in (checks, imports, exports, tags):
        add_option(command, "--data", "data", "the data folder", metavar="DIR")


def add_option(
    parser: argparse.ArgumentParser, name: str, default: str | None, help: str, metavar: str = ""
) -> None:
    """Add an option, or without `metavar` a flag, that an environment variable can set too."""
    variable = "BOOKMARKS_" + name.strip("-").replace("-", "_").upper()
    value = os.environ.get(variable) or default
    if metavar:
        stated = f"default: {default}; " if default else ""
        help = f"{help} ({stated}{variable})"
        parser.add_argument(name, default=value, metavar=metavar, help=help)
    else:
        is_set = (value or "").lower() in ("1", "true", "yes", "on")
        help = f"{help} ({variable}=1)"
        parser.add_argument(name, action="store_true", default=is_set, help=help)


# --- Commands ---


def check_files(options: argparse.Namespace) -> int:
    """Print the problems of the data folder; return 1 if there are any, or remain after repair."""
    findings = check(Path(options.data))
    repaired, findings = repair(findings) if options.repair else ([], findings)
    for finding in repaired + findings:
        print(finding)
    return 1 if findings else 0


def import_files(options: argparse.Namespace) -> int:
    """Import files, print the skipped entries, and return 1 if there are any.

    Raises StorageError.
    """
    data = Path(options.data)
    is_new = options.dry_run and data.parent.is_dir() and not data.exists()
    # A dry run must not create the data folder.
    with TemporaryDirectory() if is_new else nullcontext(data) as folder:
        importer = _CommandImporter(Store(Path(folder)), options.dry_run)
        try:
            for name in options.files:
                _import_file(importer, name, options.format)
        except KeyboardInterrupt:
            stored = f"bookmarks: interrupted. Stored so far: {importer.report.summary()}."
            print(stored, "Run the same command again to import the rest.", file=sys.stderr)
            raise
        print(importer.finish().summary())
    return 1 if importer.report.skipped else 0


def _import_file(importer: Importer, name: str, format: str | None) -> None:
    reported = len(importer.report.entries)
    try:
        entries = formats.read_entries(_read(name), format)
        for entry in _show_progress(entries, name):
            importer.add(*entry)
        importer.flush()
    except Malformed as error:
        importer.add(0, {}, str(error))
    except OSError as error:
        importer.add(0, {}, error.strerror or str(error))
    for skipped in importer.report.entries[reported:]:
        print(_describe(name, skipped), file=sys.stderr)


class _CommandImporter(Importer):
    """An importer whose report counts all that is stored, also if Ctrl-C interrupts it."""

    def flush(self) -> None:
        with _defer_interrupt():
            super().flush()


@contextmanager
def _defer_interrupt() -> Iterator[None]:
    """Handle a SIGINT at the end of the block."""
    received: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received and callable(handler):  # SIG_IGN, with which `nohup` starts a command, is not.
        handler(signal.SIGINT, None)


def _describe(name: str, skipped: SkippedEntry) -> str:
    """Return one line; an error of the whole file has no line number and no value."""
    place = f"{name}:{skipped.line}" if skipped.line else name
    return ": ".join(part for part in (place, skipped.value, skipped.reason) if part)


def export(options: argparse.Namespace) -> int:
    """Write all bookmarks to a file. Raises StorageError or BrokenPipeError."""
    format = formats.LISTS[options.format or _format_of(options.file)]
    page = _existing_store(options).select(Query())
    try:
        write_file(options.file, format.write(page.bookmarks, Listing(page)))
    except BrokenPipeError:
        raise
    except OSError as error:  # The error may name the temporary file of `_replace`.
        name = "standard output" if options.file in _STANDARD_OUTPUT else options.file
        sys.exit(f"bookmarks: cannot write {name}: {error.strerror}.")
    return 0


def change_tags(options: argparse.Namespace) -> int:
    """Change tags on the selected bookmarks; return 1 if one failed. Raises StorageError."""
    retagging = clean_retagging({name: getattr(options, name) for name in _RETAGGING_OPTIONS})
    store = _existing_store(options)
    entries, _ = store.select_entries(retagging.query)
    report = retag(store, retagging, entries, options.dry_run)
    for failed in report.failed:
        print(f"{failed.id}: {failed.reason}", file=sys.stderr)
    print(report.summary())
    return 1 if report.failed else 0


def _existing_store(options: argparse.Namespace) -> Store:
    """Return the store of an existing folder; a new one would look like an empty collection."""
    if not (folder := Path(options.data, "bookmarks")).is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}.")
    return Store(Path(options.data))


def _format_of(file: str) -> str:
    """Return the name of the format that the suffix of the file says, json for the output."""
    if file in _STANDARD_OUTPUT:
        return "json"
    if not (format := EXPORT_SUFFIXES.get(Path(file).suffix.lower())):
        suffixes = ", ".join(EXPORT_SUFFIXES)
        sys.exit(f"bookmarks: {file} ends in none of {suffixes}. Name the format with --format.")
    return format


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
    is_output, path = name in _STANDARD_OUTPUT, Path(name)
    if not is_output and (path.is_file() or not path.exists()):
        # Replace the target of a symbolic link; Path.resolve raises RuntimeError for a loop.
        _replace(Path(os.path.realpath(path)), chunks)
    else:  # A pipe or a device cannot be replaced.
        with open(1 if is_output else name, "wb", closefd=not is_output) as file:
            file.writelines(chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a temporary file, then rename it, so that an error leaves the old file as it is."""
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
