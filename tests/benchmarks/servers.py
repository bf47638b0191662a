"""Server processes on one core, and their memory."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Without this variable Python compiles the modules once, not at each start.
_ENVIRONMENT = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
_CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = _CORES[0], _CORES[-1]


def plain(*arguments: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("plain.py")), *arguments]


def service(data: Path) -> list[str]:
    command = [sys.executable, "-m", "bookmarks", "serve", "--data", str(data)]
    return [*command, "--listen", "127.0.0.1:0"]


@contextmanager
def _server_core() -> Iterator[None]:
    """Run processes that are started within the block on the servers' core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {SERVER_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(command: list[str]) -> None:
    with _server_core():
        subprocess.run(command, check=True, env=_ENVIRONMENT)


class Server:
    """A server process, which accepts connections until the end of the `with` block."""

    def __init__(self, command: list[str]) -> None:
        with _server_core():
            self._process = subprocess.Popen(
                command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=_ENVIRONMENT
            )
        try:
            self.port = self._port()
        except BaseException:
            self.stop()
            raise

    def _port(self) -> int:
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if match := re.search(r"http://[\d.]+:(\d+)/", line):
                threading.Thread(target=self._process.stderr.read, daemon=True).start()
                return int(match[1])
        raise RuntimeError("The server did not start: " + "".join(lines))

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)

    def memory(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        match = re.search(r"^VmRSS:\s*(\d+) kB$", status, re.MULTILINE)
        return int(match[1]) * 1024
