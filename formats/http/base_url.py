"""Make a BaseUrl: the service's address, and the button to log in or out for its pages."""

import functools
from urllib.parse import quote, urlsplit

from msgspec.structs import replace
from webob import Request

from formats.base_url import BaseUrl
from formats.http.credentials import LOGIN_OR_LOGOUT_BUTTON
from formats.http.security import HOST, MAX_HOST
from storage.errors import Invalid

# The variables of the WSGI environment that determine the address.
ADDRESS_VARIABLES = ("wsgi.url_scheme", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SCRIPT_NAME")
# For variables that are missing or empty: WebOb would fail, or make a wrong address.
_DEFAULT_VARIABLES = {"wsgi.url_scheme": "http", "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}  # With the colon, as the end of an address.
_PATH_CHARACTERS = "/!$&'()*+,;=:@~"  # A path has them unencoded (RFC 3986 section 3.3).


def base_url_of(request: Request, configured: BaseUrl | None = None) -> BaseUrl:
    """Return the configured address of the service, or else the one that the request names."""
    base = configured or _requested_base(request)
    # Every page gets the BaseUrl, and with it the button that AccessControl has chosen.
    button = request.environ.get(LOGIN_OR_LOGOUT_BUTTON)
    return replace(base, login_or_logout_button=button) if button else base


def _requested_base(request: Request) -> BaseUrl:
    values = map(request.environ.get, ADDRESS_VARIABLES)
    if len(request.environ.get("HTTP_HOST", "")) > MAX_HOST:
        # Such a request is refused, but the error page has links. `__wrapped__` caches no address.
        return _make_base_url.__wrapped__(*values)
    return _make_base_url(*values)


@functools.lru_cache(maxsize=256)  # Clients use few different addresses.
def _make_base_url(*values: str | None) -> BaseUrl:
    """Return the address that the values of ADDRESS_VARIABLES, in this order, determine."""
    variables = zip(ADDRESS_VARIABLES, values, strict=True)
    environ = _DEFAULT_VARIABLES | {name: value for name, value in variables if value}
    # WSGI gives the bytes of a path as Latin-1 characters (PEP 3333).
    path = quote(environ.get("SCRIPT_NAME", "").encode("latin-1"), safe=_PATH_CHARACTERS)
    return BaseUrl(f"{Request(environ).host_url}{path}", path)


def parse_base_url(text: str | None) -> BaseUrl | None:
    """Return the configured address `text`, None if there is none. Raises Invalid."""
    if not text:
        return None
    text = text.strip()
    try:
        parts = urlsplit(text)
        is_possible_port = parts.port != 0  # No service can listen on port 0.
        is_address = is_possible_port and parts.scheme in _DEFAULT_PORTS and text.isprintable()
    except ValueError:  # For example, the port is no number.
        is_address = False
    if not is_address or not HOST.fullmatch(parts.netloc) or parts.query or parts.fragment:
        reason = "must be an address, such as https://example.com/bookmarks"
        raise Invalid([("base_url", reason)])
    # The header Origin, which is compared with this address, has no default or empty port (RFC
    # 6454 section 6.2).
    host = parts.netloc.lower().removesuffix(_DEFAULT_PORTS[parts.scheme]).removesuffix(":")
    # Keep `%`: the administrator may have percent-encoded the path already.
    path = quote(parts.path.rstrip("/"), safe=f"{_PATH_CHARACTERS}%")
    return BaseUrl(f"{parts.scheme}://{host}{path}", path)
