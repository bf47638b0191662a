"""What a list shows comes from one state of the collection, at a bounded cost."""

import pytest
from clients import bookmarks_of, delete_bookmark, put_bookmark

from storage import follower
from storage.bookmark import create, update
from storage.index import Index, count_tags
from storage.query import Query, parse_query
from storage.record import encode
from storage.selection import meets
from storage.store import Store


@pytest.fixture
def store(data):
    return Store(data)


def bookmark(id, **fields):
    return create({"uri": f"https://{id}.example/", "created": "2024-01-01T00:00:00Z"} | fields, id)


def shown(selection):
    """Return everything that formats show of a selection."""
    entries = [entry.bookmark for entry in selection.entries]
    numbers = (selection.total, selection.tombstone_count, selection.tag_counts(9))
    return entries, numbers, list(selection.tombstones), selection.latest, selection.state


@pytest.mark.parametrize(
    "parameters",
    [[], [("tag", "x")], [("q", "example")], [("sort", "title")], [("uri", "https://a.example/")]],
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


def test_a_query_leaves_out_bookmarks_that_have_a_tag(store):
    for id, tags in (("a", ("x",)), ("b", ("X", "Y")), ("c", ()), ("d", ("z",))):
        put_bookmark(store, bookmark(id, tags=tags))
    for query, ids in (
        (Query(without_tags=("y",)), "dca"),
        (Query(without_tags=("x", "z")), "c"),
        (Query(without_tags=("none",)), "dcba"),
        (Query(tags=("x",), without_tags=("y",)), "a"),
    ):
        selected = store.select(query).entries
        assert "".join(entry.bookmark.id for entry in selected) == ids
        for entry in store.select(Query()).entries:
            assert meets(entry, query) == (entry in selected)


def test_many_different_lists_keep_few_counted_tags(store):
    put_bookmark(store, bookmark("a", tags=("x",)))
    for number in range(500):
        store.select(parse_query([("q", f"{number} or example")])).tag_counts(55)
    assert len(store._cached_tag_counts) <= 50


class Passes(list):
    """A list that counts how often it is read from its beginning."""

    count = 0

    def __iter__(self):
        self.count += 1
        return super().__iter__()


def test_counting_many_tags_reads_the_bookmarks_twice():
    tags = [f"Tag{number}" for number in range(90)]
    index = Index({})
    for number, tag in enumerate(tags):
        made = bookmark(f"b{number}", tags=(tag,))
        index.change(made.id, follower.new_entry(made, 1, 0.0))
    entries = Passes(index.entries)
    assert sorted(count_tags(entries, 90)) == sorted((tag, 1) for tag in tags)
    assert entries.count == 2


def test_a_part_of_a_large_collection_changes_the_index_in_place(data, monkeypatch):
    monkeypatch.setattr(follower, "MIN_CHANGES_TO_REBUILD", 10)
    store = Store(data)
    for number in range(1500):
        (data / "bookmarks" / f"b{number}.json").write_bytes(encode(bookmark(f"b{number}")))
    store.refresh()
    made, create_index = [], follower.Index
    monkeypatch.setattr(follower, "Index", lambda *given: made.append(1) or create_index(*given))
    for count, is_rebuilt in ((40, False), (60, True)):
        made.clear()
        for number in range(count):
            changed = bookmark(f"b{number}", title=f"{count} changed")
            (data / "bookmarks" / f"b{number}.json").write_bytes(encode(changed))
        store.refresh()
        assert len(made) == is_rebuilt
        titles = [each.title for each in bookmarks_of(store)]
        assert titles.count(f"{count} changed") == count
