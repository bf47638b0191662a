"""Golden files: small files in the style of other programs, and the entries read from each."""

import plistlib
from pathlib import Path

import pytest

from formats.imports import FILE_READERS
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry
from storage.errors import Malformed
from storage.importer import IGNORED, NOT_READ

FOLDER = Path(__file__).parent / "files"

FILES_IN_CP1252 = ("latin-1.html", "tabs.csv", "windows-1252.json", "windows-1252.xml")
CHARSETS_OF_FILES = {
    **dict.fromkeys(FILES_IN_CP1252, "cp1252"),
    "mac.html": "mac_roman",
}
NO_BOOKMARK = ({}, IGNORED)

# By file name: the format, and the line or path, the fields and the skip reason of each entry.
EXPECTED = {
    # No program in particular: damage by hand-editing and by careless programs.
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
            (9, {"uri": "https://g.example/"}),
            (
                10,
                {
                    "uri": "https://h.example/",
                    "title": "Title left open",
                    "description": "Described with a link in it",
                },
            ),
            (12, {"title": "No address"}, "has no uri"),
            (13, {"title": "Empty"}, "has no uri"),
            (
                16,
                {
                    "uri": "https://i.example/",
                    "title": "I",
                    "tags": ["private", "unread", "Left open"],
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
                    "created": "2022-04-15T05:20:00Z",
                    "modified": "2022-04-15T05:20:00Z",
                },
            ),
        ],
    ),
    # buku, whose tags are one text.
    "buku.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/?x=(1)&y=[2]",
                    "title": "A [b] (c) | d",
                    "description": "A comment\nsecond line",
                    "tags": ["one", "two words"],
                },
            ),
            ("[1]", {"uri": "https://b.example/"}),
        ],
    ),
    # Markdown, as buku writes it.
    "buku.md": (
        "text",
        [
            (
                1,
                {
                    "uri": "https://a.example/?x=(1)&y=[2]",
                    "title": "A [b] (c) | d",
                    "tags": ["one", "two words"],
                },
            ),
            (2, {"uri": "https://b.example/", "title": "", "tags": []}),
            (3, {"uri": "https://c.example/x", "title": "C", "tags": ["tagc"]}),
        ],
    ),
    # Org, as buku writes it, without spaces in tags.
    "buku.org": (
        "text",
        [
            (
                1,
                {
                    "uri": "https://a.example/?x=(1)&y=[2]",
                    "title": "A [b] (c) | d",
                    "tags": ["one", "two_words"],
                },
            ),
            (2, {"uri": "https://b.example/", "title": ""}),
            (3, {"uri": "https://c.example/x", "title": "C", "tags": ["tagc"]}),
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
    # The answer of chrome.bookmarks.getTree() in German, where `children` comes before `title`.
    "chrome-tree.json": (
        "json",
        [
            (
                "[0].children[0].children[0]",
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A",
                    "created": "2023-11-14T22:13:20Z",
                },
            ),
            (
                "[0].children[0].children[1].children[0]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["Dev", "Python"],
                    "created": "2023-11-14T22:13:21Z",
                },
            ),
        ],
    ),
    # Chromium browsers, whose unknown date is the year 1601.
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
    # The file Bookmarks in a profile of Chromium, in French.
    "chromium-profile.json": (
        "json",
        [
            (
                "roots.bookmark_bar.children[0]",
                {"uri": "https://a.example/", "title": "A", "created": "2024-01-17T21:20:00Z"},
            ),
            (
                "roots.bookmark_bar.children[1].children[0]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["Dev"],
                    "created": "2024-01-17T21:20:01Z",
                },
            ),
        ],
    ),
    # No program in particular: cut off in the last row.
    "cut.csv": (
        "csv",
        [
            (2, {"uri": "https://a.example/", "title": "A"}),
            (3, {"title": "https://b.exam"}, "is cut off at the end of the file"),
        ],
    ),
    # No program in particular: titles after dashes.
    "dashes.txt": (
        "text",
        [
            (1, {"uri": "https://a.example/", "title": "A title"}),
            (2, {"uri": "https://b.example/", "title": "B"}),
        ],
    ),
    # No program in particular: numbers as dates, under several names.
    "dates.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["unread"],
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
            (
                "[1]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["One"],
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
            (
                "[2]",
                {
                    "uri": "https://c.example/",
                    "title": "C",
                    "created": "2020-09-13T12:26:40Z",
                    "modified": "2020-09-13T12:26:41Z",
                },
            ),
            (
                "[3]",
                {
                    "uri": "https://d.example/my%20page",
                    "title": "D",
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
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
    # Falkon.
    "falkon.json": (
        "json",
        [
            (
                "roots.bookmark_bar.children[0]",
                {"uri": "https://a.example/", "title": "A", "description": "Described"},
            ),
            ("roots.bookmark_bar.children[1]", *NO_BOOKMARK),
            (
                "roots.bookmark_menu.children[0].children[0]",
                {"uri": "https://b.example/", "title": "B", "tags": ["Dev"]},
            ),
        ],
    ),
    # Feed readers.
    "feeds.opml": (
        "outline",
        [
            (
                6,
                {
                    "uri": "https://a.example/",
                    "title": "A title",
                    "description": "https://a.example/feed",
                    "tags": ["Dev"],
                },
            ),
            (7, {"uri": "https://b.example/feed", "title": "B", "tags": ["Dev"]}),
            (9, {"uri": "https://c.example/", "title": "C"}),
        ],
    ),
    # Firefox in French: only attributes mark the folders that it creates itself.
    "firefox.html": (
        "netscape",
        [
            (12, *NO_BOOKMARK),
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
            (19, *NO_BOOKMARK),
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
    # A backup of Firefox.
    "firefox.json": (
        "json",
        [
            (
                "children[0].children[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two"],
                    "created": "2016-05-19T19:31:19Z",
                    "modified": "2016-05-19T19:31:20Z",
                },
            ),
            ("children[0].children[1]", *NO_BOOKMARK),
            (
                "children[0].children[2].children[0]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "created": "2016-05-19T19:31:21Z",
                    "tags": ["Cats", "dogs"],
                },
            ),
            ("children[0].children[2].children[1]", *NO_BOOKMARK),
        ],
    ),
    # The settings of floccus, whose addresses are those of servers.
    "floccus.json": (
        "json",
        [
            ("[0]", *NO_BOOKMARK),
        ],
    ),
    # floccus, which gives each element a numeric id.
    "floccus.xml": (
        "xbel",
        [
            (7, {"uri": "https://a.example/", "title": "A"}),
            (12, {"uri": "https://b.example/?a=1&b=2", "title": "B", "tags": ["Deep"]}),
        ],
    ),
    # Galeon and Epiphany, with a date of only a year and a month.
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
            (13, *NO_BOOKMARK),
            (14, *NO_BOOKMARK),
            (15, {"title": "Nowhere", "tags": ["Folder"]}, "has no uri"),
            (16, {"uri": "http://b.example/", "created": "yesterday", "tags": ["Folder"]}),
        ],
    ),
    # GitHub's API: starred repositories.
    "github.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://github.example/o/a",
                    "title": "a",
                    "description": "D",
                },
            ),
        ],
    ),
    # GTK's recently-used.xbel (Desktop Bookmark Specification).
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
    # Google Bookmarks, with dates in microseconds and in milliseconds.
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
            (
                3,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["archived"],
                    "created": "2020-09-13T12:26:41Z",
                },
            ),
            (
                4,
                {
                    "uri": "https://c.example/",
                    "title": "C",
                    "tags": ["starred"],
                    "created": "2020-09-13T12:26:42Z",
                },
            ),
        ],
    ),
    # Instapaper's HTML.
    "instapaper.html": (
        "netscape",
        [
            (7, {"uri": "https://a.example/", "title": "A", "tags": ["unread"]}),
            (11, {"uri": "https://b.example/", "title": "B", "tags": ["starred"]}),
            (15, {"uri": "https://c.example/", "title": "C", "tags": ["Recipes"]}),
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
    # An export of Karakeep, and at its end two objects of its API.
    "karakeep.json": (
        "json",
        [
            (
                "bookmarks[0]",
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A",
                    "description": "Noted",
                    "tags": ["one", "two words", "L"],
                    "created": "2023-11-14T22:13:20Z",
                },
            ),
            (
                "bookmarks[1]",
                {
                    "uri": "https://b.example/",
                    "tags": ["archived"],
                    "created": "2023-11-14T22:13:21Z",
                },
            ),
            (
                "bookmarks[2]",
                {"title": "Text", "created": "2023-11-14T22:13:22Z"},
                "has no uri",
            ),
            ("bookmarks[3]", {"title": "File", "created": "2023-11-14T22:13:23Z"}, "has no uri"),
            (
                "bookmarks[4]",
                {
                    "uri": "https://d.example/",
                    "title": "From the page",
                    "tags": ["three", "four", "five"],
                    "created": "2024-01-02T03:04:05Z",
                    "modified": "2024-01-02T03:04:06Z",
                },
            ),
            (
                "bookmarks[5]",
                {"title": "Asset", "created": "2024-01-02T03:04:07Z"},
                "has no uri",
            ),
        ],
    ),
    # Konqueror and other programs of KDE.
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
            (21, *NO_BOOKMARK),
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
    # Old browsers on Windows, which declare Latin-1 but write windows-1252.
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
                    "description": "Described\n\nNotes:\n## Notes\n* kept",
                    "tags": ["one", "two", "unread"],
                    "created": "2022-04-15T05:20:00Z",
                    "modified": "2022-04-15T05:20:01Z",
                },
            ),
            (
                9,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["shared", "archived"],
                    "created": "2022-04-15T05:20:02Z",
                    "modified": "2022-04-15T05:20:02Z",
                },
            ),
        ],
    ),
    # linkding before version 1.36.
    "linkding-1.35.html": (
        "netscape",
        [
            (
                6,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described\n\nNotes:\nNoted",
                    "tags": ["a", "unread", "archived"],
                    "created": "2022-04-15T05:20:00Z",
                },
            ),
            (
                8,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["shared"],
                    "created": "2022-04-15T05:20:02Z",
                },
            ),
        ],
    ),
    # A response of linkding's API.
    "linkding.json": (
        "json",
        [
            (
                "results[0]",
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
                "results[1]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["shared"],
                    "created": "2020-09-26T09:46:24Z",
                    "modified": "2020-09-26T09:46:24Z",
                },
            ),
        ],
    ),
    # Linkwarden, with a collection inside another.
    "linkwarden-nested.json": (
        "json",
        [
            (
                "collections[1].links[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["Dev", "Python"],
                    "created": "2024-01-02T03:04:08Z",
                },
            ),
            (
                "pinnedLinks[0]",
                {"uri": "https://a.example/", "title": "A", "tags": ["starred"]},
            ),
        ],
    ),
    # Linkwarden.
    "linkwarden.json": (
        "json",
        [
            (
                "collections[0].links[0]",
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two words"],
                    "created": "2020-01-02T03:04:05Z",
                    "modified": "2024-01-02T03:04:06Z",
                },
            ),
            (
                "collections[0].links[1]",
                {"title": "Scan", "created": "2024-01-02T03:04:07Z"},
                "has no uri",
            ),
            (
                "collections[1].links[0]",
                {
                    "uri": "https://b.example/",
                    "tags": ["Dev"],
                    "created": "2024-01-02T03:04:08Z",
                    "modified": "2024-01-02T03:04:08Z",
                },
            ),
        ],
    ),
    # lynx.
    "lynx.html": (
        "netscape",
        [
            (8, {"uri": "https://a.example/", "title": "A", "tags": ["Dev"]}),
            (9, {"uri": "https://b.example/", "title": "B", "tags": ["Dev"]}),
        ],
    ),
    # Old browsers on a Mac.
    "mac.html": (
        "netscape",
        [
            (3, {"uri": "http://a.example/", "title": "Café “quoted” €", "tags": ["été"]}),
        ],
    ),
    # Matter.
    "matter.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["starred", "unread"],
                    "created": "2024-12-24T03:05:06Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "2024-12-24T03:05:07Z"}),
        ],
    ),
    # Netscape 4.
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
            (17, *NO_BOOKMARK),
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
    # newsboat.
    "newsboat-urls.txt": (
        "text",
        [
            (2, {"uri": "https://a.example/feed", "title": "A title", "tags": ["tag one"]}),
            (3, {"uri": "https://b.example/feed"}),
            (4, {"uri": '"query:Unread:unread = \\"yes\\""'}, "does not begin with a uri"),
        ],
    ),
    # Omnivore.
    "omnivore.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "D",
                    "tags": ["one", "archived"],
                    "created": "2024-12-24T03:05:06Z",
                },
            ),
            ("[1]", {"uri": "https://b.example/", "title": "B", "created": "2024-12-24T03:05:07Z"}),
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
    # Opera 12, with its trash.
    "opera-trash.adr": (
        "opera",
        [
            (11, *NO_BOOKMARK),
            (18, *NO_BOOKMARK),
            (25, {"uri": "https://a.example/", "title": "A"}),
        ],
    ),
    # Opera 12.
    "opera.adr": (
        "opera",
        [
            (
                11,
                {
                    "uri": "http://a.example/?a=1&b=2%203",
                    "title": 'A – "quoted" = B',
                    "description": "First line\nsecond line",
                    "tags": ["Dev"],
                    "created": "2011-09-11T20:56:10Z",
                },
            ),
            (22, *NO_BOOKMARK),
            (31, {"uri": "http://b.example/", "title": "B", "tags": ["Dev", "Python"]}),
            (41, {"title": "No address", "created": "2011-09-28T21:20:17Z"}, "has no uri"),
            (47, *NO_BOOKMARK),
        ],
    ),
    # Markdown as people write it.
    "people.md": (
        "text",
        [
            (2, *NO_BOOKMARK),
            (
                4,
                {
                    "uri": "https://foo.example/a",
                    "title": "Foo",
                    "tags": ["Dev"],
                    "description": "text (see docs)",
                },
            ),
            (5, {"uri": "https://a.example/", "title": "A", "tags": ["Dev"]}),
            (5, {"uri": "https://b.example/w_(x)", "title": "B", "tags": ["Dev"]}),
            (6, {"uri": "https://x.example/", "title": "x", "tags": ["Dev"]}),
            (8, {"uri": "https://p.example/", "title": "", "tags": ["Dev", "Python"]}),
            (9, {"uri": "https://q.example/", "title": "Q", "tags": ["Dev", "Python"]}),
            (10, *NO_BOOKMARK),
            (12, {"uri": "https://n.example/", "title": "N", "tags": ["News"]}),
        ],
    ),
    # Org as people write it.
    "people.org": (
        "text",
        [
            (7, *NO_BOOKMARK),
            (
                8,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "A tool",
                    "tags": ["Dev", "code", "work"],
                },
            ),
            (9, {"uri": "https://b.example/", "title": "", "tags": ["Dev", "code", "work"]}),
            (9, {"uri": "https://c.example/x(y)", "title": "C", "tags": ["Dev", "code", "work"]}),
            (10, {"uri": "https://d.example/", "title": "D [1]", "tags": ["Dev", "code", "work"]}),
            (
                11,
                {
                    "uri": "https://e.example/",
                    "title": "E",
                    "tags": ["Dev", "code", "work", "D [1]"],
                },
            ),
            (12, *NO_BOOKMARK),
            (
                15,
                {"uri": "https://f.example/", "tags": ["Dev", "code", "work", "D [1]", "Deep"]},
            ),
            (17, {"uri": "https://g.example/", "title": "G", "tags": ["News"]}),
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
                    "tags": ["one", "two words", "private", "unread"],
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
    # The JSON export of Pinboard.
    "pinboard.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A ü",
                    "description": "Two\nlines",
                    "tags": ["one", "two", "three", "private", "unread"],
                    "created": "2011-10-07T00:51:42Z",
                },
            ),
            ("[1]", {"uri": "https://b.example/", "title": "B", "created": "2011-10-07T00:51:43Z"}),
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
                    "tags": ["archived"],
                    "created": "2020-09-13T12:26:41Z",
                },
            ),
        ],
    ),
    # Pocket's HTML.
    "pocket.html": (
        "netscape",
        [
            (
                8,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two words", "unread"],
                    "created": "2020-09-13T12:26:40Z",
                },
            ),
            (
                13,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["archived"],
                    "created": "2020-09-13T12:26:41Z",
                },
            ),
        ],
    ),
    # Delicious, Scuttle and Pinboard.
    "posts.xml": (
        "outline",
        [
            (
                3,
                {
                    "uri": "https://a.example/?a=1&b=2",
                    "title": "A",
                    "description": "Noted",
                    "tags": ["one", "two", "private", "unread"],
                    "created": "2010-01-12T21:20:00Z",
                },
            ),
            (4, {"uri": "https://b.example/", "title": "B", "created": "2010-01-12T21:20:01Z"}),
        ],
    ),
    # qutebrowser: quickmarks.
    "qutebrowser-quickmarks.txt": (
        "text",
        [
            (1, {"title": "a", "uri": "https://a.example/"}),
            (2, {"title": "two words", "uri": "https://b.example/{}"}),
        ],
    ),
    # qutebrowser: bookmarks/urls.
    "qutebrowser-urls.txt": (
        "text",
        [
            (1, {"uri": "https://a.example/", "title": "A title, with (more)"}),
            (2, {"uri": "https://b.example/x"}),
            (
                3,
                {"uri": "https://c.example/ see https://d.example/"},
                "has two readings: write one address in a line, with a tab before its title",
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
            (
                3,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["starred"],
                    "created": "2022-03-04T05:06:08Z",
                },
            ),
            (
                5,
                {"title": "113, No address, Unsorted, 2022-03-04T05:06:08.000Z, false"},
                "has no uri",
            ),
        ],
    ),
    # Raindrop's HTML.
    "raindrop.html": (
        "netscape",
        [
            (
                8,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two"],
                    "created": "2022-04-15T05:20:01Z",
                    "modified": "2022-04-15T05:20:02Z",
                },
            ),
            (
                13,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["starred", "Dev"],
                    "created": "2022-04-15T05:20:03Z",
                    "modified": "2022-04-15T05:20:03Z",
                },
            ),
        ],
    ),
    # Readwise Reader.
    "readwise.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two words", "archived"],
                    "created": "2024-12-24T03:05:06Z",
                },
            ),
            (
                3,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["unread"],
                    "created": "2024-12-24T03:05:07Z",
                },
            ),
        ],
    ),
    # Reddit: saved posts.
    "reddit.csv": (
        "csv",
        [
            (2, {"uri": "https://www.reddit.example/r/x/comments/abc/a/"}),
        ],
    ),
    # Safari.
    "safari.html": (
        "netscape",
        [
            (8, {"uri": "https://a.example/", "title": "A"}),
            (11, {"uri": "https://b.example/?q=1&r=2", "title": "B", "tags": ["News"]}),
            (17, {"uri": "https://c.example/", "title": "C"}),
            (20, {"uri": "https://d.example/", "title": "D", "tags": ["unread"]}),
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
            (9, {"uri": "http://b.example/", "title": "B", "created": "yesterday"}),
        ],
    ),
    # Shaarli, with a thumbnail in the description.
    "shaarli-thumbnail.html": (
        "netscape",
        [
            (
                6,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one"],
                    "created": "2016-03-30T20:56:37Z",
                },
            ),
            (
                10,
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "description": "Read this",
                    "created": "2016-03-30T20:56:38Z",
                },
            ),
        ],
    ),
    # Shaarli, whose notes have a relative address.
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
    # No program in particular: rows without their last cells, and skipped rows.
    "short-rows.csv": (
        "csv",
        [
            (2, {"uri": "https://a.example/b%20c", "title": "A", "tags": ["one", "two"]}),
            (3, {"uri": "https://b.example/"}),
            (4, {"title": "No address, x\ny"}, "has no uri, up to line 5"),
            (6, *NO_BOOKMARK),
            (
                7,
                {"title": '"https://c.example/'},
                "has a misplaced quotation mark: unexpected end of data",
            ),
            (8, {"title": "C"}, "has no uri"),
        ],
    ),
    # A shortcut of an old browser, in lower case.
    "shortcut-lower-case.url": ("shortcut", [(4, {"uri": "https://a.example/"})]),
    # A shortcut of Linux.
    "shortcut.desktop": (
        "shortcut",
        [
            (5, {"uri": "https://a.example/", "title": "A title"}),
        ],
    ),
    # A shortcut of Windows.
    "shortcut.url": (
        "shortcut",
        [
            (5, {"uri": "https://a.example/?a=1&b=2"}),
        ],
    ),
    # A shortcut of macOS.
    "shortcut.webloc": (
        "shortcut",
        [
            (5, {"uri": "https://a.example/?a=1&b=2"}),
        ],
    ),
    # A spreadsheet in a locale whose delimiter is the semicolon.
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
            (5, {"uri": "https://c.example/", "title": "C", "created": "not known"}),
            (6, {"title": "E"}, "has 1 cells, not 6"),
            (7, *NO_BOOKMARK),
        ],
    ),
    # Tab Session Manager: windows and tabs by their ids.
    "tab-session-manager.json": (
        "json",
        [
            ("[0].windows.1.2", {"uri": "https://a.example/", "title": "A", "tags": ["Research"]}),
            ("[0].windows.1.3", {"uri": "https://b.example/", "title": "B", "tags": ["Research"]}),
            ("[0].windows.4.5", {"uri": "about:blank", "title": "New Tab", "tags": ["Research"]}),
        ],
    ),
    # A table of a database, in an undeclared charset.
    "tabs.csv": ("csv", [(2, {"uri": "https://a.example/", "title": "Café"})]),
    # Toby 4, which has groups of lists.
    "toby-groups.json": (
        "json",
        [
            (
                "groups[0].lists[0].cards[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["Team", "Dev"],
                },
            ),
        ],
    ),
    # Toby.
    "toby.json": (
        "json",
        [
            (
                "lists[0].cards[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["Dev"],
                },
            ),
            ("lists[0].cards[1]", {"uri": "https://b.example/", "title": "B", "tags": ["Dev"]}),
        ],
    ),
    # Entries of two programs, each in its own charset.
    "undeclared.html": (
        "netscape",
        [
            (3, {"uri": "http://a.example/", "title": "Café"}),
            (4, {"uri": "http://b.example/", "title": "Café"}),
        ],
    ),
    # A list of addresses (RFC 2483) with other lines among them.
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
    # The file Bookmarks in a profile of Vivaldi.
    "vivaldi.json": (
        "json",
        [
            (
                "roots.bookmark_bar.children[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "D",
                    "created": "2024-01-17T21:20:00Z",
                },
            ),
            ("roots.trash.children[0]", *NO_BOOKMARK),
        ],
    ),
    # w3m.
    "w3m.html": (
        "netscape",
        [
            (6, {"uri": "https://a.example/", "title": "A", "tags": ["Dev"]}),
            (11, {"uri": "https://b.example/", "title": "B", "tags": ["News"]}),
        ],
    ),
    # wallabag.
    "wallabag.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two words"],
                    "created": "2024-12-24T03:05:06Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "02/01/2023 03:04:05"}),
        ],
    ),
    # wallabag's JSON.
    "wallabag.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "starred", "archived"],
                    "created": "2024-12-24T02:05:06Z",
                    "modified": "2024-12-24T02:05:07Z",
                },
            ),
            ("[1]", {"uri": "https://b.example/", "title": "B", "created": "2024-12-24T03:05:08Z"}),
        ],
    ),
    # JSON in windows-1252.
    "windows-1252.json": (
        "json",
        [
            ("[0]", {"uri": "https://a.example/", "title": "Café “quoted”"}),
        ],
    ),
    # XBEL in windows-1252, which it does not declare, after blank lines.
    "windows-1252.xml": (
        "xbel",
        [
            (5, {"uri": "https://a.example/", "title": "Café “quoted”"}),
            (6, *NO_BOOKMARK),
        ],
    ),
    # Zotero, whose Date is that of the publication.
    "zotero.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two words"],
                    "created": "2024-12-24T03:05:06Z",
                    "modified": "2024-12-24T03:05:07Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "soon"}),
        ],
    ),
    # GitHub: the API of stars, whose dates stand beside the repositories.
    "github-stars.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://github.example/o/a",
                    "title": "a",
                    "description": "D",
                    "tags": ["python", "web"],
                    "created": "2023-05-06T07:08:09Z",
                },
            ),
        ],
    ),
    # xBrowserSync: a backup.
    "xbrowsersync.json": (
        "json",
        [
            (
                "xbrowsersync.data.bookmarks[0].children[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "Described",
                    "tags": ["one", "two words"],
                },
            ),
            (
                "xbrowsersync.data.bookmarks[0].children[1].children[0]",
                {"uri": "https://b.example/", "title": "B", "tags": ["Dev"]},
            ),
        ],
    ),
    # Pocket: the API, with an object of entries and objects of tags.
    "pocket-api.json": (
        "json",
        [
            (
                "list.101",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "E",
                    "tags": ["one", "two words", "starred"],
                    "created": "2023-11-14T22:13:20Z",
                    "modified": "2023-11-14T22:13:21Z",
                },
            ),
            (
                "list.102",
                {"uri": "https://b.example/", "title": "B", "created": "2023-11-14T22:13:22Z"},
            ),
        ],
    ),
    # Readwise Reader: the API. `url` is the address in the reader itself.
    "readwise-api.json": (
        "json",
        [
            (
                "results[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "S",
                    "tags": ["article", "one", "unread"],
                    "created": "2024-01-02T03:04:05Z",
                },
            ),
            (
                "results[1]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["archived"],
                    "created": "2024-01-02T03:04:06Z",
                },
            ),
        ],
    ),
    # No program in particular: an array of addresses.
    "addresses.json": (
        "json",
        [
            ("[0]", {"uri": "https://a.example/"}),
            ("[1]", {"uri": "https://b.example/?q=my%20page"}),
            ("[2]", {"uri": "no address"}),
        ],
    ),
    # The tree of Chromium in German, whose own folders have only ids.
    "chrome-tree-localized.json": (
        "json",
        [
            (
                "[0].children[0].children[0]",
                {"uri": "https://a.example/", "title": "A", "created": "2023-11-14T22:13:20Z"},
            ),
            (
                "[0].children[1].children[0].children[0]",
                {"uri": "https://b.example/", "title": "B", "tags": ["Dev"]},
            ),
            (
                "[0].children[3].children[0]",
                {"uri": "https://c.example/", "title": "C", "tags": ["Eigene"]},
            ),
        ],
    ),
    # Diigo, with a date that does not exist.
    "diigo.json": (
        "json",
        [
            (
                "[0]",
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "description": "D",
                    "created": "2024-01-02T03:04:05Z",
                },
            ),
            (
                "[1]",
                {
                    "uri": "https://b.example/",
                    "title": "B",
                    "tags": ["one", "two"],
                    "created": "2024/13/45 03:04:05 +0000",
                },
            ),
        ],
    ),
    # Cubox.
    "cubox.csv": (
        "csv",
        [
            (
                2,
                {
                    "uri": "https://a.example/",
                    "title": "A",
                    "tags": ["one", "two"],
                    "created": "2024-01-02T03:04:05Z",
                },
            ),
            (3, {"uri": "https://b.example/", "title": "B", "created": "2024-01-02T03:04:06Z"}),
        ],
    ),
}


# By file name, the numbers of values of columns and members that are not read.
VALUES_NOT_READ = {
    "chrome-tree.json": {"dateGroupModified": 1},
    "chromium-profile.json": {"checksum": 1, "version": 1, "date_last_used": 1},
    "falkon.json": {"version": 1, "expanded": 2, "keyword": 1, "visit_count": 1},
    "karakeep.json": {
        "content.text": 1, "content.description": 1, "content.dateModified": 1,
        "content.assetType": 1, "content.assetId": 1, "content.fileName": 1, "icon": 1,
    },
    "linkding.json": {"count": 1, "website_description": 1},
    "linkwarden.json": {"username": 1, "collectionId": 3},
    "omnivore.json": {"slug": 2, "readingProgress": 1},
    "pinboard.json": {"meta": 1, "hash": 1},
    "tab-session-manager.json": {
        "windowsNumber": 1, "windowsInfo": 1, "tabsNumber": 1, "lastEditedTime": 1,
        "sessionStartTime": 1, "windowId": 3, "active": 1, "lastAccessed": 1, "favIconUrl": 1,
    },
    "toby-groups.json": {"version": 1},
    "toby.json": {"version": 1},
    "vivaldi.json": {
        "checksum": 1, "version": 1, "meta_info.Nickname": 1, "meta_info.Thumbnail": 1,
    },
    "wallabag.json": {"content": 1},
    "github-stars.json": {
        "full_name": 1, "owner": 1, "repo.created_at": 1, "repo.updated_at": 1,
        "repo.archived": 1,
    },
    "xbrowsersync.json": {"sync": 1},
    "pocket-api.json": {"complete": 1, "since": 1, "item_id": 2},
    "readwise-api.json": {"count": 1, "author": 1, "reading_progress": 1},
    "diigo.json": {"annotations": 3},
    "cubox.csv": {"Highlights": 1},
    "github.json": {"full_name": 1, "owner": 1, "repo.created_at": 1, "repo.updated_at": 1},
    "matter.csv": {
        "Author": 2, "Publisher": 2, "Word Count": 2, "In Queue": 2, "Highlight Count": 2,
        "File Id": 2,
    },
    "raindrop.csv": {"cover": 1, "highlights": 1},
    "readwise.csv": {"Reading progress": 2, "Seen": 2},
    "wallabag.csv": {"Content": 2, "MIME Type": 2, "Language": 2},
    "zotero.csv": {"Key": 2, "Item Type": 2},
}  # fmt: skip


def test_each_file_has_an_expectation():
    assert sorted(EXPECTED) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("file", EXPECTED)
def test_the_values_that_are_not_read_are_named(file):
    format, _ = EXPECTED[file]
    entries = FILE_READERS[format]((FOLDER / file).read_bytes())
    found = [entry.fields for entry in entries if entry.skip_reason == NOT_READ]
    assert found == ([VALUES_NOT_READ[file]] if file in VALUES_NOT_READ else [])


@pytest.mark.parametrize("file", EXPECTED)
def test_the_format_is_detected_and_each_entry_is_read(file):
    format, expected = EXPECTED[file]
    assert_read((FOLDER / file).read_bytes(), format, expected)


def assert_read(data, format, expected):
    assert detect_format(data) == format
    entries = [entry for entry in FILE_READERS[format](data) if entry.skip_reason != NOT_READ]
    assert entries == [ImportedEntry(*entry) for entry in expected]


CHARSETS = [
    (file, charset)
    for file in EXPECTED
    for charset in ("utf-8-sig", "utf-16")
    if file not in ("latin-1.html", "mac.html", "undeclared.html")
]


@pytest.mark.parametrize("file, charset", CHARSETS)
def test_the_same_entries_are_read_in_another_charset(file, charset):
    format, expected = EXPECTED[file]
    declared = charset.removesuffix("-sig")
    text = read_text(file).replace('encoding="UTF-8"', f'encoding="{declared}"')
    assert_read(text.encode(charset), format, expected)


# Classic Mac OS ended lines with CR; its programs wrote neither XML nor JSON.
LINE_BREAKS = [
    (file, line_break)
    for file, (format, _) in EXPECTED.items()
    for line_break in ("\n", "\r\n", "\r")
    if not (line_break == "\r" and format in ("xbel", "json")) and file != "undeclared.html"
]


@pytest.mark.parametrize("file, line_break", LINE_BREAKS)
def test_the_same_entries_are_read_with_other_line_breaks(file, line_break):
    format, expected = EXPECTED[file]
    text = read_text(file).replace("\n", line_break)
    charset = CHARSETS_OF_FILES.get(file, "utf-8") if format == "netscape" else "utf-8"
    assert_read(text.encode(charset), format, expected)


def read_text(file):
    charset = CHARSETS_OF_FILES.get(file, "utf-8-sig")
    return (FOLDER / file).read_bytes().decode(charset).replace("\r\n", "\n")


def test_only_top_folders_of_opera_may_be_its_own():
    text = "Opera Hotlist version 2.0\n\n#FOLDER\n\tNAME=Bookmarks\n\n"
    text += "#FOLDER\n\tNAME=Favorites\n\n#URL\n\tURL=a:b\n\n-\n\n-\n"
    (entry,) = FILE_READERS["opera"](text.encode())
    assert entry.fields["tags"] == ["Favorites"]


# --- Shortcuts ---


PLIST = '<plist version="1.0"><dict>\n{}</dict></plist>'


@pytest.mark.parametrize(
    "text, line",
    [
        ("[InternetShortcut]\nURL=a:1\n\n[InternetShortcut]\nURL=a:2\n", 5),
        ("[Desktop Entry]\nName=A\nURL=a:1\n[Desktop Entry]\nURL[$e]=a:2\n", 5),
        (PLIST.format("<key>URL</key><string>a:1</string>\n<key>URL</key><string>a:2</string>"), 3),
    ],
)
def test_a_further_address_of_a_shortcut_is_skipped(text, line):
    first, second = FILE_READERS["shortcut"](text.encode())
    assert (first.fields["uri"], first.skip_reason) == ("a:1", "")
    assert (second.place, second.fields["uri"]) == (line, "a:2")
    assert second.skip_reason == "is not the first address of a file of one"


@pytest.mark.parametrize("key", ["Children", "Title"])
def test_a_property_list_of_bookmarks_is_refused(key):
    url = "<dict><key>URL</key><string>a:1</string></dict>" if key == "Children" else ""
    values = {key: [{"URLString": "a:1"}]}
    xml = PLIST.format(f"<key>{key}</key><array>{url}</array>").encode()
    for data in (xml, plistlib.dumps(values, fmt=plistlib.FMT_BINARY)):
        with pytest.raises(Malformed, match="export the bookmarks"):
            list(FILE_READERS["shortcut"](data))


def test_a_post_without_an_address_is_named_by_its_description():
    data = b'<posts><post description="A title" tag="x"/></posts>'
    (entry,) = FILE_READERS["outline"](data)
    assert (entry.fields["title"], entry.skip_reason) == ("A title", "has no uri")


def test_a_record_of_opera_may_have_any_number_of_blank_lines():
    large = "#URL\n\tURL=a:b\n" + "\n" * 3_000_000
    text = f"Opera Hotlist version 2.0\n\n{large}#URL\n\tURL=a:c\n"
    first, second = FILE_READERS["opera"](text.encode())
    assert (first.place, first.fields) == (3, {"uri": "a:b"})
    assert (second.place, second.fields) == (3_000_005, {"uri": "a:c"})
