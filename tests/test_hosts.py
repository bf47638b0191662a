"""One process serves many folders, one for each host name: `bookmarks.make_host_app`, `--hosts`."""

import errno
import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import webtest

import bookmarks
import formats.http.hosts
from bookmarks import make_host_app
from formats.http.failed_logins import MAX_LINES
from tests.conftest import ROOT, documented_block, inotify_instances, require_program
from tests.storage.clients import ask

A, B = "alice.example.com", "bob.example.com"
TOKEN, OTHER = "a-token-of-alice-0123", "another-token-012345"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
OTHER_BEARER = {"Authorization": f"Bearer {OTHER}"}


@pytest.fixture
def root(tmp_path):
    for host in (A, B):
        (tmp_path / "hosts" / host).mkdir(parents=True)
    return tmp_path / "hosts"


@pytest.fixture
def hosts(root):
    return webtest.TestApp(make_host_app(root, max_open=10))


def at(host, **headers):
    return {"Host": host, **headers}


def write_tokens(root, *tokens, host=A):
    (root / f"{host}.tokens").write_text("".join(f"{token}\n" for token in tokens))


def uris(hosts, host, **headers):
    return [each["uri"] for each in hosts.get("/", headers=at(host, **headers), status=200).json]


# --- Which folder a request is for ---

def test_each_host_has_its_own_bookmarks(hosts, root):
    for host in (A, B):
        hosts.post_json("/", {"uri": f"https://{host}/"}, headers=at(host), status=201)
    assert uris(hosts, B) == [f"https://{B}/"]
    assert len(list((root / A / "bookmarks").iterdir())) == 1
    for name in (A, f"{A}:8080", "Alice.EXAMPLE.com", f"{A}.", f"{A.upper()}.:81"):
        assert uris(hosts, name) == [f"https://{A}/"]


def test_an_unknown_host_is_404_and_creates_nothing(hosts, root, tmp_path):
    write_tokens(root, TOKEN)
    (root / f"{B}.tokens").mkdir()
    (tmp_path / "outside").mkdir()
    (root / "file").write_text("")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / ".hidden").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for host in (
        "carol.example.com", "..", ".", "...", ".hidden", "-a", "[::1]:80", "a_b", "~", "a" * 249,
        f"{A}..", f"{A}.tokens", f"{B}.tokens", "file", "link", "127.0.0.1",
    ):  # fmt: skip
        for method in ("GET", "PUT", "POST"):
            response = hosts.request("/a", method=method, headers=at(host), status=404)
            assert response.headers["Cache-Control"] == "no-cache"
        page = hosts.get("/", headers=at(host, Accept="text/html"), status=404)
        assert "No bookmark and no page has this address." in page
        assert not page.html.select("#add")  # It would need a login.
    hosts.get("/", headers=at(B), status=503)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_host_that_is_no_name_is_400(hosts, root):
    before = sorted(root.rglob("*"))
    for host in ("../" + A, "a/b", "a\\b", "a\0b", "a b", "me@" + A, "%2e%2e", ""):
        environ = {"HTTP_HOST": host, "SERVER_PROTOCOL": "HTTP/1.1"}
        response = hosts.get("/", extra_environ=environ, headers={"Accept": "*/*"}, status=400)
        assert response.content_type == "application/problem+json"
    assert sorted(root.rglob("*")) == before


def test_a_folder_that_is_made_or_removed_later_is_noticed(hosts, root):
    carol = "carol.example.com"
    hosts.get("/", headers=at(carol), status=404)
    for _ in range(3):  # The file system may use the inode of the removed folder again.
        (root / carol).mkdir()
        (root / carol / "of-another-program").touch()
        assert uris(hosts, carol) == []
        hosts.post_json("/", {"uri": "x:z"}, headers=at(carol), status=201)
        shutil.rmtree(root / carol)
        hosts.get("/", headers=at(carol), status=404)
    assert sorted(path.name for path in root.iterdir()) == [A, B]
    hosts.post_json("/", {"uri": "x:y"}, headers=at(A), status=201)
    shutil.copytree(root / A, root.parent / "backup")
    for folder in (root / A).iterdir():
        shutil.rmtree(folder)
    response = hosts.get("/", headers=at(A), status=503)
    assert response.json["detail"].endswith("or make an empty one to begin without bookmarks.")
    shutil.copytree(root.parent / "backup", root / A, dirs_exist_ok=True)
    assert uris(hosts, A) == ["x:y"]


# --- Who may use a folder ---

def test_a_folder_has_the_tokens_of_its_file(hosts, root):
    (root / f"{A}.tokens").symlink_to(root / "shared")
    (root / "shared").write_text(TOKEN)
    write_tokens(root, OTHER, host=B)
    hosts.get("/", headers=at(A), status=401)
    hosts.get("/", headers=at(B, **BEARER), status=401)
    hosts.get("/", headers=at(A, **BEARER), status=200)


def test_a_changed_token_file_holds_for_the_next_request(hosts, root):
    for first, second in ((BEARER, OTHER_BEARER), (OTHER_BEARER, BEARER)):
        write_tokens(root, first["Authorization"].split()[1])
        hosts.get("/", headers=at(A, **first), status=200)
        hosts.get("/", headers=at(A, **second), status=401)
    write_tokens(root, TOKEN, OTHER)
    for headers in (BEARER, OTHER_BEARER):
        hosts.get("/", headers=at(A, **headers), status=200)


UNUSABLE = {
    "comment": lambda file: file.write_bytes(b"# no token\n"),
    "no text": lambda file: file.write_bytes(b"\xff\xfe"),
    "broken link": lambda file: file.symlink_to(file.parent / "missing"),
    "pipe": lambda file: os.mkfifo(file),
    "device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("make", UNUSABLE.values(), ids=UNUSABLE)
def test_a_token_file_without_a_token_refuses_every_request(hosts, root, caplog, make):
    make(root / f"{A}.tokens")
    for headers in ({}, BEARER):
        response = hosts.get("/", headers=at(A, **headers), status=503)
        assert str(root) not in response.json["detail"]
    assert A in caplog.text
    assert uris(hosts, B) == []


@pytest.mark.parametrize("functions, status", [(("stat", "lstat"), 401), (("open",), 503)])
def test_a_token_file_that_cannot_be_looked_at_still_protects_its_host(
    hosts, root, monkeypatch, functions, status
):
    write_tokens(root, TOKEN)
    for function in functions:
        call = getattr(os, function)

        def fail(path, *arguments, call=call, **options):
            if str(path).endswith(".tokens"):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(path, *arguments, **options)

        monkeypatch.setattr(os, function, fail)
    hosts.get("/", headers=at(A), status=status)


def test_a_token_file_that_others_can_read_is_warned_about(hosts, root, caplog):
    write_tokens(root, TOKEN)
    file = root / f"{A}.tokens"
    for mode, warnings in ((0o600, 0), (0o640, 1)):
        file.chmod(mode)
        write_tokens(root, TOKEN + str(mode))
        hosts.get("/", headers=at(A), status=401)
        assert caplog.text.count(f"Other users can read the tokens: chmod 600 {file}") == warnings


def test_folders_without_a_token_file_have_the_token_of_the_service(root):
    hosts = webtest.TestApp(make_host_app(root, token=OTHER, public_read=True))
    write_tokens(root, TOKEN)
    hosts.post_json("/", {"uri": "x:y"}, headers=at(B), status=401)
    hosts.post_json("/", {"uri": "x:y"}, headers=at(B, **OTHER_BEARER), status=201)
    hosts.get("/", headers=at(A, **OTHER_BEARER), status=401)
    assert uris(hosts, B) == ["x:y"]  # Everybody may read.
    assert uris(hosts, A) == []


def test_only_pages_of_the_same_host_may_change_it(hosts):
    for scheme, other in (("http", "https"), ("https", "http")):
        hosts.extra_environ = {"wsgi.url_scheme": scheme}
        made = hosts.post_json("/", {"uri": f"x:{scheme}"}, headers=at(f"{A}:8443"), status=201)
        assert made.headers["Location"] == f"{scheme}://{A}:8443/{made.json['id']}"
        origins = {f"{scheme}://{A}": 200, f"{scheme}://{B}": 403, f"{other}://{A}": 403}
        for origin, status in origins.items():
            sent = at(A, Origin=origin)
            hosts.post_json("/", {"uri": f"x:{scheme}"}, headers=sent, status=status)


# --- The documented commands ---

def run_documented(command, root, other):
    for written, ours in (("new:/srv/bookmarks", other), ("/srv/bookmarks", root)):
        command = command.replace(written, str(ours))
    return subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=120)


def test_the_documented_commands_add_a_person(hosts, root, tmp_path):
    (root / A).rmdir()
    assert run_documented(documented_block("bash", "mkdir -m 700"), root, "").returncode == 0
    assert (root / f"{A}.tokens").stat().st_mode & 0o077 == 0
    token = (root / f"{A}.tokens").read_text().strip()
    hosts.get("/", headers=at(A), status=401)
    assert uris(hosts, A, Authorization=f"Bearer {token}") == []


@pytest.mark.parametrize("has_served", [False, True])
def test_the_documented_commands_move_a_folder_to_a_new_machine(hosts, root, tmp_path, has_served):
    require_program("rsync")
    other = tmp_path / "other"
    (other / A).mkdir(parents=True)
    new = webtest.TestApp(make_host_app(other))
    write_tokens(root, TOKEN)
    kept, deleted = (
        hosts.post_json("/", {"uri": uri}, headers=at(A, **BEARER), status=201).json["id"]
        for uri in ("x:kept", "x:deleted")
    )
    hosts.delete(f"/{deleted}", headers=at(A, **BEARER), status=204)
    if has_served:
        assert uris(new, A) == []
    move = documented_block("bash", "rsync -a --delete .alice")
    move = move.replace("ssh new '", "bash -c '").replace("'cd /srv/bookmarks", f"'cd {other}")
    result = run_documented(move, root, other)
    hosts.get("/", headers=at(A, **BEARER), status=404)
    assert (result.returncode != 0) == has_served
    if not has_served:
        assert [each["id"] for each in new.get("/", headers=at(A, **BEARER)).json] == [kept]
        new.get(f"/{deleted}", headers=at(A, Accept="application/json", **BEARER), status=410)
        new.get("/", headers=at(A), status=401)


def test_no_token_opens_a_folder_again_and_responses_follow_the_tokens(hosts, root, inotify):
    hosts.get("/", headers=at(A), status=200)
    before = inotify_instances()
    deleted = hosts.post_json("/", {"uri": "x:y"}, headers=at(A), status=201).json["id"]
    hosts.delete(f"/{deleted}", headers=at(A), status=204)
    for _ in range(2):
        gone = hosts.get(f"/{deleted}", headers=at(A), status=410)
        assert gone.headers["Cache-Control"].startswith("public")
        for number in range(3):
            write_tokens(root, TOKEN, f"{OTHER}{number}")
            gone = hosts.get(f"/{deleted}", headers=at(A, **BEARER), status=410)
            assert gone.headers["Cache-Control"].startswith("private")
        (root / f"{A}.tokens").unlink()
    assert inotify_instances() == before


def test_failed_logins_name_their_host_and_are_logged_at_a_bounded_rate(root, caplog):
    hosts = webtest.TestApp(make_host_app(root, max_open=1, token=TOKEN))
    for host in [A, B] * 20:
        hosts.get("/", headers=at(host, Authorization="Bearer wrong"), status=401)
    assert f"({A}) failed: wrong token" in caplog.text
    assert f"({B}) failed: wrong token" in caplog.text
    assert caplog.text.count("failed: wrong token") == MAX_LINES


def test_requests_without_a_token_open_no_folder(root, inotify):
    hosts = webtest.TestApp(make_host_app(root, token=TOKEN))
    before = inotify_instances()
    page = {"Accept": "text/html"}
    style = re.search(r'"/(style-[^"]+)"', hosts.get("/-/login", headers=at(A, **page)).text)[1]
    for method, path, headers, status in (
        ("GET", "/health", {}, 200),
        ("GET", f"/{style}", {}, 200),
        ("POST", "/-/login", page, 401),
        ("PUT", "/-/login", page, 405),
        ("GET", "/", {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/api/bookmarks/", {}, 401),
        ("POST", "/", {**page, "Sec-Fetch-Site": "cross-site"}, 403),
    ):
        body = {}
        if method == "POST":
            body = {"body": b"token=x", "content_type": "application/x-www-form-urlencoded"}
        hosts.request(path, method=method, headers=at(A, **headers), status=status, **body)
    assert inotify_instances() == before
    assert list((root / A).iterdir()) == []
    hosts.get("/", headers=at(A, **BEARER), status=200)
    assert inotify_instances() == before + 1
    (root / A / "bookmarks").rename(root / A / "away")
    hosts.get("/health", headers=at(A), status=503)


def test_a_folder_whose_name_becomes_a_link_is_not_served(hosts, root, tmp_path):
    outside = tmp_path / "outside"
    other = webtest.TestApp(bookmarks.make_app(outside))
    other.post_json("/", {"uri": "x:secret"}, status=201)
    before = sorted(outside.rglob("*"))
    hosts.post_json("/", {"uri": "x:own"}, headers=at(A), status=201)
    (root / A).rename(root / "moved")
    (root / A).symlink_to(outside)
    hosts.get("/", headers=at(A), status=404)
    hosts.post_json("/", {"uri": "x:new"}, headers=at(A), status=404)
    (root / A).unlink()
    (root / "moved").rename(root / A)
    assert uris(hosts, A) == ["x:own"]
    assert sorted(outside.rglob("*")) == before


def test_a_replaced_folder_is_followed(hosts, root):
    for host in (A, B):
        hosts.post_json("/", {"uri": f"https://{host}/"}, headers=at(host), status=201)
    (root / A).rename(root / "moved")
    (root / B).rename(root / A)
    assert uris(hosts, A) == [f"https://{B}/"]
    hosts.get("/", headers=at(B), status=404)
    (root / "moved").rename(root / B)
    assert uris(hosts, B) == [f"https://{A}/"]
    hosts.post_json("/", {"uri": "x:new"}, headers=at(B), status=201)
    assert uris(hosts, A) == [f"https://{B}/"]


# --- How many folders are open ---

@pytest.fixture
def without_gc():
    """Collect no garbage, so that only counting references frees an application."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_the_longest_unused_folders_are_closed_and_reopened(root, without_gc, inotify, monkeypatch):
    opened, Store = [], bookmarks.Store

    def open_and_note(folder, *options):
        opened.append(os.path.realpath(folder))
        return Store(folder, *options)

    monkeypatch.setattr(formats.http.hosts, "Store", open_and_note)
    hosts = webtest.TestApp(make_host_app(root, max_open=3))
    before, names = inotify_instances(), [f"h{number}.example.com" for number in range(8)]
    for turn in range(2):
        for name in names:
            (root / name).mkdir(exist_ok=True)
            hosts.post_json("/", {"uri": f"x:{turn}"}, headers=at(name), status=201)
            hosts.get("/", headers=at(name, Accept="text/html"), status=200)
            hosts.get("/missing", headers=at(name), status=404)
            hosts.get("/?limit=x", headers=at(name), status=400)
            hosts.get("/a/title", headers=at(A), status=404)  # This folder stays open.
            assert inotify_instances() <= before + 3
    assert inotify_instances() == before + 3
    assert opened.count(str(root / A)) == 1
    for name in names:
        assert len(uris(hosts, name)) == 2


def test_a_folder_is_not_closed_while_a_request_uses_it(root, without_gc, inotify, monkeypatch):
    hosts = webtest.TestApp(make_host_app(root, max_open=1))
    before = inotify_instances()
    transaction = bookmarks.Store.transaction

    def ask_other_host_first(store):
        assert uris(hosts, B) == []
        return transaction(store)

    monkeypatch.setattr(bookmarks.Store, "transaction", ask_other_host_first)
    hosts.post_json("/", {"uri": "x:slow"}, headers=at(A), status=201)
    assert inotify_instances() == before + 1
    assert uris(hosts, A) == ["x:slow"]


def test_other_hosts_do_not_wait_while_a_folder_is_opened(root, monkeypatch):
    hosts = webtest.TestApp(make_host_app(root))
    is_opening, may_open, Store = threading.Event(), threading.Event(), bookmarks.Store

    def open_slowly(folder, *options):
        if os.path.realpath(folder) == str(root / A):
            is_opening.set()
            assert may_open.wait(10)
        return Store(folder, *options)

    monkeypatch.setattr(formats.http.hosts, "Store", open_slowly)
    with ThreadPoolExecutor(1) as threads:
        listed = threads.submit(uris, hosts, A)
        assert is_opening.wait(10)
        assert uris(hosts, B) == []
        assert not listed.done()
        may_open.set()
    assert listed.result() == []


def test_the_log_of_a_failure_names_the_host(hosts, caplog, monkeypatch):
    monkeypatch.setattr(bookmarks.Store, "select", lambda *_, **options: 1 / 0)
    hosts.get("/", headers=at(B), status=500)
    assert f"{B}/" in caplog.text and "ZeroDivisionError" in caplog.text


# --- The command ---

def test_the_command_and_the_application_serve_each_host_and_log_it(serve, root):
    service = serve("--access-log", BOOKMARKS_HOSTS=str(root), BOOKMARKS_MAX_OPEN="1")
    for host in (A, B, A):
        assert ask(service.address, Host=host).body == b"[]\n"
    assert ask(service.address, Host="carol.example.com").status == 404
    service.stop()
    log = "".join(service.log)
    assert f"127.0.0.1 ({A}) GET / 200 3 " in log and f"127.0.0.1 ({B}) GET / 200 3 " in log
    assert "127.0.0.1 (carol.example.com) GET / 404 " in log
    assert not service.data.exists()
    code = (
        "import webtest, bookmarks; app = webtest.TestApp(bookmarks.application)\n"
        f"assert app.get('/', headers={{'Host': {A!r}}}).json == []\n"
        "app.get('/', headers={'Host': 'carol.example.com'}, status=404)"
    )
    environment = {**os.environ, "BOOKMARKS_HOSTS": str(root), "PYTHONPATH": str(ROOT)}
    run = partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, timeout=120)
    assert b"Set a token" in run(env=environment).stderr
    assert run(env={**environment, "BOOKMARKS_NO_AUTH": "1"}).returncode == 0


def test_the_command_refuses_to_start_unsafely_or_with_wrong_options(root, monkeypatch, capsys):
    monkeypatch.setattr("formats.http.process.create_server", None)
    for options, message in (
        (["--listen", "0.0.0.0:0"], "Set a token"),
        (["--trusted-proxy", "127.0.0.1"], "Set a token"),
        (["--max-open", "0"], "max_open must be at least 1"),
        (["--keep-deleted", "-1"], "keep_deleted must be 0 days or more"),
        (["--hosts", "/nonexistent"], "/nonexistent"),
        (["--hosts", ""], "--hosts or BOOKMARKS_HOSTS is empty"),
    ):
        with pytest.raises(SystemExit) as end:
            bookmarks.main(["--hosts", str(root), *options])
        assert end.value.code != 0
        assert message in str(end.value.code) + capsys.readouterr().err


@pytest.mark.parametrize("allowed_by", ["--no-auth", "BOOKMARKS_TOKEN"])
def test_the_command_starts_behind_a_proxy_with_a_token_or_if_all_may(serve, root, allowed_by):
    is_open = allowed_by == "--no-auth"
    write_tokens(root, TOKEN)
    options = ["--hosts", str(root), "--trusted-proxy", "127.0.0.1", *["--no-auth"] * is_open]
    service = serve(*options, **{} if is_open else {"BOOKMARKS_TOKEN": OTHER})
    assert ask(service.address, Host=A).status == 401
    assert ask(service.address, Host=B).status == (200 if is_open else 401)
    assert ask(service.address, Host=A, **BEARER).status == 200
    forwarded = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": A, "Host": "unknown"}
    made = ask(service.address, "POST", body={"uri": "x:y"}, **BEARER, **forwarded)
    assert made.status == 201
    assert len(list((root / A / "bookmarks").iterdir())) == 1
