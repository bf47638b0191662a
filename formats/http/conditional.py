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
from formats.http.compression import GZIP_SUFFIX, accepts_gzip
from formats.http.response import NOT_MODIFIED, Response, respond_with
from storage.errors import PreconditionFailed
from storage.index import Entry, State

# Each has `version` and `changed_at`, the time of its last change.
Resource = Entry | State | Asset

CONDITION_VARIABLES = frozenset(
    {
        "HTTP_IF_MATCH",
        "HTTP_IF_NONE_MATCH",
        "HTTP_IF_MODIFIED_SINCE",
        "HTTP_IF_UNMODIFIED_SINCE",
    }
)
# The WSGI variable that the application sets for a visitor.
VISITOR_VARIABLE = "bookmarks.visitor"
# An entity tag (RFC 9110 section 8.8.3). WebOb's parser would miss "b" in `"a","b"`.
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')


def respond(
    request: Request,
    format: Format,
    resource: Resource,
    chunks: Iterable[bytes],
    name: str = "",
) -> Response:
    """Return a representation of a resource, or 304. Raises PreconditionFailed.

    `name` tells apart several representations of the resource in one format.
    """
    tag = _entity_tag(request, format, resource, name)
    if format.is_page:
        # A page also shows other bookmarks, so its tag depends on its bytes.
        page = b"".join(chunks)
        chunks = [page]
        tag += "-" + blake2b(page, digest_size=8).hexdigest()
    validators = {
        "ETag": f'"{tag}"',
        "Last-Modified": _http_date(_last_modified(resource)),
    }
    if request.method in ("GET", "HEAD"):
        _require_unchanged(request, resource)
        if _is_not_modified(request, format, resource, tag):
            return Response(NOT_MODIFIED, validators)
    response = respond_with(format.media_type, b"".join(chunks))
    if format.download_name:  # RFC 6266 section 4
        disposition = f'attachment; filename="{format.download_name}"'
        response.headers["Content-Disposition"] = disposition
    response.headers |= validators
    return response


def respond_asset(request: Request, asset: Asset) -> Response:
    """Return a file such as a style sheet, or 304."""
    return respond(request, Format("file", asset.media_type), asset, [asset.body])


def _entity_tag(request: Request, format: Format, resource: Resource, name: str) -> str:
    tag = f"{resource.version:032x}.{formats.__version__}-{name}{format.name}"
    if VISITOR_VARIABLE in request.environ:
        tag += "-public"
    return tag


def _last_modified(resource: Resource) -> int:
    """Return a time that is not in the future (RFC 9110 section 8.8.2.1)."""
    return int(min(resource.changed_at, time.time()))


@functools.lru_cache(maxsize=1024)  # Formatting a date is slow.
def _http_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


# --- Conditions ---


def require_conditions(request: Request, resource: Resource | None) -> None:
    """Raise PreconditionFailed unless the conditions of a change hold.

    `resource` is None if it does not exist.
    """
    _require_unchanged(request, resource)
    if_none_match = request.environ.get("HTTP_IF_NONE_MATCH", "")
    if _matches(resource, if_none_match, _opaque_tags(if_none_match)):
        raise PreconditionFailed(
            "An entity tag in If-None-Match is that of the current version."
        )


def _require_unchanged(request: Request, resource: Resource | None) -> None:
    if_match = request.environ.get("HTTP_IF_MATCH")
    if if_match is not None:
        if not _matches(resource, if_match, _strong_tags(if_match)):
            raise PreconditionFailed(
                "No entity tag in If-Match is that of the current version."
            )
    elif resource is not None:
        date = _parse_date(request, "HTTP_IF_UNMODIFIED_SINCE")
        if date is not None and not _is_certainly_unchanged_since(date, resource):
            raise PreconditionFailed(
                "It may have changed since the date in If-Unmodified-Since."
            )


def _is_not_modified(
    request: Request, format: Format, resource: Resource, tag: str
) -> bool:
    if_none_match = request.environ.get("HTTP_IF_NONE_MATCH")
    if if_none_match is None:
        date = _parse_date(request, "HTTP_IF_MODIFIED_SINCE")
        if date is None or format.is_page:  # A page also shows other bookmarks.
            return False
        return _is_certainly_unchanged_since(date, resource)
    if if_none_match.strip() == "*":
        return True
    if accepts_gzip(request):
        tag += GZIP_SUFFIX
    return tag in _opaque_tags(if_none_match)


def _matches(resource: Resource | None, header: str, tags: list[str]) -> bool:
    """Return whether `*` or one of the entity tags names the current version.

    The format in a tag does not matter, because a client may read HTML and send JSON.
    """
    if resource is None:
        return False
    if header.strip() == "*":
        return True
    # As in `_entity_tag`, the version ends at the first dot.
    versions = [tag.partition(".")[0] for tag in tags]
    return f"{resource.version:032x}" in versions


def _opaque_tags(header: str) -> list[str]:
    """Return the entity tags in a header, without `W/`."""
    return [tag for _, tag in _ENTITY_TAG.findall(header)]


def _strong_tags(header: str) -> list[str]:
    """Return the entity tags in a header, without weak ones such as `W/"tag"`."""
    return [tag for weak, tag in _ENTITY_TAG.findall(header) if not weak]


def _is_certainly_unchanged_since(date: float, resource: Resource) -> bool:
    if _last_modified(resource) > date:
        return False
    # A date has whole seconds, so a resource may change again within the same second.
    return time.time() - resource.changed_at > 1


def _parse_date(request: Request, name: str) -> float | None:
    """Return seconds since 1970, or None for an invalid or future date."""
    text = request.environ.get(name)
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)  # WebOb would take 31 February for 3 March.
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:  # Every date in HTTP is in UTC.
        date = date.replace(tzinfo=UTC)
    seconds = date.timestamp()
    if seconds > time.time():
        return None
    return seconds
