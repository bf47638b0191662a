"""Who may send a request: host names, cross-site requests and tokens."""

import base64
import binascii
import functools
import hmac
import ipaddress
import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from webob import Request

from formats.errors import HTTPError
from formats.http.access_log import client_address
from formats.http.failed_logins import FailedLogins
from storage.errors import Invalid

log = logging.getLogger("bookmarks")

MIN_TOKEN = 16  # In characters.
_MAKE = "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_HOST = 261  # A name has at most 253 characters, a port five.
# RFC 3986 section 3.2.2, without percent-encoding, which no host name has.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")
# Chromium answers only the first challenge.
_CHALLENGE = 'Basic realm="Bookmarks", charset="UTF-8", Bearer realm="Bookmarks"'


@dataclass(frozen=True)
class AccessControl:
    """Refuse DNS rebinding, cross-site requests, and requests without the token.

    With a `token`, every request needs it, or only changes if `public_read` is true.
    """

    token: bytes | None
    public_read: bool
    base_url: str | None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)

    def check(self, request: Request) -> None:
        """Raise HTTPError for a request that is not allowed."""
        self._check_host(request)
        method = request.environ["REQUEST_METHOD"]
        if method not in SAFE_METHODS and _is_cross_site(request, self.base_url):
            raise HTTPError(403, "A page of another site cannot change anything here.")
        is_public = self.token is None or (self.public_read and method in ("GET", "HEAD"))
        if not is_public and not _has_token(request, self.token or b""):
            if "HTTP_AUTHORIZATION" in request.environ:
                self.failed_logins.add(client_address(request.environ))
            detail = (
                "Send the token as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic."
            )
            raise HTTPError(401, detail, WWW_Authenticate=_CHALLENGE)

    def warn_of_short_token(self) -> None:
        """Log a warning if the token is short; to be called if other machines reach the service."""
        if self.token and len(self.token.decode(errors="replace")) < MIN_TOKEN:
            log.warning("A token of less than %d characters can be guessed. %s", MIN_TOKEN, _MAKE)

    def _check_host(self, request: Request) -> None:
        host = request.environ.get("HTTP_HOST")
        if host is None:
            if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":  # RFC 9112 section 3.2
                raise HTTPError(400, "A request of HTTP/1.1 must have a Host header.")
            return
        if len(host) > MAX_HOST:
            raise HTTPError(400, "The Host header is too long.")
        if self.token is not None or not _is_own_name(host, self.base_url):
            if not HOST.fullmatch(host):
                raise HTTPError(400, "The Host header is not the name or address of a host.")
            if self.token is None:
                raise HTTPError(421, "This service does not answer to the name in Host.")


def read_token(file: str) -> str:
    """Return the token in a file. Raises Invalid or OSError."""
    if os.stat(file).st_mode & 0o077:
        log.warning("Other users can read the token: chmod 600 %s", file)
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise Invalid([(f"The token file {file}", "is not UTF-8.")]) from None
    if not token:
        raise Invalid([(f"The token file {file}", "is empty.")])
    return token


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
    if not HOST.fullmatch(host):
        return False
    name = _host_name("//" + host)
    return is_loopback(name) or (base_url is not None and name == _host_name(base_url))


def _is_cross_site(request: Request, base_url: str | None) -> bool:
    """Return whether a browser marks the request as sent by a page of another site."""
    if site := request.environ.get("HTTP_SEC_FETCH_SITE"):
        return site not in ("same-origin", "none")
    origin = request.environ.get("HTTP_ORIGIN")
    own = "{0.scheme}://{0.netloc}".format(urlsplit(base_url or ""))  # RFC 6454 section 6.2
    return origin is not None and origin not in (request.host_url, own)


def _has_token(request: Request, token: bytes) -> bool:
    """Return whether Authorization has the token (Bearer, RFC 6750; Basic's password, RFC 7617)."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    sent = credentials.strip().encode("latin-1", "replace")
    if scheme.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(sent, token)
