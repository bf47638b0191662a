"""Bookmarks whose addresses differ only a little."""

import pytest

from storage.similar import similar_key

PAGE = {"Accept": "text/html"}
KEY = similar_key("https://a.example/x?id=1")


SIMILAR = [
    "http://a.example/x?id=1", "https://www.a.example/x?id=1", "https://a.example/x?id=1#top",
    "HTTPS://A.example:443/x?id=1", "https://a.example/x?utm_source=b&id=1",
    "https://a.example/x?id=1&utm_medium=b&fbclid=c", "https://a.example/x?id=1&",
]  # fmt: skip
OTHERS = [
    "https://a.example/x", "https://a.example/x?id=2", "https://b.a.example/x?id=1",
    "ftp://a.example/x?id=1", "https://a.example/X?id=1", "https://a.example/x?nutm_a=1&id=1",
]  # fmt: skip


def test_similar_addresses_have_the_same_key():
    assert [uri for uri in SIMILAR + OTHERS if similar_key(uri) == KEY] == SIMILAR


def test_the_command_prints_similar_addresses(app, add, data, run):
    ids = [add(uri)["id"] for uri in ("http://a.example", "https://www.a.example/", "data:,x#")]
    add("data:,x")
    good, *lines = run("check", "--similar", data=data)[0].splitlines()
    assert good == f"{data}: the folder is good"
    assert lines == [
        "similar:", f"  {ids[0]} http://a.example", f"  {ids[1]} https://www.a.example/"
    ]  # fmt: skip


# --- The page ---

def keep(app, kept):
    page = app.get("/-/similar", headers=PAGE, status=200)
    button = page.html.find("button", formaction=f"/-/keep/{kept}")
    shown = page.forms["many"]["_shown"].value
    return button["formaction"], {"_shown": shown, "others": button["value"]}


def test_one_of_a_group_is_kept_with_the_tags_of_the_others(app, add):
    first = add("http://a.example/", tags=["x", "y"])["id"]
    kept = add("https://a.example/", tags=["y"])["id"]
    third = add("https://www.a.example/", tags=["Z"])["id"]
    (heading,) = app.get("/-/similar", headers=PAGE, status=200).html.select(".list .hint")
    assert heading.text == "3 bookmarks for a.example"
    page = app.get("/-/similar", headers=PAGE)
    assert page.text.count(">Keep this one<") == 3
    suggested = [item["id"] for item in page.html.select(".list li") if "Suggested" in item.text]
    assert suggested == [f"b-{kept}"]  # The shortest address with https.
    marks = [[mark.text for mark in item.select("mark")] for item in page.html.select(".list li")]
    assert marks == [[], ["https://www."], ["http://"]]
    page = app.post(*keep(app, kept), headers=PAGE, status=200)
    assert "2 bookmarks deleted" in page.text
    (left,) = app.get("/").json
    assert (left["id"], left["tags"]) == (kept, ["y", "x", "Z"])
    for id in (first, third):
        app.get(f"/{id}", status=410)
    assert "differ only a little" in app.get("/-/similar", headers=PAGE, status=200).text


def test_nothing_is_deleted_if_one_of_a_group_has_changed(app, add):
    first = add("http://a.example/")["id"]
    kept = add("https://a.example/", tags=["x"])["id"]
    form = keep(app, kept)
    app.post_json(f"/{first}", {"title": "Newer"})
    page = app.post(*form, headers=PAGE, status=412)
    assert "Newer" in page.text
    assert len(app.get("/").json) == 2


def test_only_what_differs_in_a_group_is_marked(app, add):
    add("https://a.example/x")
    add("https://a.example/x/")
    add("HTTPS://A.example:443/x?utm_source=y")
    add("https://B.example/x")  # It is suggested, but spells the host differently.
    add("https://b.example/x/")
    page = app.get("/-/similar", headers=PAGE, status=200).html
    assert [mark.text for mark in page.select(".list mark")] == ["/"]


@pytest.mark.parametrize("uris", [("http://#a", "https://#b"), ("http:///", "https:///")])
def test_addresses_of_which_nothing_is_left_to_compare_are_shown(app, add, uris):
    for uri in uris:
        add(uri)
    page = app.get("/-/similar", headers=PAGE, status=200).html
    assert {link.text for link in page.select(".list h2")} == set(uris)


@pytest.mark.parametrize("others", ["", "KEPT", " ".join(f"a{n}" for n in range(60))])
def test_a_form_without_others_or_with_too_many_deletes_nothing(app, add, others):
    kept = add("https://a.example/")["id"]
    form = {"_shown": "", "others": others.replace("KEPT", kept)}
    app.post(f"/-/keep/{kept}", form, headers=PAGE, status=400)
    app.post(f"/-/keep/{kept}", {"_shown": "x", "others": "gone"}, headers=PAGE, status=404)
    assert len(app.get("/").json) == 1


def test_the_tools_do_not_look_for_similar_addresses(app, add, monkeypatch):
    add("http://a.example/")
    monkeypatch.setattr("storage.similar.similar_key", lambda uri: 1 / 0)
    app.get("/-/tools", headers=PAGE, status=200)
