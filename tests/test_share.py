"""The share target of the web app manifest opens the form that adds a bookmark."""

import pytest

PAGE = {"Accept": "text/html"}
A = "https://a.example/x"


def shown(page):
    (form,) = [form for form in page.forms.values() if "description" in form.fields]
    return tuple(form[name].value for name in ("uri", "title", "description"))


@pytest.mark.parametrize("shared, expected", [
    ({"title": "T", "text": "Some words", "uri": A}, (A, "T", "Some words")),
    ({"title": "", "text": A, "uri": ""}, (A, "", "")),
    ({"text": f"A title {A}"}, (A, "A title", "")),
    ({"title": "T", "text": f"T: {A}", "uri": A}, (A, "T", "")),
    ({"title": "T", "text": f"Words\n\n{A}"}, (A, "T", "Words")),
    ({"text": f"Line 1\nLine 2\n{A}"}, (A, "", "Line 1\nLine 2")),
    ({"title": "T", "text": f"Read {A}, it is good"}, (A, "T", f"Read {A}, it is good")),
    ({"text": "https://en.example/X_(y)"}, ("https://en.example/X_(y)", "", "")),
    ({"title": "T", "text": f"See <{A}>."}, (A, "T", f"See <{A}>.")),
    ({"title": "T", "text": f"“{A}”."}, (A, "T", f"“{A}”.")),
    ({"text": "HTTP://A.example/É?a=b&c#d"}, ("HTTP://A.example/É?a=b&c#d", "", "")),
    ({"text": f"{A} https://store.example/app"}, (A, "https://store.example/app", "")),
    ({"title": A}, (A, A, "")),
    ({"text": "javascript:alert(1)"}, ("", "javascript:alert(1)", "")),
])  # fmt: skip
def test_what_is_shared_fills_the_form(app, shared, expected):
    assert shown(app.get("/-/add", shared, headers=PAGE, status=200)) == expected


def test_sharing_a_known_page_opens_its_bookmark(app, add):
    add(A, title="Stored", description="Known")
    page = app.get("/-/add", {"title": "Other", "text": A}, headers=PAGE, status=200)
    assert shown(page)[:2] == (A, "Stored")


def test_what_is_shared_before_the_login_comes_after_it(client):
    app = client(token="secret")
    page = app.get("/-/add", {"text": f"Ä title {A}"}, headers=PAGE, status=401)
    page.form["token"] = "secret"
    page = page.form.submit(headers=PAGE, status=303).follow(headers=PAGE, status=200)
    assert shown(page) == (A, "Ä title", "")
