"""The pages for people below `/-/`: the forms of a bookmark, and what they do.

Each form has its own address, so a handler knows what its form means. If a form cannot be stored,
the response is a page with the form, in which nothing that was typed is lost.
"""

from collections.abc import Callable

from msgspec.structs import replace
from webob import Request

import formats
from formats.form import fields_by_name
from formats.html import MEDIA_TYPE as HTML
from formats.html import bookmark as bookmark_page
from formats.html import refused
from formats.html.deleted import write_deleted
from formats.html.editor import BookmarkForm, complete_address, is_shown_version
from formats.html.problem import Problem
from formats.html.tools import write_tools
from formats.html.view import list_address
from formats.http import login, problems
from formats.http.conditional import require_conditions
from formats.http.negotiation import negotiate
from formats.http.request import query_parameters, read_files, read_form
from formats.http.response import Response, respond_with, see_other
from formats.http.retag import change_tags, rename_tags
from formats.http.routing import Door, Route, Service, path_of
from formats.http.selected import change_selected, mark_as_read, restore
from formats.http.shared import read_shared
from storage import bookmark as rules
from storage.errors import Gone
from storage.importer import Importer
from storage.index import Entry
from storage.query import Query, parse_query
from storage.similar import find_similar


def _page(content: str, status: str = "200 OK") -> Response:
    return respond_with(HTML, content.encode(), status)


# --- Opening forms ---


def show_add(service: Service, request: Request) -> Response:
    """GET /-/add: the form for a new bookmark, or for the one that has the `uri` in the query."""
    view = service.view(request, query_parameters(request))
    values = view.values
    if "description" not in values:  # The share target of the web app manifest sends `text`.
        values |= read_shared(values)
    uri = complete_address(values.get("uri", "")).strip()
    if existing := service.store.holder(uri):
        return _page(bookmark_page.write_saved(existing, view, values))
    return _page(bookmark_page.write_add(BookmarkForm.new(values, uri), view))


def show_tools(service: Service, request: Request) -> Response:
    """GET /-/tools: downloads, bookmarklet, import, and the bookmarks with similar addresses."""
    parameters = query_parameters(request)
    total = service.store.select(replace(parse_query(parameters), limit=0)).total
    everything = service.store.select(Query()).entries
    similar = find_similar(entry.bookmark for entry in reversed(everything))
    return _page(write_tools(service.view(request, parameters), total, similar))


# --- Forms of one bookmark ---


def _form_handler(handler: Callable[..., Response]) -> Callable[..., Response]:
    """Return a handler that reads the form of a bookmark, and shows it again after an error."""

    def handle(service: Service, request: Request, **arguments: str) -> Response:
        form = BookmarkForm.read(fields_by_name(read_form(request)))
        try:
            return handler(service, request, form, **arguments)
        except Exception as error:
            site = service.site(request)
            problem = problems.problem_of(request, error, site)
            action = "/-/add" if isinstance(error, Gone) else path_of(request)
            page = refused.write_refused(form, site.path + action, problem, site)
            return _page(page, _status(problem))

    return handle


def _status(problem: Problem) -> str:
    """Return the status of a page about a form: only the bookmark's own address is 410."""
    return "409 Conflict" if problem.status == 410 else problem.status_line


@_form_handler
def add(service: Service, request: Request, form: BookmarkForm) -> Response:
    """POST /-/add: store a new bookmark."""
    fields = rules.clean(form.fields(complete_address(form.uri)))
    with service.store.transaction() as folder:
        if existing := folder.holder(fields["uri"]):
            page = refused.write_existing(form, existing, service.view(request))
            return _page(page, "409 Conflict")
        entry = folder.put(rules.create(fields, folder.mint()))
    return _return_from(service, request, form, entry)


@_form_handler
def edit(service: Service, request: Request, form: BookmarkForm, bookmark: str) -> Response:
    """POST /-/edit/{id}: store the user's changes beside those of others since the form's version.

    If both have changed a field, respond with both versions.
    """
    fields = rules.clean(form.fields(complete_address(form.uri)))
    with service.store.transaction() as folder:
        entry = folder.get(bookmark)
        changes, conflicts = form.changes(entry, fields)
        if conflicts:
            site = service.site(request)
            page = refused.write_two_versions(form, entry, changes, conflicts, site)
            return _page(page, "412 Precondition Failed")
        entry = folder.put(rules.update(entry.bookmark, changes), entry)
    return _return_from(service, request, form, entry)


def delete(service: Service, request: Request, bookmark: str) -> Response:
    """POST /-/delete/{id}: delete the version that the user has seen."""
    form, site = dict(read_form(request)), service.site(request)
    list_query = form.get("_list")
    try:
        with service.store.transaction() as folder:
            entry = folder.get(bookmark)
            if not is_shown_version(entry, form.get("_shown", "")):
                page = refused.write_not_deleted(entry, site, list_query)
                return _page(page, "412 Precondition Failed")
            folder.delete(entry)
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        return _page(refused.write_deletion_refused(problem, site, list_query), _status(problem))
    return _page(write_deleted([entry.bookmark], site, list_query))


# --- Forms of many bookmarks ---


def import_file(service: Service, request: Request) -> Response:
    """POST /-/import: import a file, and report what was stored and skipped."""
    format = negotiate(request, formats.IMPORT_REPORTS)
    require_conditions(request, service.store.state())
    importer = Importer(service.store)
    for entry in read_files(request):
        importer.add(*entry)
    report = format.write(importer.finish(), service.view(request))
    return respond_with(format.media_type, b"".join(report))


def _return_from(
    service: Service, request: Request, form: BookmarkForm, entry: Entry
) -> Response:
    """Redirect the browser to the list that the form was opened from, or to the bookmark."""
    site, id = service.site(request), entry.bookmark.id
    if form.closes_window:  # The script of the page closes its window for `?close=1`.
        return see_other(f"{site.bookmark(id)}?close=1")
    if form.list_query is None:
        return see_other(site.bookmark(id))
    return see_other(list_address(site.url, form.list_query, id))


DOOR = Door(
    "/-/.*",
    (
        Route("/-/add", {"GET": show_add, "POST": add}),
        Route("/-/edit/{bookmark}", {"POST": edit}),
        Route("/-/delete/{bookmark}", {"POST": delete}),
        Route("/-/read/{bookmark}", {"POST": mark_as_read}),
        Route("/-/selected", {"POST": change_selected}),
        Route("/-/restore", {"POST": restore}),
        Route("/-/retag", {"POST": change_tags}),
        Route("/-/tags", {"POST": rename_tags}),
        Route("/-/tools", {"GET": show_tools}),
        Route("/-/import", {"POST": import_file}),
        Route("/-/login", {"GET": login.show_login, "POST": login.log_in}),
        Route("/-/logout", {"POST": login.log_out}),
    ),
    problems.respond_problem,
)
