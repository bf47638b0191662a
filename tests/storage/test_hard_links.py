"""Updates of a file that was edited through a hard link, which inotify does not report."""

import json
import os
import time

import pytest
from clients import ask, put, put_body, titles, uri_of

OLD, LINKED, NEW = [put_body(uri_of("a"), title) for title in ("Old", "Linked", "New")]
TAGGED = {**LINKED, "tags": ["new"]}

# Each update with the fields that the bookmark then has.
UPDATES = {
    "PUT": (lambda a, **h: ask(a, "PUT", "/a", NEW, **h), NEW),
    "PUT of the old values": (lambda a, **h: ask(a, "PUT", "/a", OLD, **h), OLD),
    "PUT of the present values": (lambda a, **h: ask(a, "PUT", "/a", LINKED, **h), LINKED),
    "PUT of a field": (lambda a, **h: ask(a, "PUT", "/a/tags", b"new", **h), TAGGED),
    "POST": (lambda a, **h: ask(a, "POST", "/a", {"tags": ["new"]}, **h), TAGGED),
    "POST of the old values": (lambda a, **h: ask(a, "POST", "/a", OLD, **h), OLD),
}


@pytest.fixture
def file(shared_data):
    return shared_data / "bookmarks" / "a.json"


@pytest.fixture
def address(shared_service):
    return shared_service.address


def edit_through_a_link(address, file, tmp_path):
    """Store the bookmark a, edit its file elsewhere; return the ETag of the version before."""
    put(address, "a", "Old")
    etag = ask(address, path="/a").headers["ETag"]
    link = tmp_path / "elsewhere.json"
    link.unlink(missing_ok=True)
    os.link(file, link)
    link.write_text(json.dumps({**json.loads(file.read_text()), "title": "Linked", "more": 1}))
    assert file.samefile(link)
    return etag


def ask_quickly(update, *arguments, **headers):
    start = time.monotonic()
    response = update(*arguments, **headers)
    assert time.monotonic() - start < 4  # A write that waits in vain for the lock takes 5.
    return response.status


@pytest.mark.parametrize(("update", "wanted"), UPDATES.values(), ids=UPDATES)
def test_an_update_changes_the_present_content_of_the_file(address, file, tmp_path, update, wanted):
    etag = edit_through_a_link(address, file, tmp_path)
    assert ask_quickly(update, address, If_Match=etag) == 412
    assert json.loads(file.read_text())["title"] == "Linked"
    assert titles(address) == {"a": "Linked"}
    edit_through_a_link(address, file, tmp_path)
    assert ask_quickly(update, address) == 200
    result = json.loads(file.read_text())
    assert {name: result[name] for name in wanted} == wanted
    assert result["more"] == 1
    assert titles(address) == {"a": wanted["title"]}
