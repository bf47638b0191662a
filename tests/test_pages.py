"""The addresses that users type into the forms of the pages, and forms after an error."""

import pytest


@pytest.mark.parametrize(
    "typed, stored",
    [
        ("example.com/x", "https://example.com/x"),
        (" www.example.com ", "https://www.example.com"),
        ("example.com:8080?a=b#c", "https://example.com:8080?a=b#c"),
        ("localhost:3000", "https://localhost:3000"),
        ("LOCALHOST", "https://LOCALHOST"),
        ("192.168.1.5:80/", "https://192.168.1.5:80/"),
        ("[::1]:3000/x", "https://[::1]:3000/x"),
        ("bücher.example/ä", "https://bücher.example/ä"),
        ("http://example.com/", "http://example.com/"),
        ("tel:112", "tel:112"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("data:example.com,x", "data:example.com,x"),
        ("javascript:location='//example.com/'", "javascript:location='//example.com/'"),
    ],
)
def test_an_address_typed_into_a_form_of_the_pages_may_lack_its_scheme(app, typed, stored):
    app.post("/-/add", {"uri": typed}, status=303)
    (bookmark,) = app.get("/", status=200).json
    assert bookmark["uri"] == stored
    app.post("/-/add", {"uri": typed}, status=409)
    page = app.get("/-/add", {"uri": typed}, status=200)
    assert page.forms[1].action == f"/-/edit/{bookmark['id']}"


@pytest.mark.parametrize("uri", ["none", "a@example.com", "two example.com", "."])
def test_other_text_in_a_form_of_the_pages_is_no_address(app, uri):
    assert "Address must be" in app.post("/-/add", {"uri": uri}, status=422).text


def test_a_form_comes_back_with_what_was_typed_if_the_folder_is_missing(app, data):
    (data / "bookmarks").rename(data / "away")
    form = {"uri": "https://a.example/x", "title": "Typed title"}
    page = app.post("/-/add", form, headers={"Accept": "text/html"}, status=503)
    assert page.forms[1]["title"].value == "Typed title"
