"""Concurrent writers, in one process or several, do not lose each other's writes."""

from functools import partial

import pytest
from clients import Server, ask, gunicorn_of, put, put_body, run_together, service_of, titles

CLIENTS = 8


@pytest.fixture(scope="module", params=[service_of, gunicorn_of], ids=["threads", "processes"])
def address(request, tmp_path_factory):
    """One service for all tests; each test has its own bookmarks."""
    folder = tmp_path_factory.mktemp("writers")
    server = Server(request.param(folder / "data"), folder / "log")
    yield server.address
    server.stop()


def test_concurrent_posts_of_one_uri_create_one_bookmark(address):
    uri = "https://one.example/"
    bodies = [{"uri": uri, "title": f"{n}", "description": f"{n}"} for n in range(CLIENTS)]
    responses = run_together([partial(ask, address, "POST", "/", body) for body in bodies])
    assert sorted(response.status for response in responses) == [200] * (CLIENTS - 1) + [201]
    assert len({response.json["id"] for response in responses}) == 1
    (stored,) = ask(address, path=f"/?uri={uri}").json
    assert stored["title"] == stored["description"]
    assert stored in [response.json for response in responses]


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
    responses = run_together([partial(ask, address, "POST", "/fields", body) for body in bodies])
    assert [response.status for response in responses] == [200] * len(fields)
    assert ask(address, path="/fields").json.items() >= fields.items()


@pytest.mark.parametrize("path, headers, refusal", [
    ("/of-one-id", {"If_None_Match": "*"}, 412),
    ("/of-one-uri-{}", {}, 409),
])  # fmt: skip
def test_one_of_several_concurrent_creations_succeeds(address, path, headers, refusal):
    uri = f"x:{path}"
    calls = []
    for n in range(CLIENTS):
        body = put_body(uri, description=f"{n}")
        calls.append(partial(ask, address, "PUT", path.format(n), body, **headers))
    responses = run_together(calls)
    assert sorted(response.status for response in responses) == [201] + [refusal] * (CLIENTS - 1)
    winner = next(response for response in responses if response.status == 201)
    assert ask(address, path=f"/?uri={uri}").json == [winner.json]


def test_one_of_several_concurrent_deletions_succeeds(address):
    assert put(address, "once", "").status == 201
    responses = run_together([lambda: ask(address, "DELETE", "/once")] * CLIENTS)
    assert sorted(response.status for response in responses) == [204] + [410] * (CLIENTS - 1)
