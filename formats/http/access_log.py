"""One line in the log for each request."""

import logging
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("bookmarks.access")

MAX_ADDRESS = 64  # A forwarded address is a text of any length.


class AccessLog:
    """WSGI middleware that logs each response of an application whose bodies are lists.

    A line has the client's address, the method, path, status, bytes of the body and milliseconds.
    It never has a token or a body, and control characters are escaped.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started, status = time.perf_counter(), ""

        def start(line, headers, exc_info=None):  # type: ignore[no-untyped-def]
            nonlocal status
            status = line[:3]
            return start_response(line, headers, exc_info)

        body = list(self._app(environ, start))
        method, path = ascii(environ["REQUEST_METHOD"]), ascii(environ.get("PATH_INFO", ""))
        spent = 1000 * (time.perf_counter() - started)
        line = f"{client_address(environ)} {method[1:-1]} {path[1:-1]} {status}"
        log.info("%s %d %.1f", line, sum(map(len, body)), spent)
        return body


def client_address(environ: WSGIEnvironment) -> str:
    """Return the client's address for a log, `-` without one.

    waitress takes it from X-Forwarded-For if the request comes from the trusted proxy.
    """
    return ascii(environ.get("REMOTE_ADDR", ""))[1:-1][:MAX_ADDRESS] or "-"
