"""The content coding gzip (RFC 9110 section 8.4.1.3), for clients that ask for it."""

import zlib
from collections.abc import Iterable, Iterator

MIN_SIZE = 1024  # Less is sent as it is.
LEVEL = 4  # Of zlib: half of what level 6 costs, for a twentieth more to send.
MARK = "-gzip"  # What the entity tag of a client that asks for it ends with: RFC 9110 8.8.3.3.

Headers = list[tuple[str, str]]
Body = list[bytes] | Iterator[bytes]


def coded(headers: Headers, body: Body) -> tuple[Headers, Body]:
    """An answer's headers and blocks as a client gets them that asks for gzip.

    A list of blocks that is not larger than `MIN_SIZE` stays as it is, but for the entity tag.
    """
    if isinstance(body, list):
        if sum(map(len, body)) > MIN_SIZE:
            body = [b"".join(_compressed(body))]
            headers = _of_gzip(headers) + [("Content-Length", str(len(body[0])))]
    else:
        body, headers = _compressed(body), _of_gzip(headers)
    return [(n, f'{v[:-1]}{MARK}"' if n == "ETag" else v) for n, v in headers], body


def _of_gzip(headers: Headers) -> Headers:
    kept = [header for header in headers if header[0] != "Content-Length"]
    return [*kept, ("Content-Encoding", "gzip")]


def _compressed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks as one gzip member (RFC 1952), without a date: the same bytes each time."""
    packer = zlib.compressobj(LEVEL, wbits=31)
    for block in blocks:
        if packed := packer.compress(block):
            yield packed
    yield packer.flush()
