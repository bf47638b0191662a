"""Validators and conditional requests (RFC 9110 sections 8.8 and 13)."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

from msgspec.structs import replace
from webob import Request

from formats.form import HiddenFields
from formats.html.assets import Asset, assets_digest
from formats.http.compression import entity_tag_as_sent
from formats.http.response import Response, respond_with
from formats.merge import user_changes
from storage.bookmark import Fields
from storage.errors import PreconditionFailed
from storage.index import Entry, State

# The resources that have a `version` and the time `changed_at` of their last change.
Resource = Entry | State | Asset

CONDITION_VARIABLES = frozenset(
    {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE"}
)
# If-Modified-Since has no meaning for a request that changes something.
CHANGE_CONDITIONS = CONDITION_VARIABLES - {"HTTP_IF_MODIFIED_SINCE"}

# RFC 9110 section 8.8.3. WebOb's parser would miss "b" in `"a","b"`, where no space precedes it.
_ENTITY_TAG = re.compile(r'(W/)?"([^"]*)"')
# The earliest date of `formatdate`, in seconds since 1970. A file's time may be earlier.
_EARLIEST_DATE = int(datetime.min.replace(tzinfo=UTC).timestamp())


# --- Validators ---


def version_text(version: int) -> str:
    """Return 32 hexadecimal digits, the first part of each entity tag of the resource."""
    return f"{version:032x}"


def add_validators(response: Response, etag_suffix: str, resource: Resource) -> Response:
    """Add Last-Modified, and the ETag of a representation with a suffix such as `json`."""
    response.headers.append(("ETag", f'"{_entity_tag(resource, etag_suffix)}"'))
    response.headers.append(("Last-Modified", formatdate(last_modified(resource), usegmt=True)))
    return response


def validator_parts(
    format_name: str, entry: Entry, get_state: Callable[[], State]
) -> tuple[str, Entry]:
    """Return the ETag suffix and the resource from which a bookmark's validators are made."""
    if format_name != "html":
        return format_name, entry
    # The page of one bookmark offers the tags of other bookmarks of its host, so a change of any
    # bookmark may change the page. The ETag still begins with the version of `entry`: If-Match
    # compares only this version, so that a form can be saved after another bookmark changed.
    state = get_state()
    return f"html-{version_text(state.version)}", replace(entry, changed_at=state.changed_at)


def _entity_tag(resource: Resource, suffix: str) -> str:
    """Return a representation's opaque tag; other representations of a version have other tags."""
    if suffix.startswith("html"):  # A page changes with its style and script, whose links it has.
        suffix = f"{suffix}-{assets_digest()}"
    return f"{version_text(resource.version)}.{suffix}"


def last_modified(resource: Resource) -> int:
    """Return Last-Modified in seconds since 1970; never a time in the future.

    The time is that of the file. The field `modified` in a file would be too old after an edit by
    hand, and in a copy that was restored from a backup.
    """
    seconds = int(min(resource.changed_at, time.time()))  # Not later: RFC 9110 section 8.8.2.1.
    # A file system may give a file a time before the year 1, which no date can express.
    return max(seconds, _EARLIEST_DATE)


# --- Conditions ---


def require_conditions(
    request: Request, resource: Resource | None, form_version: object = None
) -> None:
    """Raise PreconditionFailed unless the request's conditions hold (RFC 9110 section 13.2.2).

    `resource` is None if it does not exist. `form_version` is the version that a form was filled
    from, None or empty for other requests.
    """
    if form_version and (resource is None or form_version != version_text(resource.version)):
        # The error page shows the user the stored bookmark beside the fields of the form.
        raise PreconditionFailed("It has changed since the form was opened.", resource)
    if request.environ.keys().isdisjoint(CONDITION_VARIABLES):
        return
    if (if_match := request.environ.get("HTTP_IF_MATCH")) is not None:
        if not _matches(if_match, resource, strong=True):
            raise PreconditionFailed("No entity tag in If-Match is that of the current version.")
    elif _changed_since_if_unmodified_since(request, resource):
        raise PreconditionFailed("It has changed since the date in If-Unmodified-Since.")
    if request.method in ("GET", "HEAD"):  # `not_modified` handles their If-None-Match.
        return
    if _matches(request.environ.get("HTTP_IF_NONE_MATCH", ""), resource):
        raise PreconditionFailed("An entity tag in If-None-Match is that of the current version.")


def merge_form(entry: Entry, fields: Fields, hidden_fields: HiddenFields | None) -> Fields:
    """Return those fields of a form that are to be stored.

    If the entry has changed since the form was opened, these are only the fields that the user
    changed. Raises PreconditionFailed if another client has changed one of them too.
    """
    # JSON, XBEL and the forms of other programs name no version, so all their fields are stored.
    if not hidden_fields or hidden_fields.version in ("", version_text(entry.version)):
        return fields
    changed, conflicts = user_changes(entry.bookmark, fields, hidden_fields.initial_field_digests)
    if conflicts:
        raise PreconditionFailed("It has changed since the form was opened.", entry)
    return changed


def _matches(entity_tags: str, resource: Resource | None, strong: bool = False) -> bool:
    """Return whether one of the entity tags in a header has the resource's current version.

    The representation may differ: a client that has read a bookmark as a page may change it as
    JSON. The value `*` matches every resource that exists. With `strong`, weak tags do not count.
    """
    if resource is None:
        return False
    version = version_text(resource.version)
    # `_entity_tag` puts a dot between the version and the suffix of the representation.
    versions = [tag.partition(".")[0] for tag in _parse_entity_tags(entity_tags, strong)]
    return entity_tags.strip() == "*" or version in versions


def _parse_entity_tags(header: str, strong: bool = False) -> list[str]:
    """Return the opaque tags in a header; with `strong`, leave out weak ones such as `W/"tag"`."""
    return [tag for weak, tag in _ENTITY_TAG.findall(header) if not (strong and weak)]


def _changed_since_if_unmodified_since(request: Request, resource: Resource | None) -> bool:
    """Return whether the resource has changed since that date (RFC 9110 section 13.1.4)."""
    date = _parse_date(request, "HTTP_IF_UNMODIFIED_SINCE")
    return resource is not None and date is not None and last_modified(resource) > date


def not_modified(
    request: Request, etag_suffix: str, get_resource: Callable[[], Resource]
) -> Response | None:
    """Return a 304 if the client of a GET has the current representation already, else None.

    `etag_suffix` names the representation, such as `json`. `get_resource` may take long, and is
    called only for a conditional request. Raises PreconditionFailed.
    """
    environ = request.environ
    if environ.keys().isdisjoint(CONDITION_VARIABLES):
        return None
    resource = get_resource()
    require_conditions(request, resource)
    if (if_none_match := environ.get("HTTP_IF_NONE_MATCH")) is not None:
        # The tag that this client would get now also depends on its Accept-Encoding. That of a page
        # depends on the client's login, too, because a page has a button to log in or out.
        current_tag = entity_tag_as_sent(request, _entity_tag(resource, etag_suffix))
        client_tags = _parse_entity_tags(if_none_match)
        is_current = if_none_match.strip() == "*" or current_tag in client_tags
    else:
        is_current = _unchanged_since_if_modified_since(request, resource)
    if not is_current:
        return None
    return add_validators(Response("304 Not Modified", []), etag_suffix, resource)


def _unchanged_since_if_modified_since(request: Request, resource: Resource) -> bool:
    """Return whether nothing has changed since If-Modified-Since, as far as dates can tell."""
    date = _parse_date(request, "HTTP_IF_MODIFIED_SINCE")
    if date is None or last_modified(resource) > date:
        return False
    # Dates are in whole seconds, so a client may have an older version with the same date. For a
    # second after the change no date gets a 304; later only an ETag tells the versions apart.
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


def respond_asset(request: Request, asset: Asset) -> Response:
    """Return a file of the service itself, or a 304."""
    if unchanged := not_modified(request, etag_suffix="file", get_resource=lambda: asset):
        return unchanged
    response = respond_with(asset.media_type, asset.body)
    return add_validators(response, "file", asset)  # A file has only this representation.
