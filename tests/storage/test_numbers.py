"""Each id has a number for clients whose ids are integers; ids that share one are not mixed up."""

import pytest
from clients import check as check_command
from clients import delete_bookmark, put_bookmark

from storage.bookmark import create
from storage.check import check
from storage.errors import Gone, NotFound
from storage.store import Store
from storage.tsid import linkding_number

# The CRC-32 of these ids agrees in its lower 31 bits.
SAME = ("id-3985819", "id-4420602")


def new(store, id):
    return put_bookmark(store, create({"uri": f"https://{id}.example/"}, id))


def test_a_number_is_a_positive_integer_of_31_bits():
    numbers = [linkding_number(f"id-{n}") for n in range(10_000)]
    assert all(0 < number < 2**31 for number in numbers)
    assert len(set(numbers)) > 9_990


def test_no_number_is_0(monkeypatch):
    monkeypatch.setattr("zlib.crc32", lambda data: 2**31)  # The lower 31 bits are 0.
    assert linkding_number("any") == 1


def test_the_number_of_an_id_never_changes():
    assert linkding_number("0s9yex328jt74") == 475727080


def test_a_bookmark_is_found_by_its_number_in_every_process_and_after_a_restart(data):
    store, other = Store(data), Store(data)
    entries = [new(store, f"id-{n}") for n in range(20)]
    for each in (store, other, Store(data)):
        for entry in entries:
            id = each.id_of_number(linkding_number(entry.bookmark.id))
            found = each.get(id)
            assert found.bookmark == entry.bookmark


def test_a_number_stays_the_same_when_others_are_deleted(data):
    store = Store(data)
    entries = [new(store, f"id-{n}") for n in range(20)]
    for entry in entries[::2]:
        delete_bookmark(store, entry)
        with pytest.raises(Gone):
            store.get(store.id_of_number(linkding_number(entry.bookmark.id)))
    for entry in entries[1::2]:
        assert store.id_of_number(linkding_number(entry.bookmark.id)) == entry.bookmark.id


@pytest.mark.parametrize("is_deleted", [False, True])
def test_no_bookmark_is_found_by_a_number_that_two_ids_share(data, is_deleted):
    store = Store(data)
    assert linkding_number(SAME[0]) == linkding_number(SAME[1])
    first = new(store, SAME[0])
    assert store.get(store.id_of_number(linkding_number(SAME[0]))).bookmark == first.bookmark
    new(store, SAME[1])
    if is_deleted:
        delete_bookmark(store, first)
    for each in (store, Store(data)):
        with pytest.raises(NotFound):
            each.get(each.id_of_number(linkding_number(SAME[0])))


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_new_id_has_a_number_that_no_other_id_has(data, monkeypatch, is_deleted):
    store = Store(data)
    entry = new(store, SAME[0])
    if is_deleted:
        delete_bookmark(store, entry)
    ids = iter([SAME[1], SAME[1], "another"])
    monkeypatch.setattr(store._minter, "mint", lambda: next(ids))
    with store.transaction() as folder:
        assert folder.mint() == "another"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_check_names_ids_with_the_same_number(data, is_deleted):
    store = Store(data)
    first, _ = new(store, SAME[0]), new(store, SAME[1])
    if is_deleted:
        delete_bookmark(store, first)
    (finding,) = check(data)
    assert finding.path.stem == SAME[1]
    assert finding.problem == f"has an id with the same number as {SAME[0]}"
    status, (line,) = check_command(data)  # No file is damaged, so this is no failure.
    assert (status, line) == (0, str(finding))


def test_a_removed_file_frees_its_number(data):
    store = Store(data)
    new(store, SAME[0])
    second = new(store, SAME[1])
    (data / "bookmarks" / f"{SAME[0]}.json").unlink()
    assert store.get(store.id_of_number(linkding_number(SAME[1]))).bookmark == second.bookmark
