"""HTTP messages (RFC 9110): what a request says, and what an answer is made of."""

import base64
import binascii
import functools
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from itertools import chain
from typing import TypeVar
from urllib.parse import quote, urlsplit
from wsgiref.types import StartResponse

from msgspec.structs import replace
from webob import Request
from webob.acceptparse import (
    AcceptEncodingValidHeader,
    create_accept_encoding_header,
    create_accept_header,
)

import formats
from formats import Format, Table, assets, coding, form, problem, report
from formats.decode import Begun
from formats.errors import Malformed, NotAcceptable, Refused, TooLarge, Unsupported
from formats.item import MAX_ENTRY, Item, Stream
from formats.validators import (
    Current,
    entity_tag,
    is_current,
    is_unchanged_since,
    last_modified,
    version_text,
)
from formats.view import Draft, View
from storage.bookmark import ID, Bookmark, split_tags
from storage.errors import Invalid, PreconditionFailed, Unavailable
from storage.store import Store

log = logging.getLogger("bookmarks")

OK, CREATED, NO_CONTENT = "200 OK", "201 Created", "204 No Content"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY = MAX_ENTRY
MAX_FILE = 32 * 1024 * 1024
MAX_ACCEPT = 4096
STREAMED = 1000  # A longer list is sent in blocks, as it is written.
BLOCK = 128 * 1024
MAX_UNSENT = BLOCK // 2  # What is longer waits on the disk for its client.
MAX_KEPT = 16 * 1024 * 1024
MAX_KEPT_ONE = 256 * 1024
MAX_ONCE = 16_384
ANSWER_SIZE = 1536  # Of an answer's objects, about.
MAX_HOST = 261  # A name has 253 characters at most, a port five.

# What every answer says besides.
ALWAYS = (
    ("Vary", "Accept, Accept-Encoding"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)

# RFC 3986 section 3.2.2, but for percent-encoding, which no host name has.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")

# Where a form's fields are kept, to be shown once more if they cannot be saved.
_TYPED = "bookmarks.typed"

T = TypeVar("T")
Parameters = list[tuple[str, str]]


@dataclass(slots=True)
class Response:
    """The status code with its reason, the headers in order, and the blocks of the body: a list of
    them can be sent again, an iterator only once.
    """

    status: str
    headers: list[tuple[str, str]]
    body: list[bytes] | Iterator[bytes] = field(default_factory=list)


# --- Requests ---


def parameters(request: Request) -> Parameters:
    """The query's names and values, in order. Raises Malformed."""
    if not request.environ.get("QUERY_STRING"):
        return []
    try:
        return form.pairs(request.environ["QUERY_STRING"].encode("latin-1"))
    except Malformed as error:
        raise Malformed(f"The query cannot be read. {error}") from None


def negotiate(request: Request, table: Table, parameters: Parameters | None = None) -> str:
    """The name of the format that `format=` or else Accept asks for: RFC 9110 section 12.5.1."""
    asked = dict(reversed(parameters)).get("format") if parameters else None
    return formats.choose(table, asked, functools.partial(_best, request))


def _best(request: Request, offers: tuple[str, ...], also: tuple[str, ...] = ()) -> str | None:
    """The best of the media types for Accept; without one, or with an endless one, the first."""
    accept = request.environ.get("HTTP_ACCEPT", "")
    return _acceptable(accept if len(accept) <= MAX_ACCEPT else "", offers, also)


@functools.lru_cache(maxsize=256)
def _acceptable(accept: str, offers: tuple[str, ...], also: tuple[str, ...]) -> str | None:
    # Another name of a type counts only if it is asked for by name.
    offers += tuple(other for other in also if other in accept.lower())
    # A parameter of a range other than q, such as charset, narrows nothing here.
    ranges = re.sub(r';\s*+(?![qQ]\s*=)(?:"(?:[^"\\]|\\.)*+"?|[^;,"])*+', "", accept)
    found = create_accept_header(ranges or None).acceptable_offers(offers)
    return str(found[0][0]) if found else None


def body(request: Request, table: Mapping[str, formats.Read]) -> tuple[dict[str, object], bool]:
    """The fields of the one bookmark in the body, and whether a form gave them."""
    read, parameters = _reader(request, table)
    found = read(_bytes(request), parameters)
    if len(found) != 1:
        raise Invalid([("body", f"must hold one bookmark, not {len(found)}")])
    return _typed(request, found[0], read)


def _typed(
    request: Request, fields: dict[str, object], read: formats.Read
) -> tuple[dict[str, object], bool]:
    """The fields and whether a form gave them, which are then kept as they were typed."""
    is_form = read in formats.FORMS.values()
    if is_form:
        request.environ[_TYPED] = dict(fields)
    return fields, is_form


def body_or_file(request: Request) -> tuple[dict[str, object] | Iterator[Item], bool]:
    """The fields of the one bookmark in the body, or else the entries of the file that it is; and
    whether a form gave it.
    """
    posted, parameters = _reader(request, formats.POSTED)
    # A form has something around the file.
    stream = _Body(request, MAX_FILE + (MAX_BODY if posted.one is form.read_multipart else 0))
    if posted.one is form.read_multipart:
        found = form.read_multipart_or_file(stream, parameters)
        if isinstance(found, form.File):
            return formats.entries(found, readers=formats.UPLOADS), True
        return _typed(request, found, posted.one)
    if posted.one is None:
        return formats.UPLOADS[posted.file](stream), False
    begun = Begun(_up_to(stream, MAX_BODY + 1), stream)
    if posted.is_file and posted.is_file(begun.head, parameters):
        return formats.UPLOADS[posted.file](begun), False
    if len(begun.head) > MAX_BODY:
        raise TooLarge(MAX_BODY)
    return _typed(request, posted.one(begun.head, parameters)[0], posted.one)


def field_value(request: Request, field: str) -> object:
    """The value that the body gives a field; tags as text are lines, or parted by commas."""
    read, _ = _reader(request, formats.FIELD, "text/plain")
    value = read(_bytes(request))
    is_text = field == "tags" and read is formats.FIELD["text/plain"]
    return split_tags(str(value)) if is_text else value


def _reader(
    request: Request, table: Mapping[str, T], default: str = ""
) -> tuple[T, dict[str, str]]:
    if (request.environ.get("HTTP_CONTENT_ENCODING") or "identity").lower() != "identity":
        raise Unsupported("The body must not be compressed.", table)
    if request.method == "PUT" and "HTTP_CONTENT_RANGE" in request.environ:  # RFC 9110 section 14.5
        raise Malformed("The body must be all of it, not a Content-Range.")
    return formats.reader(table, request.environ.get("CONTENT_TYPE") or default)


def _bytes(request: Request) -> bytes:
    return _up_to(_Body(request, MAX_BODY), MAX_BODY + 1)


def _up_to(stream: Stream, size: int) -> bytes:
    chunks = []
    while size and (chunk := stream.read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


class _Body:
    """A request's body, as a stream that is read once.

    Raises TooLarge if it has more bytes than the limit, Malformed if it is not all there, Refused
    if its end cannot be told.
    """

    def __init__(self, request: Request, limit: int) -> None:
        self._limit = limit
        self._length = request.content_length
        if self._length is None and not request.environ.get("wsgi.input_terminated"):
            if "HTTP_TRANSFER_ENCODING" in request.environ:  # RFC 9110 section 15.5.12
                raise Refused(411, "This server needs the Content-Length of the body.")
            self._length = 0
        if self._length is not None and self._length > limit:
            raise TooLarge(limit)
        self._left = limit + 1 if self._length is None else self._length
        self._read = request.environ["wsgi.input"].read

    def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end."""
        try:
            chunk: bytes = self._read(min(size, self._left)) if self._left else b""
        except Exception as error:  # Each server has its own for what a client breaks off.
            log.warning("A body cannot be read to its end: %r", error)
            raise Malformed("The body cannot be read to its end.") from error
        self._left -= len(chunk)
        if self._length is None and not self._left:
            raise TooLarge(self._limit)
        if self._length is not None and self._left and not chunk:
            raise Malformed("The body ends before its Content-Length.")
        return chunk


def here(request: Request) -> View:
    """The service's address as the request names it."""
    is_short = len(request.environ.get("HTTP_HOST", "")) <= MAX_HOST
    return (_here if is_short else _here.__wrapped__)(*map(request.environ.get, _BASE))


_PORTS = {"http": ":80", "https": ":443"}
_IN_A_PATH = "/!$&'()*+,;=:@~"


def public(base_url: str | None) -> View | None:
    """The service's address, if it was given one. Raises Invalid."""
    if not base_url:
        return None
    base_url = base_url.strip()
    try:
        parts = urlsplit(base_url)
        is_address = parts.port != 0 and parts.scheme in _PORTS and base_url.isprintable()
    except ValueError:
        is_address = False
    if not is_address or not HOST.fullmatch(parts.netloc) or parts.query or parts.fragment:
        reason = "must be an address, such as https://example.com/bookmarks"
        raise Invalid([("base_url", reason)])
    # As browsers write it in Origin: RFC 6454 section 6.2.
    name = parts.netloc.lower().removesuffix(_PORTS[parts.scheme]).removesuffix(":")
    path = quote(parts.path.rstrip("/"), safe=f"{_IN_A_PATH}%")
    return View(f"{parts.scheme}://{name}{path}", path)


_BASE = ("wsgi.url_scheme", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SCRIPT_NAME")
_ANY = {"wsgi.url_scheme": "http", "SERVER_NAME": "localhost", "SERVER_PORT": "80"}


@functools.lru_cache(maxsize=256)
def _here(*values: str | None) -> View:
    given = {name: value for name, value in zip(_BASE, values, strict=True) if value}
    environ = _ANY | given  # A server that says less is answered all the same.
    path = quote(environ.get("SCRIPT_NAME", "").encode("latin-1"), safe=_IN_A_PATH)
    return View(f"{Request(environ).host_url}{path}", path)


# --- Preconditions and validators: RFC 9110 section 13 ---

_CONDITIONS = frozenset(
    {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE"}
)


def is_conditional(request: Request) -> bool:
    """Whether a precondition may keep the request from changing anything."""
    return not (_CONDITIONS - {"HTTP_IF_MODIFIED_SINCE"}).isdisjoint(request.environ)


def require(request: Request, current: Current | None, form_version: object = None) -> None:
    """Raises PreconditionFailed unless the request's preconditions hold, section 13.2.2.

    An entity tag begins with the version, so that any representation's will do.
    """
    if form_version and (current is None or form_version != version_text(current.version)):
        raise PreconditionFailed("It has changed since the form was opened.", current)
    if request.environ.keys().isdisjoint(_CONDITIONS):
        return
    if (tags := request.environ.get("HTTP_IF_MATCH")) is not None:
        if not _matches(tags, current, strong=True):
            raise PreconditionFailed("No entity tag in If-Match is that of this version.")
    elif (
        current is not None  # What has no date is not held to one: section 13.1.4.
        and (since := _date(request, "if_unmodified_since")) is not None
        and last_modified(current) > since
    ):
        raise PreconditionFailed("It has changed since the date in If-Unmodified-Since.")
    if request.method in ("GET", "HEAD"):
        return
    if _matches(request.environ.get("HTTP_IF_NONE_MATCH", ""), current):
        raise PreconditionFailed("An entity tag in If-None-Match is that of this version.")


# Section 8.8.3. WebOb finds only those entity tags that have white space before them.
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')


def _entity_tags(value: str, strong: bool = False) -> list[str]:
    """The opaque tags in a header's list, without the weak ones if they have to be strong."""
    return [tag for weak, tag in _ENTITY_TAG.findall(value) if not (strong and weak)]


def _matches(value: str, current: Current | None, strong: bool = False) -> bool:
    if current is None:
        return False
    return value.strip() == "*" or is_current(_entity_tags(value, strong), current)


def not_modified(request: Request, name: str, look: Callable[[], Current]) -> Response | None:
    """A 304, if what the client has is what it would get; only if it has any, a look tells."""
    environ = request.environ
    if environ.keys().isdisjoint(_CONDITIONS):
        return None
    current = look()
    require(request, current)
    if (tags := environ.get("HTTP_IF_NONE_MATCH")) is not None:
        tag = _tag(current, name) + _coding(request)
        unchanged = tags.strip() == "*" or tag in _entity_tags(tags)
    else:
        since = _date(request, "if_modified_since")
        unchanged = since is not None and is_unchanged_since(since, current)
    if not unchanged:
        return None
    response = Response("304 Not Modified", [])
    validate(response, name, current)
    return response


def _date(request: Request, name: str) -> float | None:
    """The header's date in seconds since 1970; None, as if it were absent, if it is none."""
    try:
        date = getattr(request, name)
    except (ValueError, OverflowError, OSError):
        return None
    # One that is still to come proves nothing: RFC 9110 section 8.8.2.1.
    return date.timestamp() if date and date.timestamp() <= time.time() else None


def validate(response: Response, name: str, current: Current) -> None:
    """Gives the answer its validators."""
    response.headers.append(("ETag", f'"{_tag(current, name)}"'))
    response.headers.append(("Last-Modified", formatdate(last_modified(current), usegmt=True)))


def _tag(current: Current, name: str) -> str:
    # A page names its style and script by their content, so with those it is another page.
    return entity_tag(current, f"{name}-{assets.edition()}" if name == "html" else name)


# --- Answers ---


def response(format: Format, chunks: Iterator[bytes], streamed: bool = False) -> Response:
    """A 200 in this format; a streamed one is sent in blocks as it is written."""
    headers = [("Content-Type", format.media_type)]
    if format.file_name:  # RFC 6266 section 4
        headers.append(("Content-Disposition", f'attachment; filename="{format.file_name}"'))
    if streamed:
        return Response(OK, headers, _blocks(chunks))
    body = b"".join(chunks)
    headers.append(("Content-Length", str(len(body))))
    return Response(OK, headers, [body])


def _blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks in blocks of BLOCK bytes and up to a chunk more; the first one comes sooner."""
    some, size, enough = [], 0, BLOCK // 16
    for chunk in chunks:
        some.append(chunk)
        size += len(chunk)
        if size >= enough:
            yield b"".join(some)
            some, size, enough = [], 0, BLOCK
    if size:
        yield b"".join(some)


def see_other(url: str) -> Response:
    """What a form is answered with: RFC 9110 section 15.4.4."""
    headers = [("Location", url), ("Content-Type", "text/plain"), ("Content-Length", "0")]
    return Response("303 See Other", headers)  # Some servers want a type of every answer.


def report_type(request: Request) -> str:
    """The media type to tell in what became of an imported file. Raises NotAcceptable."""
    wanted = _best(request, report.MEDIA_TYPES)
    if wanted is None:
        raise NotAcceptable(report.MEDIA_TYPES)
    return wanted


def problem_response(request: Request, told: problem.Problem, here: View) -> Response:
    """A problem document, or its page for a browser."""
    view = replace(here, draft=_draft(request, here.path, told))
    media_type, body = problem.write(_best(request, problem.MEDIA_TYPES) or "", told, view)
    response = body_response(media_type, body)
    response.status = f"{told.status} {told.title}"
    response.headers += told.headers.items()
    return response


def asset_response(request: Request, asset: assets.Asset) -> Response:
    """A file of the service itself, or a 304."""
    if unchanged := not_modified(request, "file", lambda: asset):
        return unchanged
    response = body_response(asset.media_type, asset.body)
    validate(response, "file", asset)
    return response


def body_response(media_type: str, body: bytes) -> Response:
    """A 200 with this body."""
    headers = [("Content-Type", media_type), ("Content-Length", str(len(body)))]
    return Response(OK, headers, [body])


def _draft(request: Request, path: str, told: problem.Problem) -> Draft | None:
    """The form that the request sent, if it did, to be sent once more below `path`.

    What was edited and is gone can only be saved as a new bookmark.
    """
    is_gone = told.status == 410
    if is_gone and request.method == "POST":  # It was refused before anybody looked at the form.
        with suppress(Malformed, Unsupported, TooLarge, Invalid):
            body(request, formats.FORMS)
    typed = request.environ.get(_TYPED)
    if typed is None:
        return None
    tags = typed.get("tags", ())
    fields = {name: str(value) for name, value in typed.items()} | {"tags": ", ".join(tags)}
    version = fields.pop("_version", "")
    is_deletion = fields.pop("_method", "") == "DELETE"
    there = getattr(told.current, "bookmark", None)
    if isinstance(there, Bookmark):
        version = version_text(getattr(told.current, "version", 0))
        return Draft(f"{path}/{there.id}", fields, version, there, is_deletion)
    here = "/" if is_gone else str(request.path_info)
    return Draft(path + here, fields, "" if is_gone else version, None, is_deletion)


def finished(response: Response, caching: str) -> Response:
    """The answer with what every one has, and with this Cache-Control unless it has its own."""
    if "Cache-Control" not in dict(response.headers):
        response.headers.append(("Cache-Control", caching))
    response.headers += ALWAYS
    return response


def coded(request: Request, response: Response) -> Response:
    """The answer as this client gets it: compressed, if it asks for that."""
    if _coding(request):
        response.headers, response.body = coding.coded(response.headers, response.body)
    return response


def send(request: Request, response: Response, start_response: StartResponse) -> Iterable[bytes]:
    """The body, after its headers, as PEP 3333 has it."""
    start_response(response.status, response.headers[:])
    return [] if request.method == "HEAD" else response.body


def _coding(request: Request) -> str:
    asked = request.environ.get("HTTP_ACCEPT_ENCODING", "")
    return coding.MARK if asked and _prefers_gzip(asked[:MAX_ACCEPT]) else ""


@functools.lru_cache(maxsize=256)
def _prefers_gzip(asked: str) -> bool:
    """RFC 9110 section 12.5.3. What cannot be read asks for nothing."""
    header = create_accept_encoding_header(asked)
    if not isinstance(header, AcceptEncodingValidHeader):
        return False
    wanted = dict(header.acceptable_offers(["gzip", "identity"]))
    is_rival = "identity" in asked.lower() and wanted.get("identity", 0) > wanted.get("gzip", 0)
    return "gzip" in wanted and not is_rival


# --- Answers that are given again ---


class Kept:
    """Answers to GET that are asked for again, each given again until anything has changed.

    Keeping one costs more than it saves unless it is asked for again, so it is kept from the second
    time on. They and their requests take up to `MAX_KEPT` bytes together; when they become more,
    they are all dropped, and those that are asked for often are soon there again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answers: dict[_Asked, tuple[int, Response]] = {}
        self._size = 0
        self._once: set[int] = set()

    def answer(self, request: Request, make: Callable[[Request], Response]) -> Response:
        """The kept answer to this request, or else what `make` makes of it."""
        asked = _asked(request)
        if asked is None:
            return make(request)
        if kept := self._answers.get(asked):
            seen, response = kept
            with suppress(Unavailable):  # Without it, what needs no folder is served all the same.
                if seen == self._store.change_count == self._store.refresh():
                    return response
        seen = self._store.change_count
        response = make(request)
        # What has changed meanwhile may be in the answer, or not.
        is_current = seen == self._store.change_count
        if self._again(asked) and is_current and isinstance(response.body, list):
            self._keep(asked, seen, response)
        return response

    def _again(self, asked: "_Asked") -> bool:
        """Whether it was asked for before, among the last ones."""
        number = hash(asked)
        if number in self._once:
            return True
        if len(self._once) >= MAX_ONCE:
            self._once.clear()
        self._once.add(number)
        return False

    def _keep(self, asked: "_Asked", seen: int, response: Response) -> None:
        if replaced := self._answers.pop(asked, None):
            self._size -= _size(asked, replaced[1])
        size = _size(asked, response)
        if size > MAX_KEPT_ONE:
            return
        self._size += size
        if self._size > MAX_KEPT:
            self._answers, self._size = {}, size
        self._answers[asked] = seen, response


def _size(asked: "_Asked", answer: Response) -> int:
    texts = chain(filter(None, asked), answer.body, *answer.headers)
    return ANSWER_SIZE + sum(map(len, texts))


def _asked(request: Request) -> "_Asked | None":
    """All of a GET that its answer depends on; None if that is more, such as the time of day."""
    environ = request.environ
    is_read = environ["REQUEST_METHOD"] in ("GET", "HEAD")
    if not is_read or not environ.keys().isdisjoint(_UNKEPT):
        return None
    return tuple(map(environ.get, _ASKED))


_Asked = tuple[str | None, ...]
_UNKEPT = _CONDITIONS - {"HTTP_IF_NONE_MATCH"}
_GET = ("PATH_INFO", "QUERY_STRING", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING")
_ASKED = (*_GET, "HTTP_IF_NONE_MATCH", *_BASE)


# --- Routes ---


@dataclass(frozen=True)
class Route:
    """A path's template, its methods, and what its {field} may be."""

    template: str
    methods: Mapping[str, Callable[..., Response]]
    fields: Sequence[str] = ()

    @functools.cached_property
    def allow(self) -> str:
        """The value of Allow: RFC 9110 section 10.2.1."""
        head = ["HEAD"] if "GET" in self.methods else []
        return ", ".join(sorted([*self.methods, *head, "OPTIONS"]))

    def match(self, path: str) -> dict[str, str] | None:
        """The variable segments of a path by name, or None if this is not its route."""
        found = self._pattern.fullmatch(path)
        return found and found.groupdict()

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        id, field = f"(?P<id>{ID.pattern})", f"(?P<field>{'|'.join(self.fields)})"
        # A name with a dot, so that it can be no id.
        file = r"(?P<file>[a-z]+-[0-9a-f]+\.[a-z]+)"
        variables = {"id": id, "field": field, "file": file}
        template = re.escape(self.template)
        return re.compile(re.sub(r"\\{([a-z]+)\\}", lambda v: variables[v[1]], template))


# --- Strangers, names and addresses ---


@dataclass(frozen=True)
class Guard:
    """Keeps strangers out: rebound names, other sites' pages, whoever has no token.

    With a `token`, every request needs it, reads only unless `public_read`.
    """

    token: bytes | None
    public_read: bool
    base_url: str | None

    def check(self, request: Request) -> None:
        """Raises Refused for a request that must not come in."""
        environ = request.environ
        if environ.get("SERVER_PROTOCOL") == "HTTP/1.1" and "HTTP_HOST" not in environ:
            raise Refused(400, "A request of HTTP/1.1 needs a Host header.")  # RFC 9112 section 3.2
        host, method = environ.get("HTTP_HOST", "localhost"), request.method
        if len(host) > MAX_HOST:
            raise Refused(400, "The Host header is too long.")
        if self.token is not None or not _is_our_name(host, self.base_url):
            if not HOST.fullmatch(host):
                raise Refused(400, "The Host header is no name or address of a host.")
            if self.token is None:
                raise Refused(421, "This service does not answer to the name in Host.")
        if method not in SAFE_METHODS and _is_cross_site(request, self.base_url):
            raise Refused(403, "A page of another site cannot change anything here.")
        is_open = self.token is None or (self.public_read and method in ("GET", "HEAD"))
        if not is_open and not _has_token(request, self.token or b""):
            # Chromium looks at the first one only.
            challenge = 'Basic realm="Bookmarks", charset="UTF-8", Bearer realm="Bookmarks"'
            raise Refused(401, "This needs the service's token.", WWW_Authenticate=challenge)


def _host_name(url: str) -> str:
    """The name of the host in an address; none if it is no address."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _origin(url: str | None) -> str | None:
    """The origin of an address: RFC 6454 section 6.2."""
    return url and "{0.scheme}://{0.netloc}".format(urlsplit(url))


def is_loopback(name: str) -> bool:
    """Whether only this machine itself can be meant by the name."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def _is_our_name(host: str, base_url: str | None) -> bool:
    """Whether Host names this machine to itself, or is the name of the base address."""
    if not HOST.fullmatch(host):
        return False
    name = _host_name("//" + host)
    return is_loopback(name) or (base_url is not None and name == _host_name(base_url))


def _is_cross_site(request: Request, base_url: str | None) -> bool:
    """Whether a browser says that a page of another site sends this."""
    if site := request.environ.get("HTTP_SEC_FETCH_SITE"):
        return site not in ("same-origin", "none")
    sender = request.environ.get("HTTP_ORIGIN")
    return sender is not None and sender not in (request.host_url, _origin(base_url))


def _has_token(request: Request, token: bytes) -> bool:
    """Whether Authorization has the token, as Bearer's or as Basic's password (RFC 6750, 7617)."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    given = credentials.strip().encode("latin-1", "replace")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given, token)
