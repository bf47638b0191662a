"""What a list shows comes from one state of the collection, at a bounded cost."""

import pytest
from clients import delete_bookmark, put_bookmark

from storage.bookmark import create, update
from storage.query import parse_query


def bookmark(id, **fields):
    return create({"uri": f"https://{id}.example/", "created": "2024-01-01T00:00:00Z"} | fields, id)


def shown(selection):
    entries = [entry.bookmark for entry in selection.entries]
    numbers = (selection.total, selection.tombstone_count, selection.tag_counts(9))
    return entries, numbers, list(selection.tombstones), selection.latest, selection.state


@pytest.mark.parametrize(
    "parameters",
    [[], [("tag", "x")], [("q", "example")], [("sort", "title")]],
    ids=str,
)
def test_a_selection_shows_the_state_in_which_it_was_made(store, parameters):
    query = parse_query(parameters)
    for id in ("a", "b", "c"):
        put_bookmark(store, bookmark(id, tags=("x", id)))
    delete_bookmark(store, store.get("c"))
    before = store.select(query)
    expected = shown(store.select(query))
    put_bookmark(store, bookmark("d", tags=("x",)))
    a = store.get("a")
    put_bookmark(store, update(a.bookmark, {"tags": ("y",), "title": "New"}), a)
    delete_bookmark(store, store.get("b"))
    store.refresh()
    assert shown(before) == expected
    assert shown(store.select(query)) != expected


def test_many_different_lists_keep_few_counted_tags(store):
    put_bookmark(store, bookmark("a", tags=("x",)))
    for number in range(500):
        store.select(parse_query([("q", f"{number} or example")])).tag_counts(55)
    assert len(store._cached_tag_counts) <= 50
