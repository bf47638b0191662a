"""Copying the data folder makes a backup; copying it back restores or merges."""

import shutil
import subprocess

import pytest
from clients import ask, check, put, put_back, repair, service_of, titles


def copy(source, target):
    subprocess.run(["cp", "-r", f"{source}/.", target], check=True, timeout=60)


@pytest.fixture
def data(shared_data):
    return shared_data


@pytest.fixture
def address(shared_service, data):
    address = shared_service.address
    for id in ("a", "b", "c"):
        assert put(address, id, "Before").status == 201
    assert ask(address, "DELETE", "/c").status == 204
    return address


@pytest.mark.parametrize("first", ["bookmarks", "tombstones"])
def test_a_bookmark_deleted_during_the_copy_is_whole_after_the_restore(
    start, address, data, tmp_path, first
):
    """The copy has its file, and the tombstone if that folder is copied last."""
    backup = tmp_path / "backup"
    for folder in (first, *{"bookmarks", "tombstones"} - {first}):
        shutil.copytree(data / folder, backup / folder)
        if folder == first:
            assert ask(address, "DELETE", "/a").status == 204
    status = ask(start(service_of(backup)).address, path="/a").status
    assert status == (410 if first == "bookmarks" else 200)


@pytest.mark.parametrize("first", ["bookmarks", "tombstones"])
def test_a_bookmark_put_back_during_a_copy_that_begins_with_the_tombstones_is_active_in_it(
    start, address, data, tmp_path, first
):
    """A copy that ends with the tombstones has it in the trash."""
    backup = tmp_path / "backup"
    shutil.copytree(data / first, backup / first)
    assert ask(address, "DELETE", "/a").status == 204
    assert put_back(address, "a").status == 303
    (second,) = {"bookmarks", "tombstones"} - {first}
    shutil.copytree(data / second, backup / second)
    copied = start(service_of(backup)).address
    is_active = "Before" in [title for id, title in titles(copied).items() if id != "b"]
    assert is_active == (first == "tombstones")
    assert is_active or put_back(copied, "a").status == 303
    assert sorted(titles(copied).values()) == ["Before", "Before"]


def test_the_next_request_sees_a_restored_backup_but_no_deleted_bookmark(address, data, tmp_path):
    copy(data, tmp_path / "backup")
    etag = ask(address).headers["ETag"]
    assert put(address, "a", "After").status == 200
    (data / "bookmarks" / "b.json").unlink()
    copy(tmp_path / "backup", data)
    assert titles(address) == {"a": "Before", "b": "Before"}
    assert ask(address).headers["ETag"] == etag
    assert ask(address, "DELETE", "/a").status == 204
    assert put(address, "d", "After").status == 201
    copy(tmp_path / "backup", data)
    assert titles(address) == {"b": "Before", "d": "After"}
    assert ask(address, path="/a").status == 410


@pytest.mark.parametrize(
    "order, between", [(("bookmarks", "tombstones"), 200), (("tombstones", "bookmarks"), 503)]
)
def test_requests_during_a_restore_create_no_folder(address, data, tmp_path, order, between):
    """Without its tombstone, the kept file of a deleted bookmark is one of a bookmark."""
    copy(data, tmp_path / "backup")
    etag = ask(address).headers["ETag"]
    shutil.rmtree(data)
    assert ask(address).status == 503
    data.mkdir()
    for folder, expected in zip(order, (503, between), strict=True):
        assert ask(address).status == expected
        assert ask(address, path="/c").status == expected
        assert not (data / folder).exists()
        shutil.copytree(tmp_path / "backup" / folder, data / folder)
    assert titles(address) == {"a": "Before", "b": "Before"}
    assert ask(address, path="/c").status == 410
    assert ask(address).headers["ETag"] == etag


def test_copying_one_collection_into_another_merges_them(start, address, data, tmp_path):
    copy(data, tmp_path / "other")
    other = start(service_of(tmp_path / "other")).address
    here = ask(address, "POST", "/", {"uri": "https://here.example/"}).json["id"]
    there = ask(other, "POST", "/", {"uri": "https://there.example/"}).json["id"]
    assert ask(address, "DELETE", "/a").status == 204
    assert ask(other, "DELETE", "/b").status == 204
    copy(tmp_path / "other", data)
    assert set(titles(address)) == {here, there}
    assert [ask(address, path=f"/{id}").status for id in "abc"] == [410, 410, 410]
    copy(data, tmp_path / "other")
    assert ask(other).body == ask(address).body
    assert ask(other).headers["ETag"] == ask(address).headers["ETag"]
    assert check(data) == (0, [])  # The files of deleted bookmarks are kept.
    assert repair(data) == (0, [])
    assert set(titles(address)) == {here, there}
