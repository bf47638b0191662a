"""Whole files come in and go out: over HTTP, and by `bookmarks import` and `bookmarks export`."""

import errno
import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import webtest

from bookmarks import make_app
from formats.progress import save
from tests.conftest import ROOT

ENTRIES = [
    {"uri": "https://example.com/?a=1&copy=2", "title": "One", "tags": ["a", "b c"]},
    {"uri": "https://example.com/2", "title": "Zwei <&> ü", "description": "x\ny"},
    {"uri": "https://example.com/3", "created": "2001-02-03T04:05:06Z"},
]
NETSCAPE = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
    <DT><A HREF="https://example.com/?a=1&copy=2" ADD_DATE="1" TAGS="a,b">One</A>
    <DT><A HREF="place:sort=8">Recent</A>
    <DT><A HREF="https://example.com/2">Two</A>
</DL><p>
"""
FORMATS = ("json", "xbel", "csv", "netscape")
MEDIA_TYPES = {
    "json": "application/json", "xbel": "application/x-xbel", "csv": "text/csv",
    "netscape": "text/html",
}  # fmt: skip


def send(app, name, body, status=200):
    return app.post("/", body, content_type=MEDIA_TYPES[name], status=status).json


def fill(app):
    return send(app, "json", json.dumps(ENTRIES).encode())


def counts(report):
    return tuple(report[name] for name in ("created", "updated", "unchanged", "skipped"))


@pytest.fixture
def other(tmp_path):
    """A client of another, empty folder."""
    return webtest.TestApp(make_app(tmp_path / "other"))


# --- Over HTTP ---


def test_an_array_is_imported(app):
    report = fill(app)
    assert report == {"created": 3, "updated": 0, "unchanged": 0, "skipped": 0, "entries": []}
    assert counts(fill(app)) == (0, 0, 3, 0)
    found = {b["uri"]: b for b in app.get("/").json}
    assert found["https://example.com/3"]["created"] == "2001-02-03T04:05:06Z"
    assert found["https://example.com/?a=1&copy=2"]["tags"] == ["a", "b c"]


@pytest.mark.parametrize("name", FORMATS)
def test_what_one_writes_another_imports_and_writes_again(app, other, name):
    fill(app)
    written = app.get(f"/?format={name}").body
    assert counts(send(other, name, written)) == (3, 0, 0, 0)
    if name != "netscape":  # which carries no ids, and so not the order of one second
        assert other.get(f"/?format={name}").body == written
    else:
        again = other.get(f"/?format={name}").body
        assert sorted(again.splitlines()) == sorted(written.splitlines())
    assert counts(send(other, name, written)) == (0, 0, 3, 0)


def test_a_bookmark_file_is_imported_and_what_is_skipped_is_named(app):
    report = send(app, "netscape", NETSCAPE.encode())
    assert counts(report) == (2, 0, 0, 1)
    (entry,) = report["entries"]
    assert (entry["line"], entry["value"]) == (4, "place:sort=8")
    assert "query" in entry["reason"]


@pytest.mark.parametrize("count", [0, 2])
def test_xbel_with_any_other_number_than_one_is_a_file(app, count):
    bookmarks = "".join(f'<bookmark href="https://example.com/{n}"/>' for n in range(count))
    report = send(app, "xbel", f'<xbel version="1.0">{bookmarks}</xbel>'.encode())
    assert counts(report) == (count, 0, 0, 0)


def test_xbel_with_one_is_that_one(app):
    body = b'<xbel><folder><bookmark href="https://example.com/"/></folder></xbel>'
    assert send(app, "xbel", body, status=201)["uri"] == "https://example.com/"


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_a_file_chosen_in_a_form_is_imported(app, other, name):
    fill(other)
    body = other.get(f"/?format={name}").body if name else b"https://example.com/\n"
    chosen = [("file", "anything.bin", body)]
    assert app.post("/", upload_files=chosen).json["created"] == (3 if name else 1)


def test_a_person_is_told_on_a_page(app):
    headers = {"Accept": "text/html,*/*;q=0.1"}
    page = app.post("/", upload_files=[("file", "b.html", NETSCAPE.encode())], headers=headers)
    assert page.content_type == "text/html"
    page.mustcontain("2 created, 0 updated, 0 unchanged, 1 skipped", "place:sort=8")


def test_no_file_chosen_is_said(app):
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n\r\n--b--\r\n"
    )
    kind = "multipart/form-data; boundary=b"
    answer = app.request("/", method="POST", body=body, content_type=kind, status=422)
    assert answer.json["errors"] == [{"field": "file", "reason": "must be a file that you choose"}]


def form(*parts):
    """The body of a form with these fields, each a name and its bytes."""
    return (
        b"".join(
            b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
            % (name.encode(), b'; filename="x"' if name == "file" else b"", value)
            for name, value in parts
        )
        + b"--b--\r\n"
    )


def send_form(app, body, status):
    kind = "multipart/form-data; boundary=b"
    return app.request("/", method="POST", body=body, content_type=kind, status=status).json


@pytest.mark.parametrize("size", [*range(65_530, 65_545), 131_073, 131_074, 1_048_577])
def test_a_form_of_any_size_is_read_to_its_end(app, size):
    file = b"https://example.com/" + b"\n" * (size - len(form(("file", b"https://example.com/"))))
    report = send_form(app, form(("file", file)), 200)
    assert (report["created"], report["skipped"]) == (1, 0)


def test_a_form_that_comes_byte_by_byte_is_read_to_its_end(app):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1))

    body = form(("uri", b"https://example.com/"), ("title", b"\r\n--"), ("description", b"--b"))
    environ = {"wsgi.input": Slow(body), "CONTENT_LENGTH": str(len(body))}
    kind = "multipart/form-data; boundary=b"
    app.request("/", method="POST", environ=environ, content_type=kind, status=303)
    assert app.get("/").json[0]["description"] == "--b"


@pytest.mark.parametrize("rest", [b"", b'; filename="x"', b'; name=""'])
def test_a_part_of_a_form_without_a_name_is_refused(app, rest):
    part = b"--b\r\nContent-Disposition: form-data%s\r\n\r\nhttps://example.com/\r\n--b--\r\n"
    assert "without a name" in send_form(app, part % rest, 400)["detail"]


def test_what_stands_in_a_form_before_a_file_is_refused(app):
    body = form(("bogus", b"1"), ("file", b"https://example.com/\n"))
    reason = "does not go with a file"
    assert send_form(app, body, 422)["errors"] == [{"field": "bogus", "reason": reason}]


@pytest.mark.parametrize("name", ["file", "bogus"])
def test_what_follows_a_file_in_a_form_is_named(app, name):
    follows = f"The form has more than a file: '{name}' follows."
    file = b"https://example.com/\n"
    assert send_form(app, form(("file", file), (name, file)), 400)["detail"].endswith(follows)
    assert app.get("/").json == []
    file *= 10_000  # Its beginning is taken by the time that its end comes.
    report = send_form(app, form(("file", file), (name, file)), 200)
    assert (report["created"], report["skipped"]) == (1, 1)
    assert report["entries"][0]["reason"].endswith(follows)


def test_a_file_that_is_none_is_refused(app):
    for body in (b"", b"\0\1\2", b"SQLite format 3\0"):
        app.post("/", upload_files=[("file", "x", body or b" ")], status=400)
    app.post("/", b"[", content_type="application/json", status=400)
    assert app.get("/").json == []


def test_what_comes_before_the_break_is_taken(app):
    body = b'<xbel><bookmark href="a:1"/><bookmark href="a:2"/><bookmark hr'
    report = app.post("/", upload_files=[("file", "x.xbel", body)]).json
    assert counts(report) == (2, 0, 0, 1)
    assert report["entries"][0]["reason"].startswith("The rest cannot be read")


def test_nothing_of_a_malformed_json_document_is_imported(app, data, tmp_path):
    body = b"[" + b'{"uri": "https://example.com/"},\n' * 5_000 + b'{"uri": '
    detail = send(app, "json", body, status=400)["detail"]
    chosen = [("file", "x.json", body)]
    assert app.post("/", upload_files=chosen, status=400).json["detail"] == detail
    assert "line 5001" in detail
    assert app.get("/").json == []
    (tmp_path / "x.json").write_bytes(body)
    output, errors = run("import", tmp_path / "x.json", data=data, status=1)
    assert output == "0 created, 0 updated, 0 unchanged, 1 skipped\n"
    assert "line 5001" in errors


def test_json_of_too_many_values_is_refused_over_http_alone(app, data, tmp_path):
    body = b"[" + b"{}," * 500_000 + b"{}]"
    assert "bookmarks import" in send(app, "json", body, status=413)["detail"]
    app.post("/", upload_files=[("file", "x.json", body)], status=413)
    (tmp_path / "x.json").write_bytes(body)
    output, _ = run("import", "--dry-run", tmp_path / "x.json", data=data, status=1)
    assert output == "0 created, 0 updated, 0 unchanged, 500001 skipped\n"


def test_a_report_that_nobody_accepts_is_406_and_nothing_is_done(app):
    body, headers = b'[{"uri": "https://example.com/"}]', {"Accept": "image/png"}
    app.post("/", body, headers, content_type="application/json", status=406)
    assert app.get("/").json == []


def test_a_precondition_holds_for_a_file_too(app):
    fill(app)
    body, headers = b"[]", {"If-Match": '"x"'}
    app.post("/", body, headers, content_type="application/json", status=412)


def test_one_bookmark_is_small_and_a_file_may_be_large(app):
    long = "x" * 60_000
    entries = [{"uri": f"https://example.com/{n}", "description": long} for n in range(20)]
    assert counts(send(app, "json", json.dumps(entries).encode())) == (20, 0, 0, 0)
    one = {"uri": "https://example.com/x", "description": " " * 2**20}
    send(app, "json", json.dumps(one).encode(), status=413)
    app.post("/", upload_files=[("a", "", b"x" * 2**21)], status=413)
    send(app, "csv", b"uri\n" + b"x" * 2**25, status=413)
    row = b"x:y" + b" " * 60_000 + b"\n"
    chosen = [("file", "x.csv", b"uri\n" + row * (2**25 // len(row)))]
    assert app.post("/", upload_files=chosen).json["created"] == 1


def test_a_file_is_not_for_one_bookmark(app, add):
    id = add()["id"]
    app.post(f"/{id}", upload_files=[("file", "x.json", b"[]")], status=422)
    app.post(f"/{id}", b"uri\n", content_type="text/csv", status=415)


def test_an_import_of_many_takes_little_memory(tmp_path):
    """32 MiB of entries, of which none is held longer than it takes."""
    code = """
import resource, sys
from pathlib import Path
from storage.merge import Merge
from storage.store import Store
import formats

class Endless:
    left = 32 * 1024 * 1024
    def read(self, size):
        if self.left <= 0:
            return b""
        line = b"no uri here at all, whatever one makes of it\\n" * (size // 45 + 1)
        self.left -= len(line[:size])
        return line[:size]

merge = Merge(Store(Path(sys.argv[1])))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for item in formats.FILES["text"](Endless()):
    merge.add(*item)
print(merge.finish().skipped, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    skipped, kibibytes = map(int, result.stdout.split())
    assert skipped > 700_000
    assert kibibytes < 20_000


# --- On the command line ---


def run(*arguments, data, status=0, **options):
    command = [sys.executable, str(ROOT / "bookmarks.py"), *map(str, arguments), "--data", data]
    result = subprocess.run(command, capture_output=True, timeout=60, **options)
    assert result.returncode == status, result.stderr.decode()
    return result.stdout.decode(), result.stderr.decode()


def test_import_and_export(data, tmp_path):
    (tmp_path / "one.html").write_text(NETSCAPE)
    (tmp_path / "two.txt").write_text("https://example.com/2\nhttps://example.com/4\n")
    names = ["one.html", "two.txt"]
    told = run("import", "--dry-run", *names, data=data, status=1, cwd=tmp_path)
    assert told[0] == "3 created, 0 updated, 1 unchanged, 1 skipped\n"
    assert not data.exists()
    output, errors = run("import", *names, data=data, status=1, cwd=tmp_path)
    assert output == told[0]
    assert errors.startswith("one.html:4: place:sort=8: ")
    assert len(errors.splitlines()) == 1  # and no bar, as this is no terminal
    run("export", "--format", "text", tmp_path / "out.txt", data=data)
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert sorted(line.split("\t")[0] for line in lines) == [
        "https://example.com/2", "https://example.com/4", "https://example.com/?a=1&copy=2",
    ]  # fmt: skip
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("name", FORMATS)
def test_export_and_import_by_pipes(data, tmp_path, name):
    fill(webtest.TestApp(make_app(data)))
    written, _ = run("export", "--format", name, data=data)
    output, _ = run("import", "-", data=tmp_path / "other", input=written.encode())
    assert output == "3 created, 0 updated, 0 unchanged, 0 skipped\n"
    again, _ = run("export", "--format", name, data=tmp_path / "other")
    assert sorted(again.splitlines()) == sorted(written.splitlines())


def test_a_format_that_is_named_wins_over_what_it_looks_like(data, tmp_path):
    (tmp_path / "x").write_text("https://example.com/\n")
    run("import", "--format", "json", tmp_path / "x", data=data, status=1)
    run("import", "--format", "text", tmp_path / "x", data=data)


def test_one_bad_file_stops_no_other(data, tmp_path):
    (tmp_path / "bad").write_bytes(b"\0\1")
    (tmp_path / "good").write_text("https://example.com/\n")
    output, errors = run("import", tmp_path / "bad", tmp_path / "good", data=data, status=1)
    assert output == "1 created, 0 updated, 0 unchanged, 1 skipped\n"
    assert "bad" in errors and "binary data" in errors


def test_a_file_that_is_not_there_is_said_and_stops_no_other(data, tmp_path):
    many = tmp_path / "many.txt"
    many.write_text("".join(f"https://example.com/{n}\n" for n in range(350)))
    output, errors = run("import", many, "nowhere.html", tmp_path, data=data, status=1)
    assert "nowhere.html" in errors and "Traceback" not in errors
    assert output == "350 created, 0 updated, 0 unchanged, 2 skipped\n"
    assert len(list((data / "bookmarks").iterdir())) == 350


def test_an_export_that_fails_leaves_the_old_one(data, tmp_path):
    (tmp_path / "out").write_text("old")
    (tmp_path / "out.part").write_text("of somebody else")
    _, errors = run("export", tmp_path / "out", data=tmp_path / "typo", status=1)
    assert (tmp_path / "out").read_text() == "old" and "Traceback" not in errors
    make_app(data)
    run("export", tmp_path / "out", data=data)
    assert (tmp_path / "out").read_text() == "[]\n"
    assert (tmp_path / "out.part").read_text() == "of somebody else"


def test_an_export_goes_where_its_name_leads(data, tmp_path):
    fill(webtest.TestApp(make_app(data)))
    written, _ = run("export", data=data)
    real, link, pipe = (tmp_path / name for name in ("real", "link", "pipe"))
    real.touch(mode=0o600)
    link.symlink_to(real)
    run("export", link, data=data)
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (
        True, written, 0o600,
    )  # fmt: skip
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to(nowhere)
    run("export", nowhere, data=data)
    assert nowhere.read_text() == written
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as cat:
        try:
            run("export", pipe, data=data)
            assert cat.communicate(timeout=10)[0] == written
        finally:
            cat.kill()
    assert pipe.is_fifo()


def test_an_export_is_added_to_what_the_shell_has_opened(data, tmp_path):
    make_app(data)
    (tmp_path / "out").write_text("old\n")
    for name in ("-", "/dev/stdout"):
        command = [sys.executable, str(ROOT / "bookmarks.py"), "export", name, "--data", data]
        with open(tmp_path / "out", "a") as file:
            subprocess.run(command, stdout=file, timeout=60, check=True)
    assert (tmp_path / "out").read_text() == "old\n[]\n[]\n"


def test_an_export_that_breaks_off_leaves_nothing_behind(tmp_path):
    def chunks():
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "out").write_text("old")
    with pytest.raises(OSError):
        save(str(tmp_path / "out"), chunks())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("name", ["no/data", "list.txt"])
def test_a_dry_run_fails_where_an_import_would(tmp_path, name):
    (tmp_path / "list.txt").write_text("a:b\n")
    options = dict(data=tmp_path / name, status=1)
    dry = run("import", "--dry-run", tmp_path / "list.txt", **options)
    assert dry == run("import", tmp_path / "list.txt", **options)
    assert "cannot be used" in dry[1]


@pytest.mark.parametrize("there", [(), ("typo",), ("typo/tombstones",)])
def test_a_folder_that_is_not_there_is_not_exported(tmp_path, there):
    for name in there:
        (tmp_path / name).mkdir(parents=True)
    before = list(tmp_path.rglob("*"))
    output, errors = run("export", data=tmp_path / "typo", status=1)
    missing = tmp_path / "typo" / "bookmarks"
    assert (output, errors) == ("", f"bookmarks: there is no folder {missing}.\n")
    assert list(tmp_path.rglob("*")) == before


def test_a_running_service_sees_what_is_imported(serve, data, tmp_path):
    import urllib.request

    service = serve()
    (tmp_path / "x").write_text("https://example.com/\n")
    run("import", tmp_path / "x", data=data)
    with urllib.request.urlopen(service.address) as answer:
        assert json.load(answer)[0]["uri"] == "https://example.com/"


def test_a_terminal_shows_a_bar(data, tmp_path):
    import pty
    import termios

    file = tmp_path / ("x" * 200)
    file.write_text("https://example.com/\n")
    terminal, far = pty.openpty()
    termios.tcsetwinsize(far, (24, 80))
    command = [sys.executable, str(ROOT / "bookmarks.py"), "import", str(file)]
    subprocess.run([*command, "--data", str(data)], stderr=far, check=True, timeout=60)
    os.close(far)
    shown = b""
    with suppress(OSError):  # What a terminal says at its end.
        while chunk := os.read(terminal, 65_536):
            shown += chunk
    os.close(terminal)
    assert b"100%" in shown


def test_golden_files_come_in_whole(app):
    """Each of the files that other programs wrote is taken without a skip but the named ones."""
    for path in sorted((Path(__file__).parent / "formats" / "files").iterdir()):
        report = app.post("/", upload_files=[("file", path.name, path.read_bytes())]).json
        assert report["created"] + report["updated"] + report["unchanged"] > 0, path.name
        again = app.post("/", upload_files=[("file", path.name, path.read_bytes())]).json
        assert (again["created"], again["updated"]) == (0, 0), path.name
        assert again["skipped"] == report["skipped"], path.name


@pytest.mark.parametrize("value", [b"\\u0000", b"\\uffff"])
def test_what_no_format_can_carry_is_named_all_the_same(app, value):
    body = b'[{"uri": "' + value + b'"}]'
    for accept in ("application/json", "text/html"):
        headers = {"Accept": accept, "Content-Type": "application/json"}
        assert "\ufffd" in app.post("/", body, headers=headers, status=200).text
