"""Files as the programs write them that people come from: what is read of each.

The files are small and made by hand, with every oddity of the programs' own.
"""

import io
from pathlib import Path

import pytest

from formats import FILES, recognize
from formats.item import Item

FOLDER = Path(__file__).parent / "files"

# By the file: its kind, and of each entry the line, the fields and why it is left out.
EXPECTED = {
    # No program in particular: what hands and bad programs make of the format.
    "broken.html": (
        "netscape",
        [
            (
                4,
                {
                    "uri": 'https://a.example/?q="x"',
                    "title": "Single and bold red",
                    "tags": ["one", "two"],
                    "created": "2016-02-25T20:55:41Z",
                },
            ),
            (
                5,
                {
                    "uri": "https://b.example/?a=1&copy=2",
                    "title": "Bare",
                    "tags": ["three", "four"],
                },
            ),
            (5, {"uri": "https://c.example/", "title": "Same line"}),
            (6, {"uri": "https://d.example/", "title": "No DT"}),
            (7, {"uri": "https://e.example/", "title": "Quote left open"}),
            (
                8,
                {
                    "uri": "https://f.example/",
                    "title": "Another",
                    "created": "2016-02-25T20:55:42Z",
                },
            ),
            (9, {"uri": "https://g.example/", "title": ""}),
            (
                10,
                {
                    "uri": "https://h.example/",
                    "title": "Title left open",
                    "description": "Described with a link in it",
                },
            ),
            (12, {"uri": "", "title": "No address"}, "has no uri"),
            (13, {"uri": "", "title": "Empty"}, "has no uri"),
            (
                16,
                {
                    "uri": "https://i.example/",
                    "title": "I",
                    "tags": ["private", "toread", "Left open"],
                },
            ),
            (17, {"uri": "https://j.example/", "title": "J", "tags": ["Left open"]}),
        ],
    ),
    # buku escapes nothing.
    "buku.html": (
        "netscape",
        [
            (
                10,
                {
                    "uri": "https://a.example/?a=1&reg=2",
                    "title": "std::vector<int> & more, 1 < 2",
                    "description": "Never escaped &c.",
                    "tags": ["c++", "std::vector"],
                    "created": "2022-04-15T05:20:00Z",
                    "modified": "2022-04-15T05:20:00Z",
                },
            ),
            (
                12,
                {
                    "uri": "https://b.example/",
                    "title": "",
                    "created": "2022-04-15T05:20:00Z",
                    "modified": "2022-04-15T05:20:00Z",
                },
            ),
        ],
    ),
    # buku writes its tags in upper case.
    "buku.xml": (
        "xbel",
        [
            (
                5,
                {
                    "uri": "https://a.example/?a=1&b=ä",
                    "title": 'A "B"',
                    "description": "Described",
                    "tags": ["one", "two words"],
                },
            ),
            (9, {"uri": "https://b.example/", "title": ""}),
        ],
    ),
    # Chrome and what is built on it; 1601 is when its clock begins.
    "chrome.html": (
        "netscape",
        [
            (
                11,
                {
                    "uri": "https://a.example/?x=1&y=2",
                    "title": "A – dash",
                    "created": "2016-06-15T17:04:26Z",
                },
            ),
            (
                16,
                {
                    "uri": "https://b.example/",
                    "title": "B 'quoted' \"too\"",
                    "tags": ["Dev", "Python"],
                },
            ),
            (18, {"uri": "https://c.example/", "title": "C", "tags": ["Dev"]}),
            (
                22,
                {
                    "uri": "https://d.example/",
                    "title": "D",
                    "tags": ["Other bookmarks"],
                    "created": "2016-06-15T17:29:15Z",
                },
            ),
            (25, {"uri": "https://e.example/", "title": "E", "created": "2016-06-15T16:50:12Z"}),
        ],
    ),
    # Delicious.
    "delicious.html": (
        "netscape",
        [
            (
                8,
                {
                    "uri": "http://a.example/?q=in%3Ascraps&qo=1",
                    "title": "Format",
                    "description": '"Hello!"',
                    "tags": ["netscape", "@font-face"],
                    "created": "2010-03-17T23:00:00Z",
                },
            ),
            (
                10,
                {
                    "uri": "http://b.example/",
                    "title": "Private twice",
                    "tags": ["php", "Private", "private"],
                    "created": "2010-02-08T23:00:00Z",
                },
            ),
        ],
    ),
    # Firefox, in French: its own folders are known by their marks alone.
    "firefox.html": (
        "netscape",
        [
            (
                12,
                {
                    "uri": "place:type=6&sort=14&maxResults=10",
                    "title": "Recent Tags",
                    "created": "2016-04-10T13:29:16Z",
                    "modified": "2016-04-10T13:29:17Z",
                },
                "is a query of Firefox, not a bookmark",
            ),
            (
                15,
                {
                    "uri": "https://a.example/?a=1&copy=2&center=3&lt=4",
                    "title": 'L\'œuf & la "poule" <b> &lt;',
                    "description": "On one line.\n\nOn a third — and  more.",
                    "tags": ["soupe", "crème brûlée", "Recettes", "cuisine"],
                    "created": "2016-05-19T19:31:19Z",
                    "modified": "2016-05-19T19:31:20Z",
                },
            ),
            (19, {}, "is a separator"),
            (
                19,
                {
                    "uri": "javascript:(function(){document.write('<h1>x</h1>')})()",
                    "title": "Bookmarklet",
                    "tags": ["Recettes", "cuisine"],
                    "created": "2016-05-19T19:31:21Z",
                },
            ),
            (
                24,
                {
                    "uri": "https://b.example/%22quoted%22",
                    "title": "B",
                    "created": "2016-05-19T19:31:22Z",
                    "modified": "2016-05-19T19:31:22Z",
                },
            ),
            (28, {"uri": "https://c.example/", "title": "Live"}),
        ],
    ),
    # Firefox' backup.
    "firefox.json": (
        "json",
        [
            (
                1,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two"],
                    "created": "2016-05-19T19:31:19Z",
                    "modified": "2016-05-19T19:31:20Z",
                },
            ),
            (1, {}, "is a separator"),
            (
                1,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "created": "2016-05-19T19:31:21Z",
                    "tags": ["Cats", "dogs"],
                },
            ),
            (
                1,
                {
                    "uri": "place:sort=8&maxResults=10",
                    "title": "Most visited",
                    "tags": ["Cats", "dogs"],
                },
                "is a query of Firefox, not a bookmark",
            ),
        ],
    ),
    # floccus numbers everything.
    "floccus.xml": (
        "xbel",
        [
            (7, {"uri": "https://a.example/", "title": "A"}),
            (12, {"uri": "https://b.example/?a=1&b=2", "title": "B", "tags": ["Deep"]}),
        ],
    ),
    # Galeon, and Epiphany after it; with a year and month alone, as XBEL allows.
    "galeon.xml": (
        "xbel",
        [
            (
                8,
                {
                    "uri": "http://a.example/",
                    "title": "A",
                    "description": "Note",
                    "tags": ["Folder"],
                    "created": "2002-09-14T14:53:30Z",
                    "modified": "2002-09-01T00:00:00Z",
                },
            ),
            (13, {}, "is an alias of another bookmark"),
            (14, {}, "is a separator"),
            (15, {"title": "Nowhere", "tags": ["Folder"]}, "has no uri"),
            (16, {"uri": "http://b.example/", "tags": ["Folder"]}),
        ],
    ),
    # GTK's recently-used.xbel, by the specification that GNOME's bookmarks follow.
    "gnome.xml": (
        "xbel",
        [
            (
                6,
                {
                    "uri": "file:///home/a/b.txt",
                    "tags": ["Office", "Text", "private"],
                    "created": "2019-08-25T10:47:37Z",
                    "modified": "2019-08-25T10:47:38Z",
                },
            )
        ],
    ),
    # Google Bookmarks, with microseconds; and milliseconds, as some wrote after it.
    "google.html": (
        "netscape",
        [
            (
                8,
                {
                    "uri": "http://a.example/",
                    "title": "A",
                    "description": "A note",
                    "tags": ["a label"],
                    "created": "2010-01-12T21:20:00Z",
                },
            ),
            (13, {"uri": "http://b.example/", "title": "B", "created": "2010-01-12T21:21:40Z"}),
        ],
    ),
    # Instapaper.
    "instapaper.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Selected text",
                    "tags": ["unread"],
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "2020-09-13T12:26:41Z"}),
            (
                4,
                {
                    "uri": "https://c.example/",
                    "title": "C",
                    "tags": ["Starred"],
                    "created": "2020-09-13T12:26:42Z",
                },
            ),
        ],
    ),
    # Internet Explorer, with CRLF.
    "internet-explorer.html": (
        "netscape",
        [
            (
                10,
                {
                    "uri": "http://a.example/cats",
                    "title": "It never works",
                    "tags": ["Comics"],
                    "created": "2016-06-18T17:37:05Z",
                    "modified": "2016-06-18T17:37:05Z",
                },
            ),
            (
                14,
                {
                    "uri": "http://b.example/?LinkId=50893",
                    "title": "IE Add-on site",
                    "created": "2013-03-11T21:39:26Z",
                    "modified": "2013-12-15T17:45:34Z",
                },
            ),
            (
                16,
                {
                    "uri": "http://c.example/",
                    "title": "C",
                    "created": "2016-06-18T17:36:25Z",
                    "modified": "2016-06-18T17:36:26Z",
                },
            ),
        ],
    ),
    # What Karakeep exports, and last what its API answers.
    "karakeep.json": (
        "json",
        [
            (
                3,
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A",
                    "description": "Noted",
                    "tags": ["one", "two words"],
                    "created": "2023-11-14T22:13:20Z",
                },
            ),
            (4, {"uri": "https://b.example/", "created": "2023-11-14T22:13:21Z"}),
            (
                5,
                {
                    "createdAt": 1700000002,
                    "title": "Text",
                    "content": {"type": "text", "text": "https://c.example/"},
                },
                "has no uri",
            ),
            (6, {"createdAt": 1700000003, "title": "File", "content": None}, "has no uri"),
            (
                7,
                {
                    "uri": "https://d.example/",
                    "title": "From the page",
                    "tags": ["three", "four", "five"],
                    "created": "2024-01-02T03:04:05Z",
                    "modified": "2024-01-02T03:04:06Z",
                },
            ),
            (
                8,
                {
                    "id": "a2",
                    "createdAt": "2024-01-02T03:04:07.000Z",
                    "title": "Asset",
                    "content": {
                        "type": "asset",
                        "assetType": "pdf",
                        "assetId": "x",
                        "fileName": "x.pdf",
                    },
                },
                "has no uri",
            ),
        ],
    ),
    # Konqueror and everything of KDE that has bookmarks.
    "konqueror.xml": (
        "xbel",
        [
            (
                11,
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A <Ü>",
                    "created": "2006-07-04T12:13:30Z",
                },
            ),
            (21, {}, "is a separator"),
            (
                24,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "description": "Line one\nline two",
                    "tags": ["KDE", "Plasma"],
                },
            ),
            (31, {"uri": "https://c.example/", "title": ""}),
        ],
    ),
    # Old browsers of Windows: Latin-1 by its name, windows-1252 in truth.
    "latin-1.html": (
        "netscape",
        [(3, {"uri": "http://a.example/", "title": "Café “quoted” €", "tags": ["été"]})],
    ),
    # linkding.
    "linkding.html": (
        "netscape",
        [
            (
                6,
                {
                    "uri": "https://a.example/",
                    "title": "<A>",
                    "description": "Described[linkding-notes]## Notes\n* kept[/linkding-notes]",
                    "tags": ["one", "two", "private", "toread"],
                    "created": "2022-04-15T05:20:00Z",
                    "modified": "2022-04-15T05:20:01Z",
                },
            ),
            (
                9,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "created": "2022-04-15T05:20:02Z",
                    "modified": "2022-04-15T05:20:02Z",
                },
            ),
        ],
    ),
    # linkding's API.
    "linkding.json": (
        "json",
        [
            (
                6,
                {
                    "uri": "https://a.example/",
                    "title": "From the page",
                    "description": "Described\n\nNoted",
                    "tags": ["one", "two words", "unread"],
                    "created": "2020-09-26T09:46:23Z",
                    "modified": "2020-09-26T14:01:14Z",
                },
            ),
            (
                7,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "created": "2020-09-26T09:46:24Z",
                    "modified": "2020-09-26T09:46:24Z",
                },
            ),
        ],
    ),
    # Netscape 4, which began it all.
    "netscape-4.html": (
        "netscape",
        [
            (
                12,
                {
                    "uri": "http://a.example/",
                    "title": "A over two lines",
                    "description": "First line\nsecond line",
                    "tags": ["Search"],
                    "created": "1997-12-14T21:20:01Z",
                    "modified": "1997-12-14T21:20:03Z",
                },
            ),
            (
                16,
                {
                    "uri": "http://b.example/",
                    "title": "B",
                    "tags": ["Search"],
                    "created": "1997-12-14T21:20:04Z",
                },
            ),
            (17, {}, "is a separator"),
            (
                21,
                {
                    "uri": "http://c.example/",
                    "title": "Cañón &nosuch; &copy",
                    "tags": ["Old", "dusty"],
                    "created": "1997-12-14T21:20:05Z",
                },
            ),
        ],
    ),
    # OneTab.
    "onetab.txt": (
        "text",
        [
            (1, {"uri": "https://a.example/", "title": "A | B"}),
            (2, {"uri": "https://b.example/?q=x|y", "title": "B"}),
            (4, {"uri": "https://c.example/"}),
            (5, {"uri": "https://d.example/", "title": ""}),
        ],
    ),
    # Pinboard.
    "pinboard.html": (
        "netscape",
        [
            (
                5,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": 'Noted "so"',
                    "tags": ["one", "two words", "private", "toread"],
                    "created": "2010-01-12T21:20:00Z",
                },
            ),
            (
                8,
                {
                    "uri": "https://b.example/?a=1&b=2",
                    "title": "B",
                    "created": "2010-01-12T21:20:01Z",
                },
            ),
        ],
    ),
    # Pinboard's JSON.
    "pinboard.json": (
        "json",
        [
            (
                1,
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A ü",
                    "description": "Two\nlines",
                    "tags": ["one", "two", "three", "private", "toread"],
                    "created": "2011-10-07T00:51:42Z",
                },
            ),
            (2, {"uri": "https://b.example/", "title": "B", "created": "2011-10-07T00:51:43Z"}),
        ],
    ),
    # Pocket.
    "pocket.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two words", "unread"],
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
            (
                3,
                {
                    "uri": "https://b.example/",
                    "title": "https://b.example/",
                    "created": "2020-09-13T12:26:41Z",
                },
            ),
        ],
    ),
    # Raindrop.
    "raindrop.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": 'A, "quoted"',
                    "description": "My note\n\nFrom the page",
                    "tags": ["one", "two words", "Dev", "Python"],
                    "created": "2022-03-04T05:06:07Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "2022-03-04T05:06:08Z"}),
            (5, {"title": "No address", "created": "2022-03-04T05:06:08Z"}, "has no uri"),
        ],
    ),
    # Safari.
    "safari.html": (
        "netscape",
        [
            (8, {"uri": "https://a.example/", "title": "A"}),
            (11, {"uri": "https://b.example/?q=1&r=2", "title": "B", "tags": ["News"]}),
            (17, {"uri": "https://c.example/", "title": "C"}),
            (20, {"uri": "https://d.example/", "title": "D", "tags": ["toread"]}),
        ],
    ),
    # Scuttle and SemanticScuttle, with dates as text.
    "scuttle.html": (
        "netscape",
        [
            (
                7,
                {
                    "uri": "http://a.example/?a=1&b=2",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two"],
                    "created": "2010-01-12T21:20:00Z",
                    "modified": "2010-01-12T21:20:01Z",
                },
            ),
            (9, {"uri": "http://b.example/", "title": "B"}),
        ],
    ),
    # Shaarli; its own notes have no absolute address.
    "shaarli.html": (
        "netscape",
        [
            (
                9,
                {
                    "uri": "?lY47tw",
                    "title": "Note",
                    "description": '"Why?"\n\n- http://a.example/\n  - it\'s nested',
                    "tags": ["note"],
                    "created": "2016-03-30T20:56:37Z",
                },
            ),
            (
                14,
                {
                    "uri": "http://b.example/?a=1&b=2",
                    "title": "B",
                    "tags": ["php", "test", "private"],
                    "created": "2016-03-30T20:53:44Z",
                    "modified": "2016-03-30T20:53:45Z",
                },
            ),
        ],
    ),
    # A spreadsheet on a computer that is not set to English.
    "spreadsheet.csv": (
        "csv",
        [
            (
                3,
                {
                    "uri": "https://a.example/",
                    "title": "A; B",
                    "description": 'He said "x"',
                    "tags": ["one", "two", "Work"],
                    "created": "2020-01-02T00:00:00Z",
                },
            ),
            (5, {"uri": "https://c.example/", "title": "C"}),
            (6, {}, "has 2 cells, not 6"),
        ],
    ),
    # A table from a database, in no charset that it tells.
    "tabs.csv": ("csv", [(2, {"uri": "https://a.example/", "title": "Café"})]),
    # Two programs after each other, each in its own charset.
    "undeclared.html": (
        "netscape",
        [
            (3, {"uri": "http://a.example/", "title": "Café"}),
            (4, {"uri": "http://b.example/", "title": "Café"}),
        ],
    ),
    # RFC 2483, with what may slip in.
    "uri-list.txt": (
        "text",
        [
            (2, {"uri": "https://a.example/"}),
            (4, {"uri": "https://b.example/?a=1|2"}),
            (5, {"uri": "mailto:somebody@c.example"}),
            (6, {"uri": "no address at all"}, "does not begin with a uri"),
            (7, {"uri": "Note: this is none either"}, "does not begin with a uri"),
        ],
    ),
}


def entries(name, data):
    return list(FILES[name](io.BytesIO(data)))


def test_every_file_is_expected():
    assert sorted(EXPECTED) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("file", EXPECTED)
def test_what_is_read(file):
    data = (FOLDER / file).read_bytes()
    name, expected = EXPECTED[file]
    assert recognize.kind(data) == name
    assert entries(name, data) == [Item(*entry) for entry in expected]


class Trickle(io.RawIOBase):
    """A body that comes in small pieces, and only once."""

    def __init__(self, data, size):
        self.data, self.size = io.BytesIO(data), size

    def readable(self):
        return True

    def read(self, size=-1):
        assert size > 0, "everything at once"
        return self.data.read(min(size, self.size))


@pytest.mark.parametrize("file", EXPECTED)
@pytest.mark.parametrize("size", [1, 7])
def test_pieces_make_no_difference(monkeypatch, file, size):
    monkeypatch.setattr("formats.decode.BLOCK", 16)  # Or else each of the files is one block.
    data = (FOLDER / file).read_bytes()
    name, expected = EXPECTED[file]
    if name == "netscape" and b"charset" in data:
        monkeypatch.setattr("formats.decode.BLOCK", data.index(b"charset") + 64)
    assert list(FILES[name](Trickle(data, size))) == [Item(*entry) for entry in expected]


WRITINGS = [
    (file, encoding, end)
    for file, (name, _) in EXPECTED.items()
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")
    for end in ("\n", "\r\n", "\r")
    # XML that says it is UTF-8 has no other sign for UTF-16, or is read by another parser.
    if "latin" not in file
    and (name != "xbel" or not (encoding.endswith(("le", "be")) or end == "\r"))
]


@pytest.mark.parametrize("file, encoding, end", WRITINGS)
def test_charsets_and_line_breaks_make_no_difference(file, encoding, end):
    name, expected = EXPECTED[file]
    data = (FOLDER / file).read_bytes()
    text = data.decode("cp1252" if file in ("undeclared.html", "tabs.csv") else "utf-8-sig")
    text = text.replace("\r\n", "\n").replace("\n", end)
    if file == "undeclared.html":
        expected = [expected[0], (4, {"uri": "http://b.example/", "title": "CafÃ©"})]
    if name == "xbel":
        text = text.replace('encoding="UTF-8"', f'encoding="{encoding.removesuffix("-sig")}"')
    written = text.encode(encoding)
    assert recognize.kind(written) == name
    assert entries(name, written) == [Item(*entry) for entry in expected]
