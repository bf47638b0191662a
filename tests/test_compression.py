"""Responses are compressed with gzip for clients that accept it."""

import gzip

import pytest
from webob import Request

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
def filled(app):
    shared = {"description": "Words that come again and again. " * 100}
    entries = [{"uri": f"https://example.com/{n}", "title": f"Number {n}"} for n in range(30)]
    app.post_json("/-/import", [entry | shared for entry in entries])
    return app


@pytest.fixture
def id(filled):
    return filled.get("/?limit=1").json[0]["id"]


def get_gzip(app, path, status=200, method="GET", **headers):
    """Return the response as it is sent; webtest would decompress it."""
    request = Request.blank(path, method=method, headers=GZIP)
    for name, value in headers.items():
        request.headers[name.replace("_", "-")] = value
    response = request.get_response(app.app)
    assert response.status_int == status
    return response


PATHS = ["/", "/?format=csv", "/?format=xbel", "/?format=html", "/?format=netscape", "/feed",
         "/?limit=20", "/openapi.json"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_compressed_response_has_the_same_content_and_its_own_entity_tag(filled, path):
    for _ in range(3):  # The third response comes from the cache.
        plain, compressed = filled.get(path), get_gzip(filled, path)
        assert compressed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(compressed.body) == plain.body
        assert len(compressed.body) < len(plain.body) / 2
        assert "Content-Encoding" not in plain.headers
        for response in (plain, compressed):
            assert response.headers["Vary"] == "Accept, Accept-Encoding"
            assert response.headers["Content-Length"] == str(len(response.body))
        if "ETag" in plain.headers:
            assert compressed.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
    assert len({get_gzip(filled, path).body for _ in range(4)}) == 1


@pytest.mark.parametrize("size, is_compressed", [(1024, False), (1025, True)])
def test_a_response_of_more_than_1024_bytes_is_compressed(app, add, size, is_compressed):
    id = add("https://example.com/", description="x" * 1000 + "y" * (size - 1000))["id"]
    response = get_gzip(app, f"/{id}/description")
    assert ("Content-Encoding" in response.headers) == is_compressed
    assert is_compressed or len(response.body) == size
    tag = response.headers["ETag"]
    assert get_gzip(app, f"/{id}/description", 304, If_None_Match=tag).body == b""


def test_if_none_match_requires_the_entity_tag_of_the_same_encoding(filled, id):
    for path in ("/", "/feed", f"/{id}", "/?format=html"):
        plain, compressed = filled.get(path).headers["ETag"], get_gzip(filled, path).headers["ETag"]
        assert plain != compressed
        for _ in range(3):  # The third response comes from the cache.
            unchanged = get_gzip(filled, path, 304, If_None_Match=compressed)
            assert unchanged.headers["ETag"] == compressed
            assert get_gzip(filled, path, 200, If_None_Match=plain).headers["ETag"] == compressed
            filled.get(path, headers={"If-None-Match": plain}, status=304)
            filled.get(path, headers={"If-None-Match": compressed}, status=200)


def test_if_match_accepts_the_entity_tag_of_a_compressed_response(filled, id):
    tag = get_gzip(filled, f"/{id}").headers["ETag"]
    filled.put_json(f"/{id}/title", "New", headers={"If-Match": tag})
    assert filled.get(f"/{id}/title").text.strip() == "New"
    filled.put_json(f"/{id}/title", "Newer", headers={"If-Match": tag}, status=412)


ACCEPTED = [
    "gzip", "GZIP", "br;q=1.0, gzip;q=0.9, deflate;q=0.8", "br;q=1, gzip;q=0.8, *;q=0.1",
    "identity;q=0.5, gzip", "gzip;q=0.5, identity",
]  # fmt: skip
REFUSED = ["identity;q=0", "gzip;q=0", "*;q=0", "identity", "br", "", "gzip,;;q=", "\xff"]


def test_accept_encoding_decides(filled):
    for accept_encoding in (*ACCEPTED, *REFUSED) * 2:
        response = get_gzip(filled, "/", Accept_Encoding=accept_encoding)
        is_compressed = "Content-Encoding" in response.headers
        assert is_compressed == (accept_encoding in ACCEPTED), accept_encoding
    problem = get_gzip(filled, "/nothing", 404, Accept="text/html")
    assert b"<html" in gzip.decompress(problem.body)
    get, head = get_gzip(filled, "/"), get_gzip(filled, "/", method="HEAD")
    assert head.body == b""
    for name in ("Content-Encoding", "Content-Length", "ETag", "Vary"):
        assert head.headers[name] == get.headers[name]
