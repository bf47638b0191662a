"""The command line."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias
from wsgiref.types import WSGIApplication

from formats.commands import (
    EXPORT_SUFFIXES,
    add,
    change_tags,
    check_files,
    delete,
    export,
    import_files,
)
from formats.http.hosts import MAX_OPEN
from formats.imports import FILE_READERS
from formats.serving import MakeApp, configure, serve
from storage.errors import StorageError
from storage.query import SORTS
from storage.trash import KEEP_DELETED

_Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str], make_app: MakeApp, make_host_app: MakeApp, version: str) -> int:
    """Run `bookmarks`, and return the exit status."""
    arguments = list(arguments)
    if _leaves_out_command(arguments):
        arguments.insert(0, "serve")
    options = _parse(arguments, make_app, make_host_app, version)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    return _run(options)


def _leaves_out_command(arguments: Sequence[str]) -> bool:
    if not arguments:
        return True
    first = arguments[0]
    return first.startswith("-") and first not in ("-h", "--help", "--version")


def configured_application(
    make_app: MakeApp, make_host_app: MakeApp, version: str
) -> WSGIApplication:
    """Return the application as the environment configures it. Raises RuntimeError."""
    try:
        options = _parse(["serve"], make_app, make_host_app, version)
        # Without a token, the service of one folder serves only loopback names and the base URL.
        # With --hosts, it serves every name that has a folder.
        app = configure(options, is_safe_without_token=not options.hosts)
    except SystemExit as error:
        # SystemExit would end a thread of the WSGI server, and a client would wait for ever.
        raise RuntimeError("The environment does not configure the service.") from error
    app.open()
    return app  # type: ignore[no-any-return]


def _run(options: argparse.Namespace) -> int:
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # As shells do.
    except BrokenPipeError:
        # The reader, such as `head`, has ended. At exit, Python would try to write the rest to the
        # closed pipe, and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename:
            reason = f"{error.filename}: {reason}"
        sys.exit(f"bookmarks: {reason}")
    except StorageError as error:
        sys.exit(f"bookmarks: {error}")


# --- The parsers ---


def _parse(
    arguments: Sequence[str], make_app: MakeApp, make_host_app: MakeApp, version: str
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "bookmarks",
        description="A self-hosted bookmarks service.",
        epilog="Write options after the command; `bookmarks COMMAND --help` lists them.",
    )
    parser.add_argument("--version", action="version", version=f"bookmarks {version}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    _define_serve(subparsers)
    _define_add(subparsers)
    _define_delete(subparsers)
    _define_tag(subparsers)
    _define_import(subparsers)
    _define_export(subparsers)
    _define_check(subparsers)
    parser.set_defaults(make_app=make_app, make_host_app=make_host_app)
    options = parser.parse_args(_join_values(arguments))
    # Ignoring an empty value would start the service without a token, or on another folder.
    _refuse_empty_value("--data", options.data)
    if options.run is serve:
        _refuse_empty_value("--token-file", options.token_file)
        _refuse_empty_value("--hosts", options.hosts)
    return options


def _define_serve(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser("serve", help="serve the bookmarks over HTTP (the default)")
    parser.set_defaults(run=serve)
    _add_setting(parser, "--listen", "HOST:PORT", "the address to listen on", "127.0.0.1:8080")
    _add_setting(parser, "--base-url", "URL", "the address at which clients reach the service")
    _add_setting(parser, "--token-file", "FILE", "a file with the tokens, one per line")
    _add_setting_switch(
        parser,
        "--public-read",
        "everybody may read what is not tagged private; changes need a token",
    )
    _add_setting_switch(
        parser, "--no-auth", "listen on any address without a token; see --base-url"
    )
    _add_setting(
        parser, "--trusted-proxy", "IP", "the proxy whose X-Forwarded headers are trusted"
    )
    _add_setting_switch(parser, "--access-log", "log one line for each request")
    _add_data_options(parser)
    _add_setting(parser, "--hosts", "ROOT", "serve the folder ROOT/HOST for each host, not --data")
    _add_setting(
        parser, "--max-open", "N", "how many folders of --hosts stay open", str(MAX_OPEN), type=int
    )
    _add_keep_deleted(parser)


def _define_add(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers,
        "add",
        add,
        help="add a bookmark, or add to the one that has the address",
        example="example.org --tag new",
    )
    parser.add_argument("address", metavar="ADDRESS", help="https:// may be left out")
    parser.add_argument("--title", default="", help="default: the address")
    parser.add_argument("--description", default="", help="a text of one or several lines")
    _add_tags(parser, "--tag", "add this tag")
    _add_switch(parser, "--unread", "add the tag unread, to read it later")


def _define_delete(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers, "delete", delete, help="delete bookmarks", example="0s9yex328jt74"
    )
    parser.add_argument("ids", nargs="+", metavar="ID", help="the id, as `bookmarks export` has it")
    # By default, `delete` removes no expired files: the service may keep files for longer.
    _add_keep_deleted(parser, default=None)


def _define_check(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers,
        "check",
        check_files,
        help="check the files in the data folder",
        example="--repair",
    )
    _add_switch(parser, "--repair", "remove what is safe to remove")
    _add_switch(parser, "--similar", "print groups of similar addresses")
    _add_keep_deleted(parser)


def _define_import(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers,
        "import",
        import_files,
        help="import files of bookmarks",
        example="--dry-run bookmarks.html",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    parser.add_argument("--format", choices=FILE_READERS, help="default: detected")
    _add_switch(parser, "--dry-run", "only say what would happen")


def _define_export(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers,
        "export",
        export,
        help="write all or selected bookmarks to a file",
        example="bookmarks.html",
    )
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="default: standard output"
    )
    parser.add_argument(
        "--format",
        choices=EXPORT_SUFFIXES.values(),
        help="default: as the suffix of FILE says; json for standard output",
    )
    _add_selection(parser)
    parser.add_argument("--sort", choices=SORTS, help="descending as in --sort -title")
    parser.add_argument("--limit", metavar="NUMBER", help="write only the first ones")


def _define_tag(subparsers: _Subparsers) -> None:
    parser = _add_command(
        subparsers,
        "tag",
        change_tags,
        help="change tags on many bookmarks",
        example="--q site:example.org --add new",
    )
    _add_selection(parser)
    _add_tags(parser, "--add", "add this tag")
    _add_tags(parser, "--remove", "remove this tag; with one --add, rename it to the added tag")
    _add_switch(parser, "--dry-run", "only say what would happen")


def _add_command(
    subparsers: _Subparsers,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help: str,
    example: str,
) -> argparse.ArgumentParser:
    epilog = f"For example: bookmarks {name} {example}"
    parser = subparsers.add_parser(name, help=help, epilog=epilog)
    parser.set_defaults(run=run, dry_run=False, keep_deleted=None)
    _add_data_options(parser)
    return parser


# --- Options ---

_TEXT_OPTIONS = ("--sort", "--q", "--tag", "--add", "--remove", "--title", "--description")


def _join_values(arguments: Sequence[str]) -> list[str]:
    """Write `--sort -title` as `--sort=-title`, which argparse understands."""
    joined: list[str] = []
    for argument in arguments:
        is_value = argument.startswith("-") and not argument.startswith("--")
        if is_value and joined and joined[-1] in _TEXT_OPTIONS:
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    _add_setting(parser, "--data", "DIR", "the data folder", "data")
    _add_setting_switch(
        parser, "--one-machine", "no other machine writes to the data on a network disk"
    )


def _add_keep_deleted(
    parser: argparse.ArgumentParser, default: str | None = str(KEEP_DELETED)
) -> None:
    _add_setting(
        parser,
        "--keep-deleted",
        "DAYS",
        "for how many days deleted bookmarks can be put back",
        default,
        type=int,
    )


def _add_selection(parser: argparse.ArgumentParser) -> None:
    _add_tags(parser, "--tag", "select the bookmarks with this tag; several: with all of them")
    parser.add_argument(
        "--q",
        default="",
        metavar="SEARCH",
        help="select what matches, such as '#web site:example.org after:2025'",
    )


def _add_tags(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(name, action="append", default=[], metavar="TAG", help=help)


def _add_switch(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(name, action="store_true", help=help)


def _add_setting(
    parser: argparse.ArgumentParser,
    name: str,
    metavar: str,
    help: str,
    default: str | None = None,
    type: Callable[[str], object] = str,
) -> None:
    """Add an option whose default an environment variable can set."""
    variable = _environment_variable(name)
    value = os.environ.get(variable) or default
    if default:
        help = f"{help} (default: {default}; {variable})"
    else:
        help = f"{help} ({variable})"
    parser.add_argument(name, default=value, metavar=metavar, help=help, type=type)


def _add_setting_switch(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    variable = _environment_variable(name)
    value = os.environ.get(variable, "")
    is_set = value.lower() in ("1", "true", "yes", "on")
    help = f"{help} ({variable}=1)"
    parser.add_argument(name, action="store_true", default=is_set, help=help)


def _refuse_empty_value(option: str, value: str | None) -> None:
    variable = _environment_variable(option)
    if value == "" or (value is None and os.environ.get(variable) == ""):
        sys.exit(f"bookmarks: {option} or {variable} is empty. Name a file or folder.")


def _environment_variable(option: str) -> str:
    return "BOOKMARKS_" + option.strip("-").replace("-", "_").upper()
