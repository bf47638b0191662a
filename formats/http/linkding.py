"""linkding's REST API (https://linkding.link/api/), for linkding's extensions, apps and scripts."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace
from webob import Request

import formats
from formats.http.problems import problem_of
from formats.http.request import query_parameters, read_fields
from formats.http.response import CREATED, NO_CONTENT, OK, HTTPError, Response, respond_with
from formats.http.routing import Door, Route, Service, path_of
from formats.imports.dates import parse_date
from formats.listing import Parameters, Site, with_query
from storage import bookmark as rules
from storage.bookmark import Bookmark, Fields, fold_tag, split_tags, timestamp
from storage.errors import Invalid, Unavailable
from storage.query import UP_TO_18_DIGITS, Query, first_values, require_short
from storage.search import parse_search
from storage.store import Store
from storage.tsid import linkding_number

LINKDING_VERSION = "1.44.0"  # The linkding that has this API. Clients refuse an older one.
# Flags are members of linkding's bookmarks that are true or false. Here, a tag stores each flag.
TAG_BY_FLAG = {"unread": "unread", "is_archived": "archived", "shared": "shared"}
_MEMBER_BY_FIELD = dict(
    uri="url", title="title", description="description", tags="tag_names", created="date_added"
)
_TEXT_MEMBERS = ("url", "title", "description", "notes")
_WRITABLE_MEMBERS = (*_MEMBER_BY_FIELD.values(), "notes", *TAG_BY_FLAG)
_TRUE_IN_JSON_OR_FORM = (True, "true", "True", "1", "on", "yes")
_REQUIRED, _URL_EXISTS = "This field is required.", "A bookmark with this URL already exists."
# linkding's clients separate tags by spaces, so a space inside a tag is sent as this character.
_LINKDING_SPACE = "\N{NO-BREAK SPACE}"
_SEARCHED_TAG = re.compile('#(?P<tag>[^ "()]*)')
_LINKDING_STATUS = {409: 400, 410: 404, 422: 400}  # By the service's own status.
Members = Mapping[str, object]
# A linkding user's settings, which no request changes. `lax`: a search for a word finds tags, too.
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
_NO_SAVED_SEARCHES: dict[str, object] = {"count": 0, "next": None, "previous": None, "results": []}


def list_bookmarks(service: Service, request: Request, query: Query) -> Response:
    """linkding's GET /api/bookmarks/ and .../archived/: respond with a page of bookmarks."""
    parameters = query_parameters(request)
    values = first_values(parameters)
    q = _SEARCHED_TAG.sub(_quote_tag, values.get("q", "")).replace(_LINKDING_SPACE, " ")
    require_short([q])
    query = replace(query, search=parse_search(q, ignored_tags=TAG_BY_FLAG.values()))
    if values.get("unread") == "yes":
        query = replace(query, tags=(*query.tags, TAG_BY_FLAG["unread"]))
    added_since = _parse_date_parameter(values, "added_since")
    modified_since = _parse_date_parameter(values, "modified_since")
    bookmarks = [entry.bookmark for entry in service.store.select(query).entries]
    matches = [b for b in bookmarks if b.created >= added_since and b.modified >= modified_since]
    address = service.site(request).url + path_of(request)
    return _respond_page(address, parameters, matches, _bookmark_document)


def _quote_tag(searched: re.Match[str]) -> str:
    """Return a tag in linkding's `q`, `#two words` with a no-break space, as a search has it."""
    return f'#"{searched["tag"]}"' if _LINKDING_SPACE in searched["tag"] else searched[0]


def _parse_date_parameter(values: Mapping[str, str], name: str) -> str:
    """Return the date in a parameter, the first of all dates if it is missing. Raises Invalid."""
    date = parse_date(values.get(name) or "0001-01-01T00:00:00Z")
    with suppress(Invalid):
        return str(rules.clean({"created": date})["created"])
    raise Invalid([(name, "must be a date, such as 2025-01-01T00:00:00Z")])


def _respond_page(
    address: str, parameters: Parameters, items: Sequence[Any], to_document: Callable[[Any], object]
) -> Response:
    """Respond with a page: `limit` items from `offset` on, 100 if the query has no valid limit."""
    values = first_values(parameters)
    others = [(name, value) for name, value in parameters if name not in ("limit", "offset")]
    numbers = {name: int(text) for name, text in values.items() if UP_TO_18_DIGITS.fullmatch(text)}
    limit, offset = numbers.get("limit") or 100, numbers.get("offset", 0)

    def link(offset: int) -> str:
        return with_query(address, [*others, ("limit", str(limit)), ("offset", str(offset))])

    page = {
        "count": len(items),
        "next": link(offset + limit) if offset + limit < len(items) else None,
        "previous": link(max(offset - limit, 0)) if offset else None,
        "results": list(map(to_document, items[offset : offset + limit])),
    }
    return _respond(page)


def check(service: Service, request: Request) -> Response:
    """linkding's GET /api/bookmarks/check/: respond with the bookmark of a url, or with null."""
    url = dict(query_parameters(request)).get("url", "").strip()
    if not url:
        raise Invalid([("url", _REQUIRED)])
    entry = service.store.holder(url)  # The bookmark that has this url, or None.
    bookmark = _bookmark_document(entry.bookmark) if entry else None
    # linkding fills these from the page, and `auto_tags` by rules. This service has neither.
    metadata = {"url": url, "title": None, "description": None, "preview_image": None}
    return _respond({"bookmark": bookmark, "metadata": metadata, "auto_tags": []})


def list_tags(service: Service, request: Request) -> Response:
    """linkding's GET /api/tags/: respond with a page of tags."""
    store, counts = service.store, _tag_counts(service.store)
    tags, address = sorted(counts, key=fold_tag), service.site(request).url + path_of(request)
    parameters = query_parameters(request)
    return _respond_page(address, parameters, tags, lambda t: _tag_document(store, t, counts[t]))


def get_tag(service: Service, request: Request, number: str) -> Response:
    """linkding's GET /api/tags/{number}/: respond with the tag whose hash is this number."""
    for tag, count in _tag_counts(service.store).items():
        if linkding_number(fold_tag(tag)) == int(number):
            return _respond(_tag_document(service.store, tag, count))
    raise HTTPError(404, "There is no tag of this number.")


def _tag_counts(store: Store) -> dict[str, int]:
    """Return the tags that clients see, without flags such as `unread`, and their counts."""
    tag_counts, _untagged, _state = store.tag_counts()
    return {tag: count for tag, count in tag_counts if not _stores_flag(tag)}


def add_tag(service: Service, request: Request) -> Response:
    """linkding's POST /api/tags/: respond with a tag, but store none: only bookmarks have tags."""
    sent = _read_members(request, ("name",))
    if "name" not in sent:
        raise Invalid([("name", _REQUIRED)])
    try:
        (tag,) = _parse_tags([sent["name"]])
    except Invalid as error:  # Its field is `tags`.
        raise Invalid([("name", reason) for _, reason in error.errors]) from None
    return _respond(_tag_document(service.store, tag, count=0), CREATED)


def get_health(service: Service, request: Request) -> Response:
    """GET /health: respond whether the data folder can be read."""
    health, status = "healthy", OK
    try:
        service.store.state()  # This reads the data folder.
    except Unavailable:
        health, status = "unhealthy", "503 Service Unavailable"
    return _respond({"status": health, "version": LINKDING_VERSION}, status)


def create(service: Service, request: Request) -> Response:
    """linkding's POST /api/bookmarks/: create a bookmark, or update the one with the url."""
    sent = _read_members(request, _WRITABLE_MEMBERS)
    # The form of linkding's extension sends notes, and shows the stored tags: the sent ones replace
    # them. Its context menu sends no notes, and does not know the stored tags: add to these.
    keeps_stored_tags = "notes" not in sent
    # Empty texts must not overwrite the texts of a stored bookmark.
    sent = {name: value for name, value in sent.items() if value or name not in _TEXT_MEMBERS}
    if "url" not in sent:
        raise Invalid([("url", _REQUIRED)])
    uri = rules.clean({"uri": sent.pop("url")})["uri"]
    with service.store.transaction() as folder:
        before = folder.holder(uri)
        fields = _fields_to_store(sent, before.bookmark if before else None, keeps_stored_tags)
        if before:
            after = rules.update(before.bookmark, fields)
        else:
            after = rules.create({"uri": uri} | fields, folder.mint())
        folder.put(after, before)
    return _respond(_bookmark_document(after), CREATED)  # linkding sends 201 for an update, too.


def get(service: Service, request: Request, number: str) -> Response:
    """linkding's GET /api/bookmarks/{number}/: respond with one bookmark."""
    entry = service.store.get(service.store.id_of_number(int(number)))
    return _respond(_bookmark_document(entry.bookmark))


def update(service: Service, request: Request, number: str) -> Response:
    """linkding's PUT and PATCH /api/bookmarks/{number}/: set the sent members. PUT needs `url`."""
    sent = _read_members(request, _WRITABLE_MEMBERS)
    if request.method == "PUT" and "url" not in sent:
        raise Invalid([("url", _REQUIRED)])
    return _respond(_bookmark_document(_update_numbered(service.store, number, sent)))


def set_archived(service: Service, request: Request, number: str, verb: str) -> Response:
    """linkding's POST /api/bookmarks/{number}/archive/ and .../unarchive/: set `is_archived`."""
    _update_numbered(service.store, number, {"is_archived": verb == "archive"})
    return Response(NO_CONTENT, {})


def delete(service: Service, request: Request, number: str) -> Response:
    """linkding's DELETE /api/bookmarks/{number}/: delete the bookmark."""
    id = service.store.id_of_number(int(number))  # 404 needs no lock.
    with service.store.transaction() as folder:
        folder.delete(folder.get(id))
    return Response(NO_CONTENT, {})


def _update_numbered(store: Store, number: str, sent: Members) -> Bookmark:
    id = store.id_of_number(int(number))
    with store.transaction() as folder:
        before = folder.get(id)
        changes = _fields_to_store(sent, before.bookmark, keeps_stored_tags=False)
        after = rules.update(before.bookmark, changes)
        folder.put(after, before)
    return after


def _read_members(request: Request, members: Sequence[str]) -> dict[str, object]:
    """Return these members of the body; null means not sent. Raises HTTPError or Malformed."""
    body = read_fields(request, formats.JSON_AND_FORM_READERS)
    return {name: body[name] for name in members if body.get(name) is not None}


def _fields_to_store(sent: Members, stored: Bookmark | None, keeps_stored_tags: bool) -> Fields:
    """Return the fields that linkding's members set in a new or stored bookmark. Raises Invalid."""
    fields = {field: sent[name] for field, name in _MEMBER_BY_FIELD.items() if name in sent}
    if "created" in fields:  # For a text that is no date, `rules.clean` raises the error.
        fields["created"] = parse_date(fields["created"]) or fields["created"]
    if "notes" in sent:
        description = fields.get("description", stored.description if stored else "")
        fields["description"] = _add_notes(description, sent["notes"])
    fields["tags"] = _new_tags(sent, stored.tags if stored else (), keeps_stored_tags)
    return rules.clean(fields)


def _add_notes(*texts: object) -> str:
    """Return the description with the notes as its last paragraph, once. Raises Invalid."""
    description, notes = (rules.clean({"description": text})["description"] for text in texts)
    ends_with_notes = description == notes or description.endswith(f"\n\n{notes}")
    return description if ends_with_notes else f"{description}\n\n{notes}".strip()


def _new_tags(sent: Members, stored: tuple[str, ...], keeps_stored_tags: bool) -> tuple[str, ...]:
    """Return a bookmark's new tags, linkding's flags last, or the stored ones. Raises Invalid."""
    stored_names = tuple(tag for tag in stored if not _stores_flag(tag))
    stored_flags = {fold_tag(tag) for tag in stored if _stores_flag(tag)}
    names = _parse_tags(sent["tag_names"]) if "tag_names" in sent else stored_names
    flags = {
        tag
        for flag, tag in TAG_BY_FLAG.items()
        if sent.get(flag, tag in stored_flags) in _TRUE_IN_JSON_OR_FORM
    }
    if keeps_stored_tags:
        names, flags = tuple(dict.fromkeys((*stored_names, *names))), flags | stored_flags
    if names == stored_names and flags == stored_flags:
        return stored  # Moving the flags to the end would count as a change of the bookmark.
    return (*names, *sorted(flags))


def _parse_tags(names: object) -> tuple[str, ...]:
    """Return the tags in an array, or in a text such as `a,b` of the app Linkdy. Raises Invalid."""
    names = split_tags(names) if isinstance(names, str) else names
    tags = rules.clean({"tags": names})["tags"]
    return tuple(tag.replace(_LINKDING_SPACE, " ") for tag in tags)


def _stores_flag(tag: str) -> bool:
    return fold_tag(tag) in TAG_BY_FLAG.values()  # A tag such as `unread`, a flag in linkding.


def _bookmark_document(bookmark: Bookmark) -> dict[str, object]:
    """Return a bookmark as linkding shows it."""
    folded_tags = set(map(fold_tag, bookmark.tags))
    names = [tag for tag in bookmark.tags if not _stores_flag(tag)]
    return {
        "id": linkding_number(bookmark.id),  # The ids of linkding are numbers.
        "url": bookmark.uri,
        "title": bookmark.title,
        "description": bookmark.description,
        "notes": "",  # The description contains the notes.
        "web_archive_snapshot_url": "",
        # A flag such as `unread` is true if the bookmark has the tag that stores the flag.
        **{flag: tag in folded_tags for flag, tag in TAG_BY_FLAG.items()},
        "tag_names": [name.replace(" ", _LINKDING_SPACE) for name in names],
        "date_added": bookmark.created.replace("Z", ".000000Z"),  # The app Pinkt needs a fraction.
        "date_modified": bookmark.modified.replace("Z", ".000000Z"),
        # Null: the service fetches no page, so it does not know these.
        **dict.fromkeys("favicon_url preview_image_url website_title website_description".split()),
    }


def _tag_document(store: Store, tag: str, count: int) -> dict[str, object]:
    """Return a tag as linkding shows it, with the date of the oldest of its `count` bookmarks."""
    last_in_list = Query(tags=(fold_tag(tag),), limit=1, offset=max(count - 1, 0))
    oldest = store.select(last_in_list, is_refreshed=True).entries
    date = oldest[0].bookmark.created if oldest else timestamp(time.time())  # A new tag has none.
    return {
        "id": linkding_number(fold_tag(tag)),  # The ids of linkding are numbers.
        "name": tag.replace(" ", _LINKDING_SPACE),  # Clients read a name with a space as two.
        "date_added": date.replace("Z", ".000000Z"),  # The app Pinkt needs a fraction of seconds.
    }


def _respond(document: object, status: str = OK) -> Response:
    return respond_with("application/json", msgspec.json.encode(document), status)


def respond_problem(request: Request, error: Exception, site: Site) -> Response:
    """Return linkding's shape of a problem: the reasons for each member, or only a `detail`."""
    problem = problem_of(request, error, site)
    errors_by_status = {409: ("url", _URL_EXISTS), 400: ("non_field_errors", problem.detail)}
    own_error = errors_by_status.get(problem.status)
    reasons_by_member: dict[str, list[str]] = {}
    for field, reason in [own_error] if own_error else problem.errors:
        reasons_by_member.setdefault(_MEMBER_BY_FIELD.get(field, field), []).append(reason)
    problem.status = _LINKDING_STATUS.get(problem.status, problem.status)
    response = _respond(reasons_by_member or {"detail": problem.detail}, problem.status_line)
    response.headers |= problem.headers
    return response


_list_active = partial(list_bookmarks, query=Query(without_tag="archived"))
_list_archived = partial(list_bookmarks, query=Query(tags=("archived",)))
_ONE_BOOKMARK = {"GET": get, "PUT": update, "PATCH": update, "DELETE": delete}
DOOR = Door(
    re.compile(r"/api/|/health\Z"),
    (
        Route("/health", {"GET": get_health}),
        Route("/api/bookmarks/", {"GET": _list_active, "POST": create}),
        Route("/api/bookmarks/archived/", {"GET": _list_archived}),
        Route("/api/bookmarks/check/", {"GET": check}),
        Route("/api/bookmarks/check", {"GET": check}),  # The app Linkdy leaves out the slash.
        Route("/api/bookmarks/{number}/", _ONE_BOOKMARK),
        Route("/api/bookmarks/{number}/{verb}/", {"POST": set_archived}),
        Route("/api/tags/", {"GET": list_tags, "POST": add_tag}),
        Route("/api/tags/{number}/", {"GET": get_tag}),
        Route("/api/user/profile/", {"GET": lambda service, request: _respond(_PROFILE)}),
        Route("/api/bundles/", {"GET": lambda service, request: _respond(_NO_SAVED_SEARCHES)}),
    ),
    respond_problem,
)
