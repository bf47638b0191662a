"""Plain text: writing one line for each bookmark, and reading lists of addresses."""

import pytest

from formats.imports.text import read_file
from storage.bookmark import clean
from storage.errors import Invalid

# --- Writing ---


def list_lines(app):
    response = app.get("/?format=text", status=200)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    text = response.body.decode()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


def test_an_empty_list_is_an_empty_text(app):
    assert list_lines(app) == []


def test_a_line_has_uri_title_and_tags(add, app):
    add("https://1.example/", title="One", tags=["a", "b c"], created="2001-01-01T00:00:00Z")
    add("https://2.example/", description="Not written", created="2002-01-01T00:00:00Z")
    assert app.get("/?format=text", status=200).text == (
        "https://2.example/\thttps://2.example/\t\nhttps://1.example/\tOne\ta,b c\n"
    )


@pytest.mark.parametrize(
    "title",
    [
        "two\nlines",
        "tab\there",
        "\r\n both \t",
        "next\u0085line",
        "line\u2028and\u2029paragraph",
        "ä 😀 שלום",
        '<b> & "quotes"',
        "=1+1",
    ],
)
def test_each_bookmark_is_one_line_of_three_cells_whatever_its_title(app, add, title):
    first = add("https://1.example/", title=title, description="x\ny\tz", tags=["a b", "c\u00a0d"])
    add("https://2.example/", title=title)
    other, line = sorted(list_lines(app), reverse=True)
    assert line.split("\t") == ["https://1.example/", first["title"], "a b,c\u00a0d"]
    assert len(other.split("\t")) == 3
    assert len(line.splitlines()) == 1


# --- Reading ---


def read(text):
    return list(read_file(text.encode()))


@pytest.mark.parametrize(
    "line, fields",
    [
        ("https://a.example/", {"uri": "https://a.example/"}),
        ("  https://a.example/ \r", {"uri": "https://a.example/"}),
        ("x:y\tA title\ta,b c", {"uri": "x:y", "title": "A title", "tags": ["a", "b c"]}),
        ("x:y\tA | b\t", {"uri": "x:y", "title": "A | b", "tags": []}),
        ("x:y\tA", {"uri": "x:y", "title": "A", "tags": []}),
        ("x:y | A | b", {"uri": "x:y", "title": "A | b"}),
        ("x:y | A |", {"uri": "x:y", "title": "A |"}),
        ("x:y | ", {"uri": "x:y", "title": ""}),
        ("x:y |", {"uri": "x:y", "title": ""}),
        ("x:y|A", {"uri": "x:y|A"}),
        ("x:y|", {"uri": "x:y|"}),
    ],
)
def test_a_line_that_begins_with_a_uri_is_an_entry(line, fields):
    assert read(f"# x:y\n\n{line}\n")[0] == (3, fields, "")


@pytest.mark.parametrize(
    "line", ["a", "a b:c", "//a.example/", "a:", ":a", "Note: a", "1:2", "a\x00:b"]
)
def test_a_line_that_does_not_begin_with_a_uri_is_skipped(line):
    skipped, last = read(f"{line}\nx:y")
    assert (skipped.skip_reason, skipped.fields) == ("does not begin with a uri", {"uri": line})
    assert last.line == 2


def test_a_line_of_several_mebibytes_does_not_affect_the_next():
    large, last = read("data:," + "x" * 3_000_000 + "\nx:y\n")
    assert last == (2, {"uri": "x:y"}, "")
    with pytest.raises(Invalid, match="uri"):
        clean(large.fields)
