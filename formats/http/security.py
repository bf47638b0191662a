"""Who may send a request: host names, cross-site requests and tokens."""

import functools
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit
from wsgiref.types import WSGIEnvironment

from webob import Request

from formats.html.assets import FILE_NAME
from formats.http.access_log import client_address
from formats.http.credentials import has_login, has_token
from formats.http.failed_logins import FailedLogins
from formats.http.response import HTTPError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_HOST = 261  # A name of 255 octets (RFC 1035), a colon and a port.
# A host and a port (RFC 3986 section 3.2.2), without percent-encoding.
HOST = re.compile(
    r"""
    ( \[ [0-9A-Fa-f:.]+ \]    # an IPv6 address
    | [A-Za-z0-9._~-]+ )
    ( : [0-9]{0,5} )?
    """,
    re.VERBOSE,
)
# The paths that need no token. Their handlers do not use the store.
_PUBLIC_PATH = re.compile(rf"/( {FILE_NAME} | -/login | -/logout | health )", re.VERBOSE)
# The one page below `/-/` for visitors. All others are for changing something.
_VISITORS_PAGE = "/-/tools"
# The challenges of 401 responses. For Bearer, browsers open no password dialog.
BEARER = 'Bearer realm="Bookmarks"'
# Basic comes first, because Chromium answers only the first challenge.
_BASIC_OR_BEARER = f'Basic realm="Bookmarks", charset="UTF-8", {BEARER}'
_UNAUTHORIZED = (
    "Send a valid token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
)
_MIGHT_BE_DNS_REBINDING = (
    "A service that has no token does not answer to the host {host}. If the service has this name, "
    "start it with `--base-url {scheme}://{host}`."
)
_CROSS_SITE = (
    "A page of another site cannot change anything here, so a change with the login of a browser "
    "must have the header Origin or Sec-Fetch-Site. A browser extension or a script must send a "
    "valid token as `Authorization: Bearer TOKEN`."
)


@dataclass(frozen=True)
class AccessControl:
    """Refuse DNS rebinding, cross-site requests, and requests without a token."""

    tokens: Sequence[bytes]  # If it is empty, everybody may read and write.
    public_read: bool  # Visitors without a token may read public bookmarks.
    # The address of the service. `//HOST` means the scheme of the request.
    base_url: str | None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)

    def is_owner(self, request: Request) -> bool:
        """Return whether the request may read and change all bookmarks."""
        return not self.tokens or self._is_authenticated(request.environ)

    def check(self, request: Request, is_owner: bool) -> bool:
        """Return whether the request may use the store. Raises HTTPError to refuse it.

        False means that the request has no token, and that its path needs none, such
        as the path of a style sheet.
        """
        self._check_host(request)
        if self.tokens:
            return self._check_token(request, is_owner)
        if request.environ["REQUEST_METHOD"] not in SAFE_METHODS:
            self._check_site(request)
        return True

    def _check_token(self, request: Request, is_owner: bool) -> bool:
        environ = request.environ
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        scheme = authorization.partition(" ")[0].lower()
        if authorization and not is_owner:
            self.failed_logins.log(client_address(environ))
        if is_owner and scheme in ("bearer", "token"):
            return True  # A page of another site cannot send this header.
        if environ["REQUEST_METHOD"] not in SAFE_METHODS:
            # Old browsers send the login cookie, but no Origin, with a form of another
            # site. Scripts that use HTTP Basic send no Origin, either, and must work.
            # So only a request with the cookie needs a proof.
            is_cookie = is_owner and not authorization
            self._check_site(request, needs_proof=is_cookie)
        if is_owner or self._is_public_reading(environ):
            return True
        if _PUBLIC_PATH.fullmatch(environ.get("PATH_INFO", "")):
            return False
        raise HTTPError(401, _UNAUTHORIZED, WWW_Authenticate=_challenge(environ, scheme))

    def _is_authenticated(self, environ: WSGIEnvironment) -> bool:
        """Return whether the request has a valid token or login cookie."""
        authorization = environ.get("HTTP_AUTHORIZATION")
        if authorization:
            return has_token(authorization, self.tokens)
        return has_login(environ.get("HTTP_COOKIE", ""), self.tokens)

    def _is_public_reading(self, environ: WSGIEnvironment) -> bool:
        """Return whether the request reads public bookmarks without a token.

        With a wrong token it is refused, so that the client learns of the mistake.
        """
        if not self.public_read or environ.get("HTTP_AUTHORIZATION"):
            return False
        path = environ.get("PATH_INFO", "")
        if path.startswith("/-/") and path != _VISITORS_PAGE:
            return False
        return environ["REQUEST_METHOD"] in ("GET", "HEAD")

    def _check_site(self, request: Request, needs_proof: bool = False) -> None:
        """Raise HTTPError if a page of another site sent the request.

        With `needs_proof`, a header must show that a page of this service sent it.
        """
        is_own_site = _is_own_site(request, self.base_url)
        if is_own_site is None:
            is_refused = needs_proof
        else:
            is_refused = not is_own_site
        if is_refused:
            raise HTTPError(403, _CROSS_SITE)

    def _check_host(self, request: Request) -> None:
        host = requested_host(request)
        if self.tokens or not host:  # Without Host, the client is no browser.
            return
        if not _is_own_host(host, self.base_url):
            detail = _MIGHT_BE_DNS_REBINDING.format(scheme=request.scheme, host=host)
            raise HTTPError(421, detail)


def _challenge(environ: WSGIEnvironment, scheme: str) -> str:
    """Return the challenge after a request with this scheme in Authorization."""
    # For Basic, a browser would open a password dialog over a browser extension.
    # The requests of extensions have Sec-Fetch-Site or a token.
    if "HTTP_SEC_FETCH_SITE" in environ or scheme in ("bearer", "token"):
        return BEARER
    return _BASIC_OR_BEARER


def requested_host(request: Request) -> str | None:
    """Return the value of Host, or None if a request of HTTP/1.0 has none.

    Raises HTTPError.
    """
    host: str | None = request.environ.get("HTTP_HOST")
    if host is None:
        if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":  # RFC 9112 section 3.2
            raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
        return None
    if len(host) > MAX_HOST or not HOST.fullmatch(host):
        raise HTTPError(400, "The Host header is not the name or address of a host.")
    return host


def host_name(url: str) -> str:
    """Return the host in an address, without a final dot, or "" if it has no host."""
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether the host name or address means this machine only."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def _is_own_host(host: str, base_url: str | None) -> bool:
    name = host_name("//" + host)
    if base_url is not None and name == host_name(base_url):
        return True
    return is_loopback(name)


def _is_own_site(request: Request, base_url: str | None) -> bool | None:
    """Return whether a page of this service sent the request.

    Returns None if no header says which site sent it.
    """
    site = request.environ.get("HTTP_SEC_FETCH_SITE")
    if site == "none":  # The user typed the address.
        return None
    if site:
        return bool(site == "same-origin")
    origin = request.environ.get("HTTP_ORIGIN")
    if origin is None:
        return None
    return origin in _own_origins(request.host_url, base_url)


def _own_origins(requested_url: str, base_url: str | None) -> list[str]:
    """Return the origins of the service (RFC 6454 section 6.2).

    Behind a proxy, the browser knows the service by `base_url`, while the requested
    address may have another host and scheme.
    """
    requested = urlsplit(requested_url)
    configured = urlsplit(urljoin(requested_url, base_url or ""))
    origins = [f"{configured.scheme}://{configured.netloc}"]
    # If both have the same host, trust only the scheme of `base_url`. If this is https,
    # an attacker in the network could still forge a page with http.
    if requested.netloc != configured.netloc:
        origins.append(f"{requested.scheme}://{requested.netloc}")
    return origins
