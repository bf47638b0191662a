"""Content negotiation (RFC 9110 section 12.5.1)."""

import functools
import re
from collections.abc import Iterable

from webob import Request
from webob.acceptparse import create_accept_header

from formats import Format
from formats.http.response import HTTPError
from formats.listing import Parameters
from storage.query import first_values

MAX_ACCEPT_CHARACTERS = 4096  # Parsing longer headers is slow.
# A parameter of a media type, such as `; charset=utf-8`, but not the weight `; q=0.5`.
# Possessive quantifiers keep the search linear.
_PARAMETER_EXCEPT_Q = re.compile(
    r"""
    ; \s*+ (?! [qQ] \s* = )
    (?:
        " (?: [^"\\] | \\. )*+ "?  # A quoted string.
        | [^;,"]
    )*+
    """,
    re.VERBOSE,
)


def negotiate(
    request: Request, offered: Iterable[Format], parameters: Parameters = []
) -> Format:
    """Choose the format by the parameter `format`, else by Accept. Raises HTTPError."""
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
    """Return the format that Accept prefers, or None if it accepts none."""
    accept = request.environ.get("HTTP_ACCEPT", "")
    if len(accept) > MAX_ACCEPT_CHARACTERS:
        accept = ""
    return _parse_accept(accept, tuple(offered))


@functools.lru_cache(maxsize=256)
def _parse_accept(accept: str, offered: tuple[Format, ...]) -> Format | None:
    by_type = _formats_by_type(accept, offered)
    # WebOb does not match types with parameters.
    without_parameters = _PARAMETER_EXCEPT_Q.sub("", accept)
    # WebOb refuses empty list elements, which RFC 9110 section 5.6.1.2 allows.
    cleaned = without_parameters.strip(", \t")
    header = create_accept_header(cleaned or None)
    acceptable = header.acceptable_offers(list(by_type))
    if not acceptable:
        return None
    media_type, _ = acceptable[0]
    return by_type[media_type]


def _formats_by_type(accept: str, offered: tuple[Format, ...]) -> dict[str, Format]:
    # `Accept: text/html` means the page, not the download in Netscape's format.
    without_downloads = [format for format in offered if not format.download_name]
    by_type = {format.bare_type: format for format in without_downloads}
    lower_accept = accept.lower()
    for format in without_downloads:
        for alias in format.aliases:
            # Without this condition, `text/*` would select the alias `text/xml`.
            if alias in lower_accept:
                by_type[alias] = format
    return by_type
