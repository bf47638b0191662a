"""Plain text for grep and cut: uri TAB title TAB tags, one line each."""

import pytest


def lines(app):
    response = app.get("/?format=text", status=200)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    text = response.body.decode()
    assert text == "" or text.endswith("\n")
    return text.split("\n")[:-1]


def test_an_empty_list_has_no_line(app):
    assert lines(app) == []


def test_the_whole_text(add, app):
    add("https://1.example/", title="One", tags=["a", "b c"], created="2001-01-01T00:00:00Z")
    add("https://2.example/", description="Not told", created="2002-01-01T00:00:00Z")
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
def test_each_bookmark_is_one_line_of_three_cells(app, add, title):
    first = add("https://1.example/", title=title, description="x\ny\tz", tags=["a b", "c\u00a0d"])
    add("https://2.example/", title=title)
    other, line = sorted(lines(app), reverse=True)
    assert line.split("\t") == ["https://1.example/", first["title"], "a b,c\u00a0d"]
    assert len(other.split("\t")) == 3
    assert len(line.splitlines()) == 1
