"""The commands `bookmarks import` and `bookmarks export`."""

import errno
import json
import os
import plistlib
import pty
import re
import signal
import subprocess
import termios
from contextlib import suppress

import pytest
import webtest

from bookmarks import make_app
from formats import LISTS_BY_NAME
from formats.commands import EXPORT_SUFFIXES, write_file
from tests.conftest import ROOT, without_inotify_warning
from tests.storage.clients import COMMAND
from tests.test_import_over_http import ENTRIES, NETSCAPE

THREE_CREATED = "3 created, 0 updated, 0 unchanged, 0 ignored, 0 skipped\n"


@pytest.fixture
def filled(data):
    webtest.TestApp(make_app(data)).post_json("/-/import", ENTRIES, status=200)
    return data


@pytest.fixture
def empty(data):
    make_app(data).close()
    return data


# --- Import ---

@pytest.mark.usefixtures("empty")
def test_an_import_prints_its_numbers_and_each_skipped_entry(run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.html").write_bytes(NETSCAPE)
    (tmp_path / "two.txt").write_text("https://example.com/2\nhttps://example.com/4\n")
    output, messages = run("import", "one.html", "two.txt", data=data, status=1)
    assert output == "3 created, 0 updated, 1 unchanged, 1 ignored, 1 skipped\n"
    (message,) = messages.splitlines()  # It is no terminal, so there is no progress bar.
    assert message.startswith("one.html:5: /relative: ")
    assert len(list((data / "bookmarks").iterdir())) == 3


def test_the_names_of_shortcuts_are_their_titles(run, data, tmp_path):
    (tmp_path / "A title.url").write_text("[InternetShortcut]\r\nURL=https://a.example/\r\n")
    (tmp_path / "B.desktop").write_text("[Desktop Entry]\nURL=https://b.example/\n")
    webloc = plistlib.dumps({"URL": "https://c.example/"}, fmt=plistlib.FMT_BINARY)
    (tmp_path / "C.webloc").write_bytes(webloc)
    run("import", *tmp_path.iterdir(), data=data)
    exported, _ = run("export", "--format", "text", data=data)
    titles = {line.split("\t")[0]: line.split("\t")[1] for line in exported.splitlines()}
    assert titles == {
        "https://a.example/": "A title", "https://b.example/": "B", "https://c.example/": "C"
    }  # fmt: skip


def test_importing_the_golden_files_again_changes_nothing(run, data):
    files = sorted((ROOT / "tests" / "formats" / "files").iterdir())
    first, _ = run("import", *files, data=data, status=1)
    again, _ = run("import", *files, data=data, status=1)
    created, updated, unchanged, *others = map(int, re.findall("[0-9]+", first))
    stored = created + updated + unchanged
    assert list(map(int, re.findall("[0-9]+", again))) == [0, 0, stored, *others]


@pytest.mark.usefixtures("empty")
def test_an_import_that_notes_or_ignores_entries_succeeds(run, data, tmp_path):
    file, rows = tmp_path / "x.json", tmp_path / "x.csv"
    file.write_text('[{"url": "a:1", "created": "2024/13/45", "color": "red"}]')
    rows.write_text("url,title\na:2,A\n,\n")
    output, messages = run("import", file, rows, data=data)
    assert output == "2 created, 0 updated, 0 unchanged, 1 ignored, 0 skipped, 1 noted\n"
    noted, not_read = messages.splitlines()
    assert noted.startswith(f"{file}:[0]: a:1: stored, but created left out, because created must")
    assert not_read == "not read: 1 x color"


def test_a_dry_run_says_what_would_be_and_creates_nothing(run, data, tmp_path):
    (tmp_path / "one.html").write_bytes(NETSCAPE)
    output, messages = run("import", "--dry-run", tmp_path / "one.html", data=data, status=1)
    assert not data.exists()
    assert messages.startswith(f"bookmarks: {data} would be a new data folder.\n")
    done, done_messages = run("import", tmp_path / "one.html", data=data, status=1)
    assert output == f"would be: {done}"
    assert messages == done_messages.replace("is a new", "would be a new")
    again = run("import", tmp_path / "one.html", data=data, status=1)[1]
    assert "new data folder" not in again


@pytest.mark.parametrize("name", ["no/data", "list.txt"])
def test_a_dry_run_fails_if_the_import_would(run, tmp_path, name):
    (tmp_path / "list.txt").write_text("a:b\n")
    options = {"data": tmp_path / name, "status": 1}
    dry = run("import", "--dry-run", tmp_path / "list.txt", **options)
    assert dry == run("import", tmp_path / "list.txt", **options)
    assert str(options["data"]) in dry[1]


def test_an_export_is_imported_through_a_pipe(run, filled, tmp_path):
    export = [*COMMAND, "export", "--data", str(filled)]
    import_ = [*COMMAND, "import", "-", "--data", str(tmp_path / "other")]
    with subprocess.Popen(export, stdout=subprocess.PIPE) as process:
        output = subprocess.check_output(import_, stdin=process.stdout, text=True, timeout=60)
    assert (process.returncode, output) == (0, THREE_CREATED)
    assert run("export", data=tmp_path / "other")[0] == run("export", data=filled)[0]


@pytest.mark.usefixtures("empty")
def test_a_file_of_no_known_format_does_not_stop_the_import_of_others(run, data, tmp_path):
    (tmp_path / "bad").write_bytes(b"\0\1")
    lines = '{"uri": "https://example.com/"},\n' * 5_000
    (tmp_path / "cut.json").write_text(f'[{lines}{{"uri": ')
    (tmp_path / "good").write_text("https://example.com/\n")
    files = [tmp_path / name for name in ("bad", "cut.json", "good")]
    output, messages = run("import", *files, data=data, status=1)
    assert output == "1 created, 0 updated, 0 unchanged, 0 ignored, 2 skipped\n"
    bad, cut = messages.splitlines()
    assert bad.startswith(f"{files[0]}: ") and "binary data" in bad
    assert "line 5001" in cut and ": :" not in messages
    run("import", "--format", "json", tmp_path / "good", data=data, status=1)


@pytest.mark.usefixtures("empty")
def test_a_missing_file_does_not_stop_the_import_of_others(run, data, tmp_path):
    (tmp_path / "x").write_text("a:1\n")
    files = ["nowhere.html", tmp_path, tmp_path / "x"]
    output, messages = run("import", *files, data=data, status=1)
    reasons = ["nowhere.html: No such file or directory", f"{tmp_path}: Is a directory"]
    assert messages.splitlines() == reasons
    assert output == "1 created, 0 updated, 0 unchanged, 0 ignored, 2 skipped\n"


@pytest.mark.usefixtures("empty")
def test_an_entry_before_an_error_is_reported_with_its_own_file(run, data, tmp_path):
    entries = '<bookmark href="x:y"/>\n<bookmark href="not a uri"/>\n'
    for name, end in (("cut.xbel", ""), ("whole.xbel", "</xbel>")):
        (tmp_path / name).write_text(f"<xbel>\n{entries}{end}")
    files = [tmp_path / "cut.xbel", tmp_path / "whole.xbel"]
    _, messages = run("import", *files, data=data, status=1)
    places = [message.split(": ")[0] for message in messages.splitlines()]
    assert sorted(places) == [f"{files[0]}:3", f"{files[0]}:4", f"{files[1]}:3"]


def test_a_terminal_shows_the_progress_of_an_import(run, data, tmp_path):
    file = tmp_path / ("x" * 200)
    file.write_text("https://example.com/\n")
    terminal, stderr = pty.openpty()
    termios.tcsetwinsize(stderr, (24, 80))
    command = [*COMMAND, "import", str(file), "--data", str(data)]
    subprocess.run(command, stderr=stderr, check=True, timeout=60)
    os.close(stderr)
    shown = b""
    with suppress(OSError):  # Reading from a closed terminal raises an error at its end.
        while chunk := os.read(terminal, 65_536):
            shown += chunk
    os.close(terminal)
    assert b"x: 1 entries" in shown


# --- Export ---

SUFFIXES = {".html": "netscape", ".xbel": "xbel", ".csv": "csv", ".json": "json", ".TXT": "text"}


def test_the_suffix_of_the_file_names_the_format_of_an_export(run, filled, tmp_path):
    for suffix, name in SUFFIXES.items():
        file = tmp_path / f"out{suffix}"
        run("export", file, data=filled)
        exported, _ = run("export", "--format", name, data=filled)
        assert file.read_bytes().decode() == exported
    assert list(tmp_path.glob("*.part")) == []
    assert {*EXPORT_SUFFIXES.values()} == LISTS_BY_NAME.keys() - {"html"}


def test_an_export_refuses_an_unknown_suffix_without_a_format(run, filled, tmp_path):
    suffixes = ", ".join(EXPORT_SUFFIXES)
    for name in ("out", "out.doc", "out.json.gz", ".json"):
        file = tmp_path / name
        _, messages = run("export", file, data=filled, status=1)
        assert messages.startswith(f"bookmarks: {file} ends in none of {suffixes}.")
        assert not file.exists()
        run("export", "--format", "csv", file, data=filled)
        assert file.read_text().startswith("id,uri,")


def test_a_failed_export_names_the_file_of_the_command(run, filled, tmp_path):
    (tmp_path / "full.csv").symlink_to("/dev/full")
    for file, reason in {
        tmp_path / "missing" / "out.csv": "No such file or directory",
        tmp_path / "full.csv": "No space left on device",
    }.items():
        _, messages = run("export", file, data=filled, status=1)
        assert messages == f"bookmarks: cannot write {file}: {reason}.\n"


def test_a_closed_output_ends_the_command_quietly(filled):
    (filled / "bookmarks" / "notes.txt").touch()  # `check` reports it.
    arguments = [*COMMAND, "check", "--data", str(filled)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(arguments, env=environment, text=True, **pipes) as process:
        process.stdout.close()  # Before the command writes.
        assert without_inotify_warning(process.stderr) == []
    assert process.returncode == 128 + signal.SIGPIPE


def test_an_export_replaces_a_file_only_when_it_succeeds(run, data, tmp_path):
    (tmp_path / "out.json").write_text("old")
    (tmp_path / "out.json.part").write_text("a file of the user")
    _, messages = run("export", tmp_path / "out.json", data=tmp_path / "typo", status=1)
    assert (tmp_path / "out.json").read_text() == "old" and "Traceback" not in messages
    make_app(data)
    run("export", tmp_path / "out.json", data=data)
    assert (tmp_path / "out.json").read_text() == "[]\n"
    assert (tmp_path / "out.json.part").read_text() == "a file of the user"


def test_an_export_to_a_symbolic_link_replaces_its_target(run, filled, tmp_path):
    target, link, loop = (tmp_path / name for name in ("target", "link.json", "loop.json"))
    target.touch(mode=0o600)
    link.symlink_to(target)
    loop.symlink_to(loop)
    exported, _ = run("export", data=filled)
    for file, written in ((link, target), (loop, loop)):
        run("export", file, data=filled)
        assert written.read_text() == exported
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_export_writes_to_a_named_pipe(run, filled, tmp_path):
    exported, _ = run("export", data=filled)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as cat:
        try:
            run("export", pipe, data=filled)
            assert cat.communicate(timeout=60)[0] == exported
        finally:
            cat.kill()
    assert pipe.is_fifo()


def test_an_export_appends_to_a_file_that_the_shell_has_opened(empty, tmp_path):
    (tmp_path / "out").write_text("old\n")
    with open(tmp_path / "out", "a") as file:
        command = [*COMMAND, "export", "/dev/stdout", "--data", str(empty)]
        subprocess.run(command, stdout=file, timeout=60, check=True)
    assert (tmp_path / "out").read_text() == "old\n[]\n"


def test_an_interrupted_export_leaves_the_old_file_and_no_temporary_file(tmp_path):
    def chunks():
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "out").write_text("old")
    with pytest.raises(OSError):
        write_file(str(tmp_path / "out"), chunks())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_an_export_does_not_create_a_missing_data_folder(run, tmp_path):
    output, messages = run("export", data=tmp_path / "typo", status=1)
    missing = tmp_path / "typo" / "bookmarks"
    message = f"bookmarks: there is no folder {missing}. Name the data folder with --data.\n"
    assert (output, messages) == ("", message)
    assert list(tmp_path.iterdir()) == []


def test_an_export_selects_and_sorts_like_a_list(run, data, add):
    for name, title, tags in (("a", "B", ["x", "y"]), ("b", "A", ["y"]), ("c", "C", [])):
        add(f"x:{name}", title=title, tags=tags, created=f"2001-01-0{ord(name) - 96}T00:00:00Z")
    for options, names in (
        (["--q", "x:b or #x"], "ba"),
        (["--tag", "x", "--tag", "y"], "a"),
        (["--sort", "-title", "--limit", "1"], "c"),
    ):
        exported, _ = run("export", *options, data=data)
        assert "".join(bookmark["uri"][2:] for bookmark in json.loads(exported)) == names
    _, message = run("export", "--limit", "x", data=data, status=1)
    assert "limit must be a whole number" in message


# --- Adding and deleting ---

def test_adding_makes_a_bookmark_and_prints_it(run, data):
    arguments = ["example.org/ä", "--title", " Ä ", "--tag", "a b", "--tag", "c,d", "--unread"]
    output, message = run("add", *arguments, "--description", "Text", data=data)
    assert message == f"bookmarks: {data} is a new data folder.\n"
    bookmark = json.loads(output)
    assert bookmark["uri"] == "https://example.org/ä"
    assert (bookmark["title"], bookmark["description"]) == ("Ä", "Text")
    assert bookmark["tags"] == ["a b", "c", "d", "unread"]
    assert json.loads(run("export", data=data)[0]) == [bookmark]


def test_adding_an_address_again_adds_to_its_bookmark(run, data, app, add):
    stored = add("https://a.example/", title="A", description="One", tags=["x"])
    same, _ = run("add", "HTTPS://A.example", data=data)
    assert json.loads(same) == stored
    arguments = ["--tag", "X", "--tag", "y", "--description", "Two", "--title", "B"]
    run("add", "a.example", *arguments, data=data)
    run("add", "a.example", *arguments, data=data)
    bookmark = app.get(f"/{stored['id']}", status=200).json
    assert bookmark["tags"] == ["x", "y"]
    assert (bookmark["title"], bookmark["description"]) == ("B", "One\n\nTwo")


def test_adding_refuses_what_is_no_address_and_makes_no_folder(run, data):
    assert "uri must" in run("add", "a b", data=data, status=1)[1]
    assert not data.exists()


def test_deleting_names_each_bookmark_and_those_that_cannot_be_deleted(run, data, app, add):
    first, second = add("a:1")["id"], add("a:2")["id"]
    outside = data / "outside.json"
    outside.write_text("{}")
    arguments = [first, "unknown", "../outside", first, second]
    output, messages = run("delete", *arguments, data=data, status=1)
    assert output == f"{first}: deleted\n{second}: deleted\n"
    named = [line.partition(": ")[0] for line in messages.splitlines()]
    assert named == ["unknown", "../outside", first]
    app.get(f"/{first}", status=410)
    assert app.get("/").json == []
    outside.unlink()
    assert f"{data}: the folder is good\n" in run("check", data=data)[0]
    assert run("delete", "a", data=data / "typo", status=1)[1].startswith("bookmarks: there is no")


def test_a_deletion_keeps_the_file_as_the_option_or_its_variable_says(run, data, add, monkeypatch):
    for days, status, is_kept in (("-1", 1, True), ("", 0, True), ("1", 0, True), ("0", 0, False)):
        monkeypatch.setenv("BOOKMARKS_KEEP_DELETED", days)
        id = add(f"a:days{days}")["id"]
        run("delete", id, data=data, status=status)
        assert (data / "bookmarks" / f"{id}.json").exists() == is_kept
