"""linkding's REST API over the same bookmarks, for linkding's extensions, apps and scripts.

The shapes, methods and statuses are those of https://linkding.link/api/. A bookmark's integer id
is the number of its id. linkding's marks unread, archived and shared are tags here.
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
from formats.http.request import query_parameters, read_bookmark
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
from storage.tsid import number_of

VERSION = "1.44.0"  # Of the implemented API. Clients refuse servers with an older one.
# The tag that stands for each of linkding's marks. Clients get the marks, not these tags.
MARKS = {"unread": "unread", "is_archived": "archived", "shared": "shared"}
_MARK_TAGS = frozenset(MARKS.values())
_TEXTS = ("url", "title", "description", "notes")
_MEMBERS = (*_TEXTS, "tag_names", "date_added", *MARKS)
# linkding's names of the fields that have other names here.
_FIELD_NAMES = {"uri": "url", "tags": "tag_names", "created": "date_added"}
# The service fetches no page, so it does not know these.
_NOT_FETCHED = ("favicon_url", "preview_image_url", "website_title", "website_description")
_READERS = {"application/json": formats.READERS["application/json"], **formats.FORM_READERS}
_TRUE = (True, "true", "True", "1", "on", "yes")  # Forms send text.
_FRACTION = ".000000Z"  # Pinkt shows the current time for a date without a fraction of a second.
_REQUIRED, _EXISTS = "This field is required.", "A bookmark with this URL already exists."
# Clients separate tags by spaces, so send this character in place of a space inside a tag.
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_TO_NO_BREAK_SPACES = {ord(" "): _NO_BREAK_SPACE}
_TO_SPACES = {ord(_NO_BREAK_SPACE): " "}
_TAG_WITH_SPACES = re.compile(f'#([^ "()]*{_NO_BREAK_SPACE}[^ "()]*)')
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
    "version": VERSION,
}
_NO_BUNDLES: dict[str, object] = {"count": 0, "next": None, "previous": None, "results": []}


def list_bookmarks(service: Service, request: Request, query: Query) -> Response:
    """GET /api/bookmarks/ and .../archived/: respond with a page of the query's bookmarks."""
    parameters = first_values(query_parameters(request))
    quoted = _TAG_WITH_SPACES.sub(r'#"\1"', parameters.get("q", "")).translate(_TO_SPACES)
    query = replace(query, search=parse_search(quoted))
    if parameters.get("unread") == "yes":
        query = replace(query, tags=(*query.tags, "unread"))
    added, modified = _date(parameters, "added_since"), _date(parameters, "modified_since")
    every = service.store.select(query).bookmarks
    matches = [b for b in every if b.created >= added and b.modified >= modified]
    return _respond_page(service, request, matches, _show)


def _date(parameters: Mapping[str, str], name: str) -> str:
    """Return the date in a parameter, empty without the parameter. Raises Invalid."""
    date = parse_date(parameters.get(name))
    if parameters.get(name) and not date:
        raise Invalid([(name, "must be a date, such as 2025-01-01T00:00:00Z")])
    return date or ""


def _respond_page(
    service: Service, request: Request, items: Sequence[Any], show: Callable[[Any], object]
) -> Response:
    """Respond with the items that the parameters limit, by default 100, and offset select."""
    parameters = query_parameters(request)
    others = [pair for pair in parameters if pair[0] not in ("limit", "offset")]
    query = parse_query([*(pair for pair in parameters if pair not in others), ("limit", "100")])
    limit, offset = query.limit or 0, query.offset
    address = service.base(request).url + str(request.path_info)

    def link(offset: int) -> str:
        return with_query(address, [*others, ("limit", str(limit)), ("offset", str(offset))])

    page = {
        "count": len(items),
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
    holder = service.store.holder(url)
    metadata = {"url": url, "title": None, "description": None, "preview_image": None}
    bookmark = _show(holder.bookmark) if holder else None
    return _respond({"bookmark": bookmark, "metadata": metadata, "auto_tags": []})


def list_tags(service: Service, request: Request) -> Response:
    """GET /api/tags/: respond with a page of the tags, by name."""
    counts = [pair for pair in service.store.tag_counts()[0] if not _is_mark(pair[0])]
    counts.sort(key=lambda pair: fold_tag(pair[0]))
    return _respond_page(service, request, counts, lambda pair: _show_tag(service.store, *pair))


def get_tag(service: Service, request: Request, number: str) -> Response:
    """GET /api/tags/{number}/: respond with one tag."""
    for tag, count in service.store.tag_counts()[0]:
        if number_of(fold_tag(tag)) == int(number) and not _is_mark(tag):
            return _respond(_show_tag(service.store, tag, count))
    raise HTTPError(404, "There is no tag of this number.")


def add_tag(service: Service, request: Request) -> Response:
    """POST /api/tags/: respond with the tag; it exists when a bookmark has it."""
    sent = _read(request, ("name",))
    if "name" not in sent:
        raise Invalid([("name", _REQUIRED)])
    (tag,) = _read_names([sent["name"]])
    return _respond(_show_tag(service.store, tag, 0), CREATED)


def get_fixed(service: Service, request: Request, document: object) -> Response:
    """GET /api/user/profile/ and /api/bundles/: respond with a constant document."""
    return _respond(document)


def get_health(service: Service, request: Request) -> Response:
    """GET /health: respond whether the data folder can be read. Raises Unavailable."""
    service.store.state()
    return _respond({"status": "healthy", "version": VERSION})


def create(service: Service, request: Request) -> Response:
    """POST /api/bookmarks/: create a bookmark, or update the one that has the url.

    An update adds tags and marks to the stored ones. An edit form, which is known by its notes, has
    shown the stored ones to the user, so it replaces them.
    """
    sent = _read(request, _MEMBERS)
    replaces_tags = "notes" in sent
    # An empty text sets nothing.
    filled = {name: value for name, value in sent.items() if value or name not in _TEXTS}
    if "url" not in filled:
        raise Invalid([("url", _REQUIRED)])
    uri = rules.clean({"uri": filled.pop("url")})["uri"]

    def attempt() -> Entry:
        try:
            if holder := service.store.holder(uri):
                before = holder.bookmark
                changes = _clean(filled, before.description, before.tags, replaces_tags)
                return service.store.replace(rules.update(before, changes), holder)
            new = rules.create({"uri": uri} | _clean(filled), service.store.mint())
            return service.store.add(new)
        except (Conflict, Gone):  # Another client was faster.
            raise Stale from None

    return _respond(_show(retry_if_stale(attempt).bookmark), CREATED)


def get(service: Service, request: Request, number: str) -> Response:
    """GET /api/bookmarks/{number}/: respond with one bookmark."""
    return _respond(_show(service.store.get_numbered(int(number)).bookmark))


def update(service: Service, request: Request, number: str) -> Response:
    """PUT and PATCH /api/bookmarks/{number}/: set the members that are sent."""
    sent = _read(request, _MEMBERS)
    if request.method == "PUT" and "url" not in sent:
        raise Invalid([("url", _REQUIRED)])
    return _respond(_show(_update(service.store, number, sent).bookmark))


def archive(service: Service, request: Request, number: str, verb: str) -> Response:
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
        changes = _clean(sent, entry.bookmark.description, entry.bookmark.tags)
        return store.replace(rules.update(entry.bookmark, changes), entry)

    return retry_if_stale(attempt)


def _read(request: Request, members: Sequence[str]) -> dict[str, object]:
    """Return these members of the body, if they have a value. Raises HTTPError or Malformed."""
    body, _ = read_bookmark(request, _READERS)
    return {name: body[name] for name in members if body.get(name) is not None}


def _clean(
    sent: Mapping[str, object], description: str = "", tags: Tags = (), replaces_tags: bool = True
) -> Fields:
    """Return the fields to store, from the sent members and what is stored. Raises Invalid."""
    names = (("title", "title"), ("uri", "url"))
    fields = {field: sent[name] for field, name in names if name in sent}
    if "date_added" in sent:
        fields["created"] = parse_date(sent["date_added"]) or sent["date_added"]
    if not sent.keys().isdisjoint(("description", "notes")):
        fields["description"] = _add_notes(sent.get("description", description), sent.get("notes"))
    fields["tags"] = _clean_tags(sent, tags, replaces_tags)
    return rules.clean(fields)


def _add_notes(description: object, notes: object) -> object:
    """Return the description with the notes as its last paragraph, unless it ends with them."""
    if not (isinstance(description, str) and isinstance(notes, str) and notes.strip()):
        return description
    description, notes = description.strip(), notes.strip().replace("\r\n", "\n")
    has_notes = f"\n\n{description}".endswith(f"\n\n{notes}")
    return description if has_notes else f"{description}\n\n{notes}"


def _clean_tags(sent: Mapping[str, object], stored: Tags, replaces: bool) -> Tags:
    """Return the stored tags, replaced by the sent tags and marks, or with those added.

    If `replaces` is false they are added, see `create`. Unsent members stay. Raises Invalid.
    """
    shown = tuple(tag for tag in stored if not _is_mark(tag))
    names = _read_names(sent["tag_names"]) if "tag_names" in sent else shown
    had_marks = set(map(fold_tag, stored)) & _MARK_TAGS
    marks = {tag for member, tag in MARKS.items() if sent.get(member) in _TRUE}
    if replaces:
        marks |= had_marks - {tag for member, tag in MARKS.items() if member in sent}
    else:
        marks |= had_marks
        names = tuple(dict.fromkeys((*shown, *names)))
    return stored if (names, marks) == (shown, had_marks) else (*names, *sorted(marks))


def _read_names(names: object) -> Tags:
    """Return the tags in an array, or in a text that separates them by commas. Raises Invalid."""
    names = split_tags(names) if isinstance(names, str) else names
    return tuple(tag.translate(_TO_SPACES) for tag in rules.clean({"tags": names})["tags"])


def _is_mark(tag: str) -> bool:
    return fold_tag(tag) in _MARK_TAGS


def _show(bookmark: Bookmark) -> dict[str, object]:
    """Return a bookmark as linkding shows it."""
    folded = set(map(fold_tag, bookmark.tags))
    shown = [tag for tag in bookmark.tags if not _is_mark(tag)]
    return {
        "id": number_of(bookmark.id),
        "url": bookmark.uri,
        "title": bookmark.title,
        "description": bookmark.description,
        "notes": "",
        "web_archive_snapshot_url": "",
        **{member: tag in folded for member, tag in MARKS.items()},
        "tag_names": [tag.translate(_TO_NO_BREAK_SPACES) for tag in shown],
        "date_added": bookmark.created.replace("Z", _FRACTION),
        "date_modified": bookmark.modified.replace("Z", _FRACTION),
        **dict.fromkeys(_NOT_FETCHED),
    }


def _show_tag(store: Store, tag: str, count: int) -> dict[str, object]:
    """Return a tag as linkding shows it; its date is that of the oldest bookmark with the tag."""
    query = Query(tags=(fold_tag(tag),), limit=1, offset=max(count - 1, 0))
    dates = [bookmark.created for bookmark in store.select(query).bookmarks]
    date = dates[0] if dates else timestamp(time.time())
    shown = {"name": tag.translate(_TO_NO_BREAK_SPACES), "date_added": date.replace("Z", _FRACTION)}
    return {"id": number_of(fold_tag(tag)), **shown}


def _respond(value: object, status: str = OK) -> Response:
    response = respond_with("application/json", msgspec.json.encode(value))
    response.status = status
    return response


def respond_problem(request: Request, problem: Problem, base: BaseUrl) -> Response:
    """Return the problem in linkding's shape: 400 names the fields, the others have a detail."""
    status = 404 if problem.status == 410 else problem.status
    document: dict[str, list[str]] = {}
    errors = {400: [("non_field_errors", problem.detail)], 409: [("url", _EXISTS)]}.get(status)
    for field, reason in errors or problem.errors:
        status = 400
        document.setdefault(_FIELD_NAMES.get(field, field), []).append(reason)
    response = _respond(document or {"detail": problem.detail})
    response.status = f"{status} {HTTPStatus(status).phrase}"
    response.headers += problem.headers.items()
    return response


def respond_unhealthy(request: Request, problem: Problem, base: BaseUrl) -> Response:
    """Return the problem of GET /health: 503 if the data folder cannot be read."""
    if problem.status != 503:
        return respond_problem(request, problem, base)
    return _respond({"status": "unhealthy", "version": VERSION}, "503 Service Unavailable")


_list_active = partial(list_bookmarks, query=Query(without_tag="archived"))
_list_archived = partial(list_bookmarks, query=Query(tags=("archived",)))
_METHODS: Mapping[str, Mapping[str, Callable[..., Response]]] = {
    "/api/bookmarks/": {"GET": _list_active, "POST": create},
    "/api/bookmarks/archived/": {"GET": _list_archived},
    "/api/bookmarks/check/": {"GET": check},
    "/api/bookmarks/check": {"GET": check},
    "/api/bookmarks/{number}/": {"GET": get, "PUT": update, "PATCH": update, "DELETE": delete},
    "/api/bookmarks/{number}/{verb}/": {"POST": archive},
    "/api/tags/": {"GET": list_tags, "POST": add_tag},
    "/api/tags/{number}/": {"GET": get_tag},
    "/api/user/profile/": {"GET": partial(get_fixed, document=_PROFILE)},
    "/api/bundles/": {"GET": partial(get_fixed, document=_NO_BUNDLES)},
    "/api/": {},
    "/api/{rest}": {},
}
ROUTES = (
    *(Route(path, methods, respond_problem=respond_problem) for path, methods in _METHODS.items()),
    Route("/health", {"GET": get_health}, respond_problem=respond_unhealthy),
)
