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
    is_local = security.is_loopback(host.strip("[]"))
    # A proxy on this machine may pass on requests from other machines. Without --hosts, their Host
    # must be that of --base-url.
    serves_others = bool(options.hosts and options.trusted_proxy)
    app = configure(options, is_private=is_local and not serves_others)
    if not is_local or options.trusted_proxy or options.base_url:
        place = options.token_file or "BOOKMARKS_TOKEN"
        credentials.warn_of_short_tokens(app.access_control.tokens, place)
    # waitress would log a warning for each request that waits for a thread.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    wsgi_app = app
    if options.access_log:
        logging.getLogger("bookmarks.access").setLevel(logging.INFO)
        wsgi_app = access_log.AccessLog(app)
    server = process.create_server(wsgi_app, host.strip("[]"), port, options.trusted_proxy)
    # For port 0, the kernel chooses a port. A server of several addresses, such as those of
    # `localhost`, has no `effective_port`.
    port = getattr(server, "effective_port", port)
    print(f"Bookmarks are served at http://{host}:{port}/", file=sys.stderr, flush=True)
    gc.disable()  # Collecting garbage while 100,000 bookmarks are read takes 10 % of the time.
    app.open()
    gc.freeze()  # Later collections skip the index: 8 clients add 33 % more bookmarks a second.
    gc.enable()
    server.run()
    return 0


def _parse_address(value: str) -> tuple[str, int]:
    """Return the host, an IPv6 address in brackets, and the port."""
    address = re.fullmatch(r"(\[.+\]|[^:]+):([0-9]{1,5})", value)
    if not address or int(address[2]) > 65535:
        rule = "--listen must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, not"
        sys.exit(f"bookmarks: {rule} {value!r}.")
    return address[1], int(address[2])


def configure(options: argparse.Namespace, is_private: bool) -> Any:
    """Return the application. Exit if other machines can reach it without a token."""
    settings: dict[str, Any] = {
        "token": _read_tokens(options),
        "public_read": options.public_read,
        "one_machine": options.one_machine,
        "keep_deleted": options.keep_deleted,
    }
    if options.hosts:
        app = options.make_host_app(options.hosts, max_open=options.max_open, **settings)
    else:
        app = options.make_app(options.data, base_url=options.base_url, **settings)
    tokens = app.access_control.tokens
    if options.public_read and not tokens and not options.hosts:
        warning = "--public-read does nothing without a token: everybody can read and write."
        logging.getLogger("bookmarks").warning(warning)
    if not tokens and not options.no_auth and not is_private:
        sys.exit(
            "bookmarks: the service can be reached from other machines. Set a token with "
            "--token-file or BOOKMARKS_TOKEN, or allow everybody with --no-auth."
        )
    return app


def _read_tokens(options: argparse.Namespace) -> Any:
    """Return the tokens of the token file or, without a file, BOOKMARKS_TOKEN or None."""
    file = options.token_file
    if not file:
        return os.environ.get("BOOKMARKS_TOKEN")
    credentials.warn_of_readable_tokens(file)
    return credentials.parse_tokens(Path(file).read_bytes(), file)
