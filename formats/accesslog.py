"""One line in the log for each request."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("bookmarks.access")


class AccessLog:
    """A WSGI application that logs what another one answers, when all of it was sent.

    A line tells method, path, status, bytes of the body and milliseconds; of a token or a body it
    tells nothing, and whatever could break the line is escaped.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        begun = time.perf_counter()
        asked = (_shown(environ["REQUEST_METHOD"]), _shown(environ.get("PATH_INFO", "")))
        told = [""]

        def start(status, headers, exc_info=None):  # type: ignore[no-untyped-def]
            told[0] = status[:3]
            return start_response(status, headers, exc_info)

        def end(size: int) -> None:
            spent = 1000 * (time.perf_counter() - begun)
            log.info("%s %s %s %d %.1f", *asked, told[0], size, spent)

        return _Counted(self._app(environ, start), end)


class _Counted:
    """A body that says at its end how many bytes it had."""

    def __init__(self, body: Iterable[bytes], end: Callable[[int], None]) -> None:
        self._body, self._end = body, end
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._body:
            self._size += len(block)
            yield block

    def close(self) -> None:
        """Ends the request, as PEP 3333 has every server do."""
        try:
            getattr(self._body, "close", lambda: None)()
        finally:
            self._end(self._size)


def _shown(text: str) -> str:
    return ascii(text)[1:-1]
