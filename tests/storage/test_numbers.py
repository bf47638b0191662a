"""The application gives each id a number; ids that share one are not mixed up."""

import pytest
from clients import check as check_command
from clients import delete_bookmark, put_bookmark

from storage.bookmark import create
from storage.check import check
from storage.store import Store


def new(store, id):
    return put_bookmark(store, create({"uri": f"https://{id}.example/"}, id))


@pytest.fixture
def store(data, monkeypatch):
    """Return a store in which the number of an id is its length."""
    monkeypatch.setattr("zlib.crc32", len)
    return Store(data)


@pytest.mark.parametrize("other_ids", [[], ["bb"], ["bb", "cc", "dd"]])
def test_ids_are_found_by_number_in_every_store_and_after_a_restart(data, store, other_ids):
    other = Store(data)
    for id in ["aaa", *other_ids, "a"]:
        new(store, id)
    for each in (store, other, Store(data)):
        assert list(each.ids_of_number(1)) == ["a"]
        assert sorted(each.ids_of_number(2)) == other_ids
        assert list(each.ids_of_number(3)) == ["aaa"]
        assert list(each.ids_of_number(4)) == []


def test_a_deleted_bookmark_keeps_its_number(data, store):
    delete_bookmark(store, new(store, "aa"))
    for each in (store, Store(data)):
        assert list(each.ids_of_number(2)) == ["aa"]


def test_a_removed_file_frees_its_number(data, store):
    new(store, "aa")
    new(store, "bb")
    (data / "bookmarks" / "aa.json").unlink()
    assert list(store.ids_of_number(2)) == ["bb"]


def mint_from(store, monkeypatch, *ids):
    following = iter(ids)
    monkeypatch.setattr(store._minter, "mint", lambda: next(following))


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_new_id_has_a_number_that_no_other_id_has(store, monkeypatch, is_deleted):
    entry = new(store, "aa")
    if is_deleted:
        delete_bookmark(store, entry)
    mint_from(store, monkeypatch, "bb", "cc", "another")
    with store.transaction() as folder:
        assert folder.mint() == "another"


def test_new_ids_of_one_transaction_have_different_numbers(store, monkeypatch):
    mint_from(store, monkeypatch, "aa", "bb", "another")
    with store.transaction() as folder:
        for uri in ("x:1", "x:2"):
            folder.put(create({"uri": uri}, folder.mint()))
    assert list(store.ids_of_number(2)) == ["aa"]
    assert list(store.ids_of_number(7)) == ["another"]


# linkding's clients know these ids by the same number.
SAME = ("id-3985819", "id-4420602")


def check_numbers(data):
    return [finding for finding in check(data, 30) if "same number" in finding.problem]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_check_names_ids_with_the_same_number(data, is_deleted):
    store = Store(data)
    first = new(store, SAME[0])
    new(store, SAME[1])
    if is_deleted:
        delete_bookmark(store, first)
    (finding,) = check_numbers(data)
    assert finding.path.stem == SAME[1]
    assert finding.problem == f"has an id with the same number as {SAME[0]}"
    status, lines = check_command(data)  # No file is damaged, so this is no failure.
    assert status == 0
    assert str(finding) in lines


def test_check_names_no_ids_of_deleted_bookmarks_alone(data):
    store = Store(data)
    for id in SAME:
        delete_bookmark(store, new(store, id))
    assert check_numbers(data) == []


def test_an_imported_bookmark_gets_no_number_of_another(run, data, tmp_path, monkeypatch):
    new(Store(data), SAME[0])
    ids = iter([SAME[1], "another"])
    monkeypatch.setattr("storage.tsid.Minter.mint", lambda minter: next(ids))
    file = tmp_path / "links.txt"
    file.write_text("https://new.example/\n")
    run("import", file, data=data)
    assert Store(data).get("another").bookmark.uri == "https://new.example/"
