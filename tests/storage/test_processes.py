"""After a write is acknowledged, the next request to every process returns it."""

import json
import threading
import time
from functools import partial
from itertools import chain
from urllib.parse import quote

import pytest
from clients import ask, gunicorn_of, put, run_together, service_of, uri_of

ROUNDS = 12
WORKERS = 3
TIMES = dict.fromkeys(("created", "modified"), "2020-01-01T00:00:00Z")


def representations(address, id):
    uri = quote(uri_of(id), safe="")
    paths = ("/", "/feed", f"/?tag={id}", f"/feed?tag={id}", f"/?uri={uri}", f"/?q={id}", f"/{id}")
    fields = (f"/{id}/title", f"/{id}/tags")
    return {path: ask(address, path=path) for path in (*paths, *fields)}


def require_shown(address, id, title):
    for path, response in representations(address, id).items():
        assert response.status == 200, (path, response)
        wanted = id if path.endswith("tags") else title
        assert wanted.encode() in response.body, (path, response)


def require_hidden(address, id):
    for path, response in representations(address, id).items():
        assert response.status == (410 if path.startswith(f"/{id}") else 200), (path, response)
        assert uri_of(id).encode() not in response.body, (path, response)


@pytest.mark.parametrize("kind", ["two services", "gunicorn"])
def test_processes_on_one_folder_return_each_others_writes(start, data, kind):
    if kind == "gunicorn":  # Each request may reach another worker.
        access = data.parent / "access"
        logging = ("--access-logfile", str(access), "--access-logformat", "%(p)s")
        addresses = [start(gunicorn_of(data, *logging, workers=WORKERS)).address] * WORKERS
    else:
        addresses = [start(service_of(data)).address for _ in range(2)]
    for number in range(ROUNDS):
        writer, *readers = addresses if number % 2 else addresses[::-1]
        id = f"b{number}"
        for title, status in (("First", 201), ("Second", 200)):
            assert put(writer, id, title, tags=[id]).status == status
            run_together([partial(require_shown, reader, id, title) for reader in readers])
        if number % 3 == 0:
            assert ask(writer, "DELETE", f"/{id}").status == 204
            run_together([partial(require_hidden, reader, id) for reader in readers])
    if kind == "gunicorn":
        assert len(set(access.read_text().split())) == WORKERS
    responses = [ask(address, Host="localhost") for address in addresses]
    assert len({(each.body, each.headers["ETag"]) for each in responses}) == 1


def test_no_entity_tag_of_two_services_has_two_bodies_while_files_change(start, data):
    addresses = [start(service_of(data)).address for _ in range(2)]
    paths = ["/?format=csv", "/?format=text", "/?format=xbel", "/feed", "/?q=x&limit=3"]
    is_done = threading.Event()

    def change():
        for number in range(100):
            time.sleep(0.01)
            id = f"b{number % 7}"
            file = data / "bookmarks" / f"{id}.json"
            if number % 5 == 0:
                file.unlink(missing_ok=True)
                continue
            title = f"x {number % 3}"
            temporary = data / "bookmarks" / f".{id}.tmp"
            temporary.write_text(json.dumps({**TIMES, "id": id, "uri": f"x:{id}", "title": title}))
            temporary.rename(file)
        is_done.set()

    def read(address):
        found = []
        while not is_done.is_set():
            for path in paths:
                response = ask(address, path=path, Host="localhost")  # It is in links.
                assert response.status == 200, response
                found.append((path, response.headers["ETag"], response.body))
        return found

    reads = [partial(read, address) for address in addresses * 2]
    *results, _ = run_together([*reads, change])
    bodies = {}
    for path, etag, body in chain(*results):
        assert bodies.setdefault((path, etag), body) == body
    assert len(bodies) > 50
