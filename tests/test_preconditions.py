"""Validators and conditional requests (RFC 9110 sections 8.8 and 13)."""

import json
import os
import re
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime
from types import SimpleNamespace

import pytest
import webtest

import formats
from formats.http import conditional
from tests.conftest import write_file

WHOLE = {"uri": "https://a.example/", "title": "A", "description": "Text", "tags": ["x"]}
BODY = json.dumps(WHOLE | {"title": "New"}).encode()
REPRESENTATIONS = ["/a?format=json", "/a?format=xbel", "/a?format=html"]
FIELDS = ["id", "uri", "title", "description", "tags", "created", "modified"]
VALUES = [f"/a/{field}" for field in FIELDS]
LISTS = [
    "/?format=json", "/?format=xbel", "/?format=text", "/?format=csv", "/?format=html",
    "/feed",
]
OTHERS = ["/?tag=x&limit=1", "/?q=a", "/?uri=https://a.example/", "/feed?tag=x&limit=1&offset=1"]
FORMS = ["/?format=html&uri=https://a.example/", "/?format=html&uri=https://new.example/"]
READABLE = [*REPRESENTATIONS, *VALUES, *LISTS, *OTHERS, *FORMS]

# Method, path, body, its media type.
CHANGES = [
    ("PUT", "/a", BODY, "application/json"),
    ("POST", "/a", b'{"title": "New"}', "application/json"),
    ("POST", "/a", b"title=New", "application/x-www-form-urlencoded"),
    ("PUT", "/a/title", b"New", "text/plain"),
    ("DELETE", "/a", b"", ""),
]
# A request that changes nothing, and so keeps the entity tags.
UNCHANGING = ("PUT", "/a/title", b"A", "text/plain")
LATER = "2030-01-01T00:00:00Z"
LONG_AGO = "Mon, 01 Jan 2001 00:00:00 GMT"
FAR_AHEAD = "Fri, 01 Jan 2100 00:00:00 GMT"


@pytest.fixture
def a(app):
    return app.put_json("/a", WHOLE, status=201).json


def send(app, change, status, **headers):
    method, path, body, content_type = change
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type:
        named["Content-Type"] = content_type
    return app.request(path, method=method, body=body, headers=named, status=status)


def etag(app, path):
    return app.get(path, status=200).headers["ETag"]


def success(change):
    return 204 if change[0] == "DELETE" else 200


def lists_with(tag):
    """Return lists that contain the tag.

    White space and empty elements are optional in a list (RFC 9110 section 5.6.1).
    """
    return f'"x",{tag}', f'"x"\t,\t{tag},"y"', f",{tag}", f'"x\\",{tag}', f'W/"a,b",{tag} ,'


# --- Every 200 has validators ---

@pytest.mark.parametrize("path", READABLE)
def test_every_200_has_validators_that_give_304_until_a_change(app, a, path):
    headers, head = app.get(path, status=200).headers, app.head(path, status=200).headers
    assert re.fullmatch(r'"[!#-~]+"', headers["ETag"])
    moment = parsedate_to_datetime(headers["Last-Modified"])
    assert headers["Last-Modified"] == formatdate(moment.timestamp(), usegmt=True)
    assert moment <= datetime.now(UTC)
    for name in ("ETag", "Last-Modified", "Content-Type", "Vary", "Cache-Control"):
        assert head[name] == headers[name]
    tag = headers["ETag"]
    weak = f"W/{tag}"
    for value in (tag, weak, f'"other", {tag}, "x"', "*", *lists_with(tag), *lists_with(weak)):
        for request in (app.get, app.head):
            response = request(path, headers={"If-None-Match": value}, status=304)
            assert response.body == b""
            for name in ("ETag", "Vary", "Cache-Control"):
                assert response.headers[name] == headers[name]
    app.post_json("/a", {"title": "New"}, status=200)
    fresh = app.get(path, headers={"If-None-Match": tag}, status=200)
    assert fresh.headers["ETag"] != tag


def test_each_representation_has_its_own_entity_tag(app, a):
    for paths in (REPRESENTATIONS, LISTS):
        tags = {path: etag(app, path) for path in paths}
        assert len(set(tags.values())) == len(paths)
        for path in paths:
            others = ", ".join(tag for other, tag in tags.items() if other != path)
            app.get(path, headers={"If-None-Match": others}, status=200)
    as_json = {"Accept": "application/json"}
    values = [app.get(path, headers=as_json, status=200).headers["ETag"] for path in VALUES]
    assert len({*values, *(etag(app, path) for path in VALUES)}) == 2 * len(VALUES)


def test_the_response_to_a_change_has_the_new_validators(app):
    for response in (app.put_json("/a", WHOLE), app.post_json("/", {"uri": "https://b.example/"})):
        assert response.status_int == 201
        assert response.headers["ETag"] == etag(app, response.headers["Location"])
    for change in CHANGES[:4]:
        headers = send(app, change, 200).headers
        now = app.get(change[1], status=200).headers
        assert (headers["ETag"], headers["Last-Modified"]) == (now["ETag"], now["Last-Modified"])


def test_last_modified_is_when_the_file_was_last_changed(app, data):
    fields = {"uri": "https://b.example/", "created": "2001-02-03T04:05:06Z", "modified": LATER}
    # The clock of a file system has a resolution of some milliseconds.
    start = int(time.time() - 0.1)
    response = app.post_json("/", fields, status=201)
    file = data / "bookmarks" / f"{response.json['id']}.json"
    os.utime(file, (1e9, 1e9))  # A restored copy has an old mtime.
    for path in (f"/{file.stem}", f"/{file.stem}/title", "/", "/feed"):
        assert start <= date_of(app, path) <= time.time()


def test_last_modified_is_never_in_the_future(app, a, data):
    for path in (data / "bookmarks" / "a.json", data / "bookmarks"):
        os.utime(path, (time.time() + 86_400, time.time() + 86_400))
    for path in ("/a", "/a/title", "/", "/feed"):
        assert date_of(app, path) <= time.time()


def date_of(app, path):
    headers = app.get(path, status=200).headers
    return parsedate_to_datetime(headers["Last-Modified"]).timestamp()


# --- 304 ---

def test_only_if_match_accepts_the_tag_of_another_program_version(app, a, client, monkeypatch):
    old = {path: etag(app, path) for path in READABLE}
    monkeypatch.setattr(formats, "__version__", "99.0")
    upgraded = client()
    for path, tag in old.items():
        fresh = upgraded.get(path, headers={"If-None-Match": tag}, status=200)
        assert fresh.headers["ETag"] != tag
    for path in (*REPRESENTATIONS, *VALUES):
        send(upgraded, UNCHANGING, 200, If_Match=old[path])
    send(upgraded, ("DELETE", "/a", b"", ""), 204, If_Match=old["/a?format=json"])


def test_the_tag_of_a_page_changes_with_what_it_shows_of_other_bookmarks(app, a, add):
    before = etag(app, "/a?format=html")
    add("x:b", tags=["unread"])
    assert etag(app, "/a?format=html") != before


@pytest.fixture
def later(monkeypatch):
    """Set the clock of conditional requests two seconds ahead."""
    now = time.time
    monkeypatch.setattr(conditional, "time", SimpleNamespace(time=lambda: now() + 2))


PAGES = ["/a?format=html", "/?format=html", "/tags?format=html"]
DATED = [path for path in (*REPRESENTATIONS, *VALUES, *LISTS) if path not in PAGES]


def test_if_modified_since_gives_304_except_for_pages(app, a, later):
    for path in PAGES:
        current = app.get(path, status=200).headers["Last-Modified"]
        app.get(path, headers={"If-Modified-Since": current}, status=200)
    for path in DATED:
        current = app.get(path, status=200).headers["Last-Modified"]
        moment = parsedate_to_datetime(current)
        assert app.get(path, headers={"If-Modified-Since": current}, status=304).body == b""
        obsolete = moment.strftime("%A, %d-%b-%y %H:%M:%S GMT")  # RFC 850
        app.get(path, headers={"If-Modified-Since": obsolete}, status=304)
        app.get(path, headers={"If-Modified-Since": moment.strftime("%c")}, status=304)  # asctime
        second_before = formatdate(moment.timestamp() - 1, usegmt=True)
        for since in (LONG_AGO, second_before, FAR_AHEAD, "soon", "", "0"):
            app.get(path, headers={"If-Modified-Since": since}, status=200)


def test_a_date_that_does_not_exist_is_no_date(app, a, monkeypatch):
    in_2033 = datetime(2033, 1, 1, tzinfo=UTC).timestamp()
    monkeypatch.setattr(conditional, "time", SimpleNamespace(time=lambda: in_2033))
    exists = {"If-Modified-Since": "Fri, 28 Feb 2031 00:00:00 GMT"}
    app.get("/a", headers=exists, status=304)
    for date in ("Sat, 29 Feb {} 00:00:00 GMT", "Tue Jan  0 24:00:00 {}"):
        app.get("/a", headers={"If-Modified-Since": date.format(2031)}, status=200)
        send(app, UNCHANGING, 200, If_Unmodified_Since=date.format(1995))


def test_if_none_match_overrides_if_modified_since(app, a, later):
    for path in ("/a", "/"):
        current = app.get(path, status=200).headers
        headers = {"If-Modified-Since": current["Last-Modified"], "If-None-Match": '"other"'}
        app.get(path, headers=headers, status=200)
        headers = {"If-Modified-Since": LONG_AGO, "If-None-Match": current["ETag"]}
        app.get(path, headers=headers, status=304)


@pytest.mark.parametrize("change", [CHANGES[1], CHANGES[4]], ids=["update", "deletion"])
def test_a_change_within_the_last_second_gives_no_304_by_date(app, a, change):
    moment = time.time()
    send(app, change, success(change))
    for path in LISTS if change[0] == "DELETE" else (*REPRESENTATIONS, *VALUES, *LISTS):
        since = {"If-Modified-Since": app.get(path, status=200).headers["Last-Modified"]}
        response = app.get(path, headers=since, status="*")
        assert response.status_int == 200 or time.time() - moment > 1


# --- 412 ---

@pytest.fixture
def unchanged(app, a, data):
    """Assert at the end of the test that no file has changed."""
    file = data / "bookmarks" / "a.json"
    before = file.read_bytes(), file.stat().st_mtime_ns, os.listdir(data / "bookmarks")
    yield
    assert (file.read_bytes(), file.stat().st_mtime_ns, os.listdir(data / "bookmarks")) == before


def test_a_false_condition_is_412_and_changes_nothing(app, unchanged):
    for headers in (
        {"If_Match": '"other", "another"'},
        {"If_Match": ""},
        {"If_Match": "other"},
        {"If_None_Match": "*"},
        {"If_Unmodified_Since": LONG_AGO},
        {"If_Match": '"other"', "If_Unmodified_Since": FAR_AHEAD},
        {"If_Match": "*", "If_None_Match": "*"},
    ):
        for change in CHANGES:
            assert send(app, change, 412, **headers).json["status"] == 412


def test_if_match_compares_strongly_and_if_none_match_weakly(app, unchanged):
    tag = etag(app, "/a")
    weak = [f"W/{tag}", *lists_with(f"W/{tag}")]
    for change in CHANGES:
        for value in weak:
            send(app, change, 412, If_Match=value)
        for value in (tag, *lists_with(tag), *weak):
            send(app, change, 412, If_None_Match=value)


def test_if_match_accepts_the_tag_of_any_representation(app, a):
    for path in (*REPRESENTATIONS, *VALUES):
        send(app, UNCHANGING, 200, If_Match=f'"other", {etag(app, path)}')
    for value in lists_with(etag(app, "/a")):
        send(app, UNCHANGING, 200, If_Match=value)
    for change in CHANGES:
        send(app, change, success(change), If_Match=etag(app, "/a?format=html"))


@pytest.mark.parametrize("headers", [
    {"If_None_Match": '"other"'},
    {"If_Unmodified_Since": "whenever"},
    {"If_Match": "*", "If_Unmodified_Since": LONG_AGO},
    {"If_Modified_Since": FAR_AHEAD},
], ids=str)  # fmt: skip
def test_a_change_whose_conditions_hold_succeeds(app, a, headers, later):
    for change in CHANGES:
        current = app.get("/a", status=200).headers["Last-Modified"]
        send(app, change, success(change), **{"If_Unmodified_Since": current} | headers)


def test_a_change_within_the_last_second_fails_if_unmodified_since(app):
    moment = time.time()
    app.put_json("/a", WHOLE, status=201)
    current = app.get("/a", status=200).headers["Last-Modified"]
    for change in CHANGES:
        response = send(app, change, "*", If_Unmodified_Since=current)
        assert response.status_int == 412 or time.time() - moment > 1


def test_a_creation_honours_conditions(app):
    change = ("PUT", "/a", BODY, "application/json")
    for value in ("*", '"x"'):
        send(app, change, 412, If_Match=value)
    app.get("/a", status=404)
    send(app, change, 201, If_None_Match="*", If_Unmodified_Since=LONG_AGO)
    send(app, change, 412, If_None_Match="*")


def test_post_honours_conditions_on_the_list(app, a):
    for path in LISTS:
        change = ("POST", "/", b'{"uri": "x:%s"}' % path.encode(), "application/json")
        current = etag(app, path)
        send(app, change, 412, If_Match='"other"')
        send(app, change, 412, If_None_Match="*")
        send(app, change, 412, If_Unmodified_Since=LONG_AGO)
        send(app, change, 201, If_Match=current)
        send(app, change, 412, If_Match=current)


def test_a_strong_tag_never_has_two_bodies_while_writers_write(app, a):
    paths = [*LISTS, *OTHERS, "/?format=netscape", "/tags", *REPRESENTATIONS]
    found, is_done = defaultdict(set), threading.Event()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # Threads take turns more often.

    def change(n):
        client = webtest.TestApp(app.app)
        for turn in range(15):
            client.post_json("/a", {"title": f"{n} {turn}", "tags": ["x", f"{turn}"]})
            client.delete(f"/b{n}-{turn - 1}", status="*")
            uri = f"https://{n}-{turn}.example/"
            client.put_json(f"/b{n}-{turn}", WHOLE | {"uri": uri}, status=201)

    def read():
        client = webtest.TestApp(app.app)
        while not is_done.is_set():
            for path in paths:
                response = client.get(path, status=200)
                total = response.headers.get("X-Total-Count")
                found[path, response.headers["ETag"]].add((response.body, total))

    with ThreadPoolExecutor(5) as threads:
        readers = [threads.submit(read) for _ in range(3)]
        try:
            list(threads.map(change, range(2)))
        finally:
            is_done.set()
            sys.setswitchinterval(interval)
        for reader in readers:
            reader.result()
    assert len(found) > 100
    assert [key for key, bodies in found.items() if len(bodies) > 1] == []


# --- The validators of a list ---

def test_every_change_gives_a_list_a_new_tag(app, data):
    old = "2001-01-01T00:00:00Z"
    changes = [
        lambda: None,
        lambda: app.put_json("/a", WHOLE, status=201),
        lambda: app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201),
        lambda: app.post_json("/a", {"title": "New"}, status=200),
        lambda: app.put("/a/tags", b"y", content_type="text/plain", status=200),
        lambda: app.delete("/a", status=204),
        lambda: write_file(data, "bookmarks", "c", uri="https://c.example/", created=old),
        lambda: write_file(data, "bookmarks", "c", uri="https://d.example/", created=old),
        lambda: (data / "bookmarks" / "c.json").unlink(),
        lambda: write_file(data, "tombstones", "b", deleted=old),
    ]
    states = []
    for change in changes:
        change()
        states.append([etag(app, path) for path in LISTS])
    for tags in zip(*states):
        # Removing c.json restores the folder to its content before c.json was added.
        assert tags[8] == tags[5]
        assert len(set(tags)) == len(tags) - 1


def test_the_validators_are_the_same_in_every_application(app, a, client):
    early = client()
    early.get("/", status=200)
    app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201)
    app.post_json("/a", {"title": "New"}, status=200)
    app.delete("/b", status=204)
    for other in (early, client()):
        for path in (*LISTS, *REPRESENTATIONS, *VALUES):
            headers = other.get(path, status=200).headers
            assert headers["ETag"] == etag(app, path)
            if path in LISTS:
                assert headers["Last-Modified"] == app.get(path).headers["Last-Modified"]


def test_a_change_that_leaves_only_old_files_gives_no_304_by_date(app, a, data, client, later):
    app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201)
    app.delete("/b", status=204)
    file = data / "bookmarks" / "a.json"
    text = file.read_text()

    def restore_old_version():
        file.write_text(text.replace('"A"', '"Old"'))
        os.utime(file, (1e9, 1e9))

    # What another program does.
    for change in (restore_old_version, (data / "tombstones" / "b.json").unlink, file.unlink):
        since = {"If-Modified-Since": app.get("/", status=200).headers["Last-Modified"]}
        time.sleep(1.1)  # Dates have a resolution of one second.
        change()
        for each in (app, client()):
            each.get("/", headers=since, status=200)
            if file.exists():
                each.get("/a", headers=since, status=200 if change is restore_old_version else 304)


@pytest.mark.parametrize("path, body", [
    ("/tags", {"tag": "x", "add": "new"}),
    ("/-/import", [{"uri": "https://new.example/"}]),
    ("/a", {"title": "New"}),
    ("/", {"uri": "https://new.example/"}),
])  # fmt: skip
def test_one_of_two_racing_requests_with_one_entity_tag_fails(app, a, monkeypatch, path, body):
    headers = {"If-Match": etag(app, path if path == "/a" else "/")}
    transaction, barrier = app.app.store.transaction, threading.Barrier(2)

    def wait_and_begin():
        barrier.wait(10)  # Both requests have seen the same state by now.
        return transaction()

    monkeypatch.setattr(app.app.store, "transaction", wait_and_begin)

    def change():
        return app.post_json(path, body, headers=headers, status="*").status_int

    with ThreadPoolExecutor(2) as pool:
        statuses = [pool.submit(change) for _ in range(2)]
    assert sorted(status.result() for status in statuses) == [201 if path == "/" else 200, 412]
