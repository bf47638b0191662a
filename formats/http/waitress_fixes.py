"""Fixes for waitress 3.0.2, and threads for requests that write."""

import time

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import BadRequest

# The framing of a chunked body is everything but its content, such as the sizes of chunks.
# It may have this many bytes, plus what chunks of 16 bytes need.
MAX_FRAMING = 16_384
_SIZE_OF_SMALL_CHUNK = 16
_FRAMING_OF_SMALL_CHUNK = len(b"10\r\n" + b"\r\n")
MIN_RATE = 1024  # In bytes per second. Slower requests are ended.


class GuardedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types.
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.chunked:
            self._limit_framing(self.body_rcv)
        if self.completed:
            # If the request was refused, waitress would send `100 Continue` and no error.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:
            # waitress would send no response.
            raise ParsingError("The request line or Content-Length is malformed") from None
        # With both headers, request smuggling is possible (RFC 9112 section 6.1).
        has_encoding = self.chunked or "TRANSFER_ENCODING" in self.headers
        if has_encoding and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Transfer-Encoding and Content-Length exclude each other")

    def _limit_framing(self, body: ChunkedReceiver) -> None:
        """Refuse long extensions, long trailers and tiny chunks, which waitress parses slowly."""
        unfinished = len(body.control_line) + len(body.trailer)
        framing = self.body_bytes_received - len(body)
        small_chunks = len(body) // _SIZE_OF_SMALL_CHUNK
        max_framing = MAX_FRAMING + small_chunks * _FRAMING_OF_SMALL_CHUNK
        if unfinished > MAX_FRAMING or framing > max_framing:
            self.error = BadRequest("The chunks are too small, or a line between them is too long")
            self.completed = True


class GuardedChannel(HTTPChannel):  # type: ignore[misc]
    parser_class = GuardedParser
    started = 0.0  # When the current request began to arrive.
    size = 0  # The bytes of the current request that have arrived.

    def received(self, data: bytes) -> object:
        if self.request is None:  # A new request begins.
            self.started = time.time()
            self.size = 0
        self.size += len(data)
        result = super().received(data)
        if self.request is not None:
            # waitress closes a connection that is inactive for too long. A request slower
            # than MIN_RATE counts as inactive.
            latest = self.started + self.size / MIN_RATE
            self.last_activity = min(time.time(), latest)
        return result

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # The temporary folder is full. Close the connection, because waitress would retry
            # forever.
            self.will_close = True
            raise


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]
    """Separate threads for requests that write, because they may wait for a lock."""

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
        """Return whether no request waits or is served."""
        for dispatcher in (self, self.writing):
            if dispatcher.queue or dispatcher.active_count:
                return False
        return True
