"""GET and PUT of /{id}/{field}, the value of one field."""

import json

import pytest

FIELDS = ["id", "uri", "title", "description", "tags", "created", "modified"]
WHOLE = {
    "uri": "https://a.example/?a=1&copy=2",
    "title": 'A "title" <b>, with commas',
    "description": "First line\n\n  third line, with a comma\tand a tab",
    "tags": ["two words", "Ä", "c++"],
}


@pytest.fixture
def bookmark(app):
    return app.put_json("/a", WHOLE, status=201).json


def put_text(app, path, text, status, content_type="text/plain"):
    return app.put(path, text.encode(), content_type=content_type, status=status)


def test_a_field_is_plain_text_or_json_if_accept_asks_for_it(app, bookmark, add):
    for shown in (bookmark, add("x:without-tags-and-description")):
        for field, value in shown.items():
            path = f"/{shown['id']}/{field}"
            response = app.get(path, status=200)
            assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert response.headers["Vary"] == "Accept, Accept-Encoding"
            assert response.text == ("\n".join(value) if field == "tags" else value)
            response = app.get(path, headers={"Accept": "application/json"}, status=200)
            assert response.headers["Content-Type"] == "application/json"
            assert response.json == value
    app.get("/a/title", headers={"Accept": "application/x-xbel"}, status=406)


def test_an_unknown_field_or_bookmark_is_404(app, bookmark):
    for field in ("nothing", "Title", "ID", "notes", "title.json", "_version"):
        for method, body in (("GET", b""), ("PUT", b"x"), ("OPTIONS", b"")):
            options = {"body": body, "content_type": "text/plain", "status": 404}
            app.request(f"/a/{field}", method=method, **options)
    app.get("/unknown/title", status=404)
    put_text(app, "/unknown/title", "A", 404)


# --- PUT ---

@pytest.mark.parametrize("accept", ["text/plain", "application/json"])
@pytest.mark.parametrize("field", ["uri", "title", "description", "tags"])
def test_put_accepts_the_body_of_get(app, bookmark, data, field, accept):
    file = data / "bookmarks" / "a.json"
    before = file.read_bytes(), file.stat().st_mtime_ns
    received = app.get(f"/a/{field}", headers={"Accept": accept}, status=200)
    headers = {"Content-Type": received.headers["Content-Type"], "Accept": accept}
    response = app.put(f"/a/{field}", received.body, headers=headers, status=200)
    assert response.body == received.body
    assert response.headers["ETag"] == received.headers["ETag"]
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    app.put_json("/b", {"uri": "https://b.example/", "title": "", "description": "", "tags": []})
    app.delete("/a", status=204)
    app.put(f"/b/{field}", received.body, headers=headers, status=200)
    assert app.get("/b", status=200).json[field] == WHOLE[field]


@pytest.mark.parametrize("field, text, value", [
    ("uri", " https://b.example/x\n", "https://b.example/x"),
    ("title", "two\nlines: Ü 😀\n", "two lines: Ü 😀"),
    ("title", "", WHOLE["uri"]),
    ("description", "a\r\nb\rc\n", "a\nb\nc"),
    ("description", "", ""),
    ("tags", "a\r\nb c, A,d\n\n", ["a", "b c", "d"]),
    ("tags", "", []),
])  # fmt: skip
def test_put_of_text_sets_only_this_field(app, bookmark, field, text, value):
    response = put_text(app, f"/a/{field}", text, 200)
    after = app.get("/a", status=200).json
    assert after[field] == value
    assert response.text == ("\n".join(value) if field == "tags" else value)
    others = [name for name in FIELDS if name not in (field, "modified")]
    assert [after[name] for name in others] == [bookmark[name] for name in others]


def test_put_of_json_sets_the_field(app, bookmark):
    headers = {"Accept": "application/json"}
    values = {"uri": "https://b.example/x", "title": "New", "description": "a\nb"}
    for field, value in [*values.items(), ("tags", ["a", "b c"]), ("tags", [])]:
        assert app.put_json(f"/a/{field}", value, headers=headers, status=200).json == value
        assert app.get("/a", status=200).json[field] == value
        assert app.put_json(f"/a/{field}", value, status=200).content_type == "text/plain"


def test_changing_a_read_only_field_is_405(app, bookmark):
    for field in ("id", "created", "modified"):
        for method in ("PUT", "POST", "DELETE"):
            options = {"body": b"x", "content_type": "text/plain", "status": 405}
            response = app.request(f"/a/{field}", method=method, **options)
            assert response.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("field, values", [
    ("uri", ["", "no uri", ["https://b.example/"], "/path", "https://b.example/ x"]),
    ("title", [5, None, "x" * 4097]),
    ("description", [["a"]]),
    ("tags", ["a", ["a,b"], [""], [["a"]], {"a": "b"}]),
])  # fmt: skip
def test_an_invalid_value_is_422(app, bookmark, field, values):
    for value in values:
        problem = app.put_json(f"/a/{field}", value, status=422).json
        assert [error["field"] for error in problem["errors"]] == [field]
        if field == "uri" and isinstance(value, str):
            put_text(app, "/a/uri", value, 422)
    assert app.get("/a", status=200).json == bookmark


def test_malformed_json_or_text_is_400_and_another_media_type_415(app, bookmark):
    for body in (b"", b"{", b"[1,]", b"NaN", b'"\xff"'):
        app.put("/a/title", body, content_type="application/json", status=400)
    app.put("/a/title", b"\xe4", content_type="text/plain", status=400)
    for content_type in ("application/x-xbel", "application/x-www-form-urlencoded", "text/html"):
        response = put_text(app, "/a/title", "New", 415, content_type)
        assert "text/plain" in response.headers["Accept-Post"]


def test_the_uri_of_another_bookmark_is_409(app, bookmark, add):
    other = add("https://b.example/")
    problem = put_text(app, "/a/uri", "https://b.example:443/", 409).json
    assert f"http://localhost/{other['id']}" in problem.values()


@pytest.mark.parametrize("path, value", [("/a/title", "Part"), ("/a", json.dumps(WHOLE))])
def test_a_body_with_content_range_is_refused(app, bookmark, path, value):
    content_type = "text/plain" if path == "/a/title" else "application/json"
    headers = {"Content-Range": "bytes 0-3/20"}
    app.put(path, value, headers=headers, content_type=content_type, status=400)
    assert app.get("/a").json == bookmark
