"""Golden files: small files in the style of other programs, and the entries read from each.

`expected/NAME.json` has the format of `files/NAME`, and each entry: its line or path, its
fields, and why it is skipped; `not_read` has the numbers of values that are not read.
"""

import json
import plistlib
from pathlib import Path
from typing import NamedTuple

import pytest

from formats.imports import FILE_READERS
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry, note_of_unused_values
from storage.errors import Malformed
from storage.importer import NOTE

FOLDER = Path(__file__).parent / "files"


class Expected(NamedTuple):
    format: str
    entries: list[ImportedEntry]  # At the end may be a note on the values that are not read.


def load_expected(path):
    document = json.loads(path.read_text())
    entries = []
    for fields in document["entries"]:
        place = fields.pop("place")
        skip_reason = fields.pop("skipped", "")
        entries.append(ImportedEntry(place, fields, skip_reason))
    if "not_read" in document:
        entries.append(note_of_unused_values(document["not_read"]))
    return Expected(document["format"], entries)


EXPECTED = {
    path.stem: load_expected(path) for path in sorted(FOLDER.with_name("expected").iterdir())
}
# A file of each format and syntax, with values of several lines where it may have them.
SYNTAXES = [
    *("firefox.html", "netscape-4.html", "pinboard.json", "konqueror.xml", "gnome.xml"),
    *("raindrop.csv", "people.md", "people.org", "uri-list.txt", "onetab.txt", "feeds.opml"),
    *("posts.xml", "opera.adr", "shortcut.url", "shortcut.desktop", "shortcut.webloc"),
]


def test_each_file_has_an_expectation():
    assert sorted(EXPECTED) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("file", EXPECTED)
def test_the_format_is_detected_and_each_entry_is_read(file):
    assert_read(file, (FOLDER / file).read_bytes())


def assert_read(file, data):
    expected = EXPECTED[file]
    assert detect_format(data) == expected.format
    assert list(FILE_READERS[expected.format](data)) == expected.entries


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("file", SYNTAXES)
def test_the_same_entries_are_read_in_another_charset(file, charset):
    declared = charset.removesuffix("-sig")
    text = read_text(file).replace('encoding="UTF-8"', f'encoding="{declared}"')
    assert_read(file, text.encode(charset))


@pytest.mark.parametrize("file", SYNTAXES)
def test_the_same_entries_are_read_with_crlf_and_with_cr(file):
    assert_read(file, read_text(file).replace("\n", "\r\n").encode())
    # Classic Mac OS ended lines with CR; its programs wrote neither XML nor JSON.
    if EXPECTED[file].format not in ("xbel", "json"):
        assert_read(file, read_text(file).replace("\n", "\r").encode())


def read_text(file):
    return (FOLDER / file).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


# --- Shortcuts ---

PLIST = '<plist version="1.0"><dict>\n{}</dict></plist>'


@pytest.mark.parametrize("text, line", [
    ("[InternetShortcut]\nURL=a:1\n\n[InternetShortcut]\nURL=a:2\n", 5),
    ("[Desktop Entry]\nName=A\nURL=a:1\n[Desktop Entry]\nURL[$e]=a:2\n", 5),
    (PLIST.format("<key>URL</key><string>a:1</string>\n<key>URL</key><string>a:2</string>"), 3),
])  # fmt: skip
def test_a_further_address_of_a_shortcut_is_skipped(text, line):
    first, second = FILE_READERS["shortcut"](text.encode())
    assert (first.fields["uri"], first.skip_reason) == ("a:1", "")
    assert (second.place, second.fields["uri"]) == (line, "a:2")
    assert second.skip_reason.startswith("is a further address: ")


@pytest.mark.parametrize("key", ["Children", "Title"])
def test_a_property_list_of_bookmarks_is_refused(key):
    url = "<dict><key>URL</key><string>a:1</string></dict>" if key == "Children" else ""
    values = {key: [{"URLString": "a:1"}]}
    xml = PLIST.format(f"<key>{key}</key><array>{url}</array>").encode()
    for data in (xml, plistlib.dumps(values, fmt=plistlib.FMT_BINARY)):
        with pytest.raises(Malformed, match="export the bookmarks"):
            list(FILE_READERS["shortcut"](data))


KDE = "<info><metadata><time_added>noon</time_added></metadata></info>"


@pytest.mark.parametrize("format, document, valid", [
    ("netscape", '<A HREF=a:b ADD_DATE="noon" {}>T</A>', 'CREATED="2024-01-01"'),
    ("netscape", '<A HREF=a:b TIME="noon" {}>T</A>', 'ADD_DATE="1704067200"'),
    ("outline", '<posts><post href="a:b" time="noon" {}/></posts>', 'date="2024-01-01"'),
    ("xbel", f'<xbel><bookmark href="a:b" {{}}>{KDE}</bookmark></xbel>', 'added="2024-01-01"'),
])  # fmt: skip
def test_a_wrong_date_is_noted_beside_a_valid_one_and_else_kept(format, document, valid):
    (entry,) = FILE_READERS[format](document.format("").encode())
    assert entry.fields["created"] == "noon" and NOTE not in entry.fields
    (entry,) = FILE_READERS[format](document.format(valid).encode())
    assert entry.fields["created"] == "2024-01-01T00:00:00Z"
    assert entry.fields[NOTE] == "a date left out, because it cannot be read: 'noon'"
