"""The README's ways to embed the service, each with the real server, all held to the same."""

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
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.conftest import ROOT, until

README = (ROOT / "README.md").read_text()
SECTION = re.split(r"^##+ ", README.partition("\n### Embedding\n")[2], flags=re.MULTILINE)[0]
LONG = 1200  # More than are sent in one piece.
MODULES = Path("/usr/lib/apache2/modules")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)


def named(command):
    """A command's name, and what it does in another way than the first of that name."""
    words = shlex.split(command)
    return " ".join([words[0], *["--preload"] * ("--preload" in words)])


COMMANDS = {named(command): command for block in blocks("bash") for command in block.splitlines()}
(APACHE,) = blocks("apache")
PROGRAMS = dict(zip(("Werkzeug", "WebOb", "Django"), blocks("python"), strict=True))


# --- Starting what the README says ---


@pytest.fixture
def site(tmp_path):
    """A folder with a long collection in its folder `data`."""
    folder = tmp_path / "data" / "bookmarks"
    folder.mkdir(parents=True)
    for number in range(LONG):
        fields = {"id": f"b{number}", "uri": f"https://example.com/{number}"}
        bookmark = fields | {"created": "2024-01-01T00:00:00Z", "description": "x" * 500}
        (folder / f"b{number}.json").write_text(json.dumps(bookmark))
    return tmp_path


@pytest.fixture
def run(site):
    """Runs a server by its command until the test ends; gives the port that it listens on."""
    with contextlib.ExitStack() as stack:
        yield lambda *given, **more: stack.enter_context(running(site, *given, **more))


@contextlib.contextmanager
def running(site, port, command, **environment):
    log = site / "log"
    path = os.pathsep.join([str(site), str(ROOT)])
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=site,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        until(lambda: process.poll() is not None or is_open(port), 20)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def program(name):
    """The program's path, beside this Python or anywhere."""
    if name == "python":
        return sys.executable
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    return found or pytest.skip(f"needs {name}")


# --- What holds everywhere ---


def ask(port, method, path, body=None, **headers):
    """The status, headers and body of an answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        named.setdefault("Content-Type", "application/json")
    with contextlib.closing(connection):
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def sent_after_the_headers(port, method, path, **headers):
    """The status and every byte that follows the headers, until the server hangs up.

    But for the end of a chunked body, which waitress sends even if there is no body to end.
    """
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"\r\nTransfer-Encoding: chunked" in head:
        rest = rest.removesuffix(b"0\r\n\r\n")
    return int(head.split()[1]), rest


def require_service(port, prefix=""):
    require_lists(port, prefix)
    require_changes(port, prefix)
    require_empty_bodies(port, prefix)
    require_whole_bodies(port, prefix)
    require_every_process_sees(port, prefix)


def require_lists(port, prefix):
    base = f"http://127.0.0.1:{port}{prefix}"
    status, headers, body = ask(port, "GET", f"{prefix}/")
    assert status == 200 and headers["X-Total-Count"] == str(LONG)
    assert {bookmark["id"] for bookmark in json.loads(body)} == {f"b{n}" for n in range(LONG)}
    _, headers, body = ask(port, "GET", f"{prefix}/?limit=2&offset=4")
    links = dict(re.findall(r'<([^>]*)>; rel="(\w+)"', headers["Link"]))
    assert set(links.values()) == {"first", "prev", "next", "last"}
    assert all(link.startswith(f"{base}/?limit=2&offset=") for link in links)
    (following,) = [link for link, relation in links.items() if relation == "next"]
    assert len(json.loads(ask(port, "GET", following.partition(str(port))[2])[2])) == 2
    page = ask(port, "GET", f"{prefix}/", Accept="text/html")[2].decode()
    (style,) = re.findall(r'<link rel="stylesheet" href="([^"]*)"', page)
    assert style.startswith(f"{prefix}/") and ask(port, "GET", style)[0] == 200
    feed = ask(port, "GET", f"{prefix}/feed")[2].decode()
    assert f'href="{base}/feed' in feed


def require_changes(port, prefix):
    base = f"http://127.0.0.1:{port}{prefix}"
    status, headers, created = ask(port, "POST", f"{prefix}/", {"uri": "x:ü", "tags": ["ü"]})
    assert status == 201 and headers["Location"].startswith(base + "/")
    path = urllib.parse.urlsplit(headers["Location"]).path
    status, headers, body = ask(port, "GET", path)
    assert (status, body) == (200, created) and json.loads(body)["tags"] == ["ü"]
    found = json.loads(ask(port, "GET", f"{prefix}/?tag=%C3%9C")[2])
    assert [bookmark["uri"] for bookmark in found] == ["x:ü"]
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    status, headers, _ = ask(port, "POST", f"{prefix}/", b"uri=x:form", **form)
    assert status == 303 and headers["Location"].startswith(base + "/")
    large = json.loads(created) | {"title": "New", "description": "ü" * 60_000}
    etag = ask(port, "GET", path)[1]["ETag"]
    status, _, body = ask(port, "PUT", path, large, If_Match=etag)
    assert status == 200 and json.loads(body)["description"] == large["description"]
    assert ask(port, "PUT", path, large, If_Match=etag)[0] == 412
    assert ask(port, "DELETE", path)[::2] == (204, b"")
    status, _, body = ask(port, "GET", path)
    assert status == 410 and json.loads(body)["status"] == 410
    assert ask(port, "GET", f"{prefix}/never")[0] == 404


def require_empty_bodies(port, prefix):
    whole = {"uri": "x:empty", "title": "", "description": "", "tags": []}
    status, headers, _ = ask(port, "PUT", f"{prefix}/empty", whole)
    assert status == 201 and headers["Location"].endswith(f"{prefix}/empty")
    etag = ask(port, "GET", f"{prefix}/empty")[1]["ETag"]
    every = ask(port, "GET", f"{prefix}/")[1]["ETag"]
    assert sent_after_the_headers(port, "HEAD", f"{prefix}/") == (200, b"")
    assert sent_after_the_headers(port, "HEAD", f"{prefix}/never") == (404, b"")
    for method in ("GET", "HEAD"):
        for path, tag in ((f"{prefix}/empty", etag), (f"{prefix}/", every)):
            assert sent_after_the_headers(port, method, path, If_None_Match=tag) == (304, b"")
    assert sent_after_the_headers(port, "OPTIONS", f"{prefix}/") == (204, b"")
    assert sent_after_the_headers(port, "DELETE", f"{prefix}/empty") == (204, b"")
    assert sent_after_the_headers(port, "HEAD", f"{prefix}/empty") == (410, b"")


def chunked(port, path, *chunks):
    """The status of a PUT of plain text in these chunks, after which the client falls silent."""
    head = [f"PUT {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: text/plain"]
    head += ["Transfer-Encoding: chunked", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall("\r\n".join(head).encode() + b"".join(chunks))
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    return int(answer.split()[1]) if answer else 0  # Some only hang up.


def require_whole_bodies(port, prefix):
    """A body that comes in chunks is taken as it is or not at all, never for an empty one."""
    path, whole = f"{prefix}/whole", {"uri": "x:w", "title": "", "description": "old", "tags": []}
    assert ask(port, "PUT", path, whole)[0] == 201
    status = chunked(port, f"{path}/description", b"3\r\nnew\r\n", b"0\r\n\r\n")
    description = ask(port, "GET", f"{path}/description", Accept="text/plain")[2].strip()
    assert (status, description) in [(200, b"new"), (411, b"old")]
    for broken in (b"3\r\nbad\r\n", b"Z\r\nbad\r\n"):
        assert chunked(port, f"{path}/description", broken) in (0, 400, 411)
        assert ask(port, "GET", f"{path}/description")[2].strip() == description
    assert ask(port, "DELETE", path)[0] == 204


def require_every_process_sees(port, prefix):
    """Whichever process answers, it knows what another one has written."""
    whole = {"uri": "x:seen", "description": "", "tags": []}
    for number in range(12):
        answer = ask(port, "PUT", f"{prefix}/seen", whole | {"title": f"{number}"})
        assert answer[0] == (200 if number else 201)
        for _ in range(3):
            title = ask(port, "GET", f"{prefix}/seen/title", Accept="text/plain")[2]
            assert title.decode().strip() == f"{number}"


# --- Each of them ---


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_readmes_command_serves(run, command):
    port = free_port()
    name, *rest = shlex.split(command.replace("8080", str(port)))
    run(port, [program(name), *rest])
    require_service(port)


def test_each_server_is_named():
    servers = {"waitress-serve", "gunicorn", "gunicorn --preload", "uwsgi", "cheroot", "python"}
    assert set(COMMANDS) == servers


@pytest.mark.parametrize("name", PROGRAMS)
def test_below_a_prefix_of_another_program(run, site, name):
    pytest.importorskip(name.lower())
    (site / "wsgi.py").write_text(PROGRAMS[name])
    (site / "mysite.py").write_text(
        "def site(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [b'the site']\n"
    )
    (site / "mysettings.py").write_text(
        "SECRET_KEY, ROOT_URLCONF, ALLOWED_HOSTS = 'x', 'myurls', ['*']\n"
    )
    (site / "myurls.py").write_text(
        "from django.http import HttpResponse\nfrom django.urls import path\n"
        "urlpatterns = [path('', lambda request: HttpResponse('the site'))]\n"
    )
    port = free_port()
    command = [program("waitress-serve"), "--listen", f"127.0.0.1:{port}", "wsgi:application"]
    run(port, command, DJANGO_SETTINGS_MODULE="mysettings")
    assert ask(port, "GET", "/")[::2] == (200, b"the site")
    require_service(port, "/marks")
    assert ask(port, "GET", "/marks")[0] == 200
    assert ask(port, "GET", "/")[::2] == (200, b"the site")


@pytest.fixture
def short():
    """A folder whose path is short enough for a socket's name."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield folder


@pytest.fixture
def apache(site, short):
    """The command that runs Apache with the README's configuration, for a port."""
    command = [program("apache2"), "-f", str(site / "apache.conf"), "-DFOREGROUND"]
    version = "{0.major}.{0.minor}".format(sys.version_info)
    if not (MODULES / "mod_wsgi.so").resolve().name.endswith(f"-{version}"):
        pytest.skip(f"needs mod_wsgi for Python {version}")
    # Apache doesn't serve as root; another user may then touch root's files here all the same.
    if os.geteuid() == 0:
        right = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
        command = [program("setpriv"), "--reuid=www-data", "--clear-groups", *right, *command]
    (script,) = re.findall(r"`(from bookmarks import make_app; application = [^`]*)`", SECTION)
    (site / "app.wsgi").write_text(script.replace("/srv/bookmarks", str(site)) + "\n")

    def configured(port):
        said = APACHE.replace("/srv/bookmarks/.venv/lib/python3.11/site-packages", python_path())
        modules = ("mpm_event", "authz_core", "wsgi")
        lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules]
        lines += [f"ServerRoot {site}", f"Listen 127.0.0.1:{port}", "ServerName localhost"]
        lines += [f"PidFile {site}/pid", f"ErrorLog {site}/log", f"WSGISocketPrefix {short}/s"]
        lines += ["<Directory />", "Require all denied", "</Directory>"]
        lines += [said.replace("/srv/bookmarks", str(site))]
        (site / "apache.conf").write_text("\n".join(lines))
        return command

    return configured


def python_path():
    """Where this Python has the packages, and the service itself."""
    return f"{sysconfig.get_path('purelib')}:{ROOT}"


def test_apache_serves_it(run, apache):
    port = free_port()
    run(port, apache(port))
    until(lambda: ask(port, "GET", "/marks/?limit=0")[0] == 200)
    require_service(port, "/marks")
    assert ask(port, "GET", "/app.wsgi")[0] in (403, 404)
