"""linkding's REST API (https://linkding.link/api/), for clients of linkding."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from webob import Request

import formats
from formats.http import linkding_shapes as shapes
from formats.http.linkding_query import select_bookmarks
from formats.http.linkding_shapes import Document
from formats.http.problems import problem_of, raise_if_unfinished
from formats.http.request import query_parameters, read_fields
from formats.http.response import CREATED, NO_CONTENT, OK, HTTPError, Response, respond_with
from formats.http.routing import Route, Router, Service, path_of
from formats.listing import Site, before_offset, links_to_pages, parse_number
from storage import bookmark as rules
from storage.bookmark import Bookmark, fold_tag
from storage.errors import Invalid
from storage.files import is_readable
from storage.numbers import number_of_id
from storage.query import Query, first_values
from storage.retag import replace_tags
from storage.store import Store

_ARCHIVED = shapes.TAG_BY_FLAG["is_archived"]
_REQUIRED_TEXT = "This field is required."
_PAGE_SIZE = 100

# --- Lists ---


def list_active(service: Service, request: Request) -> Response:
    """GET /api/bookmarks/: a page of the bookmarks that are not archived."""
    return _list_bookmarks(service, request, Query(without_tags=(_ARCHIVED,)))


def list_archived(service: Service, request: Request) -> Response:
    """GET /api/bookmarks/archived/: a page of the archived bookmarks."""
    return _list_bookmarks(service, request, Query(tags=(_ARCHIVED,)))


def _list_bookmarks(service: Service, request: Request, query: Query) -> Response:
    values = first_values(query_parameters(request))
    bookmarks = select_bookmarks(service.store, query, values)
    return _respond_page(service, request, bookmarks, shapes.bookmark_document)


def _respond_page(
    service: Service,
    request: Request,
    items: Sequence[Any],
    to_document: Callable[[Any], Document],
) -> Response:
    parameters = query_parameters(request)
    values = first_values(parameters)
    limit = parse_number(values.get("limit")) or _PAGE_SIZE
    offset = parse_number(values.get("offset")) or 0
    others = [(name, value) for name, value in parameters if name not in ("limit", "offset")]
    address = service.site(request).url + path_of(request)
    before = before_offset(address, [*others, ("limit", limit)])
    links = links_to_pages(before, offset, limit, len(items))
    page = {
        "count": len(items),
        "next": links.get("next"),
        "previous": links.get("prev"),
        "results": [to_document(item) for item in items[offset : offset + limit]],
    }
    return _respond(page)


# --- Tags ---


def list_tags(service: Service, request: Request) -> Response:
    """GET /api/tags/: a page of the tags, in alphabetical order."""
    tags = sorted(_tags(service.store), key=fold_tag)
    to_document = functools.partial(_tag_document, service.store)
    return _respond_page(service, request, tags, to_document)


def get_tag(service: Service, request: Request, number: str) -> Response:
    """GET /api/tags/{number}/: the tag that has this number."""
    tag = _find_tag(service.store, number)
    return _respond(_tag_document(service.store, tag))


def delete_tag(service: Service, request: Request, number: str) -> Response:
    """DELETE /api/tags/{number}/: remove the tag from all bookmarks."""
    tag = _find_tag(service.store, number)
    report = replace_tags(service.store, [tag], [])
    raise_if_unfinished(report)
    if report.failed:
        raise HTTPError(503, f"Not all bookmarks were changed. {report.failed[0].reason}")
    return Response(NO_CONTENT, {})


def add_tag(service: Service, request: Request) -> Response:
    """POST /api/tags/: respond with the tag, but store nothing."""
    sent = _read_document(request, ["name"])
    if "name" not in sent:
        raise Invalid([("name", _REQUIRED_TEXT)])
    with shapes.errors_named("name"):
        tags = shapes.parse_tags([sent["name"]])
    if len(tags) != 1:
        raise Invalid([("name", "must be one tag, without commas and line breaks")])
    return _respond(_tag_document(service.store, tags[0]), CREATED)


def _tags(store: Store) -> list[str]:
    """Return all tags except linkding's flags, such as `unread`."""
    counts, _state = store.tag_counts()
    return [tag for tag, _count in counts if not shapes.stores_flag(tag)]


def _find_tag(store: Store, number: str) -> str:
    wanted = int(number)
    found = [tag for tag in _tags(store) if number_of_id(fold_tag(tag)) == wanted]
    if len(found) != 1:
        raise HTTPError(404, "No tag has this number, or several have it.")
    return found[0]


def _tag_document(store: Store, tag: str) -> Document:
    oldest = store.oldest(fold_tag(tag))
    if oldest:
        date = oldest.bookmark.created
    else:
        date = rules.now()
    return {
        "id": number_of_id(fold_tag(tag)),
        "name": shapes.linkding_tag(tag),
        "date_added": shapes.linkding_date(date),
    }


# --- One bookmark ---


def get(service: Service, request: Request, number: str) -> Response:
    """GET /api/bookmarks/{number}/: one bookmark."""
    entry = service.store.get(_find_id(service.store, number))
    return _respond(shapes.bookmark_document(entry.bookmark))


def check(service: Service, request: Request) -> Response:
    """GET /api/bookmarks/check/: the bookmark of a url, or null."""
    url = first_values(query_parameters(request)).get("url", "").strip()
    if not url:
        raise Invalid([("url", _REQUIRED_TEXT)])
    document = None
    entry = service.store.holder(url)
    if entry:
        document = shapes.bookmark_document(entry.bookmark)
    metadata = {"url": url, "title": None, "description": None, "preview_image": None}
    return _respond({"bookmark": document, "metadata": metadata, "auto_tags": []})


def create(service: Service, request: Request) -> Response:
    """POST /api/bookmarks/: create a bookmark, or add to the one that has the url."""
    sent = _read_document(request, shapes.KEYS_TO_CREATE)
    url = sent.pop("url", None)
    if not url:
        raise Invalid([("url", _REQUIRED_TEXT)])
    uri = rules.clean_value("uri", url)
    with service.store.transaction() as transaction:
        before = transaction.holder(uri)
        if before:
            after = _update_saved(before.bookmark, sent)
        else:
            fields = shapes.fields_to_store(_without_empty_texts(sent))
            after = rules.create({"uri": uri, **fields}, transaction.mint())
        transaction.put(after, before)
    # linkding responds 201 even if the bookmark existed.
    return _respond(shapes.bookmark_document(after), CREATED)


def _update_saved(stored: Bookmark, sent: Document) -> Bookmark:
    changes = _without_empty_texts(sent)
    changes.pop("is_archived", None)  # linkding ignores this key if the url is stored.
    fields = shapes.fields_to_store(changes, stored.description, stored.tags)
    # Only the form of linkding's browser extension sends notes. The form shows the stored
    # tags, so the user may have removed some. Other clients only add tags.
    is_sent_by_form = "notes" in sent
    if not is_sent_by_form:
        fields |= rules.clean({"tags": [*stored.tags, *fields["tags"]]})
    return rules.update(stored, fields)


def _without_empty_texts(sent: Document) -> dict[str, object]:
    changes = dict(sent)
    for key in ("title", "description", "notes"):
        if changes.get(key) == "":
            del changes[key]
    return changes


def update(service: Service, request: Request, number: str) -> Response:
    """PUT and PATCH /api/bookmarks/{number}/: update the given fields."""
    sent = _read_document(request, shapes.KEYS_TO_UPDATE)
    if request.method == "PUT" and "url" not in sent:
        raise Invalid([("url", _REQUIRED_TEXT)])
    return _respond(shapes.bookmark_document(_update(service.store, number, sent)))


def set_archived(service: Service, request: Request, number: str, verb: str) -> Response:
    """POST /api/bookmarks/{number}/archive/ or unarchive/: set `is_archived`."""
    _update(service.store, number, {"is_archived": verb == "archive"})
    return Response(NO_CONTENT, {})


def delete(service: Service, request: Request, number: str) -> Response:
    """DELETE /api/bookmarks/{number}/: delete the bookmark."""
    id = _find_id(service.store, number)
    with service.store.transaction() as transaction:
        transaction.delete(transaction.get(id))
    return Response(NO_CONTENT, {})


def _update(store: Store, number: str, sent: Document) -> Bookmark:
    id = _find_id(store, number)
    with store.transaction() as transaction:
        before = transaction.get(id)
        stored = before.bookmark
        fields = shapes.fields_to_store(sent, stored.description, stored.tags)
        after = rules.update(stored, fields)
        transaction.put(after, before)
    return after


def _find_id(store: Store, number: str) -> str:
    """Return the id of a present or deleted bookmark. Raises HTTPError 404."""
    ids = store.ids_of_number(int(number))
    if len(ids) != 1:
        # Do not name the ids: the bookmarks may be private.
        raise HTTPError(
            404,
            "No bookmark has this number, or several do: see `bookmarks check`.",
        )
    return ids[0]


def get_profile(service: Service, request: Request) -> Response:
    """GET /api/user/profile/: fixed settings."""
    return _respond(shapes.PROFILE)


def list_bundles(service: Service, request: Request) -> Response:
    """GET /api/bundles/: an empty page of saved searches."""
    return _respond({"count": 0, "next": None, "previous": None, "results": []})


def get_health(service: Service, request: Request) -> Response:
    """GET /health: whether the data folder can be read."""
    document = {"status": "healthy", "version": shapes.LINKDING_VERSION}
    if is_readable(service.folder):
        return _respond(document)
    document["status"] = "unhealthy"
    return _respond(document, "503 Service Unavailable")


def _read_document(request: Request, keys: Iterable[str]) -> dict[str, object]:
    """Return the values of these keys in the body, without nulls."""
    body = read_fields(request, formats.JSON_AND_FORM_READERS)
    return {key: body[key] for key in keys if body.get(key) is not None}


def _respond(document: Document, status: str = OK) -> Response:
    return respond_with("application/json", msgspec.json.encode(document), status)


def respond_problem(request: Request, error: Exception, site: Site) -> Response:
    problem = problem_of(request, error, site)
    document = shapes.problem_document(problem)
    problem.status = shapes.LINKDING_STATUS_BY_STATUS.get(problem.status, problem.status)
    response = _respond(document, problem.status_line)
    response.headers |= problem.headers
    return response


# --- Routes ---

_ONE_BOOKMARK = {"GET": get, "PUT": update, "PATCH": update, "DELETE": delete}
ROUTES = (
    Route("/health", {"GET": get_health}),
    Route("/api/bookmarks/", {"GET": list_active, "POST": create}),
    Route("/api/bookmarks/archived/", {"GET": list_archived}),
    Route("/api/bookmarks/check/", {"GET": check}),
    Route("/api/bookmarks/{number}/", _ONE_BOOKMARK),
    Route("/api/bookmarks/{number}/{verb}/", {"POST": set_archived}),
    Route("/api/tags/", {"GET": list_tags, "POST": add_tag}),
    Route("/api/tags/{number}/", {"GET": get_tag, "DELETE": delete_tag}),
    Route("/api/user/profile/", {"GET": get_profile}),
    Route("/api/bundles/", {"GET": list_bundles}),
)
# linkding redirects `/api/tags` to `/api/tags/`. This service answers both.
_WITHOUT_SLASH = [
    Route(route.template.rstrip("/"), route.handlers) for route in ROUTES
]
ROUTER = Router(re.compile(r"/api/|/health\Z"), (*ROUTES, *_WITHOUT_SLASH), respond_problem)
