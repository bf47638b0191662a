"""Make a Site: the service's address, as it is configured or as a request names it."""

import functools
from urllib.parse import quote, urlsplit

from webob import Request

from formats.http.security import HOST
from formats.listing import Site
from storage.errors import Invalid

# The variables of the WSGI environment that determine the address.
ADDRESS_VARIABLES = ("wsgi.url_scheme", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SCRIPT_NAME")
# For variables that are missing or empty: WebOb would fail, or make a wrong address.
_DEFAULT_VARIABLES = {"wsgi.url_scheme": "http", "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
# In characters. A Host may be refused because it is longer, but the page of this error has links.
_MAX_VALUE = 4096
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}  # With the colon, as the end of an address.
_PATH_CHARACTERS = "/!$&'()*+,;=:@~"  # A path has them unencoded (RFC 3986 section 3.3).


def requested_site(request: Request) -> Site:
    """Return the address of the service that the request names."""
    return _site_of(*(request.environ.get(name, "")[:_MAX_VALUE] for name in ADDRESS_VARIABLES))


@functools.lru_cache(maxsize=256)  # Clients use few different addresses.
def _site_of(*values: str) -> Site:
    """Return the address that the values of ADDRESS_VARIABLES, in this order, determine."""
    variables = zip(ADDRESS_VARIABLES, values, strict=True)
    environ = _DEFAULT_VARIABLES | {name: value for name, value in variables if value}
    # WSGI gives the bytes of a path as Latin-1 characters (PEP 3333).
    path = quote(environ.get("SCRIPT_NAME", "").encode("latin-1"), safe=_PATH_CHARACTERS)
    return Site(f"{Request(environ).host_url}{path}", path)


def parse_base_url(text: str | None) -> Site | None:
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
        reason = f"must be an address, such as https://example.com/bookmarks, not {text!r}"
        raise Invalid([("base_url", reason)])
    # The header Origin, which is compared with this address, has no default or empty port (RFC
    # 6454 section 6.2).
    host = parts.netloc.lower().removesuffix(_DEFAULT_PORTS[parts.scheme]).removesuffix(":")
    # Keep `%`: the administrator may have percent-encoded the path already.
    path = quote(parts.path.rstrip("/"), safe=f"{_PATH_CHARACTERS}%")
    return Site(f"{parts.scheme}://{host}{path}", path)
