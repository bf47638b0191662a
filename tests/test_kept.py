"""Answers are given again while nothing changes, and never once anything has."""

import json
import os
import random
import tracemalloc

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


class Counter:
    """A store whose number of changes a test sets."""

    def __init__(self):
        self.change_count = 0

    def refresh(self):
        return self.change_count


def ask(path="/"):
    return Request.blank(path)


def answer(body=b"", headers=()):
    return http.Response(http.OK, list(headers), [body])


def test_a_response_asked_for_again_is_made_again_only_after_a_change():
    counter, made = Counter(), []
    kept = http.Kept(counter)

    def make(request):
        made.append(request.path)
        return answer(b"x")

    for _ in range(5):
        kept.answer(ask(), make)
    assert len(made) == 2  # What is asked for once is not worth keeping.
    counter.change_count += 1
    for _ in range(5):
        kept.answer(ask(), make)
    assert len(made) == 3


def test_a_response_is_not_kept_if_the_store_changed_while_it_was_made():
    counter = Counter()
    kept = http.Kept(counter)

    def make(request):
        counter.change_count += 1
        return answer(b"x")

    assert len({id(kept.answer(ask(), make)) for _ in range(3)}) == 3


@pytest.mark.parametrize("header", ["If-Match", "If-Modified-Since", "If-Unmodified-Since"])
def test_a_response_that_depends_on_the_time_is_not_kept(header):
    kept = http.Kept(Counter())
    request = Request.blank("/", headers={header: '"x"'})
    answers = [kept.answer(request, lambda _: answer()) for _ in range(3)]
    assert len({id(answer) for answer in answers}) == 3


def traced(kept, paths, make):
    """The bytes of memory that keeping the responses to these requests takes."""
    tracemalloc.start()
    try:
        for path in paths:
            kept.answer(ask(path), make)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "make",
    [
        lambda request: answer(bytes(20_000)),
        lambda request: answer(headers=[("Link", "x" * 20_000 + request.path)]),
        lambda request: answer(bytes(http.MAX_KEPT_ONE)),
    ],
    ids=["bodies", "headers", "large ones"],
)
def test_kept_responses_take_bounded_memory(monkeypatch, make):
    monkeypatch.setattr(http, "MAX_KEPT", 2_000_000)
    paths = [f"/?n={n // 2}" for n in range(1000)]
    assert traced(http.Kept(Counter()), paths, make) < 3_000_000


def test_requests_that_come_only_once_take_bounded_memory():
    paths = (f"/?n={n}" for n in range(40_000))
    assert traced(http.Kept(Counter()), paths, lambda _: answer()) < 2_000_000
