"""Round trips: reading a file that a format wrote returns every legal bookmark unchanged."""

import re
from datetime import datetime

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from formats.imports import FILE_READERS
from formats.imports.detect import detect_format
from storage.bookmark import ID, MAX_TAG, MAX_TAGS, clean, create
from storage.errors import Invalid
from tests.formats.writing import write_list

LOSSLESS = ("json", "xbel", "csv", "netscape")
# The characters of XML 1.0; clean() refuses those of them that a rule forbids.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff")
MARKUP = st.sampled_from(list("<>&\"';#=+-@,:%]![?/ \n\t\r\x7f\x80\u0085\u2028éä\u0301😀\ufeffax1"))
PHRASES = st.sampled_from([
    "&copy=2", "&amp;lt;", "&#39;", "</A>\n<DT><A HREF=", "<DD>", "</DL><p>", "<!--", "-->", "<br>",
    "]]>", "\n<HR>", "''=1", '""', ';"', "sep=;", "\\u0041", "place:", "[linkding-notes]",
    "<meta charset=latin-1>", "| x",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=30), st.lists(st.one_of(MARKUP, PHRASES), max_size=12).map("".join)
)
URIS = st.builds(
    "{}:{}".format,
    st.one_of(
        st.from_regex(r"[A-Za-z][A-Za-z0-9+.-]{0,5}", fullmatch=True),
        st.sampled_from(["https", "javascript", "data", "place"]),
    ),
    TEXTS.map(lambda text: re.sub(r"[\s\x00-\x1f\x7f-\x9f]", "", text)).filter(bool),
)
TAGS = TEXTS.map(lambda text: re.sub("[,\x00-\x1f\x7f-\x9f\u2028\u2029]", "", text).strip())
DATES = st.one_of(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(
        lambda date: date.isoformat(timespec="seconds") + "Z"
    ),
    st.sampled_from([
        "0001-01-01T00:00:00Z", "1601-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "2000-02-29T23:59:59Z",
        "9999-12-31T23:59:59Z",
    ]),
)  # fmt: skip
VALUES = st.fixed_dictionaries({
    "id": st.from_regex(ID, fullmatch=True), "uri": URIS, "title": TEXTS, "description": TEXTS,
    "tags": st.lists(TAGS.filter(bool), max_size=4), "created": DATES, "modified": DATES,
})  # fmt: skip


def make_bookmark(values):
    """Return the bookmark with these values, None if they break a rule."""
    try:
        return create(clean(values), values["id"])
    except Invalid:
        return None


def assert_round_trip(format, bookmarks):
    data = write_list(format, bookmarks)
    assert detect_format(data) == format
    entries = list(FILE_READERS[format](data))
    for entry, bookmark in zip(entries, bookmarks, strict=True):
        assert entry.skip_reason == ""
        id = bookmark.id if format == "netscape" else entry.fields["id"]
        assert create(clean(entry.fields), id) == bookmark


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(VALUES, max_size=3))
def test_any_legal_bookmarks_survive_the_round_trip(values):
    bookmarks = [b for one in values if (b := make_bookmark(one))]
    assume(bookmarks or not values)
    for format in LOSSLESS:
        assert_round_trip(format, bookmarks)
    entries = list(FILE_READERS["text"](write_list("text", bookmarks)))
    for entry, bookmark in zip(entries, bookmarks, strict=True):
        read = create(clean(entry.fields), "a")
        expected = (bookmark.uri, bookmark.title, bookmark.tags)
        assert (read.uri, read.title, read.tags) == expected


@pytest.mark.parametrize("format", LOSSLESS)
@pytest.mark.parametrize("fields", [
    {"uri": "data:," + "<&\"'>" * 13_106, "title": "", "tags": []},
    {"title": "'" * 4096, "description": ('"\n' * 32_768).strip(), "tags": []},
    {"title": "<&>'" * 1024, "description": ("\n<DT>&" * 10_922).strip()},
    {"description": "<" * 65_536, "tags": [f"{n:03}" + '"' * 252 for n in range(MAX_TAGS)]},
    {"tags": ["'=" + "😀" * (MAX_TAG - 2), "&amp;", "a;b|c", "[x]"]},
], ids=["uri", "quotes", "boundaries", "tags", "guards"])  # fmt: skip
def test_the_longest_values_survive_the_round_trip(format, fields):
    required = {"id": "a", "uri": "https://a.example/", "created": "2001-01-01T00:00:00Z"}
    bookmark = make_bookmark(required | fields)
    assert bookmark
    assert_round_trip(format, [bookmark, make_bookmark(required | {"id": "b", "title": "B"})])


@pytest.mark.parametrize("format", LOSSLESS)
def test_each_unusual_character_survives_the_round_trip(format):
    for character in "\t\n\r\x85\u2028\x7f\x80\x9f\u00a0\u200b\u202e\ufeff\ufffd\U0010fffd":
        text = f"a{character}b {character} c"
        fields = {"id": "a", "uri": "x:y", "title": text, "description": text}
        assert_round_trip(format, [make_bookmark(fields | {"created": "2001-01-01T00:00:00Z"})])
