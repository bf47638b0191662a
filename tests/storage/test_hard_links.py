"""Updates of a file that was edited through a hard link, which inotify does not report."""

import json
import os
import time

import pytest
from clients import ask, put, put_body, service_of, titles, uri_of

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
def service(start, data):
    service = start(service_of(data))
    assert put(service.address, "a", "Old").status == 201
    return service


@pytest.fixture
def etag(service, data, tmp_path):
    """Edit the file through a link; return the ETag of the version before."""
    etag = ask(service.address, path="/a").headers["ETag"]
    path, link = data / "bookmarks" / "a.json", tmp_path / "elsewhere.json"
    os.link(path, link)
    link.write_text(json.dumps({**json.loads(path.read_text()), "title": "Linked", "more": 1}))
    assert path.samefile(link)
    return etag


def stored(data):
    return json.loads((data / "bookmarks" / "a.json").read_text())


def ask_quickly(update, *arguments, **headers):
    start = time.monotonic()
    response = update(*arguments, **headers)
    assert time.monotonic() - start < 4  # A write that waits in vain for the lock takes 5.
    return response


@pytest.mark.parametrize(("update", "wanted"), UPDATES.values(), ids=UPDATES)
def test_an_update_changes_the_present_content_of_the_file(service, data, etag, update, wanted):
    assert ask_quickly(update, service.address).status == 200
    result = stored(data)
    assert {name: result[name] for name in wanted} == wanted
    assert result["more"] == 1
    assert titles(service.address) == {"a": wanted["title"]}


@pytest.mark.parametrize("update", [update for update, _ in UPDATES.values()], ids=UPDATES)
def test_an_update_of_the_version_before_the_edit_is_412(service, data, etag, update):
    assert ask_quickly(update, service.address, If_Match=etag).status == 412
    assert stored(data)["title"] == "Linked"
    assert titles(service.address) == {"a": "Linked"}
