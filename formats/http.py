"""HTTP messages (RFC 9110): what a request says, and what an answer is made of."""

import base64
import binascii
import functools
import hmac
import ipaddress
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from itertools import islice
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlsplit

from webob import Request, Response
from webob.acceptparse import create_accept_header
from webob.etag import AnyETag

import formats
from formats import Format, Table, form, problem
from formats.errors import Malformed, TooLarge, Unsupported
from formats.validators import (
    Current,
    entity_tag,
    is_current,
    is_unchanged_since,
    last_modified,
    version_text,
)
from storage.bookmark import split_tags
from storage.errors import Invalid, PreconditionFailed

MAX_BODY = 1024 * 1024
MAX_ACCEPT = 4096

# RFC 3986 section 3.2.2, but for percent-encoding, which no host name has.
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::[0-9]{0,5})?")

T = TypeVar("T")
Parameters = list[tuple[str, str]]


def parameters(request: Request) -> Parameters:
    """The query's names and values, in order. Raises Malformed."""
    try:
        return form.pairs(request.environ.get("QUERY_STRING", "").encode("latin-1"))
    except Malformed as error:
        raise Malformed(f"The query cannot be read. {error}") from None


def negotiate(request: Request, table: Table, parameters: Parameters | None = None) -> str:
    """The name of the format that `format=` or else Accept asks for: RFC 9110 section 12.5.1."""
    asked = next((value for name, value in parameters or () if name == "format"), None)
    return formats.choose(table, asked, functools.partial(_best, request))


def _best(request: Request, offers: tuple[str, ...], also: tuple[str, ...] = ()) -> str | None:
    """The best of the media types for Accept; without one, or with an endless one, the first."""
    accept = request.headers.get("Accept", "")
    return _acceptable(accept if len(accept) <= MAX_ACCEPT else "", offers, also)


@functools.lru_cache(maxsize=256)
def _acceptable(accept: str, offers: tuple[str, ...], also: tuple[str, ...]) -> str | None:
    # Another name of a type counts only if it is asked for by name.
    offers += tuple(other for other in also if other in accept.lower())
    # A parameter of a range other than q, such as charset, narrows nothing here.
    ranges = re.sub(r";\s*+(?![qQ]\s*=)[^;,]*", "", accept)
    found = create_accept_header(ranges or None).acceptable_offers(offers)
    return str(found[0][0]) if found else None


def body(request: Request, table: Mapping[str, formats.Read]) -> tuple[dict[str, object], bool]:
    """The fields of the one bookmark in the body, and whether a form gave them."""
    read, parameters = _reader(request, table)
    found = read(_bytes(request), parameters)
    if len(found) != 1:
        raise Invalid([("body", f"must hold one bookmark, not {len(found)}")])
    return found[0], read in formats.FORMS.values()


def field_value(request: Request, field: str) -> object:
    """The value that the body gives a field; tags as text are lines, or parted by commas."""
    read, _ = _reader(request, formats.FIELD, "text/plain")
    value = read(_bytes(request))
    is_text = field == "tags" and read is formats.FIELD["text/plain"]
    return split_tags(str(value)) if is_text else value


def _reader(
    request: Request, table: Mapping[str, T], default: str = ""
) -> tuple[T, dict[str, str]]:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Unsupported("The body must not be compressed.", table)
    return formats.reader(table, request.headers.get("Content-Type") or default)


def _bytes(request: Request) -> bytes:
    """The whole body. Raises TooLarge, or Malformed if it is not all there."""
    too_large = TooLarge(MAX_BODY)
    length = request.content_length
    if length is None and not request.environ.get("wsgi.input_terminated"):
        return b""
    if length is not None and length > MAX_BODY:
        raise too_large
    chunks, left = [], MAX_BODY + 1 if length is None else length
    while left and (chunk := request.environ["wsgi.input"].read(left)):
        chunks.append(chunk)
        left -= len(chunk)
    if length is None and not left:
        raise too_large
    if length is not None and left:
        raise Malformed("The body ends before its Content-Length.")
    return b"".join(chunks)


# --- Preconditions and validators: RFC 9110 section 13 ---

_PRECONDITIONS = ("If-Match", "If-None-Match", "If-Unmodified-Since")


def is_conditional(request: Request) -> bool:
    """Whether a precondition may keep the request from changing anything."""
    return any(name in request.headers for name in _PRECONDITIONS)


def require(request: Request, current: Current | None, form_version: object = None) -> None:
    """Raises PreconditionFailed unless the request's preconditions hold, section 13.2.2.

    An entity tag begins with the version, so that any representation's will do.
    """
    if form_version and (current is None or form_version != version_text(current)):
        raise PreconditionFailed("It has changed since the form was opened.")
    if "If-Match" in request.headers:  # A missing one, an empty one and a * are one to WebOb.
        if not request.headers["If-Match"] or not _matches(request.if_match, current):
            raise PreconditionFailed("No entity tag in If-Match is that of this version.")
    elif (since := _date(request, "if_unmodified_since")) and (
        current is None or last_modified(current) > since
    ):
        raise PreconditionFailed("It has changed since the date in If-Unmodified-Since.")
    if request.method in ("GET", "HEAD"):
        return
    if "If-None-Match" in request.headers and _matches(request.if_none_match, current):
        raise PreconditionFailed("An entity tag in If-None-Match is that of this version.")


def _matches(tags: object, current: Current | None) -> bool:
    if current is None:
        return False
    return tags is AnyETag or is_current(getattr(tags, "etags", ()), current)


def not_modified(request: Request, name: str, current: Current) -> Response | None:
    """A 304, if what the client has is what it would get."""
    require(request, current)
    if "If-None-Match" in request.headers:
        unchanged = entity_tag(current, name) in request.if_none_match
    else:
        since = _date(request, "if_modified_since")
        unchanged = since is not None and is_unchanged_since(since, current)
    if not unchanged:
        return None
    response = Response(status=304, headerlist=[])
    validate(response, name, current)
    return response


def _date(request: Request, name: str) -> datetime | None:
    """The header's date; None, as if it were absent, if it is none."""
    try:
        date: datetime | None = getattr(request, name)
    except (ValueError, OverflowError, OSError):
        return None
    # One that is still to come proves nothing: RFC 9110 section 8.8.2.1.
    return date if date and date.timestamp() <= time.time() else None


def validate(response: Response, name: str, current: Current) -> None:
    """Gives the answer its validators."""
    response.headerlist.append(("ETag", f'"{entity_tag(current, name)}"'))
    response.headerlist.append(("Last-Modified", _http_date(last_modified(current))))


@functools.lru_cache(maxsize=1024)
def _http_date(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


# --- Answers ---


def response(format: Format, chunks: Iterator[bytes], streamed: bool = False) -> Response:
    """A 200 in this format; a streamed one is sent in blocks as it is written."""
    headers = [("Content-Type", format.media_type)]
    if streamed:
        return Response(headerlist=headers, app_iter=_blocks(chunks))
    body = b"".join(chunks)
    headers.append(("Content-Length", str(len(body))))
    return Response(headerlist=headers, app_iter=[body])


def _blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    while block := b"".join(islice(chunks, 256)):
        yield block


def see_other(url: str) -> Response:
    """What a form is answered with: RFC 9110 section 15.4.4."""
    return Response(status=303, headerlist=[("Location", url), ("Content-Length", "0")])


def problem_response(
    request: Request,
    status: int,
    detail: str,
    members: Mapping[str, object] = MappingProxyType({}),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """A problem document, or its page for a browser."""
    wanted = _best(request, problem.MEDIA_TYPES)
    media_type, body = problem.write(wanted or "", status, detail, members)
    listed = [("Content-Type", media_type), ("Content-Length", str(len(body)))]
    line = f"{status} {HTTPStatus(status).phrase}"
    return Response(status=line, headerlist=[*listed, *headers.items()], app_iter=[body])


# --- Names and addresses ---


def host_name(url: str) -> str:
    """The name of the host in an address; none if it is no address."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def origin(url: str | None) -> str | None:
    """The origin of an address: RFC 6454 section 6.2."""
    return url and "{0.scheme}://{0.netloc}".format(urlsplit(url)).lower()


def is_loopback(name: str) -> bool:
    """Whether only this machine itself can be meant by the name."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_our_name(request: Request, base_url: str | None) -> bool:
    """Whether Host names this machine to itself, or is the name of the base address."""
    name = host_name("//" + request.environ.get("HTTP_HOST", "localhost"))
    return is_loopback(name) or (base_url is not None and name == host_name(base_url))


def is_cross_site(request: Request, base_url: str | None) -> bool:
    """Whether a browser says that a page of another site sends this."""
    if site := request.headers.get("Sec-Fetch-Site"):
        return site not in ("same-origin", "none")
    sender = request.headers.get("Origin")
    return sender is not None and sender not in (request.host_url, origin(base_url))


def has_token(request: Request, token: bytes) -> bool:
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
