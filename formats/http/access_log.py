"""The access log: one line for each request."""

import logging
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("bookmarks.access")

# The WSGI variable of the requested host, if each host has its own data folder.
HOST_VARIABLE = "bookmarks.host"
_MAX_ADDRESS_CHARACTERS = 64


class AccessLog:
    """WSGI middleware that logs each request."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        started = time.perf_counter()
        status = ""

        def start(status_line, headers, exc_info=None):  # type: ignore[no-untyped-def]
            nonlocal status
            status = status_line[:3]
            return start_response(status_line, headers, exc_info)

        chunks = list(self._app(environ, start))
        size = sum(map(len, chunks))
        milliseconds = 1000 * (time.perf_counter() - started)
        log.info(
            "%s %s %s %s %d %.1f",
            client_address(environ),
            _escape(environ["REQUEST_METHOD"]),
            _escape(environ.get("PATH_INFO", "")),
            status,
            size,
            milliseconds,
        )
        return chunks


def _escape(text: str) -> str:
    """Escape characters with which a client could forge log lines."""
    return ascii(text)[1:-1]


def client_address(environ: WSGIEnvironment) -> str:
    """Return the client's address, followed by the requested host if HOST_VARIABLE is set."""
    address = _escape(environ.get("REMOTE_ADDR", ""))[:_MAX_ADDRESS_CHARACTERS] or "-"
    if HOST_VARIABLE in environ:
        return f"{address} ({environ[HOST_VARIABLE]})"
    return address
