"""The running service: its log, its stop, its proxy, and what it says of files that are at risk."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.client import HTTPConnection, HTTPResponse

import pytest

from storage.errors import Unavailable
from storage.store import Store
from tests.conftest import ROOT


def ask(address, path="/", headers=(), **options):
    """The status, headers and body of an answer."""
    request = urllib.request.Request(address + path, headers=dict(headers), **options)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def post(address, uri, **headers):
    body = json.dumps({"uri": uri}).encode()
    return ask(address, data=body, headers={"Content-Type": "application/json", **headers})


# --- The log ---


def test_a_line_for_each_request_if_asked_for(serve):
    service = serve("--access-log", BOOKMARKS_TOKEN="secret")
    bearer = {"Authorization": "Bearer secret"}
    ask(service.address)
    size = len(ask(service.address, headers=bearer)[2])
    ask(service.address, "/%0aforged%1b%ff?q=secret", headers=bearer)
    body = b'{"uri": "https://private.example/"}'
    ask(service.address, data=body, headers=bearer | {"Content-Type": "application/json"})
    service.stop()
    lines = [line for line in service.log if re.search(" (GET|POST) ", line)]
    # One that is told after it was sent may be told after the next one.
    told = sorted(re.search(r"((?:GET|POST) .*) \d+\.\d\n$", line)[1] for line in lines)
    assert [line.rsplit(" ", 1)[0] for line in told] == [
        "GET / 200", "GET / 401", r"GET /\nforged\x1b\xff 404", "POST / 201",
    ]  # fmt: skip
    assert told[0] == f"GET / 200 {size}"
    whole = "".join(service.log)
    assert "secret" not in whole and "private" not in whole


def test_no_line_unless_asked_for(serve):
    service = serve()
    ask(service.address)
    service.stop()
    assert len(service.log) == 1


def test_a_body_that_breaks_off_is_logged_with_what_was_sent(caplog):
    from formats.accesslog import AccessLog

    def app(environ, start_response):
        start_response("200 OK", [])
        yield b"four"
        yield b"more"

    caplog.set_level("INFO", "bookmarks.access")
    body = AccessLog(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/x"}, lambda *_: None)
    next(iter(body))
    body.close()
    (line,) = caplog.messages
    assert line.startswith("GET /x 200 4 ")


# --- The stop ---


@pytest.fixture
def locked(data):
    """Holds up every writer of the folder until it is called."""
    (data / "bookmarks").mkdir(parents=True)
    folder = os.open(data / "bookmarks", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, folder)
        yield lambda: fcntl.flock(folder, fcntl.LOCK_UN)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_flight_is_answered_and_then_it_ends(serve, data, locked, how):
    service = serve()
    answers = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(post(service.address, f"x:{n}")[0]))
        for n in range(12)  # more than the server has threads
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    begun = time.monotonic()
    service.process.send_signal(how)
    time.sleep(0.3)
    service.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert service.process.poll() is None
    locked()
    assert service.process.wait(timeout=10) == 0
    assert time.monotonic() - begun < 5
    for thread in threads:
        thread.join()
    assert answers == [201] * 12
    service.process.stderr.close()


def test_what_does_not_end_does_not_keep_it_from_ending(serve, data, locked):
    service = serve()
    thread = threading.Thread(target=lambda: pytest.raises(OSError, post, service.address, "x:y"))
    thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    assert service.stop(signal.SIGTERM) == 0
    assert time.monotonic() - begun < 5
    thread.join()


@pytest.mark.parametrize("pause", [0, 0.002, 0.01])
@pytest.mark.parametrize("then", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("loaded", [True, False])
def test_several_signals_end_it_too(serve, data, pause, then, loaded):
    """A terminal and a process manager may both send one."""
    service = serve()
    if loaded:
        urllib.request.urlopen(service.address, timeout=10).close()
    for number in (signal.SIGINT, then, signal.SIGTERM):
        service.process.send_signal(number)
        time.sleep(pause)
    _, told = service.process.communicate(timeout=10)
    assert (service.process.returncode, told) == (0, "")


LOADING = """
import sys, time, bookmarks
bookmarks.Store.state = lambda store: time.sleep(60)
sys.exit(bookmarks.main(["--data", sys.argv[1], "--listen", "127.0.0.1:0"]))
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_collection_is_loaded_ends_it_too(data, how):
    command = [sys.executable, "-c", LOADING, str(data)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert "http://" in process.stderr.readline()
        process.send_signal(how)
        assert process.wait(timeout=5) == 0
        assert process.stderr.read() == ""


def test_a_long_list_is_sent_to_its_end(serve, data):
    (data / "bookmarks").mkdir(parents=True)
    for n in range(5000):
        fields = {"id": f"b{n}", "uri": f"x:{n}", "created": "2024-01-01T00:00:00Z"}
        text = json.dumps(fields | {"description": "x" * 2000})
        (data / "bookmarks" / f"b{n}.json").write_text(text)
    service = serve()
    with urllib.request.urlopen(service.address, timeout=10) as answer:
        beginning = answer.read(1000)
        service.process.send_signal(signal.SIGTERM)
        whole = beginning
        while block := answer.read(1 << 20):
            time.sleep(0.02)
            whole += block
    assert len(json.loads(whole)) == 5000
    assert service.process.wait(timeout=10) == 0
    service.process.stderr.close()


# --- Defects of waitress ---


@pytest.mark.parametrize("body", ["Content-Length: 0", ""])
def test_expecting_100_without_a_body_is_answered_and_so_is_the_next_request(serve, body):
    with connected(serve()) as client:
        client.sendall(request("GET", "/none", "Expect: 100-continue", *filter(None, [body])))
        assert answered(client) == 404
        client.sendall(request("GET", "/"))
        assert answered(client) == 200


def test_expecting_100_with_a_body_over_the_limit_is_refused(serve):
    with connected(serve()) as client:
        headers = ("Content-Length: 99999999999", "Expect: 100-continue")
        client.sendall(request("POST", "/", *headers))
        assert answered(client) == 413
        assert client.recv(1) == b""


def test_expecting_100_with_a_body_is_told_to_continue_once(serve):
    body = b'{"uri": "https://example.com/"}'
    headers = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    with connected(serve()) as client:
        client.sendall(request("POST", "/", *headers, "Expect: 100-continue"))
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert answered(client) == 201


def connected(service):
    host, _, port = service.address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def request(method, path, *headers):
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", "")
    return "\r\n".join(lines).encode()


def answered(client):
    """Read the next response and return its status."""
    with HTTPResponse(client) as response:
        response.begin()
        response.read()
        return response.status


def test_the_host_of_an_absolute_address_is_the_one_that_counts(serve):
    address = serve().address
    connection = HTTPConnection(address.removeprefix("http://"), timeout=10)
    connection.request("GET", f"{address}/openapi.json", headers={"Host": "evil.example"})
    with connection.getresponse() as answer:
        assert answer.status == 200
        assert json.loads(answer.read())["servers"] == [{"url": address}]
    connection.close()


# --- The proxy ---

FORGED = {
    "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4",
    "X-Forwarded-Port": "1", "Forwarded": "host=evil.example;proto=https",
}  # fmt: skip


@pytest.mark.parametrize("proxy", [(), ("--trusted-proxy", "192.0.2.1")])
def test_what_an_untrusted_peer_says_changes_nothing(serve, proxy):
    service = serve(*proxy)
    status, headers, _ = ask(service.address, "/?limit=1", FORGED)
    assert status == 200
    assert "evil" not in headers["Link"] and service.address in headers["Link"]


def test_what_a_proxy_says_wrongly_is_refused(serve):
    service = serve("--trusted-proxy", "127.0.0.1")
    status, _, body = ask(service.address, "/", {"X-Forwarded-Proto": "javascript"})
    assert status == 400 and b"X-Forwarded-Proto" in body


# --- What is at risk ---


@pytest.mark.parametrize("mode, warned", [(0o600, False), (0o400, False), (0o644, True)])
def test_a_token_file_that_others_can_read_is_warned_of(serve, tmp_path, mode, warned):
    token = tmp_path / "token"
    token.write_text("secret\n")
    token.chmod(mode)
    service = serve("--token-file", str(token))
    assert ask(service.address, headers={"Authorization": "Bearer secret"})[0] == 200
    service.stop()
    assert ("chmod 600" in "".join(service.log)) == warned


def test_files_have_the_rights_that_the_umask_leaves(tmp_path):
    import sys

    code = (
        "import os, sys, webtest; os.umask(0o027); from bookmarks import make_app; "
        "webtest.TestApp(make_app(sys.argv[1])).post_json('/', {'uri': 'https://example.com/'})"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "data")], cwd=ROOT, check=True)
    (file,) = (tmp_path / "data" / "bookmarks").iterdir()
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.parent.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["bookmarks", "tombstones"])
def test_a_folder_that_is_a_link_is_not_followed(data, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    data.mkdir()
    (data / name).symlink_to(elsewhere)
    with pytest.raises(Unavailable, match=f"{name} is a symbolic link"):
        Store(data).state()
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_becomes_a_link_is_not_followed(data, tmp_path):
    store = Store(data)
    store.state()
    (data / "bookmarks").rename(tmp_path / "aside")
    (data / "bookmarks").symlink_to(tmp_path / "aside")
    with pytest.raises(Unavailable, match="symbolic link"):
        store.state()
