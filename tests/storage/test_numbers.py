"""The application gives each id a number; ids that share one are not mixed up."""

import pytest
from clients import check, delete_bookmark, put_bookmark

from storage.bookmark import create
from storage.store import Store


def new(store, id):
    return put_bookmark(store, create({"uri": f"https://{id}.example/"}, id))


@pytest.fixture
def store(data, monkeypatch):
    """Return a store in which the number of an id is its length."""
    monkeypatch.setattr("zlib.crc32", len)
    return Store(data)


def test_a_deleted_bookmark_keeps_its_number_and_a_removed_file_frees_it(data, store):
    delete_bookmark(store, new(store, "aa"))
    new(store, "bb")
    (data / "bookmarks" / "bb.json").unlink()
    for each in (store, Store(data)):
        assert list(each.ids_of_number(2)) == ["aa"]


def test_a_new_id_has_a_number_that_no_other_id_has(store, monkeypatch):
    new(store, "aa")
    delete_bookmark(store, new(store, "bbb"))
    following = iter(["cc", "ddd", "eeee", "ffff", "another"])
    monkeypatch.setattr(store._minter, "mint", lambda: next(following))
    with store.transaction() as folder:
        ids = [folder.mint()]
        folder.put(create({"uri": "x:1"}, ids[0]))
        ids.append(folder.mint())
    assert ids == ["eeee", "another"]


# linkding's clients know these ids by the same number.
SAME = ("id-3985819", "id-4420602")


def test_check_names_ids_with_the_same_number_unless_both_are_deleted(data):
    store = Store(data)
    entries = [new(store, id) for id in SAME]
    for entry in entries:
        status, (line,) = check(data)
        assert status == 0  # No file is damaged.
        assert f"{SAME[1]}.json: has an id with the same number as {SAME[0]}: " in line
        delete_bookmark(store, entry)
    assert check(data) == (0, [])


def test_an_imported_bookmark_gets_no_number_of_another(run, data, tmp_path, monkeypatch):
    new(Store(data), SAME[0])
    ids = iter([SAME[1], "another"])
    monkeypatch.setattr("storage.tsid.Minter.mint", lambda minter: next(ids))
    file = tmp_path / "links.txt"
    file.write_text("https://new.example/\n")
    run("import", file, data=data)
    assert Store(data).get("another").bookmark.uri == "https://new.example/"
