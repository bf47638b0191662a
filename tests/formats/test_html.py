"""The HTML pages: nesting, escaping, links, and the forms that add, change and delete."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urljoin, urlsplit

import pytest

import formats
from formats.commands import EXPORT_SUFFIXES
from storage.errors import Busy, Full, Invalid, OutcomeUnknown, Unavailable

PAGE = {"Accept": "text/html"}
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
VOID = set("area base br col embed hr img input link meta source track wbr".split())
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</title></textarea></script><script>", "<!-- --><svg/onload=alert(1)>",
    "&lt;b&gt; &copy=2 &#60;", "javascript:alert(1)", "]]>{{7*7}}${x}", "😀 שלום \u202e",
]  # fmt: skip


class Page(HTMLParser):
    """The elements and texts of a page. Raises AssertionError for wrong nesting."""

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
        assert len(attributes) == len(dict(attributes)), f"repeated attribute: {attributes}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes no open element"

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def links(self):
        """Return the addresses of all links except the bookmarklet's, which is a script."""
        links = [a for a in self.all("a") if a.get("id") != "bookmarklet"]
        return [a["href"] for a in links if "href" in a]

    @property
    def text(self):
        return " ".join(self.texts)


def get_page(app, path, status=200):
    response = app.get(path, headers=PAGE, status=status)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    page = Page(response.body.decode())
    assert_harmless(page)
    return page


def assert_harmless(page):
    """Assert that the page has no inline script or style, and no resource of another site."""
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"iframe", "object", "embed", "base", "style"}
    for attributes in page.all("script"):
        assert attributes.get("src", "").startswith("/")
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "action", "formaction", "srcset", "data"):
            assert attributes.get(name, "/").startswith("/")
            assert not attributes.get(name, "/").startswith("//")
    for attributes in page.all("link"):
        assert urljoin("http://localhost/", attributes["href"]).startswith("http://localhost/")


def editor(response):
    assert_harmless(Page(response.text))
    (form,) = [form for form in response.forms.values() if "uri" in form.fields]
    return form


def open_form(app, path):
    return editor(app.get(path, headers=PAGE, status=200))


# --- The list ---

def test_the_page_of_an_empty_collection_shows_how_to_start(app):
    page = get_page(app, "/")
    assert page.all("html")[0]["lang"]
    (form,) = [f for f in page.all("form") if f.get("class") == "import"]
    assert (form["method"], form["action"]) == ("post", "/-/import")
    assert form["enctype"] == "multipart/form-data"
    inputs = {a["name"]: a.get("type") for a in page.all("input") if "name" in a}
    assert inputs["file"] == "file" and "uri" in inputs
    assert "/feed" in [a["href"] for a in page.all("link") if a["rel"] == "alternate"]
    assert "No bookmark has a tag yet." in get_page(app, "/tags").text


def test_all_fields_are_escaped_in_the_list_and_on_the_page_of_a_bookmark(app, add):
    bookmarks = []
    for number, value in enumerate(HOSTILE):
        uri = f"https://{number}.example/?q=" + "".join(value.split())
        fields = {"description": f"{value}\n{value}", "tags": [value, "two words"]}
        bookmarks.append(add(uri, title=value, **fields))
    for value in HOSTILE:
        for name in ("tag", "q"):
            get_page(app, "/?" + urlencode({name: value, "limit": 1}))
    page = get_page(app, "/")
    for bookmark in bookmarks:
        path = f"/{bookmark['id']}"
        for each in (page, get_page(app, path)):
            assert bookmark["title"] in each.text
            assert bookmark["uri"] in each.links()
        assert bookmark["description"] in page.text
        assert bookmark["tags"][0] in page.text
        form = open_form(app, path)
        for name in ("uri", "title", "description"):
            assert form[name].value == bookmark[name]
        assert [tag.strip() for tag in form["tags"].value.split(",")] == bookmark["tags"]


@pytest.mark.parametrize("path, name", [("/", "q"), ("/-/add", "title"), ("/-/add", "tags")])
def test_characters_that_html_cannot_contain_are_replaced(app, add, path, name):
    add("https://a.example/")
    values = {"uri": "https://b.example/", name: "a\0b\x01c\ufffed"}
    list_or_form = app.get(path, values, headers=PAGE, status=200).text
    problem = app.post("/", {"uri": "a\0b\x01c\ufffed"}, headers=PAGE, status=422).text
    for text in (list_or_form, problem):
        Page(text)
        assert not set("\0\x01\ufffe") & set(text)


def test_all_links_and_forms_begin_with_the_path_prefix(app, add):
    id = add(tags=["x"])["id"]
    response = app.get("/", headers=PAGE, extra_environ={"SCRIPT_NAME": "/my/marks"}, status=200)
    page = Page(response.text)
    links = [urlsplit(urljoin("http://localhost/my/marks/", link)) for link in page.links()]
    own = [link.path for link in links if link.hostname == "localhost"]
    assert f"/my/marks/{id}" in own
    own += [form["action"] for form in page.all("form")]
    assert all(path.startswith("/my/marks/") for path in own)


@pytest.mark.parametrize("uri, is_link", [
    ("javascript:alert(1)", False), ("JavaScript://a.example/%0aalert(1)", False),
    ("vbscript:msgbox(1)", False), ("data:text/html,<script>alert(1)</script>", False),
    ("file:///etc/passwd", False), ("https://a.example/?a=1&copy=2&b=\"'", True),
    ("HTTP://A.EXAMPLE/", True), ("mailto:a@b.example?subject=x", True),
    ("magnet:?xt=urn:btih:x", True), ("http://[", True), ("https://a.example:port/", True),
])  # fmt: skip
def test_a_uri_is_a_link_if_its_scheme_is_harmless_and_else_text(app, add, uri, is_link):
    id = add(uri, title=uri)["id"]
    for path in ("/", f"/{id}"):
        page = get_page(app, path)
        assert uri in page.text
        links = [*page.links(), *(a["href"] for a in page.all("link"))]
        assert (uri in links) == is_link


def test_the_query_fills_in_the_form(app):
    for value in HOSTILE:
        values = dict.fromkeys(("title", "tags", "description"), value)
        values["uri"] = f"https://a.example/{value}"
        form = editor(app.get("/-/add", values, headers=PAGE, status=200))
        assert {name: form[name].value for name in values} == values
    assert app.get("/", status=200).json == []


# --- Deleting and putting back ---

def form_to(response, path):
    """Return the form of a page whose action has this path."""
    (form,) = [form for form in response.forms.values() if path in form.action]
    return form


def delete_with_a_form(app, id, query=""):
    page = app.get(f"/{id}{query}", headers=PAGE, status=200)
    return form_to(page, "/-/delete/").submit(status=200)


def test_a_bookmark_that_is_put_back_has_all_its_fields(app, add):
    for text in HOSTILE:
        uri = "x:" + "".join(text.split())
        fields = {"description": f"{text}\n{text}", "tags": [text, "two words"]}
        old = add(uri, title=text, created="2001-02-03T04:05:06Z", **fields)
        response = delete_with_a_form(app, old["id"])
        assert_harmless(Page(response.text))
        address = form_to(response, "/-/restore").submit(status=303).headers["Location"]
        new = app.get("/" + address.partition("#b-")[2], status=200).json
        assert new["id"] != old["id"] and new["modified"] > "2026"
        assert new == old | {"id": new["id"], "modified": new["modified"]}


def test_what_could_not_be_put_back_can_be_tried_again(app, add, monkeypatch):
    old = add("localhost:3000", created="2001-02-03T04:05:06Z")
    response = delete_with_a_form(app, old["id"], "?_list=tag%3Dx")
    with monkeypatch.context() as broken:
        broken.setattr(app.app.store, "transaction", lambda: 1 / 0)
        response = form_to(response, "/-/restore").submit(headers=PAGE, status=500)
    assert "/?tag=x" in Page(response.text).links()
    address = form_to(response, "/-/restore").submit(status=303).headers["Location"]
    (new,) = app.get("/", status=200).json
    assert (new["uri"], new["created"]) == ("localhost:3000", "2001-02-03T04:05:06Z")
    assert address == f"http://localhost/?tag=x&restored=1#b-{new['id']}"


@pytest.mark.parametrize("path", ["/-/restore", "/-/trash"])
def test_a_form_without_a_deleted_bookmark_does_nothing(app, path):
    app.put_json("/active", {"uri": "x:y", "title": "", "description": "", "tags": []}, status=201)
    app.post(path, {"x": ""}, headers=PAGE, status=422)
    # Another request may have emptied the trash faster.
    status = 409 if path == "/-/restore" else 303
    for selected in ("", "../a", "active"):
        response = app.post(path, {"selected": selected}, headers=PAGE, status=status)
        assert status == 409 or response.location.endswith("?erased=0")
    assert len(app.get("/").json) == 1


# --- The page of recently deleted bookmarks ---

def delete_samples(app, number):
    for n in range(number):
        fields = {"title": f"T{n} <b>", "description": "", "tags": []}
        app.put_json(f"/a{n}", {"uri": f"https://{n}.example/", **fields}, status=201)
        app.delete(f"/a{n}", status=204)


def test_the_trash_lists_what_any_client_has_deleted(app):
    page = app.get("/-/trash", headers=PAGE, status=200).html.main
    text = "Nothing here. A deleted bookmark is kept for 30 days."
    assert page.select_one(".nothing p").text == text
    assert page.select_one(".nothing a")["href"] == "/"
    assert page.select_one(".select") is None
    delete_samples(app, 3)
    for path, status in (("/-/tools", 200), ("/a1", 410)):
        page = get_page(app, path, status)
        assert "/-/trash" in page.links()
    assert re.search(r"It was deleted on\s+\d+ [A-Z][a-z]+ \d{4}", page.text)
    assert page.all("time")[0]["datetime"].endswith("Z") and "a1" not in page.text
    page = app.get("/-/trash", headers=PAGE, status=200)
    assert_harmless(Page(page.text))
    items = page.html.select(".list > li")
    assert sorted(item.h2.text for item in items) == ["T0 <b>", "T1 <b>", "T2 <b>"]
    assert all(".example deleted" in item.select_one(".meta").text for item in items)
    assert "30 days" in page.html.main.text and items[0].time["datetime"]


@pytest.mark.parametrize("address", ["/-/restore", "/-/trash"])
def test_checked_bookmarks_of_the_trash_are_put_back_or_erased(app, data, address):
    delete_samples(app, 3)
    chosen = [("selected", "a0"), ("selected", "a2"), ("_shown", "")]
    response = app.post(address, chosen, headers=PAGE, status=303)
    page = app.get(response.headers["Location"], headers=PAGE, status=200)
    (item,) = page.html.select(".list > li")
    assert item["id"] == "b-a1"
    stored = {b["title"] for b in app.get("/").json}
    if address == "/-/restore":
        assert "2 bookmarks put back." in page.html.main.text and stored == {"T0 <b>", "T2 <b>"}
    else:
        assert "2 bookmarks deleted for good." in page.html.main.text and stored == set()
        assert [path.name for path in (data / "bookmarks").iterdir()] == ["a1.json"]
    # The button of one bookmark puts back this one alone.
    app.post("/-/restore", [("selected", "a0"), ("only", "a1")], headers=PAGE, status=303)
    assert {b["title"] for b in app.get("/").json} == stored | {"T1 <b>"}


def test_a_long_list_has_at_most_seven_numbered_pages_and_links_to_them(app):
    app.post_json("/-/import", [{"uri": f"https://{n}.example/"} for n in range(31)], status=200)
    for limit, offset, links in (
        (20, 0, "*1* 2 Next"),
        (20, 20, "Previous 1 *2*"),
        (1, 3, "Previous 1 2 3 *4* 5 … 31 Next"),
        (1, 15, "Previous 1 … 15 *16* 17 … 31 Next"),
        (1, 27, "Previous 1 … 27 *28* 29 30 31 Next"),
        (1, 30, "Previous 1 … 27 28 29 30 *31*"),
        (1, 99, "Previous 1 … 27 28 29 30 31"),
        # No numbered page begins at the offset, so all are links.
        (10, 31, "Previous 1 2 3 4"),
        (10, 15, "Previous 1 2 3 4 Next"),
    ):
        page = app.get(f"/?limit={limit}&offset={offset}", headers=PAGE, status=200).html
        for current in page.select(".pages [aria-current=page]"):
            current.string = f"*{current.text}*"
        assert not page.select(".pages a[aria-current]")
        shown = [element.text for element in page.select(".pages > :not(p)")]
        assert " ".join(shown) == links
    assert page.select_one(".pages p").text == "16–25 of 31"
    (third,) = [link["href"] for link in page.select(".pages a") if link.text == "3"]
    page = app.get(third, headers=PAGE, status=200).html
    assert page.select_one(".total").text == "21–30 of 31"
    page = app.get("/", headers=PAGE, status=200).html
    assert page.select_one(".pages").text == ""
    page = app.get("/tags", headers=PAGE, status=200).html
    assert [link.text for link in page.select("nav#pages [aria-current]")] == ["Tags"]


def test_the_trash_has_pages(app, monkeypatch):
    for module in ("html.trash", "http.trash_actions"):
        monkeypatch.setattr(f"formats.{module}.PAGE_SIZE", 2)
    delete_samples(app, 5)
    path = "/-/trash"
    for shown in (2, 2, 1):
        page = app.get(path, headers=PAGE, status=200).html
        assert len(page.select(".list > li")) == shown
        assert "5 bookmarks" in page.main.text
        path = page.select("[rel=next]")[0]["href"] if shown == 2 else None
    assert not page.select("[rel=next]")
    page = app.get("/-/trash?offset=x", headers=PAGE, status=400)
    assert "Something in the address of this page is wrong." in page.html.main.text


def test_of_several_some_are_put_back_and_the_others_are_named(app, add, data):
    delete_samples(app, 4)
    (data / "bookmarks" / "a3.json").write_text("{broken}")
    id = add("HTTPS://1.example", title="New")["id"]
    chosen = [("selected", id) for id in ("a3", "a0", "a1", "unknown")]
    page = app.post("/-/restore", chosen, headers=PAGE, status=200)
    assert page.html.h1.text == "1 bookmark put back"
    assert "Not put back: The file of bookmark a3 cannot be used: " in page.html.main.text
    assert "Not put back, because it is saved again: New" in page.html.main.text
    assert page.html.main.find("a", href=f"/{id}")
    assert "not in Recently deleted any more: 1 bookmark." in page.html.main.text
    assert {b["title"] for b in app.get("/").json} == {"New", "T0 <b>"}
    page = app.get("/-/trash", headers=PAGE, status=200)
    assert_harmless(Page(page.text))
    assert "3 bookmarks" in page.html.main.text and len(page.html.select(".list > li h2")) == 3
    assert "The file of bookmark a3 cannot be used: " in page.html.select_one("#b-a3").text
    page = app.post("/-/trash", chosen, headers=PAGE, status=200)
    assert page.html.h1.text == "1 bookmark deleted for good"
    assert "Not deleted for good: The file of bookmark a3 cannot be" in page.html.main.text
    assert "any more" not in page.html.main.text
    page = app.post("/-/restore", {"selected": "a3"}, headers=PAGE, status=503)
    assert page.html.h1.text == "Not put back" and int(page.headers["Retry-After"]) > 0
    assert (data / "bookmarks" / "a3.json").read_text() == "{broken}"


@pytest.mark.parametrize("address, done", [
    ("/-/restore", "2 bookmarks put back."), ("/-/trash", "2 bookmarks deleted for good."),
])  # fmt: skip
def test_what_was_put_back_or_erased_before_an_error_is_counted(
    app, fail_batch, monkeypatch, address, done
):
    delete_samples(app, 3)
    monkeypatch.setattr("storage.batch.MAX_CHANGES", 2)
    fail_batch(2, Full("The disk is full."))
    chosen = [("selected", f"a{n}") for n in range(3)]
    page = app.post(address, chosen, headers=PAGE, status=507)
    assert f"{done} The disk is full." in page.html.main.text


def test_a_service_that_keeps_nothing_offers_no_way_back(data, client):
    app = client(keep_deleted=0)
    app.put_json("/a", {"uri": "x:y", "title": "", "description": "", "tags": []}, status=201)
    page = delete_with_a_form(app, "a")
    assert "Deleted:" in page.html.main.text and "/-/restore" not in page.text
    assert list((data / "bookmarks").iterdir()) == []
    with pytest.raises(Invalid, match="must be 0 days or more"):
        client(keep_deleted=-1)


def test_addresses_in_descriptions_are_links_shown_without_scheme_and_cut(app, add):
    long = "http://b.example/" + "x" * 60
    text = f"See (https://www.a.example/x/?y=1&z), <b> https://a.example/x/, or {long}."
    add("https://1.example/", description="word " * 100 + "https://c.example/\n")
    id = add("https://2.example/", description=text)["id"]
    page = app.get("/?q=see+or+word", headers=PAGE, status=200)
    assert_harmless(Page(page.text))
    links = page.html.select(".list h2 + p:not(.meta) a, .list details p a")
    assert [(link["href"], link.text) for link in links] == [
        ("https://www.a.example/x/?y=1&z", "a.example/x/?y=1&z"),
        ("https://a.example/x/", "a.example/x"), (long, "b.example/" + "x" * 25 + "…"),
        ("https://c.example/", "https://c.example/"),
    ]  # fmt: skip
    host = "a-long-host-is-never-cut." * 4 + "example"
    app.put_json(f"/{id}/description", f"https://{host}/ {long}", status=200)
    page = app.get("/", headers=PAGE, status=200).html
    assert page.select_one(".list summary").text == f"{host} b.example/{'x' * 25}…"
    page = app.get("/?q=xxx", headers=PAGE, status=200).html
    assert long in page.select_one(".list summary").text  # The search has found it.
    text = "https://www./ and https://c.example/" + "y" * 2000
    app.put_json(f"/{id}/description", text, status=200)
    page = app.get("/", headers=PAGE, status=200).html
    links = [link.text for link in page.select(".list details a")]
    assert links[:2] == ["https://www./", "Show the whole description"]


# --- Several bookmarks at once ---

@pytest.fixture
def many(add):
    """Ten bookmarks with the tag x, the newest first."""
    bookmarks = []
    for n in range(10):
        created = f"2024-01-{20 - n}T00:00:00Z"
        fields = {"title": f"T{n}", "tags": ["x", "unread"], "created": created}
        bookmarks.append(add(f"https://{n}.example/", **fields))
    return bookmarks


def select(app, many, numbers):
    """Check these bookmarks of the list; return the fields that its form sends."""
    form = app.get("/?tag=x", headers=PAGE, status=200).forms["many"]
    sent = [("selected", many[number]["id"]) for number in numbers]
    return sent + [(name, form[name].value) for name in ("_list", "_shown")]


def act_on_selected(app, many, action, numbers, status=303, **fields):
    sent = [*select(app, many, numbers), ("do", action), *fields.items()]
    return app.post("/-/selected", sent, headers=PAGE, status=status)


def tags_of(app):
    return [bookmark["tags"] for bookmark in app.get("/", status=200).json]


def test_checked_bookmarks_are_tagged_and_marked_as_read(app, many):
    response = act_on_selected(app, many, "add", [0, 2], tags="a, b")
    assert response.headers["Location"] == "http://localhost/?tag=x&changed=2"
    changed = ["x", "unread", "a", "b"]
    assert tags_of(app) == [changed, ["x", "unread"], changed, *[["x", "unread"]] * 7]
    act_on_selected(app, many, "remove", [2, 3], tags="a, X")
    assert tags_of(app)[2:4] == [["unread", "b"], ["unread"]]
    act_on_selected(app, many, "read", [1])
    assert tags_of(app)[:2] == [changed, ["x"]]


def test_checked_bookmarks_are_deleted_and_put_back(app, many):
    response = act_on_selected(app, many, "delete", [1, 4, 7], status=200)
    assert "3 bookmarks" in response.html.select_one(".notice").text
    assert "Unread 7" in response.html.header.text
    assert [b["title"][1] for b in app.get("/", status=200).json] == list("0235689")
    form = form_to(response, "/-/restore")
    assert form.text.count("Put them back") == 1
    address = form.submit(status=303).headers["Location"]
    assert "3 bookmarks put back." in app.get(address, headers=PAGE, status=200).text
    assert [b["title"] for b in app.get("/", status=200).json] == [b["title"] for b in many]


@pytest.mark.parametrize("action, left, tagged", [("add", ["T0"], ["T0"]), ("delete", [], [])])
def test_only_the_versions_that_were_shown_are_changed(app, many, action, left, tagged):
    sent = select(app, many, range(3))
    app.post_json(f"/{many[1]['id']}", {"title": "Changed"}, status=200)
    app.delete(f"/{many[2]['id']}", status=204)
    sent += [("do", action), ("tags", "new")]
    page = app.post("/-/selected", sent, headers=PAGE, status="*")
    assert_harmless(Page(page.text))
    assert "Changed" in page.html.main.text and "1 bookmark left alone" in page.html.main.text
    rest = app.get("/", status=200).json
    assert [b["title"] for b in rest][:-7] == [*left, "Changed"]
    assert [b["title"] for b in rest if "new" in b["tags"]] == tagged


def test_a_refused_change_of_checked_bookmarks_keeps_what_was_typed(app, many):
    page = act_on_selected(app, many, "add", [0, 1], status=422, tags="ok," + "y" * 300)
    assert "not done yet" in page.html.main.text
    form = page.forms[1]
    assert form["tags"].value == "ok, " + "y" * 300
    assert page.html.find(id="tags-error").text.startswith("A tag must be at most")
    form["tags"] = "ok"
    assert form.submit(status=303).headers["Location"].endswith("/?tag=x&changed=2")
    page = act_on_selected(app, many, "add", [0], status=422, tags="")
    assert page.html.find(id="tags-error").text == "Tags are missing: write some"
    page = act_on_selected(app, many, "delete", [], status=422)
    assert "No bookmark is checked: check some in the list" in page.html.main.text
    act_on_selected(app, many, "other", [0], status=400, tags="a")
    assert tags_of(app) == [["x", "unread", "ok"]] * 2 + [["x", "unread"]] * 8


def test_a_bookmark_with_too_many_tags_is_named_and_the_others_are_changed(app, add):
    many = [add(uri=f"x:{n}", title=f"T{n}", tags=["x"]) for n in range(3)]
    app.put_json(f"/{many[1]['id']}/tags", ["x", *map(str, range(99))], status=200)
    many = app.get("/", status=200).json
    page = act_on_selected(app, many, "add", range(3), status=200, tags="new")
    assert "2 bookmarks changed" in page.html.h1.text
    assert "1 bookmark left alone: tags must not be more than 100" in page.html.main.text
    assert page.html.main.find("a", href=f"/{many[1]['id']}").text == many[1]["title"]
    assert sum("new" in tags for tags in tags_of(app)) == 2


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_if_every_bookmark_fails_the_page_is_about_the_first(app, add, order):
    add(uri="x:deleted", title="T0", tags=["x"])
    add(uri="x:full", title="T1", tags=["x"])
    many = app.get("/?sort=title", status=200).json
    app.put_json(f"/{many[1]['id']}/tags", ["x", *map(str, range(99))], status=200)
    sent = [*select(app, many, order), ("do", "add"), ("tags", "new")]
    app.delete(f"/{many[0]['id']}", status=204)
    page = app.post("/-/selected", sent, headers=PAGE, status="*")
    assert page.status_int == (409 if order == [0, 1] else 422)
    assert bool(page.html.find(id="tags-error")) == (order == [1, 0])


@pytest.fixture
def select_450(app):
    """Return the form that is sent to act on 450 unread bookmarks."""
    entries = [{"uri": f"x:{n}", "tags": ["unread"]} for n in range(450)]
    assert app.post_json("/-/import", entries).json["created"] == 450
    page = app.get("/?limit=450", headers=PAGE, status=200)
    shown = re.search('name="_shown" value="([^"]+)"', page.text)[1]
    sent = [("selected", bookmark["id"]) for bookmark in app.get("/").json]
    return [*sent, ("_shown", shown), ("tags", "new")]


@pytest.mark.parametrize("do, participle, error, said", [
    ("add", "changed", Busy("Another writer has the lock."), "Another program is changing"),
    ("add", "changed", Full("The disk is full."), "The disk is full."),
    ("delete", "deleted", Unavailable("It cannot be written."), "It cannot be written."),
])  # fmt: skip
def test_a_page_says_what_an_error_in_a_later_batch_has_left_alone(
    app, select_450, fail_batch, do, participle, error, said, caplog
):
    fail_batch(2, error)
    page = app.post("/-/selected", [*select_450, ("do", do)], headers=PAGE, status=200).html
    assert page.h1.text == f"200 bookmarks {participle}"
    assert f"250 bookmarks left alone: {said}" in page.main.text
    assert "not known" not in page.main.text
    assert (said in caplog.text) == (not isinstance(error, Busy))
    assert f"Unread {250 if do == 'delete' else 450}" in page.header.text


def test_only_the_batch_whose_outcome_is_unknown_may_be_changed(app, select_450, fail_batch):
    fail_batch(2, OutcomeUnknown("The disk cannot be synced."))
    sent = [*select_450, ("do", "delete")]
    response = app.post("/-/selected", sent, headers=PAGE, status=503)
    assert response.headers["Retry-After"] == "5"
    page = response.html.main
    assert page.h1.text == "200 bookmarks deleted"
    assert "200 bookmarks not known to be deleted: The disk cannot be synced." in page.text
    assert "50 bookmarks left alone after this error." in page.text


@pytest.mark.parametrize("error, status, retry, said", [
    (Busy("Another writer has held the lock."), 503, "5", "Another program is changing"),
    (Full("The disk is full."), 507, None, "The disk is full."),
])  # fmt: skip
def test_what_was_changed_meanwhile_is_named_if_an_error_ends_the_work(
    app, select_450, fail_batch, error, status, retry, said
):
    # The page has shown no version of the first batch, so these bookmarks are left alone.
    *selected, (_, shown), tags = select_450
    sent = [*selected, ("_shown", " ".join(shown.split()[200:])), tags, ("do", "delete")]
    fail_batch(2, error)
    response = app.post("/-/selected", sent, headers=PAGE, status=status)
    assert response.headers.get("Retry-After") == retry
    main = response.html.main
    assert main.text.count("Changed since the page was opened") == 1
    assert len(main.find_all("a", string="Edit")) == 200
    assert f"250 bookmarks left alone: {said}" in main.text


def test_a_filter_has_each_tag_once_in_the_case_of_its_first_mention(app, add):
    add(uri="x:1", tags=["Python"])
    page = app.get("/?tag=python", headers=PAGE, status=200)
    (link,) = page.html.select("ol.list .tags a")
    assert link["href"].count("tag=") == 2
    page = app.get(link["href"], headers=PAGE, status=200)
    assert [chip.bdi.text for chip in page.html.select(".chip")] == ["#python"]
    assert "No bookmark matches" in get_page(app, "/?uri=x:2").text


def test_more_checked_bookmarks_than_a_form_may_have_are_refused(app):
    fields = [("do", "delete"), *[("selected", "a")] * 2_000]
    for count, status in ((1_500, 404), (2_001, 400)):
        multipart = app.encode_multipart(fields[:count], [])
        for type, body in ((FORM, urlencode(fields[:count])), multipart):
            page = app.post("/-/selected", body, PAGE | {"Content-Type": type}, status=status)
    assert "More than 2,000 fields or checked boxes. Send fewer." in page.html.main.text


def test_a_bookmark_is_kept_to_read_later_and_marked_as_read(app):
    form = app.get("/-/add", headers=PAGE, status=200).forms[1]
    form["uri"], form["tags"], form["unread"] = "https://a.example/", "x", True
    form.submit(status=303)
    (bookmark,) = app.get("/", status=200).json
    assert bookmark["tags"] == ["x", "unread"]
    page = app.get("/", headers=PAGE, status=200)
    (link,) = page.html.select(".top a[href='/?tag=unread']")
    assert link.text == "Unread 1"
    (button,) = page.html.select(".list button[formaction^='/-/read/']")
    fields = {"_list": "tag=x", "_shown": page.forms["many"]["_shown"].value}
    response = app.post(button["formaction"], fields, headers=PAGE, status=303)
    assert response.headers["Location"] == f"http://localhost/?tag=x&changed=1#b-{bookmark['id']}"
    assert tags_of(app) == [["x"]]
    page = app.get("/", headers=PAGE, status=200)
    assert "Unread" not in page.html.header.text
    form = page.forms["many"]
    fields = {"selected": bookmark["id"], "_shown": form["_shown"].value, "do": "unread"}
    app.post(form.action, fields, headers=PAGE, status=303)
    assert tags_of(app) == [["x", "unread"]]


def test_the_mark_stays_at_its_place_among_the_tags(app, add):
    form = app.get("/-/add?uri=x:1&tags=a,Unread,b", status=200).forms[1]
    assert form["tags"].value == "a, b" and form["unread"].checked
    form.submit(status=303)
    assert tags_of(app) == [["a", "b", "unread"]]
    old = add("x:2", tags=["Unread", "x"])
    form = app.get(f"/{old['id']}", headers=PAGE, status=200).forms[1]
    assert form["tags"].value == "x" and form["unread"].checked
    form.submit(status=303)
    assert app.get(f"/{old['id']}", status=200).json == old
    form["unread"] = False
    form.submit(status=303)
    assert tags_of(app)[0] == ["x"]


def test_the_list_says_its_order_and_links_to_the_others(app, many):
    page = app.get("/?tag=x&sort=title&limit=3", headers=PAGE, status=200)
    assert page.html.select_one(".sort summary").text == "By title"
    links = [link["href"] for link in page.html.select(".sort a")]
    assert links == [
        "/?tag=x", "/?tag=x&sort=created", "/?tag=x&sort=-modified", "/?tag=x&sort=title"
    ]  # fmt: skip
    assert page.forms["many"]["_list"].value == "tag=x&sort=title&limit=3"
    assert page.html.select_one(".tags a")["href"] == "/?tag=x&sort=title&tag=x"
    (link,) = {a["href"] for a in page.html.select("a[rel=next]")}
    assert "sort=title" in link


def test_a_page_of_fifty_bookmarks_has_at_most_66_kilobytes(app, add):
    for n in range(50):
        add(
            f"https://www.example-{n}.org/2024/05/a-title-in-the-address",
            title=f"A title of the usual length, number {n}",
            tags=["reading", "reference", "web-design", f"topic-{n}"],
            description="A note of a usual length about what is said there, and why it is kept.",
        )
    for query in ("limit=50", "limit=50&tag=reading&q=title&sort=title"):
        page = app.get(f"/?{query}", headers=PAGE, status=200)
        assert 40_000 < len(page.body) <= 66_000


def test_a_page_shows_addresses_that_differ_a_little(app, add):
    same = ["https://a.example/x", "https://a.example/x/", "http://www.a.example/x/?utm_source=y#z"]
    others = ["https://a.example/y", "https://a.example/x?page=2", "mailto:a@b.example"]
    for uri in [*reversed(same), *others]:
        add(uri)
    assert "/-/similar" in get_page(app, "/-/tools").links()
    page = app.get("/-/similar", headers=PAGE, status=200)
    assert_harmless(Page(page.text))
    assert [link.text for link in page.html.select(".list h2 a")] == same
    assert [mark.text for mark in page.html.select(".list mark")] == [
        "/", "http://www.", "/?utm_source=y#z"
    ]  # fmt: skip
    assert page.html.select_one(".total").text == "1 group"


def test_a_form_leads_back_to_the_list_and_to_nothing_else(app, add):
    for query, address in (
        ("", "/"),
        ("tag=a&tag=b+c&q=%C3%A9&limit=2&offset=4", "/?tag=a&tag=b+c&q=%C3%A9&limit=2&offset=4"),
        ("https://evil.example/?tag=x", "/"),
        ("tag=%ff", "/?tag=%EF%BF%BD"),
        ("tag=%0d%0aSet-Cookie:+a=b", "/?tag=%0D%0ASet-Cookie%3A+a%3Db"),
        ("uri=https://evil.example/&title=x&format=csv&tag=x#y", "/?tag=x%23y"),
    ):
        id = add("https://a.example/", tags=["x"])["id"]
        path = f"/{id}?{urlencode({'_list': query})}"
        edit = get_page(app, path)
        assert f"{address}#b-{id}" in edit.links()
        form = open_form(app, path)
        form["title"] = "New"
        response = form.submit(status=303)
        assert response.headers["Location"] == f"http://localhost{address}#b-{id}"
        deleted = Page(delete_with_a_form(app, id, f"?{urlencode({'_list': query})}").text)
        assert address in deleted.links()
        for page in (edit, deleted):
            assert not [link for link in page.links() if "evil" in urlsplit(link).netloc]
            assert_harmless(page)


def test_the_name_of_an_unknown_field_is_escaped_and_ignored_in_forms_of_pages(app):
    values = {"uri": "https://a.example/", "<script>alert(1)</script>": "x"}
    page = Page(app.post("/", values, headers=PAGE, status=422).text)
    assert_harmless(page)
    assert "<script>alert(1)</script>" in page.text
    app.post("/-/add", values, headers=PAGE, status=303)


# --- The rest of the list ---

def test_a_page_of_100_bookmarks_links_to_the_next_and_shows_some_tags(app):
    app.post_json("/-/import", [{"uri": f"https://{n}/", "tags": [f"t{n}"]} for n in range(102)])
    first = app.get("/", headers=PAGE, status=200).html
    assert len(first.select(".list > li")) == 100
    *tags, all_tags = first.select(".cloud a")
    assert len(tags) == 20
    assert (all_tags.text, all_tags["href"]) == ("All 102 tags", "/tags")
    assert "102" in first.main.text
    second = app.get(first.select("[rel=next]")[0]["href"], headers=PAGE, status=200).html
    assert len(second.select(".list > li")) == 2


def test_a_page_of_50_bookmarks_has_at_most_60_kb_and_77_kb_with_a_filter(app):
    usual = {"title": "A bookmark has a title of a usual length"}
    usual["description"] = "A description of a hundred characters or so, as people write them. " * 2
    entries = []
    for n in range(120):
        tags = ["common", *(f"tag number {(4 * n + k) % 1000}" for k in range(4))]
        uri = f"https://www.example-{n}.com/some/path/{n}?a=1&b=2"
        entries.append({"uri": uri, "tags": tags, **usual})
    app.post_json("/-/import", entries, status=200)
    filter = {}
    for name, value, size in (
        ("limit", "50", 60_000),
        ("tag", "common", 64_900),
        ("q", "usual people", 71_800),
        ("sort", "-modified", 76_900),
    ):
        filter[name] = value
        page = app.get("/", filter, headers=PAGE, status=200)
        assert len(page.html.select(".list > li")) == 50
        assert len(page.body) <= size


def test_very_long_texts_are_cut_in_the_list(app, add):
    for n in range(20):
        add(f"data:{n}," + "x" * 60_000, title="t" * 4_000, description="d" * 60_000)
    assert len(app.get("/", headers=PAGE, status=200).body) < 72_000


def test_the_selection_is_linked_as_a_feed_and_as_a_file_of_every_format(app, add):
    add(tags=["a b"])
    page = app.get("/?tag=a+b&q=example", headers=PAGE, status=200).html
    feed = page.find("link", rel="alternate", type="application/atom+xml")["href"]
    assert parse_qs(urlsplit(feed).query) == {"tag": ["a b"], "q": ["example"]}
    assert b"<entry>" in app.get(urljoin("http://localhost/", feed), status=200).body
    (tools,) = [a["href"] for a in page.find_all("a") if "/-/tools?" in a.get("href", "")]
    links = app.get(tools, headers=PAGE, status=200).html.select(".links a[download]")
    names = {}
    for link in links:
        query = parse_qs(urlsplit(link["href"]).query)
        assert query | {"format": ""} == {"tag": ["a b"], "q": ["example"], "format": ""}
        names[query["format"][0]] = link["download"]
    assert names.keys() == formats.LISTS_BY_NAME.keys() - {"html"}
    assert names == {name: f"bookmarks{suffix}" for suffix, name in EXPORT_SUFFIXES.items()}


def test_the_tags_of_the_selection_are_shown_with_their_counts(app, add):
    add("https://1.example/", tags=["a", "B"])
    add("https://2.example/", tags=["a", "b"])
    add("https://3.example/", tags=["a"])
    text = app.get("/", headers=PAGE, status=200).text
    assert re.findall(r"<li><a .*?<bdi>(.*?)</bdi> <span>(\d+)", text) == [("a", "3"), ("B", "2")]
    for query in ("tag=b", "q=%23a+-3.example"):
        text = app.get(f"/?limit=1&{query}", headers=PAGE, status=200).text
        counts = dict(re.findall(r"<li><a .*?<bdi>(.*?)</bdi> <span>(\d+)", text))
        assert counts["a"] == "2"


def test_each_part_of_the_filter_has_a_link_that_removes_it(app, add):
    add(tags=["a", "b"])
    page = app.get("/?tag=a&tag=b&q=x&sort=title", headers=PAGE, status=200).html
    chips = {link.contents[0].text: link["href"] for link in page.select("h1 a")}
    assert chips == {
        "#a": "/?tag=b&q=x&sort=title",
        "#b": "/?tag=a&q=x&sort=title",
        "x": "/?tag=a&tag=b&sort=title",
    }
    assert page.find(id="q")["value"] == "x" and page.h1.q.text == "x"


def test_the_bookmarklet_opens_the_configured_address(client):
    for base in ("https://marks.example/my%20marks", "https://a.example/%22'"):
        app = client(base_url=base)
        page = get_page(app, "/")
        (link,) = [a["href"] for a in page.all("a") if a.get("id") == "bookmarklet"]
        assert link.startswith("javascript:") and not set(link) & set(' "<>{}|\\^`')
        assert json.dumps(base) + "+'/-/add?uri='+" in unquote(link)


@pytest.mark.parametrize("q, marked", [
    ("ZÜRICH -nothing", ["Zürich", "Zürich", "zurich", "zürich"]),
    ("zur zurich", ["Zürich", "Zürich", "zurich", "zürich"]),
    ("strasse", ["STRASSE", "Straße"]),
    ('"b> &"', ["b> &"]),
    ('"fine two"', ["ﬁne\ntwo"]),
    ("fin or fi", ["ﬁn"]),
    ("(#x and strasse)", ["STRASSE", "Straße"]),
    ("not strass or #x", []),
])  # fmt: skip
def test_the_matches_of_a_search_are_marked(app, add, q, marked):
    fields = {"title": "Zürich <b> & STRASSE", "tags": ["zürich", "x"]}
    fields["description"] = "über Zürich: Straße ﬁne\ntwo words"
    add("https://www.zurich.example/", **fields)
    response = app.get("/", {"q": q}, headers=PAGE, status=200)
    assert_harmless(Page(response.text))
    assert [mark.text for mark in response.html.select(".list mark")] == marked
    assert response.html.select_one(".list h2 + p").text == fields["description"]


def test_a_list_cuts_a_description_of_more_than_2000_characters(app, add):
    whole, cut = "x" * 2000, "x" * 2001
    add("x:1", description=whole)
    add("x:2", description=cut)
    page = app.get("/", headers=PAGE, status=200)
    assert [summary.text for summary in page.html.select(".list summary")] == [whole + "…", whole]
    assert page.text.count("Show the whole description") == 1


# --- Forms that could not be saved ---

def test_an_invalid_form_comes_back_with_errors_beside_its_fields(app):
    values = {"uri": "none", "title": "<T>" * 2_000, "tags": "a, b", "description": "1\n\n2"}
    page = app.post("/-/add", values, headers=PAGE, status=422)
    form = editor(page)
    assert form.action == "/-/add"
    assert {name: form[name].value.replace("\r", "") for name in values} == values
    uri = page.html.find("input", {"name": "uri"})
    assert uri["aria-invalid"] == "true" and uri["aria-describedby"] == "uri-error"
    assert page.html.find(id="uri-error") and uri.has_attr("autofocus")
    alert = page.html.find(class_="alert", role="alert").text
    assert " ".join(alert.split()) == "Please correct: Address, Title"
    assert page.text.count("at most 4,096 characters") == 1


def test_a_form_with_the_uri_of_another_bookmark_comes_back_with_its_link(app, add):
    first, second = add("https://1.example/")["id"], add("https://2.example/")["id"]
    form = open_form(app, f"/{second}")
    form["uri"], form["title"] = "https://1.example/", "Typed"
    response = form.submit(headers=PAGE, status=409)
    again = editor(response)
    assert (again.action, again["title"].value) == (f"/-/edit/{second}", "Typed")
    page = Page(response.text)
    assert not WORDS_OF_THE_PROTOCOL.findall(page.text)
    assert f"http://localhost/{first}" in page.links()


def test_deleting_an_old_version_shows_the_current_one(app, add):
    id = add("https://1.example/", title="Old", description="x" * 1000 + "y")["id"]
    form = form_to(app.get(f"/{id}", headers=PAGE), "/-/delete/")
    app.post_json(f"/{id}", {"title": "New"}, status=200)
    response = form.submit(headers=PAGE, status=412)
    assert "New" in Page(response.text).texts
    assert response.html.select("dd")[-1].text == "x" * 1000 + "…"
    (form,) = [form for form in response.forms.values() if "_shown" in form.fields]
    form.action = response.html.select_one(".notice button")["formaction"]
    form.submit(status=200)
    app.get(f"/{id}", status=410)


def test_a_form_of_a_deleted_bookmark_comes_back_to_be_added(app, add):
    id = add("https://1.example/")["id"]
    app.delete(f"/{id}", status=204)
    values = {"uri": "https://1.example/", "title": "Typed", "_version": "x"}
    form = editor(app.post(f"/-/edit/{id}", values, headers=PAGE, status=409))
    assert form.action == "/-/add"
    assert "Save it as a new bookmark" in form.text
    form.submit(status=303)
    assert app.get("/", status=200).json[0]["title"] == "Typed"


# --- Changes of tags that were refused ---

def refused_retagging(app, status, **fields):
    fields = {"tag": "x", "expected": "1", "_list": "tag=x&limit=5", "do": "add", **fields}
    response = app.post("/-/retag", fields, headers=PAGE, status=status)
    page = Page(response.text)
    assert_harmless(page)
    assert "/?tag=x&limit=5" in page.links() and "_list" not in page.text
    return response


def test_a_refused_change_of_tags_keeps_what_was_typed(app, add):
    add(tags=["x"])
    response = refused_retagging(app, 422, tags="seen," + "y" * 300)
    text = " ".join(response.html.main.text.split())
    assert "255 characters long, not 300 This is not done yet." in text
    assert "expected" not in text
    form = response.forms[1]
    assert (form.action, form["tags"].value) == ("/-/retag", "seen, " + "y" * 300)
    assert response.html.select_one("main .primary").text == "Add tags"
    form["tags"] = "seen"
    address = "http://localhost/?tag=x&limit=5&changed=1"
    assert form.submit(status=303).headers["Location"] == address


def test_a_change_of_another_number_of_bookmarks_can_be_confirmed(app, add):
    add("https://1.example/", tags=["x"])
    add("https://2.example/", tags=["x"])
    response = refused_retagging(app, 412, tags="z")
    text = response.html.select_one(".notice").text.strip()
    assert text.startswith("2 bookmarks match now, not 1.")
    assert text.endswith("This is not done yet.")
    assert response.html.select_one("main .primary").text == "Add tags"
    add("https://3.example/", tags=["x"])
    response = response.forms[1].submit(headers=PAGE, status=412)
    assert "3 bookmarks match now, not 2" in response.text
    response.forms[1].submit(status=303)
    assert tags_of(app) == [["x", "z"]] * 3


def test_no_tag_is_renamed_on_another_number_of_bookmarks_than_the_form_named(app, add):
    add("https://1.example/", tags=["x"])
    add("https://2.example/", tags=["y"])
    form = form_to(app.get("/?tag=x", headers=PAGE, status=200), "/-/tags")
    add("https://3.example/", tags=["x"])
    form["tags"] = "z"
    page = form.submit(headers=PAGE, status=200)
    assert "Merge x (2 bookmarks) into z, a new tag?" in page.html.main.text
    page.forms[1].submit(status=303)
    assert tags_of(app) == [["z"], ["y"], ["z"]]


def test_a_tag_is_renamed_only_to_a_new_name_and_deleted_only_by_its_button(app, add):
    add(tags=["x"])
    for fields in ({"tags": "z"}, {"do": "delete"}, {"tag": "", "tags": "y", "do": "rename"}):
        app.post("/-/tags", fields | {"expected": "1"}, headers=PAGE, status="*")
        assert tags_of(app) == [["x"]]
    for fields in ({"tags": " , "}, {"do": "merge"}, {}):
        fields |= {"tag": "x", "expected": "1"}
        page = app.post("/-/tags", fields, headers=PAGE, status=422)
        assert_harmless(Page(page.text))
        assert page.html.find(id="tags-error").text == "Tags are missing: write the new name"
        assert page.html.find(id="tags")["aria-describedby"] == "tags-error"
        assert tags_of(app) == [["x"]]
    form = page.forms[1]
    form["tags"] = "y" * 300
    form = form.submit(headers=PAGE, status=422).forms[1]
    assert form["tags"].value == "y" * 300
    form["tags"] = "z"
    form.submit(headers=PAGE, status=303)
    assert tags_of(app) == [["z"]]
    app.post("/-/tags", {"tag": "z", "do": "delete", "expected": "1"}, headers=PAGE, status=303)
    assert tags_of(app) == [[]]


WORDS_OF_THE_PROTOCOL = re.compile(
    r"\b((?<!,)[345]\d\d|ur[il]s?|http|json|xml|request|header|method|media type|etag|entity|"
    r"precondition|conflict|unprocessable|not found|gone)\b",
    re.IGNORECASE,
)


def test_no_page_has_words_of_the_protocol(app):
    for id in ("one", "2", "deleted"):
        fields = {"uri": f"https://{id}.example/", "title": "", "description": "", "tags": []}
        app.put_json(f"/{id}", fields, status=201)
    app.delete("/deleted", status=204)
    for status, path, body, content_type in (
        (400, "/?limit=x&format=html", None, FORM),
        (404, "/none", None, FORM),
        (405, "/feed", b"title=x", FORM),
        (406, "/feed", None, FORM),
        (410, "/deleted", None, FORM),
        (409, "/-/edit/deleted", b"uri=https://3.example/", FORM),
        (412, "/-/delete/one", b"_shown=old", FORM),
        (409, "/-/add", b"uri=https://2.example/", FORM),
        (413, "/-/add", b"x" * 2_000_000, FORM),
        (415, "/-/add", b"x", "text/markdown"),
        (422, "/-/retag", b"tag=&_list=tag%3Dx&do=add&tags=y", FORM),
        (200, "/-/import", b'[{"uri": "none"}]', JSON),
    ):
        options = {"headers": PAGE | {"Content-Type": content_type}, "status": status}
        response = app.post(path, body, **options) if body else app.get(path, **options)
        assert not WORDS_OF_THE_PROTOCOL.findall(Page(response.text).text), path


def test_a_form_comes_back_after_an_internal_error(app, add, monkeypatch):
    id = add("https://1.example/", tags=["x"])["id"]
    monkeypatch.setattr(app.app.store, "transaction", lambda: 1 / 0)
    values = {"uri": "https://1.example/", "title": "Typed"}
    for address in (f"/-/edit/{id}", "/-/add"):
        form = editor(app.post(address, values, headers=PAGE, status=500))
        assert (form.action, form["title"].value) == (address, "Typed")
    assert refused_retagging(app, 500, tags="typed").forms[1]["tags"].value == "typed"


# The first and the last filter are as long as a filter may be. In the page, each character of the
# last one takes six.
LONG_FILTERS = [
    [("q", f"x or {'字' * 1_363}"), *[("tag", f"{n}{'字' * 1_360}") for n in range(3)]],
    [("q", f"x or {'a' * 250}"), ("sort", "title"), ("tag", "a"), ("tag", "b")],
    [("tag", f"{n}" * 40) for n in range(99)],
    [("q", f"x or {chr(39) * 4_090}"), *[("tag", f"{n}{chr(34) * 4_080}") for n in range(3)]],
]


@pytest.mark.parametrize("shown", [0, 30])
def test_a_page_has_at_most_20_kb_for_each_bookmark_however_long_its_filter_is(app, add, shown):
    tags = [*(f"{n}-{'t' * 20}" for n in range(5)), "a", "b"]
    for number in range(shown + 1):
        add(uri=f"x:{number}", tags=tags)
    for filter in LONG_FILTERS:
        none_shown = app.get("/", [*filter, ("tag", "none")], headers=PAGE, status=200)
        assert len(none_shown.body) < 20_000
        # Without the long tags, the filter matches all bookmarks.
        pairs = [(name, value) for name, value in filter if name != "tag" or len(value) == 1]
        page = app.get("/", [*pairs, ("limit", shown)], headers=PAGE, status=200)
        assert len(page.html.select(".list > li")) == shown
        assert len(page.body) < 20_000 * max(shown, 1)


def test_a_page_whose_filter_is_too_long_for_links_says_so(app, add):
    add(tags=["a"])
    words = "x or " + "a" * 400
    parameters = [("tag", "a"), ("q", words)]
    page = app.get("/", parameters, headers=PAGE, status=200)
    assert page.html.h1.text == f"a · {words}"[:120] + "…"
    assert "The filter is too long" in page.html.main.text
    assert page.html.select_one("#q")["value"] == words
    assert page.html.select_one("#retag, .sort, .pages a") is None
    # No link leads to the wrong list: these lead to all bookmarks.
    for link in page.html.select("#add, .actions a"):
        assert parse_qs(urlsplit(link["href"]).query, keep_blank_values=True) == {"_list": [""]}
    add(uri="x:2", tags=["a"])
    page = app.get("/", {"q": words, "limit": 1, "offset": 5}, headers=PAGE, status=200)
    assert page.html.select_one(".nothing").text.strip() == "No bookmark is left on this page."


def test_links_keep_a_filter_of_usual_length(app, add):
    filter = [("tag", "путешествия"), ("q", '"вокруг света" -black')]
    add(tags=["путешествия", "c++ & <d>"], title="вокруг света")
    page = app.get("/?" + urlencode(filter), headers=PAGE, status=200).html
    expected = [*filter, ("tag", "c++ & <d>")]
    links = [page.select(".tags a")[-1], page.select_one(".cloud a")]
    assert [parse_qsl(urlsplit(link["href"]).query) for link in links] == [expected] * 2
    (edit,) = [link for link in page.select(".actions a") if link.text == "Edit"]
    for link in (edit, page.select_one("#add")):
        assert parse_qs(urlsplit(link["href"]).query) == {"_list": [urlencode(filter)]}
    assert {a["value"] for a in page.select("[name=_list]")} == {urlencode(filter)}
    rest = urlsplit(page.select_one(".chip")["href"]).query
    assert parse_qsl(rest) == filter[1:]


def test_the_query_of_the_list_stands_once_in_a_page_about_many_bookmarks(app, many):
    list_query = "tag=" + "x" * 100_000
    sent = [("selected", bookmark["id"]) for bookmark in many]
    sent += [("_list", list_query), ("_shown", "")]
    for do in ("read", "delete"):
        page = app.post("/-/selected", [*sent, ("do", do)], headers=PAGE, status=412)
        assert page.text.count("Changed since") == 1 and len(page.body) < 3 * len(list_query)
    form = page.html.select_one(".notice form")
    values = {name: form.find(attrs={"name": name})["value"] for name in ("_list", "_shown")}
    address = form.select("button")[1]["formaction"]
    app.post(address, values, headers=PAGE, status=200)
    assert len(app.get("/").json) == len(many) - 1
