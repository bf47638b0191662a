"""What a file holds besides the seven fields survives every rewrite, exactly."""

import json

import pytest
from clients import ask, put, service_of, uri_of, whole

# Members as somebody may write them, and as they must be found again.
MEMBERS = {
    "big": "123456789012345678901234567890",
    "negative": "-0",
    "exponent": "1E400",
    "float": "1.50",
    "digits": "0.1000000000000000055511151231257827",
    "nested": '{"a": [1, {"b": [[], {}, null, true, false]}], "": ""}',
    "text": '"Ünïcode \\u00fc \\ud83d\\ude00 \\\\ \\" \\/ \\n"',
    "_private": "null",
    "": "1",
    "Title": '"not the title"',
    "é": "[]",
}
UNKNOWN = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {v}" for name, v in MEMBERS.items())


@pytest.fixture
def path(data):
    return data / "bookmarks" / "a.json"


@pytest.fixture
def address(start, data, path):
    """A service over a file with members that it doesn't know, before and between its own."""
    address = start(service_of(data)).address
    own = f'"id": "a", "uri": "{uri_of("a")}", "title": "a", "created": "2020-01-01T00:00:00Z"'
    path.write_text(f'{{{UNKNOWN}, {own}, "last": {MEMBERS["float"]}}}', encoding="utf-8")
    return address


def exactly(text):
    """A JSON text's value, each number as it is written."""
    return json.loads(text, parse_int=str, parse_float=lambda digits: f"float {digits}")


def require_unknown(path):
    found = exactly(path.read_text(encoding="utf-8"))
    expected = exactly(f'{{{UNKNOWN}, "last": {MEMBERS["float"]}}}')
    assert {name: value for name, value in found.items() if name in expected} == expected


XBEL = b"""<?xml version="1.0"?>
<xbel version="1.0"><bookmark href="https://a.example/"><title>XBEL</title></bookmark></xbel>"""

REWRITES = {
    "POST of the uri": lambda a: ask(a, "POST", "/", {"uri": uri_of("a"), "title": "New"}),
    "POST": lambda a: ask(a, "POST", "/a", {"tags": ["New"]}),
    "PUT": lambda a: put(a, "a", "New"),
    "PUT of XBEL": lambda a: ask(
        a, "PUT", "/a", XBEL, Content_Type="application/x-xbel", Accept="application/json"
    ),
    "PUT of a field": lambda a: ask(a, "PUT", "/a/description", b"New"),
    "PUT of the uri": lambda a: ask(a, "PUT", "/a/uri", b"https://new.example/"),
}


@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES)
def test_unknown_members_survive_a_rewrite(address, path, rewrite):
    before = path.read_bytes()
    answer = rewrite(address)
    assert answer.status == 200, answer
    assert path.read_bytes() != before
    require_unknown(path)


@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES)
def test_all_members_keep_their_places(address, path, rewrite):
    """What is not there yet comes last; a difference shows what has changed and nothing else."""
    before = list(exactly(path.read_text(encoding="utf-8")))
    assert rewrite(address).status == 200
    after = list(exactly(path.read_text(encoding="utf-8")))
    assert after == [*before, "description", "tags", "modified"]


def test_unknown_members_survive_many_rewrites(address, path):
    for number in range(20):
        assert put(address, "a", f"{number}").status == 200
    require_unknown(path)


def test_unknown_members_that_a_person_adds_meanwhile_survive(address, path):
    assert put(address, "a", "Old").status == 200
    path.write_text(path.read_text().replace("{", '{"added": 1.0, ', 1))
    assert put(address, "a", "New").status == 200
    assert exactly(path.read_text())["added"] == "float 1.0"
    require_unknown(path)


def test_unknown_members_are_not_shown(address):
    fields = {"id", "uri", "title", "description", "tags", "created", "modified"}
    assert set(ask(address, path="/a").json) == fields


def test_an_update_that_changes_nothing_leaves_the_file_alone(address, path):
    before = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino
    assert ask(address, "PUT", "/a", ask(address, path="/a").json).status == 200
    assert ask(address, "POST", "/", {"uri": uri_of("a")}).status == 200
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_a_deleted_bookmark_takes_its_unknown_members_along(address, path):
    assert ask(address, "DELETE", "/a").status == 204
    assert not path.exists()


@pytest.mark.parametrize("count", [1_000_000, 5_000_000])
def test_a_large_file_is_rewritten_so_that_it_can_be_read_or_not_at_all(address, path, count):
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-1] + ', "many": [' + "1," * (count - 1) + "1]}", encoding="utf-8")
    assert ask(address, path="/a").status == 200
    answer = ask(address, "PUT", "/a", whole(uri_of("a"), "New"))
    assert answer.status != 500
    assert ask(address, path="/a/title").body.strip() == (b"New" if answer.status == 200 else b"a")
    require_unknown(path)


def test_a_deeply_nested_member_is_never_lost(address, path):
    statuses = set()
    for depth in range(900, 1010, 2):
        own = f'"id": "a", "uri": "{uri_of("a")}", "created": "2020-01-01T00:00:00Z"'
        path.write_text(f'{{{own}, "x": {"[" * depth}{"]" * depth}}}')
        before = path.read_bytes()
        status = ask(address, "POST", "/a", {"title": str(depth)}).status
        statuses.add(status)
        if status == 200:
            assert "[" * depth + "]" * depth in "".join(path.read_text().split())
        else:
            assert path.read_bytes() == before
    assert {200} < statuses <= {200, 422, 503}
