"""The addresses that users type into the forms of the pages, and forms after an error."""

import pytest


@pytest.mark.parametrize("typed, stored", [
    (" www.example.com ", "https://www.example.com"),
    ("example.com:8080?a=b#c", "https://example.com:8080?a=b#c"),
    ("LOCALHOST:3000", "https://LOCALHOST:3000"),
    ("192.168.1.5:80/", "https://192.168.1.5:80/"),
    ("[::1]:3000/x", "https://[::1]:3000/x"),
    ("bücher.example/ä", "https://bücher.example/ä"),
    ("tel:112", "tel:112"),
    ("mailto:a@example.com", "mailto:a@example.com"),
    ("data:example.com,x", "data:example.com,x"),
    ("javascript:location='//example.com/'", "javascript:location='//example.com/'"),
])  # fmt: skip
def test_an_address_typed_into_a_form_of_the_pages_may_lack_its_scheme(app, typed, stored):
    app.post("/-/add", {"uri": typed}, status=303)
    (bookmark,) = app.get("/", status=200).json
    assert bookmark["uri"] == stored
    app.post("/-/add", {"uri": typed}, status=409)
    page = app.get("/-/add", {"uri": typed}, status=200)
    assert page.forms[1].action == f"/-/edit/{bookmark['id']}"


def test_other_text_in_a_form_of_the_pages_is_no_address(app):
    for uri in ("none", "a@example.com", "two example.com", "."):
        assert "Address must be" in app.post("/-/add", {"uri": uri}, status=422).text


def test_a_form_comes_back_with_what_was_typed_if_the_folder_is_missing(app, data):
    (data / "bookmarks").rename(data / "away")
    form = {"uri": "https://a.example/x", "title": "Typed title"}
    page = app.post("/-/add", form, headers={"Accept": "text/html"}, status=503)
    assert page.forms[1]["title"].value == "Typed title"


# --- Texts and forms for people ---

PAGE = {"Accept": "text/html"}


def test_a_page_names_long_and_many_tags_and_a_large_body_in_the_words_of_people(app):
    page = app.post("/-/add", {"uri": "x:y", "tags": "x" * 300}, headers=PAGE, status=422).text
    assert "at most 255 characters long, not 300</" in page and "at index" not in page
    form = {"uri": "x:y", "tags": ",".join(map(str, range(100))), "unread": "1"}
    page = app.post("/-/add", form, headers=PAGE, status=422).text
    assert "Tags must not be more than 100 including Read later, but are 101" in page
    page = app.post("/-/add", {"uri": "x:" + "y" * 2**20}, headers=PAGE, status=413).text
    assert "does not accept this much" in page and "bytes" not in page


def test_a_page_says_a_full_address_where_programs_read_of_an_absolute_one(app):
    page = app.post("/-/add", {"uri": "x y"}, headers=PAGE, status=422)
    text = "Address must be a full address, such as https://example.com/"
    assert page.html.find(id="uri-error").text == text
    assert "must be an absolute address" in app.post_json("/", {"uri": "x y"}, status=422).text


@pytest.mark.parametrize("query", ["limit=x", "limit=5&offset=-1", "sort=x", "format=x"])
def test_a_wrong_parameter_is_an_error_that_leads_back_to_the_list(app, query):
    page = app.get(f"/?{query}", headers=PAGE, status=400).html
    text = "Something in the address of this page is wrong."
    assert page.main.p.text == text
    assert page.main.a["href"] == "/"
    name = query.split("&")[-1].partition("=")[0]
    assert f"{name} must be" in app.get(f"/?{query}", status=400).json["detail"]


@pytest.mark.parametrize("path, do, label", [
    ("/-/delete/a", "", "Delete"),
    ("/-/read/a", "", "Mark as read"),
    ("/-/restore", "", "Put back"),
    ("/-/trash", "", "Delete for good"),
    ("/-/keep/a", "", "Keep this one"),
    ("/-/selected", "add", "Add tags"),
    ("/-/retag", "ask", "Remove tags"),
    ("/-/tags", "rename", "Rename"),
])  # fmt: skip
def test_a_refused_form_is_sent_again_by_a_button_named_as_its_action(app, data, path, do, label):
    (data / "bookmarks").rename(data / "away")
    fields = {"selected": "a", "others": "b", "tag": "x", "tags": "y"}
    if do:
        fields["do"] = do
    page = app.post(path, fields, headers=PAGE, status=503).html
    assert "This is not done yet." in page.main.text
    assert page.select_one("main .primary").text == label


def test_nothing_is_left_to_do_where_there_is_no_bookmark(app):
    page = app.post("/-/delete/none", {"_shown": ""}, headers=PAGE, status=404).html
    assert "not done yet" not in page.main.text and not page.select("main button")


def test_the_page_of_a_refused_request_does_not_show_how_many_are_unread(app, add):
    add("x:1", tags=["unread"])
    for path, status, unread in (("/none", 404, ["Unread 1"]), ("/?limit=x", 400, [])):
        page = app.get(path, headers=PAGE, status=status).html
        assert [link.text for link in page.nav.find_all("a")] == [*unread, "Tags", "Tools"]


def test_the_page_of_a_new_bookmark_is_marked_as_the_current_one(app):
    for path, current in (("/-/add", "Add"), ("/tags", "Tags"), ("/-/tools", "Tools")):
        page = app.get(path, headers=PAGE, status=200).html
        assert page.header.find(attrs={"aria-current": "page"}).text == current


@pytest.mark.parametrize("method, path, fields", [
    ("GET", "/", {}), ("GET", "/tags", {}), ("GET", "/-/add", {}), ("GET", "/-/tools", {}),
    ("GET", "/-/trash", {}), ("GET", "/-/similar", {}), ("GET", "/-/login", {}),
    ("POST", "/-/add", {"uri": "no address"}), ("POST", "/-/restore", {"selected": "missing"}),
    ("POST", "/-/selected", {"do": "read"}), ("POST", "/-/retag", {"tag": "x", "do": "add"}),
])  # fmt: skip
def test_every_page_counts_what_another_process_has_just_added(client, method, path, fields):
    app = client(token="a-token-of-this-test")
    other = client(token="a-token-of-this-test")
    program = {"Authorization": "Bearer a-token-of-this-test"}
    own_page = {**PAGE, "Sec-Fetch-Site": "same-origin"}
    app.post("/-/login", {"token": "a-token-of-this-test"}, headers=own_page, status=303)
    for count in (1, 2):  # The first page is also the first that needs the bookmarks.
        unread = {"uri": f"x:{count}", "tags": ["unread"]}
        other.post_json("/", unread, headers=program, status=201)
        if method == "GET":
            page = app.get(path, headers=own_page)
        else:
            page = app.post(path, fields, headers=own_page, status="*")
        assert f"Unread {count}" in page.html.header.text


def test_the_title_of_a_page_names_the_page_and_then_the_service(app, add):
    id = add("x:1", title="One")["id"]
    for path, title in (
        ("/", "All bookmarks"), (f"/{id}", "One"), ("/?tag=x", "x"), ("/tags", "Tags"),
        ("/-/add", "Add a bookmark"), ("/-/tools", "Tools"), ("/-/trash", "Recently deleted"),
        ("/-/similar", "Similar addresses"), ("/none", "There is nothing here"),
    ):  # fmt: skip
        page = app.get(path, headers=PAGE, status="*")
        assert page.html.title.text == f"{title} – Bookmarks"


def test_bookmarks_of_one_second_keep_their_order_when_they_are_put_back(app, add):
    for n in range(5):
        add(f"x:{n}", created="2026-01-01T00:00:00Z")
    before = [bookmark["uri"] for bookmark in app.get("/").json]
    form = app.get("/", headers=PAGE).forms["many"]
    boxes = [("selected", bookmark["id"]) for bookmark in app.get("/").json[:4]]
    fields = form.submit_fields("do", submit_value="delete")
    page = app.post("/-/selected", [*fields, *boxes], status=200)
    (restore,) = [f for f in page.forms.values() if f.action == "/-/restore"]
    response = restore.submit(status=303)
    assert [bookmark["uri"] for bookmark in app.get("/").json] == before
    assert response.location.endswith("#b-" + app.get("/").json[0]["id"])


def test_the_search_form_keeps_the_order_and_the_tags(app):
    page = app.get("/?sort=title&tag=x&q=y", headers=PAGE, status=200)
    fields = page.forms[0].submit_fields()
    assert fields == [("tag", "x"), ("sort", "title"), ("q", "y")]


def test_the_mark_of_unread_bookmarks_is_no_suggested_tag(app, add):
    add("https://a.example/1", tags=["unread", "x"])
    page = app.get("/-/add?uri=https://a.example/2", headers=PAGE, status=200)
    boxes = page.html.select("fieldset [name=tags]")
    assert [box["value"] for box in boxes] == ["x"]
