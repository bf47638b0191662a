"""Real servers on ports of their own, their clients, and clients that remember every promise."""

import gc
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "bookmarks.py")]

ABSENT, DELETED = "", "deleted"

T = TypeVar("T")


# --- One request ---


class Answer(NamedTuple):
    """What came back; `json` is the body's value."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def ask(address: str, method: str = "GET", path: str = "/", body=None, **headers: str) -> Answer:
    """One request on a connection of its own; a body that is not bytes is sent as JSON."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        named.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def whole(uri: str, title: str = "", description: str = "", tags: Sequence[str] = ()):
    """The body of a PUT."""
    return {"uri": uri, "title": title, "description": description, "tags": list(tags)}


def put(address: str, id: str, title: str = "", **fields) -> Answer:
    """Puts a bookmark whose uri follows from its id."""
    return ask(address, "PUT", f"/{id}", whole(uri_of(id), title, **fields))


def uri_of(id: str) -> str:
    return f"https://{id}.example/"


def titles(address: str, path: str = "/") -> dict[str, str]:
    """The title of every bookmark in a list, by id."""
    answer = ask(address, path=path)
    assert answer.status == 200, answer
    return {bookmark["id"]: bookmark["title"] for bookmark in answer.json}


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Runs all of them from one instant on, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


# --- Servers ---


class Server:
    """A server that says its address in its log."""

    def __init__(self, command: Sequence[str], log: Path, **environment: str) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stderr=stderr, cwd=ROOT, env={**os.environ, **environment}
            )
        try:
            self.address = self._address()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def _address(self) -> str:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"http://[\d.]+:\d+(?=/| \()", self.log):
                return found[0]
            time.sleep(0.005)
        raise AssertionError("the server did not start: " + self.log)

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text()

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Ends it by this signal; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=20)


def service_of(data: Path) -> list[str]:
    """The command that serves a folder."""
    return [*COMMAND, "serve", "--data", str(data), "--listen", "127.0.0.1:0"]


def gunicorn_of(data: Path, *options: str, workers: int = 3, preload: bool = False) -> list[str]:
    """The command that serves a folder with gunicorn; with `preload`, its workers are forked from
    a process that has the application already."""
    app = f"bookmarks:make_app({str(data)!r})"
    gunicorn = [sys.executable, "-m", "gunicorn", "--no-control-socket", "--bind", "127.0.0.1:0"]
    return [*gunicorn, "--workers", str(workers), *["--preload"] * preload, *options, app]


def check(data: Path, *options: str, prefix: Sequence[str] = ()):
    """What `bookmarks check` does with the folder: its exit status and its lines."""
    command = [*prefix, *COMMAND, "check", "--data", str(data), *options]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},  # As on a desk, not as in a cron job.
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def temporaries(data: Path) -> list[Path]:
    return list(data.glob("*/.*.tmp"))


# --- Faults ---


@contextmanager
def faults(process: subprocess.Popen, *options: str) -> Iterator[None]:
    """While the block lasts, system calls of the running process fail as strace is told."""
    strace = subprocess.Popen(
        ["strace", "-f", "-p", str(process.pid), "-o", "/dev/null", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert strace.stderr is not None
    try:
        if "attached" not in (line := strace.stderr.readline()):
            pytest.skip("strace cannot attach: " + line)
        yield
    finally:
        if process.poll() is None:  # An interrupt may stop strace from seeing that a tracee died.
            strace.send_signal(signal.SIGINT)
        strace.wait(timeout=10)
        strace.stderr.close()


# --- Clients that remember ---


class Ledger:
    """Every title that one client sent for each of its bookmarks, in order, and the last of them
    that was acknowledged. DELETED is the last title of a bookmark; ABSENT stands before the first.
    """

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}
        self.acknowledged: dict[str, int] = {}

    def send(self, id: str, title: str) -> None:
        self.sent.setdefault(id, [ABSENT]).append(title)

    def acknowledge(self, id: str) -> None:
        self.acknowledged[id] = len(self.sent[id]) - 1

    def settle(self, id: str, title: str) -> None:
        """What is there now is what counts from now on: nothing is on its way any more."""
        self.sent[id] = [title]
        self.acknowledged[id] = 0

    def alive(self) -> list[str]:
        return [id for id, sent in self.sent.items() if sent[-1] not in (DELETED, ABSENT)]


class Writer(threading.Thread):
    """Creates, updates and deletes bookmarks of its own, one after the other, until told to stop
    or until the service is gone."""

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
            pass  # The service is gone.
        except BaseException as error:
            self.failure = error

    def _step(self, number: int) -> None:
        """A new bookmark, an old one changed, and every other time one deleted."""
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
            answer = ask(self.address, "DELETE", f"/{id}")
        else:
            answer = put(self.address, id, title)
        if answer.status >= 500:
            raise ConnectionError("the disk is gone")
        assert answer.status == expected, (id, title, answer)
        self.ledger.acknowledge(id)

    def stop(self) -> None:
        self.stopping.set()
        self.join(timeout=30)
        if self.failure:
            raise self.failure


def load(address: str, ledgers: Sequence[Ledger]) -> list[Writer]:
    """One running writer for each ledger."""
    writers = [Writer(f"w{n}", ledger, address) for n, ledger in enumerate(ledgers)]
    for writer in writers:
        writer.start()
    return writers


def require_kept(
    address: str,
    ledger: Ledger,
    promised: Mapping[str, int] | None = None,
    lost: Collection[str] = (),
) -> dict[str, str]:
    """Each bookmark is as it was last acknowledged, or as it was sent later; how each is.

    `promised` is what was acknowledged at an earlier moment. One whose last title is among `lost`
    may be absent too.
    """
    found = {}
    listed = titles(address)
    for id, sent in ledger.sent.items():
        found[id] = listed.get(id) or _unlisted(address, id)
        floor = (ledger.acknowledged if promised is None else promised).get(id, 0)
        if found[id] == ABSENT and floor < len(sent) - 1 and sent[-1] in lost:
            continue
        assert found[id] in sent[floor:], (id, "is", found[id], "not", sent[floor:])
    return found


def settle(address: str, ledgers: Sequence[Ledger]) -> None:
    """Holds what is there against what was promised; nothing that is there may go from now on."""
    for ledger in ledgers:
        for id, title in require_kept(address, ledger).items():
            ledger.settle(id, title)


def _unlisted(address: str, id: str) -> str:
    return {410: DELETED, 404: ABSENT}[ask(address, path=f"/{id}").status]


def require_whole(data: Path) -> None:
    """Every file that has a name of ours is whole."""
    for path in data.glob("*/[!.]*"):
        assert json.loads(path.read_bytes())["id"] == path.stem


def descriptors() -> int:
    """How many this process has open, where the system tells."""
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # What earlier tests have left may hold some.
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


# --- Files that cannot be used ---


def requests_to(id: str) -> Iterator[tuple]:
    """Yield one request of every method and path that an id has."""
    body = whole(uri_of(id), "New")
    requests: list[tuple] = [("GET",), ("HEAD",), ("OPTIONS",), ("PUT", body), ("DELETE",)]
    requests += [("POST", {"title": "New"}), ("PATCH", {"title": "New"})]
    for method, *given in requests:
        yield method, f"/{id}", *given
    yield "GET", f"/{id}/title"
    yield "PUT", f"/{id}/title", b"New"
    yield "GET", f"/{id}?format=html"
    yield "GET", f"/{id}?format=xbel"


def require_unusable(address: str, id: str) -> None:
    """Every request to the id is answered 503, which says what to do."""
    for method, path, *given in requests_to(id):
        answer = ask(address, method, path, *given)
        assert answer.status == 503, (method, path, answer)
        assert method == "HEAD" or b"bookmarks check" in answer.body
        assert "Retry-After" in answer.headers


def require_in_nobodys_way(address: str) -> None:
    """Where a and b are all that can be used, they are listed, updated and deleted as ever, and
    c is created and imported again."""
    assert titles(address) == {"a": "a", "b": "b"}
    assert put(address, "a", "New").status == 200
    assert put(address, "c", "c").status == 201
    assert ask(address, "DELETE", "/b").status == 204
    answer = ask(address, "POST", "/", [{"uri": uri_of("c"), "tags": ["imported"]}])
    assert (answer.status, answer.json["updated"]) == (200, 1), answer
    assert titles(address) == {"a": "New", "c": "c"}
    assert ask(address, path="/feed").status == 200
