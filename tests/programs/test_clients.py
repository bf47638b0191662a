"""Programs of other people work with the service, as the documented commands use them."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import time
import zipfile

import pytest
from lxml import etree

from tests.conftest import documentation, documented_block, require_program, website
from tests.storage.clients import ask, put_body, uri_of

DOCUMENTED_ADDRESS = "127.0.0.1:8080"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TOKEN = "a-token-of-a-test"


def commands(word):
    lines = documented_block("bash", "newsboat").splitlines()
    return "\n".join(line for line in lines if word in line)


@pytest.fixture
def run(tmp_path):
    terminal, keyboard = os.openpty()

    def run(command, address):
        process = subprocess.run(
            ["bash", "-c", command.replace(DOCUMENTED_ADDRESS, address.removeprefix("http://"))],
            cwd=tmp_path, stdin=keyboard, capture_output=True, text=True, timeout=60,
            env={**os.environ, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert process.returncode == 0, process
        return process.stdout

    yield run
    os.close(terminal)
    os.close(keyboard)


def put(address, id, title="", uri=None, **fields):
    whole = put_body(uri or uri_of(id), title or id) | fields
    assert ask(address, "PUT", f"/{id}", whole).status in (200, 201)


def requests(service):
    service.stop()
    return re.findall(r" ([A-Z]+ /\S* \d{3}) ", "".join(service.log))


# --- In a terminal ---

def test_the_readmes_httpie_and_jq_session_prints_the_shown_output(serve, run, tmp_path):
    require_program("http", "jq")
    config = tmp_path / ".config" / "httpie" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"disable_update_warnings": true}')
    address = serve().address
    for step in re.split(r"^\$ ", documented_block("shell-session", "jq"), flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        assert run(command, address) == expected


def test_the_request_of_the_shortcut_saves_a_bookmark(serve, run):
    address = serve(BOOKMARKS_TOKEN=TOKEN).address
    command = documented_block("bash", "example.com/shared").replace("TOKEN", TOKEN)
    assert json.loads(run(command, address))["uri"] == "https://example.com/shared"


@pytest.mark.parametrize("menu", ["dmenu", "rofi"])
def test_a_launcher_opens_the_chosen_bookmark(serve, run, tmp_path, menu):
    require_program(menu, "xvfb-run", "xdotool")
    service = serve()
    put(service.address, "one", uri="https://one.example/?a=1&b=2'")
    put(service.address, "two")
    (line,) = [x for x in documented_block("bash", "dmenu").splitlines() if f"| {menu} " in x]
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    line = line.replace("xdg-open", str(browser))
    keys = "xdotool type one; sleep 0.5; xdotool key Return"
    run(f"xvfb-run -a bash -c {shlex.quote(f'(sleep 3; {keys}) & {line}')}", service.address)
    assert (tmp_path / "opened").read_text() == "https://one.example/?a=1&b=2'"


def test_wget_downloads_the_pages_of_a_tag(serve, run, tmp_path):
    require_program("curl", "wget")
    address = serve().address
    folder = tmp_path / "website"
    folder.mkdir()
    tags = {"first.html": ["offline", "news"], "second.html": ["Offline"], "third.html": ["news"]}
    with website(folder) as site:
        for number, name in enumerate(tags):
            (folder / name).write_text(name)
            put(address, f"{number}", "With\ttab", uri=f"{site}/{name}", tags=tags[name])
        run(commands("wget"), address)
    downloaded = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert downloaded == {"first.html": "first.html", "second.html": "second.html"}


# --- A spreadsheet ---

def test_a_spreadsheet_shows_every_cell_of_the_csv_as_text(serve, run, tmp_path):
    require_program("curl", "soffice")
    address = serve().address
    put(address, "0123", "=1+1", description="Two\nlines, \"quoted\" and 'not'", tags=["a", "b"])
    put(address, "1e5", "00123", description="TRUE", tags=["2024-05-01"])
    put(address, "x", "100 %", description="1,5", tags=["½", "@me"], created="2024-05-01T12:00:00Z")
    run(commands("bookmarks.csv"), address)
    with (tmp_path / "bookmarks.csv").open(newline="") as file:
        expected = list(csv.reader(file))
    assert [row[2] for row in expected[1:]] == ["00123", "'=1+1", "100 %"]
    assert cells(tmp_path / "bookmarks.ods") == expected


def cells(file):
    with zipfile.ZipFile(file) as archive:
        root = etree.fromstring(archive.read("content.xml"))
    rows = []
    for row in root.iter(f"{TABLE}table-row"):
        rows.append([])
        for cell in row.iter(f"{TABLE}table-cell"):
            assert cell.get(f"{OFFICE}value-type") == "string"
            assert cell.get(f"{TABLE}formula") is None
            shown = "\n".join("".join(line.itertext()) for line in cell.iter(f"{TEXT}p"))
            rows[-1] += [shown] * int(cell.get(f"{TABLE}number-columns-repeated", 1))
    return rows


# --- Feed readers ---

def test_newsboat_downloads_the_feed_again_only_after_a_change(serve, run):
    """newsboat 2.21 loses the validators of its first request, so its third gets the first 304."""
    require_program("newsboat")
    service = serve("--access-log")
    put(service.address, "a", created="2024-05-01T12:00:00Z")
    put(service.address, "b", created="2024-05-01T12:00:00Z")
    assert "2 unread" in run(commands("newsboat"), service.address)
    reload = commands("newsboat -x")
    for _ in range(2):
        assert "2 unread" in run(reload, service.address)
    # libcurl drops the body of a 200 whose Last-Modified is that of the response before.
    time.sleep(1.1)
    put(service.address, "c")
    assert "3 unread" in run(reload, service.address)
    gets = [line for line in requests(service) if line.startswith("GET")]
    assert set(gets[:2]) <= {"GET /feed 200", "GET /feed 304"}
    assert gets[2:] == ["GET /feed 304", "GET /feed 200"]


def test_programs_take_the_token_in_the_address(serve, run):
    require_program("curl", "http", "jq", "newsboat")
    service = serve(BOOKMARKS_TOKEN=TOKEN)
    assert "`https://any:TOKEN@bookmarks.example.com/`" in documentation("clients.md")
    address = service.address.replace("://", f"://any:{TOKEN}@")
    made = run(f"http {address}/ uri=https://a.example/ | jq -r .uri", address)
    listed = run(f"curl -sf '{address}/?format=text' | cut -f1", address)
    assert made == listed == "https://a.example/\n"
    assert "1 unread" in run(commands("newsboat"), address)


# --- The documented program that reads titles ---

def test_the_documented_program_gives_titles_to_bookmarks_without_one(serve, tmp_path):
    title = "<title>A &amp; &lt;b\n</title><svg><title>No</title></svg>"
    for name, text in {"a.html": title, "b.html": "<p>No", "named.html": title}.items():
        (tmp_path / name).write_text(text)
    program = documented_block("python", "TITLE")
    assert len(program.splitlines()) <= 40
    address = serve(BOOKMARKS_TOKEN=TOKEN).address
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with website(tmp_path) as site:
        for name in ("a.html", "b.html", "missing.html"):
            ask(address, "POST", "/", {"uri": f"{site}/{name}"}, **bearer)
        ask(address, "POST", "/", {"uri": "mailto:a@example.com"}, **bearer)
        ask(address, "POST", "/", {"uri": f"{site}/named.html", "title": "Mine"}, **bearer)
        process = subprocess.run(
            [sys.executable, "-W", "error", "-c", program, address],
            env={**os.environ, "TOKEN": TOKEN}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert process.returncode == 0, process.stderr
    titles = {bookmark["uri"]: bookmark["title"] for bookmark in ask(address, **bearer).json}
    unchanged = (f"{site}/b.html", f"{site}/missing.html", "mailto:a@example.com")
    named = {f"{site}/a.html": "A & <b", f"{site}/named.html": "Mine"}
    assert titles == named | {uri: uri for uri in unchanged}
    assert f"{site}/b.html has no title" in process.stdout
    assert f"{site}/missing.html HTTP Error 404" in process.stderr


# --- The documented program that keeps a copy ---

class Copy:
    def __init__(self, address, folder):
        self.file = folder / "copy.json"
        program = folder / "sync.py"
        program.write_text(documented_block("python", "deleted-entry"))
        self._command = [sys.executable, "-W", "error", program, address, self.file]

    def sync(self):
        subprocess.run(self._command, check=True, timeout=120)
        copy = json.loads(self.file.read_text())[1]
        return {urn.removeprefix("urn:x-bookmarks:"): fields for urn, fields in copy.items()}


@pytest.fixture
def copy(serve, tmp_path):
    copy = Copy((service := serve("--access-log")).address, tmp_path)
    copy.service = service
    put(service.address, "a", "A <&> 1", description="Two\nlines", tags=["x y", "z"])
    put(service.address, "b", uri="https://b.example/ä?q=1&r='2")
    return copy


def test_the_copy_follows_every_change(copy):
    address = copy.service.address

    def require_equal():
        names = ("uri", "title", "description", "tags")
        stored = {one["id"]: {name: one[name] for name in names} for one in ask(address).json}
        assert copy.sync() == stored

    require_equal()
    before = copy.file.stat()
    require_equal()
    assert copy.file.stat() == before
    put(address, "c")
    put(address, "a", "Changed", tags=["z"])
    require_equal()
    ask(address, "DELETE", "/b")
    require_equal()
    gets = [line for line in requests(copy.service) if line.startswith("GET /feed")]
    assert [line[-3:] for line in gets] == ["200", "304", "200", "200"]


def test_the_copy_is_written_only_with_the_token(serve, tmp_path, monkeypatch):
    copy = Copy(serve(BOOKMARKS_TOKEN=TOKEN).address, tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        copy.sync()
    assert not copy.file.exists()
    monkeypatch.setenv("TOKEN", TOKEN)
    assert copy.sync() == {}


def test_the_copy_keeps_a_bookmark_whose_file_became_unreadable(copy):
    """The feed has no entry of an unreadable file, but no deletion either."""
    copied = copy.sync()
    (copy.service.data / "bookmarks" / "b.json").write_text("{")
    put(copy.service.address, "c")
    assert {id: fields for id, fields in copy.sync().items() if id != "c"} == copied
