"""The programs that the service is compared with, each in a process of its own.

python plain.py constant|unchanged        a server whose response is always the same, 200 or 304
python plain.py files FOLDER              a server that writes each body durably to a file
python plain.py loop FOLDER               opens, reads and parses every JSON file once
"""

import json
import os
import secrets
import sys
from collections.abc import Callable


def constant(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "300")])
    return [b"x" * 300]


def unchanged(environ, start_response):
    start_response("304 Not Modified", [])
    return []


def files(environ, start_response):
    """Write the body with the fewest operations that make a new file durable."""
    folder = sys.argv[2]
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


def loop(folder: str) -> None:
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", "rb") as file:
            json.loads(file.read())


def serve(app: Callable[..., list[bytes]]) -> None:
    """Serve the app with the server of the service, and print its address."""
    import logging

    import waitress  # The loop does not need it.

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = waitress.create_server(app, host="127.0.0.1", port=0, ident="")
    print(f"http://127.0.0.1:{server.effective_port}/", file=sys.stderr, flush=True)
    server.run()


if __name__ == "__main__":
    if sys.argv[1] == "loop":
        loop(sys.argv[2])
    else:
        app = {"constant": constant, "unchanged": unchanged, "files": files}[sys.argv[1]]
        serve(app)
