"""Compression for clients that ask for it: the same content, under an entity tag of its own."""

import gzip
import json

import pytest
from webob import Request

GZIP = {"Accept-Encoding": "gzip, deflate, br"}
LONG = "Words that come again and again. " * 100


@pytest.fixture
def filled(app, add):
    for number in range(30):
        add(f"https://example.com/{number}", title=f"Number {number}", description=LONG)
    return app


@pytest.fixture
def id(filled):
    return filled.get("/?limit=1").json[0]["id"]


def ask(app, path, status=200, method="GET", **headers):
    """The answer as it is sent: webtest would have it unpacked."""
    request = Request.blank(path, method=method, headers=GZIP)
    for name, value in headers.items():
        request.headers[name.replace("_", "-")] = value
    answer = request.get_response(app.app)
    assert answer.status_int == status
    return answer


PATHS = ["/", "/?format=csv", "/?format=xbel", "/?format=html", "/?format=netscape", "/feed",
         "/?limit=20", "/openapi.json"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_the_content_is_the_same_and_the_tag_another(filled, path):
    plain, packed = filled.get(path), ask(filled, path)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.app_iter) == 1  # It goes out at once, together with its headers.
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    assert "Content-Encoding" not in plain.headers
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Accept, Accept-Encoding"
        assert answer.headers["Content-Length"] == str(len(answer.body))
    if "ETag" in plain.headers:
        assert packed.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'


def test_the_same_content_is_the_same_bytes(filled):
    assert len({ask(filled, "/").body for _ in range(4)}) == 1


def test_a_long_list_is_compressed_as_it_is_written(filled, monkeypatch):
    monkeypatch.setattr("formats.http.STREAMED", 10)
    plain, packed = filled.get("/"), ask(filled, "/")
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["Content-Encoding"] == "gzip"


def test_what_is_short_is_sent_as_it_is(app, add):
    id = add("https://example.com/")["id"]
    answer = ask(app, f"/{id}")
    assert "Content-Encoding" not in answer.headers
    assert answer.json["id"] == id
    assert ask(app, f"/{id}", 304, If_None_Match=answer.headers["ETag"]).body == b""


def test_each_of_both_has_its_own_304(filled, id):
    for path in ("/", "/feed", f"/{id}", "/?format=html"):
        plain, packed = filled.get(path).headers["ETag"], ask(filled, path).headers["ETag"]
        assert plain != packed
        for _ in range(3):  # Kept answers too.
            assert ask(filled, path, 304, If_None_Match=packed).headers["ETag"] == packed
            assert ask(filled, path, 200, If_None_Match=plain).headers["ETag"] == packed
            filled.get(path, headers={"If-None-Match": plain}, status=304)
            filled.get(path, headers={"If-None-Match": packed}, status=200)


def test_if_match_takes_the_tag_of_what_was_compressed(filled, id):
    tag = ask(filled, f"/{id}").headers["ETag"]
    filled.put_json(f"/{id}/title", "New", headers={"If-Match": tag})
    assert filled.get(f"/{id}/title").text.strip() == "New"
    filled.put_json(f"/{id}/title", "Newer", headers={"If-Match": tag}, status=412)


def test_head_tells_the_headers_of_get(filled):
    got, head = ask(filled, "/"), ask(filled, "/", method="HEAD")
    assert head.body == b""
    for name in ("Content-Encoding", "Content-Length", "ETag", "Vary"):
        assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    "asked, is_packed",
    [
        ("gzip", True),
        ("GZIP", True),
        ("*", True),
        ("gzip;q=0.5", True),
        ("br;q=1, gzip;q=0.8, *;q=0.1", True),
        ("identity;q=0.5, gzip", True),
        ("identity;q=0", False),
        ("gzip;q=0", False),
        ("*;q=0", False),
        ("gzip;q=0.5, identity", False),
        ("identity", False),
        ("br", False),
        ("", False),
        ("gzip,;;q=", False),
        ("\xff", False),
        ("gzip" + "," * 5000, True),
    ],
)
def test_who_asks_gets(filled, asked, is_packed):
    for _ in range(3):
        answer = ask(filled, "/", Accept_Encoding=asked)
        assert ("Content-Encoding" in answer.headers) == is_packed


def test_a_kept_answer_is_for_those_who_asked_alike(filled):
    for _ in range(3):
        assert isinstance(filled.get("/").json, list)
        assert json.loads(gzip.decompress(ask(filled, "/").body))


def test_a_page_of_a_problem_is_compressed_too(filled):
    answer = ask(filled, "/nothing", 404, Accept="text/html")
    assert b"<html" in gzip.decompress(answer.body)
