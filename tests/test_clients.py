"""The programs that people have, by the README's commands: each finds what it needs here."""

import csv
import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile

import feedparser
import pytest
from lxml import etree

from tests.conftest import readme_block, require_program, website

ELSEWHERE = "127.0.0.1:8080"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def commands(word):
    """The commands in which a word occurs, one after the other."""
    return "\n".join(line for line in readme_block("bash", "newsboat").splitlines() if word in line)


@pytest.fixture
def run(tmp_path):
    """Runs commands of the README on a service as in a terminal, at home in this test's folder."""
    terminal, keyboard = os.openpty()

    def run(command, address):
        done = subprocess.run(
            ["bash", "-c", command.replace(ELSEWHERE, address.removeprefix("http://"))],
            cwd=tmp_path,
            stdin=keyboard,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, done
        return done.stdout

    yield run
    os.close(terminal)
    os.close(keyboard)


def send(address, method, path, value=None):
    """The value that a request is answered with."""
    body = None if value is None else json.dumps(value).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address + path, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def put(address, id, title="", uri=None, **fields):
    uri = uri or f"https://{id}.example/"
    whole = {"uri": uri, "title": title or id, "description": "", "tags": []}
    send(address, "PUT", f"/{id}", whole | fields)


def requests(service):
    """What the service was asked for, and its answers' statuses."""
    service.stop()
    return re.findall(r" ([A-Z]+ /\S* \d{3}) ", "".join(service.log))


# --- In a terminal ---


def test_httpie_and_jq(serve, run, tmp_path):
    require_program("http", "jq")
    config = tmp_path / ".config" / "httpie" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"disable_update_warnings": true}')
    address = serve().address
    for step in re.split(r"^\$ ", readme_block("shell-session", "jq"), flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        assert run(command, address) == expected


@pytest.fixture
def pages(tmp_path):
    """The address of three pages."""
    folder = tmp_path / "website"
    folder.mkdir()
    for name in ("first.html", "second.html", "third.html"):
        (folder / name).write_text(name)
    with website(folder) as address:
        yield address


def test_wget_gets_the_pages_of_a_tag(serve, run, pages, tmp_path):
    require_program("curl", "wget")
    address = serve().address
    put(address, "a", "With\ttab", uri=f"{pages}/first.html", tags=["offline", "news"])
    put(address, "b", uri=f"{pages}/second.html", tags=["Offline"])
    put(address, "c", uri=f"{pages}/third.html", tags=["news"])
    run(commands("wget"), address)
    kept = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert kept == {"first.html": "first.html", "second.html": "second.html"}


# --- A spreadsheet ---


def test_a_spreadsheet_opens_the_csv_with_every_cell_as_text(serve, run, tmp_path):
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
    """The table's cells as they are shown; each holds a string and no formula."""
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


# --- Readers of the feed ---


def test_newsboat_reads_the_feed_and_reads_it_again_only_when_it_has_changed(serve, run):
    """newsboat 2.21 forgets the validators of its first fetch: its third is the first 304."""
    require_program("newsboat")
    service = serve("--access-log")
    put(service.address, "a", created="2024-05-01T12:00:00Z")
    put(service.address, "b", created="2024-05-01T12:00:00Z")
    assert "2 unread" in run(commands("newsboat"), service.address)
    reload = commands("newsboat -x")
    for _ in range(2):
        assert "2 unread" in run(reload, service.address)
    put(service.address, "c")
    assert "3 unread" in run(reload, service.address)
    asked = [line for line in requests(service) if line.startswith("GET")]
    assert set(asked[:2]) <= {"GET /feed 200", "GET /feed 304"}
    assert asked[2:] == ["GET /feed 304", "GET /feed 200"]


def test_feedparser_reads_the_feed_and_sees_a_deletion(serve):
    address = serve().address
    put(address, "a")
    put(address, "b")
    read = feedparser.parse(address + "/feed")
    assert sorted(entry.title for entry in read.entries) == ["a", "b"]
    assert "at_deleted-entry" not in read.feed
    again = feedparser.parse(address + "/feed", etag=read.etag, modified=read.modified)
    assert (again.status, again.entries) == (304, [])
    send(address, "DELETE", "/a")
    later = feedparser.parse(address + "/feed", etag=read.etag, modified=read.modified)
    assert [entry.title for entry in later.entries] == ["b"]
    assert later.feed["at_deleted-entry"]["ref"] in [entry.id for entry in read.entries]


# --- A program that keeps a copy ---


class Copy:
    """A copy of the service's bookmarks, kept by the README's program."""

    def __init__(self, address, folder):
        self.file = folder / "copy.json"
        program = folder / "sync.py"
        program.write_text(readme_block("python", "deleted-entry"))
        self._command = [sys.executable, "-W", "error", program, address, self.file]

    def sync(self):
        """The bookmarks that it has then, by id."""
        subprocess.run(self._command, check=True, timeout=20)
        copy = json.loads(self.file.read_text())[1]
        return {urn.removeprefix("urn:x-bookmarks:"): fields for urn, fields in copy.items()}


@pytest.fixture
def copy(serve, tmp_path):
    """A copy of a service that has a and b."""
    copy = Copy((service := serve("--access-log")).address, tmp_path)
    copy.service = service
    put(service.address, "a", "A <&> 1", description="Two\nlines", tags=["x y", "z"])
    put(service.address, "b", uri="https://b.example/?q=1&r=\"'2")
    return copy


def test_the_readmes_program_keeps_a_copy(copy):
    address = copy.service.address

    def fields():
        names = ("uri", "title", "description", "tags")
        listed = send(address, "GET", "/")
        return {one["id"]: {name: one[name] for name in names} for one in listed}

    assert copy.sync() == fields()
    before = copy.file.stat()
    assert copy.sync() == fields()
    assert copy.file.stat() == before
    put(address, "c")
    assert copy.sync() == fields()
    put(address, "a", "Changed", tags=["z"])
    assert copy.sync() == fields()
    assert fields()["a"]["title"] == "Changed"
    send(address, "DELETE", "/b")
    assert copy.sync() == fields()
    assert set(fields()) == {"a", "c"}
    asked = [line for line in requests(copy.service) if line.startswith("GET /feed")]
    assert [line[-3:] for line in asked] == ["200", "304", "200", "200", "200"]


def test_the_readmes_program_keeps_what_is_only_missing(copy):
    """A broken file is not in the feed; that is no deletion."""
    copied = copy.sync()
    (copy.service.data / "bookmarks" / "b.json").write_text("{")
    put(copy.service.address, "c")
    assert {id: fields for id, fields in copy.sync().items() if id != "c"} == copied


def test_the_readmes_program_leaves_the_copy_as_it_was_when_the_service_refuses(serve, tmp_path):
    service = serve(BOOKMARKS_TOKEN="secret")
    copy = Copy(service.address, tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        copy.sync()
    assert not copy.file.exists()
