"""Clients of linkding's API work with the service: one from PyPI, others by their requests."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.conftest import URI, Service, skip_without
from tests.storage.clients import ask

TOKEN = "a-token-of-enough-characters"
AIOLINKDING = """
import asyncio
import json
import sys

from aiolinkding import async_get_client
from aiolinkding.errors import InvalidTokenError, UnknownEndpointError


async def main(address, token, url):
    try:
        await (await async_get_client(address, "wrong")).tags.async_get_all()
    except InvalidTokenError:
        print("refused")
    client = await async_get_client(address, token)
    bookmarks, results = client.bookmarks, []
    made = await bookmarks.async_create(url, title="T", tag_names=["a", "b c"], unread=True)
    results.append(made)
    results.append(await bookmarks.async_get_single(made["id"]))
    results.append(await bookmarks.async_get_all(query="#a", limit=1, offset=0))
    results.append(await bookmarks.async_update(made["id"], title="U", notes="N", tag_names=["x"]))
    await bookmarks.async_archive(made["id"])
    results.append(await bookmarks.async_get_archived())
    await bookmarks.async_unarchive(made["id"])
    results.append(await client.tags.async_get_all())
    results.append(await client.tags.async_get_single(results[-1]["results"][0]["id"]))
    results.append(await client.user.async_get_profile())
    await bookmarks.async_delete(made["id"])
    try:
        await bookmarks.async_get_single(made["id"])
    except UnknownEndpointError:
        print("deleted")
    print(json.dumps(results))


asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The Python of an environment with aiolinkding, which requires old versions of packages."""
    folder = tmp_path_factory.mktemp("clients") / "venv"
    uv = str(Path(sys.executable).with_name("uv"))
    run(uv, "venv", "-q", "--no-project", "--python", sys.executable, str(folder))
    install = [uv, "pip", "install", "-q", "--python", str(folder), "aiolinkding >= 2024.9"]
    process = subprocess.run(install, capture_output=True, text=True, timeout=300)
    if process.returncode:
        skip_without("a package index: " + process.stderr.strip().splitlines()[-1])
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("linkding"), BOOKMARKS_TOKEN=TOKEN)
    yield service
    service.stop()


@pytest.fixture
def linkding(shared):
    shared.empty()
    return shared


def run(*command):
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process
    return process.stdout


def test_aiolinkding_works(environment, linkding):
    output = run(environment, "-c", AIOLINKDING, linkding.address, TOKEN, URI)
    refused, deleted, results = output.splitlines()
    assert (refused, deleted) == ("refused", "deleted")
    made, single, listed, updated, archived, tags, tag, profile = json.loads(results)
    assert (made["url"], made["title"], made["unread"]) == (URI, "T", True)
    assert made["tag_names"] == ["a", "b\xa0c"]
    assert single == made
    assert listed == {"count": 1, "next": None, "previous": None, "results": [made]}
    assert (updated["title"], updated["description"], updated["notes"]) == ("U", "", "N")
    assert updated["tag_names"] == ["x"]
    assert [bookmark["id"] for bookmark in archived["results"]] == [made["id"]]
    assert [each["name"] for each in tags["results"]] == ["x"]
    assert tags["results"] == [tag]
    assert profile["theme"] == "auto"


# --- The requests of other clients, as their sources write them ---

class Form(dict):
    """The fields of a form; other bodies are JSON."""


BOOKMARKS, TAGS = "/api/bookmarks/", "/api/tags/"
ONE = BOOKMARKS + "{id}/"
CHECK = f"{BOOKMARKS}check/?url={quote(URI, safe='')}"
TEST = ("GET", f"{BOOKMARKS}?limit=1", None, 200, {"count": 0, "results": []})
NOTHING = {"bookmark": None, "auto_tags": []}
POPUP = {"url": URI, "title": "T", "description": "D", "notes": "", "unread": False}
POPUP |= {"shared": False, "tag_names": ["a", "b"]}
PINKT = {"id": None, **POPUP, "is_archived": False, "website_title": None, "date_added": None}
LINKDY = {"url": URI, "title": "T", "description": "D", "is_archived": "false", "unread": "true"}
LINKDY |= {"shared": "false", "tag_names": "a,b"}
READ = {"unread": "false", "tag_names": "b,c"}
UNTITLED = POPUP | {"title": ""}
NEWER = {"description": "E", "tag_names": ["b"], "unread": True}
LINK = {"url": URI, "title": "", "description": "", "tag_names": ["c"], "unread": False}
EXTENSION = [
    TEST,
    ("GET", "/api/user/profile/", None, 200, {"enable_sharing": False}),
    ("GET", f"{TAGS}?limit=5000", None, 200, {"results": []}),
    ("GET", CHECK, None, 200, NOTHING),
    ("POST", f"{BOOKMARKS}?disable_scraping", POPUP, 201, {"title": "T", "tag_names": ["a", "b"]}),
    ("GET", CHECK, None, 200, {"auto_tags": []}),
    # The popup has shown the stored tags, and has no title.
    ("POST", f"{BOOKMARKS}?disable_scraping", UNTITLED | NEWER, 201, {"title": "T", **NEWER}),
    # The context menu of a link knows nothing of a stored bookmark.
    ("POST", f"{BOOKMARKS}?disable_scraping", LINK, 201, NEWER | {"tag_names": ["b", "c"]}),
    ("GET", ONE, None, 200, {"url": URI}),
    ("GET", f"{BOOKMARKS}?q=%23b&limit=5", None, 200, {"count": 1}),
    ("DELETE", ONE, None, 204, None),
]
# linkding-sync keeps the order of its bookmarks in the notes of this one.
CONFIG = "http://example.com/?linkding-sync-config"
ORDER = '{"order":["https://two.example/","https://one.example/"]}'
SYNCED = {"url": URI, "title": "T", "tag_names": ["bookmark-sync", "bookmark-sync/Work, etc"]}
SYNCED_TAGS = ["bookmark-sync", "bookmark-sync/Work", "etc"]  # The name has a comma.
NOTED = {"notes": "N", "tag_names": ["a"]}
CHROME = {"Origin": "chrome-extension://beakmhbijpdhipnjhnclmhgjlddhidpe"}
CLIENTS = {
    "extension": (CHROME, EXTENSION),
    "linkding-injector": ({"Origin": "moz-extension://0f9b3c8e"}, [
        TEST, ("GET", f"{BOOKMARKS}?q=some%20words&limit=10", None, 200, {"results": []}),
    ]),
    "Pinkt": ({"Accept": "application/json"}, [
        TEST,
        ("POST", BOOKMARKS, PINKT, 201, {"title": "T", "tag_names": ["a", "b"]}),
        ("PUT", ONE, PINKT | {"id": 1, "title": "U", "tag_names": []}, 200, {"title": "U"}),
        ("GET", f"{BOOKMARKS}?offset=0&limit=1000", None, 200, {"count": 1, "next": None}),
        ("POST", ONE + "archive/", None, 204, None),
        ("GET", f"{BOOKMARKS}archived/?offset=0&limit=1000", None, 200, {"count": 1}),
        ("POST", ONE + "unarchive/", None, 204, None),
        ("GET", ONE, None, 200, {"tag_names": [], "is_archived": False}),
        ("GET", f"{TAGS}?offset=0&limit=1000", None, 200, {"count": 0}),
        ("DELETE", ONE, None, 204, None),
    ]),
    "Linkdy": ({}, [
        ("GET", "/api/", None, 404, {}),  # It asks only whether a server responds.
        TEST,
        ("GET", f"{BOOKMARKS}check?url={quote(URI, safe='')}", None, 200, NOTHING),
        ("POST", BOOKMARKS, Form(LINKDY), 201, {"tag_names": ["a", "b"], "unread": True}),
        ("PUT", ONE, Form(LINKDY | READ), 200, {"tag_names": ["b", "c"], "unread": False}),
        ("PATCH", ONE, Form(is_archived="true"), 200, {"is_archived": True}),
        ("GET", f"{BOOKMARKS}archived/?q=&limit=20&offset=0", None, 200, {"count": 1}),
        ("GET", f"{TAGS}?limit=100&offset=0", None, 200, {"count": 2}),
        ("POST", TAGS, Form(name="new"), 201, {"name": "new"}),
        ("DELETE", ONE, None, 204, None),
    ]),
    "LinkBuddy": ({}, [
        TEST,
        ("POST", BOOKMARKS, {"url": URI, "unread": True}, 201, {"title": URI}),
        ("GET", f"{BOOKMARKS}?unread=yes&limit=20&q=example", None, 200, {"count": 1}),
        ("GET", f"{BOOKMARKS}?q=!untagged+example&limit=20", None, 200, {"count": 1}),
        ("PATCH", ONE, {"is_archived": True}, 200, {"is_archived": True, "unread": True}),
        ("GET", f"{BOOKMARKS}archived/?limit=20&is_archived=true", None, 200, {"count": 1}),
        ("PATCH", ONE, {"is_archived": False}, 200, {"is_archived": False}),
        ("GET", f"{TAGS}?limit=2000", None, 200, {"count": 0}),
        ("POST", TAGS, {"name": "new"}, 201, {"name": "new"}),
        ("DELETE", ONE, None, 204, None),
    ]),
    "linklater": ({}, [
        ("GET", f"{BOOKMARKS}?limit=1000&sort=added_asc", None, 200, {"next": None}),
        ("GET", CHECK, None, 200, NOTHING),
        ("POST", BOOKMARKS, {"url": URI, "tag_names": ["a"]}, 201, {"tag_names": ["a"]}),
        ("GET", f"{BOOKMARKS}?limit=1000&offset=1000", None, 200, {"results": []}),
    ]),
    "linka": ({}, [
        ("POST", BOOKMARKS, POPUP | {"unread": True}, 201, {"unread": True}),
        ("GET", f"{BOOKMARKS}?q=%23a%20!unread&limit=10&offset=0", None, 200, {"count": 1}),
        ("GET", f"{BOOKMARKS}?q=!untagged", None, 200, {"count": 0}),
    ]),
    "linkding-sync": (CHROME, [
        TEST,
        ("GET", f"{BOOKMARKS}?q={quote(CONFIG, safe='')}&limit=5", None, 200, {"results": []}),
        ("POST", BOOKMARKS, {"url": CONFIG, "notes": ORDER}, 201, {"notes": ORDER}),
        ("GET", f"{BOOKMARKS}?q={quote(CONFIG, safe='')}&limit=5", None, 200, {"count": 1}),
        ("PATCH", ONE, {"notes": '{"order":[]}'}, 200, {"notes": '{"order":[]}'}),
        ("GET", ONE, None, 200, {"notes": '{"order":[]}', "description": ""}),
        ("POST", BOOKMARKS, SYNCED, 201, {"tag_names": SYNCED_TAGS}),
        ("GET", f"{BOOKMARKS}?q=%23bookmark-sync&limit=100", None, 200, {"count": 1}),
        ("PATCH", ONE, SYNCED | {"title": "U"}, 200, {"title": "U"}),
        ("DELETE", ONE, None, 204, None),
        ("DELETE", ONE, None, 404, {}),
    ]),
    "deno-linkding": ({"Accept": "application/json"}, [
        TEST,
        ("POST", BOOKMARKS, {"url": URI, "title": "T", "notes": "N"}, 201, {"notes": "N"}),
        ("GET", f"{BOOKMARKS}?q={quote(URI)}&limit=undefined", None, 200, {"count": 1}),
        ("GET", ONE.rstrip("/"), None, 200, {"title": "T"}),
        ("PATCH", ONE.rstrip("/"), {"title": "U"}, 200, {"title": "U", "notes": "N"}),
        ("POST", ONE + "archive/", None, 204, None),
        ("GET", f"{BOOKMARKS}archived/", None, 200, {"count": 1}),
        ("POST", ONE + "unarchive/", None, 204, None),
        ("POST", TAGS, {"name": "test-tag"}, 201, {"name": "test-tag"}),
        ("DELETE", ONE.rstrip("/"), None, 204, None),
    ]),
    "linkding-mcp-server": ({}, [
        ("GET", CHECK, None, 200, NOTHING),
        ("POST", BOOKMARKS, NOTED | {"url": URI, "is_archived": False}, 201, NOTED),
        ("PATCH", ONE, {"tag_names": ["a", "b"]}, 200, {"tag_names": ["a", "b"], "notes": "N"}),
        ("PATCH", ONE, {"description": "D"}, 200, {"description": "D", "notes": "N"}),
        ("PATCH", ONE, {"notes": "M"}, 200, {"description": "D", "notes": "M"}),
        ("GET", f"{TAGS}?limit=100&offset=0", None, 200, {"count": 2}),
        ("GET", f"{BOOKMARKS}?q=%23a&limit=5", None, 200, {"count": 1}),
        ("DELETE", ONE, None, 204, None),
    ]),
}  # fmt: skip


def encode_form(fields):
    """Return the body that Dio, the HTTP client of Flutter, sends for a form."""
    part = '----dio-boundary-1\r\ncontent-disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    parts = [part.format(*pair) for pair in fields.items()]
    return "".join([*parts, "----dio-boundary-1--\r\n"]).encode()


def check_bookmark(bookmark):
    """Assert that clients can parse the bookmark: Pinkt reads 32-bit ids and dates like these."""
    assert 0 < bookmark["id"] < 2**31
    for member in ("date_added", "date_modified"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", bookmark[member])
    assert all(isinstance(bookmark[text], str) for text in ("url", "title", "description", "notes"))


@pytest.mark.parametrize("client", CLIENTS)
def test_the_requests_of_a_client_get_what_it_expects(linkding, client):
    headers, requests = CLIENTS[client]
    headers = {"Host": "marks.example", "Authorization": f"Token {TOKEN}"} | headers
    form = headers | {"Content-Type": "multipart/form-data; boundary=--dio-boundary-1"}
    number = 0
    for method, path, body, status, expected in requests:
        row = (method, path)
        path = path.replace("{id}", str(number))
        if isinstance(body, Form):
            response = ask(linkding.address, method, path, encode_form(body), **form)
        else:
            response = ask(linkding.address, method, path, body, **headers)
        document = response.json if response.body else None
        assert response.status == status, (row, document)
        assert expected is None or expected.items() <= document.items(), (row, document)
        if document and "date_modified" in document:
            check_bookmark(document)
            number = document["id"]
        for bookmark in document.get("results", []) if document and "tags" not in path else []:
            check_bookmark(bookmark)
        if document and "metadata" in document:
            assert document["metadata"]["url"] == URI
