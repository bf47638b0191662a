"""Durable creates over HTTP against their ceiling: plain file operations behind the same server.

    python tests/benchmarks/writes.py [--seconds 3] [--rounds 3] [--folder DIR]

Both servers are waitress with its default threads, on one core; the clients are on another. They
are measured in turns; the share is the median of the rounds' ratios.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
GOALS = {1: 0.7, 8: 0.6}

# Temporary file, fsync, rename, folder fsync: what a durable new file costs at the least.
CEILING = """
import json, logging, os, secrets, sys, waitress

logging.getLogger("waitress.queue").setLevel(logging.ERROR)

folder = sys.argv[1]

def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    name = secrets.token_hex(8)
    temporary, target = f"{folder}/.{name}.tmp", f"{folder}/{name}.json"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.write(descriptor, body)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(temporary, target)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    start_response("201 Created", [("Content-Length", "2")])
    return [b"{}"]

server = waitress.create_server(app, host="127.0.0.1", port=0, ident="")
print(f"http://127.0.0.1:{server.effective_port}/", file=sys.stderr, flush=True)
server.run()
"""


def start(command: list[str]) -> tuple[subprocess.Popen[str], int]:
    """A server on the first core, and its port."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, int(line.rstrip("/\n").rpartition(":")[2])


def create(port: int, deadline: float, prefix: str, counts: list[int]) -> None:
    """Creates bookmarks, one after the other, until the deadline; counts what was acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    number = 0
    while time.monotonic() < deadline:
        body = json.dumps({"uri": f"https://example.com/{prefix}/{number}", "title": "A title"})
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        assert response.status == 201, response.status
        number += 1
    counts.append(number)


def rate(port: int, clients: int, seconds: float, name: str) -> float:
    """Acknowledged creates a second."""
    counts: list[int] = []
    begun = time.monotonic()
    threads = [
        threading.Thread(target=create, args=(port, begun + seconds, f"{name}/{client}", counts))
        for client in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == clients, "a client failed"
    return sum(counts) / (time.monotonic() - begun)


def main() -> None:
    """Measures both and prints a line for each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where to write (default: the system's)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        plain = Path(folder) / "plain"
        plain.mkdir()
        commands = (
            ["bookmarks.py", "--listen", "127.0.0.1:0", "--data", f"{folder}/data"],
            ["-c", CEILING, str(plain)],
        )
        servers = [start(command) for command in commands]
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        try:
            for clients, goal in GOALS.items():
                rates = [
                    [
                        rate(port, clients, options.seconds, f"{clients}-{turn}")
                        for _, port in servers
                    ]
                    for turn in range(options.rounds)
                ]
                share = statistics.median(ours / ceiling for ours, ceiling in rates)
                ours, ceiling = (statistics.median(column) for column in zip(*rates, strict=True))
                print(
                    f"durable create, {clients} clients: {ours:.0f}/s of {ceiling:.0f}/s, "
                    f"share {share:.2f} (goal {goal})"
                )
        finally:
            for process, _ in servers:
                process.terminate()
                process.wait(timeout=10)


if __name__ == "__main__":
    main()
