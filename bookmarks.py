"""The Bookmarks service: a WSGI application over a folder of bookmarks, and its command line.

Read ROUTES and know the service. A handler parses, finds, checks, acts and responds; what storage
and formats raise becomes a problem document in one place, by problem.PROBLEMS.
"""

import argparse
import functools
import gc
import logging
import os
import re
import resource
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from msgspec.structs import replace
from webob import Request

import formats
from formats import Format, html, http, openapi, problem
from formats.accesslog import AccessLog
from formats.assets import assets
from formats.errors import Malformed, Refused
from formats.http import Guard, Kept, Parameters, Response, Route
from formats.item import Item
from formats.progress import opened, save
from formats.report import summary
from formats.report import write as write_report
from formats.view import View, listed
from storage import errors
from storage.bookmark import FIELDS, ID, Bookmark, Fields, clean, create, timestamp, update
from storage.check import check, repair
from storage.files import is_writable
from storage.index import Entry, State
from storage.merge import Merge
from storage.query import Query, query
from storage.store import Store, retry_if_stale

log = logging.getLogger("bookmarks")

HTML_PAGE, FEED_PAGE = 100, 50
FORWARDED = "x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto"
# Response data that a client has not read yet is buffered on disk, so that slow clients hold no
# thread and little memory.
WAITRESS = dict(
    ident="", max_request_body_size=2 * http.MAX_FILE, channel_timeout=60, cleanup_interval=10,
    outbuf_high_watermark=1024**3, outbuf_overflow=http.MAX_UNSENT, asyncore_use_poll=True,
)  # fmt: skip
MAX_CONNECTIONS = 300
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
STOP_SECONDS = 4.0


class Application:
    """The WSGI callable over one store.

    With a `token`, every request needs it, reads only unless `public_read`. `base_url` is the
    address that the service has for the public, where requests don't tell.
    """

    def __init__(
        self, store: Store, token: str | None, public_read: bool, base_url: str | None
    ) -> None:
        self.store = store
        self._public = http.public(base_url)
        given = token.encode(errors="surrogateescape") if token else None  # What os.environ gives.
        self.guard = Guard(given, public_read, self._public.base if self._public else None)
        self._kept = Kept(store)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            self.guard.check(request)
            response = self._kept.answer(request, self._answer)
        except (Refused, *problem.PROBLEMS) as error:  # type: ignore[misc]
            response = self._finished(request, self._problem(request, error))
        except Exception:
            response = self._finished(request, self._failure(request))
        return http.send(request, response, start_response)

    def _answer(self, request: Request) -> Response:
        return self._finished(request, self._dispatch(request))

    def _finished(self, request: Request, response: Response) -> Response:
        return http.coded(request, http.finished(response, self._caching("", "no-cache")))

    # --- Where a request goes to ---

    def _dispatch(self, request: Request) -> Response:
        route, arguments = self._route(request)
        method = "GET" if request.method == "HEAD" else request.method
        if "id" in arguments and method != "GET":
            self._find(arguments["id"])  # What is deleted is gone whatever the method.
        if method == "OPTIONS":
            return Response(http.NO_CONTENT, [("Allow", route.allow)])
        if not (handler := route.methods.get(method)):
            raise Refused(405, f"{method} is not for this path.", Allow=route.allow)
        return handler(self, request, **arguments)

    def _route(self, request: Request) -> tuple["Route", dict[str, str]]:
        # The path as the server passed it: ids and fields are ASCII, so nothing needs decoding.
        path = request.environ.get("PATH_INFO") or "/"
        for route in FIXED.get(path, VARIABLE):
            if (arguments := route.match(path)) is not None:
                return route, arguments
        parts = path.split("/")
        if len(parts) == 3 and parts[2] and ID.fullmatch(parts[1]):
            self._find(parts[1])
        raise Refused(404, "There is nothing at this path.")

    # --- Reading ---

    def list(self, request: Request) -> Response:
        """GET /: the bookmarks that the query asks for, in the format that is asked for."""
        parameters = http.parameters(request)
        name = http.negotiate(request, formats.LISTS, parameters)
        page, counts = (HTML_PAGE, html.TAGS_SHOWN) if name == "html" else (None, 0)
        wanted = replace(query(parameters, page), counts=counts)
        if name == "html" and "uri" in dict(parameters):
            return self._opened_form(request, parameters)
        return self._listed(request, name, formats.LISTS[name], parameters, wanted)

    def feed(self, request: Request) -> Response:
        """GET /feed: the bookmarks as Atom, newest first, with the deletions of that range."""
        parameters = http.parameters(request)
        name = http.negotiate(request, formats.FEEDS)
        wanted = replace(query(parameters, FEED_PAGE), deletions=True)
        return self._listed(request, name, formats.FEEDS[name], parameters, wanted)

    def _listed(
        self, request: Request, name: str, format: Format, parameters: Parameters, wanted: Query
    ) -> Response:
        if unchanged := http.not_modified(request, name, self.store.state):
            return unchanged
        page = self.store.select(wanted)
        reach = max(page.total, page.tombstone_count if wanted.deletions else 0)
        path = request.environ.get("PATH_INFO", "")
        view = listed(self._here(request), path, parameters, wanted.limit, wanted.offset, reach)
        view = replace(
            view,
            total=page.total,
            updated=page.state.modified,
            tombstones=page.tombstones,
            offset=wanted.offset,
            versions=page.versions,
            counts=page.counts,
            exports=tuple(formats.LISTS),
        )
        chunks = format.write(page.bookmarks, view)
        response = http.response(format, chunks, streamed=len(page.bookmarks) > http.STREAMED)
        http.validate(response, name, page.state)
        response.headers.append(("X-Total-Count", str(page.total)))
        if view.links:
            links = [f'<{url}>; rel="{relation}"' for relation, url in view.links.items()]
            response.headers.append(("Link", ", ".join(links)))
        return response

    def _opened_form(self, request: Request, parameters: Parameters) -> Response:
        """What the bookmarklet opens: the form of a new bookmark, or of the one with this uri."""
        given, format = dict(reversed(parameters)), formats.ONE["html"]
        if entry := self.store.holder(given["uri"].strip()):
            return self._read(request, "html", format, entry)
        state = self.store.state()
        if unchanged := http.not_modified(request, "html", lambda: state):
            return unchanged
        response = http.response(format, html.write_form(given, self._here(request)))
        http.validate(response, "html", state)
        return response

    def tags(self, request: Request) -> Response:
        """GET /tags.json: all tags with the numbers of their bookmarks, the most used first."""
        format = formats.TAGS[http.negotiate(request, formats.TAGS)]
        if unchanged := http.not_modified(request, "tags", self.store.state):
            return unchanged
        counts, state = self.store.tag_counts()
        response = http.response(format, format.write((), View("", counts=counts)))
        http.validate(response, "tags", state)
        return response

    def file(self, request: Request, file: str) -> Response:
        """GET /{file}: the page's style, script or icon, named by its content."""
        if (asset := assets().get(file)) is None:
            raise Refused(404, "There is nothing at this path.")
        response = http.asset_response(request, asset)
        caching = self._caching("public, ", "max-age=31536000, immutable")
        response.headers.append(("Cache-Control", caching))
        return response

    def description(self, request: Request) -> Response:
        """GET /openapi.json: all of this, described for programs."""
        base, guard = self._here(request).base, self.guard
        made = openapi.document(base, guard.token is not None, guard.public_read)
        return http.asset_response(request, made)

    def get(self, request: Request, id: str, field: str = "") -> Response:
        """GET /{id} and GET /{id}/{field}: one bookmark, or the value of one field."""
        entry = self.store.get(id)
        table = formats.VALUES if field else formats.ONE
        name = http.negotiate(request, table, None if field else http.parameters(request))
        return self._read(request, name, table[name], entry, field)

    def _read(
        self, request: Request, name: str, format: Format, entry: Entry, field: str = ""
    ) -> Response:
        unchanged = http.not_modified(request, f"{field}.{name}" if field else name, lambda: entry)
        return unchanged or self._shown(request, name, format, entry, field)

    def _shown(
        self, request: Request, name: str, format: Format, entry: Entry, field: str = ""
    ) -> Response:
        view = replace(self._here(request), version=entry.version, field=field)
        response = http.response(format, format.write([entry.bookmark], view))
        http.validate(response, f"{field}.{name}" if field else name, entry)
        return response

    # --- Writing ---

    def post(self, request: Request) -> Response:
        """POST /: creates a bookmark, or updates the one that has this uri."""
        given, is_form = http.body_or_file(request)
        if not isinstance(given, dict):
            return self._imported(request, given)
        given.pop("id", None)
        version = given.pop("_version", None) if is_form else None
        fields = _changes(given, required=["uri"])
        name = "json" if is_form else http.negotiate(request, formats.ONE)
        entry, status = retry_if_stale(lambda: self._post(request, given, fields, version))
        return self._written(request, name, entry, status, is_form)

    def _imported(self, request: Request, entries: Iterable[Item]) -> Response:
        """Makes a file's entries part of the collection; what became of each."""
        http.require(request, self.store.state())
        media_type, merge = http.report_type(request), Merge(self.store)
        merge.add_all(entries, Malformed)
        report = write_report(media_type, merge.finish(), self._here(request))
        return http.body_response(*report)

    def _post(
        self, request: Request, given: Mapping[str, object], fields: Fields, version: object
    ) -> tuple[Entry, str]:
        seen = self.store.state() if http.is_conditional(request) else None
        http.require(request, seen)
        try:
            if holder := self.store.holder(fields["uri"]):
                if version:  # A form of a new bookmark would blank the one that nobody had in mind.
                    raise errors.PreconditionFailed("You have a bookmark of this already.", holder)
                changed = update(holder.bookmark, fields, _now())
                return self._replaced(changed, holder, seen), http.OK
            new = create(fields | _fixed(given), self.store.mint(), _now())
            return self.store.add(new, seen), http.CREATED
        except (errors.Conflict, errors.Gone):  # Somebody else was faster.
            raise errors.Stale from None

    def post_one(self, request: Request, id: str) -> Response:
        """POST /{id}: updates the fields that are given; a form may delete instead."""
        self.store.get(id)
        given, is_form = http.body(request, formats.PARTIAL)
        method = given.pop("_method", "POST") if is_form else "POST"
        version = given.pop("_version", None) if is_form else None
        if method not in ("POST", "DELETE"):
            raise errors.Invalid([("_method", "must be DELETE, if it is there")])
        if method == "DELETE":
            self._delete(request, id, version)
            return http.see_other(f"{self._here(request).base}/")
        fields = _changes(given, id)
        name = "json" if is_form else http.negotiate(request, formats.ONE)
        entry = self._update(request, id, fields, version)
        return self._written(request, name, entry, http.OK, is_form)

    def put(self, request: Request, id: str) -> Response:
        """PUT /{id}: creates the bookmark, or sets all of it."""
        given, _ = http.body(request, formats.WHOLE)
        fields = _changes(given, id, WHOLE_FIELDS)
        name = http.negotiate(request, formats.ONE)
        entry, status = retry_if_stale(lambda: self._put(request, id, given, fields))
        return self._written(request, name, entry, status, False)

    def _put(
        self, request: Request, id: str, given: Mapping[str, object], fields: Fields
    ) -> tuple[Entry, str]:
        entry = self._find(id)
        http.require(request, entry)
        if entry is None:
            return self.store.add(create(fields | _fixed(given), id, _now())), http.CREATED
        return self._replaced(update(entry.bookmark, fields, _now()), entry), http.OK

    def put_field(self, request: Request, id: str, field: str) -> Response:
        """PUT /{id}/{field}: sets one field."""
        self.store.get(id)
        fields = clean({field: http.field_value(request, field)})
        name = http.negotiate(request, formats.VALUES)
        entry = self._update(request, id, fields)
        return self._shown(request, name, formats.VALUES[name], entry, field)

    def delete(self, request: Request, id: str) -> Response:
        """DELETE /{id}: deletes the bookmark for good."""
        self._delete(request, id)
        return Response(http.NO_CONTENT, [])

    def _update(self, request: Request, id: str, fields: Fields, version: object = None) -> Entry:
        def attempt() -> Entry:
            entry = self.store.get(id)
            http.require(request, entry, version)
            return self._replaced(update(entry.bookmark, fields, _now()), entry)

        return retry_if_stale(attempt)

    def _delete(self, request: Request, id: str, version: object = None) -> None:
        def attempt() -> None:
            entry = self.store.get(id)
            http.require(request, entry, version)
            self.store.delete(entry)

        retry_if_stale(attempt)

    def _replaced(self, changed: Bookmark, entry: Entry, state: State | None = None) -> Entry:
        """Stores a changed bookmark; one that did not change is left alone, file and all."""
        if changed is entry.bookmark:
            return self.store.keep(entry)
        return self.store.replace(changed, entry, state)

    def _find(self, id: str) -> Entry | None:
        """The bookmark, or None if there never was one. Raises Gone or Unreadable."""
        try:
            return self.store.get(id)
        except errors.NotFound:
            return None

    def _written(
        self, request: Request, name: str, entry: Entry, status: str, is_form: bool
    ) -> Response:
        url = self._here(request).bookmark(entry.bookmark.id)
        if is_form:
            return http.see_other(url)
        response = self._shown(request, name, formats.ONE[name], entry)
        response.status = status
        response.headers.append(("Content-Location", url))
        if status == http.CREATED:
            response.headers.append(("Location", url))
        return response

    # --- What answers have in common ---

    def _caching(self, shared: str, directive: str) -> str:
        return (shared if self.guard.token is None else "private, ") + directive

    def _here(self, request: Request) -> View:
        return self._public or http.here(request)

    def _problem(self, request: Request, error: Exception) -> Response:
        here = self._here(request)
        told = problem.described(error, here.base)
        if told.status == 410:
            told.headers["Cache-Control"] = self._caching("public, ", "max-age=86400")
        return http.problem_response(request, told, here)

    def _failure(self, request: Request) -> Response:
        """A 500, which says nothing of the inside; the log says it all under the same number."""
        number = secrets.token_hex(8)
        log.exception("error %s at %s %r", number, request.method, request.environ.get("PATH_INFO"))
        detail = f"Something went wrong here. The server's log tells more, at error {number}."
        return http.problem_response(request, problem.Problem(500, detail), self._here(request))


# --- Routes ---

EXPORTS = [name for name in formats.LISTS if name != "html"]
WHOLE_FIELDS = ("uri", "title", "description", "tags")
FIXED_FIELDS = tuple(field for field in FIELDS if field not in WHOLE_FIELDS)

App = Application
ROUTES = (
    Route("/", {"GET": App.list, "POST": App.post}),
    Route("/feed", {"GET": App.feed}),
    Route("/tags.json", {"GET": App.tags}),
    Route("/openapi.json", {"GET": App.description}),
    Route("/{id}", {"GET": App.get, "POST": App.post_one, "PUT": App.put, "DELETE": App.delete}),
    Route("/{id}/{field}", {"GET": App.get, "PUT": App.put_field}, WHOLE_FIELDS),
    Route("/{id}/{field}", {"GET": App.get}, FIXED_FIELDS),
    Route("/{file}", {"GET": App.file}),
)
FIXED = {route.template: [route] for route in ROUTES if "{" not in route.template}
VARIABLE = [route for route in ROUTES if route.template not in FIXED]


def _changes(
    given: Mapping[str, object], id: str | None = None, required: Sequence[str] = ()
) -> Fields:
    """What an update sets with these values, the `required` ones among them. The read-only ones
    are ignored, but for another id.
    """
    wrong = [(name, "is required") for name in required if name not in given]
    if given.get("id", id) != id:
        wrong.append(("id", f"must be {id}, as in the address, or absent"))
    return clean({name: v for name, v in given.items() if name not in FIXED_FIELDS}, wrong)


def _fixed(given: Mapping[str, object]) -> Fields:
    """What only a creation sets of these values."""
    return clean({name: value for name, value in given.items() if name in FIXED_FIELDS})


def _now() -> str:
    return timestamp(time.time())


# --- Ways to run it ---


def make_app(
    data: str | os.PathLike[str] = "data",
    *,
    token: str | None = None,
    public_read: bool = False,
    base_url: str | None = None,
) -> Application:
    """The WSGI application over the folder `data`.

    Raises storage's Unavailable or Full if the folder cannot be made, read, written or locked,
    Invalid if `base_url` is no address.
    """
    return Application(Store(Path(data), writable=True), token, public_read, base_url)


@functools.cache
def _default() -> Application:
    return _configured(_parser().parse_args(["serve"]))


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The WSGI callable that the environment configures; built when it is first called."""
    return _default()(environ, start_response)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `bookmarks`. Its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0].startswith("-") and given[0] not in ("-h", "--help"):
        given.insert(0, "serve")
    options = _parser().parse_args(given)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    try:
        status: int = options.run(options)
    except (errors.StorageError, OSError) as error:
        sys.exit(f"bookmarks: {error}")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bookmarks", description="A self-hosted bookmarks service.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    serve = commands.add_parser("serve", help="serve the bookmarks over HTTP (the default)")
    serve.set_defaults(run=_serve)
    _option(serve, "--listen", "127.0.0.1:8080", "the address to listen on", metavar="HOST:PORT")
    _option(serve, "--base-url", None, "the address that the service has for others", metavar="URL")
    _option(serve, "--token-file", None, "a file with the token to ask for", metavar="FILE")
    _option(serve, "--public-read", None, "let everybody read; ask for the token to write")
    _option(serve, "--no-auth", None, "listen on any address without a token; see --base-url")
    _option(serve, "--trusted-proxy", None, "whose X-Forwarded headers count", metavar="ADDRESS")
    _option(serve, "--access-log", None, "write a line for each request")
    checks = commands.add_parser("check", help="hold the data folder against its contract")
    checks.set_defaults(run=_check)
    checks.add_argument("--repair", action="store_true", help="do what can lose nothing")
    imports = commands.add_parser("import", help="make files of bookmarks part of the collection")
    imports.set_defaults(run=_import_files)
    imports.add_argument("files", nargs="+", metavar="FILE", help="what to read; - is the input")
    imports.add_argument("--format", choices=formats.FILES, help="what it is (default: told by it)")
    imports.add_argument("--dry-run", action="store_true", help="only say what would happen")
    exports = commands.add_parser("export", help="write the collection to a file")
    exports.set_defaults(run=_export)
    exports.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to write it")
    exports.add_argument("--format", choices=EXPORTS, default="json", help="default: json")
    for command in (serve, checks, imports, exports):
        _option(command, "--data", "data", "the data folder", metavar="DIR")
    return parser


def _option(
    parser: argparse.ArgumentParser, name: str, default: str | None, help: str, metavar: str = ""
) -> None:
    """An option, or without a metavar a flag, that the environment can give too."""
    variable = "BOOKMARKS_" + name.strip("-").replace("-", "_").upper()
    given = os.environ.get(variable) or default
    if metavar:
        help = f"{help} (default: {default}; {variable})"
        parser.add_argument(name, default=given, metavar=metavar, help=help)
    else:
        is_set = (given or "").lower() in ("1", "true", "yes", "on")
        help = f"{help} ({variable}=1)"
        parser.add_argument(name, action="store_true", default=is_set, help=help)


def _configured(options: argparse.Namespace) -> Application:
    token = os.environ.get("BOOKMARKS_TOKEN")
    if options.token_file:
        if os.stat(options.token_file).st_mode & 0o077:
            log.warning("Others can read the token file: chmod 600 %s", options.token_file)
        try:
            token = Path(options.token_file).read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            sys.exit(f"bookmarks: the token file {options.token_file} is not UTF-8.")
        if not token:
            sys.exit(f"bookmarks: the token file {options.token_file} is empty.")
    return make_app(
        options.data, token=token, public_read=options.public_read, base_url=options.base_url
    )


def _serve(options: argparse.Namespace) -> int:
    host, _, port = options.listen.rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        sys.exit(f"bookmarks: --listen must be HOST:PORT, not {options.listen!r}.")
    app = _configured(options)
    if not (app.guard.token or options.no_auth or http.is_loopback(host.strip("[]"))):
        sys.exit(
            f"bookmarks: {host} can be reached from elsewhere. Set a token with --token-file or "
            "BOOKMARKS_TOKEN, or say --no-auth to let everybody in."
        )
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # It tells of each one queued.
    if options.access_log:
        logging.getLogger("bookmarks.access").setLevel(logging.INFO)
    settings = WAITRESS | {"host": host.strip("[]"), "port": int(port)}
    if options.trusted_proxy:
        settings |= {"trusted_proxy": options.trusted_proxy, "trusted_proxy_headers": FORWARDED}
    server = _create_server(AccessLog(app) if options.access_log else app, settings)
    port = getattr(server, "effective_port", port)  # With 0, the system has chosen one.
    print(f"Bookmarks are served at http://{host}:{port}/", file=sys.stderr, flush=True)
    gc.disable()
    app.store.state()  # Who asks before all is loaded waits.
    gc.freeze()  # No collection of garbage has to walk through what is there for good.
    gc.enable()
    sys.setswitchinterval(0.02)  # Whoever searches in a large collection is interrupted less.
    server.run()
    return 0


def _create_server(app: WSGIApplication, settings: Mapping[str, object]) -> Any:
    """Return a waitress server that ends the process in an orderly way on SIGTERM and SIGINT."""
    import waitress

    from formats.waitress_fixes import Channel

    waitress.server.BaseWSGIServer.channel_class = Channel
    # All threads inherit this mask, so that a signal interrupts none of them; one waits for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    channels: dict[int, Any] = {}
    limit = _connection_limit()
    server = waitress.create_server(app, map=channels, connection_limit=limit, **settings)
    stop = functools.partial(_stop_on_signal, server.task_dispatcher, channels)
    threading.Thread(target=stop, daemon=True).start()
    return server


def _connection_limit() -> int:
    """Return how many connections the limit of open files allows.

    A connection takes up to three descriptors: a socket, and temporary files for a long request
    and a long response. 64 descriptors are left for the data folder and the libraries.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(10, min(MAX_CONNECTIONS, (files - 64) // 3))


def _stop_on_signal(tasks: Any, channels: Mapping[int, Any]) -> None:
    """Wait for SIGTERM or SIGINT, then for unfinished responses, and end the process.

    Later signals stay blocked. Acknowledged writes are durable, so there is nothing to clean up.
    """
    signal.sigwait(STOP_SIGNALS)
    deadline = time.monotonic() + STOP_SECONDS
    is_busy = True
    while is_busy and time.monotonic() < deadline:
        time.sleep(0.1)  # The event loop may not have read yet what arrived before the signal.
        unsent = (getattr(channel, "total_outbufs_len", 0) for channel in list(channels.values()))
        is_busy = bool(tasks.queue or tasks.active_count or any(unsent))
    os._exit(0)


def _check(options: argparse.Namespace) -> int:
    found = check(Path(options.data))
    findings = repair(found) if options.repair else found
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def _import_files(options: argparse.Namespace) -> int:
    data = Path(options.data)
    is_new = options.dry_run and not (data / "bookmarks").is_dir()
    could_be = is_writable(data if data.exists() else data.parent)
    # To say what would happen, no data folder is made.
    with TemporaryDirectory() if is_new and could_be else nullcontext(data) as folder:
        merge = Merge(Store(Path(folder)), options.dry_run)
        for name in options.files:
            told = len(merge.report.entries)
            try:
                with opened(name) as stream:
                    merge.add_all(formats.entries(stream, options.format), Malformed)
            except (Malformed, OSError) as error:
                merge.add(0, {}, str(error))
            for entry in merge.report.entries[told:]:
                print(f"{name}:{entry.line}: {entry.value}: {entry.reason}", file=sys.stderr)
        print(summary(merge.finish()))
    return 1 if merge.report.skipped else 0


def _export(options: argparse.Namespace) -> int:
    # It would be made, and look like an empty collection.
    if not (folder := Path(options.data, "bookmarks")).is_dir():
        sys.exit(f"bookmarks: there is no folder {folder}.")
    page = Store(Path(options.data)).select(Query())
    save(options.file, formats.LISTS[options.format].write(page.bookmarks, View("")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
