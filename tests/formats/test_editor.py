"""The form that adds and changes a bookmark, without JavaScript."""

import pytest
from test_html import PAGE, editor, open_form

URI = "https://a.example/x"


def submit(form, status=303):
    return form.submit(headers=PAGE, status=status)


def text(response):
    """Return the visible text of the main part of a page."""
    return " ".join(response.html.main.get_text().split())


# --- A bookmark that exists already ---

def test_a_saved_address_opens_its_bookmark_and_says_since_when(app, add):
    fields = {"title": "Mine", "tags": ["one", "Two"], "created": "2024-05-06T07:08:09Z"}
    id = add(URI, **fields)["id"]
    path = "/-/add?uri=HTTPS://A.example/x&title=Theirs&tags=two,three,ONE,four"
    response = app.get(path, headers=PAGE, status=200)
    form = editor(response)
    assert "Saved 6 May 2024." in text(response)
    assert form.action == f"/-/edit/{id}" and form["title"].value == "Mine"
    assert "Use Theirs" in text(response) and not form["_title"].checked
    assert "autofocus" in form["tags"].attrs
    assert form["tags"].value == "one, Two, three, four"
    assert app.get(f"/{id}", status=200).json["tags"] == ["one", "Two"]
    submit(form)
    assert app.get(f"/{id}", status=200).json["tags"] == ["one", "Two", "three", "four"]


@pytest.mark.parametrize("is_accepted", [False, True])
def test_the_title_and_selected_text_of_the_page_can_be_accepted(app, add, is_accepted):
    id = add(URI, title="Saved", description="Saved <b>")["id"]
    query = {"uri": URI, "title": ' "New" <i> ', "description": " Selected\r\n\"text\" <i> "}
    form = editor(app.get("/-/add", query, headers=PAGE, status=200))
    assert form["title"].value == "Saved" and not form["_title"].checked
    assert form["description"].value == "Saved <b>" and not form["_quote"].checked
    form["_title"].checked = form["_quote"].checked = is_accepted
    submit(form)
    bookmark = app.get(f"/{id}", status=200).json
    assert bookmark["title"] == ('"New" <i>' if is_accepted else "Saved")
    quote = '\n\nSelected\n"text" <i>' if is_accepted else ""
    assert bookmark["description"] == f"Saved <b>{quote}"
    form = editor(app.get("/-/add", query | {"title": "Newer"}, headers=PAGE, status=200))
    form["title"], form["_title"].checked = "Typed", True
    submit(form)
    assert app.get(f"/{id}", status=200).json["title"] == "Typed"


def test_a_text_that_the_description_has_is_not_offered(app, add):
    add(URI, description="The whole\ntext")
    for quote in ("", "whole", "whole\r\ntext"):
        query = {"uri": URI, "description": quote}
        response = app.get("/-/add", query, headers=PAGE, status=200)
        assert "_quote" not in editor(response).fields


def test_adding_an_address_that_exists_offers_to_add_the_tags(app, add):
    saved = {"title": "Saved", "description": "Text", "tags": ["a"]}
    id = add(URI, **saved, created="2024-05-06T07:08:09Z")["id"]
    form = open_form(app, "/-/add?uri=")
    form["uri"], form["title"] = "HTTPS://A.example/x", "Typed"
    form["tags"], form["description"] = "b, A", "More"
    response = submit(form, 409)
    assert "Already saved" in text(response)
    assert "Saved 6 May 2024." in text(response)
    again = editor(response)
    assert "Use Typed" in text(response) and again["_title"].checked
    assert again.action == f"/-/edit/{id}"
    assert (again["uri"].value, again["title"].value) == (URI, "Saved")
    assert again["tags"].value == "a, b" and again["_quote"].checked
    assert app.get(f"/{id}", status=200).json["tags"] == ["a"]
    submit(again)
    bookmark = app.get(f"/{id}", status=200).json
    assert (bookmark["title"], bookmark["tags"]) == ("Typed", ["a", "b"])
    assert bookmark["description"] == "Text\n\nMore"


def test_close_is_kept_until_the_form_is_saved(app, add):
    add("https://2.example/")
    form = open_form(app, "/-/add?uri=none&close=1")
    again = editor(submit(form, 422))
    again["uri"] = URI
    response = submit(again)
    (bookmark,) = app.get(f"/?uri={URI}", status=200).json
    assert response.headers["Location"] == f"http://localhost/{bookmark['id']}?close=1"
    response = submit(open_form(app, f"/-/add?uri={URI}&close=1"))
    assert response.headers["Location"].endswith("?close=1")
    response = submit(open_form(app, f"/-/add?uri={URI}"))
    assert response.headers["Location"] == f"http://localhost/{bookmark['id']}"


# --- Conflicts ---

@pytest.fixture
def opened(app, add):
    id = add(URI, title="Title", description="One\nTwo", tags=["a", "b"])["id"]
    return id, open_form(app, f"/{id}")


def change(app, id, **fields):
    app.post_json(f"/{id}", fields, status=200)


def stored(app, id):
    return app.get(f"/{id}", status=200).json


def stored_values(app, id):
    return [stored(app, id)[name] for name in ("title", "tags", "description")]


def test_changes_of_different_fields_are_merged_and_no_changes_change_nothing(app, opened):
    id, form = opened
    change(app, id, title="Theirs", description="Their text")
    before = stored(app, id)
    submit(form)
    assert stored(app, id) == before
    form["tags"] = "a, b, c"
    submit(form)
    assert stored(app, id) | {"modified": ""} == before | {"tags": [*"abc"], "modified": ""}


def test_the_same_change_on_both_sides_is_no_conflict(app, opened):
    id, form = opened
    form["title"], form["tags"] = "Same", "c"
    change(app, id, title="Same", description="Theirs")
    submit(form)
    assert stored_values(app, id) == ["Same", ["c"], "Theirs"]


def test_a_form_can_be_cancelled_unless_its_window_closes_after_saving(app):
    for query, hrefs in (("", ["/"]), ("?_list=tag%3Db", ["/?tag=b"]), ("?close=1", [])):
        page = app.get(f"/-/add{query}", headers=PAGE, status=200).html
        assert [link["href"] for link in page.find_all("a", string="Cancel")] == hrefs


def test_only_fields_changed_on_both_sides_show_two_versions(app, opened):
    id, _ = opened
    form = open_form(app, f"/{id}?_list=tag%3Db&close=1")
    form["title"], form["tags"] = "Mine", "mine"
    change(app, id, title="Theirs", description="Their text")
    response = submit(form, 412)
    assert response.html.find(id="title-theirs").get_text() == "Saved version: Theirs"
    keep = response.html.find("a", string="Keep the saved version")["href"]
    assert keep == f"/{id}?_list=tag%3Db&close=1"  # Where the form was opened.
    assert not response.html.find(id="tags-theirs")
    assert not response.html.find(id="description-theirs")
    again = editor(response)
    values = [again[name].value.strip() for name in ("title", "tags", "description")]
    assert values == ["Mine", "mine", "Their text"]
    assert stored(app, id)["title"] == "Theirs"
    submit(again)
    assert stored_values(app, id) == ["Mine", ["mine"], "Their text"]


def test_a_conflict_form_can_meet_a_second_conflict(app, opened):
    id, form = opened
    form["title"], form["description"] = "Mine", ""
    change(app, id, title="Theirs", description="Theirs")
    again = editor(submit(form, 412))
    change(app, id, title="Theirs again", tags=["c"])
    response = submit(again, 412)
    assert "Saved version: Theirs again" in text(response)
    submit(editor(response))
    assert stored_values(app, id) == ["Mine", ["c"], ""]


@pytest.mark.parametrize("opened_with", ["", "x"])
def test_a_form_without_what_it_was_opened_with_shows_all_differences(app, opened, opened_with):
    id, form = opened
    form["_opened"], form["title"] = opened_with, "Mine"
    change(app, id, tags=[])
    response = submit(form, 412)
    assert "Saved version: Title" in text(response) and "Saved version: nothing" in text(response)
    assert stored(app, id)["title"] == "Title"


def test_long_texts_in_all_scripts_can_be_saved(app, add):
    fields = {"title": "é" * 4096, "description": "字" * 65_536, "tags": ["字" * 255]}
    id = add(URI, **fields)["id"]
    form = open_form(app, f"/{id}")
    form["title"] = "Mine"
    change(app, id, tags=[])
    submit(form)
    assert stored(app, id)["description"] == fields["description"]


def test_the_form_of_a_page_that_back_shows_fails_safely(app):
    form = open_form(app, "/-/add?uri=")
    form["uri"], form["title"] = URI, "Title"
    submit(form)
    (bookmark,) = app.get("/", status=200).json
    form["title"] = "Again"
    response = submit(form, 409)
    assert "Already saved" in text(response)
    assert stored(app, bookmark["id"])["title"] == "Title"


# --- Tags of other bookmarks of the same host ---

def choices(form):
    boxes = form.response.html.select("form.editor input[type=checkbox][name=tags]")
    return [box["value"] for box in boxes]


def test_tags_of_the_same_host_can_be_added(app, add):
    add("https://www.a.example/1", tags=["rare", "Often"])
    add("http://a.example/2?x", tags=["often"])
    add("https://sub.a.example/", tags=["other"])
    add("https://a.example.org/", tags=["other"])
    add("https://x.example/https://a.example/", tags=["other"])
    form = open_form(app, "/-/add?uri=https://A.example/new")
    assert choices(form) == ["Often", "rare"]
    assert "Also used for a.example" in text(form.response)
    form.set("tags", "typed", 0)
    form.set("tags", True, 1)
    submit(form)
    (bookmark,) = app.get("/?uri=https://a.example/new", status=200).json
    assert bookmark["tags"] == ["typed", "Often"]
    form = open_form(app, f"/{bookmark['id']}")
    assert choices(form) == ["rare"]


def test_no_tags_are_suggested_without_other_bookmarks_of_the_host(app, add):
    id = add("https://a.example/", tags=["a"])["id"]
    add("data:,x", tags=["b"])
    other = add("data:,y")["id"]
    for path in (f"/{id}", f"/{other}", "/-/add?uri=", "/-/add?uri=https://new.example/"):
        assert choices(open_form(app, path)) == []


def test_the_page_of_a_bookmark_is_not_cached_when_the_suggestions_change(app, add):
    id = add("https://a.example/1")["id"]
    page = app.get(f"/{id}", headers=PAGE, status=200)
    headers = PAGE | {"If-None-Match": page.headers["ETag"]}
    app.get(f"/{id}", headers=headers, status=304)
    add("https://a.example/2", tags=["new"])
    assert choices(editor(app.get(f"/{id}", headers=headers, status=200))) == ["new"]
    headers = {"If-Match": page.headers["ETag"]}
    app.post_json(f"/{id}", {"title": "x"}, headers=headers, status=200)


def test_the_own_tags_of_a_bookmark_leave_room_for_those_of_others(app, add):
    id = add("https://a.example/1", tags=[f"a{number}" for number in range(50)])["id"]
    add("https://a.example/2", tags=["z"])
    assert choices(open_form(app, f"/{id}")) == ["z"]


def test_at_most_eight_tags_are_suggested_besides_the_own(app, add):
    add("https://a.example/1", tags=[f"t{n}" for n in range(50)])
    own = [f"t{n}" for n in range(5)]
    id = add("https://a.example/2", tags=own)["id"]
    suggested = choices(open_form(app, f"/{id}"))
    assert len(suggested) == 8 and not set(own) & set(suggested)
