"""Read the forms of the pages, and show a form again after an error."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from webob import Request

from formats.form import fields_by_name
from formats.html import MEDIA_TYPE as HTML
from formats.html.error_page import Problem
from formats.http import problems
from formats.http.login_challenge import without_login_fields
from formats.http.request import read_form
from formats.http.response import OK, Response, respond_with
from formats.http.routing import Service, path_of
from formats.listing import Site
from storage.bookmark import clean_value
from storage.errors import Invalid

Fields = dict[str, Any]
# Returns a page for the fields of a form, the path of the request and its problem.
_ErrorPageWriter = Callable[[Fields, str, Problem, Site], str]
_Handler = Callable[..., Response]


def respond_page(content: str, status: str = OK) -> Response:
    return respond_with(HTML, content.encode(), status)


def form_handler(write_error_page: _ErrorPageWriter) -> Callable[[_Handler], _Handler]:
    """Return a decorator that passes the fields of a form to the handler.

    After an error, `write_error_page` shows the form with all that the user typed.
    """
    def decorate(handler: _Handler) -> _Handler:
        @functools.wraps(handler)
        def handle(service: Service, request: Request, **arguments: str) -> Response:
            fields = fields_by_name(without_login_fields(read_form(request)))
            try:
                return handler(service, request, fields, **arguments)
            except Exception as error:
                site = service.site(request)
                problem = problems.problem_of(request, error, site)
                page = write_error_page(fields, path_of(request), problem, site)
                return respond_problem_page(page, problem)

        return handle

    return decorate


def respond_problem_page(page: str, problem: Problem) -> Response:
    response = respond_page(page, problem.status_line)
    if problem.deleted:
        # The status 410 would mean that the address of the form is gone.
        response.status = "409 Conflict"
    response.headers |= problem.headers
    return response


def checked_ids(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the checked bookmarks, at least one. Raises Invalid."""
    ids = list(dict.fromkeys(fields.get("selected", ())))
    if not ids:
        raise Invalid([("No bookmark", "is checked: check some in the list")])
    return ids


def typed_tags(fields: Mapping[str, Any], what_to_write: str = "some") -> list[str]:
    """Return the tags in a form, at least one. Raises Invalid."""
    tags = list(clean_value("tags", fields.get("tags", [])))
    if not tags:
        raise Invalid([("tags", f"are missing: write {what_to_write}")])
    return tags
