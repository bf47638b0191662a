"""The handlers of pages and forms: the paths below `/-/`."""

import functools
import re

from msgspec.structs import replace
from webob import Request

import formats
from formats import json
from formats.html import import_report, refused_form
from formats.html.assets import assets
from formats.html.bookmark import write_add, write_existing
from formats.html.editor import BookmarkForm
from formats.html.tools import write_tools
from formats.http import login_actions, problems, trash_actions
from formats.http.conditional import require_conditions, respond_asset
from formats.http.form_handler import Fields, form_handler, respond_page
from formats.http.list_actions import change_one, change_selected
from formats.http.negotiation import negotiate
from formats.http.request import query_parameters, read_files
from formats.http.response import VARY, HTTPError, Response, respond_with, see_other
from formats.http.routing import NOTHING_HERE_TEXT, Route, Router, Service
from formats.http.shared import read_shared
from formats.http.similar_actions import keep, show_similar
from formats.http.tag_actions import change_list, change_tags
from formats.listing import list_address
from storage import bookmark as rules
from storage.bookmark import split_tags
from storage.importer import Importer
from storage.index import Entry
from storage.query import parse_query


def show_add(service: Service, request: Request) -> Response:
    """GET /-/add: the form for a new bookmark, or for the one that has the `uri`."""
    view = service.view(request, query_parameters(request))
    values = view.values
    if "description" not in values:
        # The bookmarklet always sends a description, but the share menu of a phone sends none.
        values |= read_shared(values)
    form = BookmarkForm.read(values | {"tags": split_tags(values.get("tags", ""))})
    existing = service.store.holder(form.text("uri"))
    if existing:
        return respond_page(write_existing(existing, view.site, form, is_typed=False))
    return respond_page(write_add(form, view.site))


def show_tools(service: Service, request: Request) -> Response:
    """GET /-/tools: downloads, the bookmarklet and the import."""
    parameters = query_parameters(request)
    query = replace(parse_query(parameters), limit=0)
    total = service.store.select(query).total
    return respond_page(write_tools(service.view(request, parameters), total))


def show_file(service: Service, request: Request, file: str) -> Response:
    """GET /{file}: a static file."""
    asset = assets().get(file)
    if asset is None:
        raise HTTPError(404, NOTHING_HERE_TEXT)
    response = respond_asset(request, asset)
    # A changed file gets a new name, so caches may keep the file.
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.headers["Vary"] = VARY  # The owner and visitors get the same file.
    return response


@form_handler(refused_form.write_refused)
def add(service: Service, request: Request, sent: Fields) -> Response:
    """POST /-/add: store a new bookmark."""
    form = BookmarkForm.read(sent)
    fields = rules.clean(form.fields())
    with service.store.transaction() as transaction:
        existing = transaction.holder(fields["uri"])
        if existing:
            page = write_existing(existing, service.site(request), form, is_typed=True)
            return respond_page(page, "409 Conflict")
        entry = transaction.put(rules.create(fields, transaction.mint()))
    return _return_from(service, request, form, entry)


@form_handler(refused_form.write_refused)
def edit(service: Service, request: Request, sent: Fields, bookmark: str) -> Response:
    """POST /-/edit/{id}: store the fields that the user has changed.

    If another client has changed the same field meanwhile, show both versions.
    """
    form = BookmarkForm.read(sent)
    fields = rules.clean(form.fields())
    with service.store.transaction() as transaction:
        entry = transaction.get(bookmark)
        changes, conflicts = form.changes(entry, fields)
        if conflicts:
            site = service.site(request)
            page = refused_form.write_two_versions(form, entry, changes, conflicts, site)
            return respond_page(page, "412 Precondition Failed")
        entry = transaction.put(rules.update(entry.bookmark, changes), entry)
    return _return_from(service, request, form, entry)


def import_file(service: Service, request: Request) -> Response:
    """POST /-/import: import a file and report the result."""
    format = negotiate(request, (formats.JSON, formats.HTML))
    require = functools.partial(require_conditions, request)
    require(service.store.state())  # Refuse before the file is read.
    report = Importer(service.store, require).import_all(read_files(request))
    if format is formats.HTML:
        return respond_page(import_report.write(report, service.site(request)))
    return respond_with(format.media_type, json.write_value(report))


def _return_from(service: Service, request: Request, form: BookmarkForm, entry: Entry) -> Response:
    site = service.site(request)
    id = entry.bookmark.id
    address = site.bookmark_url(id)
    if form.closes_window:
        address += "?close=1"  # A script closes the window.
    elif form.list_query is not None:
        address = list_address(site.url, form.list_query, id)
    return see_other(address)


ROUTER = Router(
    re.compile("/-/"),
    (
        Route("/-/add", {"GET": show_add, "POST": add}),
        Route("/-/edit/{bookmark}", {"POST": edit}),
        Route("/-/{button}/{bookmark}", {"POST": change_one}),
        Route("/-/selected", {"POST": change_selected}),
        Route("/-/restore", {"POST": trash_actions.restore}),
        Route("/-/retag", {"POST": change_list}),
        Route("/-/tags", {"POST": change_tags}),
        Route("/-/trash", {"GET": trash_actions.show_trash, "POST": trash_actions.erase}),
        Route("/-/tools", {"GET": show_tools}),
        Route("/-/similar", {"GET": show_similar}),
        Route("/-/keep/{bookmark}", {"POST": keep}),
        Route("/-/import", {"POST": import_file}),
        Route("/-/login", {"GET": login_actions.show_login, "POST": login_actions.log_in}),
        Route("/-/logout", {"POST": login_actions.log_out}),
    ),
    problems.respond_problem,
)
