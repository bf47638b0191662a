"""GET /tags lists all tags; POST /tags changes the tags of all selected bookmarks."""

import time
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from storage.errors import Busy
from storage.numbers import number_of_id

PAGE = {"Accept": "text/html"}


# --- GET /tags ---

def test_json_has_the_most_used_tags_first(app, add):
    assert app.get("/tags", status=200).json == []
    add("https://1.example/", tags=["b", "Ü x"])
    add("https://2.example/", tags=["ü X", "a"])
    counts = {"Ü x": 2, "a": 1, "b": 1}
    for path in ("/tags", "/tags.json"):
        response = app.get(path, status=200)
        assert response.content_type == "application/json"
        assert response.json == [{"tag": tag, "count": count} for tag, count in counts.items()]
        headers = {"If-None-Match": response.headers["ETag"]}
        app.get(path, headers=headers, status=304)


def test_html_has_the_tags_in_alphabetical_order(app, add):
    add("https://1.example/", tags=["b", "c & d"])
    add("https://2.example/", tags=["b", "A", "Zz"])
    add("https://3.example/")
    page = app.get("/tags", headers=PAGE, status=200)
    links = {link.text: link["href"] for link in page.html.select(".cloud a:not(.rename)")}
    tags = {"A": "A", "b": "b", "c & d": "c+%26+d", "Zz": "Zz"}
    assert list(links.items()) == [(text, f"/?tag={tag}") for text, tag in tags.items()]
    assert "/?q=%21untagged" in [link["href"] for link in page.html.select(".sort a")]
    numbers = [int(number.text) for number in page.html.select(".cloud li > span")]
    assert numbers == [len(app.get(address, status=200).json) for address in links.values()]


def test_a_long_filter_of_many_tags_takes_little_time(app, add):
    for number in range(20):
        add(f"https://{number}.example/", tags=[f"{number}-{n}" for n in range(100)])
    start = time.process_time()
    page = app.get("/tags", {"q": "é" * 20_000}, headers=PAGE, status=200)
    assert time.process_time() - start < 1.5  # Folding the filter for each tag takes 8 seconds.
    assert "No tag matches." in page.text


def test_many_tags_are_pages_with_links_that_keep_the_filter(app):
    names = [f"tag {number:03}" for number in range(600)]
    entries = [{"uri": f"x:{n}", "tags": names[n : n + 100]} for n in range(0, 600, 100)]
    app.post_json("/-/import", entries, status=200)
    page = app.get("/tags?q=tag", headers=PAGE, status=200)
    assert page.html.select_one(".total").text == "600 tags"
    first = [name.text for name in page.html.select(".cloud a > bdi")]
    (link,) = page.html.select("a[rel=next]")
    assert link["href"] == "/tags?q=tag&offset=500"
    page = app.get(link["href"], headers=PAGE, status=200)
    rest = [name.text for name in page.html.select(".cloud li > a:first-of-type > bdi")]
    assert first + rest == names
    (link,) = page.html.select("a[rel=prev]")
    assert link["href"] == "/tags?q=tag&offset=0"
    for offset in ("600", "x", "9" * 50):
        page = app.get(f"/tags?offset={offset}", headers=PAGE, status=200)
        assert page.html.select_one(".cloud bdi").text == "tag 000"


def test_the_format_of_the_tags_is_negotiated(app):
    assert app.get("/tags", status=200).content_type == "application/json"
    assert "No bookmark has a tag yet" in app.get("/tags?format=html", status=200)
    assert app.get("/tags?format=json", headers=PAGE, status=200).content_type == "application/json"
    app.get("/tags?format=csv", status=400)
    app.get("/tags.json", headers=PAGE, status=406)


# --- POST /tags ---

@pytest.fixture
def tags_of(app, add):
    add("x:1", title="One", tags=["a", "b", "c"])
    add("x:2", title="Two", tags=["A", "d"])
    add("x:3", title="Three", tags=["b"])
    add("x:4", title="Four", tags=[])

    def tags_of():
        return {b["uri"][2:]: b["tags"] for b in app.get("/", status=200).json}

    return tags_of


BEFORE = {"1": ["a", "b", "c"], "2": ["A", "d"], "3": ["b"], "4": []}


@pytest.mark.parametrize("body, matched, changed", [
    # add
    ({"tag": ["A"], "add": ["x", "y"]}, 2, {"1": [*"abcxy"], "2": [*"Adxy"]}),
    ({"tag": ["a", "B"], "add": " e "}, 1, {"1": [*"abce"]}),
    ({"tag": "a", "add": ["B", "b"]}, 2, {"2": ["A", "d", "B"]}),
    ({"q": "!untagged", "add": "x"}, 1, {"4": ["x"]}),
    ({"q": "one or two", "tag": ["", "d"], "add": "x"}, 1, {"2": ["A", "d", "x"]}),
    # remove
    ({"q": "#a or #b", "remove": ["b", "d", "x"]}, 3, {"1": ["a", "c"], "2": ["A"], "3": []}),
    ({"tag": "a", "remove": "x"}, 2, {}),
    # rename and merge: a single added tag takes the place of a single removed one
    ({"tag": "a", "remove": "a", "add": "z"}, 2, {"1": ["z", "b", "c"], "2": ["z", "d"]}),
    ({"tag": "b", "remove": "b", "add": "c"}, 2, {"1": ["a", "c"], "3": ["c"]}),
    ({"tag": "a", "remove": "a", "add": "A"}, 2, {"1": ["A", "b", "c"]}),
    ({"q": "#a or #b", "remove": "a", "add": "z"}, 3, {
        "1": ["z", "b", "c"], "2": ["z", "d"], "3": ["b", "z"],
    }),
    # removing comes before adding
    ({"tag": "a", "remove": ["b", "c"], "add": ["c"]}, 2, {"1": ["a", "c"], "2": [*"Adc"]}),
    ({"tag": "b", "remove": "b", "add": ["x", "b"]}, 2, {"1": [*"acxb"], "3": ["x", "b"]}),
    # nothing to do
    ({"tag": "a"}, 2, {}),
    ({"tag": "none", "add": "x"}, 0, {}),
])  # fmt: skip
def test_selected_bookmarks_lose_and_gain_tags(app, tags_of, body, matched, changed):
    versions = {b["uri"][2:]: app.get(f"/{b['id']}").headers["ETag"] for b in app.get("/").json}
    report = app.post_json("/tags", body, status=200).json
    numbers = {"matched": matched, "changed": len(changed), "unchanged": matched - len(changed)}
    assert report == numbers | {"failed": []}
    assert tags_of() == BEFORE | changed
    for bookmark in app.get("/").json:
        etag, name = app.get(f"/{bookmark['id']}").headers["ETag"], bookmark["uri"][2:]
        assert (etag != versions[name]) == (name in changed)
    assert app.post_json("/tags", body, status=200).json["changed"] == 0


def test_a_form_repeats_tags_or_separates_them_with_commas(app, tags_of):
    fields = [("tag", "a"), ("tag", "b"), ("q", "one"), ("remove", "b, c"), ("remove", "a")]
    fields += [("add", "x,y"), ("add", "z"), ("expected", "1")]
    app.post("/tags", fields, content_type="multipart/form-data", status=200)
    assert tags_of() == BEFORE | {"1": ["x", "y", "z"]}
    fields = [("tag", "x"), ("remove", "x"), ("remove", "y,z"), ("add", "a,b"), ("add", "c")]
    app.post("/tags", fields, status=200)
    assert tags_of() == BEFORE


@pytest.mark.parametrize("filter, do, tags, notice", [
    ({"tag": "a"}, "remove", "A", "2 bookmarks changed."),
    ({"q": "!untagged"}, "add", "x", "1 bookmark changed."),
    ({"tag": "a"}, "ask", "never", "0 bookmarks changed."),  # There is nothing to ask.
])  # fmt: skip
def test_a_form_leads_to_a_list_that_says_how_many_changed(app, tags_of, filter, do, tags, notice):
    fields = {"tag": "", **filter, "do": do, "tags": tags, "_list": urlencode(filter)}
    response = app.post("/-/retag", fields, headers=PAGE, status=303)
    location = urlsplit(response.location)
    assert location.path == "/"
    assert dict(parse_qsl(location.query)) == filter | {"changed": notice[0]}
    page = response.follow(headers=PAGE, status=200)
    assert page.html.select_one(".saved").text == notice


def test_the_list_asks_before_it_removes_tags(app, add, tags_of):
    page = app.get("/?tag=a", headers=PAGE, status=200)
    form = next(form for form in page.forms.values() if form.action == "/-/retag")
    form["tags"] = "A, b"
    question = form.submit("do", value="ask", status=200)
    assert "Remove A and b from 2 bookmarks? The bookmarks stay." in question.html.main.text
    assert question.html.select_one("main a")["href"] == "/?tag=a"
    assert tags_of() == BEFORE
    question.forms[1].submit(status=303)
    assert not app.get("/?tag=a", status=200).json


def test_the_list_shows_numbers_only_and_keeps_them_out_of_its_links(app, tags_of):
    for query in ("changed=<b>", "changed=-1", "changed=" + "1" * 5000, ""):
        assert not app.get(f"/?{query}", headers=PAGE, status=200).html.select(".saved")
    page = app.get("/?changed=3&failed=2&tag=a&limit=1", headers=PAGE, status=200)
    notice = page.html.select_one(".saved").text
    assert notice.startswith("3 bookmarks changed. 2 bookmarks could not be changed. Try again")
    assert "changed=" not in page.headers["Link"]
    assert not [link for link in page.html.find_all("a") if "changed=" in link["href"]]


# Bodies for which the member of the name is wrong.
WRONG = {
    "tag": [
        {}, {"tag": ["", " "], "q": "  "}, {"q": '"" \u0301'}, {"tag": ["a", 1]},
        {"tag": ["a"] * 101},
    ],
    "q": [
        {"q": 'one or ""'}, {"q": "(one"}, {"q": "one or"}, {"q": '"one'}, {"q": "!one"},
        {"q": "one " * 101}, {"q": ["one"]},
    ],
    "add": ["x,y", "", ["x", ""], "x" * 256, "x\ny", [str(n) for n in range(101)], None],
    "remove": ["x,y", {"a": "b"}],
    "expected": [-1, 1.5, "two", True, "1" * 5000],
    "tags": [["y"]],
    "limit": [1],
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG)
def test_what_breaks_a_rule_is_422_and_changes_nothing(app, tags_of, field):
    for value in WRONG[field]:
        body = value if field in ("tag", "q") else {"tag": "a", field: value}
        problem = app.post_json("/tags", {"add": "x"} | body, status=422).json
        assert [error["field"] for error in problem["errors"]] == [field]
    assert tags_of() == BEFORE


def test_a_body_or_request_of_another_kind_is_refused(app, tags_of):
    app.post_json("/tags", ["a"], status=422)
    app.post("/tags", "{", content_type="application/json", status=400)
    app.post("/tags", "a", content_type="text/plain", status=415)
    app.post("/tags", {"tag": "a", "q": "one", "expected": ""}, status=422)
    app.post("/tags", [("q", "one"), ("q", "two")], status=422)
    body = {"q": "!x", "add": ["y,z"], "expected": "x", "other": 1}
    problem = app.post_json("/tags", body, status=422).json
    assert [error["field"] for error in problem["errors"]] == ["q", "add", "expected", "other"]
    assert "There is no !x. Use !untagged or !unread." in problem["errors"][0]["reason"]
    app.post_json("/tags", {"tag": "a", "add": "x"}, headers=PAGE, status=406)
    other_site = {"Origin": "https://evil.example"}
    app.post("/tags", {"tag": "a", "add": "x"}, headers=other_site, status=403)
    assert tags_of() == BEFORE


def test_another_number_than_expected_is_412_and_changes_nothing(app, tags_of):
    body = {"tag": "a", "add": "x"}
    for expected in (1, 10**17):
        problem = app.post_json("/tags", body | {"expected": expected}, status=412).json
        numbers = f"2 bookmarks match now, not {expected:,}. "
        assert problem["detail"].startswith(numbers)
    assert tags_of() == BEFORE
    app.post_json("/tags", body | {"expected": "2"}, status=200)


def test_preconditions_are_those_of_the_collection(app, add, tags_of):
    tag = app.get("/tags", status=200).headers["ETag"]
    body = {"q": "-none", "add": "x"}
    for headers in ({"If-Match": '"x"'}, {"If-None-Match": "*"}, {"If-None-Match": tag}):
        app.post_json("/tags", body, headers=headers, status=412)
    date = {"If-Unmodified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}
    for q in ("-none", "none"):
        app.post_json("/tags", body | {"q": q}, headers=date, status=412)
    assert tags_of() == BEFORE
    # The first change makes a new version, but the condition is checked only before it.
    report = app.post_json("/tags", body, headers={"If-Match": tag}, status=200).json
    assert report["changed"] == 4
    app.post_json("/tags", body, headers={"If-Match": tag}, status=412)


def test_a_bookmark_that_would_have_too_many_tags_fails_alone(app, add, tags_of):
    full = add("x:5", tags=["a", *(f"t{n}" for n in range(99))])
    report = app.post_json("/tags", {"tag": "a", "add": "x"}, status=200).json
    assert (report["matched"], report["changed"], report["unchanged"]) == (3, 2, 0)
    (failed,) = report["failed"]
    assert failed == {"id": full["id"], "reason": "tags must not be more than 100, but are 101"}
    form = {"tag": "a", "do": "add", "tags": "x", "_list": "tag=a"}
    response = app.post("/-/retag", form, status=303)
    assert response.location == "http://localhost/?tag=a&changed=0&failed=1"
    page = app.post("/-/tags", {"tag": " ", "tags": "kept"}, headers=PAGE, status=422)
    assert "No tag is checked: go back, and check some" in page.html.main.text
    assert page.forms[1]["tags"].value == "kept"
    response = app.post("/-/tags", {"tag": "none", "tags": "new"}, headers=PAGE, status=303)
    assert response.location == "http://localhost/tags?changed=0"
    question = app.post("/-/tags", {"tag": "a", "tags": "p, q"}, headers=PAGE, status=200)
    response = question.forms[1].submit(status=303)
    assert response.location == "http://localhost/?tag=p&changed=2&failed=1"


@pytest.fixture
def many(app, fail_batch):
    """Tag 450 bookmarks with `a`, and the last one also with `b`. The second batch fails."""
    entries = [{"uri": f"x:{n}", "tags": ["a"]} for n in range(450)]
    entries[-1]["tags"].append("b")
    assert app.post_json("/-/import", entries).json["created"] == 450
    fail_batch(2, Busy("Another writer has held the lock."))


@pytest.mark.parametrize("path, form, changed", [
    ("/-/retag", {"tag": "a", "do": "add", "tags": "new"}, "200 bookmarks changed."),
    ("/-/tags", {"tag": "a", "tags": "new", "expected": "450"}, "200 bookmarks changed."),
    # The last bookmark has both tags, and counts once.
    ("/-/tags", [("tag", "b"), ("tag", "a"), ("tags", "new"), ("expected", "450")],
     "200 bookmarks changed."),
])  # fmt: skip
def test_a_page_says_how_many_were_changed_before_an_error(app, many, path, form, changed):
    page = app.post(path, form, headers=PAGE, status=503).html.main
    assert f"{changed} Another program is changing the bookmarks." in page.text
    assert "This is not done yet." in page.text and page.find("form", action=path)
    assert app.get("/?tag=new&limit=0").headers["X-Total-Count"] == changed.partition(" ")[0]


def test_a_program_reads_how_many_were_changed_before_an_error(app, many):
    error = app.post_json("/tags", {"tag": "a", "add": "new"}, status=503)
    assert error.json["detail"] == "200 bookmarks changed. Another writer has held the lock."
    assert int(error.headers["Retry-After"]) > 0


def test_a_client_of_linkding_reads_how_many_were_changed_before_an_error(app, many):
    error = app.delete(f"/api/tags/{number_of_id('a')}/", status=503).json
    assert error == {"detail": "200 bookmarks changed. Another writer has held the lock."}


def test_the_command_prints_how_many_were_changed_before_an_error(many, data, run):
    output, message = run("tag", "--tag", "a", "--add", "new", data=data, status=1)
    assert output == "450 matched, 200 changed, 0 unchanged, 0 failed\n"
    assert message == "bookmarks: Another writer has held the lock.\n"


def test_the_command_changes_tags_and_exits_1_if_it_fails(run, add, data, tags_of):
    arguments = ("--tag", "a", "--tag", "B", "--q", "one", "--remove", "b", "--remove", "c")
    changed = "1 matched, 1 changed, 0 unchanged, 0 failed\n"
    for status in (["--dry-run"], []):
        printed = run("tag", *arguments, "--add", "x y", "--add", "z", *status, data=data)
        assert printed == (f"would be: {changed}" if status else changed, "")
        assert (tags_of() == BEFORE) == bool(status)
    assert tags_of() == BEFORE | {"1": ["a", "x y", "z"]}
    id = add("x:5", tags=["d", *(f"t{n}" for n in range(99))])["id"]
    output, messages = run("tag", "--tag", "d", "--add", "x", data=data, status=1)
    assert output == "2 matched, 1 changed, 0 unchanged, 1 failed\n"
    assert messages == f"{id}: tags must not be more than 100, but are 101\n"


def test_the_command_refuses_what_breaks_a_rule(run, data, tags_of):
    for arguments, stated in (
        (["--add", "x"], "tag is required, or q, to select the bookmarks to change"),
        (["--q", "!one", "--add", "x"], "q cannot be used: There is no !one."),
        (["--tag", "a", "--add", "x,y"], "add must not contain the character U+002C"),
    ):
        _, message = run("tag", *arguments, data=data, status=1)
        assert message.startswith(f"bookmarks: {stated}")
    _, message = run("tag", "--tag", "a", data="/missing", status=1)
    assert message.startswith("bookmarks: there is no folder /missing/bookmarks.")
    assert tags_of() == BEFORE
