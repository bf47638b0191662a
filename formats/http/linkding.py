"""linkding's REST API over the same bookmarks, for linkding's extensions, apps and scripts.

The shapes, methods and statuses are those of https://linkding.link/api/.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace
from webob import Request

import formats
from formats.base_url import BaseUrl, with_query
from formats.errors import HTTPError
from formats.http.request import query_parameters, read_fields
from formats.http.response import CREATED, NO_CONTENT, OK, Response, respond_with
from formats.http.routing import Route, Service
from formats.imports.dates import parse_date
from formats.problem import Problem
from storage import bookmark as rules
from storage.bookmark import Bookmark, Fields, fold_tag, split_tags, timestamp
from storage.errors import Conflict, Gone, Invalid, Stale
from storage.index import Entry
from storage.query import Query, first_values, parse_query
from storage.search import parse_search
from storage.store import Store, retry_if_stale
from storage.tsid import linkding_number

LINKDING_VERSION = "1.44.0"  # The linkding that has this API. Clients refuse an older one.
# From the member of linkding's API for each mark, true or false, to the tag stored for the mark.
MARK_TAGS = {"unread": "unread", "is_archived": "archived", "shared": "shared"}
_TEXT_MEMBERS = ("url", "title", "description", "notes")
_MEMBERS = (*_TEXT_MEMBERS, "tag_names", "date_added", *MARK_TAGS)
# linkding's names of the fields of a bookmark that have other names here.
_LINKDING_NAMES = {"uri": "url", "tags": "tag_names", "created": "date_added"}
_READERS = {"application/json": formats.POST_READERS["application/json"], **formats.FORM_READERS}
_TRUE = (True, "true", "True", "1", "on", "yes")  # JSON has true, but forms have only texts.
_REQUIRED, _URL_EXISTS = "This field is required.", "A bookmark with this URL already exists."
# linkding's clients separate tags by spaces: in a tag, they get and send this character instead.
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_TAG_WITH_NO_BREAK_SPACE = re.compile(f'#([^ "()]*{_NO_BREAK_SPACE}[^ "()]*)')
Tags = tuple[str, ...]
_PROFILE: dict[str, object] = {
    "theme": "auto",
    "bookmark_date_display": "relative",
    "bookmark_link_target": "_blank",
    "web_archive_integration": "disabled",
    "tag_search": "lax",
    **dict.fromkeys(("enable_sharing", "enable_public_sharing", "enable_favicons"), False),
    **dict.fromkeys(("display_url", "permanent_notes"), False),
    "search_preferences": {"sort": "added_desc", "shared": "off", "unread": "off"},
    "version": LINKDING_VERSION,
}
_EMPTY_PAGE: dict[str, object] = {"count": 0, "next": None, "previous": None, "results": []}


def list_bookmarks(service: Service, request: Request, query: Query) -> Response:
    """GET /api/bookmarks/ and .../archived/: respond with a page of the query's bookmarks."""
    parameters = first_values(query_parameters(request))
    # A tag that a client sends with a no-break space is searched with a space, and needs quotes.
    quoted = _TAG_WITH_NO_BREAK_SPACE.sub(r'#"\1"', parameters.get("q", ""))
    tags = (*query.tags, "unread") if parameters.get("unread") == "yes" else query.tags
    query = replace(query, search=parse_search(quoted.replace(_NO_BREAK_SPACE, " ")), tags=tags)
    # A parameter that is absent is an empty text here, which sorts before every date.
    added_since = _parse_date_parameter(parameters, "added_since")
    modified_since = _parse_date_parameter(parameters, "modified_since")
    bookmarks = service.store.select(query).bookmarks
    matches = [b for b in bookmarks if b.created >= added_since and b.modified >= modified_since]
    return _respond_page(service, request, matches, _bookmark_document)


def _parse_date_parameter(parameters: Mapping[str, str], name: str) -> str:
    """Return the date in a parameter, empty without the parameter. Raises Invalid."""
    date = parse_date(parameters.get(name))
    if parameters.get(name) and not date:
        raise Invalid([(name, "must be a date, such as 2025-01-01T00:00:00Z")])
    return date or ""


def _respond_page(
    service: Service, request: Request, items: Sequence[Any], show: Callable[[Any], object]
) -> Response:
    """Respond with a page: `limit` items, or 100 if the query has no limit, from `offset` on."""
    parameters = query_parameters(request)
    others = [(name, value) for name, value in parameters if name not in ("limit", "offset")]
    page_parameters = [pair for pair in parameters if pair not in others]
    # `parse_query` takes the first limit, so 100 is the default, and ignores offset without limit.
    query = parse_query([*page_parameters, ("limit", "100")])
    limit, offset = query.limit or 0, query.offset  # `or 0` is for mypy: there is a limit.
    address = service.base(request).url + str(request.path_info)

    def link(offset: int) -> str:
        return with_query(address, [*others, ("limit", str(limit)), ("offset", str(offset))])

    page = {
        "count": len(items),
        # With limit=0, a client that follows `next` would get empty pages without end.
        "next": link(offset + limit) if limit and offset + limit < len(items) else None,
        "previous": link(max(offset - limit, 0)) if offset else None,
        "results": list(map(show, items[offset : offset + limit])),
    }
    return _respond(page)


def check(service: Service, request: Request) -> Response:
    """GET /api/bookmarks/check/: respond with the bookmark of a url, null if there is none."""
    url = dict(query_parameters(request)).get("url", "").strip()
    if not url:
        raise Invalid([("url", _REQUIRED)])
    entry = service.store.holder(url)
    bookmark = _bookmark_document(entry.bookmark) if entry else None
    metadata = {"url": url, "title": None, "description": None, "preview_image": None}
    return _respond({"bookmark": bookmark, "metadata": metadata, "auto_tags": []})


def list_tags(service: Service, request: Request) -> Response:
    """GET /api/tags/: respond with a page of the tags by name, without those of marks."""
    counts, _untagged, _state = service.store.tag_counts()
    shown = [(tag, count) for tag, count in counts if not _is_mark_tag(tag)]
    shown.sort(key=lambda tag_and_count: fold_tag(tag_and_count[0]))
    return _respond_page(service, request, shown, lambda each: _tag_document(service.store, *each))


def get_tag(service: Service, request: Request, number: str) -> Response:
    """GET /api/tags/{number}/: respond with the tag whose name has this number."""
    counts, _untagged, _state = service.store.tag_counts()
    for tag, count in counts:
        if linkding_number(fold_tag(tag)) == int(number) and not _is_mark_tag(tag):
            return _respond(_tag_document(service.store, tag, count))
    raise HTTPError(404, "There is no tag of this number.")


def add_tag(service: Service, request: Request) -> Response:
    """POST /api/tags/: respond with the tag, but store nothing: only bookmarks have tags."""
    sent = _read_members(request, ("name",))
    if "name" not in sent:
        raise Invalid([("name", _REQUIRED)])
    (tag,) = _parse_tags([sent["name"]])
    return _respond(_tag_document(service.store, tag, count=0), CREATED)


def get_health(service: Service, request: Request) -> Response:
    """GET /health: respond whether the data folder can be read. Raises Unavailable."""
    service.store.state()  # This reads the data folder.
    return _respond({"status": "healthy", "version": LINKDING_VERSION})


def create(service: Service, request: Request) -> Response:
    """POST /api/bookmarks/: create a bookmark, or update that of the url; 201 for both."""
    sent = _read_members(request, _MEMBERS)
    # Only a form that has shown the stored bookmark sends notes, and with them all tags to keep.
    keeps_stored_tags = "notes" not in sent
    # Other forms send empty texts, which must not overwrite the texts of a stored bookmark.
    filled = {name: value for name, value in sent.items() if value or name not in _TEXT_MEMBERS}
    if "url" not in filled:
        raise Invalid([("url", _REQUIRED)])
    uri = rules.clean({"uri": filled.pop("url")})["uri"]

    def attempt() -> Entry:
        try:
            if entry := service.store.holder(uri):
                stored = entry.bookmark
                changes = _fields_to_store(filled, stored, keeps_stored_tags)
                return service.store.replace(rules.update(stored, changes), entry)
            new = rules.create({"uri": uri} | _fields_to_store(filled), service.store.mint())
            return service.store.add(new)
        except (Conflict, Gone):  # Another client has just added or deleted this uri: try again.
            raise Stale from None

    return _respond(_bookmark_document(retry_if_stale(attempt).bookmark), CREATED)


def get(service: Service, request: Request, number: str) -> Response:
    """GET /api/bookmarks/{number}/: respond with one bookmark."""
    return _respond(_bookmark_document(service.store.get_numbered(int(number)).bookmark))


def update(service: Service, request: Request, number: str) -> Response:
    """PUT and PATCH /api/bookmarks/{number}/: set the members that are sent. PUT needs the url."""
    sent = _read_members(request, _MEMBERS)
    if request.method == "PUT" and "url" not in sent:
        raise Invalid([("url", _REQUIRED)])
    return _respond(_bookmark_document(_update(service.store, number, sent).bookmark))


def set_archived(service: Service, request: Request, number: str, verb: str) -> Response:
    """POST /api/bookmarks/{number}/archive/ and .../unarchive/: set or remove the mark."""
    _update(service.store, number, {"is_archived": verb == "archive"})
    return Response(NO_CONTENT, [])


def delete(service: Service, request: Request, number: str) -> Response:
    """DELETE /api/bookmarks/{number}/: delete the bookmark."""
    retry_if_stale(lambda: service.store.delete(service.store.get_numbered(int(number))))
    return Response(NO_CONTENT, [])


def _update(store: Store, number: str, sent: Mapping[str, object]) -> Entry:
    def attempt() -> Entry:
        entry = store.get_numbered(int(number))
        changes = _fields_to_store(sent, entry.bookmark)
        return store.replace(rules.update(entry.bookmark, changes), entry)

    return retry_if_stale(attempt)


def _read_members(request: Request, members: Sequence[str]) -> dict[str, object]:
    """Return these members of the body, if they have a value. Raises HTTPError or Malformed."""
    body, _ = read_fields(request, _READERS)
    return {name: body[name] for name in members if body.get(name) is not None}


def _fields_to_store(
    sent: Mapping[str, object], stored: Bookmark | None = None, keeps_stored_tags: bool = False
) -> Fields:
    """Return the fields of a new or stored bookmark that the sent members set. Raises Invalid."""
    own_names = {"title": "title", "url": "uri"}
    fields = {own: sent[member] for member, own in own_names.items() if member in sent}
    if "date_added" in sent:  # For a text that is no date, `rules.clean` raises the error.
        fields["created"] = parse_date(sent["date_added"]) or sent["date_added"]
    if "description" in sent or "notes" in sent:
        description = sent.get("description", stored.description if stored else "")
        fields["description"] = _add_notes(description, sent.get("notes"))
    fields["tags"] = _tags_to_store(sent, stored.tags if stored else (), keeps_stored_tags)
    return rules.clean(fields)


def _add_notes(description: object, notes: object) -> object:
    """Return the description with linkding's notes as its last paragraph, but never twice."""
    if not (isinstance(description, str) and isinstance(notes, str) and notes.strip()):
        return description
    description, notes = description.strip(), notes.strip().replace("\r\n", "\n")
    has_notes = f"\n\n{description}".endswith(f"\n\n{notes}")
    return description if has_notes else f"{description}\n\n{notes}"


def _tags_to_store(sent: Mapping[str, object], stored: Tags, keeps_stored_tags: bool) -> Tags:
    """Return the new tags of a bookmark, with those of marks. Raises Invalid.

    A sent member replaces its stored tags, or with `keeps_stored_tags` only adds to them.
    """
    stored_names = tuple(tag for tag in stored if not _is_mark_tag(tag))
    stored_marks = {fold_tag(tag) for tag in stored if _is_mark_tag(tag)}
    names = _parse_tags(sent["tag_names"]) if "tag_names" in sent else stored_names
    marks = {tag for member, tag in MARK_TAGS.items() if sent.get(member) in _TRUE}
    if keeps_stored_tags:
        marks |= stored_marks
        names = tuple(dict.fromkeys((*stored_names, *names)))
    else:
        marks |= {tag for member, tag in MARK_TAGS.items() if member not in sent} & stored_marks
    # Storage would write the same tags in another order as a change.
    is_same = (names, marks) == (stored_names, stored_marks)
    return stored if is_same else (*names, *sorted(marks))


def _parse_tags(names: object) -> Tags:
    """Return the tags in an array, or in a text that separates them by commas. Raises Invalid."""
    names = split_tags(names) if isinstance(names, str) else names
    # Clients, which separate tags by spaces, send a no-break space for the space in a tag.
    return tuple(tag.replace(_NO_BREAK_SPACE, " ") for tag in rules.clean({"tags": names})["tags"])


def _is_mark_tag(tag: str) -> bool:
    return fold_tag(tag) in MARK_TAGS.values()  # For clients, marks are members, not tags.


def _bookmark_document(bookmark: Bookmark) -> dict[str, object]:
    """Return a bookmark as linkding shows it."""
    folded_tags = set(map(fold_tag, bookmark.tags))
    names = [tag for tag in bookmark.tags if not _is_mark_tag(tag)]
    return {
        "id": linkding_number(bookmark.id),  # The ids of linkding are numbers.
        "url": bookmark.uri,
        "title": bookmark.title,
        "description": bookmark.description,
        "notes": "",  # The description contains them.
        "web_archive_snapshot_url": "",
        **{member: tag in folded_tags for member, tag in MARK_TAGS.items()},
        # A tag with a space would be two tags for clients.
        "tag_names": [name.replace(" ", _NO_BREAK_SPACE) for name in names],
        "date_added": bookmark.created.replace("Z", ".000000Z"),  # The app Pinkt needs a fraction.
        "date_modified": bookmark.modified.replace("Z", ".000000Z"),
        # The service fetches no page, so it does not know these.
        **dict.fromkeys(("favicon_url", "preview_image_url")),
        **dict.fromkeys(("website_title", "website_description")),
    }


def _tag_document(store: Store, tag: str, count: int) -> dict[str, object]:
    """Return a tag as linkding shows it, with the date of the oldest of its `count` bookmarks."""
    query = Query(tags=(fold_tag(tag),), limit=1, offset=max(count - 1, 0))  # The last is oldest.
    dates = [bookmark.created for bookmark in store.select(query).bookmarks]
    date = dates[0] if dates else timestamp(time.time())  # A new tag has no bookmark.
    return {
        "id": linkding_number(fold_tag(tag)),  # The ids of linkding are numbers.
        "name": tag.replace(" ", _NO_BREAK_SPACE),  # With a space, it would be two tags.
        "date_added": date.replace("Z", ".000000Z"),  # The app Pinkt needs a fraction of seconds.
    }


def _respond(document: object, status: str = OK) -> Response:
    return respond_with("application/json", msgspec.json.encode(document), status)


def respond_problem(request: Request, problem: Problem, base: BaseUrl) -> Response:
    """Return the problem in linkding's shape: a 400 has reasons by member, another a detail."""
    status = 404 if problem.status == 410 else problem.status  # linkding has no 410.
    errors = {400: [("non_field_errors", problem.detail)], 409: [("url", _URL_EXISTS)]}
    reasons_by_member: dict[str, list[str]] = {}
    for field, reason in errors.get(status, problem.errors):
        status = 400  # linkding's only status for wrong members, in place of 409 and 422.
        reasons_by_member.setdefault(_LINKDING_NAMES.get(field, field), []).append(reason)
    document: object = reasons_by_member or {"detail": problem.detail}
    response = _respond(document, f"{status} {HTTPStatus(status).phrase}")
    response.headers += problem.headers.items()
    return response


def respond_unhealthy(request: Request, problem: Problem, base: BaseUrl) -> Response:
    """Return the problem of GET /health: 503 if the data folder cannot be read."""
    if problem.status != 503:
        return respond_problem(request, problem, base)
    return _respond({"status": "unhealthy", "version": LINKDING_VERSION}, "503 Service Unavailable")


_list_active = partial(list_bookmarks, query=Query(without_tag="archived"))
_list_archived = partial(list_bookmarks, query=Query(tags=("archived",)))
_METHODS: Mapping[str, Mapping[str, Callable[..., Response]]] = {
    "/api/bookmarks/": {"GET": _list_active, "POST": create},
    "/api/bookmarks/archived/": {"GET": _list_archived},
    "/api/bookmarks/check/": {"GET": check},
    "/api/bookmarks/check": {"GET": check},  # The app Linkdy leaves out the slash.
    "/api/bookmarks/{number}/": {"GET": get, "PUT": update, "PATCH": update, "DELETE": delete},
    "/api/bookmarks/{number}/{verb}/": {"POST": set_archived},
    "/api/tags/": {"GET": list_tags, "POST": add_tag},
    "/api/tags/{number}/": {"GET": get_tag},
    "/api/user/profile/": {"GET": lambda service, request: _respond(_PROFILE)},
    "/api/bundles/": {"GET": lambda service, request: _respond(_EMPTY_PAGE)},  # Saved searches.
    "/api/": {},  # No methods: 404 in linkding's shape.
    "/api/{rest}": {},  # {rest} contains a slash: /api/title is the title of the bookmark `api`.
}
ROUTES = (
    *(Route(path, methods, respond_problem=respond_problem) for path, methods in _METHODS.items()),
    Route("/health", {"GET": get_health}, respond_problem=respond_unhealthy),
)
