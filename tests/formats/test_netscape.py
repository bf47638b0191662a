"""The bookmark file of browsers (HTML): writing it, and reading it however it is damaged."""

import re

import pytest

from formats.imports.netscape import read_file
from storage.bookmark import clean, create
from storage.errors import Invalid
from storage.importer import NOTE
from tests.formats.writing import write_list


def read(text):
    return list(read_file(text.encode() if isinstance(text, str) else text))


def read_one(text):
    (entry,) = read(text)
    assert entry.skip_reason == ""
    return entry.fields


def link(attributes, title="T"):
    return f"<DL><p>\n<DT><A {attributes}>{title}</A>\n</DL>"


def test_the_file_has_one_dt_and_dd_for_each_bookmark(app):
    fields = {"uri": "https://a.example/?a=1&b", "title": 'T "1" <2>', "description": "One\nTwo"}
    date = "2001-02-03T04:05:06Z"
    app.put_json("/x", fields | {"tags": ["a", "b & c"], "created": date}, status=201)
    app.put_json("/y", {**fields, "uri": "x:y", "description": "", "tags": []}, status=201)
    app.delete("/y", status=204)
    response = app.get("/?format=netscape", status=200)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Disposition"] == 'attachment; filename="bookmarks.html"'
    assert response.text == (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n"
        '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">\n'
        "<TITLE>Bookmarks</TITLE>\n"
        "<H1>Bookmarks</H1>\n"
        "<DL><p>\n"
        '<DT><A HREF="https://a.example/?a=1&amp;b" ADD_DATE="981173106"'
        ' LAST_MODIFIED="981173106" TAGS="a,b &amp; c">T &quot;1&quot; &lt;2&gt;</A>\n'
        "<DD>One\nTwo\n"
        "</DL><p>\n"
    )


# --- Reading ---

@pytest.mark.parametrize("href, uri", [
    ("?a=1&copy=2&center=3&lt=4&amp", "?a=1&copy=2&center=3&lt=4&amp"),
    ("?a=1&amp;copy=2", "?a=1&copy=2"),
    ("?a=1&amp;amp;b", "?a=1&amp;b"),
    ("?a=&quot;&#34;&#x22;&lt;", '?a=""\x22<'),
    ("?a&eacute;&nosuch;&#;&x;", "?aé&nosuch;&#;&x;"),
    ("?a&#128;&#0;&#x110000;", "?a€\ufffd\ufffd"),
])  # fmt: skip
def test_entities_are_decoded_once_and_only_with_their_semicolon(href, uri):
    assert read_one(link(f'HREF="https://a.example/{href}"'))["uri"] == f"https://a.example/{uri}"


def test_references_to_characters_that_no_format_can_have_are_left_to_the_importer():
    fields = read_one(link('HREF="a:b" TAGS="x&#1;"', "a&#xFFFE;b &#xD83D; &#56832;"))
    assert (fields["title"], fields["tags"]) == ("a\0b \ud83d \ude00", ["x\0"])


@pytest.mark.parametrize("href, uri", [
    (
        "javascript:(function(){alert(&quot;x y&quot;)})()",
        'javascript:(function(){alert("x%20y")})()',
    ),
    ("file:///C:/My Documents/x.html", "file:///C:/My%20Documents/x.html"),
    (" https://a.example/a\n  b\t&#10;c?q=d&#32;e ", "https://a.example/a%20%20bc?q=d%20e"),
])  # fmt: skip
def test_white_space_in_an_address_is_handled_as_browsers_do(href, uri):
    fields = read_one(link(f'HREF="{href}"'))
    assert fields["uri"] == clean(fields)["uri"] == uri


@pytest.mark.parametrize("value, date", [
    ("1456433741", "2016-02-25T20:55:41Z"),
    ("1456433741123456", "2016-02-25T20:55:41Z"),
    ("-1", "1969-12-31T23:59:59Z"),
    ("00", "1970-01-01T00:00:00Z"),
    ("-62135596800", "0001-01-01T00:00:00Z"),
    ("253402300799", "9999-12-31T23:59:59Z"),
    ("253402300800", "1978-01-11T21:31:40Z"),
    ("2016-02-25", "2016-02-25T00:00:00Z"),
    ("2016-02-25T22:55:41.5+02:00", "2016-02-25T20:55:41Z"),
    ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
    ("Thu, 25 Feb 2016 22:55:41 +0200", "2016-02-25T20:55:41Z"),
    ("January 2, 2023 12:04 AM", "2023-01-02T00:04:00Z"),
    ("January 02, 2023 at 03:04PM", "2023-01-02T15:04:00Z"),
    ("20230102T030405+0100", "2023-01-02T02:04:05Z"),
    ("2023-01-02T03+0100", "2023-01-02T02:00:00Z"),
    ("2002-09-01t12:00z", "2002-09-01T12:00:00Z"),
    ("2015-09-09 11:10:32 UTC", "2015-09-09T11:10:32Z"),
    ("2024/11/14 05:48:28 +0100", "2024-11-14T04:48:28Z"),
    ("24/12/2024 03:05:06", "2024-12-24T03:05:06Z"),
    ("12/24/2024 03:05:06", "2024-12-24T03:05:06Z"),
    ("05/05/2024 03:05:06", "2024-05-05T03:05:06Z"),
    ("13300000000000000", "2022-06-18T04:26:40Z"),
    ("12/24/2024, 3:05:06 PM", "2024-12-24T15:05:06Z"),
    ("Tue Dec 24 15:05:06 +0100 2024", "2024-12-24T14:05:06Z"),
])  # fmt: skip
def test_dates_are_read_in_the_forms_that_programs_write(value, date):
    fields = read_one(link(f'HREF="a:b" ADD_DATE="{value}" LAST_MODIFIED="{value}"'))
    assert (fields["created"], fields["modified"]) == (date, date)


@pytest.mark.parametrize("value", [
    "yesterday", "9" * 20, "9" * 5000, "-" + "9" * 19, "NaN", "1e9", "2016-13-45",
    "2016-02-30T00:00:00Z", "0001-01-01T00:00:00+23:59", "Thu, 99 Foo 2016 99:99:99 +9999",
    "Dec 24, 2024, 3:05 PM", "Dec 24 2024 3:05 PM", "Tue Dec 24 2024 15:05:06 GMT+0100",
    "24 Dec 2024 03:05 PM", "24 Dec 2024 15:05 CET", "02/01/2023", "02/01/2023 03:04:05",
    "02/01/2023 3:04 PM", "2023/13/01", "January 2023", "١٢٣", "\x00",
])  # fmt: skip
def test_a_value_that_is_no_known_date_breaks_the_rule_of_its_field(value):
    for attribute, field in (("ADD_DATE", "created"), ("LAST_MODIFIED", "modified")):
        fields = read_one(link(f'HREF="a:b" {attribute}="{value}"'))
        with pytest.raises(Invalid, match=field):
            clean(fields)


def test_the_date_of_addition_comes_before_other_dates():
    for other in ('CREATED="2020-01-01"', 'TIME_ADDED="1577836800"'):
        fields = read_one(link(f'HREF="a:b" {other} ADD_DATE="1456433741"'))
        assert fields["created"] == "2016-02-25T20:55:41Z"


def test_a_value_for_an_unknown_date_is_ignored():
    for value in ("", "0", "-11644473600", " ", "0000-00-00 00:00:00"):
        fields = read_one(link(f'HREF="a:b" ADD_DATE="{value}" LAST_MODIFIED="{value}"'))
        assert set(fields) == {"uri", "title"}
    assert "created" not in read_one(link('HREF="a:b" TIME="225"'))
    for dates in ('ADD_DATE="5" CREATED="2020-01-01"', 'ADD_DATE="1577836800" TIME="225"'):
        assert NOTE not in read_one(link(f'HREF="a:b" {dates}'))


def test_dates_whose_numbers_mean_an_unknown_date_survive_the_round_trip():
    dates = ("1970-01-01T00:00:00Z", "1601-01-01T00:00:00Z")
    bookmarks = [create(clean({"uri": "a:b", "created": date}), "a") for date in dates]
    text = write_list("netscape", bookmarks).decode()
    assert 'ADD_DATE="00"' in text and 'ADD_DATE="-011644473600"' in text
    assert tuple(entry.fields["created"] for entry in read(text)) == dates


@pytest.mark.parametrize("attributes, tags", [
    ('Tags="a, b ,,c d" tags="x"', ["a", "b", "c d"]),
    ('LABELS="a"', ["a"]),
    ("TAGS='a\"b'", ['a"b']),
    ("TAGS=a,b", ["a", "b"]),
    ('TAGS="a&amp;b,&quot;"', ["a&b", '"']),
    ('TAGS="",$",bash" PRIVATE="1"', ['"', '$"', "bash", "private"]),
    ('TAGS="a,"b",c,"', ["a", '"b"', "c"]),
    ('PRIVATE="1" TOREAD="1" UNREAD="1"', ["private", "unread"]),
    ('ADD_DATE="" PRIVATE="1" TOREAD="0" TAGS="a"', ["a", "private"]),
    ('SHORTCUTURL="a" ICON_URI="b"', None),
])  # fmt: skip
def test_tags_and_marks_are_read_from_the_attributes(attributes, tags):
    assert read_one(link(f'HREF="a:b" {attributes}')).get("tags") == tags


def folder(heading):
    return f"<DL><p>\n<DT>{heading}\n<DL><p>\n<DT><A HREF='a:b'>T</A>\n</DL><p>\n</DL>"


@pytest.mark.parametrize("heading, tags", [
    ("<H3>Food, Drink &amp; more</H3>", ["Food", "Drink & more"]),
    ("<H3> Several\n   <b>lines</b> </H3>", ["Several lines"]),
    ("<H3>,</H3>", None),
    ('<H3 BOOKMARKS="x">Name</H3>', ["Name"]),
    ('<H3 PERSONAL_TOOLBAR_FOLDER="false">Name</H3>', ["Name"]),
    ('<H3 PERSONAL_TOOLBAR_FOLDER="true">Lesezeichen-Leiste</H3>', None),
    ("<H3>Favorites bar</H3>", None),
    ("<H3>Outer</H3>\n<DL><p>\n<DT><H3>Favorites</H3>", ["Outer", "Favorites"]),
    ("<H3>Links</H3>", ["Links"]),
    ("<H3 FOLDED>Links</H3>", None),
    ("<H3 FOLDED>Reading List</H3>", ["unread"]),
    ('<H3 FOLDED id="com.apple.ReadingList">Leseliste</H3>', ["unread"]),
    ('<H3 PLACES_ROOT="true" id="com.apple.ReadingList">Name</H3>', None),
    ("<H3>" + "x" * 300 + "</H3>", ["x" * 255]),
    ("<H3>a\u2028b\x01c</H3>", ["a b c"]),
    ("<H1>Title of it all</H1>", None),
    ("<H1>Export</H1><H1>My links</H1>", None),
])  # fmt: skip
def test_folders_become_tags_except_top_folders_of_browsers(heading, tags):
    fields = read_one(folder(heading))
    assert fields.get("tags") == tags
    clean(fields)


@pytest.mark.parametrize("heading, tags", [
    ("<H1>Unread</H1>", ["unread"]),
    ('<H3 PERSONAL_TOOLBAR_FOLDER="true">Lesezeichen-Leiste</H3>', None),
    ('<H3 FOLDED id="com.apple.ReadingList">Leseliste</H3>', ["unread"]),
])  # fmt: skip
def test_folders_may_be_lists_of_other_kinds(heading, tags):
    for name in ("UL", "OL"):
        fields = read_one(f"{heading}<{name}><LI><A HREF='a:b'>T</A></{name}>")
        assert fields.get("tags") == tags


def test_a_folder_ends_with_its_list():
    text = folder("<H3>A</H3>") + "\n<DL><DT><A HREF='c:d'>T</A></DL></DL></DL>\n"
    entries = read(text + "<A HREF='e:f'>T</A>")
    assert [entry.fields.get("tags") for entry in entries] == [["A"], None, None]
    # Only the first heading of a file can be its title.
    lists = (f"<H1>{name}</H1>\n<DL><p>\n{link('HREF=a:b')}\n</DL><p>\n" for name in "AB")
    first, second = read("".join(lists))
    assert ("tags" in first.fields, second.fields["tags"]) == (False, ["B"])


@pytest.mark.parametrize("depth", [99, 5000])
def test_folders_below_the_deepest_level_have_the_tags_of_their_parent(depth):
    text = "".join(f"<DT><H3>{n}</H3>\n<DL>\n" for n in range(depth)) + "<A HREF='a:b'>T</A>"
    text += "\n</DL>" * (depth - 1) + "\n<A HREF='c:d'>T</A>"
    deep, flat = read(text)
    assert clean(deep.fields)["tags"] == tuple(str(n) for n in range(min(depth, 100)))
    assert flat.fields["tags"] == ["0"]


@pytest.mark.parametrize("title, expected", [
    ("<b>bold</b> and <i>it</i>", "bold and it"),
    ("vector<int> & 1 < 2 <3", "vector<int> & 1 < 2 <3"),
    ("two\n     lines", "two lines"),
    ("a<br>b", "a b"),
    ("  inner   spaces  ", "inner   spaces"),
    ("<!-- no -->yes", "yes"),
    ("&lt;b&gt; &amp;lt;", "<b> &lt;"),
])  # fmt: skip
def test_a_title_is_the_text_of_the_link_without_its_markup(title, expected):
    assert read_one(link('HREF="a:b"', title))["title"] == expected


def test_a_file_may_begin_with_many_blanks():
    assert read_one(" " * 70_000 + link('HREF="a:b"'))["uri"] == "a:b"


def test_a_description_keeps_its_lines():
    text = link('HREF="a:b"') + "\n"
    body = text.replace("\n</DL>", "\n<DD>One<br>\nTwo<BR>Three\n\n  - four\n</DL>\n<p>not it")
    assert read_one(body)["description"] == "One\nTwo\nThree\n\n  - four"


@pytest.mark.parametrize("broken", [
    '<DT><A HREF="a:broken>T</A>', '<DT><A HREF="a:broken" TAGS="x>T</A>',
    "<DT><A HREF='a:broken>T</A>", '<DT><A HREF="a:broken"', "<DT><A", "<DT><A HREF=",
    '<DT><A HREF="a:broken">T', '<DT><A HREF="a:broken">T</B', "<DT><!-- no end",
    "<DT><A HREF='a:broken'>T</A><DD><!-- no end", "<DT><H3>No end", "<DT><", "<DT>&",
    '<A HREF="a:broken',
])  # fmt: skip
def test_a_broken_entry_affects_no_other_entry(broken):
    lines = ["<DL><p>", '<DT><A HREF="a:1">1</A>', broken, '<DT><A HREF="a:2">2</A>', "<DD>D"]
    for between in ("\n", "\n    "):
        entries = read(between.join([*lines, "</DL>"]))
        others = [entry for entry in entries if entry.fields.get("uri") in ("a:1", "a:2")]
        assert [(entry.place, entry.fields["title"]) for entry in others] == [(2, "1"), (4, "2")]
        assert others[1].fields["description"] == "D"


CUT_OFF = "is cut off at the end of the file"


def test_a_file_that_is_cut_off_yields_complete_entries_only():
    values = [
        {"uri": "https://a.example/?a=1&b=\">'", "title": "T > <b> é"},
        {"uri": "javascript:'<a>x</a>'", "tags": ["a b", "é"]},
        {"uri": "place:x", "title": "C", "description": "D\nE"},
    ]
    created = "2001-02-03T04:05:06Z"
    bookmarks = [create(clean({**fields, "created": created}), "a") for fields in values]
    whole = write_list("netscape", bookmarks)
    expected = list(map(without_texts, read(whole)))
    cut_entries = 0
    for end in range(whole.index(b">"), len(whole)):
        entries = read(whole[:end])
        if entries and entries[-1].skip_reason == CUT_OFF:
            assert entries.pop().place == expected[len(entries)].place
            cut_entries += 1
        assert list(map(without_texts, entries)) == expected[: len(entries)]
    assert cut_entries > sum(map(len, re.findall(b"<A[^>]*>", whole))) * 0.8


def without_texts(entry):
    """Return the entry without its title and description: a text that is cut off is a text, too."""
    fields = {n: v for n, v in entry.fields.items() if n not in ("title", "description")}
    return entry._replace(fields=fields)


@pytest.mark.parametrize("whole, uris", [
    ('<p><a href=a:1 class=">One</a></p><p><a href=a:2>Two</a></p>', ["a:1", "a:2"]),
    ('<a title=\'tis href="a:1">One</a><a href="a:2">Two</a>', ["a:1", "a:2"]),
    ('<dl>\n<dt><a href="a:1">One\n<dt><a href="a:2">Two\n', ["a:1", "a:2"]),
    ('<A HREF="a:1">One<BR><A HREF="a:2">Two<BR>', ["a:1", "a:2"]),
    ('<dt><a href="a:1">One</a><dt><a href="a:2" tags=\'>Two</a></dl>', ["a:1", "a:2"]),
])  # fmt: skip
def test_sloppy_markup_does_not_count_as_cut_off(whole, uris):
    assert [entry.fields.get("uri") for entry in read(whole) if not entry.skip_reason] == uris


def test_an_entry_that_any_element_follows_is_complete():
    for rest in ("\n</DL>", "<DD>D", "</DL>", "<DT>", "\n<HR>", "<H3>"):
        first, *_ = read(f"<DL><p>\n<DT><A HREF='a:b'>T{rest}")
        assert (first.skip_reason, first.fields["title"]) == ("", "T")


def test_a_file_that_declares_an_unusable_charset_is_read_as_utf_8():
    for charset in ("utf-16", "unicode_escape", ""):
        meta = f'<META CHARSET="{charset}">\n'
        title = read_one(meta + link('HREF="a:b"', "\\u0041 é +AGE-"))["title"]
        assert title == "\\u0041 é +AGE-"
