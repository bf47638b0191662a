"""CSV (RFC 4180): writing with guarded formulas, and reading this and other programs' files."""

import csv
import io
import re

import pytest

from formats.imports.csv import read_file
from formats.imports.entry import ImportedEntry
from storage.errors import Malformed
from storage.importer import NOT_READ, NOTE

OWN_HEADER = "id,uri,title,description,tags,created,modified"


# --- Writing ---

def test_a_bookmark_is_one_row_with_quoted_cells_where_needed(app):
    fields = {"uri": "https://a.example/", "title": 'A "b", c', "description": "One\nTwo"}
    date = "2001-02-03T04:05:06Z"
    app.put_json("/x", fields | {"tags": ["a", "b c"], "created": date}, status=201)
    response = app.get("/?format=csv", status=200)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert response.body.decode() == (
        "id,uri,title,description,tags,created,modified\r\n"
        'x,https://a.example/,"A ""b"", c","One\nTwo","a,b c",' + f"{date},{date}\r\n"
    )


FORMULAS = [
    "=1+1", '=HYPERLINK("https://a.example/","x")', "+1", "-1", "-", "=", "@SUM(A1:A9)",
    "=cmd|' /C calc'!A0", "'=1+1", "''''@x", "'-",
]  # fmt: skip
PLAIN = [
    "plain", 'quote " quote', '"', '""', "a,b", ",", "a;b\\t|c", "'apostrophe'", "'", "''", "'a",
    "ä 😀 שלום", "a\u0085b\u2028c", "<b>&amp;</b>", "a=b", "a'=b", "1-1", "a\n=1", "１", "＝1",
]  # fmt: skip


def test_only_a_formula_gets_an_apostrophe_in_front(app, add):
    expected = {}
    for number, value in enumerate([*FORMULAS, *PLAIN]):
        tag = re.sub("[,\n\u0085\u2028]", "", value) or "x"
        fields = {"title": value, "description": f"{value}\n{value}", "tags": [tag, "=y"]}
        bookmark = add(f"x:{number}", **fields)
        guard = "'" if value in FORMULAS else ""
        texts = [bookmark["title"], bookmark["description"], f"{tag},=y"]
        expected[bookmark["id"]] = [guard + text for text in texts]
    text = app.get("/?format=csv", status=200).body.decode()
    _, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert {row[0]: row[2:5] for row in rows} == expected


# --- Reading ---

def read(text):
    return [entry for entry in read_file(text.encode()) if entry.skip_reason != NOT_READ]


def test_ids_are_read_under_this_services_own_header_only():
    row = "x,https://a.example/,T,,,,"
    assert read(f"{OWN_HEADER}\r\n{row}\r\n")[0].fields["id"] == "x"
    assert read(f"{OWN_HEADER.replace(',', ';')}\n{row.replace(',', ';')}")[0].fields["id"] == "x"
    short = read(f"{OWN_HEADER}\nx,a:b,T\n")[0].fields
    assert short == {"id": "x", "uri": "a:b", "title": "T"}
    older = read("id,uri,title,created,modified\nx,a:b,'=1,,\n")[0].fields
    assert (older["id"], older["title"]) == ("x", "=1")
    for header in (OWN_HEADER.upper(), OWN_HEADER.replace("tags", "labels")):
        assert "id" not in read(f"{header}\r\n{row}\r\n{'b:c,' * 6}c:d")[-1].fields


@pytest.mark.parametrize(
    "cell, value",
    [("'=1", "=1"), ("''=1", "'=1"), ("'x", "'x"), ("=1", "=1"), ("'", "'"), ("'-", "-")],
)
def test_one_guarding_apostrophe_is_removed_under_the_own_header_only(cell, value):
    (entry,) = read(f"{OWN_HEADER}\r\nx,a:b,{cell},{cell},{cell},,\r\n")
    assert (entry.fields["title"], entry.fields["description"]) == (value, value)
    assert entry.fields["tags"] == [value]
    (entry,) = read(f"url,title\na:b,{cell}\n")
    assert entry.fields["title"] == cell


@pytest.mark.parametrize("name", ["url", "HREF", " url ", "given_url", '"url"'])
def test_columns_are_recognized_by_their_names_and_any_delimiter(name):
    expected = {"uri": "a:b", "title": "T", "description": "N", "tags": ["c", "d"]}
    for delimiter in (",", ";", "\t"):
        head = delimiter.join(["Nothing", name, "Labels", "NAME", "Date Added", "Note"])
        row = delimiter.join(["x", "a:b", "c|d", "T", "1456433741", "N"])
        (entry,) = read(f"{head}\n{row}\n")
        assert entry.fields == expected | {"created": "2016-02-25T20:55:41Z"}
    assert read(f"{name},Category,tags\na:b,x|y,z\n")[0].fields["tags"] == ["x", "y", "z"]


def test_a_cell_that_is_no_date_is_kept_for_the_report_and_an_unknown_date_ignored():
    for cell in ("20240102", "500000000", "45292.5", "2020", "9" * 20):
        (entry,) = read(f"url,created\na:b,{cell}\n")
        assert entry.fields == {"uri": "a:b", "created": cell}
    for cell in ("0", "-62135596800", "n/a", "N/A", "-"):
        assert read(f"url,created\na:b,{cell}\n")[0].fields == {"uri": "a:b"}


@pytest.mark.parametrize("cell, tags", [
    ("a|b", ["a", "b"]),
    ('"a;b,c"', ["a;b", "c"]),
    ('"[""a"",""b c""]"', ["a", "b c"]),
    ('"[""a"""', ['["a"']),
    ("[1]", [1]),
    ("\"['x', 'y z']\"", ["x", "y z"]),
    ('"[a,""b c""]"', ["a", "b c"]),
    ("{}", None),
    ("no_tag", None),
    ('"' + "[" * 9999 + '"', ["[" * 9999]),
])  # fmt: skip
def test_tags_are_split_at_the_separators_of_other_programs(cell, tags):
    assert read(f"url,tags\na:b,{cell}\n")[0].fields.get("tags") == tags


@pytest.mark.parametrize("cells, tags", [
    ("1,1,1", ["x", "private", "unread"]),
    ("true,Yes,no", ["x", "private", "unread"]),
    ("2,public,maybe", ["x"]),
    ("X,on,off", ["x", "private", "unread"]),
])  # fmt: skip
def test_private_toread_and_unread_become_tags_if_they_are_true(cells, tags):
    entries = read(f"url,tags,private,To Read,unread\na:b,x,{cells}\n")
    assert entries == [ImportedEntry(2, {"uri": "a:b", "tags": tags})]
    entries = read(f"url,private,toread,unread\na:b,{cells}\n")
    assert entries[0].fields.get("tags", []) == tags[1:]


def test_a_file_without_a_column_for_the_address_is_malformed():
    for text in ("", "\n\n", "a,b\nc,d\n", "\x00", "x" * 99, ",;\t", "title\nA\n"):
        with pytest.raises(Malformed, match="column"):
            read(text)


def test_empty_lines_before_the_header_are_ignored():
    (entry,) = read("\n\nsep=;\n\nurl;title\na:1;1\n")
    assert entry == ImportedEntry(6, {"uri": "a:1", "title": "1"})


def lines_and_outcomes(text):
    outcomes = []
    for place, fields, skip_reason in read(text):
        outcomes.append((place, fields.get(NOTE) or skip_reason or fields["uri"]))
    return outcomes


UNCLOSED_QUOTE = "has a misplaced quotation mark: unexpected end of data"
WRONG_QUOTE = "has a misplaced quotation mark: ',' expected after '\"'"


@pytest.mark.parametrize("rows, outcomes", [
    ('a:1,1\na:2,"open\na:3,3\na:4,4', [(2, "a:1"), (3, UNCLOSED_QUOTE), (4, "a:3"), (5, "a:4")]),
    ('a:1,"x"y\na:2,2', [(2, WRONG_QUOTE), (3, "a:2")]),
    ('a:1,"two\nlines"\na:3,"open\na:4,4\na:5,"One, two"', [
        (2, "a:1"), (4, WRONG_QUOTE), (5, "a:4"), (6, "a:5"),
    ]),
    # One unclosed quote joins two rows.
    ('a:1,"open\na:2,"note b"\na:3,x', [(2, WRONG_QUOTE), (3, "a:2"), (4, "a:3")]),
    # A quoted row of several lines is one row.
    ('"a:1\na:2,2\na:3,3"\na:4,4', [(2, "has 1 cells, not 2, up to line 4"), (5, "a:4")]),
])  # fmt: skip
def test_the_rows_after_a_misplaced_quote_are_read(rows, outcomes):
    assert lines_and_outcomes(f"url,title\n{rows}\n") == outcomes


@pytest.mark.parametrize("row, title, tags", [
    ('a:1,"open,x', "open,x", []),
    ('a:1,"x"y,z', "xy", ["z"]),
    ('a:1,T,"a"b,c"', "T", ["ab"]),
    ('"a:1","My "best" page","z"', 'My best" page"', ["z"]),
    (' a:1 ,"x"y', "xy", []),
    ('"a:1 ","x"y', "xy", []),
    ('"a:1","x" , z', "x", ["z"]),
])  # fmt: skip
def test_a_misplaced_quotation_mark_costs_no_bookmark_and_is_named(app, row, title, tags):
    body = f"url,title,tags\n{row}\na:2,2,2\n".encode()
    report = app.post("/-/import", body, {"Content-Type": "text/csv"}).json
    assert (report["created"], report["skipped"], report["noted"]) == (2, 0, 1)
    (entry,) = report["entries"]
    assert (entry["line"], entry["value"]) == (2, "a:1")
    assert entry["reason"].startswith("stored, but has a misplaced quotation mark: ")
    (stored,) = app.get("/?uri=a:1").json
    assert (stored["title"], stored["tags"]) == (title, tags)


@pytest.mark.parametrize("row", [
    '"a:1,T,x', 'T,"a:1', '"a:1"x,T', 'a"1,"T', '"a:1"x,T,a:1', 'T,"a:1""',
])  # fmt: skip
def test_a_row_with_a_misplaced_quotation_mark_needs_a_certain_uri(row):
    for text in (f"url,title,tags\n{row}", f"url,title,tags\n{row}\n"):
        (entry,) = read(text)
        assert entry.skip_reason.startswith("has a misplaced quotation mark")


def test_a_mark_does_not_replace_one_of_100_tags_and_is_named(app):
    tags = [f"t{number}" for number in range(100)]
    body = f'url,tags,private\na:b,"{",".join(tags)}",1\n'.encode()
    report = app.post("/-/import", body, {"Content-Type": "text/csv"}).json
    assert report["entries"][0]["reason"] == "stored, but only the first 100 tags are kept"
    assert app.get("/").json[0]["tags"] == tags


def test_a_wrong_row_is_skipped_and_the_others_are_read():
    large = '"' + "x" * 200_000 + '"'
    text = f'url,title\na:1,1\n\na:2,2,3\n,none\n{large},x\na:\x00,2"x\n\n,\na:3,3\na:4,"open'
    assert lines_and_outcomes(text) == [
        (2, "a:1"), (4, "a:2"), (5, "has no uri"), (6, large[1:-1]), (7, "a:\x00"),
        (9, "is no bookmark"), (10, "a:3"), (11, UNCLOSED_QUOTE),
    ]  # fmt: skip


def test_a_cell_beyond_the_header_costs_no_bookmark_and_is_counted():
    entry, note = read_file(b"url,title\na:1,One, two\n")
    assert entry == (2, {"uri": "a:1", "title": "One"}, "")
    assert note == (0, {"a column without a name": 1}, NOT_READ)
    row = "a,a:1,A,,,2024-02-29T12:00:00Z,2024-02-29T12:00:00Z,two"
    _, note = read_file(f"{OWN_HEADER}\n{row}\n".encode())
    assert note == (0, {"a column without a name": 1}, NOT_READ)


@pytest.mark.parametrize("row", ["a:1", "a:1,T", ' a:1 ,"T\nT"', "a:1,,N"])
def test_a_row_that_is_too_short_needs_its_uri(row):
    (entry,) = read(f"url,title,note,tags\n{row}\n")
    assert (entry.fields["uri"], entry.skip_reason) == ("a:1", "")
    (entry,) = read("title,url,note,tags\nT\n")
    assert entry.skip_reason == "has 1 cells, not 4"


@pytest.mark.parametrize("row", [",A,,B", ',"A', ",,N,"])
def test_a_skipped_row_is_named_by_its_text(row):
    (entry,) = read(f"url,title,note,tags\n{row}\n")
    assert entry.skip_reason
    assert entry.fields == {"title": row}


LONG = "x" * 20_000


@pytest.mark.parametrize("large, next_line", [
    (f"a:2,{LONG}{LONG}", 4),
    (f'a:2,"{LONG}\n{LONG}"', 5),
    ("a:2" + ",x" * 20_000, 4),
    ('a:2,"open', 4),
], ids=["cell", "lines", "cells", "unclosed quote"])  # fmt: skip
def test_the_rows_after_a_too_large_row_are_read(monkeypatch, large, next_line):
    # Reading a row of 1 MiB takes seconds.
    monkeypatch.setattr("formats.imports.csv.MAX_ENTRY", 30_000)
    rows = f"{large}\na:3,{LONG}\na:4,{LONG}\na:5,5\n"
    outcomes = lines_and_outcomes(f"url,title\na:1,1\n{rows}")
    assert outcomes[0] == (2, "a:1")
    assert outcomes[1][0] == 3 and outcomes[1][1].startswith("is larger than")
    assert outcomes[-3:] == [(next_line, "a:3"), (next_line + 1, "a:4"), (next_line + 2, "a:5")]


def test_each_column_with_values_that_is_not_read_is_named_with_their_number():
    text = "url,title,highlights,empty,,link\na:1,A,x,,1,a:4\na:2,B,y, ,2\na:3,C\n"
    *_, last = read_file(text.encode())
    assert last == (0, {"highlights": 2, "a column without a name": 2, "link": 1}, NOT_READ)
