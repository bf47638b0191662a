"""GET /openapi.json describes the service, and agrees with it in both directions."""

import json

import pytest
from openapi_schema_validator import OAS31Validator, oas31_format_checker
from openapi_spec_validator import OpenAPIV31SpecValidator

import bookmarks
import formats
from formats.html.assets import assets
from formats.http import openapi
from storage import bookmark
from storage.errors import Invalid
from tests.conftest import OWN_ROUTES

DESCRIPTION = openapi.document(
    "http://127.0.0.1:8080", "1.2.3", needs_token=True, public_read=False
)
DOCUMENT = json.loads(DESCRIPTION.body)
SCHEMAS = DOCUMENT["components"]["schemas"]
HEADERS = {name.title() for name in DOCUMENT["components"]["headers"]}
METHODS = ("get", "head", "options", "post", "put", "delete")
FILE = "/{file}.{extension}"


def resolve(node):
    """Follow the references from a node of the document."""
    while "$ref" in node:
        kind, name = node["$ref"].removeprefix("#/components/").split("/")
        node = DOCUMENT["components"][kind][name]
    return node


def operations(document=DOCUMENT):
    return {
        (method.upper(), path): item[method]
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    }


OPERATIONS = operations()


def responses(operation):
    nodes = operation["responses"].items()
    return {int(status): resolve(node) for status, node in nodes if status.isdigit()}


def parameters(method, path, place):
    nodes = DOCUMENT["paths"][path].get("parameters", [])
    nodes = nodes + OPERATIONS[method, path].get("parameters", [])
    return {p["name"]: p["schema"] for p in map(resolve, nodes) if p["in"] == place}


def test_the_description_is_valid_and_has_validators(app):
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []
    response = app.get("/openapi.json", status=200)
    assert response.json["info"]["version"] == bookmarks.__version__
    assert response.json["security"] == []  # Without a token, no operation needs one.
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-cache"
    headers = {"If-None-Match": response.headers["ETag"]}
    assert app.get("/openapi.json", headers=headers, status=304).body == b""


def test_the_description_has_the_base_url_of_the_request_or_the_configuration(app, client):
    headers = {"Host": "localhost:8123"}
    document = app.get("/openapi.json", headers=headers, status=200).json
    assert document["servers"] == [{"url": "http://localhost:8123"}]
    other = client(base_url="https://marks.example/m/")
    response = other.get("/openapi.json", status=200)
    assert response.json["servers"] == [{"url": "https://marks.example/m"}]
    assert response.headers["ETag"] != app.get("/openapi.json", status=200).headers["ETag"]


# --- Routes, media types and statuses ---

def test_the_operations_are_those_of_the_routes():
    routed, described = set(), set()
    for route in filter(lambda route: route.handlers, OWN_ROUTES):
        for field in route.fields or [""]:
            path = route.template.replace("{field}", field).replace("/{file}", FILE)
            routed |= {(method, path) for method in route.allow.split(", ")}
    for method, path in OPERATIONS:
        for field in parameters(method, path, "path").get("field", {"enum": [""]})["enum"]:
            described.add((method, path.replace("{field}", field)))
    assert described == routed


def test_the_values_of_format_are_those_of_the_format_tables(app):
    tables = {"/": formats.LISTS, "/tags": bookmarks.TAGS_FORMATS, "/{id}": formats.ONE_BOOKMARK}
    for path, table in tables.items():
        names = [format.name for format in table]
        for method in ("GET", "HEAD"):
            assert parameters(method, path, "query")["format"]["enum"] == names
    app.get("/feed?format=atom", status=200)  # The feed has one format.
    assert "atom" in app.get("/feed?format=json", status=400).json["detail"]


def test_each_described_media_type_is_sent(app):
    app.put_json("/a", WHOLE)
    files = {asset.media_type.partition(";")[0]: name for name, asset in assets().items()}
    assert set(responses(OPERATIONS["GET", FILE])[200]["content"]) == set(files)
    for method, path in OPERATIONS:
        content = responses(OPERATIONS[method, path])[200]["content"] if method == "GET" else ()
        for media_type in content:
            names = {"id": "a", "field": "title", "file": files.get(media_type), "extension": ""}
            address = path.format(**names).removesuffix(".")
            response = app.get(address, headers={"Accept": media_type}, status=200)
            assert response.content_type == media_type
            sent = {name.title() for name in response.headers}
            named = {name.title() for name in responses(OPERATIONS[method, path])[200]["headers"]}
            # The list has one page, and is no download.
            assert named - sent <= {"Link", "Content-Disposition"}
            assert sent & HEADERS <= named


def limits(name, node):
    """Return every limit of size in a part of the document by the name of its schema."""
    keys = {"maxLength", "maxItems", "maximum"} & node.keys()
    result = {(name, key): node[key] for key in keys}
    for child, value in node.items():
        if isinstance(value, dict):
            result |= limits(name if child == "schema" else child, value)
    return result


def test_the_limits_and_the_fields_are_those_of_the_service():
    assert {name.capitalize() for name in bookmark.FIELDS} <= SCHEMAS.keys()
    assert limits("", DOCUMENT["components"]) == {
        ("Uri", "maxLength"): bookmark.MAX_URI,
        ("Title", "maxLength"): bookmark.MAX_TITLE,
        ("Description", "maxLength"): bookmark.MAX_DESCRIPTION,
        ("Tag", "maxLength"): bookmark.MAX_TAG,
        ("Tags", "maxItems"): bookmark.MAX_TAGS,
        ("tag", "maxItems"): bookmark.MAX_TAGS,
        ("limit", "maximum"): 10**18 - 1,
        ("offset", "maximum"): 10**18 - 1,
    }


# Values at the limits of a rule. None has white space at its ends, because the service removes
# that and no schema can describe it.
EDGES = {
    "uri": [
        "a:" + "b" * 65_534, "a:" + "b" * 65_535, "", "a:", ":b", "a b:c", "a:b c", "1:b",
        "a:\u00e9", "a:\u0085b", "a:b\u0000", "a:\ufffe", "h+.-1:x", "_:x",
    ],
    "title": ["", "x" * 4_096, "x" * 4_097, "a\nb\tc", "\u0000", "\u001f", "\uffff", "\u0085"],
    "description": ["", "x" * 65_536, "x" * 65_537, "a\r\nb", "\u000b", "\ufffe"],
    "tags": [
        [], ["x"], ["x" * 255], ["x" * 256], [""], [" "], ["a,b"], ["a\nb"], ["a b"],
        [str(n) for n in range(100)], [str(n) for n in range(101)], ["\u2028"], ["a\u2028b"], [1],
        "x", ["a", "A"], ["\u007f"],
    ],
    "created": [
        "2024-02-29T12:00:00Z", "2024-02-29T12:00:00+01:00", "", "x", 1, "2024-02-30T12:00:00Z",
        "2024-02-29",
    ],
    "id": [
        "a", "0", "a-_9", "a" * 64, "a" * 65, "", "api", "feed", "tags", "health", "A", "-a", "a.b",
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", EDGES)
def test_a_schema_accepts_the_values_that_the_service_accepts(field):
    schema = {"$ref": f"#/$defs/NewBookmark/properties/{field}", "$defs": SCHEMAS}
    schema = json.loads(json.dumps(schema).replace("#/components/schemas/", "#/$defs/"))
    validator = OAS31Validator(schema, format_checker=oas31_format_checker)
    for value in EDGES[field]:
        try:
            bookmark.clean({field: value})
            is_legal = True
        except Invalid:
            is_legal = False
        assert validator.is_valid(value) == is_legal, ascii(value)[:40]


WHOLE = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["t"]}


def test_with_a_token_every_operation_but_the_files_and_public_reads_needs_it(client):
    app = client(token="s3cret")
    assert "WWW-Authenticate" in app.get("/openapi.json", status=401).headers
    headers = {"Authorization": "Bearer s3cret"}
    document = app.get("/openapi.json", headers=headers, status=200).json
    assert document["security"] == [{"bearer": []}, {"basic": []}]
    free = {key for key, operation in operations(document).items() if "security" in operation}
    assert free == {(method, FILE) for method in ("GET", "HEAD", "OPTIONS")}
    public = client(token="s3cret", public_read=True).get("/openapi.json", status=200).json
    for (method, path), operation in operations(public).items():
        is_free = method in ("GET", "HEAD") or (method, path) == ("OPTIONS", FILE)
        assert (operation.get("security") == [{}]) == is_free
