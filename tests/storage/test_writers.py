"""Concurrent writers, in one process or several, do not lose each other's writes."""

import itertools
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from clients import Server, ask, gunicorn_of, put, run_together, service_of, titles, uri_of

CLIENTS = 8


@pytest.fixture(scope="module", params=["one process", "several processes"])
def address(request, tmp_path_factory):
    """One service for all tests, with threads or processes; each test has its own bookmarks."""
    folder = tmp_path_factory.mktemp("writers")
    command_of = gunicorn_of if request.param == "several processes" else service_of
    command = command_of(folder / "data")
    server = Server(command, folder / "log")
    yield server.address
    server.stop()


@pytest.mark.parametrize("round", range(4))
def test_concurrent_posts_of_one_uri_create_one_bookmark(address, round):
    uri = f"https://one.example/{round}"
    bodies = [{"uri": uri, "title": f"{n}", "description": f"{n}"} for n in range(CLIENTS)]
    responses = run_together([lambda body=body: ask(address, "POST", "/", body) for body in bodies])
    assert sorted(response.status for response in responses) == [200] * (CLIENTS - 1) + [201]
    assert len({response.json["id"] for response in responses}) == 1
    (stored,) = ask(address, path=f"/?uri={uri}").json
    assert stored["title"] == stored["description"]
    assert stored in [response.json for response in responses]


def test_concurrent_puts_of_one_uri_create_one_bookmark(address):
    body = {"uri": "https://put.example/", "title": "", "description": "", "tags": []}
    calls = [lambda n=n: ask(address, "PUT", f"/put-{n}", body) for n in range(CLIENTS)]
    responses = run_together(calls)
    assert sorted(response.status for response in responses) == [201] + [409] * (CLIENTS - 1)
    assert ask(address, path="/?uri=https://put.example/").headers["X-Total-Count"] == "1"


def test_conditional_updates_lose_no_increment(address):
    assert put(address, "counter", "0").status == 201
    run_together([lambda: [increment(address) for _ in range(10)]] * CLIENTS)
    assert titles(address)["counter"] == str(10 * CLIENTS)


def increment(address):
    for _ in range(1000):
        seen = ask(address, path="/counter")
        body = {"title": str(int(seen.json["title"]) + 1)}
        response = ask(address, "POST", "/counter", body, If_Match=seen.headers["ETag"])
        if response.status == 200:
            return
        assert response.status == 412
    raise AssertionError("another client was always faster")


def test_concurrent_updates_of_different_fields_are_all_stored(address):
    assert put(address, "fields", "Old").status == 201
    fields = {"title": "New", "description": "New", "tags": ["new"]}
    bodies = [{name: value} for name, value in fields.items()]
    responses = run_together([lambda b=b: ask(address, "POST", "/fields", b) for b in bodies])
    assert [response.status for response in responses] == [200] * len(fields)
    assert ask(address, path="/fields").json.items() >= fields.items()


def test_one_of_several_concurrent_creations_of_an_id_succeeds(address):
    fields = [{"description": f"{n}"} for n in range(CLIENTS)]
    responses = run_together([lambda f=f: create(address, **f) for f in fields])
    assert sorted(response.status for response in responses) == [201] + [412] * (CLIENTS - 1)
    winner = next(response for response in responses if response.status == 201)
    assert ask(address, path="/mine").json == winner.json


def create(address, **fields):
    body = {"uri": uri_of("mine"), "title": "", "tags": [], **fields}
    return ask(address, "PUT", "/mine", body, If_None_Match="*")


def test_one_of_several_concurrent_deletions_succeeds(address):
    assert put(address, "once", "").status == 201
    responses = run_together([lambda: ask(address, "DELETE", "/once")] * CLIENTS)
    assert sorted(response.status for response in responses) == [204] + [410] * (CLIENTS - 1)


# --- Histories ---


class Operation(NamedTuple):
    """One request and its result: a read or write of `value`, or a swap of `seen` for `value`.

    The kind is `read`, `write`, `swap` or `refused` (a swap that failed). The operation took effect
    at one moment between `start` and `end`.
    """

    kind: str
    value: str
    start: int
    end: int
    seen: str = ""


def leads_to(operation: Operation, value: str) -> str | None:
    """Return the value after the operation, None if its result contradicts the value before."""
    kind, new, seen = operation.kind, operation.value, operation.seen
    if kind == "write":
        return new
    if kind == "read":
        return value if value == new else None
    if kind == "swap":
        return new if value == seen else None
    return value if value != seen else None


def is_linearizable(history: Sequence[Operation], value: str) -> bool:
    """Return whether some order of the operations explains all results (Wing and Gong)."""
    states = {(frozenset(range(len(history))), value)}
    tried = set(states)
    while states:
        left, value = states.pop()
        if not left:
            return True
        deadline = min(history[n].end for n in left)
        for n in left:
            after = leads_to(history[n], value) if history[n].start <= deadline else None
            if after is not None and (state := (left - {n}, after)) not in tried:
                tried.add(state)
                states.add(state)
    return False


def test_the_checker_accepts_only_linearizable_histories():
    write = Operation("write", "b", 0, 10)
    assert is_linearizable([write, Operation("read", "a", 1, 2), Operation("read", "b", 3, 4)], "a")
    assert not is_linearizable(
        [write, Operation("read", "b", 1, 2), Operation("read", "a", 3, 4)], "a"
    )
    assert not is_linearizable([write, Operation("read", "a", 11, 12)], "a")
    assert not is_linearizable([write, Operation("swap", "c", 11, 12, "a")], "a")
    assert is_linearizable([write, Operation("refused", "c", 11, 12, "a")], "a")


@pytest.mark.parametrize("round", range(3))
def test_concurrent_reads_and_writes_of_one_bookmark_are_linearizable(address, round):
    id = f"register-{round}"
    assert put(address, id, "start").status == 201
    values = map(str, itertools.count())
    calls = [lambda: [operate(address, id, values) for _ in range(25)]] * 6
    history = [operation for operations in run_together(calls) for operation in operations]
    assert {"read", "write"} <= {operation.kind for operation in history}
    assert is_linearizable(history, "start")


def operate(address, id, values):
    kind = random.choice(["read", "read", "write", "swap"])
    seen = ask(address, path=f"/{id}") if kind == "swap" else None
    headers = {"If_Match": seen.headers["ETag"]} if seen else {}
    start = time.monotonic_ns()
    if kind == "read":
        response, value = ask(address, path=f"/{id}"), ""
    else:
        value = next(values)
        response = ask(address, "PUT", f"/{id}/title", value.encode(), **headers)
    end = time.monotonic_ns()
    if kind == "read":
        return Operation("read", response.json["title"], start, end)
    assert response.status == 200 or (kind == "swap" and response.status == 412), response
    kind = kind if response.status == 200 else "refused"
    return Operation(kind, value, start, end, seen.json["title"] if seen else "")
