"""Fixtures of all tests: a fresh data folder, an application over it, and the real command."""

import fcntl
import functools
import gc
import http.server
import itertools
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import webtest

from bookmarks import ROUTES, main, make_app
from formats.http import pages
from storage.errors import StorageError
from storage.store import Store
from storage.transaction import Transaction

ROOT = Path(__file__).parent.parent
URI = "https://example.com/"
# The routes for programs, without those of linkding's API.
OWN_ROUTES = (*ROUTES, *(r for r in pages.ROUTER.routes if r.template == "/-/import"))
# Let Python compile the modules once, not in each process that a test starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(call: pytest.CallInfo[object]) -> None:
    """Close what a failed test has open, so that only its own traceback is printed.

    A later test would fail with a ResourceWarning otherwise. A leak in a test that passes is an
    error still.
    """
    assert call.excinfo is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        traceback.clear_frames(call.excinfo.tb)
        gc.collect()


@pytest.fixture(scope="session", autouse=True)
def logged_inotify_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let this process log before the first test, as it does once, if inotify is not available."""
    app = make_app(tmp_path_factory.mktemp("inotify"))
    app.open()
    app.close()


@pytest.fixture
def inotify() -> None:
    """Skip the test if the system has no inotify, or this user no inotify instance left."""
    inotify_simple = pytest.importorskip("inotify_simple")
    try:
        inotify_simple.INotify().close()
    except OSError as error:
        pytest.skip(f"needs inotify: {error.strerror}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def app(data: Path) -> webtest.TestApp:
    """A client of a fresh application; webtest checks that each response conforms to WSGI."""
    return webtest.TestApp(make_app(data))


@pytest.fixture
def client(data: Path) -> Callable[..., webtest.TestApp]:
    def client(**options: object) -> webtest.TestApp:
        return webtest.TestApp(make_app(data, **options))

    return client


@pytest.fixture
def add(app: webtest.TestApp) -> Callable[..., dict[str, object]]:
    def add(uri: str = URI, **fields: object) -> dict[str, object]:
        return app.post_json("/", {"uri": uri, **fields}, status=201).json

    return add


@pytest.fixture
def fail_batch(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, StorageError], None]:
    """Return a function that makes a coming batch, such as the second one, fail."""

    def fail_batch(failing: int, error: StorageError) -> None:
        publish = Transaction.publish
        batches = itertools.count(1)

        def publish_or_fail(transaction: Transaction) -> None:
            if next(batches) == failing:
                raise error
            publish(transaction)

        monkeypatch.setattr(Transaction, "publish", publish_or_fail)

    return fail_batch


@pytest.fixture
def before_transaction(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes another client act before the next transaction of a store."""

    def before_transaction(store: Store, act: Callable[[], object]) -> None:
        def act_and_begin() -> object:
            monkeypatch.undo()
            act()
            return store.transaction()

        monkeypatch.setattr(store, "transaction", act_and_begin)

    return before_transaction


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    def run(*arguments: object, data: Path, status: int = 0) -> tuple[str, str]:
        try:
            found = main([*map(str, arguments), "--data", str(data)])
        except SystemExit as end:  # The interpreter prints the message and exits with 1.
            print(end.code, file=sys.stderr)
            found = 1
        output, messages = capfd.readouterr()
        assert found == status, messages
        return output, messages

    return run


@pytest.fixture
def lock_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Return a context in which the folder is locked, and requests wait for it only briefly."""

    @contextmanager
    def lock_folder() -> Iterator[None]:
        monkeypatch.setattr("storage.lock.LOCK_SECONDS", 0.05)
        with locked(data / "bookmarks"):
            yield

    return lock_folder


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the lock of a folder, as a writer does; yield the descriptor of the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_file(data: Path, kind: str, id: str, **members: object) -> None:
    """Write a file of `bookmarks` or `tombstones`, as another program does."""
    (data / kind).mkdir(parents=True, exist_ok=True)
    (data / kind / f"{id}.json").write_text(json.dumps({"id": id, **members}))


class Service:
    def __init__(self, data: Path, *options: str, program=ROOT / "bookmarks.py", **environment):
        command = [sys.executable, str(program), "serve", "--data", str(data)]
        self.data = data
        self.process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        self.log: list[str] = []
        self.address = self._address()

    def _address(self) -> str:
        for line in self.process.stderr:
            self.log.append(line)
            if match := re.search(r"http://[\d.]+:\d+", line):
                return match[0]
        raise AssertionError("the service did not start: " + "".join(self.log))

    def empty(self) -> None:
        for path in self.data.glob("*/*.json"):
            path.unlink(missing_ok=True)  # The service may be deleting it.

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        status = self.process.wait(timeout=60)
        self.log += self.process.stderr.readlines()
        self.process.stderr.close()
        return status


@pytest.fixture
def serve(data: Path) -> Iterator[Callable[..., Service]]:
    services: list[Service] = []

    def serve(*options: str, **environment: str) -> Service:
        services.append(Service(data, *options, **environment))
        return services[-1]

    yield serve
    for service in services:
        if service.process.poll() is None:
            service.stop(signal.SIGKILL)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One real command for the whole run. A test that uses it calls `empty` first."""
    service = Service(tmp_path_factory.mktemp("service"))
    yield service
    service.stop()


def cpu_seconds(service: Service) -> float:
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(service: Service) -> int:
    fields = Path(f"/proc/{service.process.pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_memory(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold in time"
        time.sleep(0.01)


def without_inotify_warning(lines: Iterable[str]) -> list[str]:
    """Return the lines of a log, except that this user has no inotify instance left."""
    return [line for line in lines if "WARNING Without inotify" not in line]


def inotify_instances() -> int:
    """Return how many inotify instances this process has open."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    opened = [os.readlink(link) for link in links if os.path.lexists(link)]
    return opened.count("anon_inode:inotify")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def website(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


def skip_without(*missing: str) -> None:
    """Skip the test if something is missing. In CI, which installs all, fail instead."""
    if missing:
        assert "CI" not in os.environ, "needs " + ", ".join(missing)
        pytest.skip("needs " + ", ".join(missing))


def require_program(*programs: str) -> None:
    skip_without(*[program for program in programs if shutil.which(program) is None])


def interpreters() -> dict[str, str]:
    """Return the other Pythons that are installed, also by pyenv, by their versions."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = {}
    for minor in range(11, 20):
        # The commands of pyenv on the path may not work.
        places = [*pyenv.glob(f"versions/3.{minor}.*/bin/python")] or [f"python3.{minor}"]
        for command in ("/usr/bin/python3", *map(str, places)):
            version = _version_of(command)
            if version.startswith(f"3.{minor}."):
                found[version] = command
    found.pop(platform.python_version(), None)
    return found


@functools.cache
def _version_of(command: str) -> str:
    if shutil.which(command) is None:
        return ""
    code = "import platform; print(platform.python_version())"
    process = subprocess.run([command, "-c", code], capture_output=True, text=True)
    return process.stdout.strip()


def documentation(page: str = "") -> str:
    """Return the text of a page in `docs/`; without a name, of the README and all pages."""
    pages = [ROOT / "docs" / page] if page else [ROOT / "README.md", *sorted(ROOT.glob("docs/*"))]
    return "\n".join(page.read_text() for page in pages)


def documented_block(language: str, word: str) -> str:
    """Return the one code block of the documentation in this language that contains this word."""
    pattern = rf"^```{language}\n(.*?)^```"
    blocks = re.findall(pattern, documentation(), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if word in block]
    return str(block)
