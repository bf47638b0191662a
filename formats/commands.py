"""The command line: serve, import, export, tag and check."""

import argparse
import gc
import logging
import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from wsgiref.types import WSGIApplication

import formats
from formats.http import access_log, credentials, process, security
from formats.http.hosts import MAX_OPEN
from formats.imports import FILE_READERS, read_entries
from formats.imports.entry import ImportedEntry
from formats.listing import Listing
from storage.batch import split
from storage.check import check, repair
from storage.errors import Malformed, StorageError
from storage.importer import Importer, ReportedEntry
from storage.query import Query
from storage.retag import clean_retagging, retag
from storage.similar import find_similar
from storage.store import Rehearsal, Store

# The format of an exported file by its suffix. The format `html` is the service's own page, which
# nothing can import.
EXPORT_SUFFIXES = {".html": "netscape", ".txt": "text"}
EXPORT_SUFFIXES |= {f".{name}": name for name in ("xbel", "csv", "json")}
# An export writes to these directly, and replaces other files by a rename. With `>> FILE` the link
# /dev/stdout leads to FILE, and replacing FILE would lose its old lines.
_STANDARD_OUTPUT_NAMES = ("-", "/dev/stdout")
_WHOLE_FILE = 0  # The line number in the report of an error that concerns the whole file.
MakeApp = Callable[..., Any]


def main(arguments: Sequence[str], make_app: MakeApp, make_host_app: MakeApp, version: str) -> int:
    """Run the command `bookmarks`; return its exit status."""
    arguments = list(arguments)
    general_options = ("-h", "--help", "--version")
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in general_options):
        arguments.insert(0, "serve")  # `bookmarks --data x` means `bookmarks serve --data x`.
    options = _parse(arguments, version)
    options.make_app, options.make_host_app = make_app, make_host_app
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    return _run(options)


def _parse(arguments: Sequence[str], version: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "bookmarks",
        description="A self-hosted bookmarks service.",
        epilog="Write options after the command; `bookmarks COMMAND --help` lists them.",
    )
    parser.add_argument("--version", action="version", version=f"bookmarks {version}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)  # `main` adds a default.
    serve = subparsers.add_parser("serve", help="serve the bookmarks over HTTP (the default)")
    serve.set_defaults(run=_serve)
    _add_option(serve, "--listen", "HOST:PORT", "the address to listen on", "127.0.0.1:8080")
    _add_option(serve, "--base-url", "URL", "the address at which clients reach the service")
    _add_option(serve, "--token-file", "FILE", "a file with the tokens, one per line")
    _add_flag(serve, "--public-read", "require a token for changes only")
    # Without a token, Host must be a local name or that of --base-url (DNS rebinding).
    _add_flag(serve, "--no-auth", "listen on any address without a token; see --base-url")
    _add_option(serve, "--trusted-proxy", "IP", "the proxy whose X-Forwarded headers are trusted")
    _add_flag(serve, "--access-log", "log one line for each request")
    _add_data_options(serve)
    _add_option(serve, "--hosts", "ROOT", "serve the folder ROOT/HOST for each host, not --data")
    max_open_help = "how many folders of --hosts stay open"
    _add_option(serve, "--max-open", "N", max_open_help, str(MAX_OPEN)).type = int
    _add_parsers(subparsers)
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
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
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.exit(f"bookmarks: {place}{error.strerror or error}")
    except StorageError as error:
        sys.exit(f"bookmarks: {error}")


# --- Options ---


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    _add_option(parser, "--data", "DIR", "the data folder", "data")
    _add_flag(parser, "--one-machine", "no other machine writes to the data on a network disk")


def _add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the parsers of the commands in this module."""

    def add(
        name: str, run: Callable[..., int], help: str, example: str
    ) -> argparse.ArgumentParser:
        epilog = f"For example: bookmarks {name} {example}"
        parser = subparsers.add_parser(name, help=help, epilog=epilog)
        parser.set_defaults(run=run, dry_run=False)
        _add_data_options(parser)
        return parser

    checks = add("check", check_files, "check the files in the data folder", "--repair")
    checks.add_argument("--repair", action="store_true", help="remove what is safe to remove")
    checks.add_argument("--similar", action="store_true", help="print groups of similar addresses")
    imports = add("import", import_files, "import files of bookmarks", "--dry-run bookmarks.html")
    imports.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    imports.add_argument("--format", choices=FILE_READERS, help="default: detected")
    imports.add_argument("--dry-run", action="store_true", help="only say what would happen")
    exports = add("export", export, "write all bookmarks to a file", "bookmarks.html")
    file_help = "default: standard output"
    exports.add_argument("file", nargs="?", default="-", metavar="FILE", help=file_help)
    format_help = "default: as the suffix of FILE says; json for standard output"
    exports.add_argument("--format", choices=EXPORT_SUFFIXES.values(), help=format_help)
    tags = add("tag", change_tags, "change tags on many bookmarks", "--q example.org --add new")
    for option, option_help in (
        ("--tag", "select the bookmarks with this tag; several: with all of them"),
        ("--add", "add this tag"),
        ("--remove", "remove this tag; with one --add, rename it to the added tag"),
    ):
        tags.add_argument(option, action="append", default=[], metavar="TAG", help=option_help)
    tags.add_argument("--q", default="", metavar="SEARCH", help="select the bookmarks that match")
    tags.add_argument("--dry-run", action="store_true", help="only say what would happen")


def _add_option(
    parser: argparse.ArgumentParser, name: str, metavar: str, help: str, default: str | None = None
) -> argparse.Action:
    """Add an option with a value; an environment variable, if set, gives its default."""
    variable = _environment_variable(name)
    value = os.environ.get(variable) or default
    default_text = f"default: {default}; " if default else ""
    help = f"{help} ({default_text}{variable})"
    return parser.add_argument(name, default=value, metavar=metavar, help=help)


def _add_flag(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """Add an option without a value; an environment variable can switch it on, too."""
    variable = _environment_variable(name)
    is_set = os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")
    parser.add_argument(name, action="store_true", default=is_set, help=f"{help} ({variable}=1)")


def _environment_variable(option: str) -> str:
    return "BOOKMARKS_" + option.strip("-").replace("-", "_").upper()


# --- Commands ---


def check_files(options: argparse.Namespace) -> int:
    """Print all problems of the folder, also repaired ones; return 1 if any remain."""
    data = Path(options.data)
    findings = check(data)
    repaired, remaining = repair(findings) if options.repair else ([], findings)
    for finding in repaired + remaining:
        print(finding)
    if options.similar:
        _print_similar(_open(options, data))
    return int(bool(remaining))


def _print_similar(store: Store) -> None:
    """Print each group of bookmarks with similar addresses; a line has the id and the address."""
    newest_first = store.select(Query()).entries
    for group in find_similar(entry.bookmark for entry in reversed(newest_first)):
        print("similar:")
        for bookmark in group:
            print(f"  {bookmark.id} {bookmark.uri}")


def import_files(options: argparse.Namespace) -> int:
    """Import files, print the skipped entries, and return 1 if there are any.

    Raises StorageError.
    """
    data = Path(options.data)
    # Store creates a missing folder, but raises if its parent is missing, too, even in a dry run.
    # A dry run uses a temporary folder in place of a folder that an import would create.
    needs_temporary = options.dry_run and not data.exists() and data.parent.is_dir()
    with TemporaryDirectory() if needs_temporary else nullcontext(data) as folder:
        importer = Importer(_open(options, Path(folder)))
        try:
            for name in options.files:
                _import_file(importer, name, options.format)
        except KeyboardInterrupt:
            stored = f"bookmarks: interrupted. Stored so far: {importer.report.summary()}."
            print(stored, "Run the same command again to import the rest.", file=sys.stderr)
            raise
    for unread, number in importer.report.not_read.items():
        print(f"not read: {number} x {unread}", file=sys.stderr)
    print(importer.report.summary())
    return 1 if importer.report.skipped else 0


def _import_file(importer: Importer, name: str, format: str | None) -> None:
    """Import a file and print its skipped entries."""
    from tqdm import tqdm  # Importing tqdm takes time, which the service and other commands save.

    reported_before = len(importer.report.entries)
    # The value None of `disable` makes tqdm show nothing if the output is no terminal.
    progress = tqdm(
        _read_file(name, format), desc=Path(name).name[-30:], unit=" entries", disable=None
    )
    for batch in split(progress):
        with _deferred_interrupts():
            importer.import_batch(batch)
    for skipped in importer.report.entries[reported_before:]:
        print(_describe(name, skipped), file=sys.stderr)


def _read_file(name: str, format: str | None) -> Iterator[ImportedEntry]:
    """Yield the entries of a file, or one that says why the file cannot be read."""
    try:
        yield from read_entries(_read(name), format, "" if name == "-" else name)
    except Malformed as error:
        yield ImportedEntry(_WHOLE_FILE, {}, str(error))
    except OSError as error:
        yield ImportedEntry(_WHOLE_FILE, {}, error.strerror or str(error))


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Let Ctrl-C (SIGINT) end the program only after the block.

    The report, which is printed even then, counts all that the block has stored.
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


def _describe(name: str, skipped: ReportedEntry) -> str:
    """Return one line; an error of the whole file has no place and no value."""
    place = name
    if skipped.place:
        place = f"{name}:{skipped.place}"
    return ": ".join(part for part in (place, skipped.value, skipped.reason) if part)


def export(options: argparse.Namespace) -> int:
    """Write all bookmarks to a file. Raises StorageError or BrokenPipeError."""
    format = formats.LISTS_BY_NAME[options.format or _format_of(options.file)]
    listing = Listing(_open_existing(options).select(Query()))  # All bookmarks.
    try:
        write_file(options.file, formats.LISTS[format](listing))
    except BrokenPipeError:  # `run` ends the command without a message.
        raise
    except OSError as error:  # `str(error)` may name a temporary file, so use only `strerror`.
        sys.exit(f"bookmarks: cannot write {options.file}: {error.strerror}.")
    return 0


def change_tags(options: argparse.Namespace) -> int:
    """Change tags on the selected bookmarks; return 1 if one failed. Raises StorageError."""
    values = {"tag": options.tag, "q": options.q, "remove": options.remove, "add": options.add}
    retagging = clean_retagging(values)
    store = _open_existing(options)
    report = retag(store, retagging, store.select(retagging.query).entries)
    for failed in report.failed:
        print(f"{failed.id}: {failed.reason}", file=sys.stderr)
    print(report.summary())
    return 1 if report.failed else 0


def _open(options: argparse.Namespace, folder: Path) -> Store:
    """Return the store of a folder, for a dry run one that stores nothing."""
    return (Rehearsal if options.dry_run else Store)(folder, options.one_machine)


def _open_existing(options: argparse.Namespace) -> Store:
    """Return the store of the data folder: a new one would look like an empty collection."""
    if not (folder := Path(options.data, "bookmarks")).is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}. Name the data folder with --data.")
    return _open(options, folder.parent)


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
    finally:  # An error, and Ctrl-C, must leave no temporary file behind.
        part.unlink(missing_ok=True)


# --- Serving ---


def configured_application(
    make_app: MakeApp, make_host_app: MakeApp, version: str
) -> WSGIApplication:
    """Return the application that the environment configures, for other servers."""
    options = _parse(["serve"], version)  # The environment sets the defaults of the options.
    options.make_app, options.make_host_app = make_app, make_host_app
    # Without `--hosts`, the service answers only to loopback names and the host of --base-url.
    app = _configure(options, is_private=not options.hosts)
    app.open()
    return app  # type: ignore[no-any-return]


def _configure(options: argparse.Namespace, is_private: bool) -> Any:
    """Return the configured application. Exit if it has no token and others may reach it."""
    file, token = options.token_file, os.environ.get("BOOKMARKS_TOKEN")
    # Without a token, anyone could read and write, and without `--hosts` other bookmarks.
    for option, value in (("--token-file", file), ("--hosts", options.hosts)):
        variable = _environment_variable(option)
        if not value and "" in (value, os.environ.get(variable)):
            sys.exit(f"bookmarks: {option} or {variable} is empty. Name a file or folder.")
    if file:
        credentials.warn_of_readable_tokens(file)
        tokens = credentials.parse_tokens(Path(file).read_bytes(), file)
    settings: dict[str, Any] = {
        "token": tokens if file else token,  # Several tokens, or one or None.
        "public_read": options.public_read,
        "one_machine": options.one_machine,
    }
    if options.hosts:
        app = options.make_host_app(options.hosts, max_open=options.max_open, **settings)
    else:
        app = options.make_app(options.data, base_url=options.base_url, **settings)
    if options.public_read and not (app.access_control.tokens or options.hosts):
        text = "--public-read does nothing without a token: everybody can read and write."
        logging.getLogger("bookmarks").warning(text)
    if not (app.access_control.tokens or options.no_auth or is_private):
        sys.exit(
            "bookmarks: the service can be reached from other machines. Set a token with "
            "--token-file or BOOKMARKS_TOKEN, or allow everybody with --no-auth."
        )
    return app


def _serve(options: argparse.Namespace) -> int:
    address = re.fullmatch(r"(\[.+\]|[^:]+):([0-9]{1,5})", options.listen)
    if not address or int(address[2]) > 65535:
        text = "--listen must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not"
        sys.exit(f"bookmarks: {text} {options.listen!r}.")
    host, port = address.groups()
    is_local = security.is_loopback(host.strip("[]"))
    # A proxy can pass requests for every host. Without `--hosts`, only --base-url permits them.
    app = _configure(options, is_local and not (options.hosts and options.trusted_proxy))
    may_have_proxy = bool(options.trusted_proxy or options.base_url)
    if not is_local or may_have_proxy:  # Other machines may connect, perhaps through the proxy.
        place = options.token_file or "BOOKMARKS_TOKEN"
        credentials.warn_of_short_tokens(app.access_control.tokens, place)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # It logs each waiting request.
    if options.access_log:
        logging.getLogger("bookmarks.access").setLevel(logging.INFO)
    wsgi_app = access_log.AccessLog(app) if options.access_log else app
    server = process.create_server(wsgi_app, host.strip("[]"), int(port), options.trusted_proxy)
    # The kernel replaces port 0. A server on both addresses of `localhost` has no `effective_port`.
    port = getattr(server, "effective_port", port)
    print(f"Bookmarks are served at http://{host}:{port}/", file=sys.stderr, flush=True)
    gc.disable()  # Collecting garbage while 100,000 bookmarks are read takes 10 % of the time.
    app.open()
    gc.freeze()  # Later collections skip the index: 8 clients add 33 % more bookmarks a second.
    gc.enable()
    server.run()
    return 0
