"""Members of a bookmark's file that are not fields of a bookmark survive every rewrite."""

import json

import pytest
from clients import ask, put, put_back, put_body, uri_of

# Unknown members with JSON values that a rewrite could change.
UNKNOWN = r"""
    "big": 123456789012345678901234567890, "negative": -0, "exponent": 1E400, "float": 1.50,
    "digits": 0.1000000000000000055511151231257827, "_private": null, "": 1, "é": [],
    "nested": {"a": [1, {"b": [[], {}, null, true, false]}], "": ""}, "Title": "not the title",
    "text": "Ünïcode \u00fc \ud83d\ude00 \\ \" \/ \n"
"""


@pytest.fixture
def path(shared_data):
    return shared_data / "bookmarks" / "a.json"


@pytest.fixture
def address(shared_service, path):
    """A service over a file with unknown members before and after the fields of a bookmark."""
    own = f'"id": "a", "uri": "{uri_of("a")}", "title": "a", "created": "2020-01-01T00:00:00Z"'
    path.write_text(f'{{{UNKNOWN}, {own}, "last": 1.50}}', encoding="utf-8")
    return shared_service.address


def decode_exactly(text):
    return json.loads(text, parse_int=str, parse_float=lambda digits: f"float {digits}")


def require_unknown(path):
    stored = decode_exactly(path.read_text(encoding="utf-8"))
    expected = decode_exactly(f'{{{UNKNOWN}, "last": 1.50}}')
    assert {name: value for name, value in stored.items() if name in expected} == expected


def test_unknown_members_survive_updates_edits_and_a_deletion_that_is_undone(address, path):
    assert put(address, "a", "A").status == 200
    path.write_text(path.read_text().replace("{", '{"added": 1.0, ', 1))
    assert put(address, "a", "New").status == 200
    require_unknown(path)
    assert ask(address, "DELETE", "/a").status == 204
    require_unknown(path)
    assert put_back(address, "a").status == 303
    (bookmark,) = ask(address).json
    restored = path.with_stem(bookmark["id"])
    assert decode_exactly(restored.read_text())["added"] == "float 1.0"
    require_unknown(restored)


@pytest.mark.parametrize("count", [1_000_000, 5_000_000])
def test_a_large_file_stays_readable_or_is_not_rewritten(address, path, count):
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-1] + ', "many": [' + "1," * (count - 1) + "1]}", encoding="utf-8")
    assert ask(address, path="/a").status == 200
    response = ask(address, "PUT", "/a", put_body(uri_of("a"), "New"))
    assert response.status != 500
    title = b"New" if response.status == 200 else b"a"
    assert ask(address, path="/a/title").body.strip() == title
    require_unknown(path)


def test_a_deeply_nested_member_is_never_lost(address, path):
    for depth in (1, 499, 500, 100_000):
        own = f'"id": "a", "uri": "{uri_of("a")}", "created": "2020-01-01T00:00:00Z"'
        path.write_text(f'{{{own}, "x": {"[" * depth}{"]" * depth}}}')
        before = path.read_bytes()
        status = ask(address, "POST", "/a", {"title": str(depth)}).status
        # The object itself is one level. The limit is the same with every version of Python.
        assert status == (200 if depth < 500 else 503)
        if status == 200:
            assert "[" * depth + "]" * depth in "".join(path.read_text().split())
        else:
            assert path.read_bytes() == before
