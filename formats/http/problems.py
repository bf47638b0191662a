"""Errors as responses: problem documents (RFC 9457) for programs, pages for browsers."""

import logging
import secrets
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from webob import Request

from formats.html import MEDIA_TYPE as HTML
from formats.html.problem import Problem, write_problem
from formats.html.view import Site
from formats.http.access_log import HOST_VARIABLE
from formats.http.login_page import respond_login_page
from formats.http.negotiation import best_media_type
from formats.http.response import HTTPError, Response, respond_with
from formats.http.security import BEARER
from storage import errors
from storage.errors import Malformed

log = logging.getLogger("bookmarks")
MAX_LOGGED_PATH = 200  # In characters. A client can send a path of any length.

PROBLEM_JSON = "application/problem+json"
# The media types that Accept can select for a problem, in the order of preference.
MEDIA_TYPES = (PROBLEM_JSON, "application/json", "text/html")

# The status of the response to a request that raises this exception.
PROBLEMS: Mapping[type[Exception], int] = {
    Malformed: 400,
    errors.BadQuery: 400,
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


def problem_of(request: Request, error: Exception, site: Site) -> Problem:
    """Return the problem that an exception means to the client; log one that is a defect."""
    if isinstance(error, HTTPError):
        return Problem(error.status, str(error), error.headers)
    if type(error) not in PROBLEMS:
        return _log_internal_error(request)
    problem = Problem(PROBLEMS[type(error)], str(error))
    if isinstance(error, errors.Full | errors.Unavailable):
        message = " ".join(map(str, filter(None, (error, error.__cause__))))
        log.error("%s %r: %s", request.method, _logged_path(request), message)
    if isinstance(error, errors.Invalid):
        problem.errors = error.errors
    if isinstance(error, errors.Conflict):
        problem.bookmark_url = site.bookmark(error.id)
    if isinstance(error, errors.Gone):
        problem.deleted = error.deleted
    if problem.status == 503:
        problem.headers["Retry-After"] = "5"  # In seconds.
    return problem


def respond_problem(request: Request, problem: Problem, site: Site) -> Response:
    """Return the problem as a document, or as a page for a browser."""
    with suppress(HTTPError):  # If Accept excludes all MEDIA_TYPES, send a document anyway.
        if best_media_type(request, MEDIA_TYPES) == "text/html":
            return respond_page(request, problem, site)
    return _finish(respond_with(PROBLEM_JSON, _document(problem)), problem)


def respond_page(request: Request, problem: Problem, site: Site) -> Response:
    """Return the problem as a page; for 401, the page to log in."""
    if problem.status == 401:
        # For the challenge `Basic`, a browser would open its own dialog over the login page.
        problem.headers["WWW-Authenticate"] = BEARER
        return _finish(respond_login_page(request, site), problem)
    return _finish(respond_with(HTML, write_problem(problem, site)), problem)


def _finish(response: Response, problem: Problem) -> Response:
    response.status = problem.status_line
    response.headers += problem.headers.items()
    return response


def _document(problem: Problem) -> bytes:
    document: dict[str, object] = {
        "type": "about:blank",  # No type beyond the status (RFC 9457 section 4.2.1).
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
    }
    if problem.errors:
        document["errors"] = [{"field": name, "reason": why} for name, why in problem.errors]
    if problem.bookmark_url:
        document["bookmark"] = problem.bookmark_url
    return msgspec.json.encode(document) + b"\n"


def _log_internal_error(request: Request) -> Problem:
    """Log the exception that is being handled; return a problem with the number of this entry."""
    number = secrets.token_hex(8)  # The client gets only the number: the log may have secrets.
    log.exception("error %s at %s %r", number, request.method, _logged_path(request))
    detail = f"Something went wrong. The server's log has the details of error {number}."
    return Problem(500, detail)


def _logged_path(request: Request) -> str:
    path: str = request.environ.get(HOST_VARIABLE, "") + request.environ.get("PATH_INFO", "")
    return path[:MAX_LOGGED_PATH]
