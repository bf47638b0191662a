"""Responses: status, headers and body."""

from collections.abc import Iterable
from dataclasses import dataclass
from wsgiref.types import StartResponse

from webob import Request

from formats.html import MEDIA_TYPE as HTML

OK = "200 OK"
CREATED = "201 Created"
NO_CONTENT = "204 No Content"
SEE_OTHER = "303 See Other"
NOT_MODIFIED = "304 Not Modified"
TEMPORARY_REDIRECT = "307 Temporary Redirect"

VARY = "Accept, Accept-Encoding"
COMMON_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers send forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
}


class HTTPError(Exception):
    """An error response. Keywords are headers: `Retry_After="5"` sets `Retry-After: 5`."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {
            name.replace("_", "-"): value for name, value in headers.items()
        }


@dataclass(slots=True)
class Response:
    status: str  # Like "200 OK".
    headers: dict[str, str]
    body: bytes = b""


def respond_with(media_type: str, body: bytes, status: str = OK) -> Response:
    headers = {"Content-Type": media_type, "Content-Length": str(len(body))}
    return Response(status, headers, body)


def see_other(url: str) -> Response:
    # WSGI servers may require a Content-Type.
    headers = {"Location": url, "Content-Type": "text/plain", "Content-Length": "0"}
    return Response(SEE_OTHER, headers)


def add_common_headers(response: Response, *, has_tokens: bool, is_public: bool) -> None:
    """Add the headers of every response. A public one shows only public bookmarks."""
    headers = response.headers
    cache_control = "no-cache"
    vary = VARY
    if has_tokens:
        cache_control = "private, no-cache"
        vary = f"{VARY}, Authorization, Cookie"
        if headers.get("Content-Type") == HTML and not is_public:
            # The Back button must not show the page after a logout.
            cache_control = "private, no-store"
    headers.setdefault("Cache-Control", cache_control)
    headers.setdefault("Vary", vary)
    headers |= COMMON_HEADERS


def send(
    request: Request, response: Response, start_response: StartResponse
) -> Iterable[bytes]:
    """Start the WSGI response and return its body (PEP 3333)."""
    start_response(response.status, list(response.headers.items()))
    if request.environ["REQUEST_METHOD"] == "HEAD" or not response.body:
        return []
    return [response.body]
