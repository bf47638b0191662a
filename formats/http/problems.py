"""Errors as responses: problem documents (RFC 9457), or pages for browsers."""

import logging
import secrets
from collections.abc import Mapping

import msgspec
from webob import Request

import formats
from formats import Format
from formats.html import MEDIA_TYPE as HTML
from formats.html.error_page import Problem, write_problem
from formats.html.frame import number_of_bookmarks
from formats.http.access_log import HOST_VARIABLE
from formats.http.login_challenge import respond_login_page
from formats.http.negotiation import accepted_format
from formats.http.response import HTTPError, Response, respond_with
from formats.http.security import BEARER
from formats.listing import Site
from storage import errors
from storage.retag import RetagReport

log = logging.getLogger("bookmarks")
_MAX_LOGGED_CHARACTERS = 200
RETRY_SECONDS = "5"

PROBLEM_JSON = "application/problem+json"
_PROBLEM_DOCUMENT = Format("problem", PROBLEM_JSON, aliases=("application/json",))

STATUS_BY_ERROR: Mapping[type[Exception], int] = {
    errors.Malformed: 400,
    errors.BadQuery: 400,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.PreconditionFailed: 412,
    errors.Invalid: 422,
    errors.Unreadable: 503,
    errors.Busy: 503,
    errors.Unavailable: 503,
    errors.OutcomeUnknown: 503,
    errors.Full: 507,
}


class Unfinished(Exception):
    """An error that ended a change of many bookmarks, after `count` bookmarks.

    `participle` names the change, such as "changed" or "put back".
    """

    def __init__(self, count: int, participle: str, error: errors.StorageError) -> None:
        super().__init__(str(error))
        self.error = error
        self.done = ""
        if count:
            self.done = f"{number_of_bookmarks(count)} {participle}. "


def raise_if_unfinished(report: RetagReport) -> None:
    if report.error:
        raise Unfinished(report.changed, "changed", report.error)


def problem_of(request: Request, error: Exception, site: Site) -> Problem:
    """Return the problem for an exception. Logs internal and disk errors."""
    if isinstance(error, HTTPError):
        return Problem(error.status, str(error), error.headers)
    if isinstance(error, Unfinished):
        problem = problem_of(request, error.error, site)
        problem.done = error.done
        return problem
    status = STATUS_BY_ERROR.get(type(error))
    if status is None:
        return _log_internal_error(request)
    problem = Problem(status, str(error))
    if status == 503:
        problem.headers["Retry-After"] = RETRY_SECONDS
    match error:
        case errors.Invalid():
            problem.errors = error.errors
        case errors.Conflict():
            problem.bookmark_url = site.bookmark_url(error.id)
        case errors.Gone():
            problem.deleted = error.deleted
        case errors.OutcomeUnknown():
            problem.is_outcome_unknown = True
            _log_disk_error(request, error)
        case errors.Full() | errors.Unavailable():
            _log_disk_error(request, error)
    return problem


def respond_problem(request: Request, error: Exception, site: Site) -> Response:
    """Respond with a problem document, or with a page for a browser."""
    problem = problem_of(request, error, site)
    response = _represent(request, problem, site)
    response.status = problem.status_line
    # The WWW-Authenticate of a login page replaces that of the problem.
    response.headers = problem.headers | response.headers
    if problem.status == 410:
        # Clients may cache this response for a day: a deleted id is never used again.
        scope = "private" if site.has_login else "public"
        response.headers["Cache-Control"] = f"{scope}, max-age=86400"
    return response


def _represent(request: Request, problem: Problem, site: Site) -> Response:
    if accepted_format(request, (_PROBLEM_DOCUMENT, formats.HTML)) is not formats.HTML:
        return respond_with(PROBLEM_JSON, _document(problem))
    if problem.status == 401:
        response = respond_login_page(request, site)
        # Basic would open a password dialog over the page.
        response.headers["WWW-Authenticate"] = BEARER
        return response
    return respond_with(HTML, write_problem(problem, site))


def _document(problem: Problem) -> bytes:
    document: dict[str, object] = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.text,
    }
    if problem.errors:
        document["errors"] = [
            {"field": name, "reason": reason} for name, reason in problem.errors
        ]
    if problem.bookmark_url:
        document["bookmark"] = problem.bookmark_url
    return msgspec.json.encode(document) + b"\n"


def _log_internal_error(request: Request) -> Problem:
    # The response leaves out the text of the exception, which may show secrets.
    number = secrets.token_hex(8)
    path = _logged_path(request)
    log.exception("error %s at %s %r", number, request.method, path)
    return Problem(
        500,
        f"Something went wrong. The server's log has the details of error {number}.",
    )


def _log_disk_error(request: Request, error: Exception) -> None:
    message = str(error)
    if error.__cause__:
        message += f" {error.__cause__}"
    log.error("%s %r: %s", request.method, _logged_path(request), message)


def _logged_path(request: Request) -> str:
    host: str = request.environ.get(HOST_VARIABLE, "")
    path: str = request.environ.get("PATH_INFO", "")
    return (host + path)[:_MAX_LOGGED_CHARACTERS]
