"""Bookmarks whose addresses differ only a little."""

import pytest

from bookmarks import main
from storage.similar import similar_key

KEY = similar_key("https://a.example/x?id=1")


@pytest.mark.parametrize(
    "uri",
    [
        "http://a.example/x?id=1", "https://www.a.example/x?id=1", "https://a.example/x?id=1#top",
        "HTTPS://A.example:443/x?id=1", "https://a.example/x?utm_source=b&id=1",
        "https://a.example/x?id=1&utm_medium=b&fbclid=c", "https://a.example/x?id=1&",
    ],
)  # fmt: skip
def test_these_addresses_are_similar(uri):
    assert similar_key(uri) == KEY


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/x", "https://a.example/x?id=2", "https://b.a.example/x?id=1",
        "ftp://a.example/x?id=1", "https://a.example/X?id=1", "https://a.example/x?nutm_a=1&id=1",
    ],
)  # fmt: skip
def test_these_addresses_are_not_similar(uri):
    assert similar_key(uri) != KEY


def test_the_command_prints_similar_addresses(app, add, data, capsys):
    ids = [add(uri)["id"] for uri in ("http://a.example", "https://www.a.example/", "data:,x#")]
    add("data:,x")
    assert main(["check", "--similar", "--data", str(data)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "similar:", f"  {ids[0]} http://a.example", f"  {ids[1]} https://www.a.example/"
    ]  # fmt: skip
