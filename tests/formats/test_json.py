"""JSON: writing lists, and reading files of this service and of other programs."""

import json

import pytest

from formats.imports.json import read_file
from storage.bookmark import clean, create
from storage.errors import Invalid, Malformed
from storage.importer import NOT_READ
from tests.formats.writing import write_list


@pytest.mark.parametrize("count", [0, 1, 41])
def test_each_bookmark_is_written_on_its_own_line(count):
    bookmarks = [create({"uri": f"a:{n}"}, f"b{n}") for n in range(count)]
    text = write_list("json", bookmarks).decode()
    assert [member["id"] for member in json.loads(text)] == [b.id for b in bookmarks]
    if count:
        first, *lines, last = text.splitlines()
        assert (first, last) == ("[", "]")
        assert [json.loads(line.rstrip(","))["id"] for line in lines] == [b.id for b in bookmarks]


# --- Reading: the document ---

def read(text):
    return [entry for entry in read_file(text.encode()) if entry.skip_reason != NOT_READ]


def not_read(value):
    *_, last = [None, *read_file(json.dumps(value).encode())]
    return last.fields if last and last.skip_reason == NOT_READ else {}


def read_error(data):
    with pytest.raises(Malformed) as error:
        next(read_file(data if isinstance(data, bytes) else data.encode()))
    return str(error.value)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"id": "x", "title": 5},
        {"tags": [5]},
        {"tags": ["{}", "no_tag"]},  # The names mean no tag elsewhere.
        {"created": "2024-13-01T00:00:00Z"},
    ],
)
def test_the_fields_of_this_services_own_objects_are_kept_as_they_are(more):
    fields = {"uri": "a:b", "description": "D"} | more
    assert read(json.dumps(fields)) == [("", fields, "")]
    assert read(json.dumps([fields, fields])) == [("[0]", fields, ""), ("[1]", fields, "")]


def test_the_path_of_an_object_of_objects_has_its_names():
    windows = {"1": {"2": {"url": "a:1"}}, "x\n\ud800": {"y" * 99: {"url": "a:2"}}}
    entries = read(json.dumps([{"windows": windows}]))
    other = f"[0].windows.x\ufffd\ufffd.{'y' * 64}"
    assert [entry.place for entry in entries] == ["[0].windows.1.2", other]


@pytest.mark.parametrize("value, reason", [
    ("null", "is no object"),
    ("5", "is no object"),
    ('{"uri": ""}', "has no uri"),
    ('{"content": ["url"]}', "has no uri"),
])  # fmt: skip
def test_a_wrong_entry_is_skipped_and_the_others_are_read(value, reason):
    first, skipped, last = read(f'[{{"uri":"a:1"}},\n{value},\n{{"uri":"a:2"}}]')
    assert (first.fields, last.fields) == ({"uri": "a:1"}, {"uri": "a:2"})
    assert (skipped.place, skipped.skip_reason, last.place) == ("[1]", reason, "[2]")


@pytest.mark.parametrize("rest, reason", [
    ("\n\n{", "in line 4"),
    (', {"uri": "a', "in line 2: unterminated string"),
    ('] ["a"]', "in line 2: extra data"),
    (',\r\n {"uri": "a:b" "title": ""}]', "in line 3"),
    (', {"uri": "\t"}]', "in line 2: invalid control character"),
    (', {"uri": "a:b", "title": NaN}]', "has NaN, which is not a JSON value"),
    (', {"uri": "a:b", "uri": "c:d"}]', 'has the name "uri" twice in one object'),
    (", " + "[" * 99_999, "nested too deep"),
    (', {"x": ' + "[" * 99_999 + "]" * 99_999 + "}]", "nested too deep"),
], ids=lambda text: text[:30])  # fmt: skip
def test_a_malformed_document_yields_no_entry(rest, reason):
    assert reason in read_error('[\n{"uri":"a:1"}' + rest)


@pytest.mark.parametrize("text, reason", [
    *((text, "in line 1") for text in ("", "nothing", '{"a":1', '{"children": [}')),
    ('"a"', "must be an array or an object"),
    ('{"stars": [1]}', "has no uri"),
    (b'[\r\n\r\n{"uri": "a:b", "title": "\xc3', "line 3"),
    ('{"url": "a:b"}\n{"url": "a:c"}\n', "line 2: extra data: put [ ] around all"),
])  # fmt: skip
def test_a_text_that_is_no_list_of_bookmarks_is_malformed(text, reason):
    assert reason in read_error(text)


# --- Reading: the objects of other programs ---

DATES = ("2023-01-02T03:04:05+0100", "2023-01-02T03:04:06.789Z")
CREATED_AND_MODIFIED = {"created": "2023-01-02T02:04:05Z", "modified": "2023-01-02T03:04:06Z"}
CREATED = {"created": CREATED_AND_MODIFIED["created"]}


@pytest.mark.parametrize("value, fields", [
    ({"href": "a:b", "description": False, "tags": None}, {}),  # Pinboard
    ({"href": "a:b", "title": "", "description": "T", "extended": "D", "tags": "x y"},
     {"title": "T", "description": "D", "tags": ["x", "y"]}),
    ({"href": "a:b", "created": "", "time": DATES[0]}, CREATED),
    ({"href": "a:b", "time": "2020-01-01", "date": DATES[0]}, CREATED),
    ({"href": "a:b", "shared": "no", "private": False}, {"tags": ["private"]}),
    ({"href": "a:b", "title": "T", "description": "D"}, {"title": "T", "description": "D"}),
    ({"href": "a:b", "description": "D", "Title": "T"}, {"title": "T", "description": "D"}),
    ({"href": "a:b", "description": "D", "name": "T"}, {"title": "T", "description": "D"}),
    # Names of members in other cases and spellings; the preferred member of a role counts.
    ({"url": "a:b", "name": "N", "Title": "T", "given-url": "c:d"}, {"title": "T"}),
    ({"url": "https://reader.example/1", "source_url": "a:b"}, {}),
    ({"url": "a:b", "meta_info": {"Description": "D", "Nickname": "n"}}, {"description": "D"}),
    ({"url": "a:b", "meta_info": {"Description": "I"}, "description": "D"},
     {"description": "D\n\nI"}),
    ({"url": "a:b", "meta_info": "x", "annos": [5, {"name": "x"}]}, {}),
    ({"href": "a:b", "title": "T", "link": "/api/1"}, {"title": "T"}),
    ({"contentUrl": "a:b"}, {}),
    ({"Link": "a:b", "Title": "T"}, {"title": "T"}),
    ({"url": "a:b", "name": "N", "comments": 5, "folder": 5, "roots": [1]}, {"title": "N"}),
    ({"url": "a:b", "tags": "x y,z", "title": "T"}, {"tags": ["x y", "z"], "title": "T"}),
    ({"url": "a:b", "folder": "Unread"}, {"tags": ["unread"]}),
    ({"url": "a:b", "collection": "Dev/Py", "tags": ["x"]}, {"tags": ["x", "Dev", "Py"]}),
    ({"href": "a:b", "createdAt": DATES[0], "lastModified": DATES[1]}, CREATED_AND_MODIFIED),
    # Raindrop's API.
    (
        {"link": "a:b", "title": "T", "excerpt": "E", "note": "N", "tags": ["x"]},
        {"title": "T", "description": "E\n\nN", "tags": ["x"]},
    ),
    # The `content` has the address unless the object has one itself.
    ({"link": "a:b", "content": {"url": "c:d", "title": "T"}}, {"title": "T"}),
    # Shaarli's API.
    (
        {"url": "a:b", "tags": ["x"], "private": True, "created": DATES[0], "updated": ""},
        {"tags": ["x", "private"], **CREATED},
    ),
    # Programs that have the member `uri`, too.
    ({"uri": "a:b", "stars": 5, "private": True, "id": 7}, {"tags": ["private"]}),
    ({"uri": "a:b", "tags": "x, y"}, {"tags": ["x", "y"]}),
    ({"uri": "a:b", "created": 1704164645, "id": "7"}, {"created": "2024-01-02T03:04:05Z"}),
    ({"uri": "a:b", "created": "1704164645"}, {"created": "2024-01-02T03:04:05Z"}),
    ({"uri": "a:b", "modified": "2 Jan 2024 03:04:05 GMT"}, {"modified": "2024-01-02T03:04:05Z"}),
    ({"uri": "a:b", "created": "never"}, {"created": "never"}),
    # Flags and states have one tag for one meaning.
    ({"url": "a:b", "is_starred": 1, "is_archived": 0}, {"tags": ["starred"]}),
    ({"url": "a:b", "favorite": True, "archived": True}, {"tags": ["starred", "archived"]}),
    ({"url": "a:b", "status": "unread", "tags": ["x"]}, {"tags": ["x", "unread"]}),
    ({"url": "a:b", "state": "Archived"}, {"tags": ["archived"]}),
    ({"url": "a:b", "state": "SUCCEEDED", "location": "Paris"}, {}),
    ({"url": "a:b", "read": False}, {"tags": ["unread"]}),
    ({"url": "a:b", "read": True}, {}),
    ({"url": "a:b", "Location": "later", "unread": True}, {"tags": ["unread"]}),
    ({"url": "a:b", "shared": True}, {"tags": ["shared"]}),
    ({"url": "a:b", "shared": "yes"}, {}),
    ({"url": "a:b", "shared": "no"}, {"tags": ["private"]}),
])  # fmt: skip
def test_members_of_other_programs_are_known_by_their_names(value, fields):
    assert read(json.dumps([value])) == [("[0]", {"uri": "a:b"} | fields, "")]


# 2024-01-02T03:04:05Z in seconds, milliseconds, microseconds, and microseconds since 1601.
NUMBERS = (1704164645, 1704164645123, 1704164645123456, 13348638245123456)


def test_numbers_from_1990_until_tomorrow_are_dates():
    for number in NUMBERS:
        for value in (number, str(number), float(number)):
            (entry,) = read(json.dumps([{"url": "a:b", "time_added": value}]))
            assert entry.fields == {"uri": "a:b", "created": "2024-01-02T03:04:05Z"}
    for number in (0, 600_000_000, 5_000_000_000, 1e300, True, -1704164645):
        assert read(json.dumps([{"url": "a:b", "time": number}]))[0].fields == {"uri": "a:b"}


@pytest.mark.parametrize("value", ["2020", 45292.5, {"$date": "2024-01-02"}, True, 12, "-5"])
@pytest.mark.parametrize("name, field", [("date_added", "created"), ("updated", "modified")])
def test_a_value_that_is_no_date_is_kept_for_the_report(name, field, value):
    (entry,) = read(json.dumps([{"url": "a:b", name: value}]))
    with pytest.raises(Invalid, match=field):
        clean(entry.fields)
    (entry,) = read(json.dumps([{"url": "a:b", name: value, "date": 1704164645, "modified": 0}]))
    assert entry.fields["created"] == "2024-01-02T03:04:05Z"


def test_a_wrong_date_is_not_read_beside_a_valid_one_or_else_kept_for_the_report():
    entry = {"url": "a:b", "saved": True, "time": "noon"}
    assert not_read([entry | {"created": "2024-01-01"}]) == {"saved": 1, "time": 1}
    assert not_read([entry]) == not_read([{"url": "a:b", "saved": 12.0}]) == {}
    assert not_read([{"url": "a:b", "time": 225}]) == {"time": 1}  # A duration.
    for dates, created in (
        ({"time": "noon"}, "noon"),
        ({"created": "never", "date": 1704164645}, "2024-01-02T03:04:05Z"),
    ):
        assert read(json.dumps([{"url": "a:b"} | dates]))[0].fields["created"] == created


def test_an_unknown_date_is_no_date():
    for value in (0, "0", 0.0, "", " ", None, False, "false", "0000-00-00", "n/a"):
        entry = {"url": "a:b", "saved": value, "updated": value}
        assert read(json.dumps([entry])) == [("[0]", {"uri": "a:b"}, "")]


@pytest.mark.parametrize("texts, description", [
    ({"description": "D", "notes": "N"}, "D\n\nN"),
    ({"comment": "C", "excerpt": "E", "description": "D"}, "C\n\nE\n\nD"),
    ({"description": "D", "notes": "D", "excerpt": "D", "note": "N"}, "D\n\nN"),
    ({"description": "", "note": " ", "excerpt": None, "comments": 5}, None),
    ({"description": "D", "note": {"x": 1}, "comments": ["C"], "extended": True}, "D"),
])  # fmt: skip
def test_all_different_texts_of_an_object_are_its_description(texts, description):
    (entry,) = read(json.dumps([{"url": "a:b"} | texts]))
    assert entry.fields.get("description") == description
    assert not entry.skip_reason


@pytest.mark.parametrize("value, tags", [
    *((value, ["private", "unread"]) for value in (True, 1, "1", "yes", "TRUE ", "yes\u00a0")),
    *((value, []) for value in (False, 0, 2, 1.5, "0", "no", "", None, [True], {"x": 1})),
])  # fmt: skip
def test_private_toread_and_unread_become_tags_if_they_are_true(value, tags):
    members = {"private": value, "toread": value, "Unread": value, "shared": False}
    for entry in ({"url": "a:b"}, {"href": "a:b"}, {"Link": "a:b", "tags": []}):
        (found,) = read(json.dumps([entry | members]))
        assert found == ("[0]", {"uri": "a:b"} | ({"tags": tags} if tags else {}), "")


# --- Reading: trees ---

def test_entries_and_folders_are_read_from_arrays_and_objects_of_known_names():
    entries = [{"url": "a:1"}, {"url": "a:2"}]
    for name in ("bookmarks", "results"):
        for value in (entries, {"k1": entries[0], "k2": entries[1]}, {"items": entries, "n": 2}):
            for document in ({name: value, "n": 2}, [{name: value}]):
                assert [e.fields["uri"] for e in read(json.dumps(document))] == ["a:1", "a:2"]
    folder = {"links": [{"url": "a:1"}], "title": "Work"}
    (entry,) = read(json.dumps({"folders": [folder, {"title": "Empty"}, {"id": 5}]}))
    assert entry.fields == {"uri": "a:1", "tags": ["Work"]}


def test_a_folder_whose_title_is_no_text_becomes_no_tag():
    for title in ("null", "5", '["x"]', '{"x": 1}', '""'):
        (entry,) = read(f'[{{"title": {title}, "children": [{{"url": "a:b"}}]}}]')
        assert entry.fields == {"uri": "a:b"}


def test_the_name_of_a_document_is_no_folder_unless_it_is_a_tree():
    entries = [{"url": "a:b"}]
    assert "tags" not in read(json.dumps({"name": "Me", "bookmarks": entries}))[0].fields
    tree = {"name": "Work", "children": entries}
    assert read(json.dumps(tree))[0].fields["tags"] == ["Work"]
    for separator in ("separator", "text/x-moz-place-separator"):
        (entry,) = read(json.dumps([{"type": separator, "url": "data:"}]))
        assert entry.skip_reason == "is no bookmark"
    (entry,) = read(json.dumps({"bookmarks": [{"title": "Note", "lists": ["id"]}]}))
    assert (entry.fields, entry.skip_reason) == ({"title": "Note"}, "has no uri")


def test_an_object_with_an_address_in_an_array_is_one_entry():
    for name in ("links", "collections"):
        for value in (["x"], [{"href": "/api/1"}], [{"name": "N"}]):
            assert read(json.dumps([{"url": "a:b", name: value}])) == [("[0]", {"uri": "a:b"}, "")]


def test_each_member_with_values_that_is_not_read_is_named_with_their_number():
    entries = [
        {"url": "a:1", "highlights": ["x", "y"], "color": "red", "n": 0},
        {"url": "a:2", "highlights": ["z"], "color": "", "read_at": None, "comments": 5},
    ]
    assert not_read(entries) == {"highlights": 3, "color": 1, "comments": 1}
    assert not_read({"version": 3, "bookmarks": entries})["version"] == 1
    pinboard = {"href": "a:b", "description": 5, "extended": 5}
    assert not_read([pinboard]) == {"description": 1, "extended": 1}
    own = {"id": "x", "uri": "a:b", "tags": ["x"], "created": "2024-01-01T00:00:00Z"}
    assert not_read([own]) == {}
    entry = {"url": "a:1", "link": "a:2", "address": "a:1", "title": "T", "name": "N"}
    assert not_read([entry]) == {"link": 1, "name": 1}
    known = {"url": "a:b", "read": [], "is_read": 1, "starred": "No", "shared": True}
    states = {"unread": "maybe", "shared": ["bob"], "location": "Berlin"}
    assert not_read([known | states]) == dict.fromkeys(states, 1)
    inner = {"type": "link", "url": "a:1", "author": "X", "image": None}
    assert not_read([{"title": "T", "content": inner}]) == {"content.author": 1}
    folder = {"title": "A", "name": "B", "color": "red", "description": "D", "starred": True}
    folder["children"] = []
    unread = dict.fromkeys(("checksum", "color", "description", "name", "starred"), 1)
    assert not_read({"children": [folder], "checksum": "x"}) == unread
    empty = {"type": "folder", "title": "A", "color": "red"}
    assert not_read({"children": [empty]}) == {"color": 1}


@pytest.mark.parametrize("value, count", [
    ([{"url": "a://2"}, {"url": "a://3"}], 2),
    (["https://a.example/2"], 1),
    ({"count": 1, "items": [{"title": "Two", "url": "a://2"}]}, 1),
    ({"url": "https://a.example/2", "name": "Me"}, 1),
])  # fmt: skip
def test_a_list_beside_a_known_one_is_named(value, count):
    document = {"archive": value, "bookmarks": [{"url": "a:1"}]}
    assert [entry.fields for entry in read(json.dumps(document))] == [{"uri": "a:1"}]
    assert not_read(document) == {"archive": count}


def test_lists_of_unknown_names_are_named():
    objects = [{"pages": [{"url": "a://1"}], "title": "T", "others": [{"url": "a://2"}]}]
    (entry,) = read(json.dumps(objects))
    assert (entry.fields["title"], entry.skip_reason) == ("T", "has no uri")
    assert not_read(objects) == {"pages": 1, "others": 1}
    assert read(json.dumps({"groups": objects})) == []  # A folder without entries.
    assert not_read({"groups": objects}) == {"pages": 1, "others": 1}
    assert 'Name its list "bookmarks"' in read_error(json.dumps(objects[0]))


def test_the_folders_of_opera_are_read_and_its_trash_is_ignored():
    names = ("speedDial", "unsorted", "userRoot", "trash")
    folders = {name: {"name": name, "children": [{"url": f"a:{name}"}]} for name in names}
    *found, trash = read(json.dumps({"roots": {"custom_root": folders}}))
    assert [e.fields for e in found] == [{"uri": f"a:{name}"} for name in names[:3]]
    assert trash == ("roots.custom_root.trash.children[0]", {}, "is no bookmark")


def test_a_folder_without_an_id_gives_its_tags_to_its_own_entries_only():
    folders = [{"name": name, "parentId": None, "links": [{"url": name}]} for name in ("A", "B")]
    entries = read(json.dumps({"collections": folders}))
    assert [entry.fields["tags"] for entry in entries] == [["A"], ["B"]]
    document = {"bookmarks": [{"url": "a:b", "lists": [None]}], "lists": folders}
    assert "tags" not in read(json.dumps(document))[0].fields


@pytest.mark.parametrize("number", ["1e999", "1" * 5000])
def test_an_id_of_a_folder_may_be_too_large_for_a_number(number):
    lists = f'[{{"id": {number}, "name": "A"}}]'
    (entry,) = read(f'{{"bookmarks": [{{"url": "a:b", "lists": [{number}]}}], "lists": {lists}}}')
    assert entry.fields == {"uri": "a:b", "tags": ["A"]}


def test_folders_that_name_each_other_as_their_parents_end():
    folders = [{"id": 1, "name": "A", "parentId": 2}, {"id": 2, "name": "B", "parentId": 1}]
    document = {"bookmarks": [{"url": "a:b", "lists": [1]}], "lists": folders}
    (entry,) = read(json.dumps(document))
    assert set(entry.fields["tags"]) == {"A", "B"}


# --- Reading: folders ---

@pytest.mark.parametrize("depth, reason", [(1, ""), (100, ""), (101, "is nested too deeply")])
def test_folders_of_firefox_may_be_nested_up_to_a_limit(depth, reason):
    value = {"type": "text/x-moz-place", "typeCode": 1, "uri": "a:b"}
    for number in range(depth):
        value = {"title": f"{number}", "typeCode": 2, "children": [value, 5]}
    entries = [e for e in read(json.dumps(value)) if e.skip_reason != "is no object"]
    assert [entry.skip_reason for entry in entries] == [reason]


def test_an_array_of_addresses_may_be_that_of_a_folder():
    (entry,) = read('{"children": [{"title": "A", "children": ["https://a.example/"]}]}')
    assert entry.fields == {"uri": "https://a.example/", "tags": ["A"]}


@pytest.mark.parametrize("value, fields", [
    ({"postedAt": "2023-01-02T03:04:05+0100"}, CREATED),
    ({"Create Time": "2023-01-02T03:04:05+0100"}, CREATED),
    ({"starred_at": "2023-01-02T03:04:05+0100", "created_at": "2020-01-01"}, CREATED),
    ({"summary": "S"}, {"description": "S"}),
    ({"topics": ["x", "y"]}, {"tags": ["x", "y"]}),
    ({"tags": {"x": {"n": 1}, "y z": True}}, {"tags": ["x", "y z"]}),
    ({"tags": "{}"}, {}),
    ({"tags": ["no_tag"]}, {}),
    ({"pinnedBy": [{"id": 1}]}, {"tags": ["starred"]}),
    ({"collection": {"id": 5, "name": "Dev"}}, {"tags": ["Dev"]}),
    ({"folder": {"title": "Unread"}}, {"tags": ["unread"]}),
])  # fmt: skip
def test_names_and_shapes_of_further_programs_are_known(value, fields):
    assert read(json.dumps([{"url": "a:b"} | value])) == [("[0]", {"uri": "a:b"} | fields, "")]
    assert not_read([{"url": "a:b"} | value]) == {}


def test_tags_of_folders_that_are_too_many_are_cut_and_named(app):
    folders = ",".join(f"f{number}" for number in range(100))
    entries = [{"url": "a:1", "tags": ["F0", "own"]}, {"url": "a:2", "tags": ["F0"]}]
    document = {"children": [{"title": folders, "children": entries}]}
    report = app.post_json("/-/import", document).json
    (noted,) = report["entries"]
    assert noted["value"] == "a:1"
    reason = "stored, but 1 of the folders' tags left out, because there are more than 100"
    assert noted["reason"] == reason
    for bookmark in app.get("/").json:
        assert len(bookmark["tags"]) == 100 and bookmark["tags"][0] == "F0"
