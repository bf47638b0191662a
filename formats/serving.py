"""The command `bookmarks serve`."""

import argparse
import gc
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formats.http import access_log, credentials, process, security

MakeApp = Callable[..., Any]  # `make_app` or `make_host_app` of `bookmarks.py`.


def serve(options: argparse.Namespace) -> int:
    """Serve the bookmarks until a signal ends the process. Raises OSError or StorageError."""
    host, port = _parse_address(options.listen)
    host_name = host.strip("[]")
    is_safe = _is_safe_without_token(options, host_name)
    app = configure(options, is_safe_without_token=is_safe)
    if _may_be_reached(options, host_name):
        place = options.token_file or "BOOKMARKS_TOKEN"
        credentials.warn_of_short_tokens(app.access_control.tokens, place)
    _set_log_levels()
    wsgi_app = access_log.AccessLog(app) if options.access_log else app
    server = process.create_server(wsgi_app, host_name, port, options.trusted_proxy)
    # For port 0, the kernel chooses a port. A server of several addresses has no `effective_port`.
    port = getattr(server, "effective_port", port)
    print(f"Bookmarks are served at http://{host}:{port}/", file=sys.stderr, flush=True)
    _open(app)
    server.run()
    return 0


def _is_safe_without_token(options: argparse.Namespace, host_name: str) -> bool:
    if options.hosts and options.trusted_proxy:
        return False  # The proxy may forward requests for all hosts.
    return security.is_loopback(host_name)


def _may_be_reached(options: argparse.Namespace, host_name: str) -> bool:
    if options.trusted_proxy or options.base_url:
        return True
    return not security.is_loopback(host_name)


def _set_log_levels() -> None:
    logging.getLogger("bookmarks.access").setLevel(logging.INFO)
    # waitress logs a warning whenever a request waits for a thread.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)


def _open(app: Any) -> None:
    """Read the bookmarks, and exempt them from garbage collection."""
    gc.disable()
    app.open()
    gc.freeze()
    gc.enable()


def _parse_address(value: str) -> tuple[str, int]:
    """Return the host and the port. An IPv6 host keeps its brackets."""
    address = re.fullmatch(r"(\[.+\]|[^:]+):([0-9]{1,5})", value)
    if not address or int(address[2]) > 65535:
        sys.exit(
            "bookmarks: --listen must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, "
            f"not {value!r}."
        )
    return address[1], int(address[2])


def configure(options: argparse.Namespace, is_safe_without_token: bool) -> Any:
    """Return the application. Exit if other machines could use it without a token."""
    app = _make_app(options)
    if not app.access_control.tokens:
        _check_without_token(options, is_safe_without_token)
    return app


def _make_app(options: argparse.Namespace) -> Any:
    settings: dict[str, Any] = {
        "token": _read_tokens(options),
        "public_read": options.public_read,
        "one_machine": options.one_machine,
        "keep_deleted": options.keep_deleted,
    }
    if options.hosts:
        return options.make_host_app(options.hosts, max_open=options.max_open, **settings)
    return options.make_app(options.data, base_url=options.base_url, **settings)


def _check_without_token(options: argparse.Namespace, is_safe: bool) -> None:
    if options.public_read and not options.hosts:
        warning = "--public-read does nothing without a token: everybody can read and write."
        logging.getLogger("bookmarks").warning(warning)
    if not options.no_auth and not is_safe:
        sys.exit(
            "bookmarks: the service can be reached from other machines. Set a token with "
            "--token-file (BOOKMARKS_TOKEN_FILE) or BOOKMARKS_TOKEN, or allow everybody with "
            "--no-auth (BOOKMARKS_NO_AUTH=1)."
        )


def _read_tokens(options: argparse.Namespace) -> str | list[str] | None:
    file = options.token_file
    if not file:
        return os.environ.get("BOOKMARKS_TOKEN")
    credentials.warn_of_readable_tokens(file)
    return credentials.parse_tokens(Path(file).read_bytes(), file)
