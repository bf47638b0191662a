"""A field that is added as CONTRIBUTING says survives everything that happens to a bookmark."""

import json
import re
import shutil

import pytest
import webtest
from webob.client import send_request_app

from storage.bookmark import WRITABLE_FIELDS
from tests.conftest import ROOT, Service
from tests.formats.test_round_trips import LOSSLESS
from tests.test_import_over_http import MEDIA_TYPES

URI = "https://a.example/"
OLD = {"uri": URI, "title": "A", "description": "B", "tags": ["c"]}
# A program that is tested may have further fields, also `source`.
OLD = dict.fromkeys(WRITABLE_FIELDS, "") | OLD
BOOKMARK = OLD | {"origin": "S, <'\"&> é"}


def insert(path, before, line):
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, line + before))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    root = tmp_path_factory.mktemp("program")
    shutil.copy(ROOT / "bookmarks.py", root)
    for name in ("storage", "formats"):
        shutil.copytree(ROOT / name, root / name)
    _, _, chapter = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add a field")
    blocks = re.findall(r"^   ```\w+\n(.*?)^   ```$", chapter, re.DOTALL | re.MULTILINE)
    # Rename the field, because a program that followed CONTRIBUTING.md has it already.
    blocks = [block.replace("source", "origin").replace("Source", "Origin") for block in blocks]
    attribute, row, schema = (block.removeprefix("   ") for block in blocks[:3])
    rules = root / "storage" / "bookmark.py"
    insert(rules, "\n\nclass Field(", attribute)
    insert(rules, "}\nREAD_ONLY_FIELDS = ", row)
    insert(root / "formats" / "http" / "openapi.json", '      "Bookmark": {\n', schema)
    return root / "bookmarks.py"


@pytest.fixture(scope="module")
def service(program, tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("new") / "data", program=program)
    yield service
    service.stop()


@pytest.fixture
def data(service):
    service.empty()
    return service.data


@pytest.fixture
def new(service, data):
    host, _, port = service.address.removeprefix("http://").partition(":")
    address = {"SERVER_NAME": host, "SERVER_PORT": port, "HTTP_HOST": f"{host}:{port}"}
    return webtest.TestApp(send_request_app, extra_environ=address, lint=False)


def origin(new, id="a"):
    return new.get(f"/{id}").json["origin"]


def find_form(page, action):
    return next(form for form in page.forms.values() if action in form.action)


def edit_form(client):
    return find_form(client.get("/a", headers={"Accept": "text/html"}), "/-/edit/")


def test_it_survives_create_update_and_the_file(new, data):
    assert new.put_json("/a", BOOKMARK, status=201).json["origin"] == BOOKMARK["origin"]
    assert json.loads((data / "bookmarks" / "a.json").read_text())["origin"] == BOOKMARK["origin"]
    assert new.post_json("/a", {"title": "New"}).json["origin"] == BOOKMARK["origin"]
    assert new.post_json("/", {"uri": URI, "origin": "T"}, status=200).json["origin"] == "T"
    assert new.get("/a/origin").text == "T"
    new.put("/a/origin", "U", content_type="text/plain")
    assert origin(new) == "U"
    assert new.put_json("/a", BOOKMARK | {"origin": ""}).json["origin"] == ""
    assert "origin" in new.put_json("/a", OLD, status=422).text


@pytest.mark.parametrize("format", LOSSLESS)
def test_it_survives_every_lossless_format(new, data, format):
    media_type = MEDIA_TYPES[format]
    stored = new.put_json("/a", BOOKMARK, status=201).json
    file = new.get(f"/?format={format}").body
    (data / "bookmarks" / "a.json").unlink()
    report = new.post("/-/import", file, content_type=media_type, status=200).json
    assert (report["created"], report["noted"], report["not_read"]) == (1, 0, {})
    (bookmark,) = new.get("/?format=json").json
    kept = dict.fromkeys(stored, None) | bookmark
    if format == "netscape":  # It has no ids.
        kept["id"] = "a"
    assert kept == stored
    if format in ("json", "xbel"):
        body = new.get(f"/a?format={format}").body
        assert new.put("/a", body, content_type=media_type).json == stored


def test_older_files_are_read_without_it_and_an_open_older_form_leaves_it_alone(app, new):
    app.put_json("/a", OLD, status=201)
    assert origin(new) == ""
    form = edit_form(app)
    new.put("/a/origin", "S", content_type="text/plain")
    form["title"] = "New"
    new.post("/-/edit/a", form.submit_fields(), status=303)
    assert (new.get("/a").json["title"], origin(new)) == ("New", "S")


def test_its_form_merges_the_changes_of_others(new):
    new.put_json("/a", BOOKMARK, status=201)
    form = edit_form(new)
    assert form["origin"].value == BOOKMARK["origin"]
    form["origin"] = "Mine"
    new.post_json("/a", {"title": "Theirs", "tags": ["d"]})
    new.post("/-/edit/a", form.submit_fields(), status=303)
    saved = new.get("/a").json
    assert (saved["title"], saved["tags"], saved["origin"]) == ("Theirs", ["d"], "Mine")


def test_it_comes_back_with_a_deleted_bookmark(new):
    new.put_json("/a", BOOKMARK, status=201)
    page = new.get("/a", headers={"Accept": "text/html"})
    notice = find_form(page, "/-/delete/").submit()
    back = find_form(notice, "/-/restore")
    new.post("/-/restore", back.submit_fields(), status=303)
    (bookmark,) = new.get("/?format=json").json
    assert bookmark["origin"] == BOOKMARK["origin"]


def test_it_is_described(new):
    schemas = new.get("/openapi.json").json["components"]["schemas"]
    for name in ("Bookmark", "NewBookmark", "BookmarkChanges", "NewBookmarkForm"):
        assert schemas[name]["properties"]["origin"] == {"$ref": "#/components/schemas/Origin"}
    assert "origin" in schemas["Bookmark"]["required"]
