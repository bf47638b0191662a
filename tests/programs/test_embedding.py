"""Each way to embed the service that the documentation shows works with the real server."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import urllib.parse
from pathlib import Path

import pytest

from tests.conftest import ROOT, documentation, free_port, until, write_file
from tests.storage.clients import ask
from tests.test_documentation import blocks

PAGE = documentation("embedding.md")
COUNT = 1200  # The size of the collection.
MODULES = Path("/usr/lib/apache2/modules")
MODULE_NAMES = ("mpm_event", "authz_core", "wsgi")


def name_of(command):
    words = shlex.split(command)
    return " ".join([words[0], *["--preload"] * ("--preload" in words)])


LINES = "".join(blocks(PAGE, "bash")).splitlines()
COMMANDS = {name_of(command): command for command in LINES}
(APACHE,) = blocks(PAGE, "apache")
PROGRAMS = dict(zip(("Werkzeug", "WebOb", "Django"), blocks(PAGE, "python"), strict=True))


# --- Starting a server ---

@pytest.fixture
def site(tmp_path):
    for number in range(COUNT):
        fields = {"uri": f"https://example.com/{number}", "created": "2024-01-01T00:00:00Z"}
        write_file(tmp_path / "data", "bookmarks", f"b{number}", description="x" * 500, **fields)
    return tmp_path


@pytest.fixture
def run(site):
    """Return a function that runs a command until the end of the test, once its port is open."""
    processes = []

    def run(port, command, **environment):
        path = os.pathsep.join([str(site), str(ROOT)])
        with (site / "log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=site, env={**os.environ, "PYTHONPATH": path, **environment},
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        processes.append(process)
        until(lambda: process.poll() is not None or is_open(port))
        assert process.poll() is None, (site / "log").read_text()

    yield run
    for process in processes:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=60)


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def program(name):
    if name == "python":
        return sys.executable
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return found or pytest.skip(f"needs {name}")


# --- Requirements for every server ---

def request(port, *arguments, **headers):
    return ask(f"http://127.0.0.1:{port}", *arguments, **headers)


def receive_after_headers(port, method, path, **headers):
    """Return the status, and every byte after the headers until the server closes the connection.

    The end of a chunked body is left out: waitress sends it even if there is no body.
    """
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, rest = received.partition(b"\r\n\r\n")
    if b"\r\nTransfer-Encoding: chunked" in head:
        rest = rest.removesuffix(b"0\r\n\r\n")
    return int(head.split()[1]), rest


def require_service(port, prefix=""):
    require_lists(port, prefix)
    require_long_addresses(port, prefix)
    require_changes(port, prefix)
    require_empty_bodies(port, prefix)
    require_whole_bodies(port, prefix)


def require_lists(port, prefix):
    base = f"http://127.0.0.1:{port}{prefix}"
    status, headers, body = request(port, "GET", f"{prefix}/")
    assert status == 200 and headers["X-Total-Count"] == str(COUNT)
    assert {bookmark["id"] for bookmark in json.loads(body)} == {f"b{n}" for n in range(COUNT)}
    _, headers, body = request(port, "GET", f"{prefix}/?limit=2&offset=4")
    links = dict(re.findall(r'<([^>]*)>; rel="(\w+)"', headers["Link"]))
    assert set(links.values()) == {"first", "prev", "next", "last"}
    assert all(link.startswith(f"{base}/?limit=2&offset=") for link in links)
    (next_link,) = [link for link, relation in links.items() if relation == "next"]
    assert len(json.loads(request(port, "GET", next_link.partition(str(port))[2])[2])) == 2
    page = request(port, "GET", f"{prefix}/", Accept="text/html")[2].decode()
    (style,) = re.findall(r'<link rel="stylesheet" href="([^"]*)"', page)
    assert style.startswith(f"{prefix}/") and request(port, "GET", style)[0] == 200
    feed = request(port, "GET", f"{prefix}/feed")[2].decode()
    assert f'href="{base}/feed' in feed


def require_long_addresses(port, prefix):
    words = urllib.parse.quote("закладки" * 25)
    status, headers, _ = request(port, "GET", f"{prefix}/?q={words}&limit=1&offset=1")
    assert status == 200 and headers["Link"].count(words) == 3
    path = f"{prefix}/-/add?uri=x:y&title={words}&description={urllib.parse.quote('😀' * 2000)}"
    status, _, body = request(port, "GET", path, Accept="text/html")
    assert status == 200 and "😀" * 2000 in body.decode()


def require_changes(port, prefix):
    base = f"http://127.0.0.1:{port}{prefix}"
    status, headers, created = request(port, "POST", f"{prefix}/", {"uri": "x:ü", "tags": ["ü"]})
    assert status == 201 and headers["Location"].startswith(base + "/")
    path = urllib.parse.urlsplit(headers["Location"]).path
    status, headers, body = request(port, "GET", path)
    assert (status, body) == (200, created) and json.loads(body)["tags"] == ["ü"]
    found = json.loads(request(port, "GET", f"{prefix}/?tag=%C3%9C")[2])
    assert [bookmark["uri"] for bookmark in found] == ["x:ü"]
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    status, headers, _ = request(port, "POST", f"{prefix}/-/add", b"uri=x:page", **form)
    assert status == 303 and headers["Location"].startswith(base + "/")
    large = json.loads(created) | {"title": "New", "description": "ü" * 60_000}
    etag = request(port, "GET", path)[1]["ETag"]
    status, _, body = request(port, "PUT", path, large, If_Match=etag)
    assert status == 200 and json.loads(body)["description"] == large["description"]
    assert request(port, "PUT", path, large, If_Match=etag)[0] == 412
    assert request(port, "DELETE", path)[::2] == (204, b"")
    status, _, body = request(port, "GET", path)
    assert status == 410 and json.loads(body)["status"] == 410
    assert request(port, "GET", f"{prefix}/never")[0] == 404


def require_empty_bodies(port, prefix):
    whole = {"uri": "x:empty", "title": "", "description": "", "tags": []}
    status, headers, _ = request(port, "PUT", f"{prefix}/empty", whole)
    assert status == 201 and headers["Location"].endswith(f"{prefix}/empty")
    etag = request(port, "GET", f"{prefix}/empty")[1]["ETag"]
    list_etag = request(port, "GET", f"{prefix}/")[1]["ETag"]
    assert receive_after_headers(port, "HEAD", f"{prefix}/") == (200, b"")
    assert receive_after_headers(port, "HEAD", f"{prefix}/never") == (404, b"")
    for method in ("GET", "HEAD"):
        for path, tag in ((f"{prefix}/empty", etag), (f"{prefix}/", list_etag)):
            assert receive_after_headers(port, method, path, If_None_Match=tag) == (304, b"")
    assert receive_after_headers(port, "OPTIONS", f"{prefix}/") == (204, b"")
    assert receive_after_headers(port, "DELETE", f"{prefix}/empty") == (204, b"")
    assert receive_after_headers(port, "HEAD", f"{prefix}/empty") == (410, b"")


def put_chunks(port, path, *chunks):
    """Return the status of a PUT of plain text, after which the client sends nothing more."""
    head = [f"PUT {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: text/plain"]
    head += ["Transfer-Encoding: chunked", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall("\r\n".join(head).encode() + b"".join(chunks))
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    return int(received.split()[1]) if received else 0  # Some servers only close the connection.


def require_whole_bodies(port, prefix):
    """Assert that a chunked body is read completely or refused, also by every other process."""
    path, whole = f"{prefix}/whole", {"uri": "x:w", "title": "", "description": "old", "tags": []}
    assert request(port, "PUT", path, whole)[0] == 201
    status = put_chunks(port, f"{path}/description", b"3\r\nnew\r\n", b"0\r\n\r\n")
    for _ in range(9):
        description = request(port, "GET", f"{path}/description", Accept="text/plain")[2].strip()
        assert (status, description) in [(200, b"new"), (411, b"old")]
    for broken in (b"3\r\nbad\r\n", b"Z\r\nbad\r\n"):
        assert put_chunks(port, f"{path}/description", broken) in (0, 400, 411)
        assert request(port, "GET", f"{path}/description")[2].strip() == description
    assert request(port, "DELETE", path)[0] == 204


# --- Servers ---

def test_the_readme_names_each_tested_server():
    servers = {"waitress-serve", "gunicorn", "gunicorn --preload", "uwsgi", "cheroot", "python"}
    assert set(COMMANDS) == servers


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_readmes_command_serves(run, command):
    port = free_port()
    name, *rest = shlex.split(command.replace("8080", str(port)))
    run(port, [program(name), *rest])
    require_service(port)


SITE = {
    "mysite.py": """
def site(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [b'the site']
""",
    "mysettings.py": "SECRET_KEY, ROOT_URLCONF, ALLOWED_HOSTS = 'x', 'myurls', ['*']\n",
    "myurls.py": """
from django.http import HttpResponse
from django.urls import path
urlpatterns = [path('', lambda request: HttpResponse('the site'))]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_program_mounts_the_service_below_a_prefix(run, site, name):
    pytest.importorskip(name.lower())
    (site / "wsgi.py").write_text(PROGRAMS[name])
    for module, text in SITE.items():
        (site / module).write_text(text)
    port = free_port()
    command = [program("waitress-serve"), "--listen", f"127.0.0.1:{port}", "wsgi:application"]
    run(port, command, DJANGO_SETTINGS_MODULE="mysettings")
    assert request(port, "GET", "/")[::2] == (200, b"the site")
    require_service(port, "/marks")
    assert request(port, "GET", "/marks")[0] == 200
    assert request(port, "GET", "/")[::2] == (200, b"the site")


def test_apache_serves_the_readmes_configuration(run, site):
    command = [program("apache2"), "-f", str(site / "apache.conf"), "-DFOREGROUND"]
    version = "{0.major}.{0.minor}".format(sys.version_info)
    if not (MODULES / "mod_wsgi.so").resolve().name.endswith(f"-{version}"):
        pytest.skip(f"needs mod_wsgi for Python {version}")
    # Apache refuses to serve as root, and its own user may not open the files of this test.
    if os.geteuid() == 0:
        right = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
        command = [program("setpriv"), "--reuid=www-data", "--clear-groups", *right, *command]
    (script,) = re.findall(r"^echo '(.*)' > /srv/bookmarks/app.wsgi$", PAGE, re.MULTILINE)
    (site / "app.wsgi").write_text(script.replace("/srv/bookmarks", str(site)) + "\n")
    port = free_port()
    packages = "/srv/bookmarks/.venv/lib/python3.11/site-packages"
    documented = APACHE.replace(packages, f"{sysconfig.get_path('purelib')}:{ROOT}")
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in MODULE_NAMES]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # The path of a socket is short.
        lines += [
            f"ServerRoot {site}", f"Listen 127.0.0.1:{port}", "ServerName localhost",
            f"PidFile {site}/pid", f"ErrorLog {site}/log", f"WSGISocketPrefix {folder}/s",
            "<Directory />", "Require all denied", "</Directory>",
            documented.replace("/srv/bookmarks", str(site)),
        ]  # fmt: skip
        (site / "apache.conf").write_text("\n".join(lines))
        run(port, command)
        until(lambda: request(port, "GET", "/marks/?limit=0")[0] == 200)
        require_service(port, "/marks")
        assert request(port, "GET", "/app.wsgi")[0] in (403, 404)
