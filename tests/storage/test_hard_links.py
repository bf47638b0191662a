"""A file that is edited through a hard link from elsewhere, of which inotify reports nothing."""

import json
import os
import time

import pytest
from clients import ask, put, service_of, titles, uri_of, whole

OLD, LINKED, NEW = [whole(uri_of("a"), title) for title in ("Old", "Linked", "New")]
TAGGED = {**LINKED, "tags": ["new"]}

# Each with the bookmark that it leaves of the one that was edited through the link.
UPDATES = {
    "PUT": (lambda a, **h: ask(a, "PUT", "/a", NEW, **h), NEW),
    "PUT of what was there before": (lambda a, **h: ask(a, "PUT", "/a", OLD, **h), OLD),
    "PUT of what is there now": (lambda a, **h: ask(a, "PUT", "/a", LINKED, **h), LINKED),
    "PUT of a field": (lambda a, **h: ask(a, "PUT", "/a/tags", b"new", **h), TAGGED),
    "POST": (lambda a, **h: ask(a, "POST", "/a", {"tags": ["new"]}, **h), TAGGED),
    "POST of what was there before": (lambda a, **h: ask(a, "POST", "/a", OLD, **h), OLD),
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
    assert time.monotonic() - start < 1
    return response


@pytest.mark.parametrize(("update", "wanted"), UPDATES.values(), ids=UPDATES)
def test_an_update_is_of_what_the_file_really_holds(service, data, etag, update, wanted):
    assert ask_quickly(update, service.address).status == 200
    result = stored(data)
    assert {name: result[name] for name in wanted} == wanted
    assert result["more"] == 1
    assert titles(service.address) == {"a": wanted["title"]}


@pytest.mark.parametrize("update", [update for update, _ in UPDATES.values()], ids=UPDATES)
def test_an_update_of_the_version_before_the_edit_fails(service, data, etag, update):
    assert ask_quickly(update, service.address, If_Match=etag).status == 412
    assert stored(data)["title"] == "Linked"
    assert titles(service.address) == {"a": "Linked"}
