"""Host names, cross-site requests, the token, security headers, and hostile requests."""

import base64
import io
import json
import os
import re
import time

import pytest
import webtest

from bookmarks import make_app
from storage.errors import Invalid
from tests.conftest import peak_memory

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
WHOLE = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["x"]}
TOKEN = "s3cret:with a colon"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON, XBEL, FORM = "application/json", "application/x-xbel", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
UNSAFE = [  # Method, path, body, and the status of success.
    ("POST", "/", {"uri": "https://b.example/"}, 201),
    ("POST", "/a", {"title": "New"}, 200),
    ("PUT", "/a", WHOLE | {"title": "Newer"}, 200),
    ("PUT", "/a/title", "Newest", 200),
    ("DELETE", "/a", None, 204),
]


@pytest.fixture
def client(client):
    def filled(**options):
        app = client(**options)
        app.put_json("/a", WHOLE, headers=BEARER)
        return app

    return filled


@pytest.fixture
def a(app):
    return app.put_json("/a", WHOLE, status=201).json


def send(app, method, path, body, status, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data = b"" if body is None else json.dumps(body).encode()
    return app.request(
        path, method=method, body=data, content_type=JSON, headers=named, status=status
    )


def send_unsafe(app, status=None, **headers):
    """Send each unsafe request; expect this status, or success."""
    for method, path, body, success in UNSAFE:
        send(app, method, path, body, status or success, **headers)


def call(app, path="/", method="GET", body=b"", environ=None, **headers):
    """Send a request that webtest would refuse to send; return the response of any status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = webtest.TestRequest.blank("/", method=method, headers=named, body=body)
    request.environ["PATH_INFO"] = path
    request.environ.update(environ or {})
    return request.get_response(app.app)


@pytest.mark.parametrize("public_read", [False, True])
def test_no_error_page_for_a_client_without_a_token_shows_the_collection(client, public_read):
    app = client(token=TOKEN, public_read=public_read)
    app.put_json("/a/tags", ["unread", "confidential"], headers=BEARER, status=200)
    for method, path, headers, status in (
        ("POST", "/", {"Origin": "https://evil.example"}, 403),
        ("GET", "/", {"Host": "no host"}, 400),
        ("GET", "/", {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/-/logout", {}, 405),
        ("POST", "/-/login", {"Content-Type": "text/csv"}, 415),
    ):
        page = call(app, path, method, b"x", Accept=BROWSER, **headers)
        assert page.status_int == status
        assert "<html" in page.text
        assert "Unread" not in page.text and "confidential" not in page.text


# --- The host name ---

def test_a_loopback_host_name_is_accepted(app):
    names = "localhost localhost:8080 LOCALHOST [::1] [::1]:8080 127.0.0.1 127.0.0.1:80 127.1.2.3"
    for host in names.split():
        app.get("/", headers={"Host": host}, status=200)


def test_another_host_name_without_a_token_is_421(app):
    app.put_json("/a", WHOLE | {"tags": ["unread"]}, status=201)
    for host in (
        "a.example:8080", "localhost.a.example", "127.0.0.1.a.example", "192.168.1.1", "0.0.0.0",
        "[::]", "[2001:db8::1]", "1.0.0.127",
    ):  # fmt: skip
        for method, path in [("GET", "/a"), ("OPTIONS", "/"), ("DELETE", "/a")]:
            send(app, method, path, None, 421, Host=host)
        page = app.get("/", headers={"Host": host, "Accept": BROWSER}, status=421)
        assert "Unread" not in page.text
    assert len(app.get("/", status=200).json) == 1


def test_an_invalid_host_name_is_refused(app):
    hosts = ("", "[", "[::1", "a b", "localhost\\@a.example", "localhost/a", "é", ":")
    for host in (*hosts, "a@localhost"):
        assert call(app, Host=host).status_int in (400, 421), host


@pytest.mark.parametrize("base_url", [None, "https://marks.example"])
def test_a_change_to_a_host_in_brackets_that_is_no_address_is_403(client, base_url):
    app = client(token=TOKEN, base_url=base_url)
    send_unsafe(app, 403, Host="[abcd]", Origin="http://a.example")


def test_a_request_of_http_1_1_needs_a_host(app):
    for protocol, status in [("HTTP/1.1", 400), ("HTTP/1.0", 200)]:
        request = webtest.TestRequest.blank("/", environ={"SERVER_PROTOCOL": protocol})
        del request.environ["HTTP_HOST"]
        assert request.get_response(app.app).status_int == status


def test_hosts_that_are_too_long_are_400_and_take_bounded_memory(app, data):
    for each in (app, webtest.TestApp(make_app(data, token="secret", public_read=True))):
        for host in ("a" * 262, "[" + ":" * 300 + "]", "a" * 300_000):
            each.get("/", headers={"Host": host}, status=400)

    def send_hosts():
        for n in range(100):
            app.get("/missing", headers={"Host": f"{n:03}" * 100_000}, status=400)

    assert peak_memory(send_hosts) < 4_000_000


def test_a_base_url_that_is_no_address_is_refused(data):
    for url in (
        "http://[::1", "a.example", "ftp://a.example", "https:///marks", "https://a.example\n/X: y",
        "http://a.example:99999", "http://a.example:x", "https://a example/", "https://例え.com/",
        "https://a.example/?x=1", "https://a.example/#f", "https://me:pw@a.example/", "http://a'b/",
    ):  # fmt: skip
        with pytest.raises(Invalid, match="base_url must be an address"):
            make_app(data, base_url=url)


@pytest.mark.parametrize("port", [":443", ":", ""])
def test_the_base_url_is_normalized_and_percent_encoded(client, port):
    app = client(base_url=f"https://A.example{port}/my marks/é/%20/")
    response = app.post_json("/", {"uri": "https://b.example/"}, status=201)
    base = "https://a.example/my%20marks/%C3%A9/%20/"
    assert response.headers["Location"] == base + response.json["id"]
    headers = {"Origin": "https://a.example", "Host": "a.example"}
    app.post_json("/", {"uri": "https://c.example/"}, headers=headers, status=201)
    headers["Origin"] = "https://a.example:444"
    app.post_json("/", {"uri": "https://d.example/"}, headers=headers, status=403)


def test_forwarded_host_names_are_ignored(app):
    for name in ("X-Forwarded-Host", "Forwarded", "X-Host"):
        value = "host=localhost" if name == "Forwarded" else "localhost"
        app.get("/", headers={"Host": "a.example", name: value}, status=421)
        response = app.get("/", headers={name: "a.example"}, status=200)
        assert "a.example" not in str(response.headers)


def test_the_host_of_the_base_url_or_with_a_token_any_host_is_accepted(client):
    app = client(base_url="https://Marks.example/m")
    for host in ("marks.example", "marks.example.", "MARKS.example.:80", "localhost"):
        app.get("/", headers={"Host": host}, status=200)
    app.get("/", headers={"Host": "a.example"}, status=421)
    client(token=TOKEN).get("/", headers=BEARER | {"Host": "a.example"}, status=200)


# --- Cross-site requests ---

def test_a_change_from_another_site_is_403(app, a):
    for site in ("cross-site", "same-site", "unheard-of"):
        send_unsafe(app, 403, Sec_Fetch_Site=site)
    send_unsafe(app, 403, Sec_Fetch_Site="cross-site", Origin="http://localhost")
    for authorization in ("Bearer x", "Token", basic("")):
        send_unsafe(app, 403, Sec_Fetch_Site="cross-site", Authorization=authorization)
    for origin in (
        "https://a.example", "null", "http://localhost:8080", "https://localhost",
        "http://localhost.a.example", "",
    ):  # fmt: skip
        send_unsafe(app, 403, Origin=origin)
    assert app.get("/", status=200).json == [a]


@pytest.mark.parametrize("public_read", [False, True])
@pytest.mark.parametrize("site", [
    {"Sec_Fetch_Site": "cross-site"}, {"Origin": "https://a.example"},
], ids=str)  # fmt: skip
def test_only_a_right_bearer_token_exempts_from_the_cross_site_check(client, public_read, site):
    app = client(token=TOKEN, public_read=public_read)
    for authorization in (basic(TOKEN), "Bearer wrong", f"Bearer {TOKEN}x", "Token", TOKEN, ""):
        send_unsafe(app, 403, Authorization=authorization, **site)
    response = send(app, "DELETE", "/a", None, 403, **site)
    assert "Authorization: Bearer" in response.json["detail"]
    for scheme in ("Bearer", "Token"):
        send(app, "POST", "/a", {"title": "New"}, 200, Authorization=f"{scheme} {TOKEN}", **site)


def test_another_site_gets_no_permission_to_read_or_to_send_a_token(app, a, data):
    headers = {
        "Origin": "https://a.example", "Sec-Fetch-Site": "cross-site",
        "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization",
    }  # fmt: skip
    responses = [app.get(path, headers=headers, status=200) for path in ("/", "/a", "/feed")]
    other = webtest.TestApp(make_app(data.parent / "other", token=TOKEN))
    responses.append(other.options("/a", headers=headers, status=401))
    responses.append(other.options("/a", headers=headers | BEARER, status=204))
    for response in responses:
        assert not [name for name in response.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("headers", [
    {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-origin", "Origin": "null"},
    {"Origin": "http://localhost"}, {},
], ids=str)  # fmt: skip
def test_a_change_from_the_same_site_succeeds(app, a, headers):
    send_unsafe(app, **headers)


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_change_from_the_host_of_the_base_url_must_have_its_scheme_and_port(client, token):
    app = client(base_url="https://marks.example/m", token=token)
    headers = {"Host": "marks.example", "Cookie": ""}
    if token:
        fields = app.post("/-/login", {"token": token}, headers={"Host": "marks.example"})
        headers["Cookie"] = fields.headers["Set-Cookie"].partition(";")[0]
    origins = ["http://marks.example", "https://marks.example:8443", "https://marks.example"]
    for origin, status in zip(origins, (403, 403, 201)):
        sent = headers | {"Origin": origin}
        app.post_json("/", {"uri": "https://b.example/"}, headers=sent, status=status)
    headers |= {"Host": "localhost", "Origin": "http://localhost"}
    app.post_json("/a", {"title": "New"}, headers=headers, status=200)


# --- The token ---

def basic(password, user="anybody"):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_the_token_allows_every_request(client):
    app = client(token=TOKEN)
    for authorization in (
        f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN}", f"Token {TOKEN}",
        f"token {TOKEN}", basic(TOKEN), basic(TOKEN, ""), basic(TOKEN).replace("B", "b", 1),
    ):  # fmt: skip
        headers = {"Authorization": authorization}
        app.get("/", headers=headers, status=200)
        app.post_json("/a", {"title": "New"}, headers=headers, status=200)


def test_a_request_without_the_token_is_401_and_discloses_nothing(client):
    app = client(token=TOKEN)
    for authorization in (
        "", TOKEN, "Bearer", "Bearer ", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}", f"Tokens {TOKEN}", "Token", "Token wrong", f"Basic {TOKEN}",
        basic("wrong"), basic("", TOKEN), basic(""),
        "Basic " + base64.b64encode(TOKEN.encode()).decode(), "Basic !!!", "Basic", "Basic 4",
        "Bearer \xe9", "Basic \xe9", "Digest username=a",
    ):  # fmt: skip
        has_token = re.match("(Bearer|Token)( |$)", authorization)  # An extension sends one.
        for method, path in [("GET", "/"), ("GET", "/a"), ("GET", "/nothing"), ("PUT", "/a/title")]:
            body = "New" if method == "PUT" else None
            response = send(app, method, path, body, 401, Authorization=authorization)
            challenge = response.headers["WWW-Authenticate"]
            expected = ["Bearer"] if has_token else ["Basic", "Bearer"]
            assert re.findall(r"(\w+) realm=", challenge) == expected
            assert TOKEN not in response.text and "a.example" not in response.text
    for accept in ("", "*/*", "text/csv", "image/png"):
        response = send(app, "GET", "/", None, 401, Accept=accept)
        assert response.content_type == "application/problem+json"
    # A script gets no dialog.
    response = send(app, "GET", "/", None, 401, Sec_Fetch_Site="same-origin")
    assert "Basic" not in response.headers["WWW-Authenticate"]


def test_a_token_may_have_any_bytes(data):
    app = webtest.TestApp(make_app(data, token=os.fsdecode(b"\xff\xfe")))
    send(app, "GET", "/", None, 401)
    basic = base64.b64encode(b"any:\xff\xfe").decode()
    for authorization in ("Bearer \xff\xfe", f"Basic {basic}"):
        send(app, "GET", "/", None, 200, Authorization=authorization)


@pytest.mark.parametrize("token", [[TOKEN], ("first", TOKEN, "é"), TOKEN])
def test_each_of_several_tokens_allows_every_request_and_none_is_empty(client, data, token):
    app = client(token=token)
    for sent in [token] if isinstance(token, str) else token:
        headers = {"Authorization": f"Bearer {sent}".encode().decode("latin-1")}
        app.get("/", headers=headers, status=200)
        app.get("/", headers={"Authorization": basic(sent)}, status=200)
    for wrong in ("first, é", "firs", "", "['first']"):
        app.get("/", headers={"Authorization": f"Bearer {wrong}"}, status=401)
    for empty in ([], [""], ["first", ""], ()):
        with pytest.raises(Invalid, match="token must not be empty"):
            make_app(data, token=empty)


def test_a_wrong_token_is_401_also_if_reading_is_public(client):
    app = client(token=TOKEN, public_read=True)
    for authorization in ("Bearer wrong", basic("wrong"), "Token x", "Digest x"):
        for path in ("/", "/a", "/a/title", "/feed", "/?format=html"):
            for method in ("GET", "HEAD"):
                send(app, method, path, None, 401, Authorization=authorization)
                send(app, method, path, None, 200)
        send_unsafe(app, 401, Authorization=authorization)
    send_unsafe(app, 401)
    send(app, "POST", "/a", {"title": "New"}, 200, **BEARER)


def failed_logins(caplog):
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


def test_failed_logins_are_logged_with_the_address_at_a_bounded_rate(client, caplog, monkeypatch):
    app = client(token=TOKEN)
    monkeypatch.setattr("formats.http.failed_logins.time.monotonic", lambda: 100)
    app.get("/", status=401)  # Without a token it is no login.
    app.get("/", headers=BEARER, status=200)
    for number in range(1, 101):
        environ = {"REMOTE_ADDR": f"192.0.2.{number % 10}"}
        headers = {"Authorization": f"Bearer guess{number}"}
        app.get("/", headers=headers, extra_environ=environ, status=401)
    expected = [f"A login from 192.0.2.{n} failed: wrong token." for n in range(1, 6)]
    assert failed_logins(caplog) == expected
    monkeypatch.setattr("formats.http.failed_logins.time.monotonic", lambda: 170)
    for _ in range(9):
        app.get("/", headers={"Authorization": basic("guess")}, status=401)
    assert len(failed_logins(caplog)) == 10


def test_an_address_cannot_forge_a_line_of_the_log(client, caplog):
    app = client(token=TOKEN)
    environ = {"REMOTE_ADDR": "1.2.3.4\n\x1bforged " + "x" * 1000}
    app.get("/", headers={"Authorization": "Bearer x"}, extra_environ=environ, status=401)
    (line,) = failed_logins(caplog)
    assert line.isprintable() and len(line) < 120


@pytest.mark.parametrize("method, path, status, headers", [
    ("GET", "/?format=html", 200, {}), ("GET", "/feed", 200, {}), ("GET", "/a/title", 200, {}),
    ("OPTIONS", "/", 204, {}), ("DELETE", "/a", 204, {}),
    ("GET", "/a", 304, {"If-None-Match": "*"}),
    ("GET", "/?limit=x", 400, {}),
    ("GET", "/", 401, {"Authorization": "Bearer guess"}),
    ("POST", "/", 403, {"Origin": "https://a.example", "Authorization": ""}),
    ("GET", "/unknown", 404, {"Accept": BROWSER}),
    ("PATCH", "/", 405, {}),
    ("GET", "/failing", 500, {}),
])  # fmt: skip
def test_every_response_has_the_security_headers(
    client, caplog, monkeypatch, method, path, status, headers
):
    app = client(token=TOKEN)
    if status == 500:
        monkeypatch.setattr(app.app.store, "get", lambda id: 1 / 0)
    response = app.request(path, method=method, headers=BEARER | headers, status=status)
    # Tokens are never logged.
    assert TOKEN not in caplog.text and "guess" not in caplog.text
    assert ("ZeroDivisionError" in caplog.text) == (status == 500)
    (policy,) = response.headers.getall("Content-Security-Policy")
    directives = [directive.strip() for directive in policy.split(";")]
    assert directives[0] == "default-src 'none'"
    assert "frame-ancestors 'none'" in directives
    assert "unsafe" not in policy
    assert response.headers.getall("X-Content-Type-Options") == ["nosniff"]
    assert response.headers.getall("Referrer-Policy") == ["same-origin"]


# --- Sizes ---

class Endless:
    """A body without an end that counts the bytes that were read."""

    def __init__(self):
        self.size = 0

    def read(self, size=-1):
        assert size >= 0, "the endless body was read without a limit"
        self.size += size
        return b" " * size


@pytest.mark.parametrize(
    "method, path, limit", [("PUT", "/a", 2**20), ("POST", "/a", 2**20), ("POST", "/", 2**25)]
)
def test_a_body_of_unknown_length_is_read_up_to_the_limit(app, a, method, path, limit):
    body = Endless()
    environ = {"wsgi.input": body, "wsgi.input_terminated": True, "CONTENT_TYPE": JSON}
    request = webtest.TestRequest.blank(path, environ, method=method)
    request.environ.pop("CONTENT_LENGTH", None)
    assert request.get_response(app.app).status_int == 413
    assert body.size <= limit + 1


class Broken:
    def read(self, size=-1):
        raise EOFError("the client is gone")


def test_a_body_that_cannot_be_read_to_its_end_is_400_or_411(app, a):
    broken = {"wsgi.input": Broken(), "CONTENT_LENGTH": "9"}
    endless = {"HTTP_TRANSFER_ENCODING": "chunked"}
    for method, path in (("PUT", "/a/tags"), ("POST", "/")):
        request = webtest.TestRequest.blank(path, broken, method=method, content_type=JSON)
        assert request.get_response(app.app).status_int == 400
        request = webtest.TestRequest.blank(path, endless, method=method, content_type=JSON)
        request.environ.pop("CONTENT_LENGTH", None)
        assert request.get_response(app.app).status_int == 411
    assert app.get("/", status=200).json == [a]


class Slow(io.BytesIO):
    def read(self, size=-1):
        return super().read(min(size, 1))


def test_a_body_that_arrives_byte_by_byte_is_read_to_its_end(app, a):
    environ = {"wsgi.input": Slow(b"Slow"), "wsgi.input_terminated": True}
    environ["CONTENT_TYPE"] = "text/plain"
    request = webtest.TestRequest.blank("/a/title", environ, method="PUT")
    request.environ.pop("CONTENT_LENGTH", None)
    assert request.get_response(app.app).text == "Slow"


DEEP = 100_000
LONG = [
    (b"[" * DEEP, JSON),
    (b'{"uri":' * DEEP + b"1" + b"}" * DEEP, JSON),
    (b'[{"a":' * 1_000 + b"1" + b"}]" * 1_000, JSON),
    (b"<xbel>" + b"<folder>" * 50_000 + b"</folder>" * 50_000 + b"</xbel>", XBEL),
    (b"<xbel" + b"".join(b' a%d=""' % n for n in range(DEEP)) + b"/>", XBEL),
    (b'{"uri": ' + b"9" * DEEP + b"}", JSON),
    (b'{"uri": 1e' + b"9" * 1000 + b"}", JSON),
    (b"{" + b",".join(b'"%d":1' % n for n in range(DEEP)) + b"}", JSON),
    (b'{"uri": "https://a.example/", "tags": [' + b",".join([b'"a"'] * DEEP) + b',""]}', JSON),
    (b"uri=https://b.example/&" + b"a=1&" * DEEP, FORM),
    (b"uri=https://b.example/&tags=" + b"," * 1_000_000 + b"x" * 256, FORM),
    (b"--b\r\n\r\n\r\n" * DEEP + b"--b--", MULTIPART),
]


@pytest.mark.parametrize("body, content_type", LONG, ids=lambda value: ascii(value[:20]))
@pytest.mark.parametrize("path", ["/", "/-/import"])
def test_deeply_nested_and_long_bodies_are_refused_quickly(app, path, body, content_type):
    start = time.process_time()
    response = call(app, path, method="POST", body=body, Content_Type=content_type)
    # An array, or XBEL without a bookmark, is a file that is imported.
    is_refused = 400 <= response.status_int < 500
    assert is_refused or response.json["created"] <= (path == "/-/import")
    assert time.process_time() - start < 5


def test_xml_with_entities_is_400(app, a):
    for declarations, title in (
        ('<!ENTITY a "a">', ""),
        ('<!ENTITY % a "a">', ""),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
        ('<!ENTITY % a SYSTEM "http://127.0.0.1:9/x.dtd"> %a;', ""),
        ('<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">', "&c;&c;"),
        ('<!NOTATION n SYSTEM "n"><!ENTITY a SYSTEM "a" NDATA n>', ""),
        ("", "&undeclared;"),
    ):
        bookmark = f'<bookmark href="https://b.example/"><title>{title}</title></bookmark>'
        body = f"<!DOCTYPE xbel [{declarations}]><xbel>{bookmark}</xbel>".encode()
        for method, path in [("POST", "/"), ("PUT", "/new"), ("POST", "/a")]:
            app.request(path, method=method, body=body, content_type=XBEL, status=400)
    assert app.get("/", status=200).json == [a]


def test_files_that_xml_names_are_not_opened(app, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    include = f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="{secret.as_uri()}"/>'
    for prolog, content in [
        (f'<!DOCTYPE xbel SYSTEM "{secret.as_uri()}">', ""),
        (f'<?xml-stylesheet href="{secret.as_uri()}"?>', ""),
        ("", f"<desc>{include}</desc>"),
    ]:
        bookmark = f'<bookmark href="https://a.example/">{content}</bookmark>'
        body = f"{prolog}<xbel>{bookmark}</xbel>".encode()
        assert call(app, method="POST", body=body, Content_Type=XBEL).status_int < 500
        assert "the secret" not in app.get("/", status=200).text
