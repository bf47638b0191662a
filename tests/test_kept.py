"""Answers are given again while nothing changes, and never once anything has."""

import json
import os
import random

import pytest
import webtest
from webob import Request

from bookmarks import make_app
from formats import http

BROKEN = "{"
PATHS = ("/", "/?tag=a", "/?tag=a&tag=b&limit=1", "/?q=x", "/feed", "/?format=html", "/?format=csv")


def answers(app, ids):
    """Everything that can be read, with its validators."""
    found = {}
    for path in (*PATHS, *(f"/{id}" for id in ids), *(f"/{id}/tags" for id in ids)) * 3:
        response = app.get(path, expect_errors=True)
        tag = response.headers.get("ETag")
        found[path] = response.status, tag, response.headers.get("Last-Modified"), response.body
        if tag:
            assert app.get(path, headers={"If-None-Match": tag}).status_int == 304
    return found


def by_request(app, data, id, turn):
    app.post_json(f"/{id}", {"title": f"Turn {turn}"}, expect_errors=True)


def by_another(app, data, id, turn):
    webtest.TestApp(make_app(data)).put_json(f"/{id}/tags", ["a", f"t{turn}"], expect_errors=True)


def by_hand(app, data, id, turn):
    path = data / "bookmarks" / f"{id}.json"
    if path.exists() and path.read_text() != BROKEN:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"description": f"x {turn}"}))


def by_a_touch(app, data, id, turn):
    path = data / "bookmarks" / f"{id}.json"
    if path.exists():
        os.utime(path, (turn, turn))


def by_deletion(app, data, id, turn):
    if turn % 5 == 0:
        app.delete(f"/{id}", expect_errors=True)


def by_a_tombstone(app, data, id, turn):
    if turn % 7 == 0:
        tombstone = {"id": id, "deleted": "2024-01-01T00:00:00Z"}
        (data / "tombstones" / f"{id}.json").write_text(json.dumps(tombstone))


def by_a_broken_file(app, data, id, turn):
    if turn % 11 == 0:
        (data / "bookmarks" / f"{id}.json").write_text(BROKEN)


CHANGES = (
    by_request, by_another, by_hand, by_a_touch, by_deletion, by_a_tombstone, by_a_broken_file,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_every_change_is_in_the_next_answer(data, app, add, seed):
    chance = random.Random(seed)
    ids = [add(f"https://example.com/{n}", tags=["a", "b"], title="x")["id"] for n in range(4)]
    before = answers(app, ids)
    assert answers(app, ids) == before
    for turn in range(40):
        chance.choice(CHANGES)(app, data, chance.choice(ids), turn)
        assert answers(app, ids) == answers(webtest.TestApp(make_app(data)), ids)


def test_a_header_that_the_answer_depends_on_tells_answers_apart(app, add):
    add()
    assert app.get("/").content_type == "application/json"
    assert app.get("/", headers={"Accept": "text/csv"}).content_type == "text/csv"
    here = app.get("/?limit=1").headers["Link"]
    elsewhere = app.get("/?limit=1", extra_environ={"HTTP_HOST": "127.0.0.1:81"}).headers["Link"]
    below = app.get("/?limit=1", extra_environ={"SCRIPT_NAME": "/below"}).headers["Link"]
    assert len({here, elsewhere, below}) == 3
    assert app.head("/").body == b""
    assert app.get("/").body != b""


def test_a_kept_answer_needs_the_token_too(data):
    app = webtest.TestApp(make_app(data, token="secret"))
    app.get("/", headers={"Authorization": "Bearer secret"}, status=200)
    app.get("/", status=401)


class Source:
    """Something that changes when it is told to."""

    def __init__(self):
        self.seen = 0

    def changes(self):
        return self.seen


def ask(path="/"):
    return Request.blank(path)


def answer(body=b"", headers=()):
    return http.Response(http.OK, list(headers), [body])


def test_what_is_asked_for_again_is_given_again_until_the_next_change():
    source, made = Source(), []
    kept = http.Kept(source)

    def make(request):
        made.append(request.path)
        return answer(b"x")

    first = kept.answer(ask(), make)
    again = kept.answer(ask(), make)
    assert again is not first
    assert kept.answer(ask(), make) is again
    source.seen += 1
    renewed = kept.answer(ask(), make)
    assert renewed is not again
    assert kept.answer(ask(), make) is renewed
    assert made == ["/", "/", "/"]


def test_what_is_asked_for_once_is_not_kept():
    kept = http.Kept(Source())
    for n in range(3 * http.MAX_ONCE):
        kept.answer(ask(f"/?n={n}"), lambda _: answer())
        assert len(kept._once) <= http.MAX_ONCE
    assert not kept._answers


def test_what_comes_again_after_many_others_is_kept():
    kept = http.Kept(Source())
    for _ in range(2):
        for n in range(http.MAX_ONCE // 2):
            kept.answer(ask(f"/?n={n}"), lambda _: answer())
    assert len(kept._answers) == http.MAX_ONCE // 2


def test_what_is_renewed_takes_no_more_room_than_before():
    source = Source()
    kept = http.Kept(source)
    many = 2 * http.MAX_KEPT // http.MAX_KEPT_ONE
    for _ in range(2):
        kept.answer(ask("/another"), lambda _: answer())
    for source.seen in range(many):
        kept.answer(ask(), lambda _: answer(bytes(http.MAX_KEPT_ONE // 2)))
        kept.answer(ask(), lambda _: answer(bytes(http.MAX_KEPT_ONE // 2)))
    assert len(kept._answers) == 2


def test_what_changes_while_an_answer_is_made_is_not_kept():
    source = Source()
    kept = http.Kept(source)

    def make(request):
        source.seen += 1
        return answer(b"x")

    answers = [kept.answer(ask(), make) for _ in range(3)]
    assert len({id(answer) for answer in answers}) == 3


@pytest.mark.parametrize("header", ["If-Match", "If-Modified-Since", "If-Unmodified-Since"])
def test_an_answer_that_the_time_may_change_is_not_kept(header):
    kept = http.Kept(Source())
    request = Request.blank("/", headers={header: '"x"'})
    answers = [kept.answer(request, lambda _: answer()) for _ in range(3)]
    assert len({id(answer) for answer in answers}) == 3


def test_what_headers_take_counts():
    kept = http.Kept(Source())
    long = [("Link", "x" * 100_000)]
    for _ in range(2):
        for n in range(200):
            kept.answer(ask(f"/?n={n}"), lambda _: answer(headers=long))
    assert 0 < len(kept._answers) <= http.MAX_KEPT / 100_000


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(http, "MAX_KEPT", 100_000)
    kept = http.Kept(Source())
    for _ in range(2):
        for n in range(5000):
            kept.answer(ask(f"/?n={n}"), lambda _: answer(b"x" * 2000))
            assert len(kept._answers) <= 100_000 / (2000 + http.ANSWER_SIZE)
    assert kept._answers
    kept.answer(ask(), lambda _: answer())
    large = kept.answer(ask(), lambda _: answer(b"x" * http.MAX_KEPT_ONE))
    assert kept.answer(ask(), lambda _: answer()) is not large
