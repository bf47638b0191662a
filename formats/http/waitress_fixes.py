"""A channel for waitress 3.0.2 without its defects, and threads for requests that write.

Remove each fix once a release has it.
"""

import time

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import BadRequest

# In bytes, of a chunk-size line, of the trailer, and of all framing beside 3/8 of the content: a
# chunk of 16 bytes has 6 bytes of framing. Real clients send a few digits before some KiB.
MAX_FRAMING = 16_384
MIN_RATE = 1024  # In bytes per second, after the first minute (`channel_timeout`).


class FixedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types.
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.chunked:
            self._limit_framing(self.body_rcv)
        if self.completed:  # The request is complete or refused, so it needs no `100 Continue`.
            # If HTTPChannel sent `100 Continue` now, it would unset `completed` and never respond.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:  # waitress would close the connection and log where it was raised.
            raise ParsingError("The request line or Content-Length is malformed") from None

    def _limit_framing(self, body: ChunkedReceiver) -> None:
        """Refuse a body with too much framing: chunk sizes, extensions and the trailer.

        waitress has no limit, and joins all of an unfinished line with each new packet: a line of
        8 MiB takes 4 seconds of CPU, and so do 8 MiB of one-byte chunks.
        """
        unfinished = len(body.control_line) + len(body.trailer)
        framing = self.body_bytes_received - len(body)
        if unfinished > MAX_FRAMING or framing > MAX_FRAMING + len(body) * 3 // 8:
            self.error = BadRequest("The chunks are too small, or a line between them is too long")
            self.completed = True


class FixedChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types.
    parser_class = FixedParser
    started, size = 0.0, 0  # Of the request that is being received.

    def received(self, data: bytes) -> object:
        if self.request is None:
            self.started, self.size = time.time(), 0
        self.size += len(data)
        result = super().received(data)
        if self.request is not None:  # A slow request counts as silence, which closes the channel.
            self.last_activity = min(time.time(), self.started + self.size / MIN_RATE)
        return result

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # The temporary folder has no room for the file of a large response. waitress would keep
            # the connection open for a minute, while its event loop keeps one core busy.
            self.will_close = True
            raise


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types.
    """Serve requests that write in threads of their own.

    They may wait for the lock of the data folder, while other requests need it not.
    """

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
