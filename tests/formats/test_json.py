"""JSON as a file: ours and that of others, read entry by entry."""

import io
import json

import pytest

from formats.errors import Malformed, Refused
from formats.item import MAX_ENTRY
from formats.json import read_file, read_upload, write
from formats.view import View
from storage.bookmark import create


def items(text):
    return list(read_file(io.BytesIO(text.encode())))


def malformed(data):
    """The error of a file of which no entry is handed on."""
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(Malformed) as error:
        next(read_file(stream))
    return str(error.value)


MOMENTS = ("2023-01-02T03:04:05+0100", "2023-01-02T03:04:06.789Z")
DATED = {"created": "2023-01-02T02:04:05Z", "modified": "2023-01-02T03:04:06Z"}


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 40, 41])
def test_each_bookmark_is_written_on_a_line_of_its_own(count):
    written = [create({"uri": f"a:{n}"}, f"b{n}", "2024-01-01T00:00:00Z") for n in range(count)]
    text = b"".join(write(written, View(""))).decode()
    assert [one["id"] for one in json.loads(text)] == [b.id for b in written]
    if count:
        first, *lines, last = text.splitlines()
        assert (first, last) == ("[", "]")
        assert [json.loads(line.rstrip(","))["id"] for line in lines] == [b.id for b in written]


@pytest.mark.parametrize("text", ["[]", " [ ] ", '{"results": []}', '{"results":[],"next":null}'])
def test_there_may_be_nothing(text):
    assert items(text) == []


def test_a_single_object_is_one_of_ours():
    fields = {"uri": "a:b", "tags": ["x"], "stars": 5, "private": True, "created": "never"}
    assert items(json.dumps(fields)) == [(1, fields, "")]
    assert items(json.dumps([fields, fields])) == [(1, fields, "")] * 2


def test_lines_are_counted():
    found = items('\n[\n {"uri":\n "a:1"},\n\n {"uri": "a:2"}, {"uri": "a:3"}\n]\n')
    assert [item.line for item in found] == [3, 6, 6]


@pytest.mark.parametrize(
    "value, reason",
    [
        ("1", "is no object"),
        ('"a:b"', "is no object"),
        ("null", "is no object"),
        ("[]", "is no object"),
        ("{}", "has no uri"),
        ('{"uri": ""}', "has no uri"),
        ('{"uri": "a:b", "uri": "c:d"}', "has the same name twice"),
        ('{"uri": "a:b", "title": [{"x": 1, "x": 2}]}', "has the same name twice"),
        ('{"uri": "' + "x" * 2 * MAX_ENTRY + '"}', "is larger than 1,048,576 characters"),
        ('"' + '\\"{' * MAX_ENTRY + '"', "is larger than 1,048,576 characters"),
        ("[" + "[]," * MAX_ENTRY + "[]]", "is larger than 1,048,576 characters"),
    ],
    ids=lambda value: value[:30],
)
def test_a_bad_entry_does_not_stop_the_rest(value, reason):
    first, bad, last = items(f'[{{"uri":"a:1"}},\n{value},\n{{"uri":"a:2"}}]')
    assert (first.fields, last.fields) == ({"uri": "a:1"}, {"uri": "a:2"})
    assert (bad.line, bad.skipped, last.line) == (2, reason, 3)


@pytest.mark.parametrize(
    "rest, reason",
    [
        ("", "its end is missing in line 2"),
        (",\n", "its end is missing in line 3"),
        ("\n\n{", "expected ',' or ']' in line 4"),
        (', {"uri": "a', "its end is missing in line 2"),
        (",\nx]", "invalid character in line 3"),
        (",]", "trailing comma in array in line 2"),
        ('] ["a"]', "trailing characters in line 2"),
        (',\r\n {"uri": "a:b" "title": ""}]', "expected ',' or '}' in line 3"),
        (', {"uri": "\t"}]', "invalid character in line 2"),
        (', {"uri": "a:b", "title": NaN}]', "invalid character in line 2"),
        (', {"uri": "a:b", "title": "\\x41"}]', "invalid escaped character in line 2"),
        (", 01]", "invalid number in line 2"),
        (", " + "[" * 99_999, "nested too deep"),
        (', {"x": ' + "[" * 99_999 + "]" * 99_999 + "}]", "nested too deep"),
    ],
    ids=lambda text: text[:30],
)
def test_of_a_malformed_document_no_entry_is_taken(rest, reason):
    assert reason in malformed('[\n{"uri":"a:1"}' + rest)


@pytest.mark.parametrize(
    "text", ["", " ", "nothing", '{"a" 1}', "{1: 2}", '{"a":1', '{"children": [}']
)
def test_what_is_no_json_is_malformed(text):
    assert "in line 1" in malformed(text)


@pytest.mark.parametrize("text", ["1", '"a"', "null"])
def test_another_json_value_is_no_file(text):
    assert "must be an array or an object" in malformed(text)


@pytest.mark.parametrize(
    "data, line",
    [
        (b'[{"uri": "a:b",\n"title": "\xe9"}]', 2),
        (b'[\r\r{"uri": "a:b", "title": "\xc3', 3),
        (b"[" + b"\n" * 100_000 + b'"\xed\xa0\x80"]', 100_001),
        ('[\n\n"'.encode("utf-16") + b"\x00\xd8" + '"]'.encode("utf-16-le"), 3),
        ("[\n]".encode("utf-16") + b"\x00", 2),
    ],
    ids=ascii,
)
def test_bytes_that_are_not_valid_in_the_charset_are_malformed(data, line):
    assert malformed(data).endswith(f"in line {line}.")


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
def test_charsets(charset):
    text = '[\n{"uri": "a:é😀"}]'
    assert list(read_file(io.BytesIO(text.encode(charset)))) == [(2, {"uri": "a:é😀"}, "")]


def test_equal_entries_have_their_own_lines():
    texts = ["5", "{}", '{"children": []}', "5", "[5]", "{}", '{"children": [\n5,\n5]}', "5"]
    flat = items("[" + ",\n".join(texts) + "]")
    assert [item.line for item in flat] == [1, 2, 3, 4, 5, 6, 7, 10]
    tree = items('{"title": "5",\n"children": [\n' + ",\n".join(texts) + "]}")
    assert [item.line for item in tree] == [3, 4, 6, 7, 8, 10, 11, 12]


@pytest.mark.parametrize(
    "entry, most",
    [
        (b"{}", 499_999),
        (b"[[]]", 249_999),
        (b'{"a":"[{[{\\"[,,,,,,"}', 499_999),
        (b"1", 4_000_000),
    ],
)
def test_the_number_of_values_is_limited_over_http_alone(entry, most):
    fits, exceeds = (b"[" + b",".join([entry] * count) + b"]" for count in (most, most + 1))
    assert next(read_upload(io.BytesIO(fits))).line == 1
    with pytest.raises(Refused, match="bookmarks import") as error:
        next(read_upload(io.BytesIO(exceeds)))
    assert error.value.status == 413
    assert next(read_file(io.BytesIO(exceeds))).line == 1


@pytest.mark.parametrize(
    "value, fields",
    [
        ({"href": "a:b", "description": "T", "tags": "x y"}, {"title": "T", "tags": ["x", "y"]}),
        ({"href": "a:b", "description": False, "tags": None}, {}),
        ({"href": "a:b", "shared": "no", "toread": "yes"}, {"tags": ["private", "toread"]}),
        ({"href": "a:b", "shared": "no", "private": False}, {"tags": ["private"]}),
        (
            {"href": "a:b", "time": 5, "extended": "E"},
            {"created": "1970-01-01T00:00:05Z", "description": "E"},
        ),
        ({"url": "a:b", "tag_names": ["x, y"], "unread": True}, {"tags": ["x", "y", "unread"]}),
        ({"url": "a:b", "tags": "x y,z", "title": "T"}, {"tags": ["x y", "z"], "title": "T"}),
        ({"url": "a:b", "tags": [1], "description": 5}, {"tags": [1], "description": [5]}),
        ({"url": "a:b", "tags": 5, "date_added": [], "notes": ""}, {"tags": 5}),
        ({"url": "a:b", "name": "N", "comments": 5, "label": 5, "folder": 5}, {"title": "N"}),
        ({"url": "a:b", "name": "N", "Title": "T", "given-url": "c:d"}, {"title": "N"}),
        ({"url": "a:b", "time": 5, "labels": [{"id": 5}, [1], None]}, {}),
        ({"url": "a:b", "labels": ["x"] * 150}, {"tags": ["x"] * 100}),
        ({"url": "a:b", "roots": [1]}, {}),
        ({"Link": "a:b", "Title": "T"}, {"title": "T"}),
        ({"href": "a:b", "title": "T", "link": "/api/1"}, {"title": "T"}),
        (
            {"href": "a:b", "title": "", "description": "P", "tags": "x y", "toread": "yes"},
            {"title": "P", "tags": ["x", "y", "toread"]},
        ),
        ({"href": "a:b", "title": "T", "description": "D"}, {"title": "T", "description": "D"}),
        # Wallabag, Omnivore and Readwise.
        (
            {"url": "a:b", "tags": ["x y"], "created_at": MOMENTS[0], "updated_at": MOMENTS[1]},
            {"tags": ["x y"], **DATED},
        ),
        (
            {"url": "a:b", "labels": [{"name": "x"}, "y"], "savedAt": MOMENTS[0], "updatedAt": 1},
            {"tags": ["x", "y"], "created": DATED["created"]},
        ),
        (
            {"url": "a:b", "document_tags": "x,y z", "saved_date": "", "Created": MOMENTS[0]},
            {"tags": ["x", "y z"], "created": DATED["created"]},
        ),
        ({"href": "a:b", "createdAt": MOMENTS[0], "lastModified": MOMENTS[1]}, DATED),
        # Raindrop's API.
        (
            {"link": "a:b", "title": "T", "excerpt": "E", "note": "N", "tags": ["x"]},
            {"title": "T", "description": "N\n\nE", "tags": ["x"]},
        ),
        ({"url": "a:b", "createdAt": 1672625045, "time": 5}, {"created": DATED["created"]}),
        ({"url": "a:b", "createdAt": 5, "savedAt": MOMENTS[0]}, {"created": DATED["created"]}),
        ({"url": "a:b", "tags": [{"name": "x"}], "content": {"url": "c:d"}}, {"tags": ["x"]}),
        ({"link": "a:b", "content": {"url": "c:d", "title": "T"}}, {}),
        # Shaarli's API.
        (
            {"url": "a:b", "tags": ["x"], "private": True, "created": MOMENTS[0], "updated": ""},
            {"tags": ["x", "private"], "created": DATED["created"]},
        ),
    ],
)
def test_objects_of_others(value, fields):
    assert items(json.dumps([value])) == [(1, {"uri": "a:b"} | fields, "")]


@pytest.mark.parametrize("content", [None, "", "x", {}, [], {"url": ""}, {"url": None}, ["url"]])
def test_content_without_a_uri_gives_none(content):
    assert items(json.dumps([{"content": content}]))[0].skipped == "has no uri"


def test_content_is_nothing_to_one_of_ours():
    fields = {"uri": "a:b", "content": {"url": "c:d", "title": "T"}}
    assert items(json.dumps([fields])) == [(1, fields, "")]


@pytest.mark.parametrize(
    "texts, description",
    [
        ({"notes": "    N", "description": "D"}, "D\n\n    N"),
        ({"comment": "C", "excerpt": "E", "description": "D"}, "D\n\nC\n\nE"),
        ({"excerpt": "E", "Notes": "N", "note": "n"}, "n\n\nE\n\nN"),
        ({"description": "D", "notes": "D", "excerpt": "D", "note": "N"}, "D\n\nN"),
        ({"description": "", "note": " ", "excerpt": None, "comments": 5}, None),
        ({"description": "D", "note": {"x": 1}, "comments": ["C"], "extended": True}, "D"),
        ({"description": "D", "notes": 5, "note": "N"}, ["D", 5]),
    ],
)
def test_an_entry_has_all_its_texts_each_once(texts, description):
    (item,) = items(json.dumps([{"url": "a:b"} | texts]))
    assert item.fields.get("description") == description
    assert not item.skipped


@pytest.mark.parametrize(
    "value, tags",
    [
        *((value, ["private", "toread", "unread"]) for value in (True, 1, "1", "yes", "TRUE ")),
        *((value, []) for value in (False, 0, 2, 1.5, "0", "no", "", None, [True], {"x": 1})),
    ],
)
@pytest.mark.parametrize("entry", [{"url": "a:b"}, {"href": "a:b"}, {"Link": "a:b", "tags": []}])
def test_a_mark_that_is_set_is_a_tag(entry, value, tags):
    marks = {"private": value, "toread": value, "Unread": value, "shared": False}
    (item,) = items(json.dumps([entry | marks]))
    assert item == (1, {"uri": "a:b"} | ({"tags": tags} if tags else {}), "")


@pytest.mark.parametrize("count", [0, 1, MAX_ENTRY // 20])
def test_a_profile_of_chromium_is_known(count):
    entries = [{"type": "url", "url": "a:b"}] * count
    roots = {"bookmark_bar": {"children": entries, "type": "folder"}}
    (item,) = items(json.dumps({"checksum": "x", "roots": roots, "version": 1}, indent=3))
    assert item.skipped == "is a profile of Chromium: export it as HTML in its bookmark manager"


def nested(depth):
    text = '{"type": "text/x-moz-place", "typeCode": 1, "uri": "a:b"}'
    for n in range(depth):
        text = f'{{"title": "{n}", "typeCode": 2, "children": [{text}, 5]}}'
    return text


@pytest.mark.parametrize("depth", [1, 99, 100, 300])
def test_folders_of_firefox_may_be_deep_but_not_endless(depth):
    found = [item for item in items(nested(depth)) if item.skipped != "is no object"]
    assert [item.skipped for item in found] == ["" if depth < 100 else "is nested too deep"]
