"""With public read, visitors get the responses of a folder without private bookmarks."""

import itertools
import re
import shutil
import time
import zlib
from contextlib import closing
from email.utils import parsedate_to_datetime

import pytest
import webtest

import formats
from bookmarks import ROUTERS, make_app, make_host_app
from storage import follower
from storage.bookmark import FIELDS
from tests.conftest import write_file

TOKEN = "0123456789-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BROWSER = {"Accept": "text/html"}
WHEN = {"created": "2020-02-02T02:02:02Z", "modified": "2021-02-02T02:02:02Z"}
SECRET_WHEN = {"created": "1987-06-05T04:03:02Z", "modified": "2023-07-06T05:04:03Z"}
# Each private bookmark has words of its own in every field, also in its id.
SECRET = re.compile("zz[a-z]+|1987-06|2023-07-06", re.IGNORECASE)
PUBLIC = {
    "pub1": {"uri": "https://a.example/", "title": "Alpha", "tags": ["web", "unread"]},
    "pub2": {"uri": "https://b.example/x", "title": "Beta", "tags": ["web", "archived"]},
    "pub3": {"uri": "http://c.example/?utm_source=x", "tags": ["private parts"]},
    "pub4": {"uri": "https://d.example/", "title": "Delta", "description": "Some\ntext"},
}
HIDDEN = {
    "zzone": {"uri": "https://a.example/zzpath", "tags": ["Private", "web", "zztag", "unread"]},
    "zztwo": {"uri": "https://zzhost.example/", "tags": ["archived", "PRIVATE", "web"]},
    "zzthree": {"uri": "https://www.a.example/#zzfragment", "tags": ["private"]},  # Like pub1's.
    "zzfour": {"uri": "https://a.example", "tags": ["zztag", "private", "Web"]},  # Equals pub1's.
}
DELETED = "gone"
IDS = [*PUBLIC, *HIDDEN, DELETED, "zzgone", "zzbroken", "zznever", "never"]
SOME_IDS = ["pub1", "zzone", DELETED, "zzgone", "zzbroken", "never"]


def write(folder, id, fields):
    write_file(folder, "bookmarks", id, **{"title": id, **WHEN, **fields})


def fill(folder, has_hidden):
    for id, fields in PUBLIC.items():
        write(folder, id, fields)
    write_file(folder, "tombstones", DELETED, deleted="2020-03-03T03:03:03Z")
    if has_hidden:
        for id, fields in HIDDEN.items():
            texts = {"title": f"zztitle {id}", "description": f"zzdescription of {id}"}
            write(folder, id, texts | fields | SECRET_WHEN | {"zzunknown": "zzmember"})
        write_file(folder, "tombstones", "zzgone", deleted="2023-07-06T05:04:03Z", private=True)
        write(folder, "zzgone", HIDDEN["zzone"])
        (folder / "bookmarks" / "zzbroken.json").write_text('{"id": "zzbroken", "uri": "zzbad')


@pytest.fixture
def pair(tmp_path):
    """Two services with the same public bookmarks; the first has private ones too."""
    apps = []
    for name, has_hidden in (("whole", True), ("public", False)):
        fill(tmp_path / name, has_hidden)
        apps.append(make_app(tmp_path / name, token=TOKEN, public_read=True))
    yield [webtest.TestApp(app) for app in apps]
    for app in apps:
        app.store.close()


@pytest.fixture
def app(pair):
    return pair[0]


@pytest.fixture
def folder(app, tmp_path):
    return tmp_path / "whole"


# --- Every address that a route can match ---

FORMAT_NAMES = {f.name for table in (formats.LISTS, formats.ONE_BOOKMARK) for f in table}
MEDIA_TYPES = sorted(
    {format.media_type.partition(";")[0] for format in (*formats.LISTS, formats.ATOM)} | {"*/*"}
)
QUERIES = [
    "q=zztitle", "q=zzdescription+or+alpha", "q=not+zztag", "q=%23private", "q=-%23private",
    "q=!untagged", "q=!unread", "tag=private", "tag=PRIVATE&tag=web", "tag=web", "tag=zztag",
    "tag=unread", "limit=1", "limit=1&offset=1", "limit=1&offset=7", "limit=2&sort=title",
    "sort=modified", "sort=-uri", "uri=https://zzhost.example/", "uri=https://a.example",
    "uri=https://a.example/zzpath", "url=https://zzhost.example", "url=https://a.example",
    "unread=yes", "added_since=1980-01-01", "modified_since=2022-01-01", "sort=count", "once=1",
    "q=zz", "format=yaml", "q=site:zzhost.example", "q=before:1990",
]  # fmt: skip


# The numbers by which linkding's clients know an id or a tag.
NUMBERS = [
    str(zlib.crc32(text.encode()) & 0x7FFF_FFFF)
    for text in (*SOME_IDS, "zztag", "private", "web", "unread")
]
# The values with which each variable of a route is tested.
VALUES = {
    "id": IDS, "bookmark": SOME_IDS, "number": NUMBERS, "field": list(FIELDS), "other": ["zz"],
    "file": ["style-00.css"], "button": ["delete", "read", "unread"], "verb": ["archive"],
}  # fmt: skip


def paths():
    for router in ROUTERS:
        for route in router.routes:
            names = re.findall(r"{(\w+)}", route.template)
            values = [VALUES[name] for name in names]
            if len(names) > 1:
                values[0] = SOME_IDS
            for chosen in itertools.product(*values):
                yield route.template.format(**dict(zip(names, chosen, strict=True)))


PATHS = sorted({*paths(), "/nothing", "/zzone/", "/zzone/zz/zz", "/-/nothing"})


def requests_to(path):
    is_of_one = any(id in path for id in IDS) or re.search("[0-9]{5}", path)
    yield "GET", f"{path}?", {}
    for name in sorted(FORMAT_NAMES) if path.count("/") == 1 else []:
        yield "GET", f"{path}?format={name}", {}
    is_login_page = path.startswith("/-/") and path != "/-/tools"
    for query in [] if is_of_one or is_login_page else QUERIES:
        yield "GET", f"{path}?{query}", {}
        yield "GET", f"{path}?{query}", BROWSER
    for accept in MEDIA_TYPES:
        yield "GET", path, {"Accept": accept}
    yield "GET", f"{path}?_list=tag%3Dprivate&next=/zzone&close=1", BROWSER
    yield "HEAD", path, {}
    yield "GET", path, BROWSER | {"Accept-Encoding": "gzip"}
    yield "GET", path, {"If-None-Match": "*"}
    yield "GET", path, {"If-Match": '"0.json"'}
    yield "GET", path, {"If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
    for method in ("OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"):
        yield method, path, {}
        yield method, path, BROWSER
    yield "POST", path, BROWSER | {"Origin": "https://evil.example"}


def parts(response):
    """Return what a client sees of a response, except when something changed."""
    headers = dict(response.headers)
    headers.pop("Last-Modified", None)
    return response.status, headers, response.body


def text_of(response):
    return f"{response.status}\n{response.headers}\n{response.body.decode(errors='replace')}"


def secrets_in(text):
    return {word.lower() for word in SECRET.findall(text)}


def test_a_visitor_cannot_tell_that_there_are_private_bookmarks_and_changes_nothing(pair, folder):
    app, without = pair
    before = {path: path.read_bytes() for path in folder.glob("*/*.json")}
    for path in PATHS:
        for method, address, headers in requests_to(path):
            if method == "GET":  # The owner may fill a cache.
                app.get(address, headers=BEARER | headers, status="*")
            found = app.request(address, method=method, headers=headers, status="*")
            expected = without.request(address, method=method, headers=headers, status="*")
            assert parts(found) == parts(expected), (method, address, headers)
            assert found.status_int < 500
            # Words of the request may come back.
            assert secrets_in(text_of(found)) <= secrets_in(address)
    assert {path: path.read_bytes() for path in folder.glob("*/*.json")} == before


def test_a_visitor_gets_404_for_what_the_owner_sees(app):
    texts = [text_of(app.get(path, headers=BEARER, status="*")) for path in ("/", "/feed")]
    for word in ("zztitle", "zzdescription", "zzpath", "zzhost", "zztag", "zzone", "zzgone"):
        assert word in secrets_in("".join(texts))
    for id, status in (("zzone", 200), ("zzgone", 410), ("zzbroken", 503)):
        app.get(f"/{id}", headers=BEARER, status=status)
        for path in ("", "/title", "/other"):
            one = app.get(f"/{id}{path}", status=404)
            other = app.get(f"/{'n' * len(id)}{path}", status=404)
            assert text_of(one).replace(id, "n" * len(id)) == text_of(other)


def test_deleting_a_private_bookmark_leaves_it_404_and_out_of_the_feed(app):
    before = [parts(app.get(path, status="*")) for path in ("/feed", "/zztwo")]
    app.delete("/zztwo", headers=BEARER, status=204)
    app.get("/zztwo", headers=BEARER, status=410)
    assert [parts(app.get(path, status="*")) for path in ("/feed", "/zztwo")] == before
    app.delete("/pub1", headers=BEARER, status=204)
    for id in ("pub1", DELETED):
        gone = app.get(f"/{id}", status=410)
        assert gone.headers["Cache-Control"] == "private, max-age=86400"
        assert f'ref="urn:x-bookmarks:{id}"' in app.get("/feed")


# --- Two views ---

@pytest.mark.parametrize("accept", ["*/*", "text/html", "text/csv", "application/atom+xml"])
@pytest.mark.parametrize("order", [({}, BEARER), (BEARER, {})], ids=["visitor", "owner"])
def test_no_cached_response_or_entity_tag_of_one_view_answers_the_other(app, accept, order):
    for path in ("/", "/?tag=web", "/feed", "/tags", "/tags.json", "/pub1", "/pub1/tags"):
        fresh = []
        for view in order:
            fresh.append(app.get(path, headers={"Accept": accept, **view}, status="*"))
        for response, view, other in zip(fresh, order, order[::-1], strict=True):
            headers = {"Accept": accept, **view}
            assert app.get(path, headers=headers, status="*").body == response.body
            assert {"Authorization", "Cookie"} <= set(re.split(", *", response.headers["Vary"]))
            assert response.headers["Cache-Control"].startswith("private")
            etag = response.headers.get("ETag")
            if etag:
                app.get(path, headers=headers | {"If-None-Match": etag}, status=304)
                again = {"Accept": accept, **other, "If-None-Match": etag}
                assert app.get(path, headers=again, status=200).headers["ETag"] != etag


def test_a_tag_that_a_visitor_has_read_permits_a_change_after_the_login(app):
    etag = app.get("/pub1").headers["ETag"]
    app.post_json("/pub1", {"title": "New"}, headers=BEARER | {"If-Match": etag}, status=200)
    app.post_json("/pub1", {"title": "Newer"}, headers=BEARER | {"If-Match": etag}, status=412)


def test_visitors_see_unread_as_a_tag_and_owners_as_a_mark(app):
    html = {"Accept": "text/html"}
    for headers, shown, marked in ((html, ["web", "unread"], 0), (html | BEARER, ["web"], 1)):
        item = app.get("/?q=alpha", headers=headers).html.select_one(".list li")
        assert [link.text for link in item.select(".tags a")] == shown
        assert len(item.parent.select(".unread")) == marked


def test_a_change_of_a_private_bookmark_changes_no_response_to_a_visitor(app):
    addresses = ("/", "/feed", "/tags", "/pub1", "/?format=html")

    def responses():
        return [text_of(app.get(address)) for address in addresses]

    before = responses()
    time.sleep(1.1)  # Last-Modified has whole seconds.
    app.post_json("/zzone", {"title": "zznew"}, headers=BEARER)
    app.post_json("/", {"uri": "x:zzadded", "tags": ["private"]}, headers=BEARER, status=201)
    app.delete("/zztwo", headers=BEARER)
    assert responses() == before
    last_modified = app.get("/").headers["Last-Modified"]
    app.post_json("/pub1", {"title": "New"}, headers=BEARER)
    assert app.get("/").headers["Last-Modified"] > last_modified
    for one, two in zip(responses(), before, strict=True):
        assert one != two
    last_modified = app.get("/").headers["Last-Modified"]
    time.sleep(1.1)
    app.post_json("/pub1", {"tags": ["private"]}, headers=BEARER)
    assert app.get("/").headers["Last-Modified"] > last_modified


def test_the_date_of_a_list_is_that_of_the_last_public_change_in_every_process(tmp_path):
    folders = [tmp_path / "empty", tmp_path / "one"]
    for folder in folders:
        write(folder, "zzone", HIDDEN["zzone"])
        (folder / "tombstones").mkdir()
    write(folders[1], "pub9", PUBLIC["pub1"])
    last_public_change = {folder: int(folder.stat().st_ctime) for folder in folders}
    for id in ("zztwo", "zzthree"):
        time.sleep(1.1)  # Last-Modified has whole seconds.
        for folder in folders:
            write(folder, id, HIDDEN[id])
            with closing(make_app(folder, token=TOKEN, public_read=True)) as started:
                app = webtest.TestApp(started)
                for path in ("/", "/feed", "/tags", "/?q=pub9"):
                    date = parsedate_to_datetime(app.get(path).headers["Last-Modified"])
                    assert 0 <= date.timestamp() - last_public_change[folder] <= 1


def test_hiding_and_showing_takes_effect_at_once(app):
    plain = BEARER | {"Content-Type": "text/plain"}
    for _ in range(2):
        assert "pub1" in app.get("/", headers=BROWSER)
        app.get("/pub1", status=200)
        etag = app.get("/").headers["ETag"]
        app.put("/pub1/tags", "PRIVATE", headers=plain)
        app.get("/", headers=BEARER)  # It reads the change before the visitor asks.
        assert "pub1" not in app.get("/", headers=BROWSER | {"If-None-Match": etag}, status=200)
        app.get("/pub1", status=404)
        assert app.get("/?uri=https://a.example/").json == []
        app.put("/pub1/tags", "web", headers=plain)


def test_the_first_private_bookmark_of_a_folder_is_hidden(pair, tmp_path):
    _, app = pair
    before = text_of(app.get("/"))
    assert app.get("/", headers=BEARER).headers["Last-Modified"] in before
    again = webtest.TestApp(make_app(tmp_path / "public", token=TOKEN, public_read=True))
    assert again.get("/").headers["Last-Modified"] in before
    again.app.close()
    new = {"uri": "x:zz", "title": "zz", "tags": ["private"]}
    app.post_json("/", new, headers=BEARER, status=201)
    assert text_of(app.get("/")) == before
    assert len(app.get("/", headers=BEARER).json) == len(PUBLIC) + 1


def test_another_program_may_hide_a_bookmark(app, folder, monkeypatch):
    assert len(app.get("/").json) == len(PUBLIC)
    write(folder, "pub1", PUBLIC["pub1"] | {"tags": ["private"]})
    assert len(app.get("/").json) == len(PUBLIC) - 1
    monkeypatch.setattr(follower, "MIN_CHANGES_TO_REBUILD", 10)
    (folder / "bookmarks" / "pub2.json").unlink()
    for number in range(20):  # More than are changed in place.
        tags = ["private"] if number % 2 else []
        write(folder, f"zzbulk{number}", {"uri": f"x:{number}", "tags": tags})
    assert len(app.get("/").json) == len(PUBLIC) - 2 + 10
    owned = len(PUBLIC) - 1 + len(HIDDEN) + 20
    assert len(app.get("/", headers=BEARER).json) == owned
    shutil.rmtree(folder / "bookmarks")
    (folder / "bookmarks").mkdir()
    assert app.get("/").json == []
    page = app.get("/", headers=BROWSER)
    assert page.html.h1.text == "No bookmarks yet" and page.html.main.find("form") is None


# --- Pages ---

def test_the_pages_of_a_visitor_have_nothing_that_needs_a_login(app):
    needing_login = (
        'method="post"', "checkbox", 'id="add"', "/-/add", "formaction", "Rename", "Edit",
        "/-/trash", "Unread", "Log out",
    )  # fmt: skip
    for path in ("/", "/?tag=web", "/?tag=none", "/tags", "/pub1", "/pub4", "/-/tools", "/nothing"):
        page = app.get(path, headers=BROWSER, status="*")
        assert [text for text in needing_login if text in page] == []
        assert "Log in" in page
        own = app.get(path, headers=BROWSER | BEARER, status="*")
        assert "Log out" in own and "Log in" not in own
        assert 'id="add"' in own
        for link in page.html.find_all("a", href=re.compile("^/")):
            app.get(link["href"], headers={"Accept": "text/html,*/*;q=0.8"}, status=200)
    for path in ("/-/add?uri=https://a.example/zzpath", "/-/trash"):
        page = app.get(path, headers=BROWSER, status=401)
        assert page.form["next"].value == path and "Recently deleted" not in page
        app.get(path, headers=BROWSER | BEARER, status=200)
    page = app.get("/pub4", headers=BROWSER)
    assert page.html.main.find("p", dir="auto").text == "Some\ntext"


# --- Who is a visitor ---

def test_without_public_read_no_response_before_the_login_shows_anything(tmp_path):
    fill(tmp_path, has_hidden=True)
    app = webtest.TestApp(make_app(tmp_path, token=TOKEN))
    for path, method, headers in itertools.product(PATHS, ("GET", "PATCH"), ({}, BROWSER)):
        response = app.request(path, method=method, headers=headers, status="*")
        assert "Unread" not in response and "Alpha" not in response
        assert secrets_in(text_of(response)) <= secrets_in(path)
    app.app.close()


def test_the_folders_of_hosts_hide_private_bookmarks_too(tmp_path):
    for host in ("a.example", "b.example"):
        fill(tmp_path / host, has_hidden=True)
    (tmp_path / "a.example.tokens").write_text(TOKEN)
    app = webtest.TestApp(make_host_app(tmp_path, public_read=True))
    at = {"Host": "a.example"}
    everything = len(PUBLIC) + len(HIDDEN)
    for _ in range(2):
        assert len(app.get("/", headers=at).json) == len(PUBLIC)
        assert len(app.get("/", headers=at | BEARER).json) == everything
    # Without a token, everybody may do everything.
    assert len(app.get("/", headers={"Host": "b.example"}).json) == everything
