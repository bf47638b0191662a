"""A channel for waitress 3.0.2 without its defects. Remove each fix once a release has it."""

import time

from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest

MAX_STEP = 4096  # In bytes. HTTPChannel passes the rest again.
# In bytes, of a chunk-size line, of the trailer, and of all framing beside 3/8 of the content: a
# chunk of 16 bytes has 6 bytes of framing. Real clients send a few digits before some KiB.
MAX_FRAMING = 16_384
MIN_RATE = 1024  # In bytes per second, after the first minute (`channel_timeout`).


class LimitedChunkedReceiver(ChunkedReceiver):  # type: ignore[misc]  # waitress has no types.
    """A reader of chunked bodies that limits their framing: chunk sizes, extensions, the trailer.

    waitress has no limit, and joins all of an unfinished line with each new packet: a line of 8 MiB
    takes 4 seconds of CPU, and so do 8 MiB of one-byte chunks.
    """

    framing = 0

    def received(self, data: bytes) -> int:
        content = len(self)
        consumed: int = super().received(data[:MAX_STEP])
        self.framing += consumed - (len(self) - content)
        unfinished = len(self.control_line) + len(self.trailer)
        if unfinished > MAX_FRAMING or self.framing > MAX_FRAMING + len(self) * 3 // 8:
            self.error = BadRequest("The chunks are too small, or a line between them is too long")
        return consumed


class FixedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types.
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.completed:  # The request is complete or refused, so it needs no `100 Continue`.
            # If HTTPChannel sent `100 Continue` now, it would unset `completed` and never respond.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if self.chunked:  # Limit the framing; waitress has no limit.
            self.body_rcv = LimitedChunkedReceiver(OverflowableBuffer(self.adj.inbuf_overflow))


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
