"""Who may send a request: host names, cross-site requests and tokens."""

import functools
import ipaddress
import logging
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
from storage.query import Query
from storage.store import Store

log = logging.getLogger("bookmarks")

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})  # A page of another site may send these.
MAX_HOST = 261  # A name of 255 octets (RFC 1035 section 2.3.4), a colon, a port of five digits.
# An IPv6 address in brackets or a name, and perhaps a port (RFC 3986 section 3.2.2). Names in the
# DNS have no percent-encoding.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")
# The paths that need no token: the files of the pages, logging in and out, and the health check.
_PUBLIC_PATH = re.compile(rf"/(?:{FILE_NAME}|-/log(?:in|out)|health)")
# Challenges, the values of WWW-Authenticate. For BEARER alone, no browser opens a password dialog.
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
    """Refuse DNS rebinding, cross-site requests, and requests without a token.

    If there are `tokens`, a request needs one of them or a login, except for the paths that match
    _PUBLIC_PATH. If `public_read` is true too, GET and HEAD need neither. `base_url` is the
    service's own address; `//HOST` stands for this host with the scheme of the request.
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
        elif method not in SAFE_METHODS:  # Another site's page must not write for its visitor.
            self._check_site(request)

    def _check_token(self, request: Request, method: str) -> None:
        environ = request.environ
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        scheme = authorization.partition(" ")[0].lower()
        is_valid = self._is_authenticated(environ)
        if is_valid and scheme in ("bearer", "token"):
            return  # A page of another site does not know the token, so it cannot send this header.
        if method not in SAFE_METHODS:
            # An old browser may send the cookie for another site's form without naming the site, so
            # a cookie needs proof. HTTP Basic has the same risk, but scripts use it without Origin.
            self._check_site(request, needs_proof=is_valid and not authorization)
        # Public reading needs no token, but a client with a wrong token must learn of the error.
        is_public = self.public_read and method in ("GET", "HEAD") and not authorization
        if is_valid or is_public or _PUBLIC_PATH.fullmatch(environ.get("PATH_INFO", "")):
            return
        # For Basic, a browser might open its dialog. The request of an extension has Sec-Fetch-Site
        # or, over plain http to another machine, a token with the scheme Bearer or Token. Pages
        # never have this challenge: see `respond_problem`.
        is_extension = "HTTP_SEC_FETCH_SITE" in environ or scheme in ("bearer", "token")
        challenge = BEARER if is_extension else _BASIC_OR_BEARER
        raise HTTPError(401, _UNAUTHORIZED, WWW_Authenticate=challenge)

    def _is_authenticated(self, environ: WSGIEnvironment) -> bool:
        """Return whether the request has a token or else a login cookie; log a wrong token."""
        authorization = environ.get("HTTP_AUTHORIZATION")
        if not authorization:
            return has_login(environ.get("HTTP_COOKIE", ""), self.tokens)
        is_valid = has_token(authorization, self.tokens)
        if not is_valid:
            self.failed_logins.log(client_address(environ))
        return is_valid

    def _check_site(self, request: Request, needs_proof: bool = False) -> None:
        """Raise HTTPError if a header says that a page of another site sent the request.

        With `needs_proof`, a header must say that a page of this service sent it.
        """
        is_own_site = _is_own_site(request, self.base_url)
        if is_own_site is False or (needs_proof and not is_own_site):
            raise HTTPError(403, _CROSS_SITE)

    def warn_of_public_bookmarks(self, store: Store) -> None:
        """Log a warning if `public_read` shows everybody bookmarks that are tagged `private`."""
        # Without tokens, the user protects no bookmark; without `public_read`, tokens protect all.
        if not (self.tokens and self.public_read):
            return
        if count := store.select(Query(tags=("private",), limit=0)).total:
            log.warning("With --public-read anybody can read bookmarks tagged private: %d.", count)

    def _check_host(self, request: Request) -> None:
        host = requested_host(request)
        # DNS rebinding: a page of another site makes the name of its own host lead to this service,
        # and may then read and write here. Tokens prevent this, because that page knows none. Only
        # browsers can be misled so, and they always send Host.
        if host and not self.tokens and not _is_own_host(host, self.base_url):
            raise HTTPError(421, _MIGHT_BE_DNS_REBINDING.format(scheme=request.scheme, host=host))


def requested_host(request: Request) -> str | None:
    """Return the header Host, None if HTTP/1.0 leaves it out. Raises HTTPError if it is wrong."""
    host: str | None = request.environ.get("HTTP_HOST")
    if host is None:
        if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":  # RFC 9112 section 3.2
            raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
        return None
    if len(host) > MAX_HOST or not HOST.fullmatch(host):
        raise HTTPError(400, "The Host header is not the name or address of a host.")
    return host


def host_name(url: str) -> str:
    """Return the host in an address, without a final dot; empty if there is none."""
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether the host name or address means this machine only."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)  # Most requests have the same few hosts.
def _is_own_host(host: str, base_url: str | None) -> bool:
    """Return whether a Host is loopback or that of `base_url`, not one used for DNS rebinding."""
    name = host_name("//" + host)
    return is_loopback(name) or (base_url is not None and name == host_name(base_url))


def _is_own_site(request: Request, base_url: str | None) -> bool | None:
    """Return whether a page of this service sent the request, None if no header shows it."""
    if site := request.environ.get("HTTP_SEC_FETCH_SITE"):
        return None if site == "none" else site == "same-origin"  # "none": the user typed it.
    if (origin := request.environ.get("HTTP_ORIGIN")) is None:
        return None
    # Behind a proxy, browsers show `base_url`, and `host_url` may be another. If both have the same
    # host, only the scheme of `base_url` is right: over http, others can send pages of this host.
    addresses = map(urlsplit, (request.host_url, urljoin(request.host_url, base_url or "")))
    origins = {address.netloc: f"{address.scheme}://{address.netloc}" for address in addresses}
    return origin in origins.values()
