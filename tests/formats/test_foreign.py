"""The bookmark file that is exported, read by the programs that people would take it to."""

import html
import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import ROOT, until

CHROMIUM = shutil.which("chromium")
CHROMIUM_DEFAULTS = Path("/etc/chromium/master_preferences")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
SHAARLI = Path("/usr/share/php/Shaarli/NetscapeBookmarkParser/autoload.php")

BACKWARDS = "https://f.example/"
BOOKMARKS = [
    {
        "uri": "https://a.example/?a=1&copy=2&lt=4&amp;b&quot;",
        "title": "\"quotes\" & 'more' <b>&amp;</b> &copy &#65;",
        "description": 'One\n<DT><A HREF="x:y">no</A>\n\n"Four" & &amp; \'four\' [x]',
        "tags": ["b c", 'say "Hi"', "R&D", "<&>'"],
        "created": "2001-02-03T04:05:06Z",
        "modified": "2026-07-08T09:10:11Z",
    },
    {
        "uri": "https://b.example/?q=<&>\"'#<>",
        "title": "=1+1",
        "tags": ["lone tag"],
        "created": "1970-01-01T00:00:00Z",
    },
    {
        "uri": "https://c.example/שלום/ü?q=😀",
        "title": "😀 שלום \u202e reversed\u202c \u2028 é",
        "description": "😀 \u2028 שלום",
        "tags": ["שלום", "😀", "Ünïcode"],
        "created": "1970-01-01T00:00:01Z",
        "modified": "2001-01-01T00:00:00Z",
    },
    {
        "uri": "javascript:alert('<b>&amp;\"')",
        "title": "</A></DL> --> <!-- a > b < c",
        "description": "</DL>",
        "created": "2026-02-03T04:05:06Z",
        "modified": "2026-02-03T04:05:07Z",
    },
    {"uri": "https://e.example/", "created": "1969-12-31T23:59:59Z"},
    {
        "uri": BACKWARDS,
        "created": "2026-01-01T00:00:00Z",
        "modified": "2001-01-01T00:00:00Z",
    },
]
# As the standard of URLs, which browsers follow, has them written.
BROWSERS_WRITE = {
    "https://b.example/?q=<&>\"'#<>": "https://b.example/?q=%3C&%3E%22%27#%3C%3E",
    "https://c.example/שלום/ü?q=😀": (
        "https://c.example/%D7%A9%D7%9C%D7%95%D7%9D/%C3%BC?q=%F0%9F%98%80"
    ),
}


def need(*missing):
    """Skips the test where anything it needs is missing, but in CI."""
    if missing:
        assert "CI" not in os.environ, f"needs {missing}"
        pytest.skip("needs " + ", ".join(missing))


def seconds(moment):
    return int(datetime.fromisoformat(moment).timestamp())


@pytest.fixture
def kept(app):
    """Every bookmark as the service has it, by its uri."""
    body = json.dumps(BOOKMARKS).encode()
    report = app.post("/", body, content_type="application/json", status=200).json
    assert report["created"] == len(BOOKMARKS), report
    return {bookmark["uri"]: bookmark for bookmark in app.get("/", status=200).json}


@pytest.fixture
def file(app, kept, data, tmp_path):
    """What the command exports, which is what the service answers."""
    path = tmp_path / "exported.html"
    command = [sys.executable, str(ROOT / "bookmarks.py"), "export", "--format", "netscape"]
    subprocess.run([*command, str(path), "--data", str(data)], check=True, timeout=30)
    assert path.read_bytes() == app.get("/?format=netscape", status=200).body
    return path


@pytest.fixture
def run(tmp_path):
    """Starts a program that is at home in this test's folder, and ends with the test."""
    home = tmp_path / "home"
    home.mkdir()
    processes = []

    def run(*command):
        with (tmp_path / "log").open("wb") as log:
            environment = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home)}
            processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=home)
            )
        return processes[-1]

    yield run
    for process in processes:
        end(process, signal.SIGKILL)


def end(process, how=signal.SIGTERM):
    """Ends a process that may have ended already."""
    if process.poll() is None:
        process.send_signal(how)
    process.wait(timeout=20)


# --- Firefox ---


FIREFOX_SETTINGS = {
    "browser.places.importBookmarksHTML": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


@pytest.fixture
def firefox(file, kept, run, tmp_path):
    """The profile of a Firefox that has imported the file."""
    need(*["Firefox"] * (FIREFOX is None))
    profile = tmp_path / "profile"
    profile.mkdir()
    settings = FIREFOX_SETTINGS | {"browser.bookmarks.file": str(file)}
    lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in settings.items())
    (profile / "user.js").write_text("".join(lines))
    process = run(FIREFOX, "--headless", "--no-remote", "--profile", str(profile))
    complete = len(kept) + sum(len(bookmark["tags"]) for bookmark in kept.values())
    until(lambda: count_in_firefox(profile, tmp_path / "copy") == complete, 30)
    end(process)
    return profile


def test_firefox(firefox, kept):
    """It keeps no descriptions, and no dates of what was modified before it was created."""
    found = in_firefox(firefox / "places.sqlite")
    *rest, tags = found.pop(BACKWARDS)
    assert (rest[0], tags) == (BACKWARDS, set())
    assert min(rest[1:]) > seconds(kept[BACKWARDS]["created"]) * 1_000_000
    assert found == {
        BROWSERS_WRITE.get(uri, uri): (
            bookmark["title"],
            seconds(bookmark["created"]) * 1_000_000,
            seconds(bookmark["modified"]) * 1_000_000,
            set(bookmark["tags"]),
        )
        for uri, bookmark in kept.items()
        if uri != BACKWARDS
    }


def count_in_firefox(profile, copy):
    """How many bookmarks and tags of bookmarks there are, read past the lock of the database."""
    copy.mkdir()
    try:
        for name in ("places.sqlite", "places.sqlite-wal"):
            shutil.copy(profile / name, copy)
        return len(query(copy / "places.sqlite", "SELECT 1 FROM moz_bookmarks WHERE type = 1"))
    except (FileNotFoundError, sqlite3.DatabaseError):
        return 0  # It is just being made.
    finally:
        shutil.rmtree(copy)


def query(database, question):
    connection = sqlite3.connect(database)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


def in_firefox(places):
    """Title, both dates in microseconds and tags of each bookmark, by its uri."""
    rows = query(
        places,
        """
        SELECT p.url, b.title, b.dateAdded, b.lastModified, f.title, f.parent = r.id
        FROM moz_bookmarks b JOIN moz_places p ON p.id = b.fk
        JOIN moz_bookmarks f ON f.id = b.parent JOIN moz_bookmarks r ON r.guid = 'tags________'
        """,
    )
    return {
        uri: (title, created, modified, {tag for u, *_, tag, is_tag in rows if is_tag and u == uri})
        for uri, title, created, modified, _, is_tag in rows
        if not is_tag
    }


# --- Chromium ---


def test_chromium(file, kept, run, tmp_path):
    """It keeps no tags, no descriptions, no other date, and none before 1970's second second."""
    need(*missing_for_chromium())
    before = int(time.time())
    chromium = import_into_chromium(file, run, tmp_path)
    found = tmp_path / "profile" / "Default" / "Bookmarks"
    until(found.exists, 30)
    end(chromium)
    entries = json.loads(found.read_text())["roots"]["bookmark_bar"]["children"]
    moments = {entry["url"]: int(entry["date_added"]) / 1_000_000 for entry in entries}
    assert {entry["url"]: entry["name"] for entry in entries} == {
        BROWSERS_WRITE.get(uri, uri): bookmark["title"] for uri, bookmark in kept.items()
    }
    for uri, bookmark in kept.items():
        moment = moments[BROWSERS_WRITE.get(uri, uri)] - SINCE_1601
        created = seconds(bookmark["created"])
        assert moment == created if created > 0 else moment > before


SINCE_1601 = 11_644_473_600  # Seconds to 1970.


def missing_for_chromium():
    missing = [name for name in ("chromium", "unshare", "mount") if not shutil.which(name)]
    if not CHROMIUM_DEFAULTS.exists():
        missing.append(str(CHROMIUM_DEFAULTS))
    if (
        not missing
        and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode
    ):
        missing.append("the right to mount")
    return missing


def import_into_chromium(file, run, tmp_path):
    """It imports what its defaults say when first run; those are others for this process alone."""
    defaults = tmp_path / "defaults.json"
    defaults.write_text(json.dumps({"distribution": {"import_bookmarks_from_file": str(file)}}))
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    unshare = ("unshare", "--mount", "sh", "-c", script, str(defaults), str(CHROMIUM_DEFAULTS))
    options = "headless=new no-sandbox disable-gpu disable-dev-shm-usage force-first-run".split()
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    # Without a port to talk to it would show the page and be done.
    more = (profile, "--disable-background-networking", "--remote-debugging-port=0", "about:blank")
    return run(*unshare, CHROMIUM, *(f"--{option}" for option in options), *more)


# --- buku ---


def test_buku(file, kept, run, tmp_path):
    """It keeps no dates, and tags in lower case."""
    need(*["buku"] * (importlib.util.find_spec("buku") is None))
    buku = run(sys.executable, "-m", "buku", "--nostdin", "--nc", "--tacit", "--import", str(file))
    assert buku.wait(timeout=30) == 0
    database = tmp_path / "home" / "buku" / "bookmarks.db"
    rows = query(database, "SELECT url, metadata, desc, tags FROM bookmarks")
    found = {uri: (title, text, tags.strip(",").split(",")) for uri, title, text, tags in rows}
    assert found == {
        uri: (b["title"], b["description"], sorted(map(str.lower, b["tags"])) or [""])
        for uri, b in kept.items()
    }


# --- Shaarli ---


PHP = """
require $argv[1];
$parser = new Shaarli\\NetscapeBookmarkParser\\NetscapeBookmarkParser(true, [], '0', $argv[2]);
echo json_encode($parser->parseFile($argv[3]), JSON_THROW_ON_ERROR);
"""


def test_shaarli(file, kept, tmp_path):
    """It decodes no entities, of any program's file; has no second date, and tags in lower case.

    It takes the first second of 1970 for no date, and a tag that is the only one for several if
    there are spaces in it.
    """
    need(*["php"] * (not shutil.which("php")), *[SHAARLI.parent.name] * (not SHAARLI.exists()))
    before = int(time.time())
    command = ["php", "-d", "display_errors=stderr", "-r", PHP, "--", str(SHAARLI)]
    command += [str(tmp_path / "logs"), str(file)]
    result = subprocess.run(command, capture_output=True, check=True, timeout=30)
    entries = json.loads(result.stdout)
    assert len(entries) == len(kept)
    for entry in entries:
        bookmark = kept[html.unescape(entry["uri"])]
        assert html.unescape(entry["title"]) == bookmark["title"]
        assert html.unescape(entry["note"]) == bookmark["description"]
        assert [html.unescape(tag) for tag in entry["tags"]] == tags_in_shaarli(bookmark["tags"])
        created = seconds(bookmark["created"])
        assert entry["time"] == created if created else entry["time"] >= before


def tags_in_shaarli(tags):
    lower = [re.sub("[A-Z]+", lambda found: found[0].lower(), tag) for tag in tags]
    return lower if len(lower) > 1 else "".join(lower).split()


# --- linkding ---


class Linkding(HTMLParser):
    """Reads by the rules of linkding, which cannot be installed apart from its whole service.

    An entry lasts from its <A> to the next <DT> or </DL>; of the text right after <A> and <DD> the
    last piece counts, without the space around it; TAGS is split at commas, and a space in a tag
    becomes a hyphen; both dates are seconds.
    """

    def __init__(self):
        super().__init__()
        self.found, self._entry, self._into = {}, None, None

    def handle_starttag(self, tag, attrs):
        if tag == "dt":
            self._close()
        if tag == "a":
            self._entry = {"title": "", "description": ""} | dict(attrs)
        self._into = {"a": "title", "dd": "description"}.get(tag)

    def handle_endtag(self, tag):
        self._into = None
        if tag == "dl":
            self._close()

    def handle_data(self, data):
        if self._entry and self._into:
            self._entry[self._into] = data.strip()

    def _close(self):
        if entry := self._entry:
            names = {tag.strip().replace(" ", "-") for tag in entry.get("tags", "").split(",")}
            dates = int(entry["add_date"]), int(entry["last_modified"])
            text = entry["description"].split("[linkding-notes]")[0]
            self.found[entry["href"]] = (entry["title"], text, *dates, names - {""})
        self._entry = None


def test_linkding(file, kept):
    """It has no spaces in tags."""
    linkding = Linkding()
    linkding.feed(file.read_text(encoding="utf-8"))
    assert linkding.found == {
        uri: (
            b["title"],
            b["description"],
            seconds(b["created"]),
            seconds(b["modified"]),
            {tag.replace(" ", "-") for tag in b["tags"]},
        )
        for uri, b in kept.items()
    }
