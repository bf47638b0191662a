"""The next request sees every change that an editor or another program made to the files."""

import json
import os
import shutil
import sys

import pytest
from clients import Server, ask, put, service_of, titles, uri_of

from tests.conftest import write_file
from tests.storage.conftest import emptied

# The command on a system without free inotify instances.
WITHOUT_INOTIFY = """
import sys
import bookmarks, storage.watch

def refuse(*_, **__):
    raise OSError(24, "Too many open files")

storage.watch.INotify = refuse
sys.exit(bookmarks.main(sys.argv[1:]))
"""


def without_inotify(data):
    return [sys.executable, "-c", WITHOUT_INOTIFY, *service_of(data)[2:]]


@pytest.fixture(scope="module", params=[service_of, without_inotify], ids=["inotify", "no inotify"])
def service(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    service = Server(request.param(folder / "data"), folder / "log")
    service.data = folder / "data"
    yield service
    service.stop()


@pytest.fixture
def data(service):
    return emptied(service.data)


@pytest.fixture
def address(service, data):
    """The address of a service that has listed the bookmarks a, b and c, titled by their ids."""
    for id in ("a", "b", "c"):
        assert put(service.address, id, id).status == 201
    assert titles(service.address) == {"a": "a", "b": "b", "c": "c"}
    return service.address


def file_of(data, id):
    return data / "bookmarks" / f"{id}.json"


def text_of(id, title):
    return json.dumps(
        {"id": id, "uri": uri_of(id), "title": title, "created": "2020-01-01T00:00:00Z"}
    )


# --- One file ---

@pytest.mark.parametrize("keeps_time", [False, True])
def test_an_edit_in_place_is_seen(address, data, keeps_time):
    for number in range(10, 15):  # All of one size, several within one tick of file times.
        file_of(data, "a").write_text(text_of("a", f"{number}"))
        if keeps_time:
            os.utime(file_of(data, "a"), (1, 1))
        assert titles(address) == {"a": f"{number}", "b": "b", "c": "c"}
        assert ask(address, path="/a/title").body.strip() == f"{number}".encode()


def test_a_file_is_seen_while_it_is_open_and_after_it_was_cut_off(address, data):
    with file_of(data, "a").open("w") as file:
        text = text_of("a", "New")
        for part, seen in ((text[:20], {}), (text[20:], {"a": "New"})):
            file.write(part)
            file.flush()
            assert titles(address) == {"b": "b", "c": "c"} | seen
            assert ask(address, path="/a").status == (200 if seen else 503)
    os.truncate(file_of(data, "a"), 10)
    assert titles(address) == {"b": "b", "c": "c"}


def test_a_file_moved_to_its_name_or_away_from_it_is_seen(address, data):
    for title in ("x", "y"):
        swap = data / "bookmarks" / "a.json~"
        swap.write_text(text_of("a", title))
        swap.rename(file_of(data, "a"))
        assert titles(address)["a"] == title
    file_of(data, "a").write_text(text_of("d", "d"))
    file_of(data, "a").rename(file_of(data, "d"))
    assert titles(address) == {"b": "b", "c": "c", "d": "d"}


def test_an_added_and_a_removed_file_are_seen(address, data):
    before = ask(address).headers["ETag"]
    file_of(data, "d").write_text(text_of("d", "d"))
    assert titles(address) == {"a": "a", "b": "b", "c": "c", "d": "d"}
    assert ask(address, path=f"/?uri={uri_of('d')}").headers["X-Total-Count"] == "1"
    file_of(data, "d").unlink()
    assert titles(address) == {"a": "a", "b": "b", "c": "c"}
    assert ask(address, path="/d").status == 404
    assert ask(address).headers["ETag"] == before


def test_an_added_tombstone_hides_its_bookmark_and_a_removed_one_shows_it(address, data):
    write_file(data, "tombstones", "a", deleted="2020-01-01T00:00:00Z")
    assert ask(address, path="/a").status == 410
    assert titles(address) == {"b": "b", "c": "c"}
    (data / "tombstones" / "a.json").unlink()
    assert titles(address) == {"a": "a", "b": "b", "c": "c"}


def test_a_removed_folder_of_tombstones_hides_nothing_and_is_made_again(address, data):
    """git removes a folder with its last file."""
    write_file(data, "tombstones", "a", deleted="2020-01-01T00:00:00Z")
    assert titles(address) == {"b": "b", "c": "c"}
    shutil.rmtree(data / "tombstones")
    assert titles(address) == {"a": "a", "b": "b", "c": "c"}
    assert ask(address, "DELETE", "/b").status == 204
    assert titles(address) == {"a": "a", "c": "c"}


# --- Many changes ---

def test_more_changes_than_the_inotify_queue_holds_are_seen(address, data):
    for number in range(10_000):  # Alternate, because inotify merges equal events.
        os.utime(file_of(data, "a" if number % 2 else "b"))
        os.utime(file_of(data, "c"))
    file_of(data, "a").write_text(text_of("a", "New"))
    file_of(data, "b").unlink()
    file_of(data, "d").write_text(text_of("d", "d"))
    assert titles(address) == {"a": "New", "c": "c", "d": "d"}
    file_of(data, "a").write_text(text_of("a", "Newer"))
    assert titles(address) == {"a": "Newer", "c": "c", "d": "d"}


def make_data_folder(folder, *ids):
    (folder / "bookmarks").mkdir(parents=True)
    (folder / "tombstones").mkdir()
    for id in ids:
        file_of(folder, id).write_text(text_of(id, "Other"))
    return folder


def require_followed(address, data):
    assert titles(address) == {"a": "Other", "d": "Other"}
    assert put(address, "e", "e").status == 201
    assert file_of(data, "e").exists()
    file_of(data, "a").write_text(text_of("a", "New"))
    assert titles(address) == {"a": "New", "d": "Other", "e": "e"}


@pytest.mark.parametrize("part", ["", "bookmarks"], ids=["the data folder", "one of its folders"])
def test_a_replaced_folder_is_followed(address, data, tmp_path, part):
    (data / part).rename(tmp_path / "aside")
    assert ask(address).status == 503
    (make_data_folder(tmp_path / "new", "a", "d") / part).rename(data / part)
    require_followed(address, data)


def test_a_changed_symbolic_link_to_the_data_folder_is_followed(address, data, tmp_path):
    link = data
    data.rename(tmp_path / "aside")
    link.symlink_to(make_data_folder(tmp_path / "old", "b", "c"))
    assert titles(address) == {"b": "Other", "c": "Other"}
    (tmp_path / "link").symlink_to(make_data_folder(tmp_path / "new", "a", "d"))
    (tmp_path / "link").replace(link)
    require_followed(address, tmp_path / "new")
