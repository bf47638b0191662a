"""The Bookmarks service: a WSGI application over a folder of bookmarks, and its command line.

Begin with ROUTES. A handler parses the request, finds the bookmark, checks conditions, acts and
responds. Exceptions become problem documents in one place, by the table `problems.PROBLEMS`.
"""

import argparse
import functools
import gc
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

from msgspec.structs import replace
from webob import Request

_FOLDER = Path(__file__).resolve().parent
for _name in ("storage", "formats"):  # An embedding program's packages may hide these.
    _found = Path(str(find_spec(_name).origin)).resolve()  # type: ignore[union-attr]
    if _found != _FOLDER / _name / "__init__.py":
        raise ImportError(f"{_found} hides {_FOLDER / _name}: put {_FOLDER} before it in sys.path.")

import formats
from formats import Format, FormatTable, commands
from formats.base_url import BaseUrl, Parameters
from formats.commands import add_flag, add_option
from formats.errors import HTTPError
from formats.form import DELETED_BOOKMARK, HiddenFields, complete_address
from formats.html import MEDIA_TYPE as HTML
from formats.html.assets import assets
from formats.html.bookmark import write_add_page
from formats.html.deleted import write_deleted
from formats.html.list import MAX_TAGS_SHOWN
from formats.html.report import MEDIA_TYPES, write_report
from formats.http import access_log, conditional, linkding, login, openapi, problems, process
from formats.http import response as responses
from formats.http import security, share
from formats.http.base_url import base_url_of, parse_base_url
from formats.http.cache import ResponseCache
from formats.http.compression import compress
from formats.http.conditional import add_validators, not_modified, require_conditions
from formats.http.credentials import encode_tokens, read_tokens
from formats.http.negotiation import best_media_type, negotiate
from formats.http.request import query_parameters, read_bookmark_or_file, read_field, read_fields
from formats.http.response import CREATED, NO_CONTENT, OK, VARY, Response, respond, see_other
from formats.http.routing import Route, allow_of_server, find_route
from formats.imports.entry import ImportedEntry
from formats.listing import address_after_saving, make_listing, retagged_address
from formats.problem import Problem
from storage import bookmark as rules  # The rules for each field.
from storage import errors
from storage.bookmark import ID, READ_ONLY_FIELDS, WRITABLE_FIELDS, Bookmark, Fields
from storage.importer import Importer
from storage.index import Entry
from storage.query import Query, first_values, parse_query
from storage.retag import clean_retagging, retag
from storage.store import Store, Transaction

__version__ = "0.1.0"
Body = Mapping[str, object]

# How many bookmarks an HTML list and a feed have, unless the query has a `limit`.
HTML_PAGE_SIZE, FEED_PAGE_SIZE = 100, 50

_NOTHING_HERE = "There is nothing at this address."
# The path of a field that no bookmark has. The status is 410 for a deleted bookmark, else 404.
_UNKNOWN_FIELD_PATH = re.compile(f"/(?P<id>{ID.pattern})/[^/]+")


class Application:
    """The WSGI callable over one store.

    If there are `tokens`, a request for bookmarks needs one of them; reading needs none if
    `public_read` is true. `base_url` is the service's address for clients, if it differs from the
    one in their requests.
    """

    def __init__(
        self, store: Store, tokens: Sequence[bytes], public_read: bool, base_url: str | None
    ) -> None:
        self.store = store
        self._configured_base = parse_base_url(base_url)
        url = self._configured_base.url if self._configured_base else None
        self.access_control = security.AccessControl(tokens, public_read, url)
        self._cache = ResponseCache(store)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            try:
                self.access_control.check(request)
                response = self._cache.get(request, self._respond)
            except problems.EXCEPTIONS as error:
                response = self._finish(request, self._problem(request, error))
        except Exception:  # A defect, perhaps one in `_problem`.
            problem = problems.log_internal_error(request)
            response = self._finish(request, self._respond_problem(request, problem))
        return responses.send(request, response, start_response)

    def _respond(self, request: Request) -> Response:
        try:
            response = self._dispatch(request)
        except errors.Gone as error:
            # A returned 410 is cached. A raised 404 is not: invented paths would fill the cache.
            response = self._problem(request, error)
        return self._finish(request, response)

    def _finish(self, request: Request, response: Response) -> Response:
        cache_control, vary = "no-cache", VARY
        if self.access_control.tokens:
            cache_control, vary = "private, no-cache", f"{VARY}, Authorization, Cookie"
        responses.add_common_headers(response, cache_control, vary)
        return compress(request, response)

    # --- Dispatch ---

    def _dispatch(self, request: Request) -> Response:
        path = _path(request)
        if path == "*" and request.method == "OPTIONS":  # RFC 9110 section 9.3.7
            return Response(NO_CONTENT, [("Allow", allow_of_server(ROUTES))])
        route, arguments = find_route(ROUTES, path)
        # `/api/{rest}` has no handlers: the route only gives its 404 the shape of linkding's API.
        if route is None or not route.handlers:
            if below_bookmark := _UNKNOWN_FIELD_PATH.fullmatch(path):
                self._raise_if_deleted(below_bookmark["id"])
            raise HTTPError(404, _NOTHING_HERE)
        method = "GET" if request.method == "HEAD" else request.method
        if "id" in arguments and method != "GET":
            # A deleted bookmark is 410 for any method, even a wrong one. GET's handlers raise Gone.
            self._raise_if_deleted(arguments["id"])
        if method == "OPTIONS":
            return Response(NO_CONTENT, [("Allow", route.allow)])
        if not (handler := route.handlers.get(method)):
            raise HTTPError(405, f"This path has no method {method}.", Allow=route.allow)
        return handler(self, request, **arguments)

    # --- Reading ---

    def list(self, request: Request) -> Response:
        """GET /: respond with the selected bookmarks in the negotiated format."""
        parameters = query_parameters(request)
        format_name = negotiate(request, formats.LISTS, parameters)
        is_page = format_name == "html"
        query = parse_query(parameters, page_size=HTML_PAGE_SIZE if is_page else None)
        if is_page and "uri" in dict(parameters):  # The bookmarklet asks for a form.
            return self.add_page(request, parameters)
        query = replace(query, tag_count_limit=MAX_TAGS_SHOWN if is_page else 0)
        return self._list(request, format_name, formats.LISTS[format_name], parameters, query)

    def feed(self, request: Request) -> Response:
        """GET /feed: respond with an Atom feed of the selected bookmarks and the deletions."""
        parameters = query_parameters(request)
        format_name = negotiate(request, formats.FEEDS)
        query = parse_query([pair for pair in parameters if pair[0] != "sort"], FEED_PAGE_SIZE)
        query = replace(query, deletions=True)
        return self._list(request, format_name, formats.FEEDS[format_name], parameters, query)

    def _list(
        self, request: Request, name: str, format: Format, parameters: Parameters, query: Query
    ) -> Response:
        # Any bookmark may change the list, so its ETag is made of the state of the whole store.
        if unchanged := not_modified(request, etag_suffix=name, get_resource=self.store.state):
            return unchanged
        page = self.store.select(query)
        path = request.environ.get("PATH_INFO", "")
        listing = make_listing(page, self.base(request), path, parameters, query)
        bookmarks = [entry.bookmark for entry in page.entries]
        response = respond(format, format.write(bookmarks, listing))
        add_validators(response, etag_suffix=name, resource=page.state)
        response.headers.append(("X-Total-Count", str(page.total)))
        if listing.links:
            links = [f'<{url}>; rel="{relation}"' for relation, url in listing.links.items()]
            response.headers.append(("Link", ", ".join(links)))
        return response

    def add_page(self, request: Request, parameters: Parameters) -> Response:
        """GET /?uri=, the bookmarklet: show the form of the uri's bookmark, or of a new one."""
        values_to_add = first_values(parameters)
        values_to_add["uri"] = uri = complete_address(values_to_add["uri"])  # May add https://.
        if existing := self.store.holder(uri.strip()):  # Stored uris are stripped.
            return self._show_unless_unchanged(request, "html", existing, page_query=values_to_add)
        state = self.store.state()  # Of all bookmarks: the page suggests their tags.
        if unchanged := not_modified(request, "html", get_resource=lambda: state):
            return unchanged
        host_tags = self.store.host_tags(uri)
        page = write_add_page(values_to_add, self.base(request), host_tags)
        return add_validators(respond(formats.ONE_BOOKMARK["html"], page), "html", state)

    def tags(self, request: Request, table: FormatTable = formats.TAGS) -> Response:
        """GET /tags and /tags.json: respond with all tags and the numbers of their bookmarks."""
        format_name = negotiate(request, table, query_parameters(request))
        if unchanged := not_modified(request, format_name, get_resource=self.store.state):
            return unchanged
        format = table[format_name]
        counts, untagged, state = self.store.tag_counts()
        response = respond(format, format.write(counts, untagged, self.base(request)))
        return add_validators(response, format_name, state)

    def file(self, request: Request, file: str) -> Response:
        """GET /{file}: respond with a file of the pages, such as a style sheet, named by digest."""
        if (asset := assets().get(file)) is None:
            raise HTTPError(404, _NOTHING_HERE)
        response = conditional.respond_asset(request, asset)
        # Files need no token, so `public`, and Vary lacks the Authorization that `_finish` may add.
        caching = "public, max-age=31536000, immutable"  # A year: a new version has a new name.
        response.headers += [("Cache-Control", caching), ("Vary", VARY)]
        return response

    def description(self, request: Request) -> Response:
        """GET /openapi.json: respond with the description of the service for programs."""
        control, url = self.access_control, self.base(request).url
        document = openapi.document(url, __version__, bool(control.tokens), control.public_read)
        return conditional.respond_asset(request, document)

    def get(self, request: Request, id: str) -> Response:
        """GET /{id}: respond with one bookmark."""
        entry = self.store.get(id)
        parameters = query_parameters(request)
        format_name = negotiate(request, formats.ONE_BOOKMARK, parameters)
        return self._show_unless_unchanged(request, format_name, entry, first_values(parameters))

    def _show_unless_unchanged(
        self, request: Request, format_name: str, entry: Entry, page_query: Mapping[str, str]
    ) -> Response:
        # The ETag of a page depends on all bookmarks, because the page suggests their tags.
        etag_suffix, resource = conditional.validator_parts(format_name, entry, self.store.state)
        unchanged = not_modified(request, etag_suffix, get_resource=lambda: resource)
        return unchanged or self._show(request, format_name, entry, page_query)

    def _show(
        self, request: Request, format_name: str, entry: Entry, page_query: Mapping[str, str] = {}
    ) -> Response:
        # Only the HTML page uses `page_query`: the list to go back to, and values to add or offer.
        format, base, b = formats.ONE_BOOKMARK[format_name], self.base(request), entry.bookmark
        # If a suggested tag changes from here on, this ETag is old: the next GET gets a new page.
        etag_suffix, resource = conditional.validator_parts(format_name, entry, self.store.state)
        host_tags = self.store.host_tags(b.uri) if format_name == "html" else ()
        response = respond(format, format.write(b, base, entry.version, page_query, host_tags))
        return add_validators(response, etag_suffix, resource)

    def get_field(self, request: Request, id: str, field: str) -> Response:
        """GET /{id}/{field}: respond with the value of one field."""
        entry = self.store.get(id)
        format_name = negotiate(request, formats.FIELD_VALUES)
        unchanged = not_modified(request, f"{field}.{format_name}", get_resource=lambda: entry)
        return unchanged or self._show_field(format_name, entry, field)

    def _show_field(self, format_name: str, entry: Entry, field: str) -> Response:
        format = formats.FIELD_VALUES[format_name]
        response = respond(format, format.write(entry.bookmark, field))
        return add_validators(response, f"{field}.{format_name}", entry)

    # --- Writing ---

    def post(self, request: Request) -> Response:
        """POST /: create a bookmark, update the one that has the uri, or import a file."""
        body, form = read_bookmark_or_file(request)
        if not isinstance(body, dict):  # The entries of a file.
            return self._import(request, body)
        body.pop("id", None)  # The service chooses the ids of new bookmarks.
        if form and form.version == DELETED_BOOKMARK:
            # The form puts back a deleted bookmark with its old `created`, which is the default of
            # `modified`. With that, clients that ask for recent changes would miss the bookmark.
            body["modified"] = rules.timestamp(time.time())
        fields = rules.clean_changes(body, required=["uri"])  # Without `created` and `modified`.
        # A form gets a redirect. Negotiate for others before storing: a 406 must change nothing.
        form_or_format = form or negotiate(request, formats.ONE_BOOKMARK)
        with self.store.transaction() as folder:
            require_conditions(request, folder.state)
            entry, status = self._post(folder, fields, form, body)
        return self._respond_stored(request, form_or_format, entry, status)

    def _import(self, request: Request, entries: Iterator[ImportedEntry]) -> Response:
        require_conditions(request, self.store.state())
        media_type, importer = best_media_type(request, MEDIA_TYPES), Importer(self.store)
        for line, fields, skip_reason in entries:
            importer.add(line, fields, skip_reason)
        content_type, body = write_report(media_type, importer.finish(), self.base(request))
        return responses.respond_with(content_type, body)

    def _post(
        self, folder: Transaction, fields: Fields, form: HiddenFields | None, body: Body
    ) -> tuple[Entry, str]:
        """Create the bookmark with the dates in `body`, or update it."""
        if existing := folder.holder(fields["uri"]):
            if form and form.version == DELETED_BOOKMARK:
                return existing, OK  # Do not put back a deleted bookmark if its uri is in use.
            if form and form.version:  # Forms of other programs have no version.
                # Our form's empty fields would erase stored ones. The error page offers to edit
                # `existing` with what the user has typed.
                raise errors.PreconditionFailed("You have this bookmark already.", existing)
            return folder.put(rules.update(existing.bookmark, fields), existing), OK
        dates = rules.clean_read_only(body)  # Only a new bookmark takes them from the body.
        return folder.put(rules.create(fields | dates, folder.mint())), CREATED

    def post_one(self, request: Request, id: str) -> Response:
        """POST /{id}: update the given fields; a form may delete the bookmark."""
        self.store.get(id)  # For a missing bookmark, 404 takes precedence over an invalid body.
        body, form = read_fields(request, formats.POST_READERS)  # `form` is None for JSON and XBEL.
        # HTML forms cannot send DELETE, so the form to delete a bookmark has a field for it.
        method = body.pop("_method", "POST") if form else "POST"
        if method not in ("POST", "DELETE"):
            raise errors.Invalid([("_method", "must be DELETE or absent")])
        if form and method == "DELETE":
            deleted = self._delete(request, id, form.version)
            page = write_deleted(deleted, self.base(request), form.list_query)
            return responses.respond_with(HTML, page)
        fields = rules.clean_changes(body, id)  # Invalid if the body has another id.
        # A form gets a redirect. Negotiate for others before storing: a 406 must change nothing.
        form_or_format = form or negotiate(request, formats.ONE_BOOKMARK)
        entry = self._update(request, id, fields, form)
        return self._respond_stored(request, form_or_format, entry, OK)

    def put(self, request: Request, id: str) -> Response:
        """PUT /{id}: create the bookmark, with the dates in the body, or replace all its fields."""
        body, _ = read_fields(request, formats.PUT_READERS)
        fields = rules.clean_changes(body, id, required=WRITABLE_FIELDS)  # Refuses another id.
        format_name = negotiate(request, formats.ONE_BOOKMARK)
        with self.store.transaction() as folder:
            before = folder.find(id)
            require_conditions(request, before)
            if before:
                entry = folder.put(rules.update(before.bookmark, fields), before)
            else:
                dates = rules.clean_read_only(body)  # Only a new bookmark takes them from the body.
                entry = folder.put(rules.create(fields | dates, id))
        return self._respond_stored(request, format_name, entry, OK if before else CREATED)

    def put_field(self, request: Request, id: str, field: str) -> Response:
        """PUT /{id}/{field}: set one field."""
        self.store.get(id)  # For a missing bookmark, 404 takes precedence over an invalid body.
        fields = rules.clean({field: read_field(request, field)})
        format_name = negotiate(request, formats.FIELD_VALUES)
        return self._show_field(format_name, self._update(request, id, fields, form=None), field)

    def delete(self, request: Request, id: str) -> Response:
        """DELETE /{id}: delete the bookmark."""
        self._delete(request, id)
        return Response(NO_CONTENT, [])

    def retag(self, request: Request) -> Response:
        """POST /tags: remove and add tags on the selected bookmarks."""
        body, form = read_fields(request, formats.RETAGGING_READERS)  # `form` is None for JSON.
        retagging = clean_retagging(body)
        reports = formats.RETAG_REPORTS
        format = None if form else reports[negotiate(request, reports)]  # A form gets a redirect.
        page = self.store.select(retagging.query)
        require_conditions(request, page.state)
        retagging.require_expected(page.total)  # Fails if the page showed another number.
        report = retag(self.store, retagging, page.entries)
        if format is None:  # The request is a form.
            return see_other(retagged_address(self.base(request), body, retagging, report))
        return respond(format, format.write(report))

    def _update(
        self, request: Request, id: str, fields: Fields, form: HiddenFields | None
    ) -> Entry:
        with self.store.transaction() as folder:
            entry = folder.get(id)
            require_conditions(request, entry)
            # If the entry has changed since the form was opened, store only the user's changes.
            changes = conditional.merge_form(entry, fields, form)
            return folder.put(rules.update(entry.bookmark, changes), entry)

    def _delete(self, request: Request, id: str, form_version: str = "") -> Bookmark:
        """Delete the bookmark and return it. A `form_version` must still be the current version."""

        with self.store.transaction() as folder:
            entry = folder.get(id)
            require_conditions(request, entry, form_version)
            folder.delete(entry)
        return entry.bookmark

    def _raise_if_deleted(self, id: str) -> None:
        with suppress(errors.NotFound):  # The caller responds 404 or 405, or creates the bookmark.
            self.store.get(id)  # Raises Gone, because 410 takes precedence over 404 and 405.

    def _respond_stored(
        self, request: Request, form_or_format: HiddenFields | str, entry: Entry, status: str
    ) -> Response:
        """Redirect the browser that sent the form, or respond with the bookmark in the format."""
        base, id, is_new = self.base(request), entry.bookmark.id, status == CREATED
        url = base.bookmark(id)
        if isinstance(form_or_format, HiddenFields):
            return see_other(address_after_saving(base, id, form_or_format, is_new=is_new))
        response = self._show(request, form_or_format, entry)
        response.status = status
        response.headers.append(("Content-Location", url))
        if is_new:
            response.headers.append(("Location", url))
        return response

    # --- Parts of every response ---

    def base(self, request: Request) -> BaseUrl:
        """Return the service's address, as it is configured or as the request names it."""
        return base_url_of(request, self._configured_base)

    def _problem(self, request: Request, error: Exception) -> Response:
        problem = problems.problem_from_exception(error, self.base(request))
        if problem.status == 410:  # No id is used again, so caches may keep the 410 for a day.
            scope = "private" if self.access_control.tokens else "public"
            problem.headers["Cache-Control"] = f"{scope}, max-age=86400"
        return self._respond_problem(request, problem)

    def _respond_problem(self, request: Request, problem: Problem) -> Response:
        route, _ = find_route(ROUTES, _path(request))
        # The routes of linkding's API respond with problems as linkding does.
        respond_problem = route.respond_problem if route else problems.respond_problem
        return respond_problem(request, problem, self.base(request))


def _path(request: Request) -> str:
    return request.environ.get("PATH_INFO") or "/"  # `request.path_info` fails if it is not UTF-8.


# --- Routes ---

App = Application
ROUTES = (  # The first route that matches serves a path; `routing` has each variable's pattern.
    Route("/", {"GET": App.list, "POST": App.post}),
    Route("/feed", {"GET": App.feed}),
    Route("/tags", {"GET": App.tags, "POST": App.retag}),
    Route("/tags.json", {"GET": functools.partial(App.tags, table=formats.TAGS_JSON)}),
    Route("/openapi.json", {"GET": App.description}),
    Route("/{id}", {"GET": App.get, "POST": App.post_one, "PUT": App.put, "DELETE": App.delete}),
    Route("/{id}/{field}", {"GET": App.get_field, "PUT": App.put_field}, fields=WRITABLE_FIELDS),
    Route("/{id}/{field}", {"GET": App.get_field}, fields=READ_ONLY_FIELDS),
    Route("/{file}", {"GET": App.file}),  # Files of the pages, such as the style sheet.
    *linkding.ROUTES,
    *login.ROUTES,
    *share.ROUTES,
)


def make_app(
    data: str | os.PathLike[str] = "data",
    *,
    token: str | Sequence[str] | None = None,
    public_read: bool = False,
    base_url: str | None = None,
) -> Application:
    """Return the WSGI application over the folder `data`; `token` is one token or several.

    Raises Unavailable or Full, of `storage.errors`, if the folder cannot be created; Invalid if
    `base_url` is no address or `token` is an empty sequence.
    """
    return Application(Store(Path(data)), encode_tokens(token), public_read, base_url)


@functools.cache
def _default_application() -> Application:
    """Return the one application that the environment configures."""
    app = _configure(_parser().parse_args(["serve"]))  # The environment sets defaults.
    app.access_control.warn_of_public_bookmarks(app.store)
    return app


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Serve one request, as configured by the environment; the application is made on first use."""
    return _default_application()(environ, start_response)


# --- The command line ---


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `bookmarks`; return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    general_options = ("-h", "--help", "--version")
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in general_options):
        arguments.insert(0, "serve")  # `bookmarks --data x` means `bookmarks serve --data x`.
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    return commands.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bookmarks", description="A self-hosted bookmarks service.")
    parser.add_argument("--version", action="version", version=f"bookmarks {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)  # `main` adds a default.
    serve = subparsers.add_parser("serve", help="serve the bookmarks over HTTP (the default)")
    serve.set_defaults(run=_serve)
    add_option(serve, "--listen", "HOST:PORT", "the address to listen on", default="127.0.0.1:8080")
    add_option(serve, "--base-url", "URL", "the address at which clients reach the service")
    add_option(serve, "--token-file", "FILE", "a file with the tokens, one per line")
    add_flag(serve, "--public-read", "require a token for changes only")
    # Without a token, Host must be a local name or that of --base-url (DNS rebinding).
    add_flag(serve, "--no-auth", "listen on any address without a token; see --base-url")
    add_option(serve, "--trusted-proxy", "ADDRESS", "a proxy whose X-Forwarded headers are trusted")
    add_flag(serve, "--access-log", "log one line for each request")
    add_option(serve, "--data", "DIR", "the data folder", default="data")
    commands.add_parsers(subparsers)
    return parser


def _configure(options: argparse.Namespace) -> Application:
    file, token = options.token_file, os.environ.get("BOOKMARKS_TOKEN")
    return make_app(
        options.data,
        token=read_tokens(file) if file else token,  # A list from a file, else one token or None.
        public_read=options.public_read,
        base_url=options.base_url,
    )


def _serve(options: argparse.Namespace) -> int:
    host, _, port = options.listen.rpartition(":")  # The last colon: an IPv6 address has others.
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        sys.exit(f"bookmarks: --listen must be HOST:PORT, not {options.listen!r}.")
    app = _configure(options)
    is_local = security.is_loopback(host.strip("[]"))
    if not (app.access_control.tokens or options.no_auth or is_local):
        sys.exit(
            f"bookmarks: {host} can be reached from other machines. Set a token with --token-file "
            "or BOOKMARKS_TOKEN, or allow everybody with --no-auth."
        )
    may_have_proxy = bool(options.trusted_proxy or options.base_url)
    if not is_local or may_have_proxy:  # Other machines may connect, perhaps through the proxy.
        app.access_control.warn_of_short_tokens()
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # It logs each waiting request.
    if options.access_log:
        logging.getLogger("bookmarks.access").setLevel(logging.INFO)
    settings = process.waitress_settings(host.strip("[]"), int(port), options.trusted_proxy)
    wsgi_app = access_log.AccessLog(app) if options.access_log else app
    server = process.create_server(wsgi_app, settings)
    # The kernel replaces port 0. A server on both addresses of `localhost` has no `effective_port`.
    port = getattr(server, "effective_port", port)
    print(f"Bookmarks are served at http://{host}:{port}/", file=sys.stderr, flush=True)
    gc.disable()  # Collecting garbage while 100,000 bookmarks are read takes 10 % of the time.
    app.store.state()  # Reads all bookmarks now, so that the first request need not.
    app.access_control.warn_of_public_bookmarks(app.store)
    gc.freeze()  # Later collections skip the index: 8 clients add 33 % more bookmarks a second.
    gc.enable()
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
