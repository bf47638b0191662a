"""Behind nginx and Varnish with the documented configuration: addresses, caching, conditions."""

import grp
import json
import os
import pwd
import re
import ssl
import subprocess
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import quote

import pytest

from tests.conftest import documentation, documented_block, free_port, require_program, until
from tests.storage.clients import Response, Server, service_of

HOST = "bookmarks.example.com"
PUBLIC = f"https://{HOST}"
CERTIFICATE, KEY = "/etc/ssl/certs/bookmarks.pem", "/etc/ssl/private/bookmarks.key"
BODY = {"Content-Type": "application/json"}
FORM = "application/x-www-form-urlencoded"


class Front:
    requests_before_caching = 1  # The requests for a cacheable response that reach the service.

    def __init__(self, service, port, trust=None, host=HOST, address="127.0.0.1"):
        self.service, self.port, self.host, self._trust = service, port, host, trust
        self.address = address

    def connection(self):
        if self._trust:
            return HTTPSConnection(self.address, self.port, context=self._trust, timeout=60)
        return HTTPConnection(self.address, self.port, timeout=60)

    def send(self, method, path, value=None, **headers):
        body = None if value is None else json.dumps(value)
        return self.send_text(method, path, body, **headers)

    def send_text(self, method, path, body, **headers):
        connection = self.connection()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            connection.request(method, path, body, {"Host": self.host, **BODY, **named})
            response = connection.getresponse()
            return Response(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def require_logged(self, line, times):
        until(lambda: self._count(line) >= times)
        assert self._count(line) == times

    def _count(self, line):
        return len(re.findall(rf" {re.escape(line)} \d+ [\d.]+\n", self.service.log))


@contextmanager
def served(folder, *options, **environment):
    command = [*service_of(folder / "data"), "--access-log", *options]
    server = Server(command, folder / "service.log", **environment)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def nginx(folder, service, port=None, prefix="/", host=HOST, edit=str):
    """Run nginx with the documented servers, which `edit` may change, in front of a service."""
    require_program("nginx", "openssl")
    port, plain = port or free_port(), free_port()
    certificate, key = folder.parent / "cert.pem", folder.parent / "key.pem"
    if not certificate.exists():
        command = documented_block("bash", "openssl req").replace(CERTIFICATE, str(certificate))
        command = command.replace(KEY, str(key))
        subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    servers = documented_block("nginx", "server {")
    for written, ours in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "listen [::]:443 ssl": f"listen [::1]:{port} ssl",
        "listen [::]:80": f"listen [::1]:{plain}",
        "location / {\n": f"location {prefix} {{\n",
        "/var/www/html": str(folder / "html"),
        "http://127.0.0.1:8080": service.address + ("" if prefix == "/" else "/"),
        CERTIFICATE: str(certificate),
        KEY: str(key),
        "/var/cache/bookmarks": str(folder / "cache"),
    }.items():
        assert servers.count(written) == 1
        servers = servers.replace(written, ours)
    servers = edit(servers)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"user {pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name};"
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary} {servers} }}\n"
    )
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])

    def is_ready():
        assert process.poll() is None, "nginx has ended"
        return (folder / "pid").exists() and (folder / "pid").read_text().strip()

    try:
        until(is_ready)
        trust = ssl.create_default_context(cafile=str(certificate))
        trust.check_hostname = False  # The connection is made to an IP address.
        front = Front(service, port, trust, host)
        front.plain = plain
        yield front
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def varnish(folder, service):
    require_program("varnishd", "varnishadm")
    vcl = documented_block("vcl", "backend")
    assert '.port = "8080"' in vcl
    port = service.address.rpartition(":")[2]
    (folder / "default.vcl").write_text(vcl.replace('"8080"', f'"{port}"'))
    command = r"`varnishd -a :6081 -f /etc/varnish/bookmarks.vcl (.*)`"
    (options,) = re.findall(command, documentation("deploy.md"))
    name = ["-n", str(folder / "varnish")]
    with (folder / "varnish.log").open("wb") as log:
        process = subprocess.Popen(
            ["varnishd", "-F", "-j", "none", *name, "-f", str(folder / "default.vcl"),
             "-a", "127.0.0.1:0", "-s", "malloc,16m", *options.split()],
            stdout=log, stderr=log,
        )  # fmt: skip

    def ask_varnish(question):
        assert process.poll() is None, (folder / "varnish.log").read_text()
        command = ["varnishadm", *name, "-t", "5", question]
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout

    def find_port():
        return re.search(r"127\.0\.0\.1 (\d+)", ask_varnish("debug.listen_address"))

    try:
        until(lambda: "running" in ask_varnish("status") and find_port())
        front = Front(service, int(find_port()[1]))
        front.requests_before_caching = 2
        yield front
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture
def start(tmp_path):
    with ExitStack() as stack:

        def start(proxy, *options, token=None, **settings):
            environment = {"BOOKMARKS_TOKEN": token} if token else {}
            service = stack.enter_context(served(tmp_path, *options, **environment))
            return stack.enter_context(proxy(tmp_path, service, **settings))

        yield start


BOTH = pytest.mark.parametrize("proxy", [nginx, varnish], ids=lambda proxy: proxy.__name__)


@pytest.fixture(scope="module", params=[nginx, varnish], ids=lambda front: front.__name__)
def front(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("front")
    with ExitStack() as stack:
        service = stack.enter_context(served(folder, "--base-url", PUBLIC))
        yield stack.enter_context(request.param(folder, service))


def create(front, name, **fields):
    response = front.send("POST", "/", {"uri": f"https://{name}.example/", **fields})
    assert response.status == 201
    return "/" + response.json["id"]


# --- Caching ---

def test_lists_and_bookmarks_are_revalidated(front):
    path = create(front, "unchanged")
    for address in ("/?tag=none", path, "/feed"):
        first = front.get(address)
        assert first.status == 200 and first.headers["ETag"]
        again = front.get(address, If_None_Match=first.headers["ETag"])
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
    front.require_logged(f"GET {path} 200", 1)
    front.require_logged(f"GET {path} 304", 1)
    assert front.send("POST", path, {"title": "Changed"}).status == 200
    changed = front.get(path, If_None_Match=first.headers["ETag"])
    assert changed.json["title"] == "Changed"


def test_a_write_is_seen_by_the_next_request(front):
    path = "/written"
    assert front.get(path).status == 404
    whole = {"uri": "https://written.example/", "title": "", "description": "", "tags": []}
    assert front.send("PUT", path, whole).status == 201
    for title in ("One", "Two", "Three"):
        assert front.send("POST", path, {"title": title}).status == 200
        assert front.get(path).json["title"] == title
        assert title in front.get("/?format=text").body.decode()
    stale = front.send("POST", path, {"title": "Late"}, If_Match='"stale"')
    assert stale.status == 412
    assert front.send("DELETE", path).status == 204
    assert front.get(path).status == 410
    assert title not in front.get("/?format=text").body.decode()


def test_a_410_is_cached_in_each_of_its_formats(front):
    path = create(front, "deleted")
    etag = front.get(path).headers["ETag"]
    assert front.send("DELETE", path).status == 204
    for headers in ({}, {"Accept": "text/html"}):
        assert front.get(path, **headers).status == 410
    front.require_logged(f"GET {path} 410", 2 * front.requests_before_caching)
    for _ in range(5):
        assert front.get(path).headers["Content-Type"] == "application/problem+json"
        page = front.get(path, Accept="text/html")
        assert page.status == 410 and page.headers["Content-Type"].startswith("text/html")
        assert front.get(path, If_None_Match=etag).status == 410
        assert front.send("HEAD", path).status == 410
    assert front.send("PUT", path, {}).status == 410
    front.require_logged(f"PUT {path} 410", 1)
    front.require_logged(f"GET {path} 410", 2 * front.requests_before_caching)


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_each_content_coding_has_its_own_tag_and_304(front, coding):
    path = create(front, f"long-{coding}", description="long " * 1000)
    page = front.get("/", Accept="text/html").body.decode()
    (style,) = re.findall(r'<link rel="stylesheet" href="(?:https://[^/]+)?(/[^"]+)"', page)
    other = {"gzip": "identity", "identity": "gzip"}[coding]
    for address in (path, "/", style):
        assert front.get(address, Accept_Encoding=other).status == 200
        for _ in range(2):
            response = front.get(address, Accept_Encoding=coding)
            assert response.headers.get("Content-Encoding", "identity") == coding
            etag = response.headers["ETag"]
            again = front.get(address, Accept_Encoding=coding, If_None_Match=etag)
            assert (again.status, again.headers["ETag"]) == (304, etag)
            assert front.get(address, Accept_Encoding=other).headers["ETag"] != etag


def test_links_begin_with_the_public_address(front):
    response = front.send("POST", "/", {"uri": "https://links.example/"})
    assert response.headers["Location"].startswith(PUBLIC + "/")
    assert f"<{PUBLIC}/?limit=1&offset=0>" in front.get("/?limit=1&offset=1").headers["Link"]
    assert f'href="{PUBLIC}/feed"' in front.get("/feed").body.decode()


def test_long_addresses_get_through(front):
    words = quote("закладки" * 25)
    for number in range(3):
        create(front, f"long-{number}", title="закладки" * 25)
    for accept in ("application/json", "text/html"):
        response = front.get(f"/?q={words}&limit=1&offset=1", Accept=accept)
        assert response.status == 200
        assert response.headers["Link"].count(f"q={words}") == 4
    text = quote("😀")  # The bookmarklet sends up to 2,000 selected characters.
    uri = quote(f"https://example.com/{text * 100}", safe="")
    path = f"/-/add?uri={uri}&title={text * 1000}&description={text * 2000}"
    page = front.get(path, Accept="text/html")
    assert page.status == 200 and "😀" * 2000 in page.body.decode()


@BOTH
def test_no_response_to_the_owner_answers_a_visitor_nor_the_other_way(start, proxy):
    owner = {"Authorization": "Bearer 0123"}
    whole = {"title": "", "description": ""}
    public = {**whole, "uri": "https://public.example/", "tags": ["x"]}
    private = {**whole, "uri": "https://secret.example/", "tags": ["x", "private"]}
    front = start(proxy, "--base-url", PUBLIC, "--public-read", token="0123")
    for id in ("gone", "secret-gone", "secret", "public"):
        bookmark = private if "secret" in id else public
        assert front.send("PUT", f"/{id}", bookmark, **owner).status == 201
        if "gone" in id:
            assert front.send("DELETE", f"/{id}", **owner).status == 204
    for path in ("/", "/?tag=x", "/feed", "/tags", "/tags.json", "/public", "/public/tags"):
        for accept in ("*/*", "text/html") * 2:
            tags = set()
            for view, other in (({}, owner), (owner, {})):
                response = front.get(path, Accept=accept, **view)
                assert view or b"secret" not in response.body
                etag = response.headers.get("ETag")
                if etag:
                    assert etag not in tags
                    tags.add(etag)
                    again = front.get(path, Accept=accept, If_None_Match=etag, **other)
                    assert again.status == 200
    for _ in range(3):
        for id, seen, known in (
            ("secret", 404, 200), ("secret-gone", 404, 410), ("gone", 410, 410),
        ):  # fmt: skip
            assert front.get(f"/{id}", **owner).status == known
            assert front.get(f"/{id}").status == seen


@pytest.mark.parametrize("public_read", [(), ("--public-read",)], ids=["private", "public"])
@BOTH
def test_a_browser_logs_in_and_out(start, proxy, public_read):
    front = start(proxy, "--base-url", f"{PUBLIC}/marks", *public_read, token="secret")
    browser = {"Accept": "text/html", "Origin": PUBLIC, "Content_Type": FORM}
    without_login = (200, False) if public_read else (401, True)
    cookies = ["other=1"]

    def page():
        response = front.get("/?tag=x", **browser, Cookie="; ".join(cookies))
        return response.status, 'name="token"' in response.body.decode()

    assert page() == without_login
    body = "token=secret&next=/%3Ftag=x"
    response = front.send_text("POST", "/-/login", body, **browser, Cookie=cookies[0])
    assert response.status == 303
    value, *attributes = response.headers["Set-Cookie"].split("; ")
    assert {"Path=/marks", "Secure", "HttpOnly", "SameSite=Lax"} <= set(attributes)
    cookies.append(value)
    for _ in range(3):
        assert page() == (200, False)
    created = front.send_text("POST", "/-/add", "uri=x:y", **browser, Cookie="; ".join(cookies))
    assert created.status == 303
    for _ in range(3):
        response = front.get("/?tag=x", **browser)
        assert (response.status, 'name="token"' in response.body.decode()) == without_login


# --- nginx ---

FORGED = {
    "X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "http", "X_Forwarded_For": "1.2.3.4",
    "X_Forwarded_Port": "1", "Forwarded": "host=evil.example;proto=http",
}  # fmt: skip


def test_nginx_passes_the_public_address_and_drops_forged_headers(start):
    port = free_port()
    host = f"{HOST}:{port}"
    front = start(nginx, "--trusted-proxy", "127.0.0.1", token="secret", port=port, host=host)
    public, bearer = f"https://{host}", {"Authorization": "Bearer secret"}
    fields = {"uri": "https://example.com/"}
    response = front.send("POST", "/", fields, Origin=public, **bearer)
    assert response.status == 201 and response.headers["Location"].startswith(public + "/")
    for more in ({}, FORGED):
        response = front.get("/?limit=1&offset=1", **bearer, **more)
        assert f"<{public}/?limit=1&offset=0>" in response.headers["Link"]
        assert "evil" not in response.headers["Link"]
        assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
    basic = {"Authorization": "Basic OnNlY3JldA=="}
    assert front.send("POST", "/", fields, Origin=public, **basic).status == 200
    response = front.send("POST", "/", fields, Origin="https://evil.example", **basic)
    assert response.status == 403
    large = [{"uri": f"https://example.com/{n}/{'x' * 2000}"} for n in range(1000)]
    assert front.send("POST", "/-/import", large, **bearer).json["created"] == 1000


def test_nginx_shows_the_file_that_a_certificate_needs_and_redirects_the_rest(start, tmp_path):
    challenge = tmp_path / "html" / ".well-known" / "acme-challenge"
    challenge.mkdir(parents=True)
    (challenge / "secret").write_text("a proof")
    front = start(nginx, "--base-url", PUBLIC)
    for address in ("127.0.0.1", "::1"):
        plain = Front(front.service, front.plain, address=address)
        shown = plain.get("/.well-known/acme-challenge/secret")
        assert (shown.status, shown.body) == (200, b"a proof")
        redirected = plain.get("/?limit=1")
        assert (redirected.status, redirected.headers["Location"]) == (301, f"{PUBLIC}/?limit=1")
        front.address = address
        assert front.get("/").status == 200


def test_the_documented_limit_of_requests_refuses_what_is_beyond_it(start):
    zone, *limits = documented_block("nginx", "limit_req_zone").splitlines(keepends=True)
    (before,) = map(int, re.findall("burst=([0-9]+)", limits[0]))

    def edit(servers):
        return zone + servers.replace("    limit_conn ", "".join(limits) + "    limit_conn ")

    front = start(nginx, "--base-url", PUBLIC, edit=edit)
    statuses = []
    with closing(front.connection()) as connection:
        while 429 not in statuses and len(statuses) < 20 * before:
            connection.request("GET", "/health", headers={"Host": HOST})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
    assert len(statuses) > before
    assert set(statuses) == {200, 429}


def test_nginx_can_serve_it_below_a_prefix(start):
    public = f"{PUBLIC}/bookmarks"
    front = start(nginx, "--base-url", public, prefix="/bookmarks/")
    response = front.send("POST", "/bookmarks/", {"uri": "https://example.com/"})
    location = response.headers["Location"]
    assert location.startswith(public + "/")
    assert front.get(location.removeprefix(PUBLIC)).status == 200
    page = front.get("/bookmarks/", Accept="text/html").body.decode()
    for address in re.findall(r'(?:href|src|action)="(/[^"]*)"', page):
        assert address.startswith("/bookmarks/")
    links = front.get("/bookmarks/?limit=1&offset=1").headers["Link"]
    assert f"<{public}/?limit=1&offset=0>" in links
