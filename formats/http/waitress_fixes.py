"""A channel for waitress 3.0.2 without its defects. Remove each fix once a release has it."""

from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest

# In bytes. Real clients send a few digits in a chunk-size line, and mostly no trailer.
MAX_CHUNK_SIZE_LINE, MAX_TRAILER = 4096, 16_384


class LimitedChunkedReceiver(ChunkedReceiver):  # type: ignore[misc]  # waitress has no types.
    """A reader of chunked bodies that limits the length of chunk-size lines and of the trailer.

    waitress limits neither, and joins all of an unfinished line or trailer with each new packet: a
    line of 8 MiB takes 4 seconds of CPU.
    """

    def received(self, data: bytes) -> int:
        # Consume only the first bytes, so that a whole line among them cannot exceed the limit.
        # HTTPChannel passes the rest again, because this method returns how many were consumed.
        data = data[:MAX_CHUNK_SIZE_LINE]
        if self.control_line:  # An earlier call has left an unfinished chunk-size line here.
            max_size = MAX_CHUNK_SIZE_LINE + len(b"\r\n")  # Of the longest allowed line.
            line = (self.control_line + data)[:max_size]
            if len(line) == max_size and b"\r\n" not in line:
                self.error = BadRequest("The chunk-size line is too long")
                return len(data)  # All of it counts as consumed.
        consumed: int = super().received(data)
        if len(self.trailer) > MAX_TRAILER:
            self.error = BadRequest("The trailer is too long")
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
        if self.chunked:  # Limit the chunk-size lines and the trailer; waitress has no limit.
            self.body_rcv = LimitedChunkedReceiver(OverflowableBuffer(self.adj.inbuf_overflow))


class FixedChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types.
    parser_class = FixedParser

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # The temporary folder has no room for the file of a large response. waitress would keep
            # the connection open for a minute, while its event loop keeps one core busy.
            self.will_close = True
            raise
