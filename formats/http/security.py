"""Who may send a request: host names, cross-site requests and tokens."""

import functools
import ipaddress
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from webob import Request

from formats.errors import HTTPError
from formats.html.assets import FILE_NAME
from formats.http.access_log import client_address
from formats.http.credentials import (
    LOGIN_OR_LOGOUT_BUTTON,
    Credentials,
    check_authorization,
    has_login,
)
from formats.http.failed_logins import FailedLogins
from storage.query import Query
from storage.store import Store

log = logging.getLogger("bookmarks")

MIN_TOKEN = 16  # In characters.
_HOW_TO_MAKE_ONE = "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_HOST = 261  # A name of 255 octets (RFC 1035 section 2.3.4), a colon, a port of five digits.
# RFC 3986 section 3.2.2, without percent-encoding, which no host name has.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")
# The paths that need no token: the files of the pages, logging in and out, and the health check.
_PUBLIC_PATH = re.compile(rf"/(?:{FILE_NAME}|-/log(?:in|out)|health)")
BEARER = 'Bearer realm="Bookmarks"'
# Basic comes first, because Chromium answers only the first challenge.
_BASIC_OR_BEARER = f'Basic realm="Bookmarks", charset="UTF-8", {BEARER}'
_UNAUTHORIZED = (
    "Send a valid token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
)
_NOT_OWN_HOST = (
    "Without a token, the service does not answer to the host {1}. If that is its name, start it "
    "with `--base-url {0}://{1}`."
)
_CROSS_SITE = (
    "A page of another site cannot change anything here. A browser extension or a script must send "
    "a valid token as `Authorization: Bearer TOKEN`."
)
_NO_ORIGIN = (
    "A change with the login of a browser must have the header Origin or Sec-Fetch-Site. A script "
    "must send a token as `Authorization: Bearer TOKEN`."
)


@dataclass(frozen=True)
class AccessControl:
    """Refuse DNS rebinding, cross-site requests, and requests without a token.

    With `tokens`, every request needs one of them, or only changes if `public_read` is true.
    """

    tokens: Sequence[bytes]
    public_read: bool
    base_url: str | None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)

    def check(self, request: Request) -> None:
        """Raise HTTPError for a request that is not allowed."""
        self._check_host(request)
        method = request.environ["REQUEST_METHOD"]
        if self.tokens:
            self._check_token(request, method)
        elif method not in SAFE_METHODS:  # No token is needed, but no other site may write.
            self._check_site(request)

    def _check_token(self, request: Request, method: str) -> None:
        credentials = self._check_credentials(request)
        if credentials is Credentials.HEADER:
            return
        if method not in SAFE_METHODS:
            self._check_site(request)
            if credentials is Credentials.COOKIE and not _names_its_site(request):
                raise HTTPError(403, _NO_ORIGIN)
        if not self._is_allowed(request, method, credentials):
            challenge = BEARER if _may_open_dialog(request) else _BASIC_OR_BEARER
            raise HTTPError(401, _UNAUTHORIZED, WWW_Authenticate=challenge)

    def _check_site(self, request: Request) -> None:
        if _is_cross_site(request, self.base_url):
            raise HTTPError(403, _CROSS_SITE)

    def _check_credentials(self, request: Request) -> Credentials:
        environ = request.environ
        if authorization := environ.get("HTTP_AUTHORIZATION"):
            credentials = check_authorization(authorization, self.tokens)
            if credentials is Credentials.WRONG:
                self.failed_logins.add(client_address(environ))
            return credentials
        if (cookies := environ.get("HTTP_COOKIE")) and has_login(cookies, self.tokens):
            environ[LOGIN_OR_LOGOUT_BUTTON] = "log-out"
            return Credentials.COOKIE
        if self.public_read:
            environ[LOGIN_OR_LOGOUT_BUTTON] = "log-in"
        return Credentials.NONE

    def _is_allowed(self, request: Request, method: str, credentials: Credentials) -> bool:
        if credentials is Credentials.NONE and self.public_read and method in ("GET", "HEAD"):
            return True
        has_token = credentials not in (Credentials.NONE, Credentials.WRONG)
        return has_token or bool(_PUBLIC_PATH.fullmatch(request.environ.get("PATH_INFO", "")))

    def warn_of_short_tokens(self) -> None:
        """Log a warning if a token is short; to be called if other machines reach the service."""
        if any(len(token.decode(errors="replace")) < MIN_TOKEN for token in self.tokens):
            text = "A token of less than %d characters can be guessed. %s"
            log.warning(text, MIN_TOKEN, _HOW_TO_MAKE_ONE)

    def warn_of_public_bookmarks(self, store: Store) -> None:
        """Log a warning if everybody can read bookmarks that are tagged `private`."""
        if not (self.tokens and self.public_read):
            return
        if count := store.select(Query(tags=("private",), limit=0)).total:
            log.warning("With --public-read everybody can read what is tagged private: %d.", count)

    def _check_host(self, request: Request) -> None:
        host = request.environ.get("HTTP_HOST")
        if host is None:
            if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":  # RFC 9112 section 3.2
                raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
            return
        if len(host) > MAX_HOST:
            raise HTTPError(400, "The Host header is too long.")
        if not HOST.fullmatch(host):
            raise HTTPError(400, "The Host header is not the name or address of a host.")
        if not self.tokens and not _is_own_name(host, self.base_url):
            raise HTTPError(421, _NOT_OWN_HOST.format(request.scheme, host))


def _host_name(url: str) -> str:
    """Return the host in an address, empty if it is no address."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether the host name or address means this machine only."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def _is_own_name(host: str, base_url: str | None) -> bool:
    """Return whether Host names the loopback interface or the base address."""
    name = _host_name("//" + host)
    return is_loopback(name) or (base_url is not None and name == _host_name(base_url))


def _is_cross_site(request: Request, base_url: str | None) -> bool:
    """Return whether a browser marks the request as sent by a page of another site."""
    if site := request.environ.get("HTTP_SEC_FETCH_SITE"):
        return site not in ("same-origin", "none")
    origin = request.environ.get("HTTP_ORIGIN")
    own = "{0.scheme}://{0.netloc}".format(urlsplit(base_url or ""))  # RFC 6454 section 6.2
    return origin is not None and origin not in (request.host_url, own)


def _names_its_site(request: Request) -> bool:
    """Return whether a request that is not cross-site names the site of the page that sent it."""
    site = request.environ.get("HTTP_SEC_FETCH_SITE")
    return site == "same-origin" if site else "HTTP_ORIGIN" in request.environ


def _may_open_dialog(request: Request) -> bool:
    """Return whether a browser may have sent the request, which opens a dialog for Basic.

    Browsers send Sec-Fetch-Site, but not over plain http to another machine. There an extension
    whose token is wrong would wait for the dialog, so a sent token counts too.
    """
    scheme = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")[0].lower()
    return "HTTP_SEC_FETCH_SITE" in request.environ or scheme in ("bearer", "token")
