"""Behind nginx and Varnish as the README sets them up: addresses, what is kept, what is not."""

import grp
import http.client
import json
import os
import pwd
import re
import ssl
import subprocess
from contextlib import ExitStack, contextmanager

import pytest

from tests.conftest import ROOT, free_port, readme_block, require_program, until
from tests.storage.clients import Answer, Server, service_of

HOST = "bookmarks.example.com"
PUBLIC = f"https://{HOST}"
README = (ROOT / "README.md").read_text()
BODY = {"Content-Type": "application/json"}


class Front:
    """What stands before a service: how to ask it, and what the service was asked."""

    askings = 1  # How often it asks for what it may keep.

    def __init__(self, service, port, trust=None, host=HOST):
        self.service, self.port, self.host, self._trust = service, port, host, trust

    def _connection(self):
        if self._trust:
            return http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=self._trust, timeout=20
            )
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def ask(self, method, path, value=None, **headers):
        connection = self._connection()
        body = None if value is None else json.dumps(value)
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            connection.request(method, path, body, {"Host": self.host, **BODY, **given})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def require_asked(self, line, times):
        """The service has answered just this so many times."""
        until(lambda: self._lines(line) >= times)
        assert self._lines(line) == times

    def _lines(self, line):
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
def nginx(folder, service, port=None, prefix="/", host=HOST):
    """nginx with the README's servers before a service."""
    require_program("nginx", "openssl")
    port, plain = port or free_port(), free_port()
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", f"/CN={HOST}", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    command = ["openssl", "req", "-x509", "-keyout", str(key), "-out", str(certificate), *subject]
    subprocess.run(command, check=True, capture_output=True)
    servers = readme_block("nginx", "server {")
    for written, ours in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "location / ": f"location {prefix} ",
        "http://127.0.0.1:8080": service.address + ("" if prefix == "/" else "/"),
        "/etc/ssl/certs/bookmarks.pem": str(certificate),
        "/etc/ssl/private/bookmarks.key": str(key),
        "/var/cache/bookmarks": str(folder / "cache"),
    }.items():
        assert servers.count(written) == 1
        servers = servers.replace(written, ours)
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
        until(is_ready, 20)
        trust = ssl.create_default_context(cafile=str(certificate))
        trust.check_hostname = False  # It is asked by its number.
        front = Front(service, port, trust, host)
        front.plain = plain
        yield front
    finally:
        process.terminate()
        process.wait(timeout=10)


@contextmanager
def varnish(folder, service):
    """Varnish with the README's VCL before a service."""
    require_program("varnishd", "varnishadm")
    vcl = readme_block("vcl", "backend")
    assert '.port = "8080"' in vcl
    port = service.address.rpartition(":")[2]
    (folder / "default.vcl").write_text(vcl.replace('"8080"', f'"{port}"'))
    (options,) = re.findall(r"`varnishd -a :6081 -f bookmarks.vcl (.*)`", README)
    name = ["-n", str(folder / "varnish")]
    with (folder / "varnish.log").open("wb") as log:
        process = subprocess.Popen(
            ["varnishd", "-F", "-j", "none", *name, "-f", str(folder / "default.vcl"),
             "-a", "127.0.0.1:0", "-s", "malloc,16m", *options.split()],
            stdout=log, stderr=log,
        )  # fmt: skip

    def address():
        assert process.poll() is None, (folder / "varnish.log").read_text()
        command = ["varnishadm", *name, "-t", "5", "debug.listen_address"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
        return re.search(r"127\.0\.0\.1 (\d+)", told)

    def status():
        command = ["varnishadm", *name, "-t", "5", "status"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
        return "running" in done.stdout

    try:
        until(lambda: status() and address(), 20)
        front = Front(service, int(address()[1]))
        front.askings = 2
        yield front
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module", params=[nginx, varnish], ids=lambda front: front.__name__)
def front(request, tmp_path_factory):
    """Each of the two before a service without a token."""
    folder = tmp_path_factory.mktemp("front")
    with ExitStack() as stack:
        service = stack.enter_context(served(folder, "--base-url", PUBLIC))
        yield stack.enter_context(request.param(folder, service))


def create(front, name, **fields):
    answer = front.ask("POST", "/", {"uri": f"https://{name}.example/", **fields})
    assert answer.status == 201
    return "/" + answer.json["id"]


# --- What is kept, and what is not ---


def test_lists_and_bookmarks_ask_the_service_and_get_a_304(front):
    path = create(front, "unchanged")
    for address in ("/?tag=none", path, "/feed"):
        first = front.get(address)
        assert first.status == 200 and first.headers["ETag"]
        again = front.get(address, If_None_Match=first.headers["ETag"])
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
    front.require_asked(f"GET {path} 200", 1)
    front.require_asked(f"GET {path} 304", 1)
    assert front.ask("POST", path, {"title": "Changed"}).status == 200
    changed = front.get(path, If_None_Match=first.headers["ETag"])
    assert changed.json["title"] == "Changed"


def test_a_write_is_seen_at_once(front):
    path = create(front, "written")
    for number in range(20):
        given = {"title": f"Title {number}"}
        assert front.ask("POST", path, given).status == 200
        assert front.get(path).json["title"] == given["title"]
        assert given["title"] in front.get("/?format=text").body.decode()
    stale = front.ask("POST", path, {"title": "Late"}, If_Match='"stale"')
    assert stale.status == 412
    assert front.ask("DELETE", path).status == 204
    assert front.get(path).status == 410
    assert given["title"] not in front.get("/?format=text").body.decode()


def test_a_410_is_kept_in_each_of_its_formats(front):
    path = create(front, "deleted")
    etag = front.get(path).headers["ETag"]
    assert front.ask("DELETE", path).status == 204
    for asked in ({}, {"Accept": "text/html"}):
        assert front.get(path, **asked).status == 410
    front.require_asked(f"GET {path} 410", 2 * front.askings)
    for _ in range(5):
        assert front.get(path).headers["Content-Type"] == "application/problem+json"
        page = front.get(path, Accept="text/html")
        assert page.status == 410 and page.headers["Content-Type"].startswith("text/html")
        assert front.get(path, If_None_Match=etag).status == 410
        assert front.ask("HEAD", path).status == 410
    assert front.ask("PUT", path, {}).status == 410
    front.require_asked(f"PUT {path} 410", 1)
    front.require_asked(f"GET {path} 410", 2 * front.askings)


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_who_asks_for_gzip_gets_it_and_its_304(front, coding):
    path = create(front, f"long-{coding}", description="long " * 1000)
    page = front.get("/", Accept="text/html").body.decode()
    (style,) = re.findall(r'<link rel="stylesheet" href="(?:https://[^/]+)?(/[^"]+)"', page)
    other = {"gzip": "identity", "identity": "gzip"}[coding]
    for address in (path, "/", style):
        assert front.get(address, Accept_Encoding=other).status == 200
        for _ in range(2):
            answer = front.get(address, Accept_Encoding=coding)
            assert answer.headers.get("Content-Encoding", "identity") == coding
            etag = answer.headers["ETag"]
            again = front.get(address, Accept_Encoding=coding, If_None_Match=etag)
            assert (again.status, again.headers["ETag"]) == (304, etag)
            assert front.get(address, Accept_Encoding=other).headers["ETag"] != etag


def test_a_404_is_not_kept(front):
    assert front.get("/later").status == 404
    whole = {"uri": "https://later.example/", "title": "", "description": "", "tags": []}
    assert front.ask("PUT", "/later", whole).status == 201
    assert front.get("/later").status == 200


def test_each_format_is_given_to_who_asks_for_it(front):
    path = create(front, "formats")
    for address in ("/", path) * 2:
        for media_type in ("application/json", "text/html", "application/x-xbel"):
            answer = front.get(address, Accept=media_type)
            assert answer.headers["Content-Type"].startswith(media_type)
            assert "Accept" in answer.headers["Vary"]


def test_the_pages_files_are_kept_whole_whatever_was_asked_before(front):
    page = front.get("/", Accept="text/html").body.decode()
    (script,) = re.findall(r'<script src="(?:https://[^/]+)?(/[^"]+)"', page)
    whole = Front(front.service, int(front.service.address.rpartition(":")[2])).get(script)
    for _ in range(3):
        assert front.get(script, If_None_Match=whole.headers["ETag"]).status == 304
        assert front.get(script).body == whole.body != b""
    front.require_asked(f"GET {script} 304", 1)
    front.require_asked(f"GET {script} 200", 2)


def test_links_are_public(front):
    answer = front.ask("POST", "/", {"uri": "https://links.example/"})
    assert answer.headers["Location"].startswith(PUBLIC + "/")
    assert f"<{PUBLIC}/?limit=1&offset=0>" in front.get("/?limit=1").headers["Link"]
    assert f'href="{PUBLIC}/feed"' in front.get("/feed").body.decode()


@pytest.mark.parametrize("before", [nginx, varnish], ids=lambda before: before.__name__)
def test_with_a_token_nothing_is_kept(tmp_path, before):
    with ExitStack() as stack:
        options = ("--base-url", PUBLIC)
        service = stack.enter_context(served(tmp_path, *options, BOOKMARKS_TOKEN="secret"))
        front = stack.enter_context(before(tmp_path, service))
        bearer = {"Authorization": "Bearer secret"}
        answer = front.ask("POST", "/", {"uri": "https://example.com/"}, **bearer)
        path = "/" + answer.json["id"]
        assert [front.get(path, **bearer).status, front.get(path).status] == [200, 401]
        assert front.ask("DELETE", path, **bearer).status == 204
        for _ in range(3):
            assert [front.get(path, **bearer).status, front.get(path).status] == [410, 401]
        front.require_asked(f"GET {path} 410", 3)


# --- nginx ---

FORGED = {
    "X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "http", "X_Forwarded_For": "1.2.3.4",
    "X_Forwarded_Port": "1", "Forwarded": "host=evil.example;proto=http",
}  # fmt: skip


def test_behind_nginx_links_are_those_of_the_public_address(tmp_path):
    with ExitStack() as stack:
        options = ("--trusted-proxy", "127.0.0.1")
        service = stack.enter_context(served(tmp_path, *options, BOOKMARKS_TOKEN="secret"))
        port = free_port()
        host = f"{HOST}:{port}"
        front = stack.enter_context(nginx(tmp_path, service, port, host=host))
        public, bearer = f"https://{host}", {"Authorization": "Bearer secret"}
        given = {"uri": "https://example.com/"}
        answer = front.ask("POST", "/", given, Origin=public, **bearer)
        assert answer.status == 201 and answer.headers["Location"].startswith(public + "/")
        for more in ({}, FORGED):
            answer = front.get("/?limit=1", **bearer, **more)
            assert f"<{public}/?limit=1&offset=0>" in answer.headers["Link"]
            assert "evil" not in answer.headers["Link"]
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        assert front.ask("POST", "/", given, Origin="https://evil.example", **bearer).status == 403
        large = [{"uri": f"https://example.com/{n}/{'x' * 2000}"} for n in range(1000)]
        assert front.ask("POST", "/", large, **bearer).json["created"] == 1000
        plain = Front(service, front.plain, host=host).get("/?limit=1")
        assert (plain.status, plain.headers["Location"]) == (301, f"{PUBLIC}/?limit=1")


def test_behind_nginx_below_a_prefix(tmp_path):
    public = f"{PUBLIC}/bookmarks"
    with ExitStack() as stack:
        service = stack.enter_context(served(tmp_path, "--base-url", public))
        front = stack.enter_context(nginx(tmp_path, service, prefix="/bookmarks/"))
        answer = front.ask("POST", "/bookmarks/", {"uri": "https://example.com/"})
        assert answer.headers["Location"].startswith(public + "/")
        assert front.get(answer.headers["Location"].removeprefix(PUBLIC)).status == 200
        page = front.get("/bookmarks/", Accept="text/html").body.decode()
        for address in re.findall(r'(?:href|src|action)="(/[^"]*)"', page):
            assert address.startswith("/bookmarks/")
        assert f"<{public}/?limit=1&offset=0>" in front.get("/bookmarks/?limit=1").headers["Link"]
