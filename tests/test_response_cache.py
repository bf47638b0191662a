"""Responses are cached until the data folder changes, and never sent after a change."""

import json
import random
import threading
import tracemalloc

import pytest
import webtest
from webob import Request

import storage.store
from bookmarks import make_app
from formats.http import cache
from formats.http.cache import ResponseCache
from formats.http.response import OK, Response
from tests.conftest import write_file

BROKEN = "{"
PATHS = ("/", "/?tag=a", "/?tag=a&tag=b&limit=1", "/?q=x", "/feed", "/?format=html", "/?format=csv")


def read_everything(app, ids):
    """Return status, validators and body of the third response to each of several requests."""
    responses = {}
    for path in (*PATHS, *(f"/{id}" for id in ids), *(f"/{id}/tags" for id in ids)) * 3:
        response = app.get(path, expect_errors=True)
        etag, last_modified = response.headers.get("ETag"), response.headers.get("Last-Modified")
        responses[path] = response.status, etag, last_modified, response.body
        if etag:
            assert app.get(path, headers={"If-None-Match": etag}).status_int == 304
    return responses


def change_by_request(app, data, id, turn):
    app.post_json(f"/{id}", {"title": f"Turn {turn}"}, expect_errors=True)


def change_by_another_process(app, data, id, turn):
    other = webtest.TestApp(make_app(data))
    other.put_json(f"/{id}/tags", ["a", f"t{turn}"], expect_errors=True)


def edit_file(app, data, id, turn):
    path = data / "bookmarks" / f"{id}.json"
    if path.exists() and path.read_text() != BROKEN:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"description": f"x {turn}"}))


def delete_by_request(app, data, id, turn):
    if turn % 5 == 0:
        app.delete(f"/{id}", expect_errors=True)


def write_tombstone(app, data, id, turn):
    if turn % 7 == 0:
        write_file(data, "tombstones", id, deleted="2024-01-01T00:00:00Z")


def break_file(app, data, id, turn):
    if turn % 11 == 0:
        (data / "bookmarks" / f"{id}.json").write_text(BROKEN)


CHANGES = (
    change_by_request, change_by_another_process, edit_file, delete_by_request, write_tombstone,
    break_file,
)  # fmt: skip


def test_every_change_is_in_the_next_response(data, app, add, client):
    chance = random.Random(1)
    ids = [add(f"https://example.com/{n}", tags=["a", "b"], title="x")["id"] for n in range(4)]
    before = read_everything(app, ids)
    assert read_everything(app, ids) == before
    for turn in range(30):
        chance.choice(CHANGES)(app, data, chance.choice(ids), turn)
        fresh = client()
        assert read_everything(app, ids) == read_everything(fresh, ids)


def test_requests_that_differ_have_different_responses(app, add, client):
    add()
    with_token = client(token="secret")
    addresses = ({}, {"HTTP_HOST": "127.0.0.1:81"}, {"SCRIPT_NAME": "/below"})
    path = "/?limit=1&offset=1"
    for _ in range(3):
        assert app.get("/").content_type == "application/json"
        assert app.get("/", headers={"Accept": "text/csv"}).content_type == "text/csv"
        assert app.head("/").body == b""
        with_token.get("/", headers={"Authorization": "Bearer secret"}, status=200)
        with_token.get("/", status=401)
        links = {app.get(path, extra_environ=a).headers["Link"] for a in addresses}
        assert len(links) == 3


class FakeStore:
    """A store whose number of changes a test sets."""

    def __init__(self):
        self.change_count = 0

    def has_changed(self, change_count):
        return change_count != self.change_count


def response(body=b"", headers=()):
    return Response(OK, dict(headers), body)


def test_a_response_is_made_again_only_after_a_change():
    store, made = FakeStore(), []
    responses = ResponseCache(store)

    def make(request):
        made.append(request)
        return response()

    for change_count in (0, 0, 0, 1, 1):
        store.change_count = change_count
        responses.get(Request.blank("/"), False, make)
    assert len(made) == 2


def test_a_cached_response_waits_for_no_reading_or_writing_request(data, app, add, inotify):
    add("x:a")
    for _ in range(2):
        app.get("/")
    (store,) = [store for store in storage.store._STORES if store._folder == data]
    request = threading.Thread(target=app.get, args=("/",))
    with store._follower.mutex:
        request.start()
        request.join(10)
        assert not request.is_alive()


def test_a_response_is_not_cached_if_the_store_changes_while_it_is_made():
    store = FakeStore()
    responses = ResponseCache(store)

    def make(request):
        store.change_count += 1
        return response(b"x")

    made = [responses.get(Request.blank("/"), False, make) for _ in range(3)]
    assert len({id(one) for one in made}) == 3


@pytest.mark.parametrize("header", ["If-Match", "If-Modified-Since", "If-Unmodified-Since"])
def test_a_response_to_a_condition_that_depends_on_time_is_not_cached(header):
    responses = ResponseCache(FakeStore())
    request = Request.blank("/", headers={header: '"x"'})
    made = [responses.get(request, False, lambda _: response()) for _ in range(3)]
    assert len({id(one) for one in made}) == 3


@pytest.mark.parametrize("make", [
    lambda request: response(),
    lambda request: response(bytes(2_000)),
    lambda request: response(headers=[("Link", "x" * 2_000 + request.path)]),
    lambda request: response(bytes(cache.MAX_RESPONSE_SIZE)),
], ids=["empty", "bodies", "headers", "large bodies"])  # fmt: skip
@pytest.mark.parametrize("rest, times", [("", 1), ("", 2), ("x" * 10_000, 2)])
def test_cached_responses_take_bounded_memory(monkeypatch, make, rest, times):
    monkeypatch.setattr(cache, "MAX_SIZE", 1_600_000)
    tracemalloc.start()
    try:
        responses = ResponseCache(FakeStore())
        for n in range(1000):
            responses.get(Request.blank(f"/?n={n // times}{rest}"), False, make)
        assert tracemalloc.get_traced_memory()[0] < 1_700_000
    finally:
        tracemalloc.stop()
