"""/openapi.json held to the service: each method, path, status, parameter, limit and media type."""

import re
from pathlib import Path

import pytest
import webtest
from openapi_spec_validator import OpenAPIV31SpecValidator

import bookmarks
import formats
from bookmarks import make_app
from formats import openapi, problem, schema
from formats.assets import assets
from storage import query
from storage.bookmark import FIELDS, ID, clean
from storage.errors import Invalid

ROOT = Path(__file__).parent.parent
BEARER = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def description(app):
    return app.get("/openapi.json", status=200).json


def operations(description):
    """Every operation by method and path."""
    return {
        (method.upper(), path): operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }


def resolved(description, node):
    while "$ref" in node:
        target = description
        for name in node["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        node = target
    return node


def statuses(operation):
    return set(map(int, operation["responses"]))


def test_it_is_valid(description):
    assert list(OpenAPIV31SpecValidator(description).iter_errors()) == []


def test_it_is_a_resource_like_others(app):
    response = app.get("/openapi.json", status=200)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-cache"
    again = {"If-None-Match": response.headers["ETag"]}
    assert app.get("/openapi.json", headers=again, status=304).body == b""
    since = {"If-Modified-Since": response.headers["Last-Modified"]}
    assert app.get("/openapi.json", headers=since, status="*").status_int in (200, 304)
    app.head("/openapi.json", status=200)
    app.post("/openapi.json", status=405)


def test_it_names_the_address_that_was_asked(app, data):
    headers = {"Host": "localhost:8123"}
    document = app.get("/openapi.json", headers=headers, status=200).json
    assert document["servers"] == [{"url": "http://localhost:8123"}]
    other = webtest.TestApp(make_app(data, base_url="https://marks.example/m/"))
    response = other.get("/openapi.json", status=200)
    assert response.json["servers"] == [{"url": "https://marks.example/m"}]
    assert response.headers["ETag"] != app.get("/openapi.json", status=200).headers["ETag"]


# --- Both ways ---


def test_its_operations_are_those_of_the_routes(description):
    expected = set()
    for route in bookmarks.ROUTES:
        paths = [route.template.replace("{field}", field) for field in route.fields]
        if "{file}" in route.template:
            paths = [f"/{name}" for name in assets()]
        for path in paths or [route.template]:
            expected |= {(method, path) for method in route.methods}
    assert set(operations(description)) == expected
    names = [operation["operationId"] for operation in operations(description).values()]
    assert len(set(names)) == len(names)


def test_its_media_types_are_those_of_the_tables(description):
    found = operations(description)

    def sent(method, path, status="200"):
        return list(resolved(description, found[method, path]["responses"][status])["content"])

    def read(method, path):
        return set(found[method, path]["requestBody"]["content"])

    assert sent("GET", "/") == list(formats.LISTS.media_types)
    assert sent("GET", "/feed") == list(formats.FEEDS.media_types)
    assert sent("GET", "/tags.json") == list(formats.TAGS.media_types)
    for method, status in [("GET", "200"), ("POST", "200"), ("PUT", "200"), ("PUT", "201")]:
        assert sent(method, "/{id}", status) == list(formats.ONE.media_types)
    for field in FIELDS:
        assert sent("GET", f"/{{id}}/{field}") == list(formats.VALUES.media_types)
    for field in bookmarks.WHOLE_FIELDS:
        assert sent("PUT", f"/{{id}}/{field}") == list(formats.VALUES.media_types)
        assert read("PUT", f"/{{id}}/{field}") == set(formats.FIELD)
    assert read("POST", "/") == set(formats.POSTED)
    assert read("POST", "/{id}") == set(formats.PARTIAL)
    assert read("PUT", "/{id}") == set(formats.WHOLE)


def test_each_media_type_that_it_names_is_sent(app, add, description):
    id = add()["id"]
    for (method, path), operation in operations(description).items():
        if method == "GET":
            for media_type in operation["responses"]["200"]["content"]:
                headers = {"Accept": media_type}
                response = app.get(path.replace("{id}", id), headers=headers, status=200)
                assert response.content_type == media_type


def test_its_statuses_are_those_that_there_are(description):
    sources = [(ROOT / name).read_text() for name in ("bookmarks.py", "formats/http.py")]
    refused = set(map(int, re.findall(r"Refused\((\d+),", "".join(sources))))
    errors = set(problem.PROBLEMS.values()) | refused | {500}
    assert set(openapi.MEANINGS) == errors
    named = set().union(*map(statuses, operations(description).values()))
    named |= set().union(*map(statuses, openapi.described("", True, False)["paths"]["/"].values()))
    assert {status for status in named if status >= 400} == errors - {405}
    assert {status for status in named if status < 400} == {200, 201, 204, 303, 304}


def test_its_formats_are_those_of_the_tables(description):
    for path, table in [("/", formats.LISTS), ("/{id}", formats.ONE)]:
        parameters = operations(description)["GET", path]["parameters"]
        (format,) = (one for one in parameters if one.get("name") == "format")
        assert format["schema"]["enum"] == list(table)


@pytest.mark.parametrize("path", ["/", "/feed"])
def test_each_parameter_that_it_names_counts_and_no_other(app, add, description, path):
    add("https://a.example/", title="A word", tags=["x"])
    add("https://b.example/")
    values = {
        "format": "text", "tag": "x", "q": "word", "uri": "https://a.example/", "limit": "1",
        "offset": "1&limit=5", "title": "T&uri=x:y&format=html", "tags": "t&uri=x:y&format=html",
        "description": "D&uri=x:y&format=html",
    }  # fmt: skip
    operation = operations(description)["GET", path]
    found = [resolved(description, one) for one in operation["parameters"]]
    named = {one["name"] for one in found if one["in"] == "query"}
    assert named <= set(values)
    for name, value in values.items():
        name_only, _, rest = value.partition("&")
        with_it = app.get(f"{path}?{name}={value}", status=200).text
        without = app.get(f"{path}?{rest}", status=200).text
        assert (settled(with_it) != settled(without)) == (name in named), name


def settled(text):
    """A feed or page names its own address; that alone makes no difference."""
    return re.sub(r'href="[^"]*"|<(id|updated)>[^<]*<', "", text)


def test_the_headers_that_it_names_are_the_preconditions(description):
    for (method, path), operation in operations(description).items():
        found = [resolved(description, one) for one in operation["parameters"]]
        named = {one["name"] for one in found if one["in"] == "header"}
        reads = {"If-Modified-Since"} if method == "GET" else set()
        assert named == {"If-Match", "If-None-Match", "If-Unmodified-Since"} | reads


def test_its_limit_of_numbers_is_that_of_the_query(description):
    assert openapi.MAX_COUNT == query.MAX_COUNT
    assert description["components"]["parameters"]["tag"]["schema"]["maxItems"] == query.MAX_TERMS


# --- The rules of the fields ---

EDGES = {
    "uri": [
        "a:b", "a:" + "b" * 65_534, "a:" + "b" * 65_535, "", "a:", ":b", "a b:c", "a:b c", "1:b",
        "a:\u00e9", "a:\u0085b", "a:b\u0000", "a:\ufffe", " a:b\n", "h+.-1:x", "_:x",
    ],
    "title": ["", "x" * 4_096, "x" * 4_097, "a\nb\tc", "\u0000", "\u001f", "\uffff", "\u0085"],
    "description": ["", "x" * 65_536, "x" * 65_537, "a\r\nb", "\u000b", "\ufffe"],
    "tags": [
        [], ["x"], ["x" * 255], ["x" * 256], [""], [" "], ["a,b"], ["a\nb"], [" a "], ["a b"],
        [str(n) for n in range(100)], [str(n) for n in range(101)], ["\u2028"], ["a\u2028b"], [1],
        "x", ["\u0085x"], ["\u007f"],
    ],
    "created": [
        "2024-02-29T12:00:00Z", "2024-02-29T12:00:00+01:00", "0000-01-01T00:00:00Z", "", "x", 1,
        "2024-02-30T12:00:00Z", "2024-02-29",
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", EDGES)
def test_a_schema_takes_what_the_service_takes(field):
    from openapi_schema_validator import OAS31Validator, oas31_format_checker

    validator = OAS31Validator(dict(schema.GIVEN[field]), format_checker=oas31_format_checker)
    for value in EDGES[field]:
        try:
            clean({field: value})
            is_legal = True
        except Invalid:
            is_legal = False
        assert validator.is_valid(value) == is_legal, ascii(value)[:40]


@pytest.mark.parametrize(
    "id",
    ["a", "0", "a-_9", "a" * 64, "a" * 65, "", "feed", "tags", "feeds", "A", "-a", "a.b", "a\n"],
)
def test_the_schema_of_an_id_is_its_rule(id):
    pattern = schema.ID["pattern"]
    # JavaScript's $, unlike Python's, is the end and nothing else.
    found = re.search(pattern.replace("$", r"\Z"), id)
    assert bool(found) == bool(ID.fullmatch(id))


def test_what_is_received_is_as_described(app, add):
    from openapi_schema_validator import OAS31Validator

    for bookmark in (add(tags=["a b", "\u00e9"], description="a\nb"), add("x:" + "y" * 5_000)):
        OAS31Validator(schema.SCHEMAS["Bookmark"]).validate(bookmark)


# --- The token ---


def test_with_a_token_it_asks_for_it(data):
    app = webtest.TestApp(make_app(data, token="s3cret"))
    app.get("/openapi.json", status=401)
    document = app.get("/openapi.json", headers=BEARER, status=200).json
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert document["security"] == [{"bearer": []}, {"basic": []}]
    for operation in operations(document).values():
        assert 401 in statuses(operation) and 421 not in statuses(operation)
        assert "security" not in operation


def test_with_public_reading_it_asks_for_it_to_write(data):
    app = webtest.TestApp(make_app(data, token="s3cret", public_read=True))
    document = app.get("/openapi.json", status=200).json
    for (method, _), operation in operations(document).items():
        assert (401 in statuses(operation)) == (method != "GET")
        assert (operation.get("security") == [{}]) == (method == "GET")


def test_without_a_token_it_asks_for_none(description):
    assert description["security"] == []
    for operation in operations(description).values():
        assert 401 not in statuses(operation) and 421 in statuses(operation)
