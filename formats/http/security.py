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
from formats.http.access_log import client_address
from formats.http.credentials import Credentials, check_authorization
from formats.http.failed_logins import FailedLogins

log = logging.getLogger("bookmarks")

MIN_TOKEN = 16  # In characters.
_HOW_TO_MAKE_ONE = "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_HOST = 261  # A name has at most 253 characters, a port five.
# RFC 3986 section 3.2.2, without percent-encoding, which no host name has.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")
# Basic comes first, because Chromium answers only the first challenge.
_CHALLENGE = 'Basic realm="Bookmarks", charset="UTF-8", Bearer realm="Bookmarks"'
_UNAUTHORIZED = (
    "Send a right token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
)
_NOT_OWN_HOST = (
    "Without a token, the service does not answer to the host {1}. If that is its name, start it "
    "with `--base-url {0}://{1}`."
)
_CROSS_SITE = (
    "A page of another site cannot change anything here. A browser extension or a script must send "
    "a right token as `Authorization: Bearer TOKEN`."
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
        credentials = self._check_credentials(request) if self.tokens else Credentials.NONE
        method = request.environ["REQUEST_METHOD"]
        is_exempt = method in SAFE_METHODS or credentials is Credentials.HEADER
        if not is_exempt and _is_cross_site(request, self.base_url):
            raise HTTPError(403, _CROSS_SITE)
        if self.tokens and not self._is_allowed(method, credentials):
            raise HTTPError(401, _UNAUTHORIZED, WWW_Authenticate=_CHALLENGE)

    def _check_credentials(self, request: Request) -> Credentials:
        authorization = request.environ.get("HTTP_AUTHORIZATION")
        if not authorization:
            return Credentials.NONE
        credentials = check_authorization(authorization, self.tokens)
        if credentials is Credentials.WRONG:
            self.failed_logins.add(client_address(request.environ))
        return credentials

    def _is_allowed(self, method: str, credentials: Credentials) -> bool:
        if credentials is Credentials.NONE:
            return self.public_read and method in ("GET", "HEAD")
        return credentials is not Credentials.WRONG

    def warn_of_short_tokens(self) -> None:
        """Log a warning if a token is short; to be called if other machines reach the service."""
        if any(len(token.decode(errors="replace")) < MIN_TOKEN for token in self.tokens):
            text = "A token of less than %d characters can be guessed. %s"
            log.warning(text, MIN_TOKEN, _HOW_TO_MAKE_ONE)

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
