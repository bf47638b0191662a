"""An import merges bookmarks by uri in batches, and keeps the writes of other clients."""

import errno
import os
import time
from functools import partial

import pytest
from clients import bookmarks_of, delete_bookmark, failing_from, put_bookmark, run_together

from storage import files, importer
from storage.batch import MAX_CHANGES
from storage.bookmark import create
from storage.check import check
from storage.errors import Full, Unavailable
from storage.importer import REST_NOT_READ, ImportedEntry, Importer
from storage.store import Store
from tests.conftest import peak_memory

URI = "https://example.com/"
OLD, NEW = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


def import_entries(store, *entries):
    numbered = [ImportedEntry(line, entry) for line, entry in enumerate(entries, 1)]
    report = Importer(store).import_all(numbered)
    numbers = (report.created, report.updated, report.unchanged, report.skipped)
    return numbers, [(e.line, e.value, e.reason) for e in report.entries]


def only_bookmark(store):
    (bookmark,) = bookmarks_of(store)
    return bookmark


def test_an_existing_bookmark_keeps_its_fields_and_gains_new_ones(store):
    mine = {"uri": URI, "title": "Mine", "tags": ["a"], "created": NEW}
    theirs = {
        "uri": "HTTPS://EXAMPLE.com", "title": "Theirs", "description": "D", "tags": ["A", "b"],
        "created": OLD,
    }  # fmt: skip
    import_entries(store, mine)
    assert import_entries(store, theirs)[0] == (0, 1, 0, 0)
    bookmark = only_bookmark(store)
    assert (bookmark.uri, bookmark.title, bookmark.description) == (URI, "Mine", "D")
    assert (bookmark.tags, bookmark.created) == (("a", "b"), OLD)
    assert bookmark.modified > NEW
    assert import_entries(store, {"uri": URI, "description": "Other"})[0] == (0, 0, 1, 0)
    assert only_bookmark(store) == bookmark


@pytest.mark.parametrize("uri", [URI, f"{URI}{'x' * 5000}", f"{URI}e\u0301"], ids=len)
def test_a_title_replaces_the_default_title(store, uri):
    """The default title is the uri, cut and in NFC."""
    import_entries(store, {"uri": uri})
    assert (only_bookmark(store).title == uri) == (uri == URI)
    assert import_entries(store, {"uri": uri, "title": "A title"})[0] == (0, 1, 0, 0)
    assert only_bookmark(store).title == "A title"
    assert import_entries(store, {"uri": uri, "title": ""}, {"uri": uri})[0] == (0, 0, 2, 0)


@pytest.mark.parametrize("first, second", [(OLD, NEW), (NEW, OLD), (OLD, OLD)])
@pytest.mark.parametrize("tags", [[], ["b"]])
def test_two_entries_of_one_uri_are_one_bookmark_with_the_first_created(store, first, second, tags):
    entries = [
        {"uri": URI, "tags": ["a"], "created": first},
        {"uri": URI, "tags": tags, "created": second},
    ]
    import_entries(store, *entries)
    bookmark = store.holder(URI).bookmark
    assert (bookmark.created, bookmark.tags) == (OLD, ("a", *tags))
    assert import_entries(store, *entries)[0] == (0, 0, 2, 0)
    assert store.holder(URI).bookmark == bookmark


def test_an_entry_without_a_usable_address_is_skipped_and_the_others_are_imported(store):
    wrong = [{"uri": "no uri", "title": "x"}, {"title": "only"}, {"uri": f"{URI}\0"}]
    numbers, skipped = import_entries(store, {"uri": URI}, *wrong, {"uri": f"{URI}3"})
    assert numbers == (2, 0, 0, 3)
    named = [(line, value) for line, value, _ in skipped]
    assert named == [(2, "no uri"), (3, "only"), (4, f"{URI}\ufffd")]
    assert skipped[2][2] == "uri must not contain the character U+0000"


@pytest.mark.parametrize(
    "values, kept, note",
    [
        ({"created": "2024/13/45"}, {}, "created left out, because created must be a date"),
        ({"created": 5}, {}, "created left out, because created must be a string"),
        ({"modified": "2024-02-30T00:00:00Z"}, {}, "must be a date and time that exists"),
        ({"title": "x" * 5_000}, {"title": "x" * 4_096}, "title is cut to 4,096 characters"),
        ({"title": " \u0958" * 2_048 + "x"}, {"title": "\u0915\u093c"}, "title is cut to"),
        ({"description": "x" * 70_000}, {"description": "x" * 65_536}, "description is cut"),
        ({"title": "a\0b\x1fc\uffff"}, {"title": "abc"}, "characters that no format can have"),
        ({"title": "a\ud83d"}, {"title": "a\ufffd"}, "half a character, which is now U+FFFD"),
        ({"title": 5}, {}, "title left out, because title must be a string"),
        ({"tags": ["c", "\0", 5]}, {"tags": ("c",)}, "2 of tags left out, because tags"),
        ({"tags": ["a, b", "c"]}, {"tags": ("a", "b", "c")}, "tags with commas are split"),
        ({"tags": ["\ude00 x"]}, {"tags": ("\ufffd x",)}, "half a character"),
        ({"tags": ["c", "x" * 256]}, {"tags": ("c",)}, "at most 255 characters long"),
        ({"tags": "x"}, {}, "tags left out, because tags must be an array of strings"),
    ],
)  # fmt: skip
def test_a_wrong_value_never_costs_the_bookmark(store, values, kept, note):
    entry = {"uri": URI, "title": "T", "description": "D"} | values
    entry_importer = Importer(store)
    for outcome in ("created", "unchanged"):
        report = entry_importer.import_all([ImportedEntry("[0]", entry)])
        assert getattr(report, outcome) == 1
    assert (report.noted, report.skipped) == (2, 0)
    named = report.entries[0]
    assert (named.path, named.value) == ("[0]", URI)
    assert named.reason.startswith("stored, but ") and note in named.reason
    assert "at index" not in named.reason
    bookmark = only_bookmark(store)
    for name, value in kept.items():
        assert getattr(bookmark, name)[: len(value)] == value
    if "description" not in values:
        assert bookmark.description == "D"


def test_each_wrong_value_of_an_entry_is_noted(store):
    entry = {"uri": f"{URI}\ud83d", "title": "a\0", "tags": [5, "a"], "created": "no"}
    _, ((_, uri, reason),) = import_entries(store, entry)
    assert uri == only_bookmark(store).uri == f"{URI}\ufffd"
    assert reason.count(";") == 3


def test_an_entry_with_too_many_tags_keeps_the_first_ones(store):
    tags = [f"a{n}" for n in range(60)]
    tags += [*tags, *(f"b{n}" for n in range(60))]
    numbers, noted = import_entries(store, {"uri": URI, "tags": tags})
    assert numbers == (1, 0, 0, 0)
    assert noted[0][2] == "stored, but only the first 100 tags are kept"
    assert len(only_bookmark(store).tags) == 100
    entries = ({"uri": URI, "tags": tags} for tags in (["A0"], ["c", "a1", "d"]))
    _, ((line, _, reason),) = import_entries(store, *entries)
    assert line == 2 and reason.startswith("stored, but 2 of tags left out, because together with")
    assert reason.endswith("more than 100: c, d")


def test_many_wrong_tags_take_a_bounded_time(store):
    started = time.process_time()
    numbers, ((_, _, reason),) = import_entries(store, {"uri": URI, "tags": [5.0] * 1_000_000})
    assert numbers == (1, 0, 0, 0) and "1000 of tags left out" in reason
    assert time.process_time() - started < 2


def test_the_report_names_a_bounded_number_of_entries_and_each_rest_of_a_file(store, monkeypatch):
    monkeypatch.setattr(importer, "MAX_REPORTED_ENTRIES", 5)
    wrong = [ImportedEntry(1, {"uri": "x" * 1000})] * 9
    rests = [ImportedEntry(9, {}, f"{REST_NOT_READ}: x"), ImportedEntry(0, {}, "is no file")]
    report = Importer(store).import_all([*wrong, *rests])
    assert report.skipped == 11
    values = [len(entry.value) for entry in report.entries]
    assert values == [importer.MAX_VALUE_LENGTH] * 5 + [0, 0]


def test_an_id_is_kept_if_it_is_free_and_was_never_deleted(store):
    import_entries(store, {"id": "taken", "uri": URI}, {"id": "deleted", "uri": f"{URI}d"})
    delete_bookmark(store, store.get("deleted"))
    entries = [("taken", 1), ("deleted", 2), ("No id!", 3), ("free", 4), ("free", 5)]
    numbers, _ = import_entries(store, *[{"id": id, "uri": f"{URI}{n}"} for id, n in entries])
    assert numbers == (5, 0, 0, 0)
    ids = {b.uri: b.id for b in bookmarks_of(store)}
    assert ids[URI] == "taken" and ids[f"{URI}4"] == "free"
    assert {len(ids[f"{URI}{n}"]) for n in (1, 2, 3, 5)} == {13}


def test_each_file_is_synced(store, synced):
    import_entries(store, *[{"uri": f"{URI}{n}"} for n in range(10)])
    assert len(synced) == 11  # The files and the folder.
    synced.clear()
    assert import_entries(store, *[{"uri": f"{URI}{n}"} for n in range(10)])[0] == (0, 0, 10, 0)
    assert len(synced) == 11  # Another program may have written the unchanged files.


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_an_import_on_a_failing_disk_leaves_valid_files_and_the_next_import_finishes(
    store, tmp_path, monkeypatch, call
):
    import_entries(store, {"uri": URI, "title": "Before"})
    entries = [{"uri": URI, "tags": ["new"]}, *({"uri": f"{URI}{n}"} for n in range(5))]
    with monkeypatch.context() as patch, pytest.raises((Full, Unavailable)):
        patch.setattr(os, call, failing_from(3, getattr(os, call), errno.ENOSPC))
        import_entries(store, *entries)
    assert store.holder(URI).bookmark.title == "Before"
    assert bookmarks_of(store) == bookmarks_of(Store(tmp_path))
    assert check(tmp_path, keep_deleted=30) == []
    import_entries(store, *entries)
    assert len(bookmarks_of(store)) == 6
    assert import_entries(store, *entries)[0] == (0, 0, 6, 0)


def test_two_concurrent_imports_keep_the_tags_of_both(store, tmp_path):
    def import_with_tag(tag):
        entries = [{"uri": f"{URI}{n}", "tags": [tag]} for n in range(300)]
        import_entries(Store(tmp_path), *entries)

    run_together([partial(import_with_tag, tag) for tag in ("a", "b")])
    bookmarks = bookmarks_of(store)
    assert len(bookmarks) == 300
    assert {tuple(sorted(b.tags)) for b in bookmarks} == {("a", "b")}


def test_only_the_bookmark_that_cannot_be_written_is_skipped(store, tmp_path):
    path = tmp_path / "bookmarks" / "big.json"
    known = '{"id": "big", "uri": "x:big", "created": "2024-01-01T00:00:00Z", "more": "'
    path.write_text(known + "x" * (files.MAX_FILE_SIZE - len(known) - 10) + '"}')
    entries = [{"uri": f"{URI}{n}"} for n in range(5)] + [{"uri": "x:big", "tags": ["a", "b"]}]
    numbers, skipped = import_entries(store, *entries)
    assert numbers == (5, 0, 0, 1)
    assert skipped[0][:2] == (6, "x:big") and "larger than" in skipped[0][2]


def test_an_entry_with_too_many_tags_after_a_concurrent_update_is_noted(store, before_transaction):
    import_entries(store, {"uri": URI, "tags": ["a"]})
    entry = store.holder(URI)
    full = create({"uri": URI, "tags": tuple(f"t{n}" for n in range(99))}, entry.bookmark.id)
    before_transaction(store, lambda: put_bookmark(store, full, entry))
    numbers, noted = import_entries(store, {"uri": URI, "tags": ["b", "c"]}, {"uri": f"{URI}2"})
    assert numbers == (1, 1, 0, 0)
    assert noted[0][0] == 1 and "together with the stored tags" in noted[0][2]


def test_many_entries_of_one_uri_take_bounded_memory(store):
    fields = ({"uri": URI, "tags": [f"t{n % 90}"]} for n in range(10 * MAX_CHANGES))
    entries = (ImportedEntry(n, each) for n, each in enumerate(fields))
    assert peak_memory(lambda: Importer(store).import_all(entries)) < 4_000_000
    assert len(bookmarks_of(store)) == 1
