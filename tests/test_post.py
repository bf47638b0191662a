"""POST /: create a bookmark, or update the active one that has the same uri."""

import json
import time
from datetime import datetime

import pytest

from tests.conftest import write_file

URI = "https://a.example/"
XBEL = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML"
 "http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
<!ATTLIST bookmark tags CDATA #IMPLIED>
]>
<xbel version="1.0">{}</xbel>
"""


def only(app):
    (bookmark,) = app.get("/", status=200).json
    return bookmark


def post_xbel(app, bookmark, status):
    document = XBEL.format(bookmark).encode()
    return app.post("/", document, content_type="application/x-xbel", status=status)


def invalid_fields(response):
    return [error["field"] for error in response.json["errors"]]


# --- Creating ---

def test_a_new_uri_creates_a_bookmark(app):
    before = int(time.time())
    response = app.post_json("/", {"uri": URI, "title": "A", "tags": ["x"]}, status=201)
    bookmark = response.json
    assert response.headers["Location"] == f"http://localhost/{bookmark['id']}"
    assert app.get(response.headers["Location"], status=200).json == bookmark
    assert (bookmark["uri"], bookmark["title"], bookmark["tags"]) == (URI, "A", ["x"])
    assert bookmark["description"] == ""
    assert bookmark["created"] == bookmark["modified"]
    assert before <= datetime.fromisoformat(bookmark["created"]).timestamp() <= time.time()
    assert before <= response.last_modified.timestamp() <= time.time()


def test_the_client_can_set_the_dates_of_a_new_bookmark(app):
    created = {"created": "2001-01-01T00:00:00Z"}
    bookmark = app.post_json("/", {"uri": URI, **created}, status=201).json
    assert (bookmark["title"], bookmark["description"], bookmark["tags"]) == (URI, "", [])
    assert bookmark["created"] == bookmark["modified"] == created["created"]
    dates = created | {"modified": "2002-01-01T00:00:00Z"}
    bookmark = app.post_json("/", {"uri": "x:y", **dates}, status=201).json
    assert {name: bookmark[name] for name in dates} == dates


def test_accept_selects_the_format_of_the_response(app):
    app.post_json("/", {"uri": URI}, headers={"Accept": "image/png"}, status=406)
    assert app.get("/", status=200).json == []
    headers = {"Accept": "text/xml", "Content-Type": 'APPLICATION/JSON; charset="UTF-8"'}
    response = app.post("/", json.dumps({"uri": URI}), headers, status=201)
    assert response.content_type == "application/x-xbel"
    assert f'href="{URI}"' in response.text


def test_addresses_begin_with_the_script_name_or_the_base_url(app, client):
    for each, environ, base in (
        (app, {"SCRIPT_NAME": "/my/marks"}, "http://localhost/my/marks"),
        (client(base_url="https://marks.example/m/"), {}, "https://marks.example/m"),
    ):
        made = each.post_json("/", {"uri": base}, extra_environ=environ, status=201)
        own = f"{base}/{made.json['id']}"
        assert made.headers["Location"] == own
        listed = each.get("/?limit=1&offset=1", extra_environ=environ, status=200)
        assert f"<{base}/?" in listed.headers["Link"]
        feed = each.get("/feed", extra_environ=environ, status=200).text
        assert f'href="{base}/feed"' in feed and f'href="{own}"' in feed


# --- Updating by uri ---

@pytest.mark.parametrize("uri", [f" {URI}\n", "HTTPS://A.example:443"])
def test_an_equivalent_uri_updates_the_bookmark(app, add, uri):
    before = add(URI, title="A", description="B", tags=["x"], created="2001-01-01T00:00:00Z")
    response = app.post_json("/", {"uri": uri, "title": "New"}, status=200)
    assert "Location" not in response.headers
    kept = ("id", "description", "tags", "created")
    assert {name: response.json[name] for name in kept} == {name: before[name] for name in kept}
    assert response.json["title"] == "New"
    assert only(app) == response.json
    assert app.post_json("/", response.json, status=200).json == response.json  # It has an id.
    fields = {"uri": URI, "title": "", "description": "", "tags": []}
    after = app.post_json("/", fields, status=200).json
    assert {name: after[name] for name in fields} == {**fields, "title": URI}


@pytest.mark.parametrize("created", ["2001-01-01T00:00:00Z", "yesterday", 5])
def test_an_update_ignores_the_dates_even_if_they_are_invalid(app, add, created):
    before = add(URI)
    dates = {"created": created, "modified": created}
    after = app.post_json("/", {"uri": URI, "title": "1"} | dates, status=200).json
    assert after["created"] == before["created"]
    after = app.post("/", {"uri": URI, "title": "2"} | dates, status=200).json
    assert after["created"] == before["created"]
    bookmark = f'<bookmark href="{URI}" added="{created}" modified="{created}"/>'
    assert post_xbel(app, bookmark, 200).json["created"] == before["created"]


def test_the_oldest_of_several_bookmarks_with_the_uri_is_updated(app, data, run):
    for id, created in [("young", "2002-01-01T00:00:00Z"), ("old", "2001-01-01T00:00:00Z")]:
        write_file(data, "bookmarks", id, uri=URI, title=id, created=created)
    assert [b["id"] for b in app.get("/", status=200).json] == ["young", "old"]
    response = app.post_json("/", {"uri": URI, "title": "Updated"}, status=200)
    assert response.json["id"] == "old"
    (finding,) = run("check", data=data, status=1)[0].splitlines()
    assert "old.json" in finding and "young.json" in finding
    # An update conflicts only if it takes the uri.
    app.post_json("/young", {"uri": URI, "title": "No conflict"}, status=200)
    app.post_json("/young", {"uri": f"{URI}#"}, status=200)
    app.post_json("/young", {"uri": URI}, status=409)
    app.delete("/old", status=204)
    app.post_json("/young", {"uri": URI}, status=200)


# --- Forms ---

@pytest.mark.parametrize("body, tags", [
    ("tags=a,b&tags=b+c", ["a", "b", "b c"]),
    ("tags=+a+,,+b,", ["a", "b"]),
    ("title=", []),
])  # fmt: skip
def test_a_form_has_its_tags_in_one_field_or_in_several(app, body, tags):
    assert app.post("/", f"uri={URI}&{body}", status=201).json["tags"] == tags


def test_a_form_is_read_as_utf_8(app):
    app.post("/", f"uri={URI}&title=%C3%84rger+%F0%9F%98%80&description=a%0D%0Ab", status=201)
    assert (only(app)["title"], only(app)["description"]) == ("Ärger 😀", "a\nb")
    fields = [("uri", URI), ("title", "Ä & Ö"), ("tags", "a, b"), ("tags", "c")]
    app.post("/", fields, content_type="multipart/form-data", status=200)
    assert (only(app)["title"], only(app)["tags"]) == ("Ä & Ö", ["a", "b", "c"])


def test_the_response_to_a_form_is_the_bookmark(app):
    created = app.post("/", {"uri": URI, "title": "A"}, status=201)
    address = f"http://localhost/{only(app)['id']}"
    assert created.headers["Location"] == created.headers["Content-Location"] == address
    assert created.json == only(app)
    updated = app.post("/", {"uri": URI, "tags": "x"}, status=200)
    assert "Location" not in updated.headers and updated.headers["Content-Location"] == address
    assert updated.json == only(app)
    assert (only(app)["title"], only(app)["tags"]) == ("A", ["x"])


PART = b'--b\r\nContent-Disposition: form-data; name="uri"\r\n\r\nhttps://a.example/\r\n'


@pytest.mark.parametrize("body, content_type", [
    (PART + b"--b--\r\n", "multipart/form-data"),
    (PART, "multipart/form-data; boundary=b"),
    (b"uri=\xff:", "application/x-www-form-urlencoded"),
    (PART.replace(b"example", b"\xff") + b"--b--\r\n", "multipart/form-data; boundary=b"),
    (PART + PART.replace(b"uri", b"") + b"--b--\r\n", "multipart/form-data; boundary=b"),
])  # fmt: skip
def test_a_malformed_form_is_400(app, body, content_type):
    app.request("/", method="POST", body=body, content_type=content_type, status=400)


def test_a_form_with_an_unknown_field_or_without_uri_is_422(app):
    for form, field in (({"uri": URI, "colour": "red"}, "colour"), ({"title": "A"}, "uri")):
        assert invalid_fields(app.post("/", form, status=422)) == [field]
    for uri in ("example.com/x", "192.168.1.5:80/"):
        for send in (app.post, app.post_json):
            assert invalid_fields(send("/", {"uri": uri}, status=422)) == ["uri"]


def test_xbel_creates_a_bookmark(app):
    bookmark = f'<bookmark href="{URI}" tags="a, b c" added="2001-01-01T00:00:00Z">'
    bookmark += "<title>T</title><desc>Line\nline</desc></bookmark>"
    created = post_xbel(app, bookmark, 201).json
    assert (created["title"], created["description"]) == ("T", "Line\nline")
    assert (created["tags"], created["created"]) == (["a", "b c"], "2001-01-01T00:00:00Z")
    folder = '<folder><title>F</title><folder><bookmark href="x:y"/></folder></folder>'
    assert post_xbel(app, folder, 201).json["title"] == "x:y"


def test_an_update_by_xbel_keeps_absent_fields(app, add):
    before = add(URI, title="A", description="B", tags=["x"])
    post_xbel(app, f'<bookmark href="{URI}"><title>New</title></bookmark>', 200)
    assert {**only(app), "modified": ""} == {**before, "title": "New", "modified": ""}
    post_xbel(app, f'<bookmark href="{URI}" tags="y"><desc>C</desc></bookmark>', 200)
    assert (only(app)["title"], only(app)["description"], only(app)["tags"]) == ("New", "C", ["y"])


# --- Errors ---

def test_malformed_json_is_400(app):
    for body in (
        b"", b'{"uri": "x:y",}', b"{'uri': 'x:y'}", b'{"uri": NaN}', b'{"uri": "x:y"} {}',
        b'{"uri": "x:\xff"}', '{"uri": "x:y"}'.encode("utf-16"), b'{"uri": "x:\x00"}',
    ):  # fmt: skip
        app.post("/", body, content_type="application/json", status=400)


def test_a_number_of_any_length_is_422(app):
    for number in (b"9" * 4301, b"-" + b"9" * 100_000, b"1e999"):
        body = b'{"uri": "https://a.example/", "title": %s}' % number
        problem = app.post("/", body, content_type="application/json", status=422).json
        assert problem["errors"] == [{"field": "title", "reason": "must be a string"}]


@pytest.mark.parametrize("body, field", [
    ({"title": "A"}, "uri"),
    ({"uri": {"href": URI}}, "uri"),
    ({"uri": URI, "title": None}, "title"),
    ({"uri": URI, "description": True}, "description"),
    ({"uri": URI, "tags": "a,b"}, "tags"),
    ({"uri": URI, "tags": {"a": 1}}, "tags"),
    ({"uri": URI, "tags": ["a", 5]}, "tags"),
    ({"uri": URI, "modified": 0}, "modified"),
    ({"uri": URI, "Title": "A"}, "Title"),
])  # fmt: skip
def test_an_invalid_field_is_422_and_named(app, body, field):
    assert invalid_fields(app.post_json("/", body, status=422)) == [field]
    assert app.get("/", status=200).json == []


def test_json_other_than_an_object_or_of_a_whole_file_is_422(app):
    for body in (b'"text"', b"5", b"null", b"true", b"[]"):
        app.post("/", body, content_type="application/json", status=422)
    for file in ({"bookmarks": []}, {"guid": "root________", "children": []}):
        errors = app.post_json("/", file, status=422).json["errors"]
        (uri,) = [error["reason"] for error in errors if error["field"] == "uri"]
        assert uri == "is required. A file of bookmarks goes to POST /-/import"


def test_another_media_type_is_415_and_names_where_files_go(app):
    for content_type in ("", "application/octet-stream", "text/csv", "application/json+x", "json"):
        response = app.post("/", b"{}", headers={"Content-Type": content_type}, status=415)
        accepted = response.headers["Accept-Post"].split(", ")
        assert {"application/json", "application/x-www-form-urlencoded"} <= set(accepted)
        assert {"multipart/form-data", "application/x-xbel"} <= set(accepted)
        assert "A file of bookmarks goes to POST /-/import." in response.json["detail"]


def test_a_bookmark_that_is_deleted_during_its_update_is_created_anew(
    app, client, before_transaction
):
    deleted = app.post_json("/", {"uri": URI, "title": "Old"}).json
    other = client()
    before_transaction(app.app.store, lambda: other.delete(f"/{deleted['id']}", status=204))
    created = app.post_json("/", {"uri": URI, "title": "New"}, status=201).json
    assert created["id"] != deleted["id"]
    assert only(app) == created
