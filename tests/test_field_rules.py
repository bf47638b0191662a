"""The rules of the fields, the comparison of uris, and the ids that the service mints."""

import re
import time
from itertools import pairwise

import pytest

from storage.bookmark import FIELDS, Bookmark
from storage.tsid import Minter

URI = "https://a.example/"
TEXTS = ["uri", "title", "description", "tags"]


@pytest.fixture
def require_422(app):
    """Return a function that asserts that a value is refused, with an error of its field alone."""

    def require_422(field, value):
        fields = {"uri": URI, field: value}
        errors = app.post_json("/", fields, status=422).json["errors"]
        assert [error["field"] for error in errors] == [field]
        assert app.get("/", status=200).json == []

    return require_422


def test_each_field_of_a_bookmark_has_a_rule():
    assert tuple(FIELDS) == Bookmark.__struct_fields__


def test_an_absolute_uri_is_kept_byte_for_byte(app, add):
    for uri in (
        "https://a.example/", "HTTP://A.EXAMPLE/%7e/../x?b=2&a=1#Z", "urn:isbn:0451450523",
        "https://a.example/?a=1&copy=2", "https://münchen.example/straße?q=ü#ä", "about:blank",
        "https://a.example/ä/e\u0301", "https://user:pw@[2001:db8::1]:8080/",
        "tel:+1-816-555-1212", "javascript:alert('a'+\"b\")", "data:text/html,<b>&amp;</b>",
        "x-my.scheme+1:anything|^`{}\\", "file:///etc/passwd", "http://a.example/" + "x" * 10_000,
    ):  # fmt: skip
        assert app.get(f"/{add(uri)['id']}", status=200).json["uri"] == uri


def test_white_space_around_a_uri_is_removed(app):
    for around in (" ", "\n", "\t \r\n", "\u00a0", "\u3000", "\u2028", "\u0085"):
        made = app.post_json("/", {"uri": f"{around}{URI}{around}"}, status="2*")
        assert made.json["uri"] == URI


def test_a_text_that_is_no_absolute_uri_is_422(require_422):
    for uri in (
        "", " ", "a.example", "www.a.example/path", "//a.example/", "/path", "?query", "#fragment",
        "://a.example/", "1http://a.example/", "ht_tp://a.example/", "hätp://a.example/",
        "https ://a.example/",
    ):  # fmt: skip
        require_422("uri", uri)
    for character in " \n\t\u00a0\u2028\u3000\u0085\u007f\u009f":
        require_422("uri", f"https://a.example/a{character}b")


# For each field, values and how they are stored.
NORMALIZED = {
    "title": [  # One line.
        ("\u00a0\u3000A\u2003", "A"), ("a  b", "a  b"), ("a\r\nb", "a b"), ("a\tb", "a b"),
        ("a\u0085b", "a b"), ("a\u2028b", "a b"), ("e\u0301", "\u00e9"), ("\u212b", "\u00c5"),
        ("ﬁ", "ﬁ"), (" \n ", URI), ("😀\u200d🔥 \u202eabc", "😀\u200d🔥 \u202eabc"),
    ],
    "description": [
        ("  a  ", "a"), ("a\r\nb\rc\nd", "a\nb\nc\nd"), ("a\n\n\n  b\tc", "a\n\n\n  b\tc"),
        ("\r\n a \r\n", "a"), ("e\u0301\u2028x", "\u00e9\u2028x"), ("", ""),
    ],
    "tags": [  # A tag that equals an earlier one in another case is dropped.
        ([], []),
        (["b", "a", "c"], ["b", "a", "c"]),
        ([" a ", "\u3000b\u00a0", "\nc\r\n"], ["a", "b", "c"]),
        (["A", "b", "a", "B", "A"], ["A", "b"]),
        (["École", "ÉCOLE", "e\u0301cole"], ["École"]),
        (["Straße", "STRASSE"], ["Straße"]),
        (["Σίσυφος", "ΣΊΣΥΦΟΣ"], ["Σίσυφος"]),
        (["e\u0301"], ["\u00e9"]),
        (["a;b", "a/b", "#a", "a\u00a0b", "😀"], ["a;b", "a/b", "#a", "a\u00a0b", "😀"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", NORMALIZED)
def test_a_text_is_stored_trimmed_and_in_nfc(app, field):
    for value, stored in NORMALIZED[field]:
        made = app.post_json("/", {"uri": URI, field: value}, status="2*").json
        assert made[field] == stored


def test_each_text_has_a_greatest_length(app, add, require_422):
    uri = "data:," + "x" * (65_536 - 6)
    require_422("uri", uri + "x")
    require_422("title", "ä" * 4097)
    require_422("description", "ä" * 65_537)
    require_422("tags", ["ä" * 256])
    require_422("tags", [f"{n}" for n in range(101)])
    tags = ["ä" * 255, *(f"{n}" for n in range(99))]
    texts = {"title": "ä" * 4096, "description": "ä" * 65_536}
    spaced = {name: f" {text}\n" for name, text in texts.items()}
    made = add(f" {uri} ", tags=[f" {tag} " for tag in tags], **spaced)
    assert {field: made[field] for field in TEXTS} == {"uri": uri, "tags": tags, **texts}
    app.delete(f"/{made['id']}", status=204)
    made = add(uri)
    assert made["title"] == uri[:4096]
    app.put_json(f"/{made['id']}", made, status=200)


def test_a_text_that_is_no_tag_is_422(require_422):
    for tag in ("", " ", "\n", "a,b", "a\nb", "a\rb", "a\tb", "a\u0085b", "a\u2028b", "a\u007fb"):
        require_422("tags", ["a", tag])


# --- created and modified ---

@pytest.mark.parametrize("field", ["created", "modified"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_dates_of_any_year_are_kept(app, add, field, moment):
    id = add(**{field: moment})["id"]
    for name in ("json", "xbel", "html"):
        app.get(f"/{id}?format={name}", status=200)
    app.get("/feed", status=200)
    assert app.get(f"/{id}/{field}", status=200).text == moment


@pytest.mark.parametrize("value, stored", [
    ("2024-05-01T12:00:00.999Z", "2024-05-01T12:00:00Z"),
    ("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00Z"),
    ("2024-05-01T00:30:00-01:00", "2024-05-01T01:30:00Z"),
    ("2024-05-01t12:00:00z", "2024-05-01T12:00:00Z"),
])  # fmt: skip
def test_an_rfc_3339_timestamp_is_stored_in_utc_with_whole_seconds(add, value, stored):
    assert add(created=value)["created"] == stored


@pytest.mark.parametrize("moment", [
    "", "yesterday", "2024-05-01", "2024-05-01T12:00:00", "2024-05-01T12:00Z",
    "2024-02-30T12:00:00Z", "2023-02-29T12:00:00Z", "2024-13-01T12:00:00Z", "2024-05-01T24:00:00Z",
    "2024-05-01T24:00:00+01:00", "2024-05-01T12:60:00Z", "0000-01-01T00:00:00Z", "20240501T120000Z",
    "2024-05-01T12:00:00+99:99", "0001-01-01T00:00:00+01:00", "９９９９-05-01T12:00:00Z",
    "2024-05-01T12:00:00Z\n", 1714564800, None,
])  # fmt: skip
def test_a_value_that_is_no_timestamp_is_422(require_422, moment):
    require_422("created", moment)
    require_422("modified", moment)


# --- Characters that XML 1.0 cannot carry ---

NO_XML = [
    "\x00", "\x01", "\x08", "\x0b", "\x0c", "\x1b", "\x1f", "\ud800", "\udfff", "\ufffe",
    "\uffff",
]


@pytest.mark.parametrize("character", NO_XML, ids=ascii)
def test_a_character_that_xml_cannot_carry_is_422(app, require_422, character):
    for text in (f"{character}a", f"a{character}"):
        for field, value in (("title", text), ("description", text), ("tags", [text])):
            require_422(field, value)
        require_422("uri", URI + text)
    app.post_json("/", {"uri": URI, f"a{character}b": ""}, status=422)
    if character not in "\ud800\udfff":
        app.post("/", {"uri": URI, "title": f"a{character}b"}, status=422)
        id = app.post_json("/", {"uri": URI}, status=201).json["id"]
        body = f"a{character}b".encode()
        for field in TEXTS:
            app.put(f"/{id}/{field}", body, content_type="text/plain", status=422)


def test_the_first_and_last_characters_that_xml_can_carry_are_kept(app, add):
    text = "!\ud7ff\ue000\ufffd\U00010000\U0010ffff!"
    bookmark = add(title=text, description=text, tags=[text])
    assert (bookmark["title"], bookmark["description"], bookmark["tags"]) == (text, text, [text])
    body = rb'{"title": "\ud83d\ude00"}'  # A surrogate pair is one character.
    options = {"content_type": "application/json", "status": 200}
    assert app.post(f"/{bookmark['id']}", body, **options).json["title"] == "😀"


def test_ids_are_unique_tsids_and_ascend_whatever_the_clock_shows(app, client, monkeypatch):
    now = time.time()
    other, ids = client(), []
    for n in range(20):
        monkeypatch.setattr(time, "time", lambda moment=now + n // 4: moment)
        each = (app, other)[n // 4 % 2]
        ids.append(each.post_json("/", {"uri": f"x:{n}"}, status=201).json["id"])
    assert ids == sorted(set(ids))
    together = map(Minter.mint, [Minter()] * 99)
    steps = {int(later, 36) - int(earlier, 36) for earlier, later in pairwise(together)}
    assert len(steps) > 20  # Gaps tell nothing of private bookmarks.
    monkeypatch.setattr(time, "time", lambda: 1e5)
    ids = [minter.mint() for minter in (Minter(), Minter()) for _ in range(1000)]
    assert len(set(ids)) == 2000
    assert all(re.fullmatch("[0-9a-hjkmnp-tv-z]{13}", id) for id in ids)


def test_a_new_id_is_none_that_a_bookmark_has_or_had(app, add, monkeypatch):
    first, second = add("x:1")["id"], add("x:2")["id"]
    app.delete(f"/{second}", status=204)
    ids = iter([first, second, "another"])
    monkeypatch.setattr(Minter, "mint", lambda minter: next(ids))
    assert add("x:3")["id"] == "another"


# A uri, and others that name the same bookmark.
SAME = {
    "http://a.example/": [
        "HTTP://A.EXAMPLE/", "http://a.example:/", "http://a.example:80", "http://a.example/..",
    ],
    "wss://a.example/": ["wss://a.example:443"],
    "ws://a.example/": ["ws://a.example:80"],
    "ftp://a.example/": ["ftp://a.example:21"],
    "http://a.example/?q": ["http://a.example?q"],
    "http://a.example/#f": ["http://a.example#f"],
    "http://a.example/%C3%A9": ["http://a.example/%c3%a9"],
    "http://a.example/abc-._~": ["http://a.example/%61%62%63%2D%2E%5F%7E"],
    "http://a.example/?q=~": ["http://a.example/?q=%7e"],
    "http://a.example/#~%2F": ["http://a.example/#%7E%2f"],
    "http://a.example/x": ["http://%41.example/x"],
    "http://u@a.example/": ["http://%75@a.example/"],
    "http://a.example/x/": ["http://a.example/x/.", "http://a.example/x/y/.."],
    "http://a.example/y": ["http://a.example/../../y", "http://a.example/x/%2E%2e/y"],
    "http://[2001:db8::a]/": ["http://[2001:DB8::A]:80"],
    "example://a/b/c/%7Bfoo%7D": ["eXAMPLE://a/./b/../b/%63/%7bfoo%7d"],
    "mailto:a@b.example": ["MAILTO:%61@b.example"],
}
# A uri, and others that name another bookmark.
DIFFERENT = {
    "http://a.example/": [
        "https://a.example/", "http://a.example:443/", "http://www.a.example/",
        "http://u@a.example/",
    ],
    "http://a.example/x": [
        "http://a.example/x/", "http://a.example/X", "http://a.example//x",
        "http://a.example/x?", "http://a.example/x#",
    ],
    "http://a.example/x#a": ["http://a.example/x#b"],
    "http://a.example/?a=1&b=2": ["http://a.example/?b=2&a=1"],
    "http://a.example/?q=A": ["http://a.example/?q=a"],
    "http://a.example/?q=a+b": ["http://a.example/?q=a%20b"],
    "http://a.example/?q=x/../y": ["http://a.example/?q=y"],
    "http://a.example/x/y": ["http://a.example/x%2Fy"],
    "http://a.example/%3Fq": ["http://a.example/?q"],
    "http://a.example/%25%37E": ["http://a.example/%7E"],
    "http://a.example/%2541": ["http://a.example/%41"],
    "https://a.example:80/": ["https://a.example/"],
    "x:/.//a.example/": ["x://a.example/"],
    "http://u@a.example/": ["http://U@a.example/"],
    "mailto:a@b.example": ["mailto:A@b.example"],
}


@pytest.mark.parametrize("one, others", SAME.items())
def test_equivalent_uris_name_the_same_bookmark(app, add, one, others):
    for stored, sent in [pair for other in others for pair in ((one, other), (other, one))]:
        bookmark = add(stored)
        assert bookmark["uri"] == stored
        assert app.get("/", {"uri": sent}, status=200).json == [bookmark]
        again = app.post_json("/", {"uri": sent, "title": "Again"}, status=200).json
        assert (again["id"], again["title"]) == (bookmark["id"], "Again")
        app.delete(f"/{bookmark['id']}", status=204)


@pytest.mark.parametrize("one, others", DIFFERENT.items())
def test_other_uris_name_different_bookmarks(app, add, one, others):
    add(one)
    for other in others:
        assert app.get("/", {"uri": other}, status=200).json == []
        add(other)
