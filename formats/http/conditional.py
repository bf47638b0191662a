"""Validators and conditional requests (RFC 9110 sections 8.8 and 13)."""

import functools
import re
import time
from collections.abc import Iterable
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from hashlib import blake2b

from webob import Request

from formats import Format
from formats.html.assets import Asset
from formats.http.compression import GZIP_SUFFIX, accepts_gzip
from formats.http.response import Response, respond_with
from storage.errors import PreconditionFailed
from storage.index import Entry, State

# The resources that have a `version` and the time `changed_at` of their last change.
Resource = Entry | State | Asset

CONDITION_VARIABLES = frozenset(
    {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE"}
)
# RFC 9110 section 8.8.3. WebOb's parser would miss "b" in `"a","b"`, where no space precedes it.
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')
# Cached, because all lists have the same date.
_http_date = functools.lru_cache(maxsize=1024)(functools.partial(formatdate, usegmt=True))


def respond(
    request: Request, format: Format, resource: Resource, chunks: Iterable[bytes], name: str = ""
) -> Response:
    """Return a representation of a resource, or 304 if the client of a GET has it already.

    The chunks, which may take long to make, are made only if they are sent, or for the entity tag
    of a page. `name` distinguishes representations of one resource in one format. Raises
    PreconditionFailed.
    """
    tag = f"{_version_text(resource)}.{name}{format.name}"
    if format.is_page:
        chunks = [b"".join(chunks)]
        tag += "-" + blake2b(chunks[0], digest_size=8).hexdigest()
    validators = {"ETag": f'"{tag}"', "Last-Modified": _http_date(_last_modified(resource))}
    if request.method in ("GET", "HEAD") and _is_not_modified(request, resource, tag):
        return Response("304 Not Modified", validators)
    response = respond_with(format.media_type, b"".join(chunks))
    if format.download_name:  # RFC 6266 section 4
        disposition = f'attachment; filename="{format.download_name}"'
        response.headers["Content-Disposition"] = disposition
    response.headers |= validators
    return response


def respond_asset(request: Request, asset: Asset) -> Response:
    """Return a file of the service itself, or a 304."""
    return respond(request, Format("file", asset.media_type), asset, [asset.body])


def _version_text(resource: Resource) -> str:
    """Return 32 hexadecimal digits, the first part of each entity tag of the resource."""
    return f"{resource.version:032x}"


def _last_modified(resource: Resource) -> int:
    """Return Last-Modified in seconds since 1970; never a time in the future.

    The time is that of the file. The field `modified` in a file would be too old after an edit by
    hand, and in a copy that was restored from a backup.
    """
    return int(min(resource.changed_at, time.time()))  # Not later: RFC 9110 section 8.8.2.1.


# --- Conditions ---


def require_conditions(request: Request, resource: Resource | None) -> None:
    """Raise PreconditionFailed unless the conditions of a change hold (RFC 9110 section 13.2.2).

    `resource` is None if it does not exist.
    """
    _require_unchanged(request, resource)
    if _matches(request.environ.get("HTTP_IF_NONE_MATCH", ""), resource):
        raise PreconditionFailed("An entity tag in If-None-Match is that of the current version.")


def _require_unchanged(request: Request, resource: Resource | None) -> None:
    """Raise PreconditionFailed unless If-Match, or else If-Unmodified-Since, holds."""
    if (if_match := request.environ.get("HTTP_IF_MATCH")) is not None:
        if not _matches(if_match, resource, strong=True):
            raise PreconditionFailed("No entity tag in If-Match is that of the current version.")
    elif resource is not None:
        date = _parse_date(request, "HTTP_IF_UNMODIFIED_SINCE")
        if date is not None and _last_modified(resource) > date:
            raise PreconditionFailed("It has changed since the date in If-Unmodified-Since.")


def _is_not_modified(request: Request, resource: Resource, tag: str) -> bool:
    """Return whether the client of a GET has this version. Raises PreconditionFailed."""
    environ = request.environ
    if environ.keys().isdisjoint(CONDITION_VARIABLES):
        return False
    _require_unchanged(request, resource)
    if (if_none_match := environ.get("HTTP_IF_NONE_MATCH")) is None:
        return _unchanged_since_if_modified_since(request, resource)
    tag_as_sent = tag + GZIP_SUFFIX if accepts_gzip(request) else tag
    return if_none_match.strip() == "*" or tag_as_sent in _parse_entity_tags(if_none_match)


def _matches(entity_tags: str, resource: Resource | None, strong: bool = False) -> bool:
    """Return whether one of the entity tags in a header has the resource's current version.

    The representation may differ: a client that has read a bookmark as a page may change it as
    JSON. The value `*` matches every resource that exists. With `strong`, weak tags do not count.
    """
    if resource is None:
        return False
    version = _version_text(resource)
    # `respond` puts a dot between the version and the name of the representation.
    versions = [tag.partition(".")[0] for tag in _parse_entity_tags(entity_tags, strong)]
    return entity_tags.strip() == "*" or version in versions


def _parse_entity_tags(header: str, strong: bool = False) -> list[str]:
    """Return the opaque tags in a header; with `strong`, leave out weak ones such as `W/"tag"`."""
    return [tag for weak, tag in _ENTITY_TAG.findall(header) if not (strong and weak)]


def _unchanged_since_if_modified_since(request: Request, resource: Resource) -> bool:
    """Return whether nothing has changed since If-Modified-Since, as far as dates show."""
    date = _parse_date(request, "HTTP_IF_MODIFIED_SINCE")
    if date is None or _last_modified(resource) > date:
        return False
    # Dates are in whole seconds, so a client may have an older version with the same date. For a
    # second after the change no date gets a 304; later only an ETag distinguishes the versions.
    return time.time() - resource.changed_at > 1


def _parse_date(request: Request, name: str) -> float | None:
    """Return a header's date in seconds since 1970, None if it is absent, invalid or future."""
    try:  # This parser is lenient, too, but WebOb's takes 31 February for 3 March.
        date = parsedate_to_datetime(request.environ.get(name, ""))
    except (ValueError, OverflowError):
        return None
    # A date without a time zone is in UTC, as every date in HTTP.
    seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # Ignore a date in the future: the service never sends one (RFC 9110 section 8.8.2.1).
    return seconds if seconds <= time.time() else None
