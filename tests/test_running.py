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
from http.client import HTTPConnection, HTTPResponse, IncompleteRead

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


def test_nothing_follows_the_headers_of_head(serve, data):
    """Of a long list too, whose length is not known before it is written."""
    (data / "bookmarks").mkdir(parents=True)
    for n in range(1100):
        fields = {"id": f"b{n}", "uri": f"x:{n}", "created": "2024-01-01T00:00:00Z"}
        (data / "bookmarks" / f"b{n}.json").write_text(json.dumps(fields))
    host, _, port = serve().address.removeprefix("http://").partition(":")
    for path in ("/", "/?limit=1", "/b1", "/none"):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            request = f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            client.sendall(request.encode())
            answer = b"".join(iter(lambda: client.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 ") and answer.endswith(b"\r\n\r\n")
        assert answer.count(b"\r\n\r\n") == 1, path


def test_the_headers_are_the_same_whether_the_connection_stays_or_not(serve):
    service = serve()
    post(service.address, "https://example.com/")
    host, _, port = service.address.removeprefix("http://").partition(":")

    def lines(version, connection):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            request = f"GET /?limit=1 HTTP/{version}\r\nHost: localhost\r\n{connection}\r\n"
            client.sendall(request.encode())
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(65_536), b"")).decode()
        head, _, body = answer.partition("\r\n\r\n")
        first, *headers = head.split("\r\n")
        assert first == f"HTTP/{version} 200 OK" and json.loads(body) and "\r\nDate: " in head
        told = [header.partition(": ")[::2] for header in headers]
        return {name.lower(): value for name, value in told if name != "Date"}

    stays = lines("1.1", "")
    assert {"content-length", "etag", "content-security-policy"} <= stays.keys()
    assert lines("1.1", "Connection: keep-alive\r\n") == stays
    assert lines("1.1", "Connection: Close\r\n") == stays | {"connection": "close"}
    assert lines("1.0", "") == stays | {"connection": "close"}
    assert lines("1.0", "Connection: keep-alive\r\n") == stays | {"connection": "Keep-Alive"}


def test_a_short_answer_is_sent_at_once_with_its_headers(serve):
    host, _, port = serve().address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        for _ in range(20):
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = client.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"\r\n\r\n[]\n")


WRONG = """
import waitress
from formats.server import answer_as_here

def app(environ, start_response):
    path = environ["PATH_INFO"]
    headers = [("Content-Length", "3")]
    if path == "/two-lines":
        headers.append(("Link", "a\\nb: c"))
    if path == "/return":
        headers.append(("Link", "a\\rb: c"))
    if path == "/fails":
        headers.clear()
    start_response("200 OK", headers)
    return {"/short": [b"ab"], "/none": [], "/fails": failing()}.get(path, [b"abc"])

def failing():
    yield b""
    raise OverflowError

answer_as_here(waitress)
server = waitress.create_server(app, host="127.0.0.1", port=0)
print(server.effective_port, flush=True)
server.run()
"""


@pytest.fixture
def wrong():
    """A server over an application that errs."""
    command = [sys.executable, "-c", WRONG]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        yield process
        process.kill()


UNCOPIED = """
import http.client, threading, waitress
from formats.server import answer_as_here

def app(environ, start_response):
    body = bytes(int(environ["PATH_INFO"][1:]))
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

answer_as_here(waitress)
channels = {}
server = waitress.create_server(app, map=channels, host="127.0.0.1", port=0)
threading.Thread(target=server.run, daemon=True).start()
connection = http.client.HTTPConnection("127.0.0.1", server.effective_port, timeout=5)
for size in (1, 60_000, 200_000):
    connection.request("GET", f"/{size}")
    assert len(connection.getresponse().read()) == size
    channel, = [channel for channel in channels.values() if hasattr(channel, "outbufs")]
    print(size, [outbuf.buf is None for outbuf in channel.outbufs])
"""


def test_an_answer_of_the_usual_size_is_sent_without_being_copied():
    command = [sys.executable, "-c", UNCOPIED]
    told = subprocess.run(command, cwd=ROOT, check=True, timeout=30, capture_output=True, text=True)
    assert told.stdout.splitlines() == ["1 [True]", "60000 [True]", "200000 [False]"]


def test_an_answer_that_is_wrong_is_never_taken_for_a_right_one(wrong):
    connection = HTTPConnection("127.0.0.1", int(wrong.stdout.readline()), timeout=5)
    told = {}
    for path in ("/", "/two-lines", "/return", "/none", "/fails"):
        connection.request("GET", path)
        with connection.getresponse() as answer:
            told[path] = answer.status
            assert not {"Link", "b"} & set(answer.headers)
    connection.request("GET", "/short")
    with connection.getresponse() as answer, pytest.raises(IncompleteRead):
        answer.read()
    connection.close()
    wrong.terminate()
    log = wrong.stderr.read()
    assert told == dict.fromkeys(told, 500) | {"/": 200}
    assert log.count(b"ValueError: A header must be one line.") == 2
    assert log.count(b"ValueError: A body must be as long as its Content-Length says.") == 2
    assert log.count(b"OverflowError") == 1


@pytest.mark.parametrize("path", ["/", "/none"])
def test_a_connection_is_closed_when_that_is_asked_for_among_else(serve, path):
    connection = HTTPConnection(serve().address.removeprefix("http://"), timeout=10)
    connection.request("GET", path, headers={"Connection": "TE, Close", "TE": "trailers"})
    with connection.getresponse() as answer:
        assert answer.getheader("Connection") == "close"
        answer.read()
    connection.close()


def test_head_has_no_body_when_the_server_itself_refuses(serve):
    host, _, port = serve().address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        length = 10**9
        request = f"HEAD / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        client.sendall(request.encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 413 ") and answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: " in answer


def test_who_expects_to_be_asked_for_the_body_is_asked_once(serve):
    address = serve().address.removeprefix("http://")
    body = b'{"uri": "https://example.com/"}'
    head = f"POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    empty = head.replace(f"Content-Length: {len(body)}\r\n", "Content-Length: 0\r\n")
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(empty.encode())
        answer = HTTPResponse(client)
        answer.begin()
        assert answer.status == 400 and answer.read()
        client.sendall(head.encode())
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        answer = HTTPResponse(client)
        answer.begin()
        assert answer.status == 201


def test_the_host_of_an_absolute_address_is_the_one_that_counts(serve):
    address = serve().address
    connection = HTTPConnection(address.removeprefix("http://"), timeout=10)
    connection.request("GET", f"{address}/openapi.json", headers={"Host": "evil.example"})
    with connection.getresponse() as answer:
        assert answer.status == 200
        assert json.loads(answer.read())["servers"] == [{"url": address}]
    connection.close()


def test_the_connection_stays_after_an_answer_without_a_body(serve):
    service = serve()
    _, headers, body = post(service.address, "https://example.com/")
    path, known = f"/{json.loads(body)['id']}", {"If-None-Match": headers["ETag"]}
    connection = HTTPConnection(service.address.removeprefix("http://"), timeout=10)
    connection.connect()
    connected = connection.sock
    asked = [("GET", path, known, 304), ("OPTIONS", "/", {}, 204), ("GET", path, {}, 200)]
    for method, path, headers, status in [*asked * 2, ("DELETE", path, {}, 204), asked[1]]:
        connection.request(method, path, headers=headers)
        with connection.getresponse() as answer:
            assert (answer.status, answer.getheader("Connection")) == (status, None)
            assert bool(answer.read()) == (status == 200)
        assert connection.sock is connected
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


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_a_proxy_says_wrongly_is_a_problem(serve, method):
    service = serve("--trusted-proxy", "127.0.0.1")
    status, headers, body = ask(
        service.address, "/", {"X-Forwarded-Proto": "javascript"}, method=method
    )
    assert (status, headers["Content-Type"]) == (400, "application/problem+json")
    assert headers["X-Content-Type-Options"] == "nosniff"
    if method == "GET":
        assert "X-Forwarded-Proto" in json.loads(body)["detail"]


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
