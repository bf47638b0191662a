"""Compression of responses with gzip (RFC 9110 section 8.4.1.3)."""

import functools
import gzip

from webob import Request
from webob.acceptparse import AcceptEncodingValidHeader, create_accept_encoding_header

from formats.http.negotiation import MAX_ACCEPT
from formats.http.response import Response

MIN_SIZE = 1024  # In bytes. Smaller bodies fit into one network packet.
LEVEL = 4  # Higher levels are much slower and save little.
# The end of the entity tag of a compressed response (RFC 9110 section 8.8.3.3).
GZIP_SUFFIX = "-gzip"


def accepts_gzip(request: Request) -> bool:
    """Return whether the client accepts gzip (RFC 9110 section 12.5.3)."""
    accepted = request.environ.get("HTTP_ACCEPT_ENCODING", "")
    return _header_accepts_gzip(accepted[:MAX_ACCEPT])


@functools.lru_cache(maxsize=256)
def _header_accepts_gzip(accepted: str) -> bool:
    header = create_accept_encoding_header(accepted)
    if not isinstance(header, AcceptEncodingValidHeader):
        return False  # For an invalid header WebOb would return all offers.
    return bool(header.acceptable_offers(["gzip"]))


def compress(request: Request, response: Response) -> Response:
    if not accepts_gzip(request):
        return response
    headers = response.headers
    # Mark the tag even if the body is not compressed: a 304 response, which has no body,
    # must have the same tag.
    if "ETag" in headers:
        headers["ETag"] = headers["ETag"].removesuffix('"') + GZIP_SUFFIX + '"'
    if len(response.body) > MIN_SIZE:
        response.body = gzip.compress(response.body, LEVEL, mtime=0)
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(response.body))
    return response
