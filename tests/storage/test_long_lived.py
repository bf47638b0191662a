"""Files that this version wrote are read, rewritten and written unchanged by every later version.

Never change the files in golden/. If a test passes only with a changed file, the file format has
changed, and existing data folders will be read or written differently.
"""

import json
import shutil
from pathlib import Path

import pytest
import webtest
from clients import check, put_body

from bookmarks import make_app

GOLDEN = Path(__file__).parent / "golden"
TIME = "2024-02-29T12:00:00Z"
LATER = "2025-12-31T23:59:59Z"


def bookmark(id, uri, title="", description="", tags=(), created=TIME, modified=TIME):
    title = title or uri
    named = {"title": title, "description": description, "tags": list(tags)}
    return {"id": id, "uri": uri, **named, "created": created, "modified": modified}


# Bookmarks whose files this version writes, byte for byte.
WRITTEN = [
    bookmark("0s9yex328jt74", "https://example.com/", "Example", "", ["a", "b c"]),
    bookmark("untitled", "https://untitled.example/"),
    bookmark("x_-0", "https://changed.example/", "Changed", modified=LATER),
    bookmark(
        "unicode",
        "https://bücher.example/ä?q=日本語#ü",
        'Ünïcode "quoted" \\ </script> 日本語 עברית 👩\u200d👩\u200d👧 \u00a0e',
        "Several lines,\n\n\tindented,\nwith \u2028 and \x7f, 'quotes' & <tags>",
        ["ß", "ΑΣ", "日本", "a/b", '"', "\\", "🏷"],
    ),
    bookmark("script", "javascript:alert('a\"b\\\\c')", "Not a link", "", ["JS"]),
    bookmark("escaped", "HTTP://Example.COM:80/%7Ea/../b?c=%2F&d=#e", "As it was given"),
    bookmark("early", "x:early", "Early", created="0001-01-01T00:00:00Z", modified=TIME),
    bookmark("late", "x:late", "Late", created="9999-12-31T23:59:59Z", modified=LATER),
    bookmark(
        "long",
        "https://long.example/?" + "u" * (65_536 - len("https://long.example/?")),
        "t" * 4_096,
        "d" * 65_536,
        [f"{n:03}" + "t" * 252 for n in range(100)],
    ),
    bookmark("i" * 64, "x:id", "The longest id"),
]
# Bookmarks whose files other programs wrote.
READ = [
    bookmark("handmade", "https://handmade.example/", created="2024-02-29T10:00:00Z",
             modified="2024-02-29T10:00:00Z"),
    bookmark("edited", "https://edited.example/", "Two lines", "a\nb",
             ["One", "two"], modified=LATER),
    bookmark("later", "https://later.example/", "From a later version", "", ["kept"]),
    bookmark("mixed", "https://mixed.example/", "Members between", "", ["kept"]),
]  # fmt: skip
DELETED = {"gone": TIME, "gone-later": LATER}


@pytest.fixture
def data(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "data")
    return tmp_path / "data"


def file(data, id):
    return data / "bookmarks" / f"{id}.json"


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.glob("*/*")}


# --- Reading ---

def test_exactly_the_golden_bookmarks_and_tombstones_are_read_and_valid(app, data):
    listed = {bookmark["id"]: bookmark for bookmark in app.get("/").json}
    assert listed == {bookmark["id"]: bookmark for bookmark in WRITTEN + READ}
    for id, deleted in DELETED.items():
        assert deleted in app.get(f"/{id}", status=410).json["detail"]
    assert check(data) == (0, [])


def test_reading_and_writing_the_same_values_changes_no_file(app, data):
    for path in ("/feed", "/tags.json", "/later"):
        app.get(path)
    for one in WRITTEN + READ:
        app.put_json(f"/{one['id']}", one, status=200)
    app.post_json("/-/import", WRITTEN + READ, status=200)
    assert contents(data) == contents(GOLDEN)


# --- Writing ---

@pytest.mark.parametrize("is_import", [True, False])
def test_new_files_equal_the_golden_files(tmp_path, is_import):
    app = webtest.TestApp(make_app(tmp_path / "new"))
    if is_import:
        app.post_json("/-/import", WRITTEN, status=200)
    for one in [] if is_import else WRITTEN:
        app.put_json(f"/{one['id']}", one, status=201)
    written = contents(tmp_path / "new")
    assert {path.stem for path in written} == {one["id"] for one in WRITTEN}
    for path, content in written.items():
        assert content == (GOLDEN / path).read_bytes(), path


def test_a_new_tombstone_has_the_golden_form(app, data):
    app.delete("/late", status=204)
    content = (data / "tombstones" / "late.json").read_text()
    deleted = json.loads(content)["deleted"]
    golden = (GOLDEN / "tombstones" / "gone.json").read_text()
    assert content.replace(deleted, TIME).replace("late", "gone") == golden
    assert file(data, "late").read_bytes() == file(GOLDEN, "late").read_bytes()


# --- Rewriting ---

TEXT, XBEL = "text/plain", "application/x-xbel"
DOCUMENT = """<?xml version="1.0"?>
<xbel version="1.0"><bookmark href="{}" tags="kept"><title>New</title></bookmark></xbel>"""
# Each changes one field of a bookmark: how, its name and its new value.
REWRITES = {
    "PUT": (
        lambda app, id, uri: app.put_json(f"/{id}", put_body(uri, "New", "", ["kept"])),
        "title", "New",
    ),
    "PUT of XBEL": (
        lambda app, id, uri: app.put(f"/{id}", DOCUMENT.format(uri), content_type=XBEL),
        "title", "New",
    ),
    "form": (lambda app, id, uri: app.post(f"/{id}", {"title": "New"}), "title", "New"),
    "POST of the uri": (
        lambda app, id, uri: app.post_json("/", {"uri": uri, "title": "New"}, status=200),
        "title", "New",
    ),
    "uri": (lambda app, id, uri: app.put(f"/{id}/uri", "x:new", content_type=TEXT), "uri", "x:new"),
    "tags": (lambda app, id, uri: app.put_json(f"/{id}/tags", ["new"]), "tags", ["new"]),
    "import": (
        lambda app, id, uri: app.post_json("/-/import", [{"uri": uri, "description": "New"}]),
        "description", "New",
    ),
}  # fmt: skip


def members(content):
    return json.loads(
        content.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=list,
        parse_int=lambda digits: f"int {digits}", parse_float=lambda digits: f"float {digits}",
    )  # fmt: skip


@pytest.mark.parametrize("id", ["later", "mixed"])
@pytest.mark.parametrize("rewrite, name, value", REWRITES.values(), ids=REWRITES)
def test_a_rewrite_keeps_unknown_members_and_the_order_of_all(app, data, rewrite, name, value, id):
    rewrite(app, id, f"https://{id}.example/")
    modified = app.get(f"/{id}").json["modified"]
    assert modified != TIME
    before, after = members((GOLDEN / "bookmarks" / f"{id}.json").read_bytes()), file(data, id)
    changed = {name: value, "modified": modified}
    expected = [[member, changed.get(member, old)] for member, old in before]
    assert [list(pair) for pair in members(after.read_bytes())] == expected


@pytest.mark.parametrize("rewrite, name, value", REWRITES.values(), ids=REWRITES)
def test_a_rewrite_adds_the_missing_members_of_a_file_made_by_hand(app, data, rewrite, name, value):
    rewrite(app, "handmade", "https://handmade.example/")
    after = dict(members(file(data, "handmade").read_bytes()))
    shown = app.get("/handmade").json
    assert shown[name] == value
    assert after == shown | {"note": "by hand"}
    assert list(after)[:4] == ["uri", "note", "created", "id"]  # In their order in the file.
