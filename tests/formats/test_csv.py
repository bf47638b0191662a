"""CSV: RFC 4180 with a header, which no spreadsheet runs as a formula."""

import io
import re

import pytest

from formats import csv
from formats.errors import Malformed
from formats.item import MAX_ENTRY, Item

HEADER = ["id", "uri", "title", "description", "tags", "created", "modified"]
# RFC 4180 section 2: file = [header CRLF] record *(CRLF record) [CRLF].
FIELD = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')


def read(text):
    """The records of a CSV text, by RFC 4180 to the letter: any deviation is an error."""
    records, record, at = [], [], 0
    while at < len(text):
        field = FIELD.match(text, at)
        record.append(field[2] if field[1] is None else field[1].replace('""', '"'))
        at = field.end()
        if text.startswith(",", at):
            at += 1
        else:
            assert text.startswith("\r\n", at), f"CRLF expected at {at}: {text[at - 20:at + 20]!r}"
            at += 2
            records.append(record)
            record = []
    assert record == [], "the last line has no end"
    assert {len(record) for record in records} == {len(HEADER)}
    return records


def test_the_reader_here_is_strict():
    line = ",".join("abcdefg")
    assert read(f"{line}\r\n") == [list("abcdefg")]
    assert read('"a""b,\r\n",b,c,,"",f,g\r\n') == [['a"b,\r\n', "b", "c", "", "", "f", "g"]]
    for wrong in (
        line,
        f"{line}\n",
        f"{line}\r",
        f'a"b{line[1:]}\r\n',
        f'"a"b{line[1:]}\r\n',
        "a\r\n",
    ):
        with pytest.raises(AssertionError):
            read(wrong)


@pytest.fixture
def records(app):
    """The records of the list, without the header."""

    def records():
        response = app.get("/?format=csv", status=200)
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        header, *others = read(response.body.decode())
        assert header == HEADER
        return others

    return records


def unguarded(cell):
    """A cell's value: a formula's has an apostrophe more in front."""
    return cell[1:] if re.match(r"''*[=+\-@\t\r]", cell) else cell


def test_an_empty_list_has_its_header(records):
    assert records() == []


def test_the_whole_text(app):
    fields = {"uri": "https://a.example/", "title": 'A "b", c', "description": "One\nTwo"}
    moment = "2001-02-03T04:05:06Z"
    app.put_json("/x", fields | {"tags": ["a", "b c"], "created": moment}, status=201)
    assert app.get("/?format=csv", status=200).body.decode() == (
        "id,uri,title,description,tags,created,modified\r\n"
        'x,https://a.example/,"A ""b"", c","One\nTwo","a,b c",' + f"{moment},{moment}\r\n"
    )


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        'quote " quote',
        '"',
        '""',
        "a,b",
        ",",
        "a;b\\t|c",
        "'apostrophe'",
        "'",
        "ä 😀 שלום",
        "a\u0085b\u2028c",
        "<b>&amp;</b>",
        "a=b",
        "a'=b",
        "1-1",
    ],
)
def test_a_value_is_kept_as_it_is(add, records, value):
    tag = value.replace(",", "").replace("\u0085", "").replace("\u2028", "") or "x"
    bookmark = add(title=value, description=f"{value}\n{value}", tags=[tag, "y"])
    (record,) = records()
    expected = [bookmark[name] for name in HEADER]
    expected[4] = f"{tag},y"
    assert record == expected


FORMULAS = [
    "=1+1",
    '=HYPERLINK("https://a.example/","x")',
    "+1",
    "-1",
    "-",
    "=",
    "@SUM(A1:A9)",
    "=cmd|' /C calc'!A0",
    "'=1+1",
    "''''@x",
    "'-",
]


@pytest.mark.parametrize("value", FORMULAS)
def test_a_formula_gets_one_apostrophe_more(add, records, value):
    tag = value.replace(",", "")
    bookmark = add(title=value, description=value, tags=[tag, "y"])
    (record,) = records()
    assert record[2:5] == [f"'{value}", f"'{value}", f"'{tag},y"]
    assert [unguarded(cell) for cell in record[2:5]] == [
        bookmark["title"],
        bookmark["description"],
        ",".join(bookmark["tags"]),
    ]


@pytest.mark.parametrize("value", ["'", "'a", "''", "a\n=1", "１", "＝1"])
def test_what_is_no_formula_gets_none(add, records, value):
    add(title="x", description=value)
    (record,) = records()
    assert record[3] == value


def test_only_the_first_of_the_tags_begins_the_cell(add, records):
    add(tags=["a", "=b"])
    (record,) = records()
    assert record[4] == "a,=b"


def test_a_record_for_each_bookmark_in_the_order_of_the_list(app, add, records):
    for n in range(5):
        add(f"https://{n}.example/", description="\n" * n + "x")
    assert [record[0] for record in records()] == [b["id"] for b in app.get("/", status=200).json]


# --- Reading files ---

OURS = ",".join(HEADER)


def items(text):
    return list(csv.read_file(io.BytesIO(text.encode())))


def test_our_own_header_and_only_that_gives_ids():
    row = "x,https://a.example/,T,,,,"
    assert items(f"{OURS}\r\n{row}\r\n")[0].fields["id"] == "x"
    assert items(f"{OURS.replace(',', ';')}\n{row.replace(',', ';')}")[0].fields["id"] == "x"
    for other in (OURS.upper(), OURS.replace("tags", "labels"), OURS.replace("id,uri", "uri,id")):
        assert "id" not in items(f"{other}\r\n{row}\r\n{'b:c,' * 6}c:d")[-1].fields


@pytest.mark.parametrize(
    "cell, value",
    [("'=1", "=1"), ("''=1", "'=1"), ("'x", "'x"), ("=1", "=1"), ("'", "'"), ("'-", "-")],
)
def test_one_apostrophe_of_ours_is_taken_off(cell, value):
    (item,) = items(f"{OURS}\r\nx,a:b,{cell},{cell},{cell},,\r\n")
    assert (item.fields["title"], item.fields["description"]) == (value, value)
    assert item.fields["tags"] == [value]
    (item,) = items(f"url,title\na:b,{cell}\n")
    assert item.fields["title"] == cell


@pytest.mark.parametrize(
    "name", ["url", "URI", "Link", "HREF", "Address", " url ", "given_url", '"url"']
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_are_known_by_their_names(name, delimiter):
    head = delimiter.join(["Nothing", name, "Labels", "NAME", "Date Added", "Note"])
    row = delimiter.join(["x", "a:b", "c|d", "T", "1456433741", "N"])
    assert items(f"{head}\n{row}\n")[0].fields == {
        "uri": "a:b",
        "title": "T",
        "description": "N",
        "tags": ["c", "d"],
        "created": "2016-02-25T20:55:41Z",
    }


@pytest.mark.parametrize(
    "head, row, more",
    [
        # Readwise Reader.
        (
            "Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen",
            "T,a:b,01,\"['x', 'y z']\",2023-01-02 03:04:05+00:00,0,archive,True",
            {"tags": ["x", "y z"]},
        ),
        # Wallabag.
        (
            "Title;URL;Content;Tags;MIME Type;Language;Creation date",
            "T;a:b;<p>;x, y z;text/html;en;02/01/2023 03:04:05\n"
            "T;a:b;<p>;x, y z;text/html;en;2023-01-02 03:04:05",
            {"tags": ["x", "y z"]},
        ),
    ],
)
def test_columns_of_other_programs(head, row, more):
    found = items(f"{head}\n{row}\n")[-1].fields
    assert found == {"uri": "a:b", "title": "T", "created": "2023-01-02T03:04:05Z"} | more


@pytest.mark.parametrize(
    "cell, tags",
    [
        ('"a, b"', ["a", "b"]),
        ("a|b", ["a", "b"]),
        ("a;b", ["a", "b"]),
        ('"a;b,c"', ["a;b", "c"]),
        ('"[""a"",""b c""]"', ["a", "b c"]),
        ('"[""a"""', ['["a"']),
        ("[1]", None),
        ("\"['x', 'y z']\"", ["x", "y z"]),
        ('"[a,""b c""]"', ["a", "b c"]),
        ("[a]", ["a"]),
        ("[]", None),
        ('"' + "[" * 9999 + '"', ["[" * 9999]),
        ("", None),
    ],
)
def test_tags_of_others(cell, tags):
    assert items(f"url,tags\na:b,{cell}\n")[0].fields.get("tags") == tags


@pytest.mark.parametrize(
    "cells, tags",
    [
        ("1,1,1", ["x", "private", "toread", "unread"]),
        ("true,Yes,no", ["x", "private", "toread"]),
        ("0,false,", ["x"]),
        ("2,public,maybe", ["x"]),
    ],
)
def test_a_mark_that_is_set_is_a_tag(cells, tags):
    found = items(f"url,tags,private,To Read,unread\na:b,x,{cells}\n")
    assert found == [Item(2, {"uri": "a:b", "tags": tags})]
    found = items(f"url,private,toread,unread\na:b,{cells}\n")
    assert found[0].fields.get("tags", []) == tags[1:]


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\nc,d\n", "\x00", "x" * 99, ",;\t", "title\nA\n"])
def test_without_a_column_for_the_address_it_is_none(text):
    with pytest.raises(Malformed, match="column"):
        items(text)


@pytest.mark.parametrize("start", ["x" * MAX_ENTRY, "sep=;\n" + "x" * MAX_ENTRY, " " * MAX_ENTRY])
def test_a_first_line_that_is_too_long_is_none(app, start):
    body = f"{start},url\na:1,1\n".encode()
    problem = app.post("/", body, content_type="text/csv", status=400).json
    assert "larger than" in problem["detail"]


def test_empty_lines_before_the_header_are_none():
    assert items("\n \nsep=;\n\nurl;title\na:1;1\n") == [Item(6, {"uri": "a:1", "title": "1"}, "")]


def lines(text):
    """Of each entry its line and its uri, or why it is skipped."""
    return [(item.line, item.skipped or item.fields["uri"]) for item in items(text)]


NEVER_CLOSED = "has a wrong quote: unexpected end of data"
WRONG_QUOTE = "has a wrong quote: ',' expected after '\"'"


def test_a_quote_that_is_never_closed_loses_the_rows_that_are_named():
    found = lines('url,title\na:1,1\na:2,"open\na:3,3\na:4,4\n')
    assert found == [(2, "a:1"), (3, f"{NEVER_CLOSED}, up to line 5")]


def test_rows_behind_a_wrong_quote_are_read():
    found = lines('url,title\na:1,"two\nlines"\na:3,"open\na:4,4\na:5,"One, two"\na:6,x\n')
    assert found == [(2, "a:1"), (4, f"{WRONG_QUOTE}, up to line 6"), (7, "a:6")]
    assert lines('url,title\na:1,"x"y\na:2,2\n') == [(2, WRONG_QUOTE), (3, "a:2")]


def test_a_quote_that_the_next_row_closes_makes_no_bookmark_of_both():
    found = lines('url,title,note\na:1,A,"open\na:2,B,"note b"\na:3,C,x\n')
    assert found == [(2, f"{WRONG_QUOTE}, up to line 3"), (4, "a:3")]


def test_a_row_of_several_lines_that_is_whole_is_one_row():
    found = lines('url,title\n"a:1\na:2,2\na:3,3"\na:4,4\n')
    assert found == [(2, "has 1 cells, not 2, up to line 4"), (5, "a:4")]


def test_a_mark_takes_no_place_of_a_tag():
    tags = [f"t{number}" for number in range(100)]
    (found,) = items(f'url,tags,private\na:b,"{",".join(tags)}",1\n')
    assert found.fields["tags"] == tags


def test_a_bad_row_does_not_stop_the_rest():
    large = '"' + "x" * 200_000 + '"'
    text = f'url,title\na:1,1\nshort\na:2,2,3\n,none\n{large},x\na:\x00,2"x\n\n,\na:3,3\na:4,"open'
    assert lines(text) == [
        (2, "a:1"),
        (3, "has 1 cells, not 2"),
        (4, "has 3 cells, not 2"),
        (5, "has no uri"),
        (6, large[1:-1]),
        (7, "a:\x00"),
        (10, "a:3"),
        (11, NEVER_CLOSED),
    ]


@pytest.mark.parametrize("endless", ['"\n', '"x","\n', "x,", '"",'])
def test_a_row_without_end_is_bounded(endless):
    text = "url,title\na:1,1\n" + endless * (3 * MAX_ENTRY // len(endless)) + "\na:2,2\n"
    found = items(text)
    assert found[0].fields["uri"] == "a:1"
    assert any(item.skipped for item in found[1:])
    assert max(len(str(item)) for item in found) < 2 * MAX_ENTRY
