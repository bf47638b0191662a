"""linkding's API: shapes, statuses, marks, tags and numbers, as linkding's clients expect them."""

import base64
import errno
import os
from urllib.parse import quote

import pytest

from formats.http import linkding
from formats.http.linkding_shapes import LINKDING_VERSION, TAG_BY_FLAG
from storage.numbers import number_of_id
from tests.conftest import URI, documentation, write_file

MEMBERS = {
    "id", "url", "title", "description", "notes", "web_archive_snapshot_url", "favicon_url",
    "preview_image_url", "is_archived", "unread", "shared", "tag_names", "date_added",
    "date_modified", "website_title", "website_description",
}


@pytest.fixture
def post(app):
    def post(url=URI, **members):
        return app.post_json("/api/bookmarks/", {"url": url, **members}, status=201).json

    return post


def results(app, path="/api/bookmarks/", **parameters):
    return [bookmark["url"] for bookmark in app.get(path, parameters).json["results"]]


def stored(app, id=""):
    """Return the bookmark, or the only one, as this service shows it."""
    return app.get(f"/{id}", headers={"Accept": "application/json"}).json


# --- One bookmark ---

def test_a_bookmark_has_linkdings_members(app, post):
    made = post(title="T", description="D", tag_names=["a", "b c"], unread=True)
    assert made.keys() == MEMBERS
    (own,) = stored(app)
    assert made["id"] == number_of_id(own["id"])
    assert (made["title"], made["description"], made["notes"]) == ("T", "D", "")
    assert made["tag_names"] == ["a", "b\xa0c"]
    assert (made["unread"], made["is_archived"], made["shared"]) == (True, False, False)
    assert made["date_added"] == own["created"].replace("Z", ".000000Z")
    assert made["date_modified"] == own["modified"].replace("Z", ".000000Z")
    moment = made["date_added"][:19].translate({ord(sign): None for sign in "-T:"})
    assert made["web_archive_snapshot_url"] == f"https://web.archive.org/web/{moment}/{URI}"
    not_fetched = ("favicon_url", "preview_image_url", "website_title", "website_description")
    assert {made[member] for member in not_fetched} == {None}
    assert own["tags"] == ["a", "b c", "unread"]
    assert app.get(f"/api/bookmarks/{made['id']}/").json == made


def test_dates_may_be_given_once(app, post):
    assert post("x:y", disable_scraping=True, unknown=[1])["title"] == "x:y"  # Not documented.
    added = "2020-09-26T09:46:23.006313Z"
    before = post(date_added=added, date_modified="2021-01-02T03:04:05+01:00")
    assert before["date_added"] == "2020-09-26T09:46:23.000000Z"
    assert before["date_modified"] == "2021-01-02T02:04:05.000000Z"
    later = "2022-01-01T00:00:00Z"
    assert post(date_added=later, date_modified=later) == before
    sent = before | {"date_added": "x", "date_modified": later}
    assert app.put_json(f"/api/bookmarks/{before['id']}/", sent).json == before


def test_posting_a_stored_url_again_keeps_what_is_not_sent_and_adds_tags_and_marks(app, post):
    before = post(title="T", description="D", tag_names=["a", "b"], unread=True, is_archived=True)
    empty = {"title": "", "description": "", "tag_names": [], "is_archived": False}
    for sent in ({}, empty, {"notes": "", "title": ""}, {"title": None, "unread": None}):
        assert post(**sent) == before
    made = post(tag_names=["b", "c"], unread=False, shared=True)
    assert made["tag_names"] == ["a", "b", "c"]
    assert (made["unread"], made["shared"]) == (True, True)
    for names in (["c"], []):  # An edit form, which sends notes, replaces them.
        made = post(tag_names=names, notes="", unread=False, shared=True)
        assert made["tag_names"] == names
        assert (made["unread"], made["shared"]) == (False, True)


NOTES = '{"order": ["a"],\n\n "b": 1}'


def test_notes_are_stored_below_a_line_of_the_description(app, post):
    made = post(description="D\r\nE", notes="N\r\nM")
    assert (made["description"], made["notes"]) == ("D\nE", "N\nM")
    assert stored(app)[0]["description"] == "D\nE\n\nNotes:\nN\nM"
    again = post(description="", notes="")
    assert (again["description"], again["notes"]) == ("D\nE", "N\nM")
    changed = post(notes="N")
    assert (changed["description"], changed["notes"]) == ("D\nE", "N")
    assert post("https://other.example/", notes="N")["description"] == ""
    assert stored(app)[0]["description"] == "Notes:\nN"


def test_notes_and_description_are_replaced_without_each_other(app, post):
    path = f"/api/bookmarks/{post(description='D')['id']}/"
    for members, expected in (
        ({"notes": NOTES}, ("D", NOTES)),
        ({"description": "E"}, ("E", NOTES)),
        ({"title": "T"}, ("E", NOTES)),
        ({"description": ""}, ("", NOTES)),
        ({"description": "F", "notes": "M"}, ("F", "M")),
        ({"description": "F\nNotes:\nG"}, ("F\nNotes: \nG", "M")),
        ({"notes": ""}, ("F\nNotes: \nG", "")),
    ):
        changed = app.patch_json(path, members).json
        assert app.get(path).json == changed == app.patch_json(path, members).json
        assert (changed["description"], changed["notes"]) == expected


def test_notes_of_a_file_and_of_a_description_are_notes(app, add):
    others = 'ADD_DATE="1" LAST_MODIFIED="2" PRIVATE="1" TOREAD="0" TAGS="a"'
    entry = f'<DT><A HREF="{URI}" {others}>T</A>\n<DD>D[linkding-notes]N[/linkding-notes]'
    file = f"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n{entry}\n</DL><p>"
    app.post("/-/import", file, content_type="text/html")
    (made,) = app.get("/api/bookmarks/").json["results"]
    assert (made["description"], made["notes"]) == ("D", "N")
    text = "My Notes: a\nNotes: b\n\nNotes:\nc\nNotes:\nd"
    add("x:y", description=text)
    (made,) = app.get("/api/bookmarks/?q=x:y").json["results"]
    assert made["description"] == "My Notes: a\nNotes: b"
    assert made["notes"] == "c\nNotes:\nd"
    app.patch_json(f"/api/bookmarks/{made['id']}/", {"notes": made["notes"]})
    assert app.get("/?uri=x:y").json[0]["description"] == text


def test_a_comma_separates_tags_and_a_no_break_space_stands_for_a_space(app, add, post):
    made = post(tag_names=["a, b", "c", "B,,"])
    assert made["tag_names"] == ["a", "b", "c"]
    path = f"/api/bookmarks/{made['id']}/"
    assert app.patch_json(path, {"tag_names": ["x,y z"]}).json["tag_names"] == ["x", "y\xa0z"]
    id = add("x:y", tags=["b\xa0c"])["id"]
    made = post("x:y", title="T")
    assert (made["tag_names"], stored(app, id)["tags"]) == (["b\xa0c"], ["b\xa0c"])
    app.patch_json(f"/api/bookmarks/{made['id']}/", {"tag_names": made["tag_names"]})
    assert stored(app, id)["tags"] == ["b c"]


def test_marks_take_what_the_django_rest_framework_reads_as_a_boolean(app, post):
    path = f"/api/bookmarks/{post()['id']}/"
    values = [("TRUE", "off"), ("On", "No"), ("t", "F"), ("y", 0), (1, "0"), ("1", "")]
    for is_set, each in ((True, 0), (False, 1)):
        for value in (pair[each] for pair in values):
            app.patch_json(path, {"unread": not is_set})
            assert app.patch_json(path, {"unread": value}).json["unread"] == is_set


@pytest.mark.parametrize("method", ["put_json", "patch_json"])
def test_an_update_sets_what_is_sent_and_keeps_the_rest(app, post, data, method):
    made = post(title="T", description="D", tag_names=["a"], unread=True)
    # A path may lack its last slash.
    send, path = getattr(app, method), f"/api/bookmarks/{made['id']}"
    changed = send(path, {"url": URI, "title": "U", "tag_names": ["b c"]}).json
    assert (changed["title"], changed["description"]) == ("U", "D")
    assert (changed["tag_names"], changed["unread"]) == (["b\xa0c"], True)
    marked = send(path, {"url": URI, "shared": True, "unread": False}).json
    assert (marked["shared"], marked["unread"]) == (True, False)
    assert stored(app)[0]["tags"] == ["b c", "shared"]
    (file,) = (data / "bookmarks").glob("*.json")
    app.put_json(f"/{file.stem}/tags", ["shared", "b c"], status=200)
    before = file.stat().st_ino
    assert send(path, {"url": URI, "tag_names": ["b\xa0c"], "shared": True}).json == marked
    assert file.stat().st_ino == before
    for names in (["d", "e"], ["e", "d"]):
        send(path, {"url": URI, "tag_names": names})
        assert stored(app)[0]["tags"] == [*names, "shared"]


def test_put_needs_a_url_that_no_other_bookmark_has(app, post):
    post("https://other.example/")
    path = f"/api/bookmarks/{post()['id']}/"
    assert app.put_json(path, {"title": "T"}, status=400).json.keys() == {"url"}
    for method in (app.patch_json, app.put_json):
        error = method(path, {"url": "https://OTHER.example"}, status=400).json
        assert error == {"url": ["A bookmark with this URL already exists."]}


def test_archiving_hides_a_bookmark_from_the_list(app, post):
    path = f"/api/bookmarks/{post(tag_names=['a'])['id']}/"
    for _ in range(2):
        app.post(f"{path}archive/", status=204)
        assert results(app) == []
        assert results(app, "/api/bookmarks/archived/") == [URI]
    assert results(app, "/api/bookmarks/archived/", q="nothing") == []
    assert results(app, "/api/bookmarks/archived/", unread="yes") == []
    archived = app.get(path).json
    assert (archived["is_archived"], archived["tag_names"]) == (True, ["a"])
    app.post(f"{path}unarchive/", status=204)
    assert results(app) == [URI]
    assert results(app, "/api/bookmarks/archived/") == []


@pytest.fixture
def delete_during_write(app, before_transaction):
    def delete_during_write(path):
        before_transaction(app.app.store, lambda: app.delete(path, status=204))

    return delete_during_write


def test_a_deleted_bookmark_is_404_and_created_anew(app, post, delete_during_write):
    path = f"/api/bookmarks/{post()['id']}/"
    delete_during_write(path)  # It is deleted during the update.
    app.patch_json(path, {"title": "B"}, status=404)
    for method in (app.get, app.delete):
        assert method(path, status=404).json.keys() == {"detail"}
    app.put_json(path, {"url": URI}, status=404)
    app.post(f"{path}archive/", status=404)
    again = f"/api/bookmarks/{post()['id']}/"
    delete_during_write(again)
    new = f"/api/bookmarks/{post(title='B')['id']}/"
    assert len({path, again, new}) == 3
    assert [bookmark["title"] for bookmark in stored(app)] == ["B"]
    assert app.delete(new, status=204).body == b""


@pytest.mark.parametrize("method", ["post", "put", "patch"])
@pytest.mark.parametrize("media_type", [None, "multipart/form-data"])
def test_forms_are_read_with_tags_repeated_or_joined_by_commas(app, post, method, media_type):
    path = "/api/bookmarks/" + ("" if method == "post" else f"{post()['id']}/")
    fields = [("url", URI), ("unread", "true"), ("shared", "false"), ("title", "T")]
    for names in (["a,b"], ["a", "b"]):
        sent = [*fields, *(("tag_names", name) for name in names)]
        made = getattr(app, method)(path, sent, content_type=media_type).json
        assert (made["tag_names"], made["title"]) == (["a", "b"], "T")
        assert (made["unread"], made["shared"], made["is_archived"]) == (True, False, False)


def test_a_number_is_a_positive_integer_of_31_bits_that_never_changes(monkeypatch):
    numbers = [number_of_id(f"id-{n}") for n in range(10_000)]
    assert all(0 < number < 2**31 for number in numbers)
    assert len(set(numbers)) > 9_990
    assert number_of_id("0s9yex328jt74") == 475727080
    monkeypatch.setattr("zlib.crc32", lambda data: 2**31)  # The lower 31 bits are 0.
    assert number_of_id("any") == 1


SAME = ("id-3985819", "id-4420602")  # These have the same number.


@pytest.fixture
def same_path(app):
    """Store two bookmarks that have the same number; return its path."""
    for id in SAME:
        fields = {"uri": f"https://{id}/", "title": "", "description": "", "tags": []}
        app.put_json(f"/{id}", fields, status=201)
    return f"/api/bookmarks/{number_of_id(SAME[0])}/"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_number_that_two_ids_share_is_404_for_every_method(app, same_path, data, is_deleted):
    if is_deleted:
        app.delete(f"/{SAME[0]}", status=204)
    for method in (app.get, app.delete):
        error = method(same_path, status=404)
        # The ids of private bookmarks must not be named to visitors.
        assert not any(id in error.json["detail"] for id in SAME)
    app.patch_json(same_path, {"url": URI}, status=404)
    app.post(f"{same_path}archive/", status=404)
    assert len(stored(app)) == 2 - is_deleted
    if not is_deleted:  # A removed file frees its number.
        (data / "bookmarks" / f"{SAME[0]}.json").unlink()
        assert app.get(same_path).json["url"] == f"https://{SAME[1]}/"


# --- Lists ---

def test_a_list_is_paged_with_absolute_links(app, post):
    for number in range(5):
        post(f"https://{number}.example/")
    page = app.get("/api/bookmarks/?limit=2&offset=2&q=example").json
    assert page["count"] == 5
    assert len(page["results"]) == 2
    address = "http://localhost/api/bookmarks/?q=example&limit=2&offset="
    links = (page["next"], page["previous"])
    assert [link.replace(":80", "") for link in links] == [f"{address}4", f"{address}0"]
    assert len(app.get(page["next"]).json["results"]) == 1
    assert app.get(page["next"]).json["next"] is None
    assert app.get("/api/bookmarks/?limit=2&offset=3").json["next"] is None
    assert app.get("/api/bookmarks/?limit=5").json["previous"] is None


def test_a_range_that_is_too_large_or_negative_is_no_failure(app):
    app.post_json("/-/import", [{"uri": f"x:{n}", "tags": [f"t{n}"]} for n in range(101)])
    assert len(results(app, offset="100")) == 1
    huge = str(10**18 - 1)
    for path in ("/api/bookmarks/", "/api/bookmarks/archived/", "/api/tags/"):
        page = app.get(path, {"offset": huge, "limit": huge}, status=200).json
        assert (page["results"], page["next"]) == ([], None)
        whole = app.get(path, status=200).json
        assert len(whole["results"]) == min(whole["count"], 100)
        for name in ("limit", "offset"):
            for value in ("", "0", "-1", "x", str(10**18), "9" * 5_000):
                assert app.get(path, {name: value}, status=200).json == whole


def test_a_list_is_searched_with_linkdings_grammar(app, post):
    post("https://a.example/", tag_names=["two words"])
    post("https://b.example/", tag_names=["two"], unread=True)
    post("https://c.example/", unread=True)
    assert results(app, q="#two\xa0words") == ["https://a.example/"]
    assert results(app, q="!untagged") == ["https://c.example/"]
    assert app.get("/", {"q": "!untagged"}).json == []  # There, the flag is a tag.
    assert results(app, q="-!untagged #two") == ["https://b.example/"]
    assert results(app, q="!unread -!untagged") == ["https://b.example/"]


def test_a_list_is_limited_to_unread_or_shared_bookmarks_or_to_others(app, post):
    post("https://a.example/", unread=True)
    post("https://b.example/", shared=True)
    post("https://c.example/", unread=True, shared=True)
    made = post("https://d.example/", unread=True)
    app.post(f"/api/bookmarks/{made['id']}/archive/", status=204)
    a, b, c, d = (f"https://{host}.example/" for host in "abcd")
    assert results(app, unread="yes") == [c, a]
    assert results(app, unread="no") == [b]
    assert results(app, shared="no") == [a]
    assert results(app, unread="yes", shared="yes") == [c]
    assert results(app, unread="off", shared="x") == [c, b, a]
    assert results(app, "/api/bookmarks/archived/", unread="yes") == [d]
    assert results(app, "/api/bookmarks/archived/", unread="no") == []


def test_a_list_is_sorted(app, data):
    for id, created, modified in (("b", 1, 3), ("c", 2, 2), ("a", 3, 1)):
        fields = {"uri": f"https://{id}.example/", "title": id.upper()}
        fields["created"] = f"2020-01-0{created}T00:00:00Z"
        fields["modified"] = f"2021-01-0{modified}T00:00:00Z"
        write_file(data, "bookmarks", id, **fields)
    for name, order in (("added", "bca"), ("modified", "acb"), ("title", "abc")):
        for sort, ids in ((f"{name}_asc", order), (f"{name}_desc", order[::-1])):
            assert results(app, sort=sort) == [f"https://{id}.example/" for id in ids]
    for sort in ("", "other"):
        assert results(app, sort=sort) == results(app, sort="added_desc")


def test_a_list_is_limited_to_bookmarks_since_a_moment(app, post):
    post("https://a.example/", date_added="2020-01-01T00:00:00Z")
    post("https://b.example/", date_added="2021-01-01T00:00:00Z")
    assert results(app, added_since="2021-01-01T00:00:00Z") == ["https://b.example/"]
    assert results(app, added_since="2021-01-01T00:00:01Z") == []
    assert len(results(app, modified_since="2020-01-01T00:00:00+00:00")) == 2
    moments = {"created": "2019-01-01T00:00:00Z", "modified": "2222-01-01T00:00:00Z"}
    app.post_json("/", {"uri": "https://c.example/"} | moments, status=201)
    assert results(app, modified_since="2222-01-01T00:00:00.000000Z") == ["https://c.example/"]
    assert results(app, modified_since="2222-01-01T00:00:01Z") == []
    assert app.get("/api/bookmarks/?added_since=x", status=400).json.keys() == {"added_since"}


def test_check_finds_a_bookmark_by_its_url(app, post):
    made = post()
    path = "/api/bookmarks/check"
    found = app.get(f"{path}/", {"url": "https://EXAMPLE.com"}).json
    assert (found["bookmark"], found["auto_tags"]) == (made, [])
    missing = app.get(path, {"url": "https://other.example/"}).json
    assert missing["bookmark"] is None
    assert missing["metadata"].pop("url") == "https://other.example/"
    assert missing["metadata"] == {"title": None, "description": None, "preview_image": None}
    assert app.get(path, status=400).json.keys() == {"url"}


def test_tags_are_listed_by_name_without_marks(app, post):
    post(tag_names=["b", "A b"], unread=True, date_added="2020-01-01T00:00:00Z")
    post("https://newer.example/", tag_names=["A b"], date_added="2021-01-01T00:00:00Z")
    page = app.get("/api/tags?limit=1").json
    assert page["count"] == 2
    assert app.get(page["next"]).json["results"][0]["name"] == "b"
    (tag,) = page["results"]
    assert tag == {"id": tag["id"], "name": "A\xa0b", "date_added": "2020-01-01T00:00:00.000000Z"}
    assert 0 < tag["id"] < 2**31
    assert app.get(f"/api/tags/{tag['id']}/").json == tag
    assert app.post_json("/api/tags/", {"name": "a\xa0B"}, status=201).json["id"] == tag["id"]
    assert app.get(f"/api/tags/{number_of_id('unread')}/", status=404).json.keys() == {"detail"}
    assert app.get("/api/tags/1/", status=404).json.keys() == {"detail"}


def test_a_tag_that_is_added_is_not_stored_and_one_that_is_deleted_is_removed(app, post):
    made = app.post_json("/api/tags/", {"name": "new"}, status=201).json
    assert made["name"] == "new"
    assert app.get("/api/tags/").json["count"] == 0
    for name in ("a,b", "a\nb"):
        error = app.post_json("/api/tags/", {"name": name}, status=400).json
        assert error == {"name": ["must be one tag, without commas and line breaks"]}
    for number in range(3):
        post(f"https://{number}.example/", tag_names=["A", "b"], unread=True)
    made = post(tag_names=["a", *SAME])
    app.post(f"/api/bookmarks/{made['id']}/archive/", status=204)
    # The numbers of tags are made as those of ids, so two tags may share one.
    app.get(f"/api/tags/{number_of_id(SAME[0])}/", status=404)
    app.delete(f"/api/tags/{number_of_id(SAME[0])}/", status=404)
    tag, *_ = app.get("/api/tags/").json["results"]
    assert app.delete(f"/api/tags/{tag['id']}/", status=204).body == b""
    tags = [bookmark["tags"] for bookmark in stored(app)]
    assert tags == [[*SAME, "archived"], *[["b", "unread"]] * 3]
    assert app.delete(f"/api/tags/{tag['id']}/", status=404).json.keys() == {"detail"}
    app.delete(f"/api/tags/{number_of_id('unread')}/", status=404)


def test_deleting_a_tag_names_a_bookmark_that_cannot_be_changed(app, post, delete_during_write):
    number = post(tag_names=["a"])["id"]
    (own,) = stored(app)
    delete_during_write(f"/api/bookmarks/{number}/")
    error = app.delete(f"/api/tags/{number_of_id('a')}/", status=503).json
    assert f"bookmark {own['id']} was deleted" in error["detail"]


def test_the_profile_the_bundles_and_a_healthy_service_are_fixed(app, data):
    profile = app.get("/api/user/profile/").json
    assert profile["search_preferences"]["sort"] == "added_desc"
    assert (profile["version"], profile["enable_sharing"]) == (LINKDING_VERSION, False)
    empty = {"count": 0, "next": None, "previous": None, "results": []}
    assert app.get("/api/bundles").json == empty
    assert app.get("/health").json == {"status": "healthy", "version": "1.44.0"}
    (data / "bookmarks").rename(data / "away")
    sick = app.get("/health", status=503).json
    assert sick == {"status": "unhealthy", "version": LINKDING_VERSION}
    (data / "away").rename(data / "bookmarks")
    app.get("/health", status=200)
    app.put_json("/health", {"uri": URI}, status=405)


# --- Errors and headers ---

@pytest.mark.parametrize("members, member", [
    ({"url": None}, "url"),
    ({"url": "no url"}, "url"),
    ({"tag_names": "a\x01"}, "tag_names"),
    ({"tag_names": [1]}, "tag_names"),
    ({"date_added": "yesterday"}, "date_added"),
    ({"title": 0}, "title"),
    ({"description": {}}, "description"),
    *[({"notes": value, "description": "D"}, "notes") for value in (5, [], "\0", "x" * 65_530)],
    *[({flag: value}, flag) for flag in TAG_BY_FLAG for value in ("maybe", {}, [1], 2)],
])  # fmt: skip
def test_a_wrong_value_is_400_with_the_member(app, members, member):
    error = app.post_json("/api/bookmarks/", {"url": URI} | members, status=400).json
    assert error.keys() == {member}
    assert all(isinstance(reason, str) for reason in error[member])
    assert app.post_json("/api/bookmarks/", [], status=400).json.keys() == {"body"}


def test_other_errors_have_a_detail(app):
    headers = {"Accept": "text/html", "Content-Type": "image/png"}
    for method, path, status in (
        ("GET", "/api/nothing/", 404),
        ("GET", "/api/bookmarks/99999999999/", 404),
        ("POST", "/api/bookmarks/1/", 405),
        ("POST", "/api/bookmarks/", 415),
        ("GET", "/api/bookmarks/shared/", 404),
    ):
        response = app.request(path, method=method, headers=headers, body=b"x", status=status)
        assert response.content_type == "application/json"
        assert response.json.keys() == {"detail"}


def test_a_malformed_or_large_body_another_host_and_site_are_refused_with_the_reason(app):
    error = app.post("/api/bookmarks/", "{", content_type="application/json", status=400)
    assert error.json.keys() == {"non_field_errors"}
    for media_type in ("application/json", "application/x-www-form-urlencoded"):
        body = b"x" * (2**20 + 1)
        error = app.post("/api/bookmarks/", body, content_type=media_type, status=413)
        assert error.json.keys() == {"detail"}
    headers = {"Host": "rebound.example"}
    assert app.get("/api/bookmarks/", headers=headers, status=421).json.keys() == {"detail"}
    headers = {"Sec-Fetch-Site": "cross-site"}
    error = app.post_json("/api/bookmarks/", {"url": URI}, headers=headers, status=403)
    assert error.json.keys() == {"detail"}
    response = app.get("/api/bookmarks/", headers=headers)
    assert not [name for name in response.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("code, status", [(errno.ENOSPC, 507), (errno.EIO, 503), (0, 500)])
def test_a_failed_write_or_lock_has_a_detail(app, post, monkeypatch, lock_folder, code, status):
    def fail(*arguments):
        raise OSError(code, os.strerror(code)) if code else ZeroDivisionError

    path = f"/api/bookmarks/{post()['id']}/"
    with lock_folder():
        error = app.patch_json(path, {"title": "U"}, status=503)
    assert error.json.keys() == {"detail"} and int(error.headers["Retry-After"]) > 0
    monkeypatch.setattr(os, "fsync", fail)
    new = {"url": "https://new.example/"}
    assert app.post_json("/api/bookmarks/", new, status=status).json.keys() == {"detail"}
    assert app.patch_json(path, {"title": "U"}, status=status).json.keys() == {"detail"}
    assert app.delete(path, status=status).json.keys() == {"detail"}


@pytest.mark.parametrize("value", ["\0", "\ud800", "9" * 5_000, "(" * 5_000, ""])
def test_no_value_is_an_internal_error(app, post, value):
    path = f"/api/bookmarks/{post()['id']}/"
    encoded = quote(value, errors="surrogatepass")
    responses = [app.post_json("/api/tags/", {"name": value}, status="*")]
    for name in sorted(MEMBERS):
        for sent in (value, [value], {value: value}):
            responses.append(app.patch_json(path, {name: sent}, status="*"))
    for name in ("q", "limit", "unread", "sort", "url", "added_since"):
        for each in ("", "check/"):
            responses.append(app.get(f"/api/bookmarks/{each}?{name}={encoded}", status="*"))
    responses.append(app.get(f"/api/tags/{encoded}/", status="*"))
    assert {response.status_int for response in responses} <= {200, 201, 400, 404}


def test_responses_have_no_entity_tag(app, post):
    made = post()
    for path in ("/api/bookmarks/", f"/api/bookmarks/{made['id']}/", "/api/tags/", "/health"):
        headers = app.get(path).headers
        assert "ETag" not in headers and "Last-Modified" not in headers
    headers = {"If-Match": '"x"'}
    app.patch_json(f"/api/bookmarks/{made['id']}/", {"title": "U"}, headers=headers, status=200)


def test_a_token_is_needed_in_any_of_its_forms(client):
    app = client(token="secret")
    assert app.get("/api/bookmarks/", status=401).json.keys() == {"detail"}
    app.get("/health", status=200)
    password = base64.b64encode(b"any:secret").decode()
    for authorization in ("Token secret", "Bearer secret", f"Basic {password}"):
        app.get("/api/bookmarks/", headers={"Authorization": authorization}, status=200)
    headers = {"Authorization": "Token wrong"}
    assert app.get("/api/tags/", headers=headers, status=401).json.keys() == {"detail"}


def test_the_routes_are_documented():
    page = documentation("linkding.md")
    for route in linkding.ROUTES:
        for method in route.handlers:
            path = route.template.replace("{verb}", "archive")
            assert f"| {method} | `{path}` |" in page, (method, path)
