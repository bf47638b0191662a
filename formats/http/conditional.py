"""Validators and conditional requests (RFC 9110 sections 8.8 and 13)."""

import functools
import re
import time
from collections.abc import Iterable
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from hashlib import blake2b

from webob import Request

import formats
from formats import Format
from formats.html.assets import Asset
from formats.http.compression import GZIP_TAG_SUFFIX, accepts_gzip
from formats.http.response import NOT_MODIFIED, Response, respond_with
from storage.errors import PreconditionFailed
from storage.index import Entry, State

Resource = Entry | State | Asset

CONDITION_VARIABLES = frozenset(
    {
        "HTTP_IF_MATCH",
        "HTTP_IF_NONE_MATCH",
        "HTTP_IF_MODIFIED_SINCE",
        "HTTP_IF_UNMODIFIED_SINCE",
    }
)
VISITOR_VARIABLE = "bookmarks.visitor"
# RFC 9110 section 8.8.3. WebOb's parser misses "b" in `"a","b"`.
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')


def respond(
    request: Request,
    format: Format,
    resource: Resource,
    chunks: Iterable[bytes],
    field: str = "",
) -> Response:
    """Respond with a resource, with one of its fields, or with 304. Raises PreconditionFailed."""
    tag = _entity_tag(request, format, resource, field)
    if not format.is_page:
        return _respond_with_tag(request, format, resource, chunks, tag)
    # Other bookmarks can change a page, so its entity tag has a digest of the page.
    page = b"".join(chunks)
    tag += "-" + blake2b(page, digest_size=8).hexdigest()
    return _respond_with_tag(request, format, resource, [page], tag)


def _respond_with_tag(
    request: Request,
    format: Format,
    resource: Resource,
    chunks: Iterable[bytes],
    tag: str,
) -> Response:
    validators = {
        "ETag": f'"{tag}"',
        "Last-Modified": _http_date(_last_modified(resource)),
    }
    if request.method in ("GET", "HEAD"):
        _require_unchanged(request, resource)
        if _is_not_modified(request, format, resource, tag):
            return Response(NOT_MODIFIED, validators)
    response = respond_with(format.media_type, b"".join(chunks))
    if format.download_name:
        disposition = f'attachment; filename="{format.download_name}"'
        response.headers["Content-Disposition"] = disposition
    response.headers |= validators
    return response


def respond_asset(request: Request, asset: Asset) -> Response:
    return respond(request, Format("file", asset.media_type), asset, [asset.body])


def _entity_tag(request: Request, format: Format, resource: Resource, field: str) -> str:
    name = format.name
    if field:
        name = f"{field}.{name}"
    tag = f"{resource.version:032x}.{formats.__version__}-{name}"
    if VISITOR_VARIABLE in request.environ:
        tag += "-public"
    return tag


def _last_modified(resource: Resource) -> int:
    """Return a time that is not in the future (RFC 9110 section 8.8.2.1)."""
    return int(min(resource.changed_at, time.time()))


@functools.lru_cache(maxsize=1024)
def _http_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


# --- Conditions ---


def require_conditions(request: Request, resource: Resource | None) -> None:
    """Check the conditions of a change. Raises PreconditionFailed.

    `resource` is None if the change creates it.
    """
    _require_unchanged(request, resource)
    if_none_match = request.environ.get("HTTP_IF_NONE_MATCH", "")
    if _matches(if_none_match, resource):
        raise PreconditionFailed("If-None-Match names the current version.")


def _require_unchanged(request: Request, resource: Resource | None) -> None:
    """Check If-Match, or else If-Unmodified-Since (RFC 9110 section 13.2.2)."""
    if_match = request.environ.get("HTTP_IF_MATCH")
    if if_match is not None:
        if not _matches(if_match, resource, accepts_weak=False):
            raise PreconditionFailed("If-Match does not name the current version.")
    elif resource is not None:
        date = _parse_date(request, "HTTP_IF_UNMODIFIED_SINCE")
        if date is not None and _may_have_changed_since(date, resource):
            raise PreconditionFailed(
                "It may have changed since the date in If-Unmodified-Since."
            )


def _is_not_modified(
    request: Request, format: Format, resource: Resource, tag: str
) -> bool:
    if_none_match = request.environ.get("HTTP_IF_NONE_MATCH")
    if if_none_match is None:
        if format.is_page:
            return False  # Other bookmarks can change a page, but not its Last-Modified.
        date = _parse_date(request, "HTTP_IF_MODIFIED_SINCE")
        return date is not None and not _may_have_changed_since(date, resource)
    if if_none_match.strip() == "*":
        return True
    if accepts_gzip(request):
        tag += GZIP_TAG_SUFFIX
    return tag in [sent for _weak, sent in _ENTITY_TAG.findall(if_none_match)]


def _matches(
    header: str, resource: Resource | None, *, accepts_weak: bool = True
) -> bool:
    """Return whether the header names the current version, in any format."""
    if resource is None:
        return False
    if header.strip() == "*":
        return True
    current_version = f"{resource.version:032x}"
    for weak, tag in _ENTITY_TAG.findall(header):
        if weak and not accepts_weak:
            continue
        version = tag.partition(".")[0]
        if version == current_version:
            return True
    return False


def _may_have_changed_since(date: float, resource: Resource) -> bool:
    if _last_modified(resource) > date:
        return True
    # HTTP dates have whole seconds, so changes within one second have the same date.
    return time.time() - resource.changed_at <= 1


def _parse_date(request: Request, name: str) -> float | None:
    """Return seconds since 1970, or None for an invalid or future date."""
    text = request.environ.get(name)
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)  # WebOb's parser accepts 31 February.
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:  # Dates in HTTP are in UTC.
        date = date.replace(tzinfo=UTC)
    seconds = date.timestamp()
    if seconds > time.time():
        return None
    return seconds
