"""The address of the service, from the options or from a request."""

import functools
from urllib.parse import quote, urlsplit

from webob import Request

from formats.http.security import HOST
from formats.listing import Site
from storage.errors import Invalid

ADDRESS_VARIABLES = (
    "wsgi.url_scheme",
    "HTTP_HOST",
    "SERVER_NAME",
    "SERVER_PORT",
    "SCRIPT_NAME",
)
_MAX_CHARACTERS = 4096  # Every link repeats the address.
_DEFAULT_PORTS = {"http": "80", "https": "443"}
# RFC 3986 section 3.3
_UNQUOTED_IN_PATH = "/!$&'()*+,;=:@~"


def requested_site(request: Request) -> Site:
    environ = request.environ
    values = [environ.get(name, "")[:_MAX_CHARACTERS] for name in ADDRESS_VARIABLES]
    return _make_site(*values)


@functools.lru_cache(maxsize=256)
def _make_site(scheme: str, host: str, name: str, port: str, script_name: str) -> Site:
    if not scheme:
        scheme = "http"
    if not host:
        host = f"{name or 'localhost'}:{port or '80'}"
    # WSGI variables are decoded as Latin-1.
    path = quote(script_name.encode("latin-1"), safe=_UNQUOTED_IN_PATH)
    return Site(f"{scheme}://{_without_default_port(scheme, host)}{path}", path)


def parse_base_url(text: str | None) -> Site | None:
    """Return the site at this address, or None for an empty text. Raises Invalid."""
    if not text:
        return None
    text = text.strip()
    if not _is_base_url(text):
        example = "https://example.com/bookmarks"
        reason = f"must be an address, such as {example}, not {text!r}"
        raise Invalid([("base_url", reason)])
    parts = urlsplit(text)
    host = _without_default_port(parts.scheme, parts.netloc.lower())
    # A `%` is not quoted, because the path may be encoded already.
    path = quote(parts.path.rstrip("/"), safe=_UNQUOTED_IN_PATH + "%")
    return Site(f"{parts.scheme}://{host}{path}", path)


def _without_default_port(scheme: str, host: str) -> str:
    # Browsers leave the default port out of Origin (RFC 6454 section 6.2).
    port = _DEFAULT_PORTS.get(scheme, "")
    return host.removesuffix(f":{port}").removesuffix(":")


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    if not HOST.fullmatch(parts.netloc) or port == 0:
        return False
    if parts.query or parts.fragment:
        return False
    return parts.scheme in _DEFAULT_PORTS and text.isprintable()
