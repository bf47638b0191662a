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
# These paths need no token, because their handlers do not open the store.
_PATH_WITHOUT_STORE = re.compile(rf"/( {FILE_NAME} | -/login | -/logout | health )", re.VERBOSE)
# The only page below `/-/` that visitors may read.
_VISITORS_PAGE = "/-/tools"
# Another site cannot make a browser send these schemes.
_TOKEN_SCHEMES = ("bearer", "token")
BEARER = 'Bearer realm="Bookmarks"'
# Basic comes first, because Chromium answers only the first challenge.
_BASIC_OR_BEARER = f'Basic realm="Bookmarks", charset="UTF-8", {BEARER}'
_UNAUTHORIZED_TEXT = (
    "Send a valid token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
)
_MIGHT_BE_DNS_REBINDING_TEXT = (
    "A service that has no token does not answer to the host {host}. If the service has this name, "
    "start it with `--base-url {scheme}://{host}`."
)
_CROSS_SITE_TEXT = (
    "A page of another site cannot change anything here, so a change with the login of a browser "
    "must have the header Origin or Sec-Fetch-Site. A browser extension or a script must send a "
    "valid token as `Authorization: Bearer TOKEN`."
)


@dataclass(frozen=True)
class AccessControl:
    """Refuse DNS rebinding, cross-site requests, and requests without a token."""

    tokens: Sequence[bytes]  # Without tokens, everybody may read and write.
    public_read: bool  # Visitors without a token may read public bookmarks.
    # The address of the service. `//HOST` has the scheme of each request.
    base_url: str | None = None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)

    def is_owner(self, request: Request) -> bool:
        """Return whether the request may read and change all bookmarks."""
        if not self.tokens:
            return True
        authorization = request.environ.get("HTTP_AUTHORIZATION")
        if authorization:
            return has_token(authorization, self.tokens)
        return has_login(request.environ.get("HTTP_COOKIE", ""), self.tokens)

    def check(self, request: Request, is_owner: bool) -> None:
        """Raise HTTPError if the request must be refused, and log a wrong token."""
        environ = request.environ
        host = requested_host(request)
        if not self.tokens:
            self._check_host(request, host)
        elif not is_owner and environ.get("HTTP_AUTHORIZATION"):
            self.failed_logins.log(client_address(environ))
        is_change = environ["REQUEST_METHOD"] not in SAFE_METHODS
        if is_change and self._may_be_cross_site(request, is_owner):
            raise HTTPError(403, _CROSS_SITE_TEXT)
        if not is_owner and not self._needs_no_token(environ):
            raise HTTPError(401, _UNAUTHORIZED_TEXT, WWW_Authenticate=_challenge(environ))

    def _check_host(self, request: Request, host: str | None) -> None:
        """Raise HTTPError if another site may have reached the service by DNS rebinding."""
        # A request without Host does not come from a browser.
        if host and not _is_own_host(host, self.base_url):
            detail = _MIGHT_BE_DNS_REBINDING_TEXT.format(scheme=request.scheme, host=host)
            raise HTTPError(421, detail)

    def _may_be_cross_site(self, request: Request, is_owner: bool) -> bool:
        """Return whether a page of another site may have sent this change."""
        environ = request.environ
        has_credentials = bool(self.tokens) and is_owner
        if has_credentials and _authorization_scheme(environ) in _TOKEN_SCHEMES:
            return False
        fetch_site: str = environ.get("HTTP_SEC_FETCH_SITE", "")
        if fetch_site == "same-origin":
            return False
        if fetch_site and fetch_site != "none":  # "none": the user typed the address.
            return True
        if not fetch_site and "HTTP_ORIGIN" in environ:
            return environ["HTTP_ORIGIN"] not in _own_origins(request.host_url, self.base_url)
        # No header names the sender. With the login cookie, this may be an old browser that
        # sends a form of another site. Without the cookie, it is a script.
        return has_credentials and "HTTP_AUTHORIZATION" not in environ

    def _needs_no_token(self, environ: WSGIEnvironment) -> bool:
        path = environ.get("PATH_INFO", "")
        if uses_no_store(path):
            return True
        if not self.public_read or environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return False
        if environ.get("HTTP_AUTHORIZATION"):
            return False  # Respond 401, because the token is wrong.
        return not path.startswith("/-/") or path == _VISITORS_PAGE


def uses_no_store(path: str) -> bool:
    """Return whether the path shows no bookmarks, such as that of a style sheet."""
    return _PATH_WITHOUT_STORE.fullmatch(path) is not None


def _authorization_scheme(environ: WSGIEnvironment) -> str:
    authorization: str = environ.get("HTTP_AUTHORIZATION", "")
    return authorization.partition(" ")[0].lower()


def _challenge(environ: WSGIEnvironment) -> str:
    # For Basic, a browser opens a password dialog. Requests of browser extensions must not
    # open it: they have Sec-Fetch-Site or a token.
    if "HTTP_SEC_FETCH_SITE" in environ or _authorization_scheme(environ) in _TOKEN_SCHEMES:
        return BEARER
    return _BASIC_OR_BEARER


def requested_host(request: Request) -> str | None:
    """Return Host, or None if HTTP/1.0 leaves it out. Raises HTTPError."""
    host: str | None = request.environ.get("HTTP_HOST")
    if host is None:
        if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":  # RFC 9112 section 3.2
            raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
        return None
    if len(host) > MAX_HOST or not HOST.fullmatch(host):
        raise HTTPError(400, "The Host header is not the name or address of a host.")
    return host


def host_name(url: str) -> str:
    """Return the host in an address, without a final dot, or ""."""
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether the host is this machine."""
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


def _own_origins(requested_url: str, base_url: str | None) -> list[str]:
    """Return the origins of the service (RFC 6454 section 6.2).

    Behind a proxy, the requested address may differ from `base_url`.
    """
    configured = urlsplit(urljoin(requested_url, base_url or ""))
    configured_origin = f"{configured.scheme}://{configured.netloc}"
    if urlsplit(requested_url).netloc == configured.netloc:
        # Do not trust the requested scheme: an attacker in the network can forge a page of
        # this host with http.
        return [configured_origin]
    return [configured_origin, requested_url]
