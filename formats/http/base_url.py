"""The service's address as a request or the configuration gives it."""

import functools
from urllib.parse import quote, urlsplit

from msgspec.structs import replace
from webob import Request

from formats.base_url import BaseUrl
from formats.http.credentials import LOGIN_OR_LOGOUT_BUTTON
from formats.http.security import HOST, MAX_HOST
from storage.errors import Invalid

ADDRESS_VARIABLES = ("wsgi.url_scheme", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SCRIPT_NAME")
_DEFAULTS = {"wsgi.url_scheme": "http", "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_PATH_CHARACTERS = "/!$&'()*+,;=:@~"


def base_url_of(request: Request, configured: BaseUrl | None = None) -> BaseUrl:
    """Return the configured address of the service, or else the one that the request names."""
    base = configured or _requested_base(request)
    button = request.environ.get(LOGIN_OR_LOGOUT_BUTTON)
    return replace(base, login_or_logout_button=button) if button else base


def _requested_base(request: Request) -> BaseUrl:
    is_short = len(request.environ.get("HTTP_HOST", "")) <= MAX_HOST
    base_url = _base_url if is_short else _base_url.__wrapped__  # Cache no long texts.
    return base_url(*map(request.environ.get, ADDRESS_VARIABLES))


@functools.lru_cache(maxsize=256)
def _base_url(*values: str | None) -> BaseUrl:
    environ = {n: v for n, v in zip(ADDRESS_VARIABLES, values, strict=True) if v}
    environ = _DEFAULTS | environ
    path = quote(environ.get("SCRIPT_NAME", "").encode("latin-1"), safe=_PATH_CHARACTERS)
    return BaseUrl(f"{Request(environ).host_url}{path}", path)


def parse_base_url(text: str | None) -> BaseUrl | None:
    """Return the configured address, or None without one. Raises Invalid."""
    if not text:
        return None
    text = text.strip()
    try:
        parts = urlsplit(text)
        is_address = parts.port != 0 and parts.scheme in _DEFAULT_PORTS and text.isprintable()
    except ValueError:
        is_address = False
    if not is_address or not HOST.fullmatch(parts.netloc) or parts.query or parts.fragment:
        reason = "must be an address, such as https://example.com/bookmarks"
        raise Invalid([("base_url", reason)])
    # Browsers leave the default port out of Origin (RFC 6454 section 6.2).
    host = parts.netloc.lower().removesuffix(_DEFAULT_PORTS[parts.scheme]).removesuffix(":")
    path = quote(parts.path.rstrip("/"), safe=f"{_PATH_CHARACTERS}%")
    return BaseUrl(f"{parts.scheme}://{host}{path}", path)
