"""The WSGI callable by PEP 3333, several applications at once, and unusable data folders."""

import gc
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
from webob import Request

from bookmarks import make_app
from tests.conftest import (
    ROOT,
    inotify_instances,
    require_program,
    without_inotify_warning,
    write_file,
)

JSON = "application/json"
URI = "https://new.example/"


def call(app, method, path, body=b"", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
        named.setdefault("Content-Type", JSON)
    request = Request.blank(path, method=method, body=body, headers=named)
    started = []
    chunks = validator(app)(request.environ, lambda *arguments: started.append(arguments))
    try:
        content = b"".join(chunks)
    finally:
        chunks.close()
    ((status, headers),) = started
    return int(status[:3]), dict(headers), content


def write_bookmark(data, id):
    fields = {"created": "2024-01-01T00:00:00Z", "title": "Ünïcode", "tags": ["a", "ü"]}
    write_file(data, "bookmarks", id, uri=f"https://{id}.example/", **fields)


@pytest.fixture
def folder(data):
    write_bookmark(data, "one")
    (data / "bookmarks" / "broken.json").write_text("{")
    write_file(data, "tombstones", "gone", deleted="2024-01-02T00:00:00Z")
    return data


READS = [
    *[f"/?limit=200&format={name}" for name in ("json", "xbel", "text", "csv", "html", "netscape")],
    *[f"/one?format={name}" for name in ("json", "xbel", "html")],
    "/?limit=2", "/one/title", "/feed?limit=2000", "/tags.json", "/openapi.json",
]  # fmt: skip


@pytest.mark.parametrize("accepted", ["identity", "gzip"])
def test_every_read_follows_pep_3333(folder, accepted):
    for number in range(120):
        write_bookmark(folder, f"b{number}")
    app, accept = make_app(folder), {"Accept_Encoding": accepted}
    page = call(app, "GET", "/?format=html")[2].decode()
    for path in [*READS, *re.findall(r'(?:href|src)="(/[a-z]+-[0-9a-f]+\.[a-z]+)"', page)]:
        plain = call(app, "GET", path)[2]
        for _ in range(3):  # A repeated request may be answered from the cache.
            status, headers, body = call(app, "GET", path, **accept)
            assert (status, path) == (200, path) and headers["ETag"]
            is_compressed = headers.get("Content-Encoding") == "gzip"
            assert not is_compressed or accepted == "gzip"
            assert (gzip.decompress(body) if is_compressed else body) == plain
            assert call(app, "HEAD", path, **accept) == (200, headers, b"")
        for method in ("GET", "HEAD"):
            status, _, body = call(app, method, path, If_None_Match=headers["ETag"], **accept)
            assert (status, body, path) == (304, b"", path)
        assert call(app, "OPTIONS", path)[::2] == (204, b"")


def test_every_change_and_error_follows_pep_3333(folder):
    app = make_app(folder)
    assert call(app, "POST", "/", {"uri": URI})[0] == 201
    assert call(app, "PUT", "/one/tags", ["x"], Accept=JSON)[0] == 200
    assert call(app, "PUT", "/one", b"x" * 1_100_000, Content_Type=JSON)[0] == 413
    assert call(app, "DELETE", "/one")[0] == 204
    for accept in ("*/*", "text/html"):
        for path, status in (("/none", 404), ("/gone", 410), ("/broken", 503), ("/?limit=x", 400)):
            assert call(app, "GET", path, Accept=accept)[0] == status
            assert call(app, "HEAD", path, Accept=accept)[::2] == (status, b"")
    assert call(make_app(folder, token="secret"), "GET", "/")[0] == 401
    shutil.rmtree(folder)
    for path in ("/", "/one", "/feed"):
        assert call(app, "GET", path)[0] == 503
    assert call(app, "POST", "/", {"uri": URI})[0] == 503


# --- Unusable data folders ---

def run_failing(*arguments, prefix=()):
    command = [*prefix, sys.executable, str(ROOT / "bookmarks.py"), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode != 0
    assert process.stdout == "" and "Traceback" not in process.stderr
    (line,) = without_inotify_warning(process.stderr.splitlines())
    return line


@pytest.fixture
def unwritable(tmp_path):
    """Return a read-only folder, and a command prefix that makes modes apply to root too."""
    folder = tmp_path / "unwritable"
    folder.mkdir()
    folder.chmod(0o555)
    if os.geteuid() != 0:
        return folder, ()
    require_program("setpriv")
    return folder, ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def test_the_command_fails_if_it_may_not_create_the_data_folder(unwritable):
    folder, prefix = unwritable
    for data in (folder, folder / "data"):
        line = run_failing("serve", "--data", str(data), prefix=prefix)
        assert line.startswith("bookmarks: ") and "Permission denied" in line
        assert str(data) in line
    assert list(folder.iterdir()) == []


READ_ONLY = """
import sys
import webtest
from bookmarks import make_app

app = webtest.TestApp(make_app(sys.argv[1]))
assert len(app.get("/", status=200).json) == 1
detail = app.post_json("/", {"uri": "https://b.example/"}, status=503).json["detail"]
assert "Permission denied" in detail, detail
"""


def test_a_folder_that_it_may_only_read_is_served_and_exported(unwritable, data, add):
    _, prefix = unwritable
    add()
    (data / "bookmarks").chmod(0o555)
    subprocess.run([*prefix, sys.executable, "-c", READ_ONLY, str(data)], cwd=ROOT, check=True)
    (data / "tombstones").rmdir()
    data.chmod(0o555)
    command = [*prefix, sys.executable, str(ROOT / "bookmarks.py"), "export", "--data", str(data)]
    process = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert len(json.loads(process.stdout)) == 1
    (data / "bookmarks").chmod(0o444)
    line = run_failing("export", "--data", str(data), prefix=prefix)
    assert "cannot be read: Permission denied" in line
    (data / "bookmarks").chmod(0o755)


def test_a_server_that_leaves_out_what_may_be_empty_is_served(data):
    app, started = make_app(data), []
    for missing in (("HTTP_HOST", "SERVER_NAME", "SERVER_PORT"), ("HTTP_HOST",), ("PATH_INFO",)):
        environ = {}
        setup_testing_defaults(environ)
        for name in missing:
            del environ[name]
        app(environ, lambda *arguments: started.append(arguments[0]))
    assert started == ["200 OK"] * 3


def test_a_closed_application_frees_its_inotify_instance_and_serves_again(data, inotify):
    gc.collect()  # Applications of other tests.
    before, app = inotify_instances(), make_app(data)
    _, _, made = call(app, "POST", "/", {"uri": URI})
    assert inotify_instances() == before + 1
    app.close()
    assert inotify_instances() == before
    write_bookmark(data, "by-hand")
    listed = json.loads(call(app, "GET", "/")[2])
    assert [each["id"] for each in listed] == [json.loads(made)["id"], "by-hand"]


def test_an_application_can_be_closed_while_it_serves_requests(data):
    application, has_closed, statuses = make_app(data), threading.Event(), set()

    def request_until_closed():
        while not has_closed.is_set():
            statuses.add(Request.blank("/?limit=1").get_response(application).status_int)

    threads = [threading.Thread(target=request_until_closed) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        time.sleep(0.005)  # So that requests open the watch again.
        application.close()
    has_closed.set()
    for thread in threads:
        thread.join()
    assert statuses == {200}
