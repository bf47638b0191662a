"""The commands that work on the data folder."""

import argparse
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import formats
from formats import json
from formats.html.editor import BookmarkForm, join_paragraphs
from formats.imports import read_entries
from formats.imports.entry import ImportedEntry
from formats.listing import Listing
from storage import bookmark as rules
from storage.batch import split
from storage.check import Finding, check, repair
from storage.errors import Gone, Invalid, Malformed, NotFound, Unreadable
from storage.importer import Importer, ReportedEntry
from storage.query import Query, parse_query
from storage.retag import clean_retagging, retag
from storage.similar import find_similar
from storage.store import Rehearsal, Store

EXPORT_SUFFIXES = {
    ".html": "netscape",  # `html` is the format of pages, which cannot be imported.
    ".txt": "text",
    ".xbel": "xbel",
    ".csv": "csv",
    ".json": "json",
}
# Standard output is written directly: replacing /dev/stdout with a file would break `>> FILE`.
_STANDARD_OUTPUT_NAMES = ("-", "/dev/stdout")
_STDOUT_DESCRIPTOR = 1
_STDIN_DESCRIPTOR = 0
_WHOLE_FILE = 0  # In place of a line number.

# --- check ---


def check_files(options: argparse.Namespace) -> int:
    """Print the problems of the data folder; return 1 if a harmful one remains."""
    data = Path(options.data)
    findings = check(data, options.keep_deleted)
    if options.repair:
        repaired, findings = repair(data, findings)
        for finding in repaired:
            print(finding)
    problems = [finding for finding in findings if not finding.is_in_trash]
    trash = [finding for finding in findings if finding.is_in_trash]
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{data}: the folder is good")
    _print_trash(trash)
    if options.similar:
        _print_similar(_open(options, data))
    are_harmless = all(problem.is_harmless for problem in problems)
    return 0 if are_harmless else 1


def _print_trash(trash: Sequence[Finding]) -> None:
    expired_count = sum(finding.is_safe_to_remove for finding in trash)
    kept_count = len(trash) - expired_count
    if kept_count:
        print(f"kept: {_deleted(kept_count)}, which can be put back")
    if expired_count:
        print(f"kept: {_deleted(expired_count)}, which --repair removes")


def _deleted(count: int) -> str:
    if count == 1:
        return "1 deleted bookmark"
    return f"{count} deleted bookmarks"


def _print_similar(store: Store) -> None:
    newest_first = store.select(Query()).entries
    for group in find_similar(reversed(newest_first)):
        print("similar:")
        for entry in group:
            print(f"  {entry.bookmark.id} {entry.bookmark.uri}")


# --- import ---


def import_files(options: argparse.Namespace) -> int:
    """Import files; return 1 if entries were skipped."""
    with _folder_to_import_into(options) as folder:
        importer = Importer(_open_or_make(options, folder))
        try:
            for name in options.files:
                _import_file(importer, name, options.format)
        except KeyboardInterrupt:
            if not options.dry_run:
                print(
                    f"bookmarks: interrupted. Stored so far: {importer.report.summary()}. "
                    "Run the same command again to import the rest.",
                    file=sys.stderr,
                )
            raise
    for name, number in importer.report.not_read.items():
        print(f"not read: {number} x {name}", file=sys.stderr)
    _print_summary(options, importer.report.summary())
    return 1 if importer.report.skipped else 0


@contextmanager
def _folder_to_import_into(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the data folder, or a temporary one if a dry run must not make it."""
    data = Path(options.data)
    # Without a parent folder, opening `data` fails.
    if options.dry_run and not data.exists() and data.parent.is_dir():
        with TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        yield data


def _import_file(importer: Importer, name: str, format: str | None) -> None:
    from tqdm import tqdm  # Slow to import.

    number_before = len(importer.report.entries)
    # `disable=None` shows the progress only on a terminal.
    progress = tqdm(
        _read_file(name, format), desc=Path(name).name[-30:], unit=" entries", disable=None
    )
    for batch in split(progress):
        with _deferred_interrupts():
            importer.import_batch(batch)
    for reported in importer.report.entries[number_before:]:
        print(_describe(name, reported), file=sys.stderr)


def _read_file(name: str, format: str | None) -> Iterator[ImportedEntry]:
    """Yield the entries of a file. An error becomes a skipped entry."""
    file_name = "" if name == "-" else name
    try:
        yield from read_entries(_read(name), format, file_name)
    except Malformed as error:
        yield ImportedEntry(_WHOLE_FILE, {}, str(error))
    except OSError as error:
        yield ImportedEntry(_WHOLE_FILE, {}, error.strerror or str(error))


def _read(name: str) -> bytes:
    if name != "-":
        return Path(name).read_bytes()
    with open(_STDIN_DESCRIPTOR, "rb", closefd=False) as file:
        return file.read()


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block."""
    received_signals: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: received_signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    # For a background command of a script, `previous` is SIG_IGN, which is not callable.
    if received_signals and callable(previous):
        previous(signal.SIGINT, None)


def _describe(name: str, reported: ReportedEntry) -> str:
    place = name
    if reported.place:
        place = f"{name}:{reported.place}"
    parts = [place, reported.value, reported.reason]
    return ": ".join(filter(None, parts))


# --- export ---


def export(options: argparse.Namespace) -> int:
    """Write the selected bookmarks to a file."""
    format = formats.LISTS_BY_NAME[options.format or _format_of(options.file)]
    parameters = [("tag", tag) for tag in options.tag]
    for name in ("q", "sort", "limit"):
        value = getattr(options, name)
        if value:
            parameters.append((name, value))
    query = parse_query(parameters)
    listing = Listing(_open_existing(options).select(query))
    try:
        write_file(options.file, formats.LISTS[format](listing))
    except BrokenPipeError:  # Such as after `| head`.
        raise
    except OSError as error:
        sys.exit(f"bookmarks: cannot write {options.file}: {error.strerror}.")
    return 0


def _format_of(file: str) -> str:
    if file in _STANDARD_OUTPUT_NAMES:
        return "json"
    suffix = Path(file).suffix.lower()
    format = EXPORT_SUFFIXES.get(suffix)
    if format is None:
        suffixes = ", ".join(EXPORT_SUFFIXES)
        sys.exit(f"bookmarks: {file} ends in none of {suffixes}. Name the format with --format.")
    return format


def write_file(name: str, chunks: Iterable[bytes]) -> None:
    """Write a file, or standard output for `-`.

    Raises OSError and leaves an existing file unchanged if the writing fails.
    """
    path = Path(name)
    if name in _STANDARD_OUTPUT_NAMES:
        with open(_STDOUT_DESCRIPTOR, "wb", closefd=False) as file:
            file.writelines(chunks)
    elif path.exists() and not path.is_file():  # Such as a pipe.
        with open(path, "wb") as file:
            file.writelines(chunks)
    else:
        # The file that a symbolic link points to is replaced, not the link.
        _replace(Path(os.path.realpath(path)), chunks)


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                shutil.copymode(path, part)
            file.writelines(chunks)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# --- add, delete and tag ---


def add(options: argparse.Namespace) -> int:
    """Add a bookmark, or extend the bookmark with this address."""
    form = BookmarkForm.read(
        {
            "uri": options.address,
            "title": options.title,
            "description": options.description,
            "tags": options.tag,
            "unread": options.unread,
        }
    )
    fields = rules.clean(form.fields())
    store = _open_or_make(options, Path(options.data))
    with store.transaction() as folder:
        before = folder.holder(fields["uri"])
        if before:
            changes = _changes_to_add(before.bookmark, fields)
            bookmark = rules.update(before.bookmark, changes)
        else:
            bookmark = rules.create(fields, folder.mint())
        folder.put(bookmark, before)
    write_file("-", [json.write_value(bookmark)])
    return 0


def _changes_to_add(bookmark: rules.Bookmark, fields: rules.Fields) -> rules.Fields:
    added: rules.Fields = {"tags": [*bookmark.tags, *fields["tags"]]}
    if fields["title"]:
        added["title"] = fields["title"]
    if fields["description"] not in bookmark.description:
        added["description"] = join_paragraphs(bookmark.description, fields["description"])
    return rules.clean(added)


def delete(options: argparse.Namespace) -> int:
    """Delete bookmarks; return 1 if a deletion failed."""
    store = _open_existing(options)
    status = 0
    for id in options.ids:
        try:
            _delete_one(store, id)
            print(f"{id}: deleted")
        except (Invalid, NotFound, Gone, Unreadable) as error:
            print(f"{id}: {error}", file=sys.stderr)
            status = 1
    return status


def _delete_one(store: Store, id: str) -> None:
    rules.clean_value("id", id)  # Refuses ids such as `../x`.
    with store.transaction() as folder:
        folder.delete(folder.get(id))


def change_tags(options: argparse.Namespace) -> int:
    """Change tags on the selected bookmarks; return 1 if a change failed."""
    values = {"tag": options.tag, "q": options.q, "remove": options.remove, "add": options.add}
    retagging = clean_retagging(values)
    store = _open_existing(options)
    report = retag(store, retagging, store.select(retagging.query).entries)
    for failed in report.failed:
        print(f"{failed.id}: {failed.reason}", file=sys.stderr)
    _print_summary(options, report.summary())
    if report.error:
        raise report.error
    return 1 if report.failed else 0


def _print_summary(options: argparse.Namespace, summary: str) -> None:
    if options.dry_run:
        summary = f"would be: {summary}"
    print(summary)


# --- The data folder ---


def _open(options: argparse.Namespace, data: Path) -> Store:
    if options.dry_run:
        return Rehearsal(data, options.one_machine)
    return Store(data, options.one_machine, options.keep_deleted)


def _open_or_make(options: argparse.Namespace, data: Path) -> Store:
    """Open a data folder. Warn if it is new, because the name may be misspelt."""
    is_new = not (data / "bookmarks").is_dir()
    store = _open(options, data)
    if is_new:
        verb = "would be" if options.dry_run else "is"
        print(f"bookmarks: {options.data} {verb} a new data folder.", file=sys.stderr)
    return store


def _open_existing(options: argparse.Namespace) -> Store:
    data = Path(options.data)
    folder = data / "bookmarks"
    if not folder.is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}. Name the data folder with --data.")
    return _open(options, data)
