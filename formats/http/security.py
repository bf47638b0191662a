"""Who may send a request: host names, cross-site requests and tokens."""

import functools
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

from webob import Request

from formats.html.assets import FILE_NAME
from formats.http.access_log import client_address
from formats.http.credentials import has_login, has_token
from formats.http.failed_logins import FailedLogins
from formats.http.response import HTTPError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_HOST_CHARACTERS = 261  # A name (RFC 1035), a colon and a port.
# A host and a port (RFC 3986 section 3.2.2), without percent-encoding.
HOST = re.compile(
    r"""
    ( \[ [0-9A-Fa-f:.]+ \]    # an IPv6 address
    | [A-Za-z0-9._~-]+ )
    ( : [0-9]{0,5} )?
    """,
    re.VERBOSE,
)
# These paths show no bookmarks, so they need no token.
_PATH_WITHOUT_BOOKMARKS = re.compile(rf"/( {FILE_NAME} | -/login | -/logout | health )", re.VERBOSE)
_PAGE_FOR_VISITORS = "/-/tools"
# A page of another site cannot make a browser send these schemes.
_TOKEN_SCHEMES = ("bearer", "token")
BEARER = 'Bearer realm="Bookmarks"'
# Basic comes first, because Chromium answers only the first challenge.
_BASIC_OR_BEARER = f'Basic realm="Bookmarks", charset="UTF-8", {BEARER}'
_UNAUTHORIZED_TEXT = (
    "Send a valid token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
)
_UNKNOWN_HOST_TEXT = (
    "A service that has no token does not answer to the host {host}. If the service has this name, "
    "start it with `--base-url {scheme}://{host}`."
)
_CROSS_SITE_TEXT = (
    "This change may come from another site. A browser must send the header Origin or "
    "Sec-Fetch-Site. An extension or a script must send a valid token as "
    "`Authorization: Bearer TOKEN`."
)


# How a request shows that it comes from the owner.
Credentials = Literal[
    "not needed",  # The service has no tokens, so everybody is the owner.
    "token",  # In `Authorization: Bearer` or `Token`.
    "password",  # A token as the password of HTTP Basic.
    "cookie",
    "wrong",
    "missing",
]


def are_valid(credentials: Credentials) -> bool:
    return credentials not in ("wrong", "missing")


@dataclass(frozen=True)
class AccessControl:
    """Refuse DNS rebinding, cross-site requests, and requests without a token."""

    tokens: Sequence[bytes]  # Without tokens, everybody may read and write.
    public_read: bool
    base_url: str | None = None  # `//a.example` is an address for both http and https.
    failed_logins: FailedLogins = field(default_factory=FailedLogins)

    def find_credentials(self, request: Request) -> Credentials:
        if not self.tokens:
            return "not needed"
        authorization = request.environ.get("HTTP_AUTHORIZATION")
        if authorization:
            if not has_token(authorization, self.tokens):
                return "wrong"
            if _authorization_scheme(request.environ) in _TOKEN_SCHEMES:
                return "token"
            return "password"
        if has_login(request.environ.get("HTTP_COOKIE", ""), self.tokens):
            return "cookie"
        return "missing"

    def check(self, request: Request, credentials: Credentials) -> None:
        """Raise HTTPError to refuse the request. Logs wrong tokens."""
        environ = request.environ
        host = requested_host(request)
        if not self.tokens:
            self._check_host(request, host)
        if credentials == "wrong":
            self.failed_logins.log(client_address(environ))
        is_change = environ["REQUEST_METHOD"] not in SAFE_METHODS
        if is_change and self._may_be_cross_site(request, credentials):
            raise HTTPError(403, _CROSS_SITE_TEXT)
        if not are_valid(credentials) and not self._is_open_to_visitors(environ, credentials):
            raise HTTPError(401, _UNAUTHORIZED_TEXT, WWW_Authenticate=_challenge(environ))

    def _check_host(self, request: Request, host: str | None) -> None:
        # A request without Host comes from no browser, so it cannot be DNS rebinding.
        if host and not _is_own_host(host, self.base_url):
            detail = _UNKNOWN_HOST_TEXT.format(scheme=request.scheme, host=host)
            raise HTTPError(421, detail)

    def _may_be_cross_site(self, request: Request, credentials: Credentials) -> bool:
        """Return whether a page of another site may have made a browser send the request."""
        if credentials == "token":
            return False  # A page of another site cannot set the header Authorization.
        fetch_site = request.environ.get("HTTP_SEC_FETCH_SITE", "")
        origin = request.environ.get("HTTP_ORIGIN")
        if fetch_site == "same-origin":
            return False
        if fetch_site not in ("", "none"):
            return True
        if not fetch_site and origin is not None:
            # Over plain http, browsers send only Origin.
            return origin not in _own_origins(request.host_url, self.base_url)
        # No header shows which page has sent the request. A browser may add the cookie to a form of
        # another site.
        return credentials == "cookie"

    def _is_open_to_visitors(self, environ: WSGIEnvironment, credentials: Credentials) -> bool:
        path = environ.get("PATH_INFO", "")
        if needs_no_bookmarks(path):
            return True
        is_reading = environ["REQUEST_METHOD"] in ("GET", "HEAD")
        if not is_reading or not self.public_read:
            return False
        if credentials == "wrong":
            return False  # A client with a wrong token must get 401, not the public bookmarks.
        if path == _PAGE_FOR_VISITORS:
            return True
        return not path.startswith("/-/")


def is_sent_by_own_page(request: Request) -> bool:
    """Return whether the browser says that a page of this service has sent the request.

    `AccessControl.check` must have refused requests that name another site.
    """
    fetch_site: str = request.environ.get("HTTP_SEC_FETCH_SITE", "")
    if fetch_site:
        return fetch_site == "same-origin"
    return "HTTP_ORIGIN" in request.environ


def needs_no_bookmarks(path: str) -> bool:
    """Return whether the path is that of a static file, the login or /health."""
    return _PATH_WITHOUT_BOOKMARKS.fullmatch(path) is not None


def _authorization_scheme(environ: WSGIEnvironment) -> str:
    authorization: str = environ.get("HTTP_AUTHORIZATION", "")
    return authorization.partition(" ")[0].lower()


def _challenge(environ: WSGIEnvironment) -> str:
    # After a request of an extension, Basic would make the browser open a password dialog.
    if "HTTP_SEC_FETCH_SITE" in environ or _authorization_scheme(environ) in _TOKEN_SCHEMES:
        return BEARER
    return _BASIC_OR_BEARER


def requested_host(request: Request) -> str | None:
    """Return Host, or None if a request of HTTP/1.0 has none. Raises HTTPError."""
    host: str | None = request.environ.get("HTTP_HOST")
    if host is None:
        if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":
            raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
        return None
    if len(host) > _MAX_HOST_CHARACTERS or not HOST.fullmatch(host):
        raise HTTPError(400, "The Host header is not the name or address of a host.")
    return host


def host_name(host: str) -> str:
    """Return the host without its port and final dot, or "" if it is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def _is_own_host(host: str, base_url: str | None) -> bool:
    name = host_name(host)
    if base_url is not None and name == host_name(urlsplit(base_url).netloc):
        return True
    return is_loopback(name)


def _own_origins(requested_origin: str, base_url: str | None) -> list[str]:
    """Return the origins of the service (RFC 6454 section 6.2)."""
    if not base_url:
        return [requested_origin]
    scheme, _, host = requested_origin.partition("://")
    configured = urlsplit(base_url, scheme)  # `//example.com` gets the requested scheme.
    configured_origin = f"{configured.scheme}://{configured.netloc}"
    if host == configured.netloc:
        # Only the configured scheme counts: an attacker in the network can forge pages over http.
        return [configured_origin]
    # A proxy may replace the host that the browser requested.
    return [configured_origin, requested_origin]
