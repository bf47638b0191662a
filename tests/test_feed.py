"""GET /feed: Atom (RFC 4287) with pages (RFC 5005) and deletions (RFC 6721)."""

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import feedparser
import pytest
from lxml import etree

from tests.conftest import write_file
from tests.test_list import write_files

ATOM = "{http://www.w3.org/2005/Atom}"
DELETED = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"
GRAMMAR = Path(__file__).parent / "formats" / "atom.rng"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
MARKUP = "<b>&amp; \"quotes\" 'n' ]]> &copy=2 😀 \u200fשלום <script>alert(1)</script>"


@pytest.fixture(scope="module")
def grammar():
    return etree.RelaxNG(etree.parse(GRAMMAR))


@pytest.fixture
def read(app, grammar):
    """Return a function that validates a page of the feed and gives its root element."""

    def read(url="/feed", **options):
        response = app.get(url, status=200, **options)
        root = etree.fromstring(response.body)
        assert grammar.validate(root), grammar.error_log
        parsed = feedparser.parse(response.body)
        assert parsed.bozo == 0
        assert len(parsed.entries) == len(root.findall(f"{ATOM}entry"))
        return root

    return read


def text(element, name):
    return element.findtext(ATOM + name)


def links(element):
    return {link.get("rel"): link.get("href") for link in element.findall(f"{ATOM}link")}


def pages(read, url="/feed"):
    while url:
        page = read(url)
        yield page
        url = links(page).get("next")


def titles(root):
    return [text(entry, "title") for entry in root.findall(f"{ATOM}entry")]


def deletions(root):
    return {element.get("ref"): element.get("when") for element in root.findall(DELETED)}


# --- The document ---

def test_a_feed_has_the_required_elements_and_may_be_empty(app, read, add):
    root = read()
    assert root.tag == f"{ATOM}feed"
    assert root.findall(f"{ATOM}entry") == []
    response = app.get("/feed", status=200)
    assert response.content_type == "application/atom+xml"
    assert response.headers["Vary"] == "Accept, Accept-Encoding"
    bookmark = add(title="A")
    root = read()
    assert text(root, "id") and text(root, "title")
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    assert links(root)["self"] == "http://localhost/feed"
    assert text(root, "updated") == bookmark["modified"]
    (entry,) = root.findall(f"{ATOM}entry")
    assert entry.find(f"{ATOM}content") is None  # There is no description.


@pytest.mark.parametrize("title", [MARKUP, "a\u0085b", "a\u2028b", "]]>", "<!--", "\U0010fffd"])
def test_an_entry_has_all_fields_of_its_bookmark(read, add, title):
    uri = "https://a.example/?a=1&copy=2"
    created, modified = "2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z"
    texts = {"title": title, "description": f"One\n{title}", "tags": ["x y", MARKUP]}
    bookmark = add(uri, created=created, modified=modified, **texts)
    (entry,) = read().findall(f"{ATOM}entry")
    found = [text(entry, name) for name in ("title", "published", "updated", "content")]
    assert found == [bookmark["title"], created, modified, bookmark["description"]]
    assert [c.get("term") for c in entry.findall(f"{ATOM}category")] == ["x y", MARKUP]
    assert entry.find(f"{ATOM}content").get("type") == "text"
    addresses = links(entry)
    assert addresses["alternate"] == uri
    own = f"http://localhost/{bookmark['id']}"
    assert own in (addresses.get("self"), addresses.get("related"))


IRIS = [
    "https://a.example/?b=1&c='d'#e", "urn:isbn:1", "https://ü.example/ä?ö#日本語😀",
    "https://a.example/%C3%A4%2f", "http://[2001:db8::1]:80/", "http://a:b@[::1%25lo]/?c", "x:y",
]  # fmt: skip
ENCODED = {
    "javascript:alert('<&\">')": "javascript:alert('%3C&%22%3E')",
    "https://a.example/\\^`{|}": "https://a.example/%5C%5E%60%7B%7C%7D",
    "https://a.example/b[1]?c[]=2": "https://a.example/b%5B1%5D?c%5B%5D=2",
    "http://[::1]/[2]#[3]": "http://[::1]/%5B2%5D#%5B3%5D",
    'http://"@[::1]/': "http://%22@%5B::1%5D/",
    "https://a.example/100%&%zz": "https://a.example/100%25&%25zz",
    "https://a.example/#b#c##": "https://a.example/#b%23c%23%23",
    "https://a.example/\ue000\ufdd0\ufffd": "https://a.example/%EE%80%80%EF%B7%90%EF%BF%BD",
    "https://a.example/\u202eb\U0001fffe": "https://a.example/%E2%80%AEb%F0%9F%BF%BE",
    "https://a.example/\u200e\u2066\U000e0001": "https://a.example/%E2%80%8E%E2%81%A6%F3%A0%80%81",
}


def test_the_alternate_link_encodes_only_what_an_iri_excludes(app, read, add):
    expected = dict(zip(IRIS, IRIS)) | ENCODED
    ids = {f"http://localhost/{add(uri)['id']}": uri for uri in expected}
    entries = [links(entry) for entry in read().findall(f"{ATOM}entry")]
    found = {ids[entry.get("self") or entry["related"]]: entry["alternate"] for entry in entries}
    assert found == expected
    assert {bookmark["uri"] for bookmark in app.get("/", status=200).json} == set(expected)


def test_the_id_of_an_entry_is_permanent_and_its_own(app, read, add):
    id = add(title="A")["id"]
    (before,) = read().findall(f"{ATOM}entry")
    app.post_json(f"/{id}", {"uri": "https://b.example/", "title": "B"}, status=200)
    elsewhere = {"SCRIPT_NAME": "/marks", "HTTP_HOST": "127.0.0.1:9000"}
    (after,) = read("/feed", extra_environ=elsewhere).findall(f"{ATOM}entry")
    assert text(after, "id") == text(before, "id")
    assert urlsplit(text(after, "id")).scheme
    add("x:another")
    assert len({text(entry, "id") for entry in read().findall(f"{ATOM}entry")}) == 2


def test_feed_readers_and_browsers_get_atom_and_others_406(app):
    for accept in ("*/*", "application/atom+xml", "application/xml", BROWSER):
        response = app.get("/feed", headers={"Accept": accept}, status=200)
        assert response.content_type == "application/atom+xml"
    for accept in ("application/json", "image/png", "text/*"):
        app.get("/feed", headers={"Accept": accept}, status=406)


def test_tags_filter_the_feed_like_the_list(add, read):
    for title, tags in (("1", ["A"]), ("2", ["a", "B"]), ("3", ["b"])):
        created = f"2024-01-0{title}T00:00:00Z"
        add(f"x:{title}", title=title, tags=tags, created=created)
    for query, expected in (("tag=a", "21"), ("tag=A&tag=b", "2"), ("tag=c", ""), ("tag=", "321")):
        root = read(f"/feed?{query}")
        assert "".join(titles(root)) == expected
        assert parse_qsl(urlsplit(links(root)["self"]).query, True) == parse_qsl(query, True)


def test_a_page_has_fifty_entries(app, data, read):
    write_files(data, 50)
    assert "next" not in links(read())
    write_files(data, 51)
    root = read()
    assert len(titles(root)) == 50
    assert "previous" not in links(root)
    last = read(links(root)["next"])
    assert titles(last) == ["Number 0"]
    assert "next" not in links(last)
    assert titles(read(links(last)["previous"])) == titles(root)
    app.get("/feed?limit=x", status=400)


def test_following_next_reaches_every_bookmark(data, read, app):
    write_files(data, 130)
    for url, numbers in (
        ("/feed", range(129, -1, -1)),
        ("/feed?tag=Odd&limit=20", range(129, -1, -2)),
        ("/feed?limit=7&offset=100", range(29, -1, -1)),
    ):
        found = list(pages(read, url))
        shown = [title for page in found for title in titles(page)]
        assert shown == [f"Number {n}" for n in numbers]
        assert len({text(page, "id") for page in found}) == 1
        assert len({links(page)["self"] for page in found}) == len(found)
    assert text(read("/feed?tag=odd"), "id") != text(read("/feed?tag=even"), "id")


# --- Deletions ---

def test_a_deleted_entry_refers_to_the_id_of_the_former_entry(app, read, add, data):
    id = add()["id"]
    (entry,) = read().findall(f"{ATOM}entry")
    assert deletions(read()) == {}
    app.delete(f"/{id}", status=204)
    root = read()
    assert titles(root) == []
    tombstone = json.loads((data / "tombstones" / f"{id}.json").read_bytes())
    assert deletions(root) == {text(entry, "id"): tombstone["deleted"]}


def test_updated_is_the_time_of_the_latest_change_or_deletion(app, data, read):
    write_files(data, 3)
    assert text(read(), "updated") == "2024-01-01T00:00:02Z"
    write_file(data, "tombstones", "b0002", deleted="2024-02-01T00:00:00Z")
    assert text(read(), "updated") == "2024-02-01T00:00:00Z"
    fields = {"uri": "https://x.example/", "created": "2023-01-01T00:00:00Z"}
    write_file(data, "bookmarks", "x", modified="2024-03-01T00:00:00Z", **fields)
    assert text(read(), "updated") == "2024-03-01T00:00:00Z"


def test_following_next_reaches_every_deletion_from_the_latest_on(app, data, read):
    write_files(data, 60)
    for n in range(130):
        moment = f"2024-02-01T00:{n // 60:02}:{n % 60:02}Z"
        write_file(data, "tombstones", f"gone{n}", deleted=moment)
    app.delete("/b0000", status=204)
    refs = [ref for page in pages(read) for ref in deletions(page)]
    assert len(refs) == len(set(refs)) == 131
    assert any(ref.endswith("b0000") for ref in deletions(read()))


def test_an_invalid_character_in_the_tag_leaves_the_feed_well_formed(read):
    for tag in ("a%0bb", "%00", "%ef%bf%be", "%7f"):
        assert read(f"/feed?tag={tag}").findtext(f"{ATOM}title").startswith("Bookmarks: ")
