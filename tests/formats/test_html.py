"""The pages: well-formed, everything escaped, and no dangerous link."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import pytest
import webtest

import formats
from bookmarks import make_app

PAGE = {"Accept": "text/html"}
VOID = set("area base br col embed hr img input link meta source track wbr".split())
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></textarea></script><script>",
    "<!-- --><svg/onload=alert(1)>",
    "&lt;b&gt; &copy=2 &#60;",
    "javascript:alert(1)",
    "]]>{{7*7}}${x}",
    "😀 שלום \u202e",
]


class Page(HTMLParser):
    """A page's elements and their text; fails for what is not nested as it should be."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.elements = []
        self.texts = []
        assert html.startswith("<!DOCTYPE html>\n")
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data}")

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def links(self):
        """The addresses of all links but the bookmarklet, which has to be a script."""
        links = [a for a in self.all("a") if a.get("id") != "bookmarklet"]
        return [a["href"] for a in links if "href" in a]

    @property
    def text(self):
        return " ".join(self.texts)


def page(app, path, status=200):
    response = app.get(path, headers=PAGE, status=status)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    return Page(response.body.decode())


def assert_harmless(found):
    """Holds that nothing on the page runs, looks or comes from elsewhere."""
    tags = {tag for tag, _ in found.elements}
    assert not tags & {"iframe", "object", "embed", "base", "style"}
    for attributes in found.all("script"):
        assert attributes.get("src", "").startswith("/")
    for _, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "action", "formaction", "srcset", "data"):
            assert attributes.get(name, "/").startswith("/")
            assert not attributes.get(name, "/").startswith("//")
    for attributes in found.all("link"):
        assert urljoin("http://localhost/", attributes["href"]).startswith("http://localhost/")


@pytest.fixture
def hostile(add):
    """A bookmark for each hostile value, in every field that takes it."""
    return [
        add(
            f"https://{n}.example/?q=" + "".join(value.split()),
            title=value,
            description=f"{value}\n{value}",
            tags=[value, "two words"],
        )
        for n, value in enumerate(HOSTILE)
    ]


# --- The list ---


def test_an_empty_list(app):
    found = page(app, "/")
    assert_harmless(found)
    assert found.all("html")[0]["lang"]
    assert any(a.get("name") == "uri" for a in found.all("input"))


def test_everything_in_the_list_is_escaped(app, hostile):
    found = page(app, "/")
    assert_harmless(found)
    for bookmark in hostile:
        assert bookmark["title"] in found.text
        assert bookmark["description"] in found.text
        assert bookmark["tags"][0] in found.text
        assert bookmark["uri"] in found.links()


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", ["tag", "q", "title", "x"])
def test_everything_in_the_query_is_escaped(app, hostile, name, value):
    response = app.get("/", {name: value, "limit": 1, "format": "html"}, status=200)
    assert_harmless(Page(response.text))


@pytest.mark.parametrize("name", ["tag", "q", "uri", "title", "description", "tags"])
def test_what_no_page_can_hold_is_in_none(app, add, name):
    add("https://a.example/")
    uri = {} if name in ("tag", "q") else {"uri": "https://b.example/"}  # It opens a form.
    given = {**uri, name: "a\0b\x01c\ufffed"}
    shown = app.get("/", {**given, "format": "html"}, status=200).text
    typed = app.post("/", given, headers=PAGE, status=422).text
    for text in (shown, typed):
        Page(text)
        assert not set("\0\x01\ufffe") & set(text)


def test_the_first_of_two_addresses_is_that_of_the_form(app, add):
    add("https://1.example/", title="First")
    add("https://2.example/", title="Second")
    query = "/?uri=https://1.example/&uri=https://2.example/"
    assert [one["title"] for one in app.get(query).json] == ["First"]
    assert "First" in page(app, query).text


def test_a_tag_is_a_link_that_adds_it_to_the_filter(app, add):
    add("https://1.example/", tags=["c++ & <d>", "b"])
    add("https://2.example/", tags=["b"])
    link = next(link for link in page(app, "/?tag=b").links() if "%2B%2B" in link)
    found = page(app, link)
    assert "https://1.example/" in found.links()
    assert "https://2.example/" not in found.links()


def test_the_feed_of_the_selection_is_linked(app, add):
    add(tags=["a b"])
    alternates = [a for a in page(app, "/?tag=a+b").all("link") if a["rel"] == "alternate"]
    (feed,) = [a["href"] for a in alternates if a["type"] == "application/atom+xml"]
    assert parse_qs(urlsplit(feed).query) == {"tag": ["a b"]}
    assert b"<entry>" in app.get(urljoin("http://localhost/", feed), status=200).body


def test_the_pages_are_linked(app, data, add):
    for n in range(120):
        bookmark = {"id": f"{n}", "uri": f"https://{n}.example/", "created": "2024-01-01T00:00:00Z"}
        (data / "bookmarks" / f"{n}.json").write_text(json.dumps(bookmark))
    first = page(app, "/")
    (following,) = {a["href"] for a in first.all("a") if a.get("rel") == "next"}
    second = page(app, following)
    shown = [{link for link in p.links() if ".example" in link} for p in (first, second)]
    assert [len(links) for links in shown] == [100, 20]
    assert "120" in first.text


def test_addresses_know_the_prefix(app, add):
    id = add(tags=["x"])["id"]
    response = app.get("/", headers=PAGE, extra_environ={"SCRIPT_NAME": "/my/marks"}, status=200)
    found = Page(response.text)
    links = [urlsplit(urljoin("http://localhost/my/marks/", link)) for link in found.links()]
    own = [link.path for link in links if link.hostname == "localhost"]
    assert f"/my/marks/{id}" in own
    own += [form["action"] for form in found.all("form")]
    assert all(path.startswith("/my/marks/") for path in own)


# --- Which uris are links ---


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://a.example/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "DATA:text/html;base64,PHNjcmlwdD4=",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "blob:https://a.example/x",
        "view-source:https://a.example/",
        "x-unheard-of:x",
    ],
)
def test_a_dangerous_uri_is_shown_and_no_link(app, add, uri):
    id = add(uri, title="Title")["id"]
    for path in ("/", f"/{id}"):
        found = page(app, path)
        assert_harmless(found)
        assert uri in found.text
        links = [*found.links(), *(a["href"] for a in found.all("link"))]
        assert not [link for link in links if link.lower().startswith(uri[:6].lower())]


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/?a=1&copy=2&b=\"'",
        "HTTP://A.EXAMPLE/",
        "ftp://a.example/",
        "mailto:a@b.example?subject=x",
        "magnet:?xt=urn:btih:x",
    ],
)
def test_a_harmless_uri_is_a_link(app, add, uri):
    id = add(uri, title="Title")["id"]
    for path in ("/", f"/{id}"):
        assert uri in page(app, path).links()


@pytest.mark.parametrize(
    "uri", ["http://[", "https://[::1", "http://a.example:port/", "https://@:/"]
)
def test_an_odd_uri_breaks_no_page(app, add, uri):
    id = add(uri, title="Title")["id"]
    for path in ("/", f"/{id}"):
        assert "Title" in page(app, path).text


# --- One bookmark, and the form ---


def values(app, path):
    """What the form with a field for the uri is filled in with."""
    forms = app.get(path, headers=PAGE, status=200).forms.values()
    (form,) = [form for form in forms if "uri" in form.fields]
    return {name: form[name].value for name in ("uri", "title", "tags", "description")}


def test_one_bookmark_is_shown_with_its_form(app, hostile):
    for bookmark in hostile:
        found = page(app, f"/{bookmark['id']}")
        assert_harmless(found)
        assert bookmark["title"] in found.text
        assert bookmark["uri"] in found.links()
        filled = values(app, f"/{bookmark['id']}")
        tags = [tag.strip() for tag in filled.pop("tags").split(",")]
        assert filled | {"tags": tags} == {name: bookmark[name] for name in (*filled, "tags")}


@pytest.mark.parametrize("value", HOSTILE)
def test_the_form_comes_filled_in(app, value):
    given = {
        "uri": f"https://a.example/{value}",
        "title": value,
        "tags": value,
        "description": value,
    }
    query = app.get("/", given, headers=PAGE, status=200).request.query_string
    assert values(app, f"/?{query}") == given
    assert_harmless(page(app, f"/?{query}"))
    assert app.get("/", status=200).json == []


def test_the_form_of_the_bookmark_that_has_the_uri_already(app, add):
    bookmark = add("https://a.example/", title="Old", tags=["x"])
    response = app.get("/?uri=HTTPS://a.example&title=New", headers=PAGE, status=200)
    (form,) = [form for form in response.forms.values() if "uri" in form.fields]
    assert form["title"].value == "Old"
    form["title"] = "Changed"
    form.submit(status=303)
    assert [(b["id"], b["title"]) for b in app.get("/", status=200).json] == [
        (bookmark["id"], "Changed")
    ]


def test_adding_changing_and_deleting_by_the_forms(app):
    (form,) = [f for f in app.get("/", headers=PAGE).forms.values() if "uri" in f.fields]
    form["uri"], form["title"], form["tags"] = "https://a.example/", "A & B", "x, y"
    shown = form.submit(status=303).follow(headers=PAGE, status=200)
    assert "A &amp; B" in shown.text

    (form,) = [f for f in shown.forms.values() if "uri" in f.fields]
    form["description"] = "One\r\nTwo"
    shown = form.submit(status=303).follow(headers=PAGE, status=200)
    (bookmark,) = app.get("/", status=200).json
    assert (bookmark["description"], bookmark["tags"]) == ("One\nTwo", ["x", "y"])

    (form,) = [f for f in shown.forms.values() if "_method" in f.fields]
    form.submit(status=303).follow(headers=PAGE, status=200)
    app.get(f"/{bookmark['id']}", status=410)


def test_an_error_page_is_harmless_too(app):
    given = {"uri": "https://a.example/", "<script>alert(1)</script>": "x"}
    response = app.post("/", given, headers=PAGE, status=422)
    found = Page(response.text)
    assert_harmless(found)
    assert "<script>alert(1)</script>" in found.text


# --- All that the list tells ---


def write_many(data, count):
    for n in range(count):
        bookmark = {
            "id": f"{n}",
            "uri": f"https://www.example-{n}.com/some/path/{n}?a=1&b=2",
            "title": f"Bookmark {n} has a title of a usual length",
            "description": "A description of a hundred characters or so, as people write them. "
            * 2,
            "tags": ["common", *(f"tag number {(4 * n + k) % 1000}" for k in range(4))],
            "created": "2024-01-01T00:00:00Z",
        }
        (data / "bookmarks" / f"{n}.json").write_text(json.dumps(bookmark))


def test_a_page_stays_light(app, data):
    write_many(data, 300)
    for path in ("/?limit=50", "/?limit=50&tag=common&offset=50", "/?limit=50&q=title"):
        response = app.get(path, headers=PAGE, status=200)
        assert len(response.body) <= 60_000
        found = Page(response.text)
        assert response.text.count("formaction=") == 50
        assert 50 <= response.text.count("<li><a") <= 60
        assert_harmless(found)
    assert app.get("/", headers=PAGE, status=200).text.count("formaction=") == 100


def test_a_list_of_very_long_texts_stays_light(app, add):
    for n in range(20):
        add(f"data:{n}," + "x" * 60_000, title="t" * 4_000, description="d" * 60_000)
    assert len(app.get("/", headers=PAGE, status=200).body) < 60_000


def test_every_format_of_the_selection_is_linked(app, add):
    add(tags=["a b"])
    links = page(app, "/?tag=a+b&q=example").links()
    for name in formats.LISTS:
        (link,) = [link for link in links if link.endswith(f"format={name}")]
        assert parse_qs(urlsplit(link).query) == {
            "tag": ["a b"],
            "q": ["example"],
            "format": [name],
        }


def test_tags_are_shown_with_the_number_of_those_found(app, add):
    add("https://1.example/", tags=["a", "B"])
    add("https://2.example/", tags=["a", "b"])
    add("https://3.example/", tags=["a"])
    text = app.get("/", headers=PAGE, status=200).text
    assert re.findall(r"<li><a .*?<bdi>(.*?)</bdi> <span>(\d+)", text) == [("a", "3"), ("B", "2")]
    text = app.get("/?tag=b", headers=PAGE, status=200).text
    assert re.findall(r"<li><a .*?<bdi>(.*?)</bdi> <span>(\d+)", text) == [("a", "2")]


def test_each_tag_and_the_words_can_be_taken_off_the_filter(app, add):
    add(tags=["a", "b"])
    found = page(app, "/?tag=a&tag=b&q=x")
    off = [link for link in found.links() if link.startswith("/?") and "format" not in link]
    assert {"/?tag=b&q=x", "/?tag=a&q=x", "/?tag=a&tag=b"} <= set(off)


def test_the_empty_collection_says_how_to_start(app):
    found = page(app, "/")
    assert "curl http://localhost/ -d uri=https://example.com/" in "".join(found.texts)
    (form,) = [f for f in found.all("form") if f.get("enctype") == "multipart/form-data"]
    assert (form["method"], form["action"]) == ("post", "/")
    assert any(a.get("name") == "file" and a["type"] == "file" for a in found.all("input"))


def test_the_bookmarklet_knows_the_address(data):
    for base in ("https://marks.example/my%20marks", "https://a.example/%22'"):
        app = webtest.TestApp(make_app(data, base_url=base))
        found = page(app, "/")
        (link,) = [a["href"] for a in found.all("a") if a.get("id") == "bookmarklet"]
        assert link.startswith("javascript:") and not set(link) & set(' "<>{}|\\^`')
        assert json.dumps(base) + "+'/?uri='+" in unquote(link)


# --- Forms that cannot be saved come back ---


def returned(response):
    """The form that a problem's page gives back, and the whole page."""
    assert_harmless(Page(response.text))
    (form,) = [f for f in response.forms.values() if "uri" in f.fields]
    return form, Page(response.text)


def test_an_invalid_form_comes_back_with_its_errors(app):
    given = {"uri": "none", "title": "<T>", "tags": "a, b", "description": "1\n\n2", "x": "y"}
    form, found = returned(app.post("/", given, headers=PAGE, status=422))
    assert form.action == "/"
    assert {name: form[name].value.replace("\r", "") for name in given if name != "x"} == {
        name: value for name, value in given.items() if name != "x"
    }
    (uri,) = [a for a in found.all("input") if a.get("name") == "uri"]
    assert uri["aria-invalid"] == "true" and uri["aria-describedby"] == "uri-error"
    assert any(a.get("id") == "uri-error" for a in found.all("div"))
    assert any(a.get("role") == "alert" for a in found.all("div"))
    assert "x is not a field" in "".join(found.texts)


def test_a_form_whose_uri_is_taken_comes_back(app, add):
    first, second = add("https://1.example/")["id"], add("https://2.example/")["id"]
    given = {"uri": "https://1.example/", "title": "Typed"}
    form, found = returned(app.post(f"/{second}", given, headers=PAGE, status=409))
    assert (form.action, form["title"].value) == (f"/{second}", "Typed")
    assert f"http://localhost/{first}" in found.links()


def test_a_late_form_comes_back_with_both_versions(app, add):
    id = add("https://1.example/", title="Old", tags=["x"])["id"]
    form = next(f for f in app.get(f"/{id}", headers=PAGE).forms.values() if "uri" in f.fields)
    app.post_json(f"/{id}", {"title": "<Theirs>", "tags": []}, status=200)
    form["title"], form["tags"] = "Mine", "x, y"
    again, found = returned(form.submit(headers=PAGE, status=412))
    assert (again["title"].value, again["tags"].value) == ("Mine", "x, y")
    assert "<Theirs>" in found.texts and "nothing" in found.texts
    assert app.get(f"/{id}", status=200).json["title"] == "<Theirs>"
    again.submit(status=303)
    assert app.get(f"/{id}", status=200).json["tags"] == ["x", "y"]


def test_a_late_deletion_shows_what_is_there(app, add):
    id = add("https://1.example/", title="Old")["id"]
    shown = app.get(f"/{id}", headers=PAGE)
    form = next(f for f in shown.forms.values() if "_method" in f.fields)
    app.post_json(f"/{id}", {"title": "New"}, status=200)
    response = form.submit(headers=PAGE, status=412)
    assert "New" in Page(response.text).texts
    next(f for f in response.forms.values() if "_method" in f.fields).submit(status=303)
    app.get(f"/{id}", status=410)


def test_a_form_of_a_new_bookmark_changes_no_old_one(app, add):
    id = add("https://1.example/", description="Text", tags=["x"])["id"]
    form = next(f for f in app.get("/?uri=", headers=PAGE).forms.values() if "uri" in f.fields)
    form["uri"], form["title"] = "HTTPS://1.example", "Typed"
    again, found = returned(form.submit(headers=PAGE, status=412))
    assert again.action == f"/{id}" and "Text" in found.texts
    assert app.get(f"/{id}", status=200).json["description"] == "Text"


def test_a_form_of_a_deleted_bookmark_comes_back_as_a_new_one(app, add):
    id = add("https://1.example/")["id"]
    app.delete(f"/{id}", status=204)
    given = {"uri": "https://1.example/", "title": "Typed", "_version": "x"}
    form, _ = returned(app.post(f"/{id}", given, headers=PAGE, status=410))
    assert form.action == "/"
    form.submit(status=303)
    assert app.get("/", status=200).json[0]["title"] == "Typed"


def test_a_form_comes_back_when_the_service_fails(app, add, monkeypatch):
    id = add("https://1.example/")["id"]
    monkeypatch.setattr(app.app.store, "replace", lambda *arguments: 1 / 0)
    given = {"uri": "https://1.example/", "title": "Typed"}
    form, _ = returned(app.post(f"/{id}", given, headers=PAGE, status=500))
    assert (form.action, form["title"].value) == (f"/{id}", "Typed")
