"""Validators and preconditions: RFC 9110 sections 8.8 and 13."""

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

import pytest
import webtest

from bookmarks import make_app
from formats import http
from storage.index import State

WHOLE = {"uri": "https://a.example/", "title": "A", "description": "Text", "tags": ["x"]}
BODY = json.dumps(WHOLE | {"title": "New"}).encode()
REPRESENTATIONS = ["/a?format=json", "/a?format=xbel", "/a?format=html"]
FIELDS = ["id", "uri", "title", "description", "tags", "created", "modified"]
VALUES = [f"/a/{field}" for field in FIELDS]
LISTS = [
    "/?format=json",
    "/?format=xbel",
    "/?format=text",
    "/?format=csv",
    "/?format=html",
    "/feed",
]
OTHERS = ["/?tag=x&limit=1", "/?q=a", "/?uri=https://a.example/", "/feed?tag=x&limit=1&offset=1"]
FORMS = ["/?format=html&uri=https://a.example/", "/?format=html&uri=https://new.example/"]
READABLE = [*REPRESENTATIONS, *VALUES, *LISTS, *OTHERS, *FORMS]

# Every way to change /a.
CHANGES = [
    ("PUT", "/a", BODY, "application/json"),
    ("POST", "/a", b'{"title": "New"}', "application/json"),
    ("POST", "/a", b"title=New", "application/x-www-form-urlencoded"),
    ("POST", "/a", b"_method=DELETE", "application/x-www-form-urlencoded"),
    ("PUT", "/a/title", b"New", "text/plain"),
    ("DELETE", "/a", b"", ""),
]
LONG_AGO = "Mon, 01 Jan 2001 00:00:00 GMT"
FAR_AHEAD = "Fri, 01 Jan 2100 00:00:00 GMT"


@pytest.fixture
def a(app):
    """The bookmark /a."""
    return app.put_json("/a", WHOLE, status=201).json


@pytest.fixture
def client(data):
    """Makes further clients of this folder, each of an application of its own."""
    applications = []

    def client():
        applications.append(make_app(data))
        return webtest.TestApp(applications[-1])

    yield client
    for application in applications:
        application.store.close()


def send(app, change, status, **headers):
    method, path, body, content_type = change
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type:
        named["Content-Type"] = content_type
    return app.request(path, method=method, body=body, headers=named, status=status)


def etag(app, path):
    return app.get(path, status=200).headers["ETag"]


def success(change):
    """The status of the change when nothing stands in its way."""
    method, _, _, content_type = change
    return 204 if method == "DELETE" else 303 if "form" in content_type else 200


def among(tag):
    """Lists with the tag in them: RFC 9110 section 5.6.1 asks for no space, and allows nothing."""
    return f'"x",{tag}', f'"x"\t,\t{tag},"y"', f",{tag}", f'"x\\",{tag}', f'W/"a,b",{tag} ,'


# --- Every 200 has validators ---


@pytest.mark.parametrize("path", READABLE)
def test_every_200_has_a_strong_entity_tag_and_a_date(app, a, path):
    headers = app.get(path, status=200).headers
    assert re.fullmatch(r'"[!#-~]+"', headers["ETag"])
    moment = parsedate_to_datetime(headers["Last-Modified"])
    assert headers["Last-Modified"] == formatdate(moment.timestamp(), usegmt=True)
    assert moment <= datetime.now(UTC)


@pytest.mark.parametrize("path", READABLE)
def test_head_has_the_validators_of_get(app, a, path):
    get, head = app.get(path, status=200), app.head(path, status=200)
    for name in ("ETag", "Last-Modified", "Content-Type", "Vary", "Cache-Control"):
        assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize("paths", [REPRESENTATIONS, LISTS, VALUES], ids=["one", "list", "values"])
def test_each_representation_has_an_entity_tag_of_its_own(app, a, paths):
    tags = [etag(app, path) for path in paths]
    if paths is VALUES:
        as_json = {"Accept": "application/json"}
        tags += [app.get(path, headers=as_json, status=200).headers["ETag"] for path in paths]
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize("change", CHANGES[:2] + CHANGES[4:5], ids=lambda c: f"{c[0]} {c[1]}")
def test_the_answer_to_a_change_has_the_new_validators(app, a, change):
    headers = send(app, change, 200).headers
    now = app.get(change[1], status=200).headers
    assert (headers["ETag"], headers["Last-Modified"]) == (now["ETag"], now["Last-Modified"])


def test_the_answer_to_a_creation_has_the_validators(app):
    for response in (app.put_json("/a", WHOLE), app.post_json("/", {"uri": "https://b.example/"})):
        assert response.status_int == 201
        assert response.headers["ETag"] == etag(app, response.headers["Location"])


@pytest.mark.parametrize(
    "modified, date",
    [
        ("2001-02-03T04:05:06Z", "Sat, 03 Feb 2001 04:05:06 GMT"),
        ("2024-02-29T23:59:59Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
        ("2024-03-01T00:00:00Z", "Fri, 01 Mar 2024 00:00:00 GMT"),
        ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
        ("0999-05-01T12:00:00Z", "Wed, 01 May 0999 12:00:00 GMT"),
        ("0001-01-01T00:00:00Z", "Mon, 01 Jan 0001 00:00:00 GMT"),
    ],
)
def test_last_modified_is_modified(app, modified, date):
    fields = {"uri": "https://b.example/", "created": "0001-01-01T00:00:00Z", "modified": modified}
    response = app.post_json("/", fields, status=201)
    assert response.headers["Last-Modified"] == date
    assert app.get(f"/{response.json['id']}", status=200).headers["Last-Modified"] == date


# --- 304 ---


@pytest.mark.parametrize("path", READABLE)
def test_if_none_match_gives_304(app, a, path):
    current = app.get(path, status=200).headers
    tag = current["ETag"]
    for value in (tag, f"W/{tag}", f'"other", {tag}, "x"', "*", *among(tag), *among(f"W/{tag}")):
        for ask in (app.get, app.head):
            answer = ask(path, headers={"If-None-Match": value}, status=304)
            assert answer.body == b""
            for name in ("ETag", "Vary", "Cache-Control"):
                assert answer.headers[name] == current[name]


@pytest.mark.parametrize("path", READABLE)
def test_an_old_tag_gives_200(app, a, path):
    old = etag(app, path)
    app.post_json("/a", {"title": "New"}, status=200)
    fresh = app.get(path, headers={"If-None-Match": old}, status=200)
    assert fresh.headers["ETag"] != old


def test_the_tag_of_another_representation_gives_200(app, a):
    for paths in (REPRESENTATIONS, LISTS):
        for path in paths:
            others = ", ".join(etag(app, other) for other in paths if other != path)
            app.get(path, headers={"If-None-Match": others}, status=200)


@pytest.fixture
def old(app, data):
    """The bookmark /old, which nobody has touched for years."""
    moment = "2010-06-01T12:00:00Z"
    file = data / "bookmarks" / "old.json"
    file.write_text(json.dumps({"id": "old", "uri": "https://old.example/", "created": moment}))
    seconds = datetime.fromisoformat(moment).timestamp()
    for path in (file, data / "bookmarks", data / "tombstones"):
        os.utime(path, (seconds, seconds))
    return "Tue, 01 Jun 2010 12:00:00 GMT"


@pytest.mark.parametrize("path", ["/old", "/old/title", "/", "/?format=csv", "/feed"])
def test_if_modified_since_gives_304(client, old, path):
    app = client()
    assert app.get(path, status=200).headers["Last-Modified"] == old
    for since in (old, "Wed, 02 Jun 2010 00:00:00 GMT", "Wednesday, 02-Jun-10 00:00:00 GMT"):
        assert app.get(path, headers={"If-Modified-Since": since}, status=304).body == b""
    for since in (LONG_AGO, "Tue, 01 Jun 2010 11:59:59 GMT", "soon", "", "0"):
        app.get(path, headers={"If-Modified-Since": since}, status=200)


@pytest.mark.parametrize(
    "touched, date",
    [
        (-1e11, "Mon, 01 Jan 0001 00:00:00 GMT"),
        (-1e9, "Sun, 24 Apr 1938 22:13:20 GMT"),
        (1e15, LONG_AGO),
    ],
)
def test_a_file_may_have_any_time(touched, date):
    current = State(1, "2001-01-01T00:00:00Z", touched)
    response = http.Response(http.OK, [])
    http.validate(response, "json", current)
    assert dict(response.headers)["Last-Modified"] == date


@pytest.mark.parametrize("path", ["/old", "/"])
def test_an_entity_tag_decides_over_a_date(client, old, path):
    app = client()
    headers = {"If-Modified-Since": old, "If-None-Match": '"other"'}
    app.get(path, headers=headers, status=200)
    headers = {"If-Modified-Since": LONG_AGO, "If-None-Match": etag(app, path)}
    app.get(path, headers=headers, status=304)


@pytest.mark.parametrize("path", [*REPRESENTATIONS, *VALUES, *LISTS])
def test_what_changed_within_the_last_second_gives_no_304_by_date(app, a, path):
    moment = time.time()
    app.post_json("/a", {"title": "New"}, status=200)
    since = {"If-Modified-Since": app.get(path, status=200).headers["Last-Modified"]}
    answer = app.get(path, headers=since, status="*")
    assert answer.status_int == 200 or time.time() - moment > 1


def test_a_deletion_within_the_last_second_gives_no_304_by_date(app, a):
    moment = time.time()
    app.delete("/a", status=204)
    for path in LISTS:
        since = app.get(path, status=200).headers["Last-Modified"]
        answer = app.get(path, headers={"If-Modified-Since": since}, status="*")
        assert answer.status_int == 200 or time.time() - moment > 1


# --- 412 ---


@pytest.fixture
def unchanged(app, a, data):
    """Holds that nothing has changed once the test is over."""
    file = data / "bookmarks" / "a.json"
    before = file.read_bytes(), file.stat().st_mtime_ns, os.listdir(data / "bookmarks")
    yield
    assert (file.read_bytes(), file.stat().st_mtime_ns, os.listdir(data / "bookmarks")) == before


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize(
    "headers",
    [
        {"If_Match": '"other"'},
        {"If_Match": '"other", "another"'},
        {"If_Match": '""'},
        {"If_Match": ""},
        {"If_Match": "other"},
        {"If_None_Match": "*"},
        {"If_Unmodified_Since": LONG_AGO},
        {"If_Match": '"other"', "If_Unmodified_Since": FAR_AHEAD},
        {"If_Match": "*", "If_None_Match": "*"},
    ],
    ids=str,
)
def test_a_precondition_that_fails_is_412_and_changes_nothing(app, unchanged, change, headers):
    problem = send(app, change, 412, **headers)
    assert problem.json["status"] == 412


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_tag_of_an_old_version_is_412(app, a, change):
    old = [etag(app, path) for path in (*REPRESENTATIONS, *VALUES)]
    app.post_json("/a", {"description": "changed"}, status=200)
    send(app, change, 412, If_Match=", ".join(old))


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_if_match_compares_strongly(app, unchanged, change):
    for value in ("W/" + etag(app, "/a"), *among("W/" + etag(app, "/a"))):
        send(app, change, 412, If_Match=value)


@pytest.mark.parametrize("n", range(len(among(""))))
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_current_tag_may_stand_anywhere_in_if_match(app, a, change, n):
    send(app, change, success(change), If_Match=among(etag(app, "/a"))[n])


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_current_tag_in_if_none_match_is_412(app, unchanged, change):
    for value in (etag(app, "/a"), *among(etag(app, "/a")), *among("W/" + etag(app, "/a"))):
        send(app, change, 412, If_None_Match=value)


@pytest.mark.parametrize("path", [*REPRESENTATIONS, *VALUES])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_tag_of_any_representation_may_save(app, a, change, path):
    send(app, change, success(change), If_Match=f'"other", {etag(app, path)}')


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize(
    "headers",
    [
        {"If_Match": "*"},
        {"If_None_Match": '"other"'},
        {"If_Unmodified_Since": FAR_AHEAD},
        {"If_Unmodified_Since": "whenever"},
        {"If_Match": "*", "If_Unmodified_Since": LONG_AGO},
        {"If_Modified_Since": FAR_AHEAD},
    ],
    ids=str,
)
def test_a_precondition_that_holds_lets_the_change_through(app, a, change, headers):
    send(app, change, success(change), **headers)


def test_the_own_date_holds_in_if_unmodified_since(app, old, client):
    change = ("PUT", "/old/title", b"New", "text/plain")
    send(client(), change, 200, If_Unmodified_Since=old)


def test_if_none_match_any_creates_once(app):
    change = ("PUT", "/a", BODY, "application/json")
    send(app, change, 201, If_None_Match="*")
    send(app, change, 412, If_None_Match="*")


@pytest.mark.parametrize("value", ["*", '"x"'])
def test_if_match_creates_nothing(app, value):
    send(app, ("PUT", "/a", BODY, "application/json"), 412, If_Match=value)
    app.get("/a", status=404)


@pytest.mark.parametrize("path", LISTS)
def test_post_to_the_list_honours_the_tags_of_the_list(app, a, path):
    change = ("POST", "/", b'{"uri": "https://b.example/"}', "application/json")
    current = etag(app, path)
    send(app, change, 412, If_Match='"other"')
    send(app, change, 412, If_None_Match="*")
    send(app, change, 412, If_Unmodified_Since=LONG_AGO)
    send(app, change, 201, If_Match=current)
    send(app, change, 412, If_Match=current)


def test_what_is_not_there_is_not_held_to_a_date(app):
    change = ("PUT", "/a", BODY, "application/json")
    send(app, change, 201, If_Unmodified_Since=LONG_AGO)


# --- One step ---


def test_of_many_with_the_same_tag_one_saves(app, a):
    current = etag(app, "/a")

    def save(n):
        client = webtest.TestApp(app.app)
        headers = {"If-Match": current}
        return client.post_json("/a", {"title": f"{n}"}, headers=headers, status="*").status_int

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(save, range(8)))
    assert sorted(statuses) == [200] + [412] * 7
    assert app.get("/a/title", status=200).text == str(statuses.index(200))


def test_of_many_who_create_once_one_creates(app):
    def create(n):
        client = webtest.TestApp(app.app)
        whole = WHOLE | {"uri": f"https://{n}.example/"}
        headers = {"If-None-Match": "*"}
        return client.put_json("/a", whole, headers=headers, status="*").status_int

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(create, range(8))) == [201] + [412] * 7


# --- The validators of a list ---


def write(path, **members):
    path.write_text(json.dumps({"id": path.stem, **members}))


@pytest.mark.parametrize("path", LISTS)
def test_the_tag_of_a_list_moves_on_every_change(app, data, path):
    folder = data / "bookmarks"
    changes = [
        lambda: app.put_json("/a", WHOLE, status=201),
        lambda: app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201),
        lambda: app.post_json("/a", {"title": "New"}, status=200),
        lambda: app.put("/a/tags", b"y", content_type="text/plain", status=200),
        lambda: app.delete("/a", status=204),
        lambda: write(folder / "c.json", uri="https://c.example/", created="2001-01-01T00:00:00Z"),
        lambda: write(folder / "c.json", uri="https://d.example/", created="2001-01-01T00:00:00Z"),
        lambda: (folder / "c.json").unlink(),
        lambda: write(data / "tombstones" / "b.json", deleted="2001-01-01T00:00:00Z"),
    ]
    tags = [etag(app, path)]
    for change in changes:
        change()
        tags.append(etag(app, path))
    # Without c.json the folder is again what it was before it.
    assert tags[8] == tags[5]
    assert len(set(tags)) == len(tags) - 1


@pytest.mark.parametrize("path", LISTS)
def test_the_tag_of_a_list_stays_while_nothing_changes(app, a, path):
    before = etag(app, path)
    app.put_json("/a", WHOLE, status=200)
    app.post_json("/", WHOLE, status=200)
    app.put_json("/b", WHOLE, status=409)
    app.get("/unknown", status=404)
    assert etag(app, path) == before


@pytest.mark.parametrize("path", LISTS)
def test_the_validators_are_the_same_in_every_application(app, a, client, path):
    early = client()
    early.get("/", status=200)
    app.put_json("/b", WHOLE | {"uri": "https://b.example/"}, status=201)
    app.post_json("/a", {"title": "New"}, status=200)
    app.delete("/b", status=204)
    for other in (early, client()):
        for name in ("ETag", "Last-Modified"):
            assert other.get(path, status=200).headers[name] == app.get(path).headers[name]


def test_the_tag_of_a_bookmark_is_the_same_in_every_application(app, a, client):
    for path in (*REPRESENTATIONS, *VALUES):
        assert etag(client(), path) == etag(app, path)


def test_the_date_of_a_list_counts_deletions(app, data):
    folder = data / "bookmarks"
    write(folder / "a.json", uri="https://a.example/", created="2001-01-01T00:00:00Z")
    assert app.get("/").headers["Last-Modified"] == LONG_AGO
    write(data / "tombstones" / "a.json", deleted="2001-01-02T00:00:00Z")
    assert app.get("/").headers["Last-Modified"] == "Tue, 02 Jan 2001 00:00:00 GMT"
