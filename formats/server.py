"""waitress as it is here: what it answers by itself is as all answers are."""

import errno
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Protocol
from wsgiref.types import StartResponse, WSGIEnvironment

from formats import http, problem
from formats.view import View
from storage import errors


def answer_as_here(waitress: ModuleType) -> None:
    """Has waitress refuse by problem documents, send our headers as they are, together with a short
    body, nothing after those of HEAD, and go on after a 204 or 304.
    """
    channel, task = waitress.channel.HTTPChannel, waitress.task
    channel.parser_class = _strict(waitress.parser.HTTPRequestParser, waitress.parser.ParsingError)
    channel.error_task_class = _refusing(task.ErrorTask)
    channel.task_class = _brief(task.WSGITask, waitress.utilities.build_http_date)
    waitress.proxy_headers.BadRequest = _told(waitress.proxy_headers.BadRequest)
    # What is kept in memory anyway is sent as it is. One that is longer is copied to a buffer
    # first, and out of it, and so is from then on all that its connection is answered.
    waitress.buffers.STRBUF_LIMIT = http.MAX_UNSENT


class _Error(Protocol):
    """What waitress refuses a request by."""

    code: int
    body: str


def _answer(error: _Error | OSError) -> tuple[str, list[tuple[str, str]], bytes]:
    """The status, the headers and the body for one of waitress' errors."""
    told = _failed(error) if isinstance(error, OSError) else _refused(error)
    media_type, body = problem.write(problem.MEDIA_TYPES[0], told, View(""))
    answer = http.body_response(media_type, body)
    answer.headers += told.headers.items()
    return f"{told.status} {told.title}", http.finished(answer, "no-cache").headers, body


def _refused(error: _Error) -> problem.Problem:
    return problem.Problem(error.code, f"The server refuses this: {error.body[:500]}")


def _failed(error: OSError) -> problem.Problem:
    """What it means that a body cannot wait on the disk."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    kind = errors.Full if is_full else errors.Unavailable
    return problem.described(kind(f"The temporary folder cannot be written: {error.strerror}."), "")


def _told(bad_request: type) -> type:
    """The error for a header of a proxy that it cannot read."""

    class Told(bad_request):  # type: ignore[misc]
        def wsgi_response(
            self, environ: WSGIEnvironment, start_response: StartResponse
        ) -> Iterable[bytes]:
            status, headers, body = _answer(self)
            start_response(status, headers)
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return Told


def _strict(parser: type, parsing_error: type[Exception]) -> type:
    """The parser of a request, which holds it to what RFC 9112 says that a server must refuse."""

    class Strict(parser):  # type: ignore[misc]
        def received(self, data: bytes) -> int:
            try:
                consumed: int = super().received(data)
            except OSError as error:  # A long body waits on the disk.
                self.error = error.with_traceback(None)  # It holds the file that has no room.
                self.completed, consumed = True, len(data)
            if self.completed:  # It would wait for more all the same, and never answer.
                self.expect_continue = False
            return consumed

        def parse_header(self, header_plus: bytes) -> None:
            try:
                super().parse_header(header_plus)
            except ValueError as error:  # An address that is none would end the connection.
                raise parsing_error(f"Bad URI: {error}") from None
            headers = self.headers
            if self.version == "1.1" and "," in headers.get("HOST", ","):  # Section 3.2
                raise parsing_error("There must be one Host header")
            if self.proxy_netloc:  # Section 3.2.2: Host does not count beside it.
                headers["HOST"] = self.proxy_netloc
            # Section 6.1: something may be smuggled. What HTTP/1.1 may have, it has taken out.
            if "TRANSFER_ENCODING" in headers or self.chunked and "CONTENT_LENGTH" in headers:
                raise parsing_error("It cannot be told where the body ends")

    return Strict


def _refusing(error_task: type) -> type:
    """The task for a request that it cannot read."""

    class Refusing(error_task):  # type: ignore[misc]
        def execute(self) -> None:
            self.status, headers, body = _answer(self.request.error)
            self.response_headers += headers
            self.content_length = len(body)
            self.set_close_on_finish()
            is_head = getattr(self.request, "command", "") == "HEAD"  # It may not know of any.
            self.write(b"" if is_head else body)

    return Refusing


def _brief(task: type, http_date: Callable[[float], str]) -> type:
    """The task for any other request."""

    class Brief(task):  # type: ignore[misc]
        wrote_header: bool

        def execute(self) -> None:
            # It would hold each header of ours against every rule that a stranger's may break.
            chunks = self.channel.server.application(self.get_environment(), self._start)
            try:
                for chunk in filter(None, chunks):  # The first one brings the headers.
                    self.write(chunk)
                has_body = self.has_body and self.request.command != "HEAD"
                if has_body and self.content_length not in (None, self.content_bytes_written):
                    raise ValueError("A body must be as long as its Content-Length says.")
            except OSError:  # What waits for its client on the disk does not all come there.
                self.channel.will_close = True
                raise
            finally:
                if hasattr(chunks, "close"):
                    chunks.close()

        def _start(
            self, status: str, headers: list[tuple[str, str]], exc_info: object = None
        ) -> Callable[[bytes], object]:
            text = "".join(map("".join, headers))
            if "\r" in text or "\n" in text:
                raise ValueError("A header must be one line.")
            self.complete, self.status = True, status
            self.response_headers += headers
            length = dict(headers).get("Content-Length")
            self.content_length = None if length is None else int(length)
            return self.write

        def build_response_header(self) -> bytes:
            # It would spell and sort them anew for each answer.
            if self._is_usual():
                lines = [f"HTTP/1.1 {self.status}", *map(": ".join, self.response_headers)]
                lines += [f"Date: {http_date(self.start_time)}", "", ""]
                return "\r\n".join(lines).encode("latin-1")
            if self._wants_close():  # It knows it only where nothing else is asked for.
                self.set_close_on_finish()
            headers: bytes = super().build_response_header()
            if self.request.command == "HEAD":  # Else it ends a chunked body that isn't there.
                self.chunked_response = False
            return headers

        def write(self, data: bytes) -> None:
            is_whole = self.has_body and len(data) == self.content_length
            # It would send the headers by themselves.
            if is_whole and len(data) <= http.BLOCK and not self.wrote_header:
                headers = self.build_response_header()
                self.wrote_header = True
                self.channel.write_soon(headers + data)
                self.content_bytes_written = len(data)
            else:
                super().write(data)

        def _is_usual(self) -> bool:
            """Whether the connection may stay: where the answer ends can be told from its headers.

            That a 204 or 304 has no body, its status tells: RFC 9112 section 6.3.
            """
            stays = self.version == "1.1" and not self._wants_close() and not self.close_on_finish
            return stays and (not self.has_body or self.content_length is not None)

        def _wants_close(self) -> bool:
            return "close" in self.request.headers.get("CONNECTION", "").lower()

    return Brief
