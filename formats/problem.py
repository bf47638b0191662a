"""Problem documents (RFC 9457), and the page that a browser gets instead."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from formats import html

MEDIA_TYPES = ("application/problem+json", "application/json", "text/html")


def write(
    media_type: str, status: int, detail: str, members: Mapping[str, object]
) -> tuple[str, bytes]:
    """The media type to send and the document, with these members besides the standard ones."""
    title = HTTPStatus(status).phrase
    standard = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if media_type == "text/html":
        return html.MEDIA_TYPE, html.write_problem(status, title, detail, members)
    return MEDIA_TYPES[0], msgspec.json.encode(standard | dict(members)) + b"\n"
