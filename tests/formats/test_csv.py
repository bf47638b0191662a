"""CSV: RFC 4180 with a header, which no spreadsheet runs as a formula."""

import re

import pytest

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
