"""Content negotiation: which format a request asks for (RFC 9110 section 12.5.1)."""

import functools
import re
from collections.abc import Sequence

from webob import Request
from webob.acceptparse import create_accept_header

from formats import FormatTable
from formats.base_url import Parameters
from formats.errors import HTTPError
from storage.query import first_values

MAX_ACCEPT = 4096  # A longer header counts as absent.
# Parameters of a media range other than q, such as `charset=utf-8`, are removed and so ignored.
_OTHER_PARAMETER = re.compile(r';\s*+(?![qQ]\s*=)(?:"(?:[^"\\]|\\.)*+"?|[^;,"])*+')


def negotiate(request: Request, table: FormatTable, parameters: Parameters | None = None) -> str:
    """Return the name of the format that `format=` or else Accept asks for.

    Raises HTTPError 400 for an unknown name, 406 if no format satisfies Accept.
    """
    name = first_values(parameters or []).get("format")
    if name is not None:
        if name not in table:
            raise HTTPError(400, f"The format must be one of {', '.join(table)}.")
        return name
    return table.names[best_media_type(request, table.media_types, table.other_media_types)]


def best_media_type(request: Request, offers: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return the media type that Accept prefers, the first offer if it has no preference.

    `others` are further media types of the same formats. Raises HTTPError 406.
    """
    accept = request.environ.get("HTTP_ACCEPT", "")
    accept = accept if len(accept) <= MAX_ACCEPT else ""
    if best := _best_media_type(accept, tuple(offers), tuple(others)):
        return best
    raise HTTPError(406, f"The response can be one of {', '.join(offers)}.")


@functools.lru_cache(maxsize=256)
def _best_media_type(accept: str, offers: tuple[str, ...], others: tuple[str, ...]) -> str | None:
    # Offer the others only if Accept names them, so that a wildcard selects one of the offers.
    offers += tuple(other for other in others if other in accept.lower())
    ranges = _OTHER_PARAMETER.sub("", accept).strip(", \t")  # Elements of a list may be empty.
    acceptable = create_accept_header(ranges or None).acceptable_offers(offers)
    return str(acceptable[0][0]) if acceptable else None
