"""The whole interface, described for programs: OpenAPI 3.1, made of the tables that it tells of."""

import functools
import hashlib
import os
from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec

from formats import (
    FEEDS,
    FIELD,
    FORMS,
    LISTS,
    ONE,
    PARTIAL,
    POSTED,
    TAGS,
    VALUES,
    WHOLE,
    Table,
    problem,
    schema,
)
from formats.assets import Asset, assets
from formats.schema import ANY, KEPT, TEXT, ref
from storage.bookmark import FIELDS, MAX_TAGS

MEDIA_TYPE = "application/json"
MAX_COUNT = 10**18 - 1

_Node = dict[str, object]

_HEAD: _Node = {
    "title": "Bookmarks",
    "version": "0.1.0",
    "description": "What GET answers, HEAD tells without a body. OPTIONS is 204 with Allow, and a "
    "method that a path does not have 405. A deleted bookmark is gone for good, whatever the "
    "method. Entity tags are strong, and If-Match takes that of any representation.",
}

MEANINGS: Mapping[int, str] = {
    400: "The query, the body or the Host header cannot be understood.",
    401: "The service's token is needed.",
    403: "A page of another site sends this.",
    404: "There is no such bookmark.",
    405: "The path does not have this method.",
    406: "What Accept asks for cannot be had.",
    409: "Another bookmark has this uri.",
    410: "The bookmark was deleted, for good.",
    411: "The body has no Content-Length, and this server cannot tell its end without.",
    412: "A precondition does not hold.",
    413: "The body is too large.",
    415: "The body's media type, charset or encoding cannot be read.",
    421: "The service does not answer to the name in Host.",
    422: "Fields break their rules; `errors` names each.",
    500: "Something went wrong inside; the log tells what.",
    503: "This cannot be done just now.",
    507: "The disk is full.",
}
_HEADERS_OF: Mapping[int, str] = {
    401: "WWW-Authenticate", 405: "Allow", 415: "Accept-Post", 503: "Retry-After",
}  # fmt: skip

_CONDITIONS = ("If-Match", "If-None-Match", "If-Unmodified-Since")
_FILTER = ("tag", "q", "uri", "limit", "offset")
_DRAFT = ("title", "description", "tags")
_PARAMETERS: Mapping[str, _Node] = {
    "id": {"in": "path", "required": True, "schema": schema.ID},
    "format": {"description": "The format, whatever Accept says."},
    "tag": {
        "description": "Only bookmarks that have all of these, without regard to case.",
        "schema": {"type": "array", "items": TEXT, "maxItems": MAX_TAGS},
    },
    "q": {
        "description": f"Only bookmarks that have all these words, of which up to {MAX_TAGS}.",
        "schema": TEXT,
    },
    "uri": {"description": "Only the bookmark that has this uri.", "schema": TEXT},
    "limit": {
        "description": "As many at most.",
        "schema": {"type": "integer", "minimum": 0, "maximum": MAX_COUNT},
    },
    "offset": {
        "description": "So many are left out before; without a limit it means nothing.",
        "schema": {"type": "integer", "minimum": 0, "maximum": MAX_COUNT},
    },
    **{
        name: {"description": "On the page, fills in the form that `uri` opens.", "schema": TEXT}
        for name in _DRAFT
    },
    **{name: {"in": "header", "schema": TEXT} for name in (*_CONDITIONS, "If-Modified-Since")},
}


def document(base: str, secured: bool, public_read: bool) -> Asset:
    """The description of the service at this address, whose token is asked for if `secured`."""
    body = msgspec.json.encode(described(base, secured, public_read)) + b"\n"
    version = int.from_bytes(hashlib.sha256(body).digest()[:16])
    touched = os.stat(__file__).st_mtime
    return Asset(MEDIA_TYPE, body, version, touched)


def described(base: str, secured: bool, public_read: bool) -> dict[str, object]:
    """The same as plain data."""
    schemes = {"bearer": {"type": "http", "scheme": "bearer"}}
    schemes["basic"] = {"type": "http", "scheme": "basic"}
    return {
        "openapi": "3.1.0",
        "info": _HEAD,
        "servers": [{"url": base}],
        "security": [{name: []} for name in schemes] if secured else [],
        "paths": _guarded(secured, public_read),
        "components": {
            "schemas": schema.SCHEMAS,
            "parameters": {name: _parameter(name) for name in _PARAMETERS if name != "format"},
            "responses": {_name(status): _problem(status) for status in MEANINGS},
            "securitySchemes": schemes if secured else {},
        },
    }


def _guarded(secured: bool, public_read: bool) -> dict[str, dict[str, object]]:
    """The paths; what needs the token says so, and without one only our own names will do."""
    paths: dict[str, dict[str, object]] = {}
    for path, methods in _paths().items():
        paths[path] = {}
        for method, operation in methods.items():
            is_open = public_read and method == "get"
            error = 401 if secured and not is_open else 421
            errors = {} if secured and is_open else {str(error): _problem_ref(error)}
            answers = dict(sorted((_responses(operation) | errors).items()))
            more: _Node = {"security": [{}]} if secured and is_open else {}
            paths[path][method] = {**operation, "responses": answers, **more}
    return paths


def _responses(operation: _Node) -> dict[str, object]:
    found = operation["responses"]
    assert isinstance(found, dict)
    return found


@functools.cache
def _paths() -> Mapping[str, Mapping[str, _Node]]:
    return {
        "/": {"get": _list(), "post": _post()},
        "/feed": {"get": _feed()},
        "/tags.json": {"get": _tags()},
        "/openapi.json": {"get": _file("openapi.json", MEDIA_TYPE)},
        **{f"/{name}": {"get": _file(name, a.media_type)} for name, a in assets().items()},
        "/{id}": {"get": _get(), "post": _post_one(), "put": _put(), "delete": _delete()},
        **{f"/{{id}}/{field}": {"get": _get_field(field)} for field in FIELDS},
        **{f"/{{id}}/{f}": {"get": _get_field(f), "put": _put_field(f)} for f in schema.WHOLE},
    }


# --- Reading ---


def _list() -> _Node:
    return _read(
        "listBookmarks",
        "Lists bookmarks, newest first.",
        _shown(LISTS, ref("Bookmarks")),
        [_format(LISTS), *map(_parameter_ref, (*_FILTER, *_DRAFT))],
        (406,),
        ("X-Total-Count", "Link"),
    )


def _feed() -> _Node:
    return _read(
        "getFeed",
        "The Atom feed: bookmarks, newest first, and the deletions of the same range.",
        _shown(FEEDS),
        [_parameter_ref(name) for name in _FILTER],
        (406,),
        ("X-Total-Count", "Link"),
    )


def _tags() -> _Node:
    summary = "All tags with the numbers of their bookmarks, the most used first."
    return _read("listTags", summary, _shown(TAGS, ref("TagCounts")), [], (406,))


def _file(name: str, media_type: str) -> _Node:
    is_json = name.endswith(".json")
    summary = "This description." if is_json else f"The page's {name.partition('-')[0]}."
    shape = {"type": "object"} if is_json else TEXT
    operation = "getDescription" if is_json else f"get{name.partition('-')[0].title()}"
    return _read(operation, summary, {_bare(media_type): {"schema": shape}}, [], ())


def _get() -> _Node:
    content = _shown(ONE, ref("Bookmark"))
    return _read("getBookmark", "One bookmark.", content, [_ID, _format(ONE)], (404, 406, 410))


def _get_field(field: str) -> _Node:
    content = _shown(VALUES, KEPT[field])
    summary = f"The {field} alone; as text, tags stand one on each line."
    return _read(f"getBookmark{field.title()}", summary, content, [_ID], (404, 406, 410))


def _read(
    id: str,
    summary: str,
    content: Mapping[str, _Node],
    parameters: Iterable[_Node],
    errors: Iterable[int],
    headers: Iterable[str] = (),
) -> _Node:
    """An operation that changes nothing."""
    conditions = [_parameter_ref(name) for name in (*_CONDITIONS, "If-Modified-Since")]
    answers = {200: _answer("As asked for.", content, headers=headers)}
    answers[304] = _answer("What the client has is still right.")
    return _operation(id, summary, [*parameters, *conditions], answers, {400, 412, *errors})


# --- Writing ---

_WRITES = (403, 406, 411, 412, 413, 415, 422, 507)


def _post() -> _Node:
    of = dict.fromkeys(POSTED, ANY) | {
        "application/json": {"anyOf": [ref("NewBookmark"), {"type": "array"}]},
        "application/x-www-form-urlencoded": ref("NewForm"),
        "multipart/form-data": ref("NewFormOrFile"),
    }
    found = _shown(ONE, {"anyOf": [ref("Bookmark"), ref("Report")]})
    answers = {
        200: _answer("The bookmark that has this uri, changed; or what became of a file.", found),
        201: _created(),
        303: _see_other(),
    }
    summary = "Creates a bookmark, or changes the one with this uri; or imports a whole file."
    files = {"file": {"contentType": ", ".join(sorted({*POSTED, "text/plain"} - FORMS.keys()))}}
    return _write("postBookmark", summary, [], of, answers, (), {"encoding": files})


def _post_one() -> _Node:
    of = dict.fromkeys(PARTIAL, ANY) | {
        "application/json": ref("Changes"),
        "application/x-www-form-urlencoded": ref("ChangesForm"),
        "multipart/form-data": ref("ChangesForm"),
    }
    found = _answer("The bookmark, changed.", _shown(ONE, ref("Bookmark")))
    answers = {200: found, 303: _see_other()}
    summary = "Changes the fields that are given."
    return _write("changeBookmark", summary, [_ID], of, answers, (404, 409, 410))


def _put() -> _Node:
    of = dict.fromkeys(WHOLE, ANY) | {"application/json": ref("WholeBookmark")}
    found = _answer("The bookmark, changed.", _shown(ONE, ref("Bookmark")))
    answers = {200: found, 201: _created()}
    summary = "Creates the bookmark, or sets all of it."
    return _write("putBookmark", summary, [_ID], of, answers, (404, 409, 410))


def _put_field(field: str) -> _Node:
    given = schema.GIVEN[field]
    of = {name: given if name == "application/json" else _text_of(field) for name in FIELD}
    answers = {200: _answer("The value, as it is now.", _shown(VALUES, KEPT[field]))}
    errors = (404, 409, 410) if field == "uri" else (404, 410)
    return _write(f"putBookmark{field.title()}", f"Sets the {field}.", [_ID], of, answers, errors)


def _text_of(field: str) -> schema.Schema:
    return schema.TAGS_TEXT if field == "tags" else schema.GIVEN[field]


def _delete() -> _Node:
    parameters = [_ID, *map(_parameter_ref, _CONDITIONS)]
    answers = {204: _answer("It is deleted.")}
    errors = {400, 403, 404, 410, 412, 507}
    return _operation("deleteBookmark", "Deletes it for good.", parameters, answers, errors)


def _write(
    id: str,
    summary: str,
    parameters: Iterable[_Node],
    bodies: Mapping[str, schema.Schema],
    answers: Mapping[int, _Node],
    errors: Iterable[int],
    multipart: _Node | None = None,
) -> _Node:
    """An operation that changes something, by a body of one of these media types."""
    content: dict[str, _Node] = {
        name: {"schema": shape} if shape else {} for name, shape in bodies.items()
    }
    if multipart:
        content["multipart/form-data"] |= multipart
    conditions = [_parameter_ref(name) for name in _CONDITIONS]
    found = _operation(id, summary, [*parameters, *conditions], answers, {400, *_WRITES, *errors})
    return {**found, "requestBody": {"required": True, "content": content}}


def _created() -> _Node:
    """The answer that tells of a new bookmark, and what can be done with it."""
    whole = [f"{verb}Bookmark" for verb in ("get", "change", "put", "delete")]
    fields = [f"getBookmark{field.title()}" for field in FIELDS]
    fields += [f"putBookmark{field.title()}" for field in schema.WHOLE]
    links = {
        name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
        for name in (*whole, *fields)
    }
    content = _shown(ONE, ref("Bookmark"))
    answer = _answer("The bookmark, which is new.", content, headers=("Location",))
    return {**answer, "links": links}


def _see_other() -> _Node:
    return _answer("What a form gets: the address to go on with.", headers=("Location",))


# --- Parts ---

_ID: _Node = {"$ref": "#/components/parameters/id"}


def _operation(
    id: str,
    summary: str,
    parameters: Iterable[_Node],
    answers: Mapping[int, _Node],
    errors: Iterable[int],
) -> _Node:
    problems = {status: _problem_ref(status) for status in (*errors, 500, 503)}
    return {
        "operationId": id,
        "summary": summary,
        "parameters": list(parameters),
        "responses": {str(status): answer for status, answer in {**answers, **problems}.items()},
    }


def _shown(table: Table, json: schema.Schema = TEXT) -> dict[str, _Node]:
    """What is sent in the formats of this table."""
    return {name: {"schema": json if "json" in name else TEXT} for name in table.media_types}


def _answer(
    meaning: str, content: Mapping[str, _Node] | None = None, headers: Iterable[str] = ()
) -> _Node:
    answer: _Node = {"description": meaning}
    if named := {name: {"schema": TEXT, "required": name == "Location"} for name in headers}:
        answer["headers"] = named
    if content:
        answer["content"] = content
    return answer


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "").replace("-", "")


def _problem_ref(status: int) -> _Node:
    return {"$ref": f"#/components/responses/{_name(status)}"}


def _problem(status: int) -> _Node:
    document = ref("Problem")
    if status == 422:
        document = {"allOf": [document], "required": ["errors"]}
    content: dict[str, _Node] = {
        problem.MEDIA_TYPES[0]: {"schema": document},
        "text/html": {"schema": TEXT},
    }
    headers = [_HEADERS_OF[status]] if status in _HEADERS_OF else []
    return _answer(MEANINGS[status], content, headers)


def _parameter(name: str) -> _Node:
    return {"name": name, "in": "query", **_PARAMETERS[name]}


def _parameter_ref(name: str) -> _Node:
    return {"$ref": f"#/components/parameters/{name}"}


def _format(table: Table) -> _Node:
    return {**_parameter("format"), "schema": {"enum": list(table)}}


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0]
