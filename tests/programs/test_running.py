"""The real command: restart, log, shutdown, defects of waitress, forwarded headers, file modes."""

import fcntl
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException, HTTPResponse

import pytest

from formats.http.process import STOP_SECONDS
from storage.errors import Unavailable
from storage.store import Store
from tests.conftest import ROOT, locked, without_inotify_warning
from tests.programs.test_slow import fill
from tests.storage.clients import ask
from tests.test_hostile import connect

BEARER = {"Authorization": "Bearer secret"}


def test_a_restarted_service_has_the_same_bookmarks_and_deletions(serve):
    service = serve()
    deleted, kept = (ask(service.address, "POST", body={"uri": uri}).json for uri in ("x:a", "x:b"))
    assert ask(service.address, "DELETE", f"/{deleted['id']}").status == 204
    assert service.stop() == 0
    assert without_inotify_warning(service.log[1:]) == []  # There is no access log by default.
    service = serve()
    assert ask(service.address).json == [kept]
    assert ask(service.address, path=f"/{deleted['id']}").status == 410


# --- The access log ---

def test_the_access_log_has_a_line_for_each_request_and_no_secret(serve):
    service = serve("--access-log", BOOKMARKS_TOKEN="secret")
    ask(service.address)
    size = len(ask(service.address, **BEARER).body)
    ask(service.address, path="/%0aforged%1b%ff?q=secret", **BEARER)
    ask(service.address, "POST", body={"uri": "https://private.example/"}, **BEARER)
    service.stop()
    log = "".join(service.log)
    entries = re.findall(r" 127\.0\.0\.1 ((?:GET|POST) .*) \d+ \d+\.\d\n", log)
    assert entries == ["GET / 401", "GET / 200", r"GET /\nforged\x1b\xff 404", "POST / 201"]
    assert f"GET / 200 {size} " in log
    assert "secret" not in log and "private" not in log


# --- Shutdown ---

@pytest.fixture
def unlock(data):
    (data / "bookmarks").mkdir(parents=True)
    with locked(data / "bookmarks") as folder:
        yield lambda: fcntl.flock(folder, fcntl.LOCK_UN)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_requests_in_progress(serve, unlock, number):
    service = serve()
    with ThreadPoolExecutor() as pool:
        bodies = [{"uri": f"x:{n}"} for n in range(12)]  # More than the server has threads.
        sent = [pool.submit(ask, service.address, "POST", body=body) for body in bodies]
        time.sleep(0.5)
        service.process.send_signal(number)
        time.sleep(0.3)
        service.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert service.process.poll() is None
        unlock()
        assert [response.result().status for response in sent] == [201] * 12
    assert service.process.wait(timeout=60) == 0
    service.process.stderr.close()


def test_a_blocked_request_does_not_delay_the_end_beyond_5_seconds(serve, unlock):
    service = serve()
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(ask, service.address, "POST", body={"uri": "x:y"})
        time.sleep(0.3)
        assert service.stop(signal.SIGTERM) == 0
        assert isinstance(sent.exception(), (OSError, HTTPException))
    assert STOP_SECONDS < 5


@pytest.mark.parametrize(
    "pause, then, was_used", [(0, signal.SIGTERM, True), (0.002, signal.SIGINT, False)]
)
def test_several_signals_end_it_without_an_error(serve, pause, then, was_used):
    """A terminal and a process manager may both send a signal."""
    service = serve()
    if was_used:
        ask(service.address)
    for number in (signal.SIGINT, then, signal.SIGTERM):
        service.process.send_signal(number)
        time.sleep(pause)
    _, stderr = service.process.communicate(timeout=60)
    assert service.process.returncode == 0
    assert without_inotify_warning(stderr.splitlines()) == []


LOADING = """
import sys, time, bookmarks
bookmarks.Store.state = lambda store: time.sleep(60)
sys.exit(bookmarks.main(["--data", sys.argv[1], "--listen", "127.0.0.1:0"]))
"""


def test_a_signal_ends_it_while_it_reads_the_collection(data):
    command = [sys.executable, "-c", LOADING, str(data)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "http://" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_a_long_response_is_complete_after_a_signal(serve, data):
    fill(data, 200, 50_000)
    service = serve()
    with urllib.request.urlopen(service.address, timeout=60) as response:
        body = response.read(1000)
        service.process.send_signal(signal.SIGTERM)
        while block := response.read(1 << 20):
            time.sleep(0.02)
            body += block
    assert len(json.loads(body)) == 200
    assert service.process.wait(timeout=60) == 0
    service.process.stderr.close()


# --- Defects of waitress ---

def test_expect_100_without_a_body_is_answered_like_the_next_request(service):
    for more in ([], ["Content-Length: 0"]):
        with connect(service) as client:
            client.sendall(request("GET", "/none", "Expect: 100-continue", *more))
            assert read_status(client) == 404
            client.sendall(request("GET", "/"))
            assert read_status(client) == 200


def test_expect_100_with_a_body_gets_100_once_unless_it_is_over_the_limit(service):
    service.empty()
    body = b'{"uri": "https://example.com/"}'
    headers = ("Content-Type: application/json", "Expect: 100-continue")
    with connect(service) as client:
        client.sendall(request("POST", "/", *headers, f"Content-Length: {len(body)}"))
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert read_status(client) == 201
    with connect(service) as client:
        client.sendall(request("POST", "/", *headers, "Content-Length: 99999999999"))
        assert read_status(client) == 413
        assert client.recv(1) == b""


def request(method, path, *headers):
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", "")
    return "\r\n".join(lines).encode()


def read_status(client):
    with HTTPResponse(client) as response:
        response.begin()
        response.read()
        return response.status


# --- Forwarded headers ---

@pytest.mark.parametrize(
    "proxy, address",
    [("192.0.2.1", "127.0.0.1"), ("", "127.0.0.1"), ("127.0.0.1", "192.0.2.7")],
)
def test_the_logs_have_the_address_that_the_trusted_proxy_forwards(serve, proxy, address):
    # White space around the token is removed.
    options = ("--trusted-proxy", proxy) if proxy else ()
    service = serve("--access-log", *options, BOOKMARKS_TOKEN=" s3cret-0123456789\r\n")
    headers = {"X-Forwarded-For": "198.51.100.1, 192.0.2.7", "Authorization": "Bearer guess"}
    assert ask(service.address, **headers).status == 401
    assert ask(service.address, Authorization="Bearer s3cret-0123456789").status == 200
    service.stop()
    log = "".join(service.log)
    assert f" {address} GET / 401 " in log
    assert f" WARNING A login from {address} failed: wrong token.\n" in log
    assert "guess" not in log


@pytest.mark.parametrize("options, token, warning", [
    (("--listen", "0.0.0.0:0"), "é" * 15, "less than 16 characters"),
    (("--listen", "0.0.0.0:0"), "x" * 16, None),
    (("--base-url", "https://marks.example"), "x" * 15, "less than 16 characters"),
    ((), "x" * 15, None),
    (("--public-read",), None, "--public-read does nothing without a token"),
])  # fmt: skip
def test_a_short_or_missing_token_causes_a_warning(serve, options, token, warning):
    service = serve(*options, **{"BOOKMARKS_TOKEN": token} if token else {})
    service.stop()
    warnings = [line for line in without_inotify_warning(service.log) if "WARNING" in line]
    assert len(warnings) == (warning is not None)
    assert warning is None or warning in warnings[0]
    assert token is None or token not in "".join(service.log)


def test_an_invalid_forwarded_header_of_the_proxy_is_400(serve):
    service = serve("--trusted-proxy", "127.0.0.1")
    response = ask(service.address, X_Forwarded_Proto="javascript")
    assert response.status == 400 and b"X-Forwarded-Proto" in response.body


# --- Modes and symbolic links ---

@pytest.mark.parametrize("mode, is_warned", [(0o600, False), (0o640, True), (0o604, True)])
def test_a_token_file_may_have_several_tokens_and_must_be_private(serve, tmp_path, mode, is_warned):
    token = tmp_path / "token"
    token.write_bytes(b"\xef\xbb\xbf# The phone\r\nfirst token#1\r\n\r\n  #old\r\n second \r\n")
    token.chmod(mode)
    service = serve("--token-file", str(token))
    sent = {"first token#1": 200, "second": 200, "old": 401, "#old": 401, "# The phone": 401}
    for text, status in sent.items():
        assert ask(service.address, Authorization=f"Token {text}").status == status
    service.stop()
    assert ("chmod 600" in "".join(service.log)) == is_warned


@pytest.mark.parametrize("name", ["bookmarks", "tombstones"])
def test_a_folder_that_is_or_becomes_a_symbolic_link_is_refused(data, tmp_path, name):
    store = Store(data)
    store.state()
    elsewhere = (data / name).rename(tmp_path / "elsewhere")
    (data / name).symlink_to(elsewhere)
    for each in (store, Store(data)):
        with pytest.raises(Unavailable, match=f"{name} is a symbolic link"):
            each.state()
    assert list(elsewhere.iterdir()) == []
