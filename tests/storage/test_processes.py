"""After a write is acknowledged, the next request to every process returns it."""

import json
import threading
import time
from itertools import chain
from urllib.parse import quote

import pytest
from clients import ask, gunicorn_of, put, put_back, run_together, service_of, titles, uri_of

ROUNDS = 12
WORKERS = 3
TIMES = dict.fromkeys(("created", "modified"), "2020-01-01T00:00:00Z")


def representations(address, id):
    """Return every response that could contain the bookmark, by its path."""
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


def test_two_services_on_one_folder_return_each_others_writes(start, data):
    one, other = [start(service_of(data)).address for _ in range(2)]
    for number in range(ROUNDS):
        writer, reader = (one, other) if number % 2 else (other, one)
        id = f"b{number}"
        assert put(writer, id, f"First {id}", tags=[id]).status == 201
        require_shown(reader, id, f"First {id}")
        assert put(reader, id, f"Second {id}", tags=[id]).status == 200
        require_shown(writer, id, f"Second {id}")
        if number % 3 == 0:
            assert ask(writer, "DELETE", f"/{id}").status == 204
            require_hidden(reader, id)
    assert ask(one).body == ask(other).body
    assert ask(one).headers["ETag"] == ask(other).headers["ETag"]


def test_no_entity_tag_of_two_services_has_two_bodies_while_files_change(start, data):
    addresses = [start(service_of(data)).address for _ in range(2)]
    paths = ["/?format=csv", "/?format=text", "/?format=xbel", "/feed", "/?q=x&limit=3"]
    is_done = threading.Event()

    def change():
        """Add, replace and remove files as another program does."""
        for number in range(150):
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

    reads = [lambda address=address: read(address) for address in addresses * 2]
    *results, _ = run_together([*reads, change])
    bodies = {}
    for path, etag, body in chain(*results):
        assert bodies.setdefault((path, etag), body) == body
    assert len(bodies) > 50


def test_of_two_services_that_put_one_bookmark_back_one_does_and_the_other_says_so(start, data):
    addresses = [start(service_of(data)).address for _ in range(2)]
    for number in range(ROUNDS):
        id = f"b{number}"
        assert put(addresses[0], id, id).status == 201
        assert ask(addresses[0], "DELETE", f"/{id}").status == 204
        calls = [lambda address=address: put_back(address, id) for address in addresses]
        won, lost = sorted(run_together(calls), key=lambda response: response.status)
        assert (won.status, lost.status) == (303, 409), (won, lost)
        # Whether its file is removed already depends on the moment.
        assert b"any more" in lost.body or b"saved again" in lost.body, lost
    names = [f"b{number}" for number in range(ROUNDS)]
    assert sorted(titles(addresses[1]).values()) == sorted(names)
    assert len(list((data / "bookmarks").iterdir())) == ROUNDS


@pytest.mark.parametrize("preload", [False, True], ids=["separate applications", "preload"])
def test_the_workers_of_gunicorn_return_each_others_writes(start, data, preload):
    access = data.parent / "access"
    logging = ("--access-logfile", str(access), "--access-logformat", "%(p)s")
    address = start(gunicorn_of(data, *logging, workers=WORKERS, preload=preload)).address
    for number in range(ROUNDS):
        id = f"b{number}"
        assert put(address, id, f"First {id}", tags=[id]).status == 201
        run_together([lambda id=id: require_shown(address, id, f"First {id}")] * WORKERS)
        assert put(address, id, f"Second {id}", tags=[id]).status == 200
        run_together([lambda id=id: require_shown(address, id, f"Second {id}")] * WORKERS)
        if number % 3 == 0:
            assert ask(address, "DELETE", f"/{id}").status == 204
            run_together([lambda id=id: require_hidden(address, id)] * WORKERS)
    assert len(set(access.read_text().split())) == WORKERS


def test_no_process_returns_an_older_version_than_another_returned(start, data):
    """Read from two processes in turn while a third one writes."""
    writer, one, other = [start(service_of(data)).address for _ in range(3)]
    put(writer, "b", "0")
    stopping = threading.Event()

    def write():
        number = 0
        while not stopping.is_set():
            number += 1
            assert put(writer, "b", str(number)).status == 200

    thread = threading.Thread(target=write)
    thread.start()
    try:
        deadline, latest = time.monotonic() + 2, 0
        while time.monotonic() < deadline:
            for address in (one, other):
                now = int(ask(address, path="/b/title").body)
                assert now >= latest
                latest = now
    finally:
        stopping.set()
        thread.join()
    assert latest > 10
