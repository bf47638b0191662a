"""Logging in by a form and a cookie, and what the cookie allows."""

import functools
import hmac
import itertools
import re
import time
from urllib.parse import urlsplit

import pytest
import webtest

from formats.html.assets import assets
from formats.http import credentials

TOKEN = "a-token-of-enough-characters"
OTHER = "another-token-for-the-phone"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
OWN = {"Origin": "http://localhost"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
YEAR = 365 * 24 * 3600


@pytest.fixture
def client(client):
    """Return a function that creates a browser's client of an application with two tokens."""
    return functools.partial(client, token=(TOKEN, OTHER))


def log_in(app, token=TOKEN, **fields):
    headers = BROWSER | OWN
    return app.post("/-/login", {"token": token, **fields}, headers=headers, status="*")


def cookie_of(response):
    (header,) = response.headers.getall("Set-Cookie")
    pair, *attributes = header.split("; ")
    name, _, value = pair.partition("=")
    assert name == "bookmarks-login"
    return value, {a.lower(): v for a, _, v in (text.partition("=") for text in attributes)}


def with_cookie(value):
    return BROWSER | {"Cookie": f"bookmarks-login={value}"}


def put_a(app):
    fields = {"uri": "x:y", "title": "Its title", "description": "", "tags": []}
    app.put_json("/a", fields, headers=BEARER, status=201)


# --- The page to log in ---

def test_a_browser_gets_the_login_page_without_a_dialog(client):
    app = client()
    for path in ("/", "/a", "/?tag=x", "/nothing", "/feed", "/-/nothing"):
        response = app.get(path, headers=BROWSER, status=401)
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="Bookmarks"'
        assert response.content_type == "text/html"
        form = response.form
        assert (form.method, form.action) == ("post", "/-/login")
        inputs = response.html.find_all("input", {"name": True})
        types = [(field["name"], field["type"]) for field in inputs]
        assert types == [("next", "hidden"), ("token", "password")]


def test_without_a_token_there_is_no_login(app):
    app.get("/-/login", headers=BROWSER, status=404)
    app.post("/-/login", {"token": ""}, headers=BROWSER, status=404)
    assert "login" not in app.get("/", headers=BROWSER, status=200).text
    assert app.get("/", status=200).headers["Vary"] == "Accept, Accept-Encoding"


def test_the_files_of_the_pages_need_no_token(client):
    app = client()
    for name in assets():
        for headers in ({}, BEARER, {"Authorization": "Bearer wrong"}):
            file = app.get(f"/{name}", headers=headers, status=200).headers
            assert file["Cache-Control"] == "public, max-age=31536000, immutable"
            assert file["Vary"] == "Accept, Accept-Encoding"


# --- Logging in ---

@pytest.mark.parametrize("token", [TOKEN, OTHER, f" {TOKEN}\n"])
def test_a_right_token_logs_in_with_a_cookie(client, token):
    app = client()
    page = app.get("/-/login", headers=BROWSER, status=200)
    assert page.form["token"].value == "" and "WWW-Authenticate" not in page.headers
    response = log_in(app, token)
    assert response.status_int == 303
    value, attributes = cookie_of(response)
    lasting = {"path": "/", "max-age": str(YEAR), "httponly": "", "samesite": "Lax"}
    assert attributes == lasting and TOKEN not in value
    assert app.get("/", headers=BROWSER, status=200).content_type == "text/html"
    assert app.get("/", status=200).json == []


@pytest.mark.parametrize("token", ["", TOKEN[:-1], TOKEN + "x", "\ud7ff"])
def test_a_wrong_token_is_401_and_sets_no_cookie(client, caplog, token):
    app = client()
    response = log_in(app, token, next="/?tag=x")
    assert response.status_int == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="Bookmarks"'
    assert "Set-Cookie" not in response.headers
    assert "wrong" in response.html.find(id="token-error").text
    assert response.form["next"].value == "/?tag=x"
    assert response.form["token"].value == ""
    assert [r.message for r in caplog.records] == ["A login from - failed: wrong token."]
    app.get("/", headers=BROWSER, status=401)
    log_in(app)
    app.get("/", headers={"Authorization": f"Bearer {token} wrong"}, status=401)


@pytest.mark.parametrize("options, environ, path, is_secure", [
    ({}, {"wsgi.url_scheme": "https"}, "/", True),
    ({}, {"SCRIPT_NAME": "/my/marks"}, "/my/marks", False),
    ({"base_url": "https://marks.example/m/"}, {}, "/m", True),
    ({"base_url": "http://marks.example"}, {}, "/", False),
])  # fmt: skip
def test_the_cookie_belongs_to_the_services_address(client, options, environ, path, is_secure):
    app = client(**options)
    fields = {"token": TOKEN}
    response = app.post("/-/login", fields, headers=BROWSER, extra_environ=environ, status=303)
    attributes = cookie_of(response)[1]
    assert (attributes["path"], "secure" in attributes) == (path, is_secure)


def test_a_login_lasts_until_its_token_is_removed(client):
    values = [cookie_of(log_in(client(), token))[0] for token in (TOKEN, TOKEN, OTHER)]
    assert len(set(values)) == 3
    without_token = client(token=[OTHER, "a-new-token"])
    # A service that starts again, one without the token, and one in which the token is back.
    for app, statuses in (
        (client(), (200, 200, 200)), (without_token, (401, 401, 200)), (client(), (200, 200, 200)),
    ):  # fmt: skip
        for value, status in zip(values, statuses, strict=True):
            app.get("/", headers=with_cookie(value), status=status)


def test_a_login_ends_after_a_year_on_the_server_too(client, monkeypatch):
    app = client()
    value, _ = cookie_of(log_in(app))
    now = time.time()
    for age, status in ((YEAR - 60, 200), (YEAR + 1, 401), (-YEAR - 60, 401), (-60, 200)):
        monkeypatch.setattr(credentials.time, "time", lambda age=age: now + age)
        app.get("/", headers=with_cookie(value), status=status)


def test_a_forged_cookie_is_no_login(client):
    app = client()
    issued, nonce, signature = cookie_of(log_in(app))[0].split(".")
    app.reset()
    empty_key = hmac.digest(b"", f"login {issued}.{nonce}".encode(), "sha256").hex()
    for value in (
        f"{int(issued) + 1}.{nonce}.{signature}", f"{issued}.{'A' * 22}.{signature}",
        f"{issued}.{nonce}.{'0' * 64}", f"{issued}.{nonce}.", f"{issued}.{nonce}.{empty_key}",
        f"{issued}.{nonce}", signature, "", TOKEN, f"{'9' * 5000}.{nonce}.{signature}",
    ):  # fmt: skip
        app.get("/", headers=with_cookie(value), status=401)


def test_the_login_is_found_among_other_cookies(client):
    app = client()
    value, _ = cookie_of(log_in(app))
    app.reset()
    wrong = f"1.{'A' * 22}.{'0' * 64}"
    for cookies, status in [
        (f"a=b; bookmarks-login={value}; c=d", 200),
        (f"bookmarks-login={wrong}; bookmarks-login={value}", 200),  # Two services on one host.
        (f"xbookmarks-login={value}", 401),
        (f"x=bookmarks-login={value}", 401),
    ]:
        app.get("/", headers=BROWSER | {"Cookie": cookies}, status=status)


def follow(app, response):
    while response.status_int == 303:
        location = urlsplit(response.headers["Location"])
        assert (location.scheme, location.netloc) == ("http", "localhost")
        path = f"{location.path}?{location.query}" if location.query else location.path
        response = app.get(path, headers=BROWSER, status="*")
    return path


@pytest.mark.parametrize("path", ["/a", "/?tag=x&q=%C3%A9%20%22b%22"])
def test_the_page_that_was_asked_for_comes_after_the_login(client, path):
    app = client()
    put_a(app)
    form = app.get(path, headers=BROWSER, status=401).form
    form["token"] = "wrong"
    form = form.submit(headers=BROWSER | OWN, status=401).form
    form["token"] = TOKEN
    assert follow(app, form.submit(headers=BROWSER | OWN)) == path


TARGETS = [
    "https://evil.example/", "//evil.example/", "///evil.example", "/\\evil.example",
    "evil.example", "@evil.example/", ".evil.example", "/\r\nX: y", ":80@evil.example",
    "/\t/evil.example", "javascript:alert(1)", "", " /a", "/\u2028", "/-/login",
    "/-/login?next=/-/login",
]  # fmt: skip


def test_the_login_redirects_neither_to_another_site_nor_to_itself(client):
    headers = BROWSER | {"Referer": "http://localhost/-/login"}
    for target in TARGETS:
        app = client()
        for query in ({}, {"next": target}):
            assert app.get("/-/login", query, headers=headers, status=200).form["next"].value == "/"
        assert follow(app, log_in(app, next=target)) == "/"


def test_below_a_prefix_everything_stays_below_it(client):
    app = client()
    app.extra_environ = {"SCRIPT_NAME": "/marks"}
    page = app.get("/?tag=x", headers=BROWSER, status=401)
    assert page.form.action == "/marks/-/login"
    response = log_in(app, next="/?tag=x")
    assert response.headers["Location"] == "http://localhost/marks/?tag=x"
    value, _ = cookie_of(response)
    page = app.get("/-/login", headers=with_cookie(value), status=200)
    assert "/marks/-/logout" in [form.action for form in page.forms.values()]


# --- A form that was sent after the login had ended ---

TYPED = [("uri", "https://a.example/"), ("title", 'A "title" & more'), ("tags", "x, y"),
         ("description", "Line 1\r\nLine 2 é"), ("_list", "tag=x")]  # fmt: skip


def log_in_and_send_again(app, page):
    """Log in with the form of the page, and follow the redirect as a browser does."""
    page.form["token"] = "wrong"
    page = page.form.submit(headers=BROWSER | OWN, status=401)
    page.form["token"] = TOKEN
    redirect = page.form.submit(headers=BROWSER | OWN, status=307)
    address = redirect.headers["Location"]
    fields = page.form.submit_fields()
    return app.post(address, fields, headers=BROWSER | OWN, status="*"), address, fields


def test_a_form_keeps_what_was_typed_and_can_be_saved_after_the_login(client):
    app = client()
    page = app.post("/-/add", TYPED, headers=BROWSER | OWN, status=401)
    assert "Line 1" in page.text and "nothing that you typed is lost" in page.text
    page.form["token"] = TOKEN
    response = page.form.submit(headers=BROWSER | OWN, status=307)
    assert response.headers["Location"] == "http://localhost/-/add"
    assert app.get("/", status=200).json == []
    app.post("/-/add", page.form.submit_fields(), headers=BROWSER | OWN, status=303)
    (bookmark,) = app.get("/", status=200).json
    assert bookmark["description"] == "Line 1\nLine 2 é" and bookmark["tags"] == ["x", "y"]


@pytest.mark.parametrize("path", ["/-/delete/a", "/-/retag", "/-/nothing"])
def test_a_form_of_every_page_is_sent_again_after_the_login(client, path):
    app = client()
    fields = [("tag", "x"), ("tag", "a"), ("add", "y"), ("expected", "1"), ("_list", "tag=x")]
    page = app.post(path, fields, headers=BROWSER | OWN, status=401)
    _, address, sent = log_in_and_send_again(app, page)
    assert address == f"http://localhost{path}"
    assert [pair for pair in sent if pair[0] not in ("token", "next")] == fields


def test_a_deletion_and_its_undoing_outlast_the_end_of_the_login(client):
    app = client()
    put_a(app)
    shown = app.get("/a", headers=BROWSER | BEARER).forms[2]["_shown"].value
    fields = {"_shown": shown, "_list": "tag=x"}
    page = app.post("/-/delete/a", fields, headers=BROWSER | OWN, status=401)
    deleted, _, _ = log_in_and_send_again(app, page)
    assert "Its title" in deleted.html.main.text
    app.get("/a", status=410)
    app.reset()
    page = app.post("/-/restore", {"selected": "a"}, headers=BROWSER | OWN, status=401)
    log_in_and_send_again(app, page)
    assert app.get("/", status=200).json[0]["title"] == "Its title"


def test_no_page_shows_the_token_of_a_form_that_is_sent_again(client):
    app = client()
    put_a(app)
    fields = [("q", "title"), ("do", "add"), ("tags", "y"), ("expected", "5")]
    page = app.post("/-/retag", fields, headers=BROWSER | OWN, status=401)
    refused, address, sent = log_in_and_send_again(app, page)
    assert refused.status_int == 412 and "expected" in refused.text
    assert TOKEN not in refused.text and 'name="next"' not in refused.text
    app.reset()
    page = app.post(address, sent, headers=BROWSER | OWN, status=401)
    assert page.form["token"].value == "" and page.text.count('name="next"') == 1


@pytest.mark.parametrize("body, content_type", [
    (b"{", "application/json"),
    (b"\xff", "application/x-www-form-urlencoded"),
    (b"x" * (3 << 20), "application/x-www-form-urlencoded"),
    (b"", "multipart/form-data"),
    (b"&".join([b"a=b"] * 3000), "application/x-www-form-urlencoded"),
])  # fmt: skip
def test_a_body_that_is_no_form_is_401_all_the_same(client, body, content_type):
    headers = BROWSER | OWN | {"Content-Type": content_type}
    headers["Referer"] = "http://localhost/-/tools"
    page = client().post("/-/import", body, headers=headers, status=401)
    assert set(page.form.fields) == {"next", "token", None}
    assert page.form["next"].value == "/-/tools"


def test_the_form_of_another_site_is_not_kept(client):
    headers = BROWSER | {"Origin": "https://evil.example"}
    for path in ("/", "/-/login"):
        fields = [("title", "typed"), ("token", TOKEN)]
        page = client().post(path, fields, headers=headers, status=403)
        assert "typed" not in page.text and "Set-Cookie" not in page.headers


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "none"}], ids=str)
def test_a_form_is_not_kept_if_the_browser_does_not_name_the_page_it_is_from(client, headers):
    app = client()
    headers = BROWSER | headers | {"Referer": "http://localhost/tags"}
    page = app.post("/-/delete/a", {"_shown": "a:0"}, headers=headers, status=401)
    assert "_shown" not in page.text and page.form["next"].value == "/tags"
    sent = {"_shown": "a:0", "next": "/-/delete/a", "token": "wrong"}
    page = app.post("/-/login", sent, headers=headers, status=401)
    assert "_shown" not in page.text
    app.post("/-/login", sent | {"token": TOKEN}, headers=headers, status=303)


@pytest.mark.parametrize("headers", [
    {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"},
], ids=str)  # fmt: skip
def test_a_form_is_kept_if_the_browser_names_a_page_of_this_service(client, headers):
    page = client().post("/-/add", TYPED, headers=BROWSER | headers, status=401)
    assert page.form["uri"].value == "https://a.example/"


@pytest.mark.parametrize("path", ["/\xff", "//evil.example/", "/a\nb", '/"<b>', "", "/%2f"])
def test_the_login_page_comes_for_any_address(client, path):
    app = client().app
    queries = ("", "\xff", '"><b>', "a=\x01", "&" * 300)
    for method, query in itertools.product(("GET", "PUT"), queries):
        request = webtest.TestRequest.blank("/", method=method, headers=BROWSER | OWN)
        request.environ |= {"PATH_INFO": path, "QUERY_STRING": query}
        response = request.get_response(app)
        assert response.status_int == 401 and "<b>" not in response.text
        (target,) = re.findall(r'name="next" value="([^"]*)"', response.text)
        assert target.isascii() and target.isprintable() and target.startswith("/")


UNSAFE = [
    ("POST", "/", b"uri=x:new", "application/x-www-form-urlencoded"),
    ("POST", "/a", b"title=New", "application/x-www-form-urlencoded"),
    ("PUT", "/a/title", b"New", "text/plain"),
    ("DELETE", "/a", b"", "text/plain"),
]


@pytest.mark.parametrize("headers, is_allowed", [
    ({}, False),
    ({"Sec-Fetch-Site": "none"}, False),
    ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}, False),
    ({"Origin": "null"}, False),
    ({"Origin": "https://evil.example"}, False),
    ({"Sec-Fetch-Site": "same-origin"}, True),
    ({"Origin": "http://localhost"}, True),
    ({"Origin": "https://marks.example"}, True),
], ids=str)  # fmt: skip
def test_a_change_by_cookie_must_name_this_site(client, headers, is_allowed):
    app = client(base_url="https://marks.example/m")
    put_a(app)
    value, _ = cookie_of(log_in(app))
    app.reset()
    headers = headers | {"Cookie": f"bookmarks-login={value}"}
    for method, path, body, content_type in UNSAFE:
        options = {"method": method, "body": body, "content_type": content_type}
        response = app.request(path, headers=headers, status="*", **options)
        assert (response.status_int == 403) == (not is_allowed)
        assert (response.status_int < 400) == is_allowed
    titles = [bookmark["title"] for bookmark in app.get("/", headers=BEARER).json]
    assert titles == (["x:new"] if is_allowed else ["Its title"])


@pytest.mark.parametrize("public_read, target", [(False, "/-/login"), (True, "/")])
def test_log_out_clears_the_cookie(client, public_read, target):
    app = client(public_read=public_read)
    log_in(app)
    (link,) = app.get("/", headers=BROWSER, status=200).html.find_all("a", string="Log out")
    page = app.get(link["href"], headers=BROWSER, status=200)
    (form,) = [form for form in page.forms.values() if form.action == "/-/logout"]
    other_site = BROWSER | {"Origin": "https://evil.example"}
    assert "Set-Cookie" not in form.submit(headers=other_site, status=403).headers
    app.get("/-/logout", headers=BROWSER, status=405)
    response = form.submit(headers=BROWSER | OWN, status=303)
    assert response.headers["Location"] == f"http://localhost{target}"
    value, attributes = cookie_of(response)
    assert (value, attributes["max-age"], attributes["path"]) == ("", "0", "/")
    assert app.get("/-/login", headers=BROWSER, status=200).form["token"].value == ""


# --- Pages that differ by the login ---

@pytest.mark.parametrize("path", ["/", "/a", "/-/tools", "/nothing"])
def test_a_public_page_says_whether_one_is_logged_in_and_only_then_is_not_stored(client, path):
    app = client(public_read=True)
    put_a(app)
    value, _ = cookie_of(log_in(app))
    private = client().get(path, headers=with_cookie(value), status="*")
    assert private.headers["Cache-Control"] == "private, no-store"
    app.reset()
    owner = ("private, no-store", '<a href="/-/login">Log out</a>', "Log in")
    visitor = ("private, no-cache", '<a href="/-/login">Log in</a>', "Log out")
    for headers, expected in [
        (BROWSER, visitor), (with_cookie(value), owner), (BROWSER | BEARER, owner),
    ] * 2:  # fmt: skip
        response = app.get(path, headers=headers, status="*")
        names = set(re.split(", *", response.headers["Vary"]))
        assert {"Accept", "Authorization", "Cookie"} <= names
        cache_control, shown, hidden = expected
        assert response.headers["Cache-Control"] == cache_control
        assert shown in response.text and hidden not in response.text


def test_the_entity_tags_depend_on_whether_one_is_logged_in_but_not_how(client):
    app = client(public_read=True)
    log_in(app)
    cookies = app.get("/", status=200).headers["ETag"]
    app.reset()
    assert app.get("/", status=200).headers["ETag"] != cookies
    assert app.get("/", headers=BEARER, status=200).headers["ETag"] == cookies


def test_log_in_on_a_public_page_leads_back_to_that_page(client):
    app = client(public_read=True)
    for referrer, target in (
        ("http://localhost/?tag=x", "/?tag=x"), ("http://localhost", "/"),
        ("http://localhost.evil.example/a", "/"), ("", "/"),
    ):  # fmt: skip
        headers = BROWSER | {"Referer": referrer}
        form = app.get("/-/login", headers=headers, status=200).form
        assert form["next"].value == target
