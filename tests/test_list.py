"""GET /: formats, order, filters and pages of the list."""

import re
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import pytest

from tests.conftest import write_file

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"
MEDIA_TYPES = {
    "json": "application/json",
    "xbel": "application/x-xbel",
    "text": "text/plain; charset=utf-8",
    "csv": "text/csv; charset=utf-8; header=present",
    "html": "text/html; charset=utf-8",
}


def ids(response):
    return [bookmark["id"] for bookmark in response.json]


def write_files(data, count):
    """Write the files of bookmarks b0000, b0001 and so on, each created a second after the last."""
    for n in range(count):
        created = f"2024-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"
        fields = {"uri": f"https://example.com/{n}", "title": f"Number {n}", "created": created}
        write_file(data, "bookmarks", f"b{n:04}", tags=["odd" if n % 2 else "even"], **fields)


@pytest.fixture
def seven(app, data):
    write_files(data, 7)
    return [f"b{n:04}" for n in range(6, -1, -1)]


# --- Formats ---

def test_an_item_of_the_list_has_all_fields_of_the_bookmark(app, add):
    empty = app.get("/", status=200)
    assert (empty.content_type, empty.json) == ("application/json", [])
    assert empty.headers["X-Total-Count"] == "0" and "Link" not in empty.headers
    bookmark = add(title="A", description="B", tags=["c"])
    assert app.get("/", status=200).json == [bookmark]
    assert set(bookmark) == {"id", "uri", "title", "description", "tags", "created", "modified"}


def test_the_parameter_format_overrides_accept(app, add):
    add(title="Something")
    for name, media_type in MEDIA_TYPES.items():
        for accept in ("*/*", BROWSER, "image/png"):
            response = app.get(f"/?format={name}", headers={"Accept": accept}, status=200)
            assert response.headers["Content-Type"] == media_type
            assert response.headers["Vary"] == "Accept, Accept-Encoding"
            assert "Something" in response.text


ACCEPTED = [
    ("*/*", "json"), ("", "json"), ("application/*", "json"), (BROWSER, "html"),
    ("application/xbel+xml", "xbel"), ("text/xml", "xbel"), ("text/*", "text"),
    ("TEXT/CSV", "csv"), ("text/csv; charset=utf-8", "csv"),
    ("application/json;q=0.1, text/csv;q=0.9", "csv"),
    ("text/html;q=0.5, application/x-xbel;q=0.50, text/plain;q=0.501", "text"),
    ("application/json;q=0, text/plain", "text"),
    ("image/png, */*;q=0.1", "json"), ("text/csv;q=0.2, */*;q=0.1", "csv"),
    ('text/csv;x="a,b;q=0"', "csv"),
    (r'text/plain;x="\", text/csv";q=0.5, text/html;q=0.1', "text"),
    ('text/csv;x="', "csv"), (" , ,\t", "json"), (",, text/csv,", "csv"),
    ("text/html;q=0.1, , text/csv", "csv"),
]  # fmt: skip


def test_accept_selects_the_format_by_q_values_and_an_unknown_one_is_an_error(app):
    for accept, name in ACCEPTED:
        response = app.get("/", headers={"Accept": accept}, status=200)
        assert response.headers["Content-Type"] == MEDIA_TYPES[name], accept
        assert response.headers["Vary"] == "Accept, Accept-Encoding"
    for name in ("yaml", "JSON", "application/json", "atom"):
        app.get("/", {"format": name}, status=400)
    for accept in ("image/png", "application/json;q=0", "text/turtle, audio/*", 'a/b;x="a,b"'):
        problem = app.get("/", headers={"Accept": accept}, status=406)
        assert problem.json["status"] == 406
        assert problem.headers["Vary"] == "Accept, Accept-Encoding"


def test_an_accept_of_more_than_4096_characters_counts_as_absent(app):
    accept = "text/csv" + ", image/png" * 371
    assert len(accept) == 4089
    for accept, name in ((accept + " " * 7, "csv"), (accept + " " * 8, "json")):
        response = app.get("/", headers={"Accept": accept}, status=200)
        assert response.headers["Content-Type"] == MEDIA_TYPES[name]


def test_the_order_is_newest_first_then_descending_id(app, put):
    moments = {"b": "2024", "d": "2023", "c": "2024", "a": "2025", "b1": "2024", "b-": "2024"}
    for id, year in moments.items():
        put(id, f"https://{id}.example/", id, f"{year}-01-01T00:00:00Z")
    expected = ["a", "c", "b1", "b-", "b", "d"]
    assert ids(app.get("/", status=200)) == expected
    app.post_json("/d", {"title": "An update does not change the order"}, status=200)
    assert ids(app.get("/", status=200)) == expected


@pytest.fixture
def tagged(add):
    tags = {"z": [], "a": ["Red"], "b": ["red", "Blue"], "c": ["BLUE", "Äpfel", "two words"]}
    return {add(f"x:{name}", title=name, tags=tags[name])["id"]: name for name in tags}


TAGS = [
    ("tag=red", "ba"), ("tag=RED", "ba"), ("tag=red&tag=blue", "b"),
    ("tag=blue&tag=Red&tag=rED", "b"),
    ("tag=%C3%84PFEL", "c"), ("tag=a%CC%88pfel", "c"), ("tag=two+words", "c"),
    ("tag=two%20Words", "c"), ("tag=words", ""), ("tag=re", ""),
    ("tag=red,blue", ""), ("tag=red&tag=nothing", ""), ("tag=", "cbaz"),
    ("tag=&tag=red", "ba"), ("tag=red&q=blue", "b"),
    ("uri=X:b&tag=blue", "b"), ("uri=x:b&tag=none", ""), ("uri=x:b/", ""),
    ("uri=%20x:b%20&uri=x:a", "b"),
]  # fmt: skip


def test_several_tags_select_bookmarks_that_have_all_of_them(app, tagged):
    for query, names in TAGS:
        response = app.get(f"/?{query}", status=200)
        assert "".join(tagged[id] for id in ids(response)) == names, query
        assert response.headers["X-Total-Count"] == str(len(names))


def test_a_tag_matches_in_every_order_of_its_marks(app, add):
    id = add(tags=["α\u0345\u0308"])["id"]
    assert ids(app.get("/?tag=%CE%B1%CD%85%CC%88", status=200)) == [id]
    assert ids(app.get("/?tag=%CE%B1%CC%88%CD%85", status=200)) == [id]


def test_searches_and_tags_have_a_limited_length(app):
    long, half = "a" * 4_096, "ä" * 2_048  # Each has 4,096 bytes.
    tags = [f"{n}{long[1:]}" for n in range(4)]
    for values, reason in (
        ({"q": half}, ""), ({"q": f"{half}a"}, "4,096"), ({"q": f"{long}a"}, "4,096"),
        ({"tag": half}, ""), ({"tag": f"{half}a"}, "4,096"), ({"tag": f"{long}a"}, "4,096"),
        ({"tag": tags[:3], "q": long}, ""), ({"tag": tags}, ""),
        ({"tag": tags, "q": "a"}, "16,384"),
        ({"uri": f"x:{long}"}, ""), ({"uri": b"\xff"}, "UTF-8"),
    ):  # fmt: skip
        for path in ("/", "/?format=html", "/feed"):
            assert reason in app.get(path, values, status=400 if reason else 200).text
    app.get("/api/bookmarks/", {"q": long}, status=200)
    assert "4,096" in app.get("/api/bookmarks/", {"q": f"{long}a"}, status=400).text


@pytest.fixture
def unsorted(app, put):
    for id, title, uri, created in [
        ("b", "Éclair", "x:2", 3), ("a", "eclair", "X:1", 4), ("d", "Zoo", "x:3", 1),
        ("c", "apple", "x:4", 2),
    ]:  # fmt: skip
        put(id, uri, title, f"2024-01-0{created}T00:00:00Z")


@pytest.fixture
def put(app):
    def put(id, uri, title, created):
        fields = {"uri": uri, "title": title, "description": "", "tags": [], "created": created}
        app.put_json(f"/{id}", fields, status=201)

    return put


def test_a_list_is_sorted_but_not_the_feed(app, unsorted):
    app.post_json("/d", {"description": "Now"})
    for sort, order in (
        ("created", "dcba"), ("-created", "abcd"), ("modified", "cbad"), ("-modified", "dabc"),
        ("title", "cabd"), ("-title", "dbac"), ("uri", "abdc"), ("-uri", "cdba"),
    ):  # fmt: skip
        assert ids(app.get("/", {"sort": sort}, status=200)) == list(order)
        response = app.get("/", {"sort": sort, "limit": 2, "offset": 1, "q": "x"}, status=200)
        assert response.headers["X-Total-Count"] == "4"
        assert ids(response) == list(order)[1:3]
        assert f"sort={sort}" in links(response)["next"]
        assert app.get("/", {"sort": sort, "format": "html"}, status=200)
    for sort in ("", "-", "id", "Title", "--title", "title,uri"):
        assert "-created" in app.get("/", {"sort": sort}, status=400).json["detail"]
    feed = app.get("/feed", {"sort": "title"}, status=200).text
    assert feed.index("2024-01-04") < feed.index("2024-01-03") < feed.index("2024-01-01")


# --- Pages ---

PARTS = [
    ("limit=2", slice(0, 2)),
    ("limit=2&offset=6", slice(6, 7)),
    (f"limit=5&offset={'9' * 18}", slice(0, 0)),
    ("limit=0", slice(0, 0)),
    (f"limit={'9' * 18}", slice(0, 7)),
    ("limit=007", slice(0, 7)),
    ("limit=2&limit=5&offset=3&offset=1", slice(3, 5)),
    ("offset=3", slice(0, 7)),
    ("order=title&page=3&=&x&limits=1", slice(0, 7)),  # Unknown parameters are ignored.
]


def test_limit_and_offset_select_a_page(app, seven):
    for query, part in PARTS:
        response = app.get(f"/?{query}", status=200)
        assert ids(response) == seven[part], query
        assert response.headers["X-Total-Count"] == "7"


def test_every_format_is_paged_and_counted(app, seven):
    for name in MEDIA_TYPES:
        response = app.get(f"/?format={name}&limit=2&offset=1&q=number", status=200)
        shown = [n for n in range(7) if f"https://example.com/{n}" in response.text]
        assert shown == [4, 5]
        assert response.headers["X-Total-Count"] == "7"
        assert 'rel="next"' in response.headers["Link"]
        for query in ("", "&offset=3"):  # Without limit, offset is ignored.
            whole = app.get(f"/?format={name}{query}", status=200)
            assert all(f"https://example.com/{n}" in whole.text for n in range(7))
            assert "Link" not in whole.headers


def test_limit_and_offset_must_be_whole_numbers(app):
    add_page = "format=html&uri=x:y&limit={}"
    offset = "limit=1&offset={}"
    for value in ("-1", "1.5", "x", "", "+", "0x10", "%EF%BC%91", "9" * 19, "9" * 9_999):
        for query in ("limit={}", "limit={}&offset=1", offset, f"{offset}&format=html", add_page):
            assert app.get("/?" + query.format(value), status=400).json["status"] == 400


def links(response):
    pairs = re.findall(r'<([^>]*)>; rel="(\w+)"', response.headers["Link"])
    return {relation: urljoin(response.request.url, url) for url, relation in pairs}


@pytest.mark.parametrize("start", [0, 1])
def test_the_links_lead_through_all_pages_and_back(app, seven, start):
    response = app.get(f"/?limit=2&offset={start}", status=200)
    assert ("prev" in links(response)) == (start > 0)
    forward = ids(response)
    while url := links(response).get("next"):
        response = app.get(url, status=200)
        forward += ids(response)
    assert forward == seven[start:]
    backward = ids(response)
    while url := links(response).get("prev"):
        response = app.get(url, status=200)
        backward = ids(response) + backward
    assert list(dict.fromkeys(backward)) == seven


def test_first_and_last_link_to_the_first_and_the_last_page(app, seven):
    response = app.get("/?limit=3&offset=3", status=200)
    assert set(links(response)) == {"first", "prev", "next", "last"}
    assert ids(app.get(links(response)["first"], status=200)) == seven[:3]
    assert ids(app.get(links(response)["last"], status=200)) == seven[6:]
    full = app.get("/?tag=even&limit=2", status=200)
    assert ids(app.get(links(full)["last"], status=200)) == ["b0002", "b0000"]
    beyond = links(app.get("/?limit=3&offset=100", status=200))
    assert "next" not in beyond
    assert ids(app.get(beyond["prev"], status=200)) != []


@pytest.mark.parametrize("path", ["/", "/feed"])
def test_a_list_on_one_page_has_no_page_links(app, seven, path):
    for accept in ("*/*", "text/html, */*;q=0.1"):
        headers = {"Accept": accept}
        for query in ("limit=7", "q=number&limit=8", "tag=none&limit=1"):
            response = app.get(f"{path}?{query}", headers=headers, status=200)
            assert "Link" not in response.headers and "offset" not in response.text
        for query in ("limit=6", "limit=7&offset=1", "limit=7&offset=100"):
            assert links(app.get(f"{path}?{query}", headers=headers, status=200))


@pytest.mark.parametrize("path", ["/", "/?format=html", "/feed"])
def test_links_repeat_the_parameters_of_a_list_and_no_others(app, seven, path):
    known = [("tag", "even"), ("q", "number"), ("sort", "title"), ("limit", "1")]
    others = [("utm_source", "x" * 5000), ("tag", "even"), ("changed", "3")]
    separator = "&" if "?" in path else "?"
    address = f"{path}{separator}{urlencode(others + known)}"
    response = app.get(address, headers={"Accept": "*/*"}, status=200)
    assert len(response.headers["Link"]) < 1000
    assert "utm_source" not in response.text
    expected = {"tag", "q", "limit", "offset"}
    if "format" in path:
        expected.add("format")
    if path != "/feed":  # The feed has one order.
        expected.add("sort")
    for url in links(response).values():
        names = {name for name, _ in parse_qsl(urlsplit(url).query)}
        assert names == expected
        assert app.get(url, status=200).headers["X-Total-Count"] == "4"


def test_a_list_without_limit_has_every_bookmark(app, data):
    write_files(data, 450)
    for name in ("json", "xbel", "csv", "text"):
        response = app.get(f"/?format={name}", status=200)
        assert response.headers["X-Total-Count"] == "450"
        numbers = [int(n) for n in re.findall(r"https://example\.com/(\d+)", response.text)]
        assert numbers == list(range(449, -1, -1))
    response = app.get("/?format=html", status=200)
    assert response.text.count('href="https://example.com/') == 100
    last = app.get(links(response)["last"], status=200)
    assert last.text.count('href="https://example.com/') == 50
