"""The exported bookmark file, imported by browsers and other bookmark programs."""

import html
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bookmarks import main
from tests.conftest import require_program, skip_without, until

CHROMIUM_DEFAULTS = Path("/etc/chromium/master_preferences")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
SHAARLI = Path("/usr/share/php/Shaarli/NetscapeBookmarkParser/autoload.php")

HOSTILE = "https://b.example/?q=<&>\"'#<>"
ENCODED = "https://c.example/שלום/ü?q=😀"
MODIFIED_BEFORE_CREATED = "https://f.example/"
BOOKMARKS = [
    {"uri": "https://a.example/?a=1&copy=2&lt=4&amp;b&quot;",
     "title": "\"quotes\" & 'more' <b>&amp;</b> &copy &#65;",
     "description": 'One\n<DT><A HREF="x:y">no</A>\n\n"Four" & &amp; \'four\' [x]',
     "tags": ["b c", 'say "Hi"', "R&D", "<&>'"],
     "created": "2001-02-03T04:05:06Z", "modified": "2026-07-08T09:10:11Z"},
    {"uri": HOSTILE, "title": "=1+1", "tags": ["lone tag"], "created": "1970-01-01T00:00:00Z"},
    {"uri": ENCODED, "title": "😀 שלום \u202e reversed\u202c \u2028 é",
     "description": "😀 \u2028 שלום", "tags": ["שלום", "😀", "Ünïcode"],
     "created": "1970-01-01T00:00:01Z", "modified": "2001-01-01T00:00:00Z"},
    {"uri": "javascript:alert('<b>&amp;\"')", "title": "</A></DL> --> <!-- a > b < c",
     "description": "</DL>"},
    {"uri": "https://e.example/", "created": "1969-12-31T23:59:59Z"},
    {"uri": MODIFIED_BEFORE_CREATED, "created": "2026-01-01T00:00:00Z",
     "modified": "2001-01-01T00:00:00Z"},
]  # fmt: skip
# The same addresses as browsers serialize them (https://url.spec.whatwg.org/).
BROWSER_URIS = {
    HOSTILE: "https://b.example/?q=%3C&%3E%22%27#%3C%3E",
    ENCODED: "https://c.example/%D7%A9%D7%9C%D7%95%D7%9D/%C3%BC?q=%F0%9F%98%80",
}


def seconds(timestamp):
    return int(datetime.fromisoformat(timestamp).timestamp())


@pytest.fixture
def stored(app):
    body = json.dumps(BOOKMARKS).encode()
    report = app.post("/-/import", body, content_type="application/json", status=200).json
    assert report["created"] == len(BOOKMARKS), report
    return {bookmark["uri"]: bookmark for bookmark in app.get("/", status=200).json}


@pytest.fixture
def file(app, stored, data, tmp_path):
    """The file that the command exports, which equals the service's response."""
    path = tmp_path / "exported.html"
    assert main(["export", "--format", "netscape", str(path), "--data", str(data)]) == 0
    assert path.read_bytes() == app.get("/?format=netscape", status=200).body
    return path


@pytest.fixture
def run(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    processes = []

    def run(*command):
        with (tmp_path / "log").open("wb") as log:
            environment = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home)}
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=home)
        processes.append(process)
        return process

    yield run
    for process in processes:
        stop(process, signal.SIGKILL)


def stop(process, signal_number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(signal_number)
    process.wait(timeout=60)


# --- Firefox ---

FIREFOX_DISABLED = [
    "browser.shell.checkDefaultBrowser", "browser.aboutwelcome.enabled", "app.normandy.enabled",
    "datareporting.policy.dataSubmissionEnabled", "network.captive-portal-service.enabled",
    "network.connectivity-service.enabled",
]  # fmt: skip


@pytest.fixture
def firefox(file, stored, run, tmp_path):
    if FIREFOX is None:
        skip_without("Firefox")
    profile = tmp_path / "profile"
    profile.mkdir()
    settings = dict.fromkeys(FIREFOX_DISABLED, False)
    settings |= {"browser.places.importBookmarksHTML": True, "browser.bookmarks.file": str(file)}
    lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in settings.items())
    (profile / "user.js").write_text("".join(lines))
    process = run(FIREFOX, "--headless", "--no-remote", "--profile", str(profile))
    expected = len(stored) + sum(len(bookmark["tags"]) for bookmark in stored.values())
    until(lambda: count_in_firefox(profile, tmp_path / "copy") == expected)
    stop(process)
    return profile


def test_firefox_imports_addresses_titles_dates_and_tags(firefox, stored):
    """Firefox ignores descriptions, and both dates if `modified` is before `created`."""
    imported = read_firefox(firefox / "places.sqlite")
    title, *dates, tags = imported.pop(MODIFIED_BEFORE_CREATED)
    assert (title, tags) == (MODIFIED_BEFORE_CREATED, set())
    assert min(dates) > seconds(stored[MODIFIED_BEFORE_CREATED]["created"]) * 1_000_000
    assert imported == {
        BROWSER_URIS.get(uri, uri): (
            bookmark["title"],
            seconds(bookmark["created"]) * 1_000_000,
            seconds(bookmark["modified"]) * 1_000_000,
            set(bookmark["tags"]),
        )
        for uri, bookmark in stored.items()
        if uri != MODIFIED_BEFORE_CREATED
    }


def count_in_firefox(profile, copy):
    """Return the number of bookmarks and of their tags, from a copy of the locked database."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    try:
        for name in ("places.sqlite", "places.sqlite-wal"):
            shutil.copy(profile / name, copy)
        return len(query(copy / "places.sqlite", "SELECT 1 FROM moz_bookmarks WHERE type = 1"))
    except (FileNotFoundError, sqlite3.DatabaseError):
        return 0  # Firefox is still creating the database.


def query(database, sql):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


def read_firefox(places):
    """Return the title, both dates in microseconds and the tags of each bookmark, by uri."""
    rows = query(places, """
        SELECT p.url, b.title, b.dateAdded, b.lastModified, f.title, f.parent = r.id
        FROM moz_bookmarks b JOIN moz_places p ON p.id = b.fk
        JOIN moz_bookmarks f ON f.id = b.parent JOIN moz_bookmarks r ON r.guid = 'tags________'
    """)  # fmt: skip
    return {
        uri: (title, created, modified, {tag for u, *_, tag, is_tag in rows if is_tag and u == uri})
        for uri, title, created, modified, _, is_tag in rows
        if not is_tag
    }


# --- Chromium ---

def test_chromium_imports_addresses_titles_and_creation_dates(file, stored, run, tmp_path):
    """Chromium ignores tags, descriptions, `modified`, and dates up to the first second of 1970."""
    if not CHROMIUM_DEFAULTS.exists():
        skip_without(str(CHROMIUM_DEFAULTS))
    require_program("chromium", "unshare", "mount")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    before = int(time.time())
    chromium = import_into_chromium(file, run, tmp_path)
    profile = tmp_path / "profile" / "Default" / "Bookmarks"
    until(profile.exists)
    stop(chromium)
    entries = json.loads(profile.read_text())["roots"]["bookmark_bar"]["children"]
    dates = {entry["url"]: int(entry["date_added"]) / 1_000_000 for entry in entries}
    assert {entry["url"]: entry["name"] for entry in entries} == {
        BROWSER_URIS.get(uri, uri): bookmark["title"] for uri, bookmark in stored.items()
    }
    for uri, bookmark in stored.items():
        date = dates[BROWSER_URIS.get(uri, uri)] - SECONDS_FROM_1601_TO_1970
        created = seconds(bookmark["created"])
        assert date == created if created > 0 else date > before


SECONDS_FROM_1601_TO_1970 = 11_644_473_600


def import_into_chromium(file, run, tmp_path):
    """Start Chromium; its first run imports the file that its default preferences name.

    A mount namespace replaces these preferences for this process only.
    """
    defaults = tmp_path / "defaults.json"
    defaults.write_text(json.dumps({"distribution": {"import_bookmarks_from_file": str(file)}}))
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    unshare = ("unshare", "--mount", "sh", "-c", script, str(defaults), str(CHROMIUM_DEFAULTS))
    options = "headless=new no-sandbox disable-gpu disable-dev-shm-usage force-first-run".split()
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    # Without a debugging port headless Chromium exits as soon as the page is loaded.
    more = (profile, "--disable-background-networking", "--remote-debugging-port=0", "about:blank")
    return run(*unshare, "chromium", *(f"--{option}" for option in options), *more)


# --- Shaarli ---

PHP = """
require $argv[1];
$parser = new Shaarli\\NetscapeBookmarkParser\\NetscapeBookmarkParser(true, [], '0', $argv[2]);
echo json_encode($parser->parseFile($argv[3]), JSON_THROW_ON_ERROR);
"""


def test_shaarli_imports_everything_but_the_modification_date(file, stored, tmp_path):
    """Shaarli stores tags in lower case and does not decode entities.

    It takes the first second of 1970 for an unknown date, and splits a single tag at its spaces.
    """
    require_program("php")
    if not SHAARLI.exists():
        skip_without(SHAARLI.parent.name)
    before = int(time.time())
    command = ["php", "-d", "display_errors=stderr", "-r", PHP, "--", str(SHAARLI)]
    command += [str(tmp_path / "logs"), str(file)]
    result = subprocess.run(command, capture_output=True, check=True, timeout=120)
    entries = json.loads(result.stdout)
    assert len(entries) == len(stored)
    for entry in entries:
        bookmark = stored[html.unescape(entry["uri"])]
        assert html.unescape(entry["title"]) == bookmark["title"]
        assert html.unescape(entry["note"]) == bookmark["description"]
        assert [html.unescape(tag) for tag in entry["tags"]] == shaarli_tags(bookmark["tags"])
        created = seconds(bookmark["created"])
        assert entry["time"] == created if created else entry["time"] >= before


def shaarli_tags(tags):
    lower = [re.sub("[A-Z]+", lambda match: match[0].lower(), tag) for tag in tags]
    return lower if len(lower) > 1 else "".join(lower).split()


# --- linkding ---

class Linkding(HTMLParser):
    """A parser with the rules of linkding's, which cannot be installed without its service.

    Title and description are the last piece of text right after <A> and <DD>, trimmed.
    """

    def __init__(self):
        super().__init__()
        self.entries, self._current = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.entries.append({"title": "", "description": "", "tags": ""} | dict(attrs))
        self._current = {"a": "title", "dd": "description"}.get(tag)

    def handle_endtag(self, tag):
        self._current = None

    def handle_data(self, data):
        if self._current:
            self.entries[-1][self._current] = data.strip()


def test_linkding_imports_everything(file, stored):
    linkding = Linkding()
    linkding.feed(file.read_text(encoding="utf-8"))
    assert len(linkding.entries) == len(stored)
    for entry in linkding.entries:
        bookmark = stored[entry["href"]]
        assert entry["title"] == bookmark["title"]
        assert entry["description"] == bookmark["description"]
        assert entry["tags"].split(",") == (bookmark["tags"] or [""])
        assert int(entry["add_date"]) == seconds(bookmark["created"])
        assert int(entry["last_modified"]) == seconds(bookmark["modified"])
