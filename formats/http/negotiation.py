"""Content negotiation: which format a request asks for (RFC 9110 section 12.5.1)."""

import functools
import re
from collections.abc import Iterable

from webob import Request
from webob.acceptparse import create_accept_header

from formats import Format
from formats.http.response import HTTPError
from formats.listing import Parameters
from storage.query import first_values

# In characters. A longer Accept counts as missing, because parsing it is slow.
MAX_ACCEPT = 4096
# A parameter of a media type, such as `;charset=utf-8`, but not `;q=0.5`.
_PARAMETER_EXCEPT_Q = re.compile(
    r";\s*+(?![qQ]\s*=)"  # No q.
    r'(?:"(?:[^"\\]|\\.)*+"?'  # A quoted string.
    r'|[^;,"])*+'
)


def negotiate(
    request: Request, offered: Iterable[Format], parameters: Parameters = []
) -> Format:
    """Return the format that the parameter `format` names or, without it, Accept.

    Raises HTTPError 400 for an unknown name, 406 if no format satisfies Accept.
    """
    name = first_values(parameters).get("format")
    if name is not None:
        return _format_of_name(name, offered)
    format = accepted_format(request, offered)
    if format is None:
        media_types = dict.fromkeys(format.bare_type for format in offered)
        raise HTTPError(406, f"The response can be one of {', '.join(media_types)}.")
    return format


def _format_of_name(name: str, offered: Iterable[Format]) -> Format:
    for format in offered:
        if format.name == name:
            return format
    names = ", ".join(format.name for format in offered)
    raise HTTPError(400, f"The format must be one of {names}.")


def accepted_format(request: Request, offered: Iterable[Format]) -> Format | None:
    """Return the first of the formats that Accept prefers, or None if it accepts none."""
    accept = request.environ.get("HTTP_ACCEPT", "")
    if len(accept) > MAX_ACCEPT:
        accept = ""
    return _parse_accept(accept, tuple(offered))


@functools.lru_cache(maxsize=256)
def _parse_accept(accept: str, offered: tuple[Format, ...]) -> Format | None:
    by_type = _formats_by_type(accept, offered)
    # WebOb does not match a type with parameters, such as `text/html;charset=utf-8`.
    without_parameters = _PARAMETER_EXCEPT_Q.sub("", accept)
    # WebOb refuses empty elements of a list, which RFC 9110 section 5.6.1.2 allows.
    cleaned = without_parameters.strip(", \t")
    header = create_accept_header(cleaned or None)
    acceptable = header.acceptable_offers(list(by_type))
    if not acceptable:
        return None
    media_type, _ = acceptable[0]
    return by_type[media_type]


def _formats_by_type(accept: str, offered: tuple[Format, ...]) -> dict[str, Format]:
    """Return the formats to offer by their media types, and then by their aliases."""
    # For text/html, a client must get the page, and not the bookmark file.
    without_downloads = [format for format in offered if not format.download_name]
    by_type = {format.bare_type: format for format in without_downloads}
    for format in without_downloads:
        for alias in format.aliases:
            # Offer it only if Accept names it: `text/*` must match the type of the response.
            if alias in accept.lower():
                by_type[alias] = format
    return by_type
