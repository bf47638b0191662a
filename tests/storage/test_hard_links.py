"""Updates of a file that was edited through a hard link, which inotify does not report."""

import json
import os

import pytest
from clients import ask, ask_within, put, put_body, titles, uri_of

OLD, LINKED = [put_body(uri_of("a"), title) for title in ("Old", "Linked")]
# Each update with the fields that the bookmark then has.
UPDATES = [
    (("PUT", "/a", OLD), OLD),
    (("PUT", "/a", LINKED), LINKED),
    (("PUT", "/a/tags", b"new"), {**LINKED, "tags": ["new"]}),
]


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


@pytest.mark.parametrize(("request_", "wanted"), UPDATES)
def test_an_update_changes_the_present_content_of_the_file(
    shared_service, shared_data, tmp_path, request_, wanted
):
    address, file = shared_service.address, shared_data / "bookmarks" / "a.json"
    etag = edit_through_a_link(address, file, tmp_path)
    # A write that waits in vain for the lock takes 5 seconds.
    assert ask_within(4, address, *request_, If_Match=etag).status == 412
    assert json.loads(file.read_text())["title"] == "Linked"
    assert titles(address) == {"a": "Linked"}
    edit_through_a_link(address, file, tmp_path)
    assert ask_within(4, address, *request_).status == 200
    result = json.loads(file.read_text())
    assert {name: result[name] for name in wanted} == wanted
    assert result["more"] == 1
    assert titles(address) == {"a": wanted["title"]}
