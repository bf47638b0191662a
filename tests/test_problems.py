"""Problem documents (RFC 9457), methods, paths and Cache-Control of every response."""

import errno
import json
import os
import re

import pytest
import webtest

from formats.http import pages
from tests.conftest import OWN_ROUTES

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
WHOLE = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["x"]}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"

# A request for each error: status, method, path, body, its media type, other headers.
ERRORS = [
    (400, "GET", "/?tag=%ff", "", "", {}),
    (400, "POST", "/", "<xbel>", "application/x-xbel", {}),
    (403, "POST", "/", "{}", JSON, {"Sec-Fetch-Site": "cross-site"}),
    (404, "GET", "/unknown", "", "", {"Accept": "text/csv"}),
    (405, "PATCH", "/a", "{}", JSON, {}),
    (409, "PUT", "/new", json.dumps(WHOLE), JSON, {}),
    (410, "GET", "/gone", "", "", {}),
    (412, "PUT", "/a", json.dumps(WHOLE), JSON, {"If-Match": '"other"'}),
    (413, "POST", "/", " " * 2**20 + "{}", JSON, {}),
    (415, "PUT", "/a", "A", "text/turtle", {}),
    (421, "GET", "/", "", "", {"Host": "rebound.example"}),
    (422, "POST", "/a", '{"<script>": "red", "tags": ["a,b"]}', JSON, {}),
    (503, "PUT", "/broken", json.dumps(WHOLE), JSON, {}),
    (503, "DELETE", "/broken", "", "", {}),
    (503, "GET", "/broken/id", "", "", {}),
]
# The methods of each path.
ALLOWED = {
    "/": {"GET", "HEAD", "OPTIONS", "POST"},
    "/feed": {"GET", "HEAD", "OPTIONS"},
    "/tags": {"GET", "HEAD", "OPTIONS", "POST"},
    "/tags.json": {"GET", "HEAD", "OPTIONS"},
    "/openapi.json": {"GET", "HEAD", "OPTIONS"},
    "/a": {"DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"},
    **{f"/a/{field}": {"GET", "HEAD", "OPTIONS", "PUT"} for field in WHOLE},
    **{f"/a/{field}": {"GET", "HEAD", "OPTIONS"} for field in ("id", "created", "modified")},
}
PAGES = {}
for page_route in pages.ROUTER.routes:
    page_path = page_route.template.replace("{bookmark}", "a").replace("{button}", "read")
    PAGES[page_path] = {*page_route.handlers, "OPTIONS"}
    if "GET" in page_route.handlers:
        PAGES[page_path].add("HEAD")
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}


@pytest.fixture
def filled(app, data):
    app.put_json("/gone", WHOLE, status=201)
    app.delete("/gone", status=204)
    app.put_json("/a", WHOLE, status=201)
    (data / "bookmarks" / "broken.json").write_text("{")


def send(app, method, path, body, media_type, headers, status):
    if media_type:
        headers = headers | {"Content-Type": media_type}
    return app.request(path, method=method, body=body.encode(), headers=headers, status=status)


# --- Problem documents ---

@pytest.mark.parametrize(
    "status, method, path, body, media_type, headers",
    ERRORS,
    ids=[f"{status} {method} {path}" for status, method, path, *_ in ERRORS],
)
def test_an_error_is_a_problem_document_and_in_a_browser_a_page(
    app, filled, data, status, method, path, body, media_type, headers
):
    response = send(app, method, path, body, media_type, headers, status)
    assert response.content_type == "application/problem+json"
    problem = response.json
    assert problem["status"] == status
    assert all(isinstance(problem[name], str) for name in ("type", "title", "detail"))
    assert problem["type"] and problem["title"] and problem["detail"]
    assert {error["field"] for error in problem.get("errors", ())} == (
        {"<script>", "tags"} if status == 422 else set()
    )
    assert ("bookmarks check" in problem["detail"]) == (status == 503)
    caching = "public, max-age=86400" if status == 410 else "no-cache"
    assert response.headers.getall("Cache-Control") == [caching]
    assert response.headers.getall("Vary") == ["Accept, Accept-Encoding"]
    assert response.headers["Content-Length"] == str(len(response.body))
    assert "ETag" not in response.headers
    page = send(app, method, path, body, media_type, headers | {"Accept": BROWSER}, status)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.text.startswith("<!DOCTYPE html>")
    assert "<h1" in page.text and f">{status}" not in page.text and "<script>" not in page.text
    assert (data / "bookmarks" / "broken.json").read_text() == "{"


def test_of_many_wrong_members_the_first_20_are_named(app, filled):
    body = {f"member {n}": 1 for n in range(10_000)}
    for path in ("/", "/a", "/tags", "/api/bookmarks/"):
        response = app.post_json(path, body, status="*")
        assert response.status_int in (400, 422) and len(response.body) < 10_000
    errors = app.post_json("/a", body, status=422).json["errors"]
    assert [error["field"] for error in errors] == [f"member {n}" for n in range(20)]


@pytest.mark.parametrize("tags, shown", [
    (["x\x00y"], '"x\\u0000y" at index 0'),
    (["ok", "long " + "x" * 255], '"long xxx'),
    (["ok", "long " + "x" * 255], " at index 1"),
    ([True, "a"], "true at index 0"),
    (["a", {"name": "b"}], "an object at index 1"),
    (["a", "\ud800"], '"\ufffd" at index 1'),
])  # fmt: skip
def test_a_422_names_the_index_and_the_value_of_a_wrong_tag(app, tags, shown):
    problem = app.post_json("/", {"uri": "x:y", "tags": tags}, status=422).json
    ((field, reason),) = [error.values() for error in problem["errors"]]
    assert field == "tags" and shown in reason and len(reason) < 200
    assert shown in problem["detail"]


def test_the_texts_of_an_error_say_what_is_wrong_and_what_to_do(app, filled, client):
    for body, title in (("{}", "Unprocessable Content"), (" " * 2**21, "Content Too Large")):
        response = app.post("/", body, content_type=JSON, status="*")
        assert response.status[4:] == response.json["title"] == title  # RFC 9110
    problem = app.get("/", headers={"Host": "marks.lan:8080"}, status=421).json
    assert "`--base-url http://marks.lan:8080`" in problem["detail"]
    problem = app.put_json("/new", WHOLE, status=409).json
    assert "http://localhost/a" in problem.values()
    page = app.put_json("/new", WHOLE, headers={"Accept": BROWSER}, status=409)
    assert "/a" in page.text
    detail = client(token="secret").get("/", status=401).json["detail"]
    assert "`Authorization: Bearer TOKEN`" in detail and "HTTP Basic" in detail


# Malformed bodies whose errors have the words of a Python exception.
MALFORMED = [
    (FORM, b"uri=%ff"),
    (JSON, b'{"uri": "\xff"}'),
    (JSON, b'{"uri": "\x01"}'),
    (MULTIPART, b'--b\r\nContent-Disposition: form-data; name="uri"\r\n\r\n\xff\r\n--b--\r\n'),
    (MULTIPART, b"--b\r\n\r\nx\r\n--b--\r\n"),
    ("application/x-xbel", b"<xbel>\xff</xbel>"),
    *(
        ("application/x-xbel", b'<?xml version="1.0" encoding="%s"?><xbel>\xff</xbel>' % encoding)
        for encoding in (b"hex", b"idna", b"undefined", b"utf-7", b"euc-jp", b"none")
    ),
]


def test_a_400_has_no_words_of_python(app):
    for media_type, body in MALFORMED:
        response = app.post("/", body, headers={"Content-Type": media_type}, status=400)
        detail = response.json["detail"]
        assert not re.search(r"codec|Error|b'|\bat\.|str\b|\(\)", detail), detail


def test_a_415_names_the_accepted_media_types(app, filled):
    for method, path, accepted in (
        ("POST", "/", ["application/json", "application/x-xbel", FORM, "multipart/form-data"]),
        ("POST", "/a", ["application/json", "application/x-xbel", FORM, "multipart/form-data"]),
        ("PUT", "/a", ["application/json", "application/x-xbel", "text/xml"]),
        ("PUT", "/a/title", ["application/json", "text/plain"]),
    ):
        response = send(app, method, path, "x", FORM if method == "PUT" else "text/turtle", {}, 415)
        assert set(accepted) <= set(response.headers["Accept-Post"].split(", "))
        response = send(app, method, path, "x", JSON, {"Content-Encoding": "br, identity"}, 415)
        assert response.headers["Accept-Encoding"] == "identity"
        assert "Accept-Post" not in response.headers
        assert "without Content-Encoding" in response.json["detail"]


def test_a_body_may_have_1_mib(app, filled):
    body = json.dumps(WHOLE)
    body += " " * (2**20 - len(body))
    for method, path in (("POST", "/"), ("POST", "/a"), ("PUT", "/a")):
        send(app, method, path, body, JSON, {}, 200)
        send(app, method, path, body + " ", JSON, {}, 413)
    for media_type in (JSON, "text/plain"):
        send(app, "PUT", "/a/title", " " * 2**20 + '"A"', media_type, {}, 413)


# --- Failures of the disk, the lock and the code ---

@pytest.mark.parametrize("code, status", [(errno.EDQUOT, 507), (errno.EIO, 503)])
def test_a_failed_write_is_reported_and_changes_nothing(
    app, filled, data, monkeypatch, caplog, code, status
):
    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    before = {path.name: path.read_bytes() for path in data.glob("*/*")}
    bookmarks = app.get("/", status=200).json
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        assert app.post_json("/", {"uri": "https://b.example/"}, status=status).json["detail"]
        app.post_json("/a", {"title": "New"}, status=status)
        app.delete("/a", status=status)
    assert {path.name: path.read_bytes() for path in data.glob("*/*")} == before
    logged = [message for message in caplog.messages if os.strerror(code) in message]
    assert [message.split(":")[0] for message in logged] == ["POST '/'", "POST '/a'", "DELETE '/a'"]
    assert app.get("/", status=200).json == bookmarks


def test_a_lock_timeout_is_503_with_retry_after(app, filled, lock_folder):
    with lock_folder():
        response = app.post_json("/a", {"title": "New"}, status=503)
        app.get("/a", status=200)
    assert int(response.headers["Retry-After"]) > 0
    app.post_json("/a", {"title": "New"}, status=200)


@pytest.mark.parametrize("path, form", [
    ("", {}), ("/-/add", {"uri": "x:y"}), ("/-/restore", {"selected": "a"}),
    ("/-/selected", {"selected": "a", "do": "read"}),
    ("/-/retag", {"tag": "x", "do": "add", "tags": "y"}),
])  # fmt: skip
def test_a_500_is_logged_and_discloses_nothing(app, filled, monkeypatch, caplog, path, form):
    def fail(*arguments):
        raise RuntimeError("internal details")

    monkeypatch.setattr(app.app.store, "transaction", fail)
    if path:
        page = app.post(path, form, headers={"Accept": BROWSER, "Content-Type": FORM}, status=500)
        assert page.content_type == "text/html"
    else:
        page = app.delete("/a", status=500)
        assert page.content_type == "application/problem+json"
    assert page.headers["Cache-Control"] == "no-cache"
    assert "internal details" not in page.text and "Traceback" not in page.text
    assert "internal details" in caplog.text and "Traceback" in caplog.text


# --- Methods ---

def test_these_tests_cover_all_routes():
    tested = {path.replace("/a", "/{id}") for path in ALLOWED if path.count("/") == 1}
    templates = {route.template for route in OWN_ROUTES} - PAGES.keys()
    assert templates == tested | {"/{id}/{field}", "/{id}/{other}", "/{file}"}


def test_options_and_405_name_the_methods_of_a_path(app, filled):
    for path, allowed in (ALLOWED | PAGES).items():
        response = app.options(path, status=204)
        assert set(response.headers["Allow"].split(", ")) == allowed
        assert response.body == b""
        assert response.headers["Cache-Control"] == "no-cache"
        for method in METHODS - allowed:
            response = send(app, method, path, "", "", {}, 405)
            assert set(response.headers["Allow"].split(", ")) == allowed
            assert method == "HEAD" or response.json["status"] == 405
    app.get("/a", status=200)


def test_an_unknown_method_is_405(app):
    for method in ("get", "PUTT", "PROPFIND"):
        request = webtest.TestRequest.blank("/", method=method)
        status, headers, _ = request.call_application(app.app)
        assert status.startswith("405 ")
        assert set(dict(headers)["Allow"].split(", ")) == ALLOWED["/"]


def test_head_is_get_without_the_body(app, filled):
    paths = dict.fromkeys(["/?format=csv", "/?format=html", "/a?format=xbel", *ALLOWED], 200)
    paths |= {"/unknown": 404, "/gone": 410, "/?format=yaml": 400, "/broken": 503}
    for path, status in paths.items():
        get, head = app.get(path, status=status), app.head(path, status=status)
        assert head.body == b""
        assert dict(head.headers) == dict(get.headers)


def test_a_trailing_slash_is_404_but_an_empty_path_the_list(app, filled):
    for path in ("/a/", "/feed/", "/a/title/", "//", "//a", "/a/./"):
        environ = {"PATH_INFO": path}  # A client would normalize the path.
        request = webtest.TestRequest.blank("/", environ, method="PUT", body=b"{}")
        assert app.do_request(request, status=404)
    request = webtest.TestRequest.blank("/", {"SCRIPT_NAME": "/marks", "PATH_INFO": ""})
    assert len(app.do_request(request, status=200).json) == 1


def test_a_cache_must_revalidate(app):
    responses = [
        app.post_json("/", WHOLE, status=201),
        app.post_json("/", WHOLE, status=200),
        app.post("/", WHOLE | {"tags": "x"}, status=200),
        app.put_json("/a", WHOLE | {"uri": "https://b.example/"}, status=201),
        app.put("/a/title", b"New", content_type="text/plain", status=200),
        app.get("/a", headers={"If-None-Match": "*"}, status=304),
        *(app.get(path, status=200) for path in ("/", "/feed", "/a", "/a/title", "/?format=html")),
        app.delete("/a", status=204),
    ]
    for response in responses:
        assert response.headers.getall("Cache-Control") == ["no-cache"]
        assert response.headers["Vary"] == "Accept, Accept-Encoding"
