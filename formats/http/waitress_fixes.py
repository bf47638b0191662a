"""Fixes for waitress 3.0.2, and threads for requests that write."""

import time

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import BadRequest

# In bytes, beside 3/8 of the content: 6 bytes for a chunk of 16.
MAX_FRAMING = 16_384
MIN_RATE = 1024  # In bytes per second, after the first minute.
_TWO_LENGTHS = "Transfer-Encoding and Content-Length exclude each other"


class FixedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types.
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.chunked:
            self._limit_framing(self.body_rcv)
        if self.completed:
            # waitress would send `100 Continue` and never respond.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:  # waitress would close the connection without a response.
            raise ParsingError("The request line or Content-Length is malformed") from None
        # A proxy may go by the other length, and see another request in what
        # follows (RFC 9112 section 6.1).
        has_encoding = self.chunked or "TRANSFER_ENCODING" in self.headers
        if has_encoding and "CONTENT_LENGTH" in self.headers:
            raise ParsingError(_TWO_LENGTHS)

    def _limit_framing(self, body: ChunkedReceiver) -> None:
        """Refuse long chunk extensions and trailers, and tiny chunks.

        8 MiB of them would take 4 seconds of CPU.
        """
        unfinished = len(body.control_line) + len(body.trailer)
        framing = self.body_bytes_received - len(body)
        max_framing = MAX_FRAMING + len(body) * 3 // 8
        if unfinished > MAX_FRAMING or framing > max_framing:
            self.error = BadRequest("The chunks are too small, or a line between them is too long")
            self.completed = True


class FixedChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types.
    parser_class = FixedParser
    started = 0.0  # When the current request began to arrive.
    size = 0  # Its bytes.

    def received(self, data: bytes) -> object:
        if self.request is None:
            self.started = time.time()
            self.size = 0
        self.size += len(data)
        result = super().received(data)
        if self.request is not None:  # A slow request counts as silence.
            latest = self.started + self.size / MIN_RATE
            self.last_activity = min(time.time(), latest)
        return result

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # The temporary folder is full. waitress would keep a core busy for a minute.
            self.will_close = True
            raise


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types.
    """Serve requests that write, and may wait for a lock, in other threads."""

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
