"""GET, POST, PUT and DELETE of /{id}, one bookmark."""

import re
import time
from email.utils import formatdate

import pytest

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
WHOLE = {"uri": "https://a.example/", "title": "A", "description": "Text", "tags": ["x", "y"]}
XBEL = '<xbel version="1.0"><bookmark href="https://a.example/">{}</bookmark></xbel>'
XBEL_TYPES = ["application/x-xbel", "application/xbel+xml", "application/xml", "text/xml"]


def put_xbel(app, path, document, status, media_type="application/x-xbel"):
    return app.put(path, document.encode(), content_type=media_type, status=status)


def invalid_fields(response):
    return [error["field"] for error in response.json["errors"]]


@pytest.fixture
def file(data):
    def file(id):
        path = data / "bookmarks" / f"{id}.json"
        return path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino

    return file


# --- GET ---

@pytest.mark.parametrize("query, accept, media_type", [
    ("", "*/*", "application/json"),
    ("", BROWSER, "text/html; charset=utf-8"),
    ("", "text/xml, application/json;q=0.5", "application/x-xbel"),
    ("", "text/html;q=0.5, text/*", "text/html; charset=utf-8"),
    ("?format=json", BROWSER, "application/json"),
    ("?format=xbel", BROWSER, "application/x-xbel"),
    ("?format=html", "application/json", "text/html; charset=utf-8"),
])  # fmt: skip
def test_get_negotiates_like_the_list(app, add, query, accept, media_type):
    bookmark = add(title="Something")
    path = f"/{bookmark['id']}"
    response = app.get(path + query, headers={"Accept": accept}, status=200)
    assert response.headers["Content-Type"] == media_type
    assert response.headers["Vary"] == "Accept, Accept-Encoding"
    assert "Something" in response.text
    assert media_type != "application/json" or response.json == bookmark
    app.get(f"{path}?format=csv", status=400)
    app.get(path, headers={"Accept": "text/csv"}, status=406)


def test_a_path_of_no_bookmark_is_404(app):
    for id in ("A", "_a", "-a", "a.b", "a b", "a%0A", "%C3%A4", "a" * 65, "..", "a%2Fb"):
        app.delete(f"/{id}", status=404)
        app.put_json(f"/{id}", WHOLE, status=404)
    app.get("/unknown", status=404)


# --- PUT ---

@pytest.mark.parametrize("id", ["a-b_c", "feeds", "tagsxjson", "0" * 64])
def test_put_creates_the_bookmark_and_then_replaces_it(app, id):
    created = app.put_json(f"/{id}", WHOLE, status=201)
    assert created.headers["Location"] == f"http://localhost/{id}"
    assert {name: created.json[name] for name in ("id", *WHOLE)} == {"id": id, **WHOLE}
    assert app.get(f"/{id}", status=200).json == created.json
    other = {"uri": "https://b.example/", "title": "B", "description": "", "tags": []}
    replaced = app.put_json(f"/{id}", other, headers={"Accept": "text/xml"}, status=200)
    assert "Location" not in replaced.headers
    assert replaced.body == app.get(f"/{id}?format=xbel", status=200).body
    stored = app.get(f"/{id}", status=200).json
    assert {name: stored[name] for name in WHOLE} == other


def test_put_requires_every_field(app):
    for status in (404, 200):
        for field in WHOLE:
            partial = {name: value for name, value in WHOLE.items() if name != field}
            assert invalid_fields(app.put_json("/a", partial, status=422)) == [field]
        app.get("/a", status=status)
        app.put_json("/a", WHOLE)
    assert app.get("/a", status=200).json["title"] == WHOLE["title"]


def test_a_problem_names_missing_and_invalid_fields_together(app):
    assert invalid_fields(app.put_json("/a", {}, status=422)) == list(WHOLE)
    body = {"uri": "https://a.example/", "title": None, "x": 1, "id": "b"}
    response = app.put_json("/a", body, status=422)
    assert invalid_fields(response) == ["description", "tags", "id", "title", "x"]
    response = app.post_json("/", {"x": 1}, status=422)
    assert invalid_fields(response) == ["uri", "x"]


def test_put_refuses_an_id_other_than_that_of_the_path(app):
    xbel = XBEL.format("<title>T</title>").replace("href", 'id="b-{}" href')
    app.put_json("/a", WHOLE | {"id": "a"}, status=201)
    put_xbel(app, "/a", xbel.format("a"), 200)
    assert invalid_fields(app.put_json("/a", WHOLE | {"id": "b"}, status=422)) == ["id"]
    assert invalid_fields(put_xbel(app, "/a", xbel.format("b"), 422)) == ["id"]
    app.get("/b", status=404)


def test_put_stores_the_created_date_of_a_new_bookmark_only(app):
    before = app.put_json("/a", WHOLE | {"created": "2001-02-03T04:05:06Z"}, status=201).json
    assert before["created"] == "2001-02-03T04:05:06Z"
    dates = {"created": "2002-01-01T00:00:00Z", "modified": "2002-01-01T00:00:00Z"}
    assert app.put_json("/a", WHOLE | dates, status=200).json == before
    after = app.post_json("/a", {"title": "B", **dates}, status=200).json
    assert after["created"] == before["created"]


def test_put_reads_xbel(app):
    document = XBEL.format("<title>T &amp; U</title><desc>D</desc>")
    put_xbel(app, "/a", document.replace("href", 'tags="x,y" href'), 201)
    whole = {"title": "T & U", "description": "D", "tags": ["x", "y"]}
    bookmark = app.get("/a", status=200).json
    assert {name: bookmark[name] for name in WHOLE} == WHOLE | whole
    for media_type in XBEL_TYPES:  # Without an element or attribute, the field is empty.
        bookmark = put_xbel(app, "/a", XBEL.format("<title>T</title>"), 200, media_type).json
        assert (bookmark["title"], bookmark["description"], bookmark["tags"]) == ("T", "", [])


def test_put_of_xbel_requires_exactly_one_bookmark_with_a_title_element(app):
    two = '<xbel><bookmark href="https://a.example/"/><bookmark href="https://b.example/"/></xbel>'
    without_uri = "<xbel><bookmark><title>T</title></bookmark></xbel>"
    for document in ('<xbel version="1.0"/>', two, "<html/>", without_uri):
        put_xbel(app, "/a", document, 422)
    assert "uri" in invalid_fields(put_xbel(app, "/a", without_uri, 422))
    response = put_xbel(app, "/a", XBEL.format("<desc>D</desc>"), 422)
    assert response.json["errors"] == [{"field": "title", "reason": "is required"}]
    response = put_xbel(app, "/a", XBEL.format("<title/>"), 201)
    assert response.json["title"] == "https://a.example/"


# --- POST ---

def test_post_updates_only_the_given_fields(app):
    before = app.put_json("/a", WHOLE, status=201).json
    for changes in ({"uri": "https://b.example/"}, {"title": "B"}, {"tags": []}):
        after = app.post_json("/a", changes, status=200).json
        before |= changes
        assert {**after, "modified": ""} == {**before, "modified": ""}
    document = XBEL.format("<desc>New</desc>").encode()
    after = app.post("/a", document, content_type="application/x-xbel", status=200).json
    before |= {"uri": WHOLE["uri"], "description": "New"}
    assert {**after, "modified": ""} == {**before, "modified": ""}


def test_the_response_to_a_form_is_the_bookmark_with_the_given_fields(app):
    app.put_json("/a", WHOLE, status=201)
    response = app.post("/a", {"title": "B", "tags": "p, q"}, status=200)
    assert response.headers["Content-Location"] == "http://localhost/a"
    bookmark = app.get("/a", status=200).json
    assert response.json == bookmark
    assert (bookmark["title"], bookmark["tags"]) == ("B", ["p", "q"])
    assert (bookmark["uri"], bookmark["description"]) == (WHOLE["uri"], WHOLE["description"])
    content_type, body = app.encode_multipart([("description", "Ä\r\nB")], [])
    bookmark = app.post("/a", body, headers={"Content-Type": content_type}, status=200).json
    assert (bookmark["title"], bookmark["description"]) == ("B", "Ä\nB")


def test_post_never_creates(app):
    app.post_json("/a", WHOLE, status=404)
    app.post("/a", WHOLE, status=404)
    assert app.get("/", status=200).json == []


def test_post_refuses_unknown_fields_and_another_id(app):
    app.put_json("/a", WHOLE, status=201)
    assert invalid_fields(app.post_json("/a", {"tag": ["x"]}, status=422)) == ["tag"]
    assert invalid_fields(app.post_json("/a", {"id": "b"}, status=422)) == ["id"]
    assert invalid_fields(app.post("/a", {"tag": "x"}, status=422)) == ["tag"]
    assert app.post_json("/a", {"title": " "}, status=200).json["title"] == WHOLE["uri"]


def test_only_the_uri_of_another_bookmark_is_409_with_its_address(app):
    app.put_json("/a", WHOLE, status=201)
    app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201)
    uri = "HTTPS://A.EXAMPLE:443"
    for send, path in ((app.put_json, "/b"), (app.put_json, "/new"), (app.post_json, "/b")):
        problem = send(path, WHOLE | {"uri": uri}, status=409)
        assert "http://localhost/a" in problem.json.values()
    assert app.get("/b/uri", status=200).text == "https://b.example/"
    app.get("/new", status=404)
    assert app.post_json("/a", {"uri": uri}, status=200).json["uri"] == uri
    response = app.delete("/a", status=204)
    assert response.body == b"" and "Content-Type" not in response.headers
    app.post_json("/b", {"uri": uri}, status=200)


@pytest.mark.parametrize("method, path, body", [
    ("PUT", "/a", WHOLE | {"title": "  A ", "tags": ["x", " y", "X"]}),
    ("POST", "/a", {}),
    ("POST", "/a", {"description": "Text\r\n"}),
    ("POST", "/", WHOLE),
    ("PUT", "/a/title", "A"),
    ("PUT", "/a/tags", ["x", "y"]),
])  # fmt: skip
def test_an_update_that_changes_nothing_keeps_the_file(app, file, method, path, body):
    app.put_json("/a", WHOLE | {"created": "2001-01-01T00:00:00Z"}, status=201)
    before, etag = file("a"), app.get("/a", status=200).headers["ETag"]
    send = app.put_json if method == "PUT" else app.post_json
    send(path, body, status=200)
    assert file("a") == before
    assert app.get("/a", status=200).headers["ETag"] == etag


def test_a_change_sets_modified_and_keeps_created(app):
    created = "2001-01-01T00:00:00Z"
    before = app.put_json("/a", WHOLE | {"created": created}, status=201).json
    moment = int(time.time() - 0.1)  # The time of a file may be some milliseconds behind.
    after = app.post_json("/a", {"title": "B"}, status=200)
    assert after.json["created"] == before["created"] == created
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", after.json["modified"])
    assert moment <= after.last_modified.timestamp() <= time.time()
    written = formatdate(after.last_modified.timestamp(), usegmt=True)
    assert after.headers["Last-Modified"] == written


def test_a_change_after_the_clock_was_set_back_is_not_older_than_the_bookmark(app):
    created = "2901-01-01T00:00:00Z"  # As of a clock that was wrong.
    app.put_json("/a", WHOLE | {"created": created}, status=201)
    assert app.post_json("/a", {"title": "B"}, status=200).json["modified"] == created
    imported = {"uri": WHOLE["uri"], "tags": ["new"]}
    app.post_json("/-/import", [imported], status=200)
    assert app.get("/a").json["modified"] == created
