"""A deleted id is 410 for every method, and is never used again."""

import json

import pytest

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FIELDS = ["id", "uri", "title", "description", "tags", "created", "modified"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]
JSON = "application/json"
WHOLE = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["x"]}


@pytest.fixture
def deleted(app):
    app.put_json("/a", WHOLE, status=201)
    app.delete("/a", status=204)


def test_every_method_is_410_and_can_be_cached(app, deleted):
    for method in METHODS:
        body = b"" if method in ("GET", "HEAD", "OPTIONS") else json.dumps(WHOLE).encode()
        options = {"method": method, "body": body, "content_type": JSON, "status": 410}
        for path in ("/a", *(f"/a/{field}" for field in FIELDS)):
            response = app.request(path, **options)
            assert response.headers["Cache-Control"] == "public, max-age=86400"
            if method != "HEAD":
                assert response.content_type == "application/problem+json"
                assert response.json["status"] == 410


def test_every_body_is_410(app, deleted, client):
    for method, path in (("PUT", "/a"), ("POST", "/a"), ("PUT", "/a/title")):
        for body in (b"", b"{", b"\xff", b'{"nothing": 1}', b"x" * 2**20 + b"x"):
            for content_type in (JSON, "image/png"):
                app.request(path, method=method, body=body, content_type=content_type, status=410)
    assert app.get("/", status=200).json == []
    client().get("/a", status=410)
    for other in ("/b", "/aa", "/a-", "/b/title"):
        app.get(other, status=404)


def test_every_header_and_query_is_410(app, deleted):
    body = json.dumps(WHOLE).encode()
    paths = [("GET", f"/a?{query}") for query in ("format=html", "format=yaml", "x=%ff")]
    for name, value in (
        ("If-None-Match", "*"), ("If-Match", "*"), ("If-Match", '"x"'), ("Range", "bytes=0-1"),
        ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"), ("Accept", "image/png"),
        ("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT"), ("Accept", BROWSER),
    ):  # fmt: skip
        options = {"body": body, "headers": {"Content-Type": JSON, name: value}, "status": 410}
        for method, path in [*paths, ("GET", "/a/title"), ("PUT", "/a"), ("DELETE", "/a")]:
            response = app.request(path, method=method, **options)
            assert response.headers["Cache-Control"] == "public, max-age=86400"
            assert response.headers["Vary"] == "Accept, Accept-Encoding"
            is_page = value == BROWSER
            assert response.content_type == ("text/html" if is_page else "application/problem+json")


def test_with_a_token_only_private_caches_may_store_a_410(client):
    app = client(token="secret", public_read=True)
    headers = {"Authorization": "Bearer secret"}
    app.put_json("/a", WHOLE, headers=headers, status=201)
    app.delete("/a", headers=headers, status=204)
    for authorization in ({}, headers):
        response = app.get("/a", headers=authorization, status=410)
        assert response.headers["Cache-Control"] == "private, max-age=86400"


def test_a_deleted_bookmark_is_in_no_list(app, deleted):
    for query in ("", "?tag=x", "?q=a", "?uri=https://a.example/", "?limit=10"):
        response = app.get(f"/{query}", status=200)
        assert (response.json, response.headers["X-Total-Count"]) == ([], "0")
    for name in ("xbel", "text", "csv", "html"):
        assert "a.example" not in app.get(f"/?format={name}", status=200).text


def test_a_new_bookmark_with_the_same_uri_has_a_new_id(app, deleted, add):
    new = add(WHOLE["uri"])
    assert new["id"] != "a"
    assert app.get("/", status=200).json == [new]
    app.delete(f"/{new['id']}", status=204)
    assert add(WHOLE["uri"])["id"] not in ("a", new["id"])


def test_a_tombstone_is_added_to_the_file_and_says_that_the_bookmark_was_private(app, data):
    for tags, members in ((["x"], {"id", "deleted"}), (["PRIVATE"], {"id", "deleted", "private"})):
        id = app.post_json("/", WHOLE | {"tags": tags}, status=201).json["id"]
        app.delete(f"/{id}", status=204)
        assert (data / "bookmarks" / f"{id}.json").exists()
        assert json.loads((data / "tombstones" / f"{id}.json").read_bytes()).keys() == members
