"""A channel for waitress 3.0.2 without its defects. Remove each fix once a release has it.

Where no number is given, the defect is not reported: https://github.com/Pylons/waitress/issues
"""

from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest

MAX_CHUNK_LINE, MAX_TRAILER = 4096, 16_384


class BoundedReceiver(ChunkedReceiver):  # type: ignore[misc]
    def received(self, data: bytes) -> int:
        # waitress limits neither a chunk-size line nor a trailer, and copies an unfinished one
        # again for each packet: 8 MiB take 4 seconds of CPU.
        data = data[:MAX_CHUNK_LINE]  # waitress's HTTPChannel passes the rest with its next call.
        # `control_line` is the unfinished chunk-size line. It is empty while chunk data or a
        # trailer is received, so only a chunk-size line can be longer than `data`.
        line = self.control_line + data
        max_size = MAX_CHUNK_LINE + len(b"\r\n")
        if len(line) >= max_size and b"\r\n" not in line[:max_size]:
            self.error = BadRequest("The chunk-size line is too long")
            return len(data)
        consumed: int = super().received(data)
        if len(self.trailer) > MAX_TRAILER:
            self.error = BadRequest("The trailer is too long")
        return consumed


class FixedParser(HTTPRequestParser):  # type: ignore[misc]
    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        # HTTPChannel would answer `Expect: 100-continue` with 100, never answer the complete or
        # refused request itself, and read the connection's next request as a part of it.
        if self.completed:
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if self.chunked:
            self.body_rcv = BoundedReceiver(OverflowableBuffer(self.adj.inbuf_overflow))


class FixedChannel(HTTPChannel):  # type: ignore[misc]
    parser_class = FixedParser

    def write_soon(self, data: bytes) -> object:
        try:
            return super().write_soon(data)
        except OSError:
            # If the temporary folder has no room for the buffer, waitress would keep the connection
            # open, and its event loop would spin, until the channel's timeout.
            self.will_close = True
            raise
