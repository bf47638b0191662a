"""The pages for people below `/-/`: the forms of a bookmark, and what they do.

Each form has its own address, so a handler knows what its form means. If a form cannot be stored,
the response is a page with the form, in which nothing that was typed is lost.
"""

from collections.abc import Callable, Sequence

from webob import Request

import formats
from formats.form import fields_by_name
from formats.html import MEDIA_TYPE as HTML
from formats.html import bookmark as bookmark_page
from formats.html import refused
from formats.html.deleted import write_deleted
from formats.html.editor import BookmarkForm, complete_address, form_version
from formats.html.retag import write_retagging_refused
from formats.html.view import list_address, retagged_address
from formats.http import login, problems
from formats.http.conditional import require_conditions
from formats.http.negotiation import negotiate
from formats.http.request import query_parameters, read_files, read_form
from formats.http.response import Response, respond_with, see_other
from formats.http.routing import Door, Route, Service, path_of
from formats.http.shared import read_shared
from storage import bookmark as rules
from storage.errors import Gone
from storage.importer import Importer
from storage.index import Entry
from storage.retag import clean_retagging, retag


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
            # Only the bookmark's own address is 410.
            return _page(page, "409 Conflict" if problem.status == 410 else problem.status_line)

    return handle


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


@_form_handler
def restore(service: Service, request: Request, form: BookmarkForm) -> Response:
    """POST /-/restore: put a deleted bookmark back, or open the one that has its uri by now."""
    fields = rules.clean(form.fields(form.uri) | {"created": form.created})
    with service.store.transaction() as folder:
        if existing := folder.holder(fields["uri"]):
            return see_other(service.site(request).bookmark(existing.bookmark.id))
        # With the old time, clients that ask for recent changes would miss the bookmark.
        fields["modified"] = rules.now()
        entry = folder.put(rules.create(fields, folder.mint()))
    return _return_from(service, request, form, entry)


@_form_handler
def delete(service: Service, request: Request, form: BookmarkForm, bookmark: str) -> Response:
    """POST /-/delete/{id}: delete the version that the user has seen."""
    with service.store.transaction() as folder:
        entry = folder.get(bookmark)
        if form.version != form_version(entry):
            page = refused.write_not_deleted(form, entry, service.site(request))
            return _page(page, "412 Precondition Failed")
        folder.delete(entry)
    return _page(write_deleted(entry.bookmark, service.site(request), form.list_query))


# --- Forms of many bookmarks ---


def change_tags(service: Service, request: Request) -> Response:
    """POST /-/retag: change the tags of a list, and show it with the numbers of changes."""
    fields, site = fields_by_name(read_form(request)), service.site(request)
    entries: Sequence[Entry] = ()
    try:
        retagging = clean_retagging({n: v for n, v in fields.items() if n != "_list"})
        entries = service.store.select(retagging.query).entries
        retagging.require_expected(len(entries))
        report = retag(service.store, retagging, entries)
    except Exception as error:
        problem = problems.problem_of(request, error, site)
        if entries:  # The form then agrees to change this number of bookmarks.
            fields["expected"] = str(len(entries))
        page = write_retagging_refused(fields, problem, site)
        return _page(page, problem.status_line)
    return see_other(retagged_address(site, fields, retagging, report))


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
        Route("/-/restore", {"POST": restore}),
        Route("/-/retag", {"POST": change_tags}),
        Route("/-/import", {"POST": import_file}),
        Route("/-/login", {"GET": login.show_login, "POST": login.log_in}),
        Route("/-/logout", {"POST": login.log_out}),
    ),
    problems.respond_problem,
)
