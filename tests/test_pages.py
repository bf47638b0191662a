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


def test_a_page_names_a_long_tag_and_a_large_body_in_the_words_of_people(app):
    page = app.post("/-/add", {"uri": "x:y", "tags": "x" * 300}, headers=PAGE, status=422).text
    assert "at most 255 characters long, not 300</" in page and "at index" not in page
    page = app.post("/-/add", {"uri": "x:" + "y" * 2**20}, headers=PAGE, status=413).text
    assert "does not accept this much" in page and "bytes" not in page


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
