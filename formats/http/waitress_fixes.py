"""Fixes for waitress 3.0.2, and its dispatcher of requests to threads."""

import time

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import BadRequest

# The framing of a chunked body is its chunk sizes, line ends, extensions and trailers. Any body may
# have _MAX_FRAMING bytes of it, and 6 more for every 16 bytes of content.
_MAX_FRAMING = 16_384
_SMALL_CHUNK_SIZE = 16
_SMALL_CHUNK_FRAMING = 6  # The bytes of `10\r\n` (the size) and `\r\n` (the end).
_MIN_BYTES_PER_SECOND = 1024


class GuardedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types.
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.chunked:
            self._limit_framing(self.body_rcv)
        if self.completed:
            # After an error, waitress would send `100 Continue` and not the error.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:
            # waitress does not catch ValueError, and would send no response.
            raise ParsingError("The request line or Content-Length is malformed") from None
        # A request with both headers may smuggle another one (RFC 9112 section 6.1).
        has_encoding = self.chunked or "TRANSFER_ENCODING" in self.headers
        if has_encoding and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Transfer-Encoding and Content-Length exclude each other")

    def _limit_framing(self, body: ChunkedReceiver) -> None:
        """Refuse long extensions, long trailers and tiny chunks, which are slow to parse."""
        content_size = len(body)
        framing_size = self.body_bytes_received - content_size
        small_chunks = content_size // _SMALL_CHUNK_SIZE
        max_framing_size = _MAX_FRAMING + small_chunks * _SMALL_CHUNK_FRAMING
        has_tiny_chunks = framing_size > max_framing_size
        has_long_line = len(body.control_line) + len(body.trailer) > _MAX_FRAMING
        if has_tiny_chunks or has_long_line:
            self.error = BadRequest("The chunks are too small, or a line between them is too long")
            self.completed = True


class GuardedChannel(HTTPChannel):  # type: ignore[misc]
    parser_class = GuardedParser
    request_started_at = 0.0
    request_size = 0

    def received(self, data: bytes) -> object:
        if self.request is None:
            self.request_started_at = time.time()
            self.request_size = 0
        self.request_size += len(data)
        result = super().received(data)
        if self.request is not None:
            # waitress closes connections without recent activity. Backdate the activity of clients
            # below the minimum speed, so that waitress closes their connections too.
            seconds_at_minimum_speed = self.request_size / _MIN_BYTES_PER_SECOND
            latest_activity = self.request_started_at + seconds_at_minimum_speed
            self.last_activity = min(time.time(), latest_activity)
        return result

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # The temporary folder is full. waitress would retry forever.
            self.will_close = True
            raise


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]
    """Run writing requests in separate threads, because they may wait for a lock."""

    def __init__(self, reading_threads: int, writing_threads: int) -> None:
        super().__init__()
        self.set_thread_count(reading_threads)
        self.writing = ThreadedTaskDispatcher()
        self.writing.set_thread_count(writing_threads)

    def add_task(self, channel: HTTPChannel) -> None:
        request = channel.requests[0]
        if request.error or request.command in ("GET", "HEAD", "OPTIONS"):
            super().add_task(channel)
        else:
            self.writing.add_task(channel)

    def is_idle(self) -> bool:
        for dispatcher in (self, self.writing):
            if dispatcher.queue or dispatcher.active_count:
                return False
        return True
