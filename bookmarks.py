"""The Bookmarks service: a WSGI application over a folder of bookmarks.

The routes of the web pages are in `formats.http.pages`, those of linkding's API in
`formats.http.linkding`.
"""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request

_FOLDER = Path(__file__).resolve().parent


def _check_package(name: str) -> None:
    """Raise ImportError if Python would import another program's package of this name."""
    found = Path(str(find_spec(name).origin)).resolve()  # type: ignore[union-attr]
    if found != _FOLDER / name / "__init__.py":
        raise ImportError(
            f"{found} hides {_FOLDER / name}: put {_FOLDER} before it in sys.path."
        )


_check_package("storage")
_check_package("formats")

import formats
from formats import Format, atom, command_line, json, text
from formats.html.tags import write_tags
from formats.http import hosts, linkding, openapi, pages, problems
from formats.http.cache import Caches, make_caches
from formats.http.compression import compress
from formats.http.conditional import VISITOR_VARIABLE, require_conditions, respond, respond_asset
from formats.http.credentials import encode_tokens
from formats.http.negotiation import negotiate
from formats.http.request import (
    SEND_FILES_TEXT,
    URI_MISSING_TEXT,
    query_parameters,
    read_field,
    read_fields,
)
from formats.http.response import (
    CREATED,
    NO_CONTENT,
    OK,
    Response,
    add_common_headers,
    respond_with,
    send,
)
from formats.http.routing import Route, Router, Service, path_of
from formats.http.security import AccessControl, are_valid, needs_no_bookmarks
from formats.http.site import parse_base_url
from formats.listing import FEED_PARAMETERS, Listing, Site, known_parameters
from storage import bookmark as rules
from storage.bookmark import READ_ONLY_FIELDS, WRITABLE_FIELDS
from storage.errors import Gone, Invalid
from storage.index import Entry
from storage.query import parse_query
from storage.retag import clean_retagging, retag
from storage.store import Store
from storage.trash import KEEP_DELETED, check_keep_deleted
from storage.watch import reports_all_changes

__version__ = formats.__version__

VALUE_FORMATS = (formats.TEXT, formats.JSON)
TAGS_FORMATS = (formats.JSON, formats.HTML)

# --- Reading ---


def list_bookmarks(service: Service, request: Request) -> Response:
    """GET /: the selected bookmarks in the negotiated format."""
    parameters = query_parameters(request)
    format = negotiate(request, formats.LISTS, parameters)
    query = parse_query(parameters, format.page_size)
    selection = service.store.select(query)
    listing = Listing(selection, service.view(request, parameters))
    return _respond_list(request, format, listing, formats.LISTS[format])


def feed(service: Service, request: Request) -> Response:
    """GET /feed: the Atom feed of the selected bookmarks and of deletions."""
    parameters = known_parameters(query_parameters(request), FEED_PARAMETERS)
    format = negotiate(request, [formats.ATOM], parameters)
    selection = service.store.select(parse_query(parameters, format.page_size))
    listing = Listing(selection, service.view(request, parameters), "/feed")
    return _respond_list(request, format, listing, atom.write)


def _respond_list(
    request: Request, format: Format, listing: Listing, write: formats.ListWriter
) -> Response:
    state = listing.selection.state
    response = respond(request, format, state, write(listing))
    if response.status == OK:
        response.headers |= listing.headers
    return response


def get(service: Service, request: Request, id: str) -> Response:
    """GET /{id}: one bookmark."""
    entry = service.store.get(id)
    parameters = query_parameters(request)
    format = negotiate(request, formats.ONE_BOOKMARK, parameters)
    view = service.view(request, parameters)
    return respond(request, format, entry, formats.ONE_BOOKMARK[format](entry, view))


def get_field(service: Service, request: Request, id: str, field: str) -> Response:
    """GET /{id}/{field}: the value of one field."""
    entry = service.store.get(id)
    format = negotiate(request, VALUE_FORMATS)
    return _respond_value(request, format, entry, field)


def _respond_value(request: Request, format: Format, entry: Entry, field: str) -> Response:
    value = getattr(entry.bookmark, field)
    if format is formats.JSON:
        body = json.write_value(value)
    else:
        body = text.write_value(value)
    return respond(request, format, entry, [body], field=field)


def tags(service: Service, request: Request) -> Response:
    """GET /tags: all tags and how many bookmarks each has."""
    return _respond_tags(service, request, TAGS_FORMATS)


def tags_json(service: Service, request: Request) -> Response:
    """GET /tags.json: all tags as JSON."""
    return _respond_tags(service, request, [formats.JSON])


def _respond_tags(
    service: Service, request: Request, allowed: Sequence[Format]
) -> Response:
    parameters = query_parameters(request)
    format = negotiate(request, allowed, parameters)
    counts, state = service.store.tag_counts()
    if format is formats.JSON:
        body = json.write_tags(counts)
    else:
        body = write_tags(counts, service.view(request, parameters)).encode()
    return respond(request, format, state, [body])


def description(service: Service, request: Request) -> Response:
    """GET /openapi.json: the OpenAPI description of the service."""
    control = service.access_control
    document = openapi.document(
        service.site(request).url,
        __version__,
        needs_token=bool(control.tokens),
        public_read=control.public_read,
    )
    return respond_asset(request, document)


# --- Writing ---


def post(service: Service, request: Request) -> Response:
    """POST /: create a bookmark, or update the one that has the uri."""
    body = read_fields(request, formats.POST_READERS, SEND_FILES_TEXT)
    body.pop("id", None)  # The service chooses the id.
    fields = rules.clean_changes(body, required={"uri": URI_MISSING_TEXT})
    format = negotiate(request, formats.ONE_BOOKMARK)
    with service.store.transaction() as transaction:
        require_conditions(request, transaction.state)
        before = transaction.holder(fields["uri"])
        if before:
            after = rules.update(before.bookmark, fields)
        else:
            fields |= rules.clean_read_only(body)
            after = rules.create(fields, transaction.mint())
        entry = transaction.put(after, before)
    return _respond_stored(service, request, format, entry, is_new=before is None)


def post_one(service: Service, request: Request, id: str) -> Response:
    """POST /{id}: update the given fields."""
    service.store.get(id)  # Respond 404 or 410 even if the body is invalid.
    body = read_fields(request, formats.POST_READERS, SEND_FILES_TEXT)
    fields = rules.clean_changes(body, id_in_address=id)
    format = negotiate(request, formats.ONE_BOOKMARK)
    return _respond_stored(service, request, format, _update(service, request, id, fields))


def put(service: Service, request: Request, id: str) -> Response:
    """PUT /{id}: create the bookmark, or replace all its fields."""
    service.store.raise_if_deleted(id)  # Respond 410 even if the body is invalid.
    body = read_fields(request, formats.PUT_READERS)
    required = dict.fromkeys(WRITABLE_FIELDS, "is required")
    fields = rules.clean_changes(body, id_in_address=id, required=required)
    format = negotiate(request, formats.ONE_BOOKMARK)
    with service.store.transaction() as transaction:
        before = transaction.find(id)
        require_conditions(request, before)
        if before:
            after = rules.update(before.bookmark, fields)
        else:
            fields |= rules.clean_read_only(body)
            after = rules.create(fields, id)
        entry = transaction.put(after, before)
    return _respond_stored(service, request, format, entry, is_new=before is None)


def put_field(service: Service, request: Request, id: str, field: str) -> Response:
    """PUT /{id}/{field}: set one field."""
    service.store.get(id)  # Respond 404 or 410 even if the body is invalid.
    fields = rules.clean({field: read_field(request, field)})
    format = negotiate(request, VALUE_FORMATS)
    entry = _update(service, request, id, fields)
    return _respond_value(request, format, entry, field)


def delete(service: Service, request: Request, id: str) -> Response:
    """DELETE /{id}: delete the bookmark."""
    with service.store.transaction() as transaction:
        entry = transaction.get(id)
        require_conditions(request, entry)
        transaction.delete(entry)
    return Response(NO_CONTENT, {})


def change_tags(service: Service, request: Request) -> Response:
    """POST /tags: change the tags of the selected bookmarks."""
    retagging = clean_retagging(read_fields(request, formats.JSON_AND_FORM_READERS))
    negotiate(request, [formats.JSON])
    selection = service.store.select(retagging.query)
    # `retag` checks the conditions only if the query selects a bookmark.
    require_conditions(request, selection.state)
    retagging.require_expected(selection.total)
    check_state = functools.partial(require_conditions, request)
    report = retag(service.store, retagging, selection.entries, check_state)
    problems.raise_if_unfinished(report)
    return respond_with(formats.JSON.media_type, json.write_value(report))


def _update(
    service: Service, request: Request, id: str, fields: rules.Fields
) -> Entry:
    with service.store.transaction() as transaction:
        entry = transaction.get(id)
        require_conditions(request, entry)
        return transaction.put(rules.update(entry.bookmark, fields), entry)


def _respond_stored(
    service: Service,
    request: Request,
    format: Format,
    entry: Entry,
    is_new: bool = False,
) -> Response:
    chunks = formats.ONE_BOOKMARK[format](entry, service.view(request))
    response = respond(request, format, entry, chunks)
    url = service.site(request).bookmark_url(entry.bookmark.id)
    response.headers["Content-Location"] = url
    if is_new:
        response.status = CREATED
        response.headers["Location"] = url
    return response


# --- Routes ---

# The first matching route wins. {id} does not match reserved words such as `feed`.
ROUTES = (
    Route("/{id}", {"GET": get, "POST": post_one, "PUT": put, "DELETE": delete}),
    Route("/", {"GET": list_bookmarks, "POST": post}),
    Route("/feed", {"GET": feed}),
    Route("/tags", {"GET": tags, "POST": change_tags}),
    Route("/tags.json", {"GET": tags_json}),
    Route("/openapi.json", {"GET": description}),
    Route(
        "/{id}/{field}",
        {"GET": get_field, "PUT": put_field},
        fields=WRITABLE_FIELDS,
    ),
    Route("/{id}/{field}", {"GET": get_field}, fields=READ_ONLY_FIELDS),
    # A route without handlers responds 404, or 410 if the bookmark is deleted.
    Route("/{id}/{other}", {}),
    Route("/{file}", {"GET": pages.show_file}),
)
_ALL_PATHS = re.compile("")
# The first router that matches the path wins.
ROUTERS = (
    linkding.ROUTER,
    pages.ROUTER,
    Router(_ALL_PATHS, ROUTES, problems.respond_problem),
)


# --- The application ---


class Application:
    """The WSGI application over one data folder.

    `open_caches` opens the store when a request first needs it. Without `site`, the
    service's address is taken from each request.
    """

    def __init__(
        self,
        folder: Path,
        open_caches: Callable[[], Caches],
        control: AccessControl,
        site: Site | None = None,
    ) -> None:
        self.access_control = control
        self._owner = Service(folder, control, site, open_caches, is_visitor=False)
        self._visitors = Service(folder, control, site, open_caches, is_visitor=True)

    @property
    def store(self) -> Store:
        """All bookmarks, public and private."""
        return self._owner.store

    def open(self) -> None:
        """Read all bookmarks before the first request."""
        self.store.state()
        self.store.expire()
        if self.access_control.public_read:
            self._visitors.store.state()

    def close(self) -> None:
        """Free the index and inotify until the next request."""
        self.store.close()

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        request = Request(environ)
        control = self.access_control
        credentials = control.find_credentials(request)
        service = self._owner
        if not are_valid(credentials):
            service = self._visitors
            # Owner and visitors get different entity tags.
            environ[VISITOR_VARIABLE] = True
        try:
            control.check(request, credentials)
            response = _respond_from_cache(service, request)
        except Exception as error:
            response = _respond_problem(service, request, error)
        return send(request, response, start_response)


def _respond_from_cache(service: Service, request: Request) -> Response:
    if needs_no_bookmarks(path_of(request)):
        # `service.cache` would open the data folder.
        return _respond(service, request)
    has_tokens = bool(service.access_control.tokens)
    make_response = functools.partial(_respond, service)
    return service.cache.get(request, has_tokens, make_response)


def _respond(service: Service, request: Request) -> Response:
    try:
        response = _router_of(request).respond(service, request)
    except Gone as error:
        # The response cache keeps responses, not exceptions.
        return _respond_problem(service, request, error)
    return _finish(service, request, response)


def _respond_problem(
    service: Service, request: Request, error: Exception
) -> Response:
    problem = _router_of(request).respond_problem(request, error, service.site(request))
    return _finish(service, request, problem)


def _finish(service: Service, request: Request, response: Response) -> Response:
    control = service.access_control
    add_common_headers(
        response,
        has_tokens=bool(control.tokens),
        is_public=service.is_visitor and control.public_read,
    )
    return compress(request, response)


def _router_of(request: Request) -> Router:
    path = path_of(request)
    for router in ROUTERS:
        if router.paths.match(path):
            return router
    raise AssertionError("the last router serves all paths")


def make_app(
    data: str | os.PathLike[str] = "data",
    *,
    token: str | Sequence[str] | None = None,
    public_read: bool = False,
    base_url: str | None = None,
    one_machine: bool = False,
    keep_deleted: int = KEEP_DELETED,
) -> Application:
    """Return the WSGI application over the folder `data`.

    `token` is one token or several. `one_machine` promises that no other machine
    writes to a folder on a network disk. Deleted bookmarks can be put back for
    `keep_deleted` days. Raises Unavailable or Full if the folder cannot be created, and
    Invalid for a wrong option.
    """
    tokens = encode_tokens(token)
    site = parse_base_url(base_url)
    url = None
    if site:
        url = site.url
    control = AccessControl(tokens, public_read, base_url=url)
    folder = Path(data)
    caches = make_caches(Store(folder, one_machine, keep_deleted))
    return Application(folder, lambda: caches, control, site)


def make_host_app(
    root: str | os.PathLike[str],
    *,
    max_open: int = hosts.MAX_OPEN,
    token: str | Sequence[str] | None = None,
    public_read: bool = False,
    one_machine: bool = False,
    keep_deleted: int = KEEP_DELETED,
) -> hosts.HostApplication:
    """Return the WSGI application over the folders `root/HOST`, one for each host.

    At most `max_open` folders stay open. `token` is for hosts without a file
    `root/HOST.tokens`. For other options, see `make_app`. Raises OSError
    if `root` is not a folder, and Invalid for a wrong option.
    """
    if max_open < 1:
        raise Invalid([("max_open", "must be at least 1")])
    check_keep_deleted(keep_deleted)
    folder = Path(root)
    reports_all_changes(folder, one_machine)  # Logs a warning on a network disk.
    control = AccessControl(encode_tokens(token), public_read)
    folder_caches = hosts.FolderCaches(max_open, one_machine, keep_deleted)
    return hosts.HostApplication(folder, Application, folder_caches, control)


@functools.cache
def _default_application() -> WSGIApplication:
    return command_line.configured_application(make_app, make_host_app, __version__)


def application(
    environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Serve a WSGI request. The settings are environment variables."""
    return _default_application()(environ, start_response)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `bookmarks`; return its exit status."""
    if arguments is None:
        arguments = sys.argv[1:]
    return command_line.main(arguments, make_app, make_host_app, __version__)


if __name__ == "__main__":
    sys.exit(main())
