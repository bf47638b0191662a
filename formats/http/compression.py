"""Compress responses with gzip."""

import functools
import gzip

from webob import Request
from webob.acceptparse import AcceptEncodingValidHeader, create_accept_encoding_header

from formats.http.negotiation import MAX_ACCEPT_CHARACTERS
from formats.http.response import Response

_MIN_BYTES = 1024  # Smaller bodies fit into one network packet.
_LEVEL = 4  # Higher levels are much slower and save little.
# Entity tags for clients that accept gzip end with this suffix (RFC 9110 section 8.8.3.3).
GZIP_TAG_SUFFIX = "-gzip"


def accepts_gzip(request: Request) -> bool:
    """Return whether Accept-Encoding has gzip (RFC 9110 section 12.5.3)."""
    accepted = request.environ.get("HTTP_ACCEPT_ENCODING", "")
    return _header_accepts_gzip(accepted[:MAX_ACCEPT_CHARACTERS])


@functools.lru_cache(maxsize=256)
def _header_accepts_gzip(accepted: str) -> bool:
    header = create_accept_encoding_header(accepted)
    if not isinstance(header, AcceptEncodingValidHeader):
        return False  # For an invalid header, WebOb accepts everything.
    return bool(header.acceptable_offers(["gzip"]))


def compress(request: Request, response: Response) -> Response:
    if not accepts_gzip(request):
        return response
    headers = response.headers
    if "ETag" in headers:
        headers["ETag"] = headers["ETag"].removesuffix('"') + GZIP_TAG_SUFFIX + '"'
    if len(response.body) > _MIN_BYTES:
        response.body = gzip.compress(response.body, _LEVEL, mtime=0)
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(response.body))
    return response
