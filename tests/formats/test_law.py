"""What a format wrote, reading it as a file gives back: every legal bookmark, whole."""

import io
import re
from datetime import datetime

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from formats import FILES, LISTS, recognize
from formats.view import View
from storage.bookmark import FIELDS, ID, MAX_TAG, MAX_TAGS, clean, create
from storage.errors import Invalid

WHOLE = ("json", "xbel", "csv", "netscape")
# All that XML 1.0 can carry; what a rule refuses of it, clean() refuses here too.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff")
MARKUP = st.sampled_from(list("<>&\"';#=+-@,:%]![?/ \n\t\r\x7f\x80\u0085\u2028éä\u0301😀\ufeffax1"))
PHRASES = st.sampled_from(
    [
        "&copy=2",
        "&amp;lt;",
        "&#39;",
        "</A>\n<DT><A HREF=",
        "<DD>",
        "</DL><p>",
        "<!--",
        "-->",
        "<br>",
        "]]>",
        "\n<HR>",
        "''=1",
        '""',
        ';"',
        "sep=;",
        "\\u0041",
        "place:",
        "[linkding-notes]",
        "<meta charset=latin-1>",
        "| x",
    ]
)
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=30),
    st.lists(st.one_of(MARKUP, PHRASES), max_size=12).map("".join),
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
MOMENTS = st.one_of(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(
        lambda moment: moment.isoformat(timespec="seconds") + "Z"
    ),
    st.sampled_from(
        [
            "0001-01-01T00:00:00Z",
            "1601-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:01Z",
            "2000-02-29T23:59:59Z",
            "9999-12-31T23:59:59Z",
        ]
    ),
)
GIVEN = st.fixed_dictionaries(
    {
        "id": st.from_regex(ID, fullmatch=True),
        "uri": URIS,
        "title": TEXTS,
        "description": TEXTS,
        "tags": st.lists(TAGS.filter(bool), max_size=4),
        "created": MOMENTS,
        "modified": MOMENTS,
    }
)


def bookmark(fields):
    """The legal bookmark of these fields; None if there is none."""
    try:
        return create(clean(fields), fields["id"], "")
    except Invalid:
        return None


def written(name, bookmarks):
    return b"".join(LISTS[name].write(bookmarks, View(base="https://here.example")))


def read(name, data, ids=()):
    """The bookmarks of a file; those of one that carries no ids get these."""
    items = list(FILES[name](io.BytesIO(data)))
    assert [item for item in items if item.skipped] == []
    ids = ids if name == "netscape" else [item.fields["id"] for item in items]
    return [create(clean(i.fields), id, "") for i, id in zip(items, ids, strict=True)]


def hold(name, bookmarks):
    data = written(name, bookmarks)
    assert recognize.kind(data) == name
    back = read(name, data, [b.id for b in bookmarks])
    assert back == bookmarks
    assert written(name, back) == data


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given=st.lists(GIVEN, max_size=3))
@pytest.mark.parametrize("name", WHOLE)
def test_any_legal_bookmarks(name, given):
    bookmarks = [b for fields in given if (b := bookmark(fields))]
    assume(bookmarks or not given)
    hold(name, bookmarks)


def test_most_of_what_is_made_up_here_is_legal():
    legal = []

    @settings(deadline=None, max_examples=50, database=None, derandomize=True)
    @given(fields=GIVEN)
    def collect(fields):
        legal.append(bookmark(fields) is not None)

    collect()
    assert sum(legal) > len(legal) * 0.5


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "fields",
    [
        {"uri": "data:," + "<&\"'>" * 13_106, "title": "", "tags": []},
        {"title": "'" * 4096, "description": ('"\n' * 32_768).strip(), "tags": []},
        {"title": "<&>'" * 1024, "description": ("\n<DT>&" * 10_922).strip()},
        {"description": "<" * 65_536, "tags": [f"{n:03}" + '"' * 252 for n in range(MAX_TAGS)]},
        {"tags": ["'=" + "😀" * (MAX_TAG - 2), "&amp;", "a;b|c", "[x]"]},
    ],
    ids=["uri", "quotes", "boundaries", "tags", "guards"],
)
def test_the_longest_values(name, fields):
    whole = {"id": "a", "uri": "https://a.example/", "created": "2001-01-01T00:00:00Z"}
    one = bookmark(whole | fields)
    assert one
    hold(name, [one, bookmark(whole | {"id": "b", "title": "B"})])


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "character", "\t\n\r\x85\u2028\x7f\x80\x9f\u00a0\u200b\u202e\ufeff\ufffd\U0010fffd"
)
def test_each_odd_character(name, character):
    text = f"a{character}b {character} c"
    one = bookmark(
        {
            "id": "a",
            "uri": "x:y",
            "title": text,
            "description": text,
            "created": "2001-01-01T00:00:00Z",
        }
    )
    hold(name, [one])


@pytest.mark.parametrize("name", WHOLE)
def test_the_fields_are_those_that_the_format_has(name):
    fields = {"id": "a", "uri": "x:y", "title": "A", "description": "B", "tags": ["c"]}
    one = bookmark(fields | {"created": "2001-01-01T00:00:00Z"})
    (item,) = FILES[name](io.BytesIO(written(name, [one])))
    assert set(item.fields) == set(FIELDS) - ({"id"} if name == "netscape" else set())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given=st.lists(GIVEN, max_size=3))
def test_text_has_uri_title_and_tags(given):
    bookmarks = [b for fields in given if (b := bookmark(fields))]
    items = list(FILES["text"](io.BytesIO(written("text", bookmarks))))
    back = [create(clean(item.fields), "a", "") for item in items]
    assert [(b.uri, b.title, b.tags) for b in back] == [(b.uri, b.title, b.tags) for b in bookmarks]
