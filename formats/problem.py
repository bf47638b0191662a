"""Problem documents (RFC 9457), and the page that a browser gets instead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from formats import html
from formats.errors import Malformed, NotAcceptable, Refused, TooLarge, UnknownFormat, Unsupported
from formats.view import View
from storage import errors

MEDIA_TYPES = ("application/problem+json", "application/json", "text/html")

PROBLEMS: Mapping[type[Exception], int] = {
    Malformed: 400,
    UnknownFormat: 400,
    errors.BadQuery: 400,
    NotAcceptable: 406,
    TooLarge: 413,
    Unsupported: 415,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.PreconditionFailed: 412,
    errors.Invalid: 422,
    errors.Unreadable: 503,
    errors.Busy: 503,
    errors.Unavailable: 503,
    errors.Full: 507,
}


@dataclass
class Problem:
    """What went wrong: the status, what a person should know, and what a program should besides.

    `current` is what a precondition found in place of what it asked for.
    """

    status: int
    detail: str
    members: dict[str, object] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    current: object = None

    @property
    def title(self) -> str:
        """The status in words: RFC 9457 section 4.2.1 wants no others for about:blank."""
        return HTTPStatus(self.status).phrase


def described(error: Exception, base: str) -> Problem:
    """What an error of PROBLEMS, or a refusal, means to whom it is answered."""
    if isinstance(error, Refused):
        return Problem(error.status, str(error), headers=error.headers)
    told = Problem(PROBLEMS[type(error)], str(error))
    if isinstance(error, errors.Invalid):
        told.members["errors"] = [{"field": f, "reason": r} for f, r in error.errors]
    if isinstance(error, errors.Conflict):
        told.members["bookmark"] = f"{base}/{error.id}"
    if isinstance(error, errors.PreconditionFailed):
        told.current = error.current
    if isinstance(error, Unsupported):
        told.headers["Accept-Post"] = ", ".join(error.media_types)
    if told.status == 503:
        told.headers["Retry-After"] = "5"
    return told


def write(media_type: str, told: Problem, view: View) -> tuple[str, bytes]:
    """The media type to send and the document."""
    if media_type == "text/html":
        page = html.write_problem(told.status, told.title, told.detail, told.members, view)
        return html.MEDIA_TYPE, page
    document: dict[str, object] = {
        "type": "about:blank",
        "title": told.title,
        "status": told.status,
        "detail": told.detail,
    }
    return MEDIA_TYPES[0], msgspec.json.encode(document | told.members) + b"\n"
