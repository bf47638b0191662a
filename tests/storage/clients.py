"""Start real servers, send requests to them, and record which writes they acknowledged."""

import gc
import http.client
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from bookmarks import main
from storage.query import Query
from tests.conftest import require_program

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "bookmarks.py")]


# --- A store without a service ---

def put_bookmark(store, bookmark, before=None):
    with store.transaction() as folder:
        return folder.put(bookmark, before)


def delete_bookmark(store, entry):
    with store.transaction() as folder:
        folder.delete(entry)


def bookmarks_of(store, query=Query()):
    return [entry.bookmark for entry in store.select(query).entries]


def raise_error(number):
    return failing_from(1, None, number)


def failing_from(first, call, number):
    calls = itertools.count(1)

    def fail_or_call(*arguments, **options):
        if next(calls) >= first:
            raise OSError(number, os.strerror(number))
        return call(*arguments, **options)

    return fail_or_call


ABSENT, DELETED = "", "deleted"


# --- One request ---

class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def ask(address: str, method: str = "GET", path: str = "/", body=None, **headers: str) -> Response:
    """Send one request on a new connection; encode a body that is not bytes as JSON."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=180)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        fields.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read())
    finally:
        connection.close()


def ask_within(seconds: float, *request, **options) -> Response:
    start = time.monotonic()
    response = ask(*request, **options)
    assert time.monotonic() - start < seconds, request
    return response


def put_body(uri: str, title: str = "", description: str = "", tags: Sequence[str] = ()):
    return {"uri": uri, "title": title, "description": description, "tags": list(tags)}


def put(address: str, id: str, title: str = "", **fields) -> Response:
    return ask(address, "PUT", f"/{id}", put_body(uri_of(id), title, **fields))


def put_back(address: str, *ids: str) -> Response:
    return _send_ids(address, "/-/restore", ids)


def erase(address: str, *ids: str) -> Response:
    return _send_ids(address, "/-/trash", ids)


def _send_ids(address: str, path: str, ids: Sequence[str]) -> Response:
    form = "&".join(f"selected={id}" for id in ids).encode()
    return ask(address, "POST", path, form, Content_Type="application/x-www-form-urlencoded")


def uri_of(id: str) -> str:
    return f"https://{id}.example/"


def titles(address: str, path: str = "/") -> dict[str, str]:
    response = ask(address, path=path)
    assert response.status == 200, response
    return {bookmark["id"]: bookmark["title"] for bookmark in response.json}


def run_together(calls: Sequence[Callable]) -> list:
    barrier = threading.Barrier(len(calls))

    def run(call: Callable):
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


# --- Servers ---

class Server:
    def __init__(
        self, command: Sequence[str], log: Path, cwd: Path = ROOT, **environment: str
    ) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stderr=stderr, cwd=cwd, env={**os.environ, **environment}
            )
        try:
            self.address = self._address()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def _address(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            if match := re.search(r"http://[\d.]+:\d+(?=/| \()", self.log):
                return match[0]
            time.sleep(0.005)
        raise AssertionError("the server did not start: " + self.log)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        return self.process.wait(timeout=60)


def service_of(data: Path) -> list[str]:
    return [*COMMAND, "serve", "--data", str(data), "--listen", "127.0.0.1:0"]


def gunicorn_of(data: Path, *options: str, workers: int = 3) -> list[str]:
    app = f"bookmarks:make_app({str(data)!r})"
    gunicorn = [sys.executable, "-m", "gunicorn", "--no-control-socket", "--bind", "127.0.0.1:0"]
    return [*gunicorn, "--workers", str(workers), *options, app]


def check(data: Path, *options: str):
    """Run `bookmarks check` on the folder; return its exit status and the lines of problems."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = main(["check", "--data", str(data), *options])
    assert errors.getvalue() == ""
    good = f"{data}: the folder is good"
    lines = [line for line in output.getvalue().splitlines() if not line.startswith("kept: ")]
    return status, [line for line in lines if line != good]


def repair(data: Path):
    status, lines = check(data, "--repair")
    return status, [line for line in lines if not line.endswith(": removed")]


def temporary_files(data: Path) -> list[Path]:
    return list(data.glob("*/.*.tmp"))


# --- Faults ---

@contextmanager
def faults(process: subprocess.Popen, *options: str) -> Iterator[None]:
    """Make system calls of a running process fail during the block, by options of strace."""
    require_program("strace")
    command = ["strace", "-f", "-p", str(process.pid), "-o", "/dev/null", *options]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        if "attached" not in (line := strace.stderr.readline()):
            pytest.skip("strace cannot attach: " + line)
        yield
    finally:
        if process.poll() is None:  # SIGINT may keep strace from noticing that its tracee ended.
            strace.send_signal(signal.SIGINT)
        strace.wait(timeout=60)
        strace.stderr.close()


# --- Clients that record acknowledged writes ---

class Ledger:
    """The titles that one client sent for each of its bookmarks, and which were acknowledged.

    `sent` has the titles by id, in order: ABSENT first, DELETED if the bookmark was deleted.
    `acknowledged` has the index of the last acknowledged title.
    """

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}
        self.acknowledged: dict[str, int] = {}

    def send(self, id: str, title: str) -> None:
        self.sent.setdefault(id, [ABSENT]).append(title)

    def acknowledge(self, id: str) -> None:
        self.acknowledged[id] = len(self.sent[id]) - 1

    def alive(self) -> list[str]:
        return [id for id, sent in self.sent.items() if sent[-1] not in (DELETED, ABSENT)]


class Writer(threading.Thread):
    """A client that creates, updates and deletes its own bookmarks one after the other.

    It runs until `stop` is called or the service has ended.
    """

    def __init__(self, name: str, ledger: Ledger, address: str) -> None:
        super().__init__(name=name)
        self.ledger = ledger
        self.address = address
        self.stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self._step(len(self.ledger.sent))
        except (OSError, http.client.HTTPException):
            pass  # The service has ended.
        except BaseException as error:
            self.failure = error

    def _step(self, number: int) -> None:
        """Create one bookmark, update one and, in every second step, delete one."""
        created = f"{self.name}-{number}"
        self._send(created, f"{created}, first", 201)
        alive = self.ledger.alive()
        changed = alive[number % len(alive)]
        self._send(changed, f"{changed}, changed with {created}", 200)
        if number % 2:
            self._send(alive[number // 2 % len(alive)], DELETED, 204)

    def _send(self, id: str, title: str, expected: int) -> None:
        self.ledger.send(id, title)
        if title == DELETED:
            response = ask(self.address, "DELETE", f"/{id}")
        else:
            response = put(self.address, id, title)
        if response.status >= 500:
            raise ConnectionError("the disk has failed")
        assert response.status == expected, (id, title, response)
        self.ledger.acknowledge(id)

    def stop(self) -> None:
        self.stopping.set()
        self.join(timeout=60)
        if self.failure:
            raise self.failure


def start_writers(address: str, ledgers: Sequence[Ledger]) -> list[Writer]:
    writers = [Writer(f"w{n}", ledger, address) for n, ledger in enumerate(ledgers)]
    for writer in writers:
        writer.start()
    return writers


def require_kept(address: str, ledger: Ledger, promised=None, lost=()) -> dict[str, str]:
    """Require of each bookmark its last acknowledged title or a later one; return the titles.

    `promised` replaces `ledger.acknowledged` by the state of an earlier moment. A bookmark whose
    last title is in `lost` may be absent.
    """
    stored = {}
    listed = titles(address)
    for id, sent in ledger.sent.items():
        stored[id] = listed.get(id)
        if stored[id] is None:
            stored[id] = {410: DELETED, 404: ABSENT}[ask(address, path=f"/{id}").status]
        floor = (ledger.acknowledged if promised is None else promised).get(id, 0)
        if stored[id] == ABSENT and floor < len(sent) - 1 and sent[-1] in lost:
            continue
        assert stored[id] in sent[floor:], (id, "is", stored[id], "not", sent[floor:])
    return stored


def require_all_kept(address: str, ledgers: Sequence[Ledger]) -> None:
    """Require every acknowledged write; take the stored titles as acknowledged from now on."""
    for ledger in ledgers:
        for id, title in require_kept(address, ledger).items():
            ledger.sent[id] = [title]
            ledger.acknowledged[id] = 0


def require_whole(data: Path) -> None:
    for path in data.glob("*/[!.]*"):
        assert json.loads(path.read_bytes())["id"] == path.stem


def count_open_files() -> int:
    """Return the number of open file descriptors of this process; 0 where there is no /proc."""
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # Garbage of earlier tests may hold open files.
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


# --- Files that cannot be used ---

def require_unreadable(address: str, id: str) -> None:
    new = {"title": "New"}
    requests = [("PUT", "", put_body(uri_of(id), "New")), ("POST", "", new), ("PATCH", "", new)]
    requests += [(method, "", None) for method in ("GET", "HEAD", "OPTIONS", "DELETE")]
    requests += [("GET", "/title", None), ("PUT", "/title", b"New")]
    requests += [("GET", "?format=html", None), ("GET", "?format=xbel", None)]
    for method, rest, body in requests:
        response = ask(address, method, f"/{id}{rest}", body)
        assert response.status == 503, (method, rest, response)
        assert method == "HEAD" or b"bookmarks check" in response.body
        assert "Retry-After" in response.headers


def require_others_usable(address: str, **unreadable: str) -> None:
    """List, update and delete the bookmarks a and b, the only readable ones; create c.

    Lists also have the titles of the `unreadable` bookmarks, which were read before.
    """
    assert titles(address) == {"a": "a", "b": "b"} | unreadable
    assert put(address, "a", "New").status == 200
    assert put(address, "c", "c").status == 201
    assert ask(address, "DELETE", "/b").status == 204
    response = ask(address, "POST", "/-/import", [{"uri": uri_of("c"), "tags": ["imported"]}])
    assert (response.status, response.json["updated"]) == (200, 1), response
    assert titles(address) == {"a": "New", "c": "c"} | unreadable
    assert ask(address, path="/feed").status == 200
