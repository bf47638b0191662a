"""The commands import, export, tag and check, and functions to add an option to any command."""

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

# `html` is the service's own page, which nothing can import; browsers import `netscape`.
EXPORTS = [name for name in formats.LISTS if name != "html"]
EXPORT_SUFFIXES = {  # The format of an exported file by its suffix.
    ".html": "netscape",
    ".xbel": "xbel",
    ".csv": "csv",
    ".json": "json",
    ".txt": "text",
}
# An export writes to these directly, and replaces other files by a rename. With `>> FILE` the link
# /dev/stdout leads to FILE, and replacing FILE would lose its old lines.
_STANDARD_OUTPUT_NAMES = ("-", "/dev/stdout")
_WHOLE_FILE = 0  # The line number in the report of an error that concerns the whole file.
_T = TypeVar("_T")


def run(options: argparse.Namespace) -> int:
    """Run the command in the options; return its exit status.

    Exit with one line on standard error if the storage or the system raises an error.
    """
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # A shell reports a command ended by a signal in this way.
    except BrokenPipeError:  # The program that reads the output has ended, as `head` does.
        # Python flushes standard output at its exit, and would print another error there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (StorageError, OSError) as error:
        sys.exit(f"bookmarks: {error}")


# --- Options ---


def add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the parsers of the commands in this module."""
    checks = subparsers.add_parser("check", help="check the files in the data folder")
    checks.set_defaults(run=check_files)
    checks.add_argument("--repair", action="store_true", help="remove what is safe to remove")
    imports = subparsers.add_parser("import", help="import files of bookmarks")
    imports.set_defaults(run=import_files)
    imports.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    imports.add_argument("--format", choices=formats.FILE_READERS, help="default: detected")
    imports.add_argument("--dry-run", action="store_true", help="only say what would happen")
    exports = subparsers.add_parser("export", help="write all bookmarks to a file")
    exports.set_defaults(run=export)
    file_help = "default: standard output"
    exports.add_argument("file", nargs="?", default="-", metavar="FILE", help=file_help)
    format_help = "default: as the suffix of FILE says; json for standard output"
    exports.add_argument("--format", choices=EXPORTS, help=format_help)
    tags = subparsers.add_parser("tag", help="change tags on many bookmarks")
    tags.set_defaults(run=change_tags)
    for option, option_help in (
        ("--tag", "select the bookmarks with this tag; several: with all of them"),
        ("--add", "add this tag"),
        ("--remove", "remove this tag; with one --add, rename it to the added tag"),
    ):
        tags.add_argument(option, action="append", default=[], metavar="TAG", help=option_help)
    tags.add_argument("--q", default="", metavar="SEARCH", help="select the bookmarks that match")
    tags.add_argument("--dry-run", action="store_true", help="only say what would happen")
    for command in (checks, imports, exports, tags):
        add_option(command, "--data", "DIR", "the data folder", default="data")


def add_option(
    parser: argparse.ArgumentParser, name: str, metavar: str, help: str, default: str | None = None
) -> None:
    """Add an option with a value; an environment variable, if set, gives its default."""
    variable = _environment_variable(name)
    value = os.environ.get(variable) or default
    default_text = f"default: {default}; " if default else ""
    help = f"{help} ({default_text}{variable})"
    parser.add_argument(name, default=value, metavar=metavar, help=help)


def add_flag(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """Add an option without a value; an environment variable can switch it on, too."""
    variable = _environment_variable(name)
    is_set = os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")
    parser.add_argument(name, action="store_true", default=is_set, help=f"{help} ({variable}=1)")


def _environment_variable(option: str) -> str:
    return "BOOKMARKS_" + option.strip("-").replace("-", "_").upper()


# --- Commands ---


def check_files(options: argparse.Namespace) -> int:
    """Print all problems of the folder, also repaired ones; return 1 if harmful ones remain."""
    findings = check(Path(options.data))
    repaired, remaining = repair(findings) if options.repair else ([], findings)
    for finding in repaired + remaining:
        print(finding)
    return 0 if all(finding.is_harmless for finding in remaining) else 1


def import_files(options: argparse.Namespace) -> int:
    """Import files, print the skipped entries, and return 1 if there are any.

    Raises StorageError.
    """
    data = Path(options.data)
    # Store creates a missing folder, but raises if its parent is missing, too, even in a dry run.
    # A dry run uses a temporary folder in place of a folder that an import would create.
    needs_temporary = options.dry_run and not data.exists() and data.parent.is_dir()
    with TemporaryDirectory() if needs_temporary else nullcontext(data) as folder:
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
    """Import a file and print its skipped entries; skip a file that cannot be read."""
    reported_before = len(importer.report.entries)
    error_text = ""
    try:
        entries = formats.read_entries(_read(name), format)
        for line, fields, skip_reason in _show_progress(entries, name):
            importer.add(line, fields, skip_reason)
    except Malformed as error:
        error_text = str(error)
    except OSError as error:
        error_text = error.strerror or str(error)
    importer.flush()  # After an error, this stores the entries that were read before it.
    if error_text:
        importer.add(_WHOLE_FILE, {}, error_text)
    for skipped in importer.report.entries[reported_before:]:
        print(_describe(name, skipped), file=sys.stderr)


class _CommandImporter(Importer):
    """An importer that Ctrl-C cannot interrupt between storing a batch and counting it.

    Its report, which is printed even after Ctrl-C, then counts all that is stored.
    """

    def flush(self) -> None:
        with _defer_interrupt():
            super().flush()


@contextmanager
def _defer_interrupt() -> Iterator[None]:
    """Handle SIGINT (Ctrl-C) after the block, so that what is stored in it is also counted.

    If an error ends the block, and the command with it, SIGINT has no effect.
    """
    received_signals: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: received_signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    # `handler` is the constant SIG_IGN if a script runs the command in its background.
    if received_signals and callable(handler):
        handler(signal.SIGINT, None)


def _describe(name: str, skipped: SkippedEntry) -> str:
    """Return one line; an error of the whole file has no line number and no value."""
    place = name if skipped.line == _WHOLE_FILE else f"{name}:{skipped.line}"
    return ": ".join(part for part in (place, skipped.value, skipped.reason) if part)


def export(options: argparse.Namespace) -> int:
    """Write all bookmarks to a file. Raises StorageError or BrokenPipeError."""
    format = formats.LISTS[options.format or _format_of(options.file)]
    page = _existing_store(options).select(Query())  # An empty query selects all bookmarks.
    bookmarks = [entry.bookmark for entry in page.entries]
    try:
        write_file(options.file, format.write(bookmarks, Listing(page)))
    except BrokenPipeError:  # `run` ends the command without a message.
        raise
    except OSError as error:  # `str(error)` may name a temporary file, so use only `strerror`.
        is_output = options.file in _STANDARD_OUTPUT_NAMES
        name = "standard output" if is_output else options.file
        sys.exit(f"bookmarks: cannot write {name}: {error.strerror}.")
    return 0


def change_tags(options: argparse.Namespace) -> int:
    """Change tags on the selected bookmarks; return 1 if one failed. Raises StorageError."""
    values = {"tag": options.tag, "q": options.q, "remove": options.remove, "add": options.add}
    retagging = clean_retagging(values)
    store = _existing_store(options)
    entries = store.select(retagging.query).entries
    report = retag(store, retagging, entries, options.dry_run)
    for failed in report.failed:
        print(f"{failed.id}: {failed.reason}", file=sys.stderr)
    print(report.summary())
    return 1 if report.failed else 0


def _existing_store(options: argparse.Namespace) -> Store:
    """Return the store of an existing folder: a new one would look like an empty collection."""
    if not (folder := Path(options.data, "bookmarks")).is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}.")
    return Store(Path(options.data))


def _format_of(file: str) -> str:
    """Return the name of the format for the suffix of a file; json for standard output."""
    if file in _STANDARD_OUTPUT_NAMES:
        return "json"
    if not (format := EXPORT_SUFFIXES.get(Path(file).suffix.lower())):
        suffixes = ", ".join(EXPORT_SUFFIXES)
        sys.exit(f"bookmarks: {file} ends in none of {suffixes}. Name the format with --format.")
    return format


def _read(name: str) -> bytes:
    """Return the content of a file, or of standard input for `-`. Raises OSError."""
    is_input = name == "-"  # File descriptor 0 is standard input, which stays open.
    with open(0 if is_input else name, "rb", closefd=not is_input) as file:
        return file.read()


def _show_progress(entries: Iterable[_T], name: str) -> Iterator[_T]:
    """Yield the entries, and show their number if the output is a terminal."""
    from tqdm import tqdm  # Importing tqdm takes time, which the service and other commands save.

    # The value None of `disable` makes tqdm show nothing if the output is no terminal.
    yield from tqdm(entries, desc=Path(name).name[-30:], unit=" entries", disable=None)


def write_file(name: str, chunks: Iterable[bytes]) -> None:
    """Write a file, or standard output for `-` and `/dev/stdout`. Raises OSError.

    A file is replaced when all is written, so that an error leaves the old file as it is.
    """
    is_output, path = name in _STANDARD_OUTPUT_NAMES, Path(name)
    if not is_output and (path.is_file() or not path.exists()):
        # A symbolic link stays: realpath returns the file that the link leads to. For links in a
        # circle, Path.resolve raises a RuntimeError, which is no OSError, before Python 3.13.
        _replace(Path(os.path.realpath(path)), chunks)
    else:  # A pipe or a device cannot be replaced. File descriptor 1 is standard output.
        with open(1 if is_output else name, "wb", closefd=not is_output) as file:
            file.writelines(chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a temporary file, then rename it to the path, in place of an old file."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                shutil.copymode(path, part)
            file.writelines(chunks)
        part.replace(path)
    except BaseException:  # Ctrl-C, too, must leave no temporary file behind.
        with suppress(OSError):
            part.unlink()
        raise
