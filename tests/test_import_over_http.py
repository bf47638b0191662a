"""POST /-/import imports whole files and responds with a report."""

import json

import pytest
import webtest

from bookmarks import main, make_app
from formats.imports.detect import detect_format
from tests.formats.test_imported_files import FOLDER, SYNTAXES
from tests.formats.test_round_trips import LOSSLESS

ENTRIES = [
    {"uri": "https://example.com/?a=1&copy=2", "title": "One", "tags": ["a", "b c"]},
    {"uri": "https://example.com/2", "title": "Zwei <&> ü", "description": "x\ny"},
    {"uri": "https://example.com/3", "created": "2001-02-03T04:05:06Z"},
]
NETSCAPE = b"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
    <DT><A HREF="https://example.com/?a=1&copy=2" ADD_DATE="1" TAGS="a,b">One</A>
    <DT><A HREF="place:sort=8">Recent</A>
    <DT><A HREF="/relative">Lost</A>
    <DT><A HREF="https://example.com/2">Two</A>
</DL><p>
"""
XBEL = b"""<xbel>
<bookmark href="https://example.com/"/>
<bookmark href="%s"><title>%s</title></bookmark>
</xbel>"""
NUMBERS = ("created", "updated", "unchanged", "ignored", "skipped")
MULTIPART = "multipart/form-data; boundary=b"
MEDIA_TYPES = {
    "json": "application/json", "xbel": "application/x-xbel", "csv": "text/csv",
    "netscape": "text/html", "text": "text/plain", "opera": "text/plain",
    "outline": "text/plain", "shortcut": "text/plain",
}  # fmt: skip


def post_file(app, name, body, status=200):
    options = {"content_type": MEDIA_TYPES[name], "status": status}
    return app.post("/-/import", body, **options).json


def upload(app, body, status=200, name="file"):
    return app.post("/-/import", upload_files=[(name, "any name", body)], status=status).json


def post_multipart(app, *parts, status):
    """Send a form of these parts, each a header without its beginning and a value."""
    body = b"".join(
        b"--b\r\nContent-Disposition: form-data%s\r\n\r\n%s\r\n" % part for part in parts
    )
    options = {"method": "POST", "body": body + b"--b--\r\n", "content_type": MULTIPART}
    return app.request("/-/import", status=status, **options).json


def place(entry):
    assert len({"line", "path"} & entry.keys()) == 1
    return entry.get("line") or entry["path"]


def counts(report):
    return tuple(report[name] for name in NUMBERS)


@pytest.fixture
def other(tmp_path):
    return webtest.TestApp(make_app(tmp_path / "other"))


# --- Formats ---

@pytest.mark.parametrize("name", LOSSLESS)
def test_an_exported_file_is_imported_without_loss(app, other, name):
    report = post_file(app, "json", json.dumps(ENTRIES).encode())
    numbers = {"created": 3, "updated": 0, "unchanged": 0, "ignored": 0, "skipped": 0, "noted": 0}
    assert report == numbers | {"entries": [], "not_read": {}}
    exported = app.get(f"/?format={name}").body
    assert counts(upload(other, exported)) == (3, 0, 0, 0, 0)  # In its detected format.
    again = other.get(f"/?format={name}").body
    if name == "netscape":  # This format has no ids, so bookmarks of one second change places.
        assert sorted(again.splitlines()) == sorted(exported.splitlines())
    else:
        assert again == exported
    assert counts(post_file(other, name, exported)) == (0, 0, 3, 0, 0)


@pytest.mark.parametrize("name", [*SYNTAXES, "broken.html", "cut.csv", "galeon.xml"])
def test_a_file_has_the_same_result_in_a_form_as_a_body_and_by_the_command(
    app, other, tmp_path, capsys, name
):
    path = FOLDER / name
    body = path.read_bytes()
    report = upload(app, body)
    assert post_file(other, detect_format(body), body) == report
    (tmp_path / "command" / "bookmarks").mkdir(parents=True)
    status = main(["import", str(path), "--data", str(tmp_path / "command")])
    printed = capsys.readouterr()
    assert status == bool(report["skipped"])
    lines = [f"{path}:{place(e)}: {e['value']}: {e['reason']}\n" for e in report["entries"]]
    lines += [f"not read: {number} x {name}\n" for name, number in report["not_read"].items()]
    assert printed.err.replace("\n", " ") == "".join(lines).replace("\n", " ")
    numbers = [f"{report[name]} {name}" for name in NUMBERS]
    if report["noted"]:
        numbers.append(f"{report['noted']} noted")
    assert printed.out == ", ".join(numbers) + "\n"


def test_a_file_is_refused_where_one_bookmark_is_expected(app):
    app.put_json("/a", {"uri": "x:y", "title": "A", "description": "", "tags": []}, status=201)
    for name, body, status in (
        ("json", b'[{"uri": "https://example.com/"}]', 422),
        ("xbel", b'<xbel><bookmark href="a:1"/><bookmark href="a:2"/></xbel>', 422),
        ("xbel", b"<xbel/>", 422),
        ("netscape", NETSCAPE, 415),
        ("text", b"https://example.com/\n", 415),
    ):
        for path in ("/", "/a"):
            response = app.post(path, body, content_type=MEDIA_TYPES[name], status=status)
            assert "POST /-/import" in response.text
            response = app.post(path, upload_files=[("file", "any name", body)], status=422)
            assert "POST /-/import" in response.text
    assert len(app.get("/").json) == 1


def test_several_shortcuts_in_one_form_are_imported_with_their_names(app):
    files = [
        ("file", f"{name}.url", f"[InternetShortcut]\r\nURL=https://{name}.example/\r\n".encode())
        for name in ("a", "b")
    ]
    assert app.post("/-/import", upload_files=files, status=200).json["created"] == 2
    assert {bookmark["title"] for bookmark in app.get("/").json} == {"a", "b"}


def test_of_several_files_in_one_form_none_is_imported_if_one_cannot_be_read(app):
    page = b"<!DOCTYPE html><html><body><h1>Hello</h1></body></html>"  # It has no entry.
    several_batches = b"".join(b"https://example.com/%d\n" % n for n in range(450))
    for name, body in (("b.json", b'[{"uri": '), ("b.html", page)):
        files = [("file", "a.txt", several_batches), ("file", name, body)]
        assert app.post("/-/import", upload_files=files, status=400).json["detail"]
        assert app.get("/").json == []


def test_a_body_of_xml_is_a_file_of_any_known_kind(app):
    for number, body in enumerate((
        b'<xbel><bookmark href="x:%d"/></xbel>',
        b'<posts><post href="x:%d"/></posts>',
        b'<opml><body><outline text="A feed" xmlUrl="x:%d"/></body></opml>',
    )):  # fmt: skip
        for media_type, created in (("application/xml", 1), ("text/xml", 0)):
            report = app.post("/-/import", body % number, content_type=media_type, status=200).json
            assert report["created"] == created
    assert {bookmark["uri"] for bookmark in app.get("/").json} == {"x:0", "x:1", "x:2"}


# --- Reports ---

def test_the_report_names_each_skipped_entry_and_counts_the_ignored_ones(app):
    report = post_file(app, "netscape", NETSCAPE)
    assert counts(report) == (2, 0, 0, 1, 1)
    (entry,) = report["entries"]
    assert (entry["line"], entry["value"]) == (5, "/relative")
    rows = post_file(app, "csv", b"url,created\na:1,never\nnone,\na:2,never\n")["entries"]
    assert [entry["line"] for entry in rows] == [2, 3, 4]
    assert "absolute" in entry["reason"]
    report = post_file(app, "xbel", XBEL % (b"not a uri", b"T"))
    (entry,) = report["entries"]
    assert (counts(report), entry["value"]) == ((1, 0, 0, 0, 1), "not a uri")
    headers = {"Accept": "text/html,*/*;q=0.1"}
    page = app.post("/-/import", upload_files=[("file", "b.html", NETSCAPE)], headers=headers)
    assert page.content_type == "text/html"
    page.mustcontain("2 already there, 1 ignored, 1 skipped", "line 5", ">Address must")
    for body, summary in (
        (b"url\nb:1\nb:2\n", "Imported 2 added"),
        (b"url\nb:1\nb:2\n", "Nothing new All 2 were there already"),
        (b"url\nb:1\n", "Nothing new 1 already there"),
        (b"url\n", "Nothing new Nothing was found to import"),
    ):
        page = app.post("/-/import", upload_files=[("file", "b.csv", body)], headers=headers)
        assert " ".join(page.html.main.text.split()).startswith(summary)


def test_the_report_replaces_invalid_characters_of_a_skipped_entry(app):
    for accept in ("application/json", "text/html"):
        headers = {"Accept": accept, "Content-Type": "application/json"}
        response = app.post("/-/import", rb'[{"uri": "\u0000\uffff"}]', headers, status=200)
        assert "\ufffd\ufffd" in response.text


def test_an_import_is_a_conditional_request_and_needs_a_report(app):
    options = {"content_type": "application/json"}
    app.post("/-/import", json.dumps(ENTRIES), {"Accept": "image/png"}, status=406, **options)
    app.post("/-/import", json.dumps(ENTRIES), {"If-Match": '"x"'}, status=412, **options)
    assert app.get("/").json == []
    headers = {"If-Match": app.get("/").headers["ETag"]}
    app.post("/-/import", json.dumps(ENTRIES), headers, status=200, **options)


def test_an_entry_of_json_is_named_by_its_path(app):
    tree = {"bookmarks": [{"url": "a:1"}, {"children": [{"url": "no address"}, 5]}]}
    for document, name in ((tree, "bookmarks[1]"), (tree["bookmarks"], "[1]")):
        report = post_file(app, "json", json.dumps(document).encode())
        paths = sorted(entry["path"] for entry in report["entries"])
        assert paths == [f"{name}.children[0]", f"{name}.children[1]"]
    deep = 5
    for _ in range(90):
        deep = {"title": "A", "children": [deep]}
    (entry,) = post_file(app, "json", json.dumps(deep).encode())["entries"]
    assert entry["path"] == ("children[0]." * 90)[:1000]


def test_a_wrong_value_never_costs_the_bookmark_and_is_named(app):
    entries = [{"url": "a:1", "title": "x" * 5000, "created": "2024/13/45"}, {"url": "a:2"}]
    body = json.dumps(entries).encode()
    report = post_file(app, "json", body)
    assert (report["created"], report["skipped"], report["noted"]) == (2, 0, 1)
    (entry,) = report["entries"]
    assert (entry["path"], entry["value"]) == ("[0]", "a:1")
    assert entry["reason"].startswith("stored, but title is cut to 4,096 characters; ")
    headers = {"Accept": "text/html", "Content-Type": "application/json"}
    page = app.post("/-/import", body, headers)
    page.mustcontain("2 already there, 1 stored with changes", "title is cut", "2024/13/45")


def test_half_a_character_costs_nothing_else_of_a_json_file(app):
    titles = (r"cut \ud83d", r"\ud83d\uDE00", r"\\ud83d")
    objects = [f'{{"uri": "a:{n}", "title": "{title}"}}' for n, title in enumerate(titles)]
    report = post_file(app, "json", f"[{','.join(objects)}]".encode())
    assert (report["created"], report["noted"]) == (3, 1)
    titles = {bookmark["uri"]: bookmark["title"] for bookmark in app.get("/").json}
    assert titles == {"a:0": "cut \ufffd", "a:1": "\U0001f600", "a:2": r"\ud83d"}


def test_the_report_names_what_is_not_read_with_the_number_of_values(app):
    entries = [{"url": "a:1", "highlights": ["x", "y"]}, {"url": "a:2", "highlights": ["z"]}]
    entries[0]["x\x00\ud800"] = "<b>"
    body = json.dumps(entries).encode()
    report = post_file(app, "json", body)
    assert report["not_read"] == {"highlights": 3, "x\ufffd\ufffd": 1}
    headers = {"Accept": "text/html", "Content-Type": "application/json"}
    page = app.post("/-/import", body, headers)
    page.mustcontain("Not read", "<bdi>highlights</bdi> (3 values)")


# --- Malformed files ---

def test_the_entries_before_a_syntax_error_are_imported(app):
    report = upload(app, b'<xbel><bookmark href="a:1"/>\n<bookmark href="a:2"/>\n<bookmark hr')
    assert counts(report) == (2, 0, 0, 0, 1)
    (entry,) = report["entries"]
    assert entry["line"] == 3 and "malformed" in entry["reason"]


def test_nothing_of_a_malformed_json_document_is_imported(app):
    body = b"[" + b'{"uri": "https://example.com/"},\n' * 5_000 + b'{"uri": '
    detail = post_file(app, "json", body, status=400)["detail"]
    assert "line 5001" in detail
    assert upload(app, body, status=400)["detail"] == detail
    assert app.get("/").json == []


def test_a_file_of_another_format_than_its_media_type_is_an_error(app):
    for name, body in (
        ("netscape", b"url,title\nhttps://a.example/,A\n"),
        ("netscape", b"<!DOCTYPE html><html><body><h1>Hello</h1></body></html>"),
        ("netscape", b'<html><p>See <a href="https://a.example/">A</a>.</p></html>'),
        ("netscape", b'[{"uri": "https://a.example/"}]'),
        ("netscape", b""),
        ("csv", b"https://a.example/\nhttps://b.example/\n"),
        ("csv", NETSCAPE), ("json", NETSCAPE), ("xbel", NETSCAPE),
        ("text", b"\0\1\2"), ("text", b""),
    ):  # fmt: skip
        assert post_file(app, name, body, status=400)["detail"]
    for body in (b" ", b"SQLite format 3\0", b"["):
        upload(app, body, status=400)
    assert app.get("/").json == []


def test_an_empty_list_of_a_known_format_is_imported(app):
    for name, body in (
        ("json", b'{"version": 3, "lists": []}'),
        ("xbel", b"<xbel/>"),
        ("csv", b"url,title\n"),
        ("netscape", b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n</DL><p>\n"),
        ("netscape", b"<dl></dl>"),
    ):
        for report in (post_file(app, name, body), upload(app, body)):
            assert counts(report) == (0, 0, 0, 0, 0)


def test_one_bookmark_must_be_small_and_a_file_may_be_large(app):
    entry = {"type": "text/x-moz-place", "title": "x" * 4000, "uri": "https://a.example/"}
    tree = {"title": "", "root": "placesRoot", "children": [entry] * 300}
    body = json.dumps(tree).encode()
    assert counts(post_file(app, "json", body)) == (1, 0, 299, 0, 0)
    assert "line 1" in post_file(app, "json", body[:-1], status=400)["detail"]
    one = {"uri": "https://example.com/x", "description": " " * 2**20}
    app.post_json("/", one, status=413)


def test_json_of_too_many_values_is_refused(app):
    body = b"[" + b"{}," * 500_000 + b"{}]"
    # In UTF-16 the bytes of an escaped quote look like the end of a string.
    text = '["\\"",' + body.decode()[1:]
    for file in (body, b'{"children": %s}' % body, text.encode("utf-16")):
        assert "bookmarks import" in post_file(app, "json", file, status=413)["detail"]
    upload(app, body, status=413)


def test_a_form_must_have_files_with_names_and_no_other_field(app):
    other = (b'; name="bogus"', b"1")
    file = (b'; name="file"; filename="x"', b"https://example.com/\n")
    empty = (b'; name="file"; filename=""', b"")
    reasons = ("without other fields", "without other fields", "must be a file that you choose")
    for parts, reason in zip(([other, file], [file, other], [empty]), reasons):
        (error,) = post_multipart(app, *parts, status=422)["errors"]
        assert reason in error["reason"]
    for header in (b"", b'; filename="x"', b'; name=""'):
        error = post_multipart(app, (header, b"https://example.com/"), status=400)
        assert "without a name" in error["detail"]
    assert app.get("/").json == []


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
@pytest.mark.parametrize("document", [
    '<xbel><bookmark href="a:1"><title>é{}!</title></bookmark><bookmark href="a:2"/></xbel>',
    '<opml><body><outline url="a:1" text="é{}!"/><outline url="a:2"/></body></opml>',
], ids=["xbel", "opml"])  # fmt: skip
def test_a_character_that_xml_cannot_have_is_taken_out_of_a_file(app, document, encoding):
    document = f'<?xml version="1.0" encoding="{encoding}"?>{document}'
    for wrong in ("\x01", "&#1;", "&#xD800;", "&#xFFFE;"):
        body = document.format(wrong).encode(encoding)
        report = app.post("/-/import", body, {"Content-Type": "application/xml"}).json
        assert (report["skipped"], report["noted"]) == (0, 1)
        assert [entry["value"] for entry in report["entries"]] == ["a:1"]
        assert app.get("/?uri=a:1").json[0]["title"] == "é!"
    legal = document.replace("a:1", "a:3").replace(encoding, "utf-8")
    body = legal.format("\U0010ffff&#x10FFFF;0&#1114111;1\U0010fffe0&#x10FFFE;1&#x000001;").encode()
    report = app.post("/-/import", body, {"Content-Type": "application/xml"}).json
    assert report["noted"] == 1
    title = "é\U0010ffff\U0010ffff0\U0010ffff1\U0010fffe0\U0010fffe1!"
    assert app.get("/?uri=a:3").json[0]["title"] == title
