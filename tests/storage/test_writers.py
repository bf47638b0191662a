"""Many writers at once lose nothing of each other's, in one process and over several."""

import itertools
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from clients import Server, ask, at_once, gunicorn_of, put, service_of, titles, uri_of

CLIENTS = 8


@pytest.fixture(scope="module", params=["one process", "several processes"])
def address(request, tmp_path_factory):
    """A service with threads, or one with processes: the same for all tests, which keep apart."""
    folder = tmp_path_factory.mktemp("writers")
    several = request.param == "several processes"
    command = gunicorn_of(folder / "data") if several else service_of(folder / "data")
    server = Server(command, folder / "log")
    yield server.address
    server.stop()


@pytest.mark.parametrize("round", range(10))
def test_one_uri_that_many_post_at_once_is_one_bookmark(address, round):
    uri = f"https://one.example/{round}"
    given = [{"uri": uri, "title": f"{n}", "description": f"{n}"} for n in range(CLIENTS)]
    answers = at_once([lambda body=body: ask(address, "POST", "/", body) for body in given])
    assert sorted(answer.status for answer in answers) == [200] * (CLIENTS - 1) + [201]
    assert len({answer.json["id"] for answer in answers}) == 1
    (found,) = ask(address, path=f"/?uri={uri}").json
    assert found["title"] == found["description"]
    assert found in [answer.json for answer in answers]


def test_one_uri_that_many_put_at_once_is_one_bookmark(address):
    body = {"uri": "https://put.example/", "title": "", "description": "", "tags": []}
    calls = [lambda n=n: ask(address, "PUT", f"/put-{n}", body) for n in range(CLIENTS)]
    answers = at_once(calls)
    assert sorted(answer.status for answer in answers) == [201] + [409] * (CLIENTS - 1)
    assert ask(address, path="/?uri=https://put.example/").headers["X-Total-Count"] == "1"


def test_compare_and_swap_loses_no_count(address):
    assert put(address, "counter", "0").status == 201
    at_once([lambda: [count(address) for _ in range(10)]] * CLIENTS)
    assert titles(address)["counter"] == str(10 * CLIENTS)


def count(address):
    """Adds one, as often as somebody else is faster."""
    for _ in range(1000):
        seen = ask(address, path="/counter")
        body = {"title": str(int(seen.json["title"]) + 1)}
        answer = ask(address, "POST", "/counter", body, If_Match=seen.headers["ETag"])
        if answer.status == 200:
            return
        assert answer.status == 412
    raise AssertionError("always somebody else")


def test_updates_of_different_fields_at_once_are_all_there(address):
    assert put(address, "fields", "Old").status == 201
    fields = {"title": "New", "description": "New", "tags": ["new"]}
    bodies = [{name: value} for name, value in fields.items()]
    answers = at_once([lambda b=b: ask(address, "POST", "/fields", b) for b in bodies])
    assert [answer.status for answer in answers] == [200] * len(fields)
    assert ask(address, path="/fields").json.items() >= fields.items()


def test_one_creator_of_an_id_is_let_through(address):
    fields = [{"description": f"{n}"} for n in range(CLIENTS)]
    answers = at_once([lambda f=f: create(address, **f) for f in fields])
    assert sorted(answer.status for answer in answers) == [201] + [412] * (CLIENTS - 1)
    winner = next(answer for answer in answers if answer.status == 201)
    assert ask(address, path="/mine").json == winner.json


def create(address, **fields):
    body = {"uri": uri_of("mine"), "title": "", "tags": [], **fields}
    return ask(address, "PUT", "/mine", body, If_None_Match="*")


def test_one_bookmark_is_deleted_once(address):
    assert put(address, "once", "").status == 201
    answers = at_once([lambda: ask(address, "DELETE", "/once")] * CLIENTS)
    assert sorted(answer.status for answer in answers) == [204] + [410] * (CLIENTS - 1)


# --- Histories ---


class Operation(NamedTuple):
    """What one client did and learned: it read `value`, wrote it, or swapped `seen` for it, which
    was refused or not. It took place at one instant from `start` to `end`."""

    kind: str
    value: str
    start: int
    end: int
    seen: str = ""


def leads_to(operation: Operation, value: str) -> str | None:
    """The value after the operation; None if it cannot happen while the value is this one."""
    kind, new, seen = operation.kind, operation.value, operation.seen
    if kind == "write":
        return new
    if kind == "read":
        return value if value == new else None
    if kind == "swap":
        return new if value == seen else None
    return value if value != seen else None


def is_linearizable(history: Sequence[Operation], value: str) -> bool:
    """Whether some order of the operations explains every answer (Wing and Gong's search)."""
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


def test_the_checker_tells_histories_apart():
    write = Operation("write", "b", 0, 10)
    assert is_linearizable([write, Operation("read", "a", 1, 2), Operation("read", "b", 3, 4)], "a")
    assert not is_linearizable(
        [write, Operation("read", "b", 1, 2), Operation("read", "a", 3, 4)], "a"
    )
    assert not is_linearizable([write, Operation("read", "a", 11, 12)], "a")
    assert not is_linearizable([write, Operation("swap", "c", 11, 12, "a")], "a")
    assert is_linearizable([write, Operation("refused", "c", 11, 12, "a")], "a")


@pytest.mark.parametrize("round", range(6))
def test_concurrent_reads_and_writes_of_one_bookmark_are_linearizable(address, round):
    id = f"register-{round}"
    assert put(address, id, "start").status == 201
    values = map(str, itertools.count())
    calls = [lambda: [operate(address, id, values) for _ in range(25)]] * 6
    history = [operation for operations in at_once(calls) for operation in operations]
    assert {"read", "write"} <= {operation.kind for operation in history}
    assert is_linearizable(history, "start")


def operate(address, id, values):
    """One random operation on the bookmark's title."""
    kind = random.choice(["read", "read", "write", "swap"])
    seen = ask(address, path=f"/{id}") if kind == "swap" else None
    headers = {"If_Match": seen.headers["ETag"]} if seen else {}
    start = time.monotonic_ns()
    if kind == "read":
        answer, value = ask(address, path=f"/{id}"), ""
    else:
        value = next(values)
        answer = ask(address, "PUT", f"/{id}/title", value.encode(), **headers)
    end = time.monotonic_ns()
    if kind == "read":
        return Operation("read", answer.json["title"], start, end)
    assert answer.status == 200 or (kind == "swap" and answer.status == 412), answer
    kind = kind if answer.status == 200 else "refused"
    return Operation(kind, value, start, end, seen.json["title"] if seen else "")
