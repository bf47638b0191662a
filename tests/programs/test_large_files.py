"""Large files are read in linear time and bounded memory, and an import of one can be ended."""

import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress

import pytest

from formats.http.request import MAX_JSON_VALUES_WITHOUT_OBJECT, limit_json
from formats.imports import FILE_READERS
from storage.errors import Malformed
from storage.nesting import is_too_deep
from tests.conftest import ROOT, peak_memory, until

# The parts that are repeated behind the beginning of a file.
REPETITIONS = {
    ("netscape", b""): [b"<", b"<a ", b"<A HREF='", b"<!--", b"&", b"\n   ", b"<DT><H3>x\n<DL>"],
    ("netscape", b"<DT><A"): [b" a", b' a="', b"=", b"\n\t\t", b" a='b\""],
    ("netscape", b"<A HREF=a:b>"): [b"x", b"<b>", b"&#", b"&lt", b"<!"],
    ("json", b""): [b"[", b'{"a":', b'"', b" ", b"1", b"[{},"],
    ("json", b"["): [b"1,", b'"a",', b'{"uri":"a:b"},', b"[],", b"\\", b'"\\"'],
    ("json", b'{"children":'): [b'[{"title":"a","children":', b"[{},"],
    ("xbel", b"<xbel>"): [b"<a>", b"<folder>", b"<a ", b"x", b"&lt;", b"<!--", b"<b/>"],
    ("xbel", b"<xbel><folder><title>"): [b"x", b"&amp;", b"<title>"],
    ("xbel", b"<xbel a='"): [b"x", b"&lt;"],
    ("csv", b"url,title\n"): [b'"', b",", b'",', b'"\n', b"a\n", b"x", b"\0"],
    ("csv", b""): [b'"', b",", b";", b"x", b"\r", b"url,"],
    ("text", b""): [
        b"x", b"a:b\n", b"\t", b" | ", b"#", b"a:", b"[a](b", b"[[a]", b"](", b" a",
        b'a://b "', b"[a](b)",
    ],
    ("text", b"- ["): [b"[", b"](", b")", b" <!-- TAGS: ", b"- [](a:b)\n"],
    ("text", b"* [["): [b"[", b"]", b"][", b"]]", b" :", b"* [[a:b]]\n"],
    ("text", b"a://b"): [
        b";", b", ", b'"', b" ", b";A b\na://c", b"//", b":", b": ", b"|", b"|a", b"\n|a://b",
        b" -", b"](",
    ],
    ("text", b"[a](b) "): [b"<img ", b"`", b"![", b"![a](", b"a://b("],
    ("text", b"a://b "): [b'"', b'"a" ', b"a://b ", b"\\", b"<a:b> ", b"   a"],
    ("outline", b"<opml>"): [
        b"<outline>", b"<outline text='a'/>", b"<post href='a:b'/>", b"x", b"<a ",
    ],
    ("shortcut", b""): [
        b"URL=", b"URL", b"\n", b" ", b"<key>URL</key> ", b"URL=a:b\n",
        b"<key>URL</key><string>a:b\n", b"Name=",
    ],
    ("opera", b"Opera Hotlist version 2.0\n"): [
        b"#", b"-", b"-\n", b"#A\n", b"#FOLDER\n", b"#URL\nURL=a:b\n", b"\n=", b" ",
    ],
    ("opera", b"Opera Hotlist version 2.0\n#URL\n"): [b"\n", b"- ", b"a=b\n"],
}  # fmt: skip


@pytest.mark.parametrize(
    "format, begin, part", [(*key, part) for key, parts in REPETITIONS.items() for part in parts]
)
def test_the_time_to_read_grows_linearly_with_the_file(format, begin, part):
    """Quadratic time would be 16 times as long for a file of 4 times the size."""
    assert_linear(format, lambda size: begin + part * (size // len(part)))


@pytest.mark.parametrize("inner", ["", "title", "desc", "info", "time_added"])
def test_the_time_to_read_nested_bookmarks_grows_linearly(inner):
    begin, end = "<bookmark>", "</bookmark>"
    if inner:
        begin, end = f"<bookmark><{inner}>", f"</{inner}></bookmark>"

    def nested(size):
        depth = size // len(begin + end)
        return f"<xbel>{begin * depth}{end * depth}</xbel>".encode()

    assert_linear("xbel", nested)


def assert_linear(format, make_data):
    times = []
    for size in (16 * 1024, 64 * 1024):
        data = make_data(size)
        started = time.process_time()
        count = 0
        with suppress(Malformed):
            for _ in FILE_READERS[format](data):
                count += 1
        times.append(time.process_time() - started)
        assert count <= size
    assert times[1] < 8 * times[0] + 0.1


@pytest.mark.parametrize("format, begin, part", [
    ("text", b"- ", b"[](x)"),
    ("text", b"- [a](b:c) <!-- TAGS: ", b"[](x) a,"),
    ("text", b"- " + b"[](x)" * 10_000 + b" <!-- TAGS: ", b"ab,"),
    ("text", b"# " + b"ab," * 100 + b"\n", b"[](x)"),
    ("text", b"- [a](b:c) [d](e:f) ", b"a://b "),
    ("text", b"a://b ", b'"a" '),
    ("text", b"a://b\tc\t", b"ab,"),
    ("opera", b"Opera Hotlist version 2.0\n#URL\n", b"\n"),
    ("opera", b"Opera Hotlist version 2.0\n#URL\n", b"a=\n"),
])  # fmt: skip
def test_a_line_or_record_takes_memory_of_a_few_times_its_size(format, begin, part):
    data = begin + part * (60_000 // len(part))
    assert memory_to_read(format, data) < 50 * len(data)


def memory_to_read(format, data):
    return peak_memory(lambda: deque(FILE_READERS[format](data), maxlen=0))


@pytest.mark.parametrize("part", [b'"":[[]],', b'""[]{}'])
def test_the_check_of_nested_json_takes_memory_of_a_few_times_its_size(part):
    data = part * (2_000_000 // len(part))
    assert peak_memory(lambda: is_too_deep(data)) < 4 * len(data)


@pytest.mark.parametrize("part", [b"<title/>", b"<info/>", b"<x a='b'/>"])
def test_elements_that_are_not_read_take_no_memory_of_their_own(part):
    data = b"<xbel><bookmark href='a:b'>" + part * 30_000 + b"</bookmark></xbel>"
    assert memory_to_read("xbel", data) < 5 * len(data)


# --- Limits ---

# Decoding as many members of one object as there may be values blocks all threads for a second.
@pytest.mark.parametrize("entry, limit, stated", [
    (b"1", MAX_JSON_VALUES_WITHOUT_OBJECT, "500,000 values without an object"),
    (b"{}" + b",1" * 400_000, 4, "2,000,000 values."),
    (b"{}", 499_999, "500,000 objects and arrays"),
    (b'{"[":[]}', 249_999, "500,000 objects and arrays"),
], ids=["values without an object", "values", "objects", "arrays"])  # fmt: skip
def test_the_number_of_values_is_limited_over_http(app, entry, limit, stated):
    limit_json(b"[" + b",".join([entry] * limit) + b"]")
    response = upload(app, b"[" + b",".join([entry] * (limit + 1)) + b"]", status=413)
    assert f"has more than {stated}" in response.text


def test_json_may_have_more_arrays_than_over_http(run, data, tmp_path):
    (tmp_path / "x.json").write_text("[" + "[]," * 500_000 + "{}]")
    output, _ = run("import", "--dry-run", tmp_path / "x.json", data=data, status=1)
    assert output == "would be: 0 created, 0 updated, 0 unchanged, 0 ignored, 1 skipped\n"


def upload(app, body, status=200):
    return app.post("/-/import", upload_files=[("file", "x", body)], status=status)


def test_a_file_has_at_most_32_mebibytes(app):
    row = b"x:y" + b" " * 60_000 + b"\n"
    body = (b"uri\n" + row * 559).ljust(2**25, b"\n")
    assert upload(app, body).json["created"] == 1
    assert app.post("/-/import", body, content_type="text/csv").json["unchanged"] == 559
    too_large = b"uri\n" + b"x" * 2**25
    app.post("/-/import", too_large, content_type="text/csv", status=413)
    upload(app, too_large, status=413)


UPLOAD_AND_MEASURE = """
import resource, sys
import webtest
from bookmarks import main, make_app
from formats.imports.detect import detect_format

body = b"https://example.com/\\n" + b"no uri here at all, just a line of text\\n" * 100_000
app = webtest.TestApp(make_app(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = app.post("/-/import", upload_files=[("file", "x", body)]).json
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report["skipped"], (after - before) / (len(body) / 1024))
"""


def test_an_import_takes_memory_of_a_few_times_the_size_of_its_file(tmp_path):
    command = [sys.executable, "-c", UPLOAD_AND_MEASURE, str(tmp_path / "data")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    skipped, ratio = process.stdout.split()
    assert int(skipped) == 100_000
    assert float(ratio) < 7


# --- Ctrl-C ---

def start_import(data, *arguments):
    return subprocess.Popen(
        [sys.executable, ROOT / "bookmarks.py", "import", "--data", data, *arguments],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell may have ignored SIGINT for tests that it runs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def test_ctrl_c_says_what_an_import_has_stored(run, data, tmp_path):
    file = tmp_path / "many.txt"
    file.write_text("".join(f"https://example.com/{n}\n" for n in range(10_000)))
    with start_import(data, file) as process:
        until(lambda: any(data.glob("bookmarks/*.json")))
        process.send_signal(signal.SIGINT)
        messages = process.stderr.read()
    stored = len(list(data.glob("bookmarks/*.json")))
    assert 0 < stored < 10_000
    summary = f"{stored} created, 0 updated, 0 unchanged, 0 ignored, 0 skipped"
    said = f"bookmarks: interrupted. Stored so far: {summary}."
    new_folder = f"bookmarks: {data} is a new data folder.\n"
    assert messages == f"{new_folder}{said} Run the same command again to import the rest.\n"
    assert process.returncode == 130
    output, _ = run("import", "--dry-run", file, data=data)
    assert output.startswith(f"would be: {10_000 - stored} created, 0 updated, {stored} unchanged")


def test_ctrl_c_says_nothing_of_stored_bookmarks_in_a_dry_run(data):
    with start_import(data, "--dry-run", "-") as process:
        assert "would be a new data folder" in process.stderr.readline()
        time.sleep(0.2)  # It now waits for its standard input.
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 130
