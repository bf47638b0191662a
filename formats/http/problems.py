"""Errors as responses: problem documents (RFC 9457) for programs, pages for browsers."""

import logging
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
from webob import Request

import formats
from formats import form
from formats.base_url import BaseUrl
from formats.errors import HTTPError, Malformed
from formats.html import MEDIA_TYPE as HTML
from formats.html.editor import form_values
from formats.html.problem import SentForm, write_problem
from formats.http.access_log import HOST_VARIABLE
from formats.http.conditional import version_text
from formats.http.login_page import respond_login_page
from formats.http.negotiation import best_media_type
from formats.http.request import read_fields
from formats.http.response import Response, respond_with
from formats.http.security import BEARER
from formats.merge import field_digests, user_changes
from formats.problem import Problem
from storage import errors
from storage.bookmark import clean_changes
from storage.index import Entry

log = logging.getLogger("bookmarks")

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
# Every exception that becomes a problem document. HTTPError has its own status.
EXCEPTIONS: tuple[type[Exception], ...] = (HTTPError, *PROBLEMS)


def problem_from_exception(error: Exception, base: BaseUrl) -> Problem:
    """Return the problem that an HTTPError or an exception in PROBLEMS means to the client."""
    if isinstance(error, HTTPError):
        return Problem(error.status, str(error), error.headers)
    problem = Problem(status=PROBLEMS[type(error)], detail=str(error))
    if isinstance(error, errors.Invalid):
        problem.errors = error.errors
    if isinstance(error, errors.Conflict):
        problem.bookmark_url = base.bookmark(error.id)
    if isinstance(error, errors.PreconditionFailed):
        problem.current = error.current  # The stored entry, if the page is to show it.
    if problem.status == 503:
        problem.headers["Retry-After"] = "5"  # In seconds.
    return problem


def respond_problem(request: Request, problem: Problem, base: BaseUrl) -> Response:
    """Return the problem as a document, or as a page for a browser."""
    media_type = PROBLEM_JSON
    with suppress(HTTPError):  # If Accept excludes all MEDIA_TYPES, send a document anyway.
        media_type = best_media_type(request, MEDIA_TYPES)
    if media_type == "text/html" and problem.status == 401:
        response = respond_login_page(request, base, problem.detail)
        # For the challenge `Basic`, a browser would open its own dialog over the login page.
        problem.headers["WWW-Authenticate"] = BEARER
    elif media_type == "text/html":
        page = write_problem(problem, base, _sent_form(request, problem, base))
        response = respond_with(HTML, page)
    else:  # Also for application/json, because a problem document is JSON.
        response = respond_with(PROBLEM_JSON, _document(problem))
    response.status = f"{problem.status} {problem.title}"
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


def log_internal_error(request: Request) -> Problem:
    """Log the exception that is being handled; return a problem with the number of this entry."""
    number = secrets.token_hex(8)  # The client gets only the number: the log may have secrets.
    path = request.environ.get(HOST_VARIABLE, "") + request.environ.get("PATH_INFO", "")
    log.exception("error %s at %s %r", number, request.method, path)
    detail = f"Something went wrong. The server's log has the details of error {number}."
    return Problem(500, detail)


def _sent_form(request: Request, problem: Problem, base: BaseUrl) -> SentForm | None:
    """Return the form of a request that failed, to show what the user typed; None without one."""
    # Access control has refused the request: another site's page may have sent forged values.
    may_be_forged = problem.status in (401, 403, 421)
    if request.method != "POST" or may_be_forged:
        return None
    try:
        fields, hidden_fields = read_fields(request, formats.FORM_READERS)
    except (HTTPError, Malformed, errors.Invalid):
        return None
    assert hidden_fields  # The readers of forms return these for each form.
    path = request.environ.get("PATH_INFO", "")  # `request.path_info` fails if it is not UTF-8.
    if path == "/tags":  # The form to change tags in a list is not shown, but a link to the list.
        return SentForm(action="", values={}, hidden_fields=hidden_fields, is_retagging=True)
    is_deletion = fields.pop("_method", "") == "DELETE"
    fields.pop("id", None)  # The path names the bookmark.
    if isinstance(problem.current, Entry):
        # `current` is the form's bookmark with another client's changes, or has the uri to add.
        return _refused_form(base, problem.current, fields, hidden_fields, is_deletion)
    if problem.status == 410:  # The bookmark was deleted: the form adds a new one instead.
        path, hidden_fields = "/", hidden_fields._replace(version=form.NEW_BOOKMARK)
    return SentForm(base.path + path, _typed_values(fields), hidden_fields, is_deletion=is_deletion)


def _refused_form(
    base: BaseUrl,
    entry: Entry,
    fields: Mapping[str, object],
    hidden_fields: form.HiddenFields,
    is_deletion: bool,
) -> SentForm:
    """Return the refused form, to be sent again with the version of the stored `entry`.

    In a form to edit a bookmark, a field that the user has changed has the user's value, any other
    field the stored value. So saving the form overwrites only the fields that the user has changed.
    """
    stored = entry.bookmark
    # If true, the user wanted to add a bookmark whose uri `stored` has already.
    adds_existing_uri = hidden_fields.version == form.NEW_BOOKMARK
    values = _typed_values(fields)  # A form to add shows what the user typed.
    conflicts: Sequence[str] = ()
    if not (adds_existing_uri or is_deletion):
        # A form to edit, while another client changed the bookmark: merge both changes.
        cleaned = clean_changes(fields)
        changed, conflicts = user_changes(stored, cleaned, hidden_fields.initial_field_digests)
        values = form_values(stored) | {name: values[name] for name in changed}
    # The next time, compare the form with the stored version that the page is about to show.
    hidden_fields = hidden_fields._replace(
        version=version_text(entry.version), initial_field_digests=field_digests(stored)
    )
    action = f"{base.path}/{stored.id}"
    return SentForm(
        action, values, hidden_fields, stored, conflicts, adds_existing_uri, is_deletion
    )


def _typed_values(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the values to show in the form again, with tags joined by commas."""
    tags = fields.get("tags", ())
    assert isinstance(tags, list | tuple)
    return {name: str(value) for name, value in fields.items()} | {"tags": ", ".join(tags)}
