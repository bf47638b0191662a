"""Content negotiation: which format a request asks for (RFC 9110 section 12.5.1)."""

import functools
import re
from collections.abc import Sequence

from webob import Request
from webob.acceptparse import create_accept_header

from formats import Format, FormatTable
from formats.html.view import Parameters
from formats.http.response import HTTPError
from storage.query import first_values

MAX_ACCEPT = 4096  # In characters. A longer header counts as absent, so the lru_cache stays small.
# A parameter other than q, the quality, with the semicolon before it. Such parameters are removed,
# because offers have none. The possessive `*+` keeps the time proportional to the length.
_PARAMETER_EXCEPT_Q = re.compile(r';\s*+(?![qQ]\s*=)(?:"(?:[^"\\]|\\.)*+"?|[^;,"])*+')


def negotiate(request: Request, table: FormatTable, parameters: Parameters = []) -> Format:
    """Return the format that `format=` or else Accept asks for.

    Raises HTTPError 400 for an unknown name, 406 if no format satisfies Accept.
    """
    name = first_values(parameters).get("format")
    if name is not None:
        if name not in table:
            raise HTTPError(400, f"The format must be one of {', '.join(table)}.")
        return table[name]
    return table.by_type[best_media_type(request, table.media_types, aliases=table.aliases)]


def best_media_type(request: Request, offers: Sequence[str], aliases: Sequence[str] = ()) -> str:
    """Return the media type that Accept prefers, the first offer if it has no preference.

    `aliases` are further media types of the offered formats. Raises HTTPError 406.
    """
    accept = request.environ.get("HTTP_ACCEPT", "")
    if len(accept) > MAX_ACCEPT:
        accept = ""  # Too long for the lru_cache: the first offer is chosen.
    if best := _best_media_type(accept, tuple(offers), tuple(aliases)):
        return best
    raise HTTPError(406, f"The response can be one of {', '.join(offers)}.")


@functools.lru_cache(maxsize=256)
def _best_media_type(accept: str, offers: tuple[str, ...], aliases: tuple[str, ...]) -> str | None:
    # Offer only aliases that Accept names, so that a wildcard such as */* selects no alias.
    offers += tuple(alias for alias in aliases if alias in accept.lower())
    # The offers have no parameters: WebOb would match none of them with `text/html;charset=utf-8`.
    accept = _PARAMETER_EXCEPT_Q.sub("", accept)
    # WebOb refuses a list that begins with a comma, which RFC 9110 section 5.6.1.2 allows.
    accept = accept.strip(", \t")
    acceptable = create_accept_header(accept or None).acceptable_offers(offers)
    media_types = [str(media_type) for media_type, _quality in acceptable]
    return media_types[0] if media_types else None
