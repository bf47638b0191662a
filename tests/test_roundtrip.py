"""A bookmark that was read over HTTP can be written back in the same format without any change."""

import os
import re

import pytest
import webtest
from hypothesis import HealthCheck, assume, given, settings

from bookmarks import make_app
from tests.formats.test_round_trips import VALUES

MEDIA_TYPES = {"json": "application/json", "xbel": "application/x-xbel"}
FIELDS = ("uri", "title", "description", "tags")

SPECIAL_TEXTS = [
    "<b>bold</b> &amp; <!-- comment -->", "\"double\" 'single' `back`",
    "?a=1&copy=2&reg;&#65;&lt;", "😀 👩\u200d👩\u200d👧 \U0010fffd",
    "שלום \u202eright to left\u202c \u200f", "]]> <![CDATA[ ]]>", "next\u0085line",
    "line\u2028separator\u2029paragraph", "%41%zz %", "\\n \\u0041 \\\\",
    "\u00e9 e\u0301 \u212b ﬁ", "\ufeffa\u200bb\u00adc", "</textarea></title></script>",
    "<?xml version='1.0'?>", "a\u00a0b\u3000c", "\ufffd",
]


class Service:
    def __init__(self, data):
        self.application = make_app(data)
        self.app = webtest.TestApp(self.application)
        self.file = data / "bookmarks" / "a.json"

    def put(self, bookmark, status="*"):
        return self.app.put_json("/a", bookmark, status=status)

    def get(self, name):
        return self.app.get(f"/a?format={name}", status=200)

    def state(self):
        """Return the file and the JSON of the bookmark; a PUT without a change keeps them."""
        status = os.stat(self.file)
        return self.file.read_bytes(), status.st_mtime_ns, status.st_ino, self.get("json").body


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return two services for all tests of this module."""
    services = [Service(tmp_path_factory.mktemp("pair") / "data") for _ in range(2)]
    yield services
    for service in services:
        service.application.store.close()


def require_round_trip(source, target, name):
    """Assert that a PUT of the representation changes nothing at its source.

    A PUT of the same bytes to `target` must copy all fields.
    """
    before = source.state()
    representation = source.get(name)
    headers = {"Accept": MEDIA_TYPES[name], "Content-Type": MEDIA_TYPES[name]}
    response = source.app.put("/a", representation.body, headers=headers, status=200)
    assert response.body == representation.body
    assert response.headers["ETag"] == representation.headers["ETag"]
    assert source.state() == before
    target.put({"uri": "x:other", "title": "x", "description": "x", "tags": ["x"]})
    target.app.put("/a", representation.body, content_type=MEDIA_TYPES[name], status=200)
    copy, original = target.get("json").json, source.get("json").json
    assert {field: copy[field] for field in FIELDS} == {field: original[field] for field in FIELDS}


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(values=VALUES)
@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_any_valid_bookmark_survives_the_round_trip(pair, name, values):
    source, target = pair
    status = source.put({field: values[field] for field in FIELDS}).status_int
    assume(status != 422)
    assert status in (200, 201)
    require_round_trip(source, target, name)


LONG = {
    "uri": "https://a.example/",
    "title": '<&>"' * 1024,
    "description": "<&>\n" * 16_383,
    "tags": ["<&>" * 84 + f"{n:03}" for n in range(100)],
}


def special_bookmarks():
    """Yield bookmarks that have all special texts in each field, three in each bookmark."""
    for start in range(0, len(SPECIAL_TEXTS), 3):
        texts = SPECIAL_TEXTS[start : start + 3]
        compact = re.sub(r"[\s\x7f-\x9f]", "", "".join(texts))
        yield {
            "uri": f"https://a.example/?q={compact}#{compact}",
            "title": texts[0] + " ".join(texts),
            "description": f"{texts[-1]}\n\n  " + "\t".join(texts),
            "tags": ["two words", *(re.sub("[,\x7f-\x9f\u2028\u2029]", "", t) for t in texts)],
        }


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_unusual_characters_and_the_longest_values_survive_the_round_trip(pair, name):
    source, target = pair
    longest = {"uri": "data:," + "<&\"'>" * 13_106, "title": "", "description": "", "tags": []}
    for bookmark in [*special_bookmarks(), LONG, longest]:
        source.put(bookmark, status="2*")
        require_round_trip(source, target, name)


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_the_id_and_the_dates_survive_the_round_trip(app, name):
    whole = {"title": "A", "description": "", "tags": [], "created": "2001-01-01T00:00:00Z"}
    for id in ("0", "b-b-1", "a_b", "x" * 64):
        bookmark = app.put_json(f"/{id}", whole | {"uri": f"x:{id}"}, status=201).json
        body = app.get(f"/{id}?format={name}", status=200).body
        app.put(f"/{id}", body, content_type=MEDIA_TYPES[name], status=200)
        assert app.get(f"/{id}", status=200).json == bookmark


def test_an_unchanged_form_changes_nothing(pair):
    source, _ = pair
    for bookmark in special_bookmarks():
        source.put(bookmark, status="2*")
        before = source.state()
        form = next(form for form in source.get("html").forms.values() if "title" in form.fields)
        form.submit(status=303)
        assert source.state() == before


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_a_file_written_by_hand_is_not_normalized(app, data, name):
    file = data / "bookmarks" / "a.json"
    file.write_text(
        '{"tags": [" x", "X", "e\u0301"], "title": " A\\nB ", "description": "1\\r\\n2\\n",'
        ' "created": "2001-01-01T02:00:00+02:00", "uri": " https://a.example/ ", "id": "a"}'
    )
    before = file.read_bytes(), file.stat().st_mtime_ns
    body = app.get(f"/a?format={name}", status=200).body
    app.put("/a", body, content_type=MEDIA_TYPES[name], status=200)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert app.get("/a", status=200).json == {
        "id": "a", "uri": "https://a.example/", "title": "A B", "description": "1\n2",
        "tags": ["x", "\u00e9"], "created": "2001-01-01T00:00:00Z",
        "modified": "2001-01-01T00:00:00Z",
    }  # fmt: skip
