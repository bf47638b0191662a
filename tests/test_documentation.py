"""The documentation agrees with the code: commands, routes, options, formats, dependencies."""

import configparser
import http.client
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import zipfile
from types import SimpleNamespace

import pytest

import bookmarks
import formats
from formats.http import problems
from storage.bookmark import ID, create
from storage.check import check
from storage.files import is_temporary
from tests.conftest import (
    OWN_ROUTES,
    ROOT,
    documentation,
    documented_block,
    require_program,
    without_inotify_warning,
)
from tests.formats.test_imported_files import EXPECTED
from tests.storage.clients import ask

DOCS = sorted(ROOT.glob("docs/*.md"))
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *DOCS]
README = PAGES[0].read_text()
HOME = documentation("deploy.md").partition("## In a home network")[2].partition("\n## ")[0]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
API = documentation("api.md")
TOKEN = "a-token-of-a-test"
PYTHON = f"{sys.executable} -m"
IMPORT = f"{sys.executable} {ROOT / 'bookmarks.py'} import"
DOCUMENTED = "http://127.0.0.1:8080"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def mask_changing_values(text):
    text = re.sub(r"20(?!24)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "NOW", text)
    return re.sub(r"\b0[0-9a-hjkmnp-tv-z]{12}\b", "NEW-ID", text)


EXAMPLES = [page for page in PAGES if blocks(page.read_text(), "console")]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_each_console_command_prints_the_stated_output(serve, tmp_path, page):
    require_program("curl")
    address = serve().address
    session = "".join(blocks(page.read_text(), "console")).replace(DOCUMENTED, address)
    steps = [step.partition("\n") for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]]
    # One shell runs all commands, so that a later one can use a variable of an earlier one.
    script = "set -eo pipefail\n" + "echo '--- END ---'\n".join(f"{step[0]}\n" for step in steps)
    result = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    outputs = result.stdout.replace("\r", "").split("--- END ---\n")
    assert len(outputs) == len(steps)
    for (command, _, stated), printed in zip(steps, outputs):
        pair = [mask_changing_values(text.rstrip()) for text in (printed, stated)]
        assert pair[0] == pair[1], command
    assert [path.name for path in tmp_path.iterdir()] == ["data"]  # No example leaves a file.


def test_the_readme_is_one_page_with_all_others_and_a_quick_start_of_two_commands():
    assert README.count("\n") <= 200
    assert [page.name for page in DOCS if f"(docs/{page.name})" not in README] == []
    commands = blocks(README, "sh")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert README.index("## Quick start") < README.index(commands[0])
    assert commands[0].rstrip().endswith("bookmarks")
    assert "pip install -e . &&" in commands[0]  # Without -e, removed modules remain in build/.
    assert "pytest" in commands[1]


def test_the_table_of_endpoints_has_exactly_the_routes():
    rows = set(re.findall(r"^\| ([A-Z]+) \| `(/[^`]*)` \|", API, re.MULTILINE))
    assert rows == {(method, route.template) for route in OWN_ROUTES for method in route.handlers}


def test_the_table_of_options_has_exactly_the_options(capsys):
    with pytest.raises(SystemExit):
        bookmarks.main(["serve", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    row = r"^\| `(--[a-z-]+)` \| `(BOOKMARKS_[A-Z_]+)` \|"
    table = re.findall(row, documentation("deploy.md"), re.MULTILINE)
    assert {option for option, _ in table} == options
    for option, variable in table:
        assert variable == "BOOKMARKS_" + option[2:].replace("-", "_").upper()


def test_the_table_of_imported_files_has_exactly_the_golden_files():
    row = r"^\| .* \| (`.*`) \| (`.*`) \|$"
    named = {}
    for cells in re.findall(row, documentation("import-export.md"), re.MULTILINE):
        names, files = (re.findall("`([^`]+)`", cell) for cell in cells)
        names = names if len(names) == len(files) else names * len(files)
        named |= zip(files, names, strict=True)
    assert named == {file: expected.format for file, expected in EXPECTED.items()}


@pytest.mark.parametrize("name", ["api.md", "data-folder.md", "design.md"])
def test_the_reserved_ids_are_named(name):
    listed = r"`(\w+)`, `(\w+)`, `(\w+)` and `(\w+)` are\s+reserved"
    ids = re.search(listed, documentation(name)).groups()
    assert f"(?!(?:{'|'.join(ids)})(?!" in ID.pattern


def test_the_statuses_of_errors_are_named():
    errors = API.partition("\n## Errors\n")[2]
    files = [ROOT / "bookmarks.py", *ROOT.glob("formats/http/*.py")]
    sources = "".join(file.read_text() for file in files)
    raised = set(map(int, re.findall(r"HTTPError\((\d+),", sources)))
    raised |= set(problems.STATUS_BY_ERROR.values()) | {500}
    raised |= {431, 501}  # waitress itself responds with these.
    assert set(map(int, re.findall(r"\b[45]\d\d\b", errors))) == raised


def test_the_formats_of_lists_and_the_runtime_dependencies_are_named_in_order():
    sentence = re.search(r"`Accept` asks for: ([^.]*)\.", API)[1]
    assert re.findall(r"`(\w+)`", sentence) == list(formats.LISTS_BY_NAME)
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    names = re.findall(r"^([\w-]+) >=", setup["options"]["install_requires"], re.MULTILINE)
    stated = documentation("design.md").partition("Runtime dependencies:")[2].partition("\n\n")[0]
    assert re.findall(r"([\w-]+)\s\(", stated) == names


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_to_files_and_headings_of_the_project(page):
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)]*)\)", prose):
        path, _, anchor = target.partition("#")
        if path.startswith("https://"):
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


def test_the_documented_program_writes_a_bookmark_that_the_service_serves(data, app, tmp_path):
    page = documentation("data-folder.md")
    bookmark, tombstone = map(json.loads, blocks(page, "json"))
    app.get("/", status=200)
    command = [sys.executable, "-c", blocks(page, "python")[0], str(data)]
    text = json.dumps(bookmark)
    subprocess.run(command, input=text, text=True, check=True, timeout=120)
    assert app.get(f"/{bookmark['id']}", status=200).json == bookmark
    assert check(data, keep_deleted=30) == []
    temporary = re.search(r"{folder}/bookmarks/(\..*\.tmp)", blocks(page, "python")[0])[1]
    temporary = temporary.replace("{name}", "a.json")
    assert is_temporary(temporary.replace("{os.urandom(8).hex()}", os.urandom(8).hex()))
    (data / "tombstones" / f"{tombstone['id']}.json").write_text(json.dumps(tombstone))
    app.get(f"/{bookmark['id']}", headers={"Accept": "application/json"}, status=410)
    again = subprocess.run(command, input=text, text=True, capture_output=True, timeout=120)
    assert again.stderr == "This bookmark was deleted.\n"


def test_the_format_that_is_added_as_an_example_works():
    code = textwrap.dedent(re.findall(r"   ```python\n(.*?)   ```", CONTRIBUTING, re.DOTALL)[0])
    module = {}
    exec(code, module)
    bookmark = create({"uri": "https://example.com/", "title": "An [example\\]"}, "a")
    row = re.search(r"`(Format\(\"markdown\", .*),`", CONTRIBUTING)[1]
    names = {"Format": formats.Format, "markdown": SimpleNamespace(**module)}
    ((_, write),) = eval(f"{{{row}}}", names).items()
    listing = SimpleNamespace(bookmarks=[bookmark])
    assert b"".join(write(listing)) == b"- [An \\[example\\\\\\]](<https://example.com/>)\n"


def test_the_examples_of_a_new_format_and_field_name_what_exists():
    names = re.findall(r"`((?:formats|tests|storage)/[\w/]+\.\w+)`", CONTRIBUTING)
    for name in [*names, *re.findall(r"\btests/[\w/]+\.py", documentation())]:
        assert "markdown" in name or (ROOT / name).exists(), name
    files = [ROOT / "bookmarks.py", *ROOT.glob("formats/**/*.py"), *ROOT.glob("tests/formats/*.py")]
    files += [ROOT / "tests/test_hostile.py", ROOT / "tests/test_layers.py"]
    files.append(ROOT / "storage/bookmark.py")
    source = "".join(file.read_text() for file in files)
    for table in re.findall(r"`([A-Z_]{4,})`", CONTRIBUTING):
        assert re.search(rf"^{table}\b.*= ", source, re.MULTILINE), table


# Messages of the system, and those whose texts are put together from variables.
PUT_TOGETHER = {
    "DATA is a new data folder",
    "DATA would be a new data folder",
    "A token of less than 16 characters can be guessed",
    "--data or BOOKMARKS_DATA is empty",
    "--hosts or BOOKMARKS_HOSTS is empty",
    "--token-file or BOOKMARKS_TOKEN_FILE is empty",
    "FILE: No such file or directory",
    "FILE: Permission denied",
    "FILE: Is a directory",
    "base_url must be an address, such as https://example.com/bookmarks, not VALUE",
    "q cannot be used: REASON",
    "token must not be empty",
    "METHOD PATH: MESSAGE REASON",
}


def test_the_page_about_messages_quotes_the_program():
    rows = re.findall(r"^\| (.*?) \|", documentation("troubleshooting.md"), re.MULTILINE)
    spans = {span for row in rows for span in re.findall("`([^`]+)`", row)}
    assert len(spans) > 20
    paths = [ROOT / "bookmarks.py", *ROOT.glob("formats/**/*.py"), *ROOT.glob("storage/*.py")]
    source = re.sub(r'"\s+f?"', "", "".join(path.read_text() for path in paths))
    source = source.replace('", "', " ")  # A field and what is wrong with it.
    for span in spans - PUT_TOGETHER:
        texts = (text.strip(" :") for text in re.split(r"\b[A-Z]{2,}\b", span))
        assert all(text in source for text in texts), span


def test_the_documented_command_makes_a_token_that_the_service_accepts(serve, tmp_path):
    require_program("curl")
    command = documented_block("bash", "> token)")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=120)
    token = tmp_path / "token"
    assert token.stat().st_mode & 0o077 == 0
    service = serve("--token-file", str(token))
    address = service.address.replace("//", f"//:{token.read_text().strip()}@")
    subprocess.run(["curl", "-sf", "-o", "/dev/null", address], check=True, timeout=120)
    assert "WARNING" not in "".join(without_inotify_warning(service.log))


def test_the_documented_commands_serve_a_home_network(serve, tmp_path):
    write_token(tmp_path)
    names = ("raspberrypi.local", "192.168.1.20")

    def statuses(word, *authorization):
        (command,) = [line for line in HOME.splitlines() if word in line]
        command = command.replace("0.0.0.0:8080", "0.0.0.0:0")
        service = serve(*command.replace(" token", f" {tmp_path}/token").split()[1:])
        port = service.address.rpartition(":")[2]
        for headers in authorization:
            for host in names:
                yield ask(f"127.0.0.1:{port}", Host=f"{host}:{port}", **headers).status

    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert list(statuses("--token-file", {}, bearer)) == [401, 401, 200, 200]
    assert list(statuses("--no-auth", {})) == [200, 421]


def write_token(folder):
    file = folder / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)


def test_the_documented_commands_show_what_visitors_see(serve, app, add, tmp_path):
    require_program("curl")
    add("https://kept.example/", tags=["Private"])
    add("https://near.example/", tags=["private notes"])
    add("https://shown.example/", tags=["public"])
    write_token(tmp_path)
    command = documented_block("bash", "--public-read").replace(" token", f" {tmp_path}/token")
    service = serve(*command.split()[1:])
    requests = documented_block("bash", "$(cat token)").replace(DOCUMENTED, service.address)
    visitor, owner = requests.splitlines()
    assert run_in_bash(visitor, tmp_path).count("\n") == 2
    assert run_in_bash(owner, tmp_path).count("\n") == 3
    (tmp_path / "token").write_text("wrong")
    assert '"status":401' in run_in_bash(owner, tmp_path)
    page = documentation("deploy.md")
    retag = shlex.split(re.search(r"`bookmarks (tag --q '-#public' --add private)`", page)[1])
    assert bookmarks.main([*retag, "--data", str(service.data)]) == 0
    assert run_in_bash(visitor, tmp_path).startswith("https://shown.example/\t")
    assert run_in_bash(visitor, tmp_path).count("\n") == 1


def test_the_documented_commands_find_and_tag_what_was_added_in_a_year(add, data, run):
    for year in (2024, 2025, 2026):
        add(f"https://www.example.org/{year}", created=f"{year}-01-01T00:00:00Z")
    lines = documented_block("bash", "before:2026").splitlines()
    outputs = [run(*shlex.split(line)[1:], data=data)[0] for line in lines]
    changed = "1 matched, 1 changed, 0 unchanged, 0 failed\n"
    address = "https://www.example.org/2025"
    assert outputs == [f"{address}\t{address}\t\n", f"would be: {changed}", changed]


def without_version(bookmark):
    return bookmark | {"id": "", "modified": ""}


def test_the_documented_command_puts_a_deleted_bookmark_back(serve, app, add, tmp_path):
    require_program("curl")
    made = add(tags=["a"])
    app.delete(f"/{made['id']}", status=204)
    command = documented_block("bash", "only=ID").replace(DOCUMENTED, serve().address)
    command = command.replace("ID", made["id"])
    assert run_in_bash(command, tmp_path) == ""
    (bookmark,) = app.get("/").json
    assert bookmark["id"] != made["id"]
    assert without_version(bookmark) == without_version(made)
    with pytest.raises(subprocess.CalledProcessError):
        run_in_bash(command, tmp_path)


def test_the_documented_program_tags_all_bookmarks_of_a_host(serve, app, add, tmp_path):
    for host in ("example.com/a", "example.com/b", "other.example/?example.com"):
        add(f"https://{host}", tags=["old"])
    service = serve(BOOKMARKS_TOKEN=TOKEN)
    command = [sys.executable, "-c", blocks(API, "python")[0], service.address]
    command += ["example.com", "sample"]
    environment = {**os.environ, "TOKEN": TOKEN}
    subprocess.run(command, env=environment, check=True, timeout=120)
    tags = {bookmark["uri"]: bookmark["tags"] for bookmark in app.get("/").json}
    assert tags == {
        "https://example.com/a": ["old", "sample"],
        "https://example.com/b": ["old", "sample"],
        "https://other.example/?example.com": ["old"],
    }
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stdout) == (1, "")
    assert json.loads(process.stderr)["status"] == 401


def test_the_documented_program_handles_changes_of_other_clients(serve, app, monkeypatch, capsys):
    address, request = serve().address, http.client.HTTPConnection.request
    for id, tags in {"deleted": [], "changed": ["old"], "full": list(map(str, range(100)))}.items():
        fields = {"uri": f"https://example.com/{id}", "title": "", "description": "", "tags": tags}
        app.put_json(f"/{id}", fields, status=201)
    changes = {  # What another client does before a request of the program.
        "GET /deleted": lambda: app.delete("/deleted", status=204),
        "POST /changed": lambda: app.post_json("/changed", {"tags": ["new"]}, status=200),
    }

    def request_late(self, method, path, *arguments):
        changes.pop(f"{method} {path}", int)()
        request(self, method, path, *arguments)

    monkeypatch.setattr(http.client.HTTPConnection, "request", request_late)
    monkeypatch.setattr(sys, "argv", ["tag_host.py", address, "EXAMPLE.com", "sample"])
    names = {}
    with pytest.raises(SystemExit, match="True"):
        exec(blocks(API, "python")[0], names)
    names["connection"].close()
    assert app.get("/changed").json["tags"] == ["new", "sample"] and not changes
    printed = capsys.readouterr()
    assert printed.out == "https://example.com/changed\n"
    uri, _, body = printed.err.partition(" ")
    assert (uri, json.loads(body)["status"]) == ("https://example.com/full", 422)


FLAGS = {"unread", "archived", "private", "shared", "starred"}


# The service, and the example file for each name that its section in "Coming from" has.
@pytest.mark.parametrize("service, exported", [
    ("linkding", {"bookmarks.html": "linkding.html"}),
    ("Pocket", {"pocket.zip": "pocket.csv", "ril_export.html": "pocket.html"}),
    ("Firefox", {"bookmarks.html": "firefox.html"}),
    ("Pinboard", {"pinboard.json": "pinboard.json"}),
    ("Shaarli", {"shaarli.html": "shaarli.html"}),
])  # fmt: skip
def test_the_documented_commands_import_the_export_of_a_service(app, tmp_path, service, exported):
    page = documentation("coming-from.md")
    section = page.partition(f"\n## {service}\n")[2].partition("\n## ")[0]
    for name, example in exported.items():
        assert name in section
        file = ROOT / "tests" / "formats" / "files" / example
        text = file.read_text().replace("?lY47tw", "https://shaarli.example/?lY47tw")
        (tmp_path / name).write_text(text)
        if name.endswith(".zip"):
            with zipfile.ZipFile(tmp_path / name, "w") as archive:
                archive.writestr("part_000000.csv", text)
    run_in_bash("set -e\n" + blocks(section, "bash")[0], tmp_path)
    tags = {tag for bookmark in app.get("/").json for tag in bookmark["tags"]}
    assert tags & FLAGS == set(re.findall(r"the tag `(\w+)`", section))


def test_a_client_of_linkding_can_keep_its_token(serve, tmp_path):
    token = "5b3e0d1c9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"
    service = serve(BOOKMARKS_TOKEN=token)
    command = documented_block("bash", "/api/bookmarks/?limit=1").replace("TOKEN", token)
    printed = run_in_bash(command.replace(DOCUMENTED, service.address), tmp_path)
    assert json.loads(printed)["count"] == 0


def run_in_bash(commands, folder):
    """Run documented commands with the folder in place of `/`, and return what they print."""
    (folder / "backup").mkdir(exist_ok=True)
    commands = commands.replace("/backup/", f"{folder}/backup/")
    commands = commands.replace("bookmarks import", IMPORT).replace("python3 -m", PYTHON)
    return subprocess.run(
        ["bash", "-c", commands],
        cwd=folder, stdout=subprocess.PIPE, text=True, check=True, timeout=120,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("backup, restore", [
    ("tar -czf", "tar -xzOf"), ("cp -r data", "grep -r -B 1"),
])  # fmt: skip
def test_the_documented_commands_restore_one_bookmark_from_a_backup(
    app, add, tmp_path, backup, restore
):
    made = add(tags=["a"])
    other = add("https://other.example/")
    (line,) = [line for line in documented_block("bash", "restic").splitlines() if backup in line]
    run_in_bash(line, tmp_path)
    app.delete(f"/{made['id']}", status=204)
    app.delete(f"/{other['id']}", status=204)
    command = documented_block("bash", restore).replace("ID", made["id"])
    printed = run_in_bash(f"set -e\n{command}", tmp_path)
    assert f'"id": "{made["id"]}"' in printed and other["id"] not in printed
    app.get(f"/{made['id']}", headers={"Accept": "application/json"}, status=410)
    (restored,) = app.get("/").json
    assert restored["id"] != made["id"]
    assert without_version(restored) == without_version(made)


def test_the_documented_command_prints_what_can_be_put_back(app, add, tmp_path):
    made = add("https://deleted.example/")
    add("https://kept.example/")
    app.delete(f"/{made['id']}", status=204)
    command = documented_block("bash", "xargs -I FILE") + "true\n"  # grep fails for other files.
    date, uri = run_in_bash(command, tmp_path).splitlines()
    assert date.startswith(f'data/tombstones/{made["id"]}.json:  "deleted": "20')
    assert uri == f'data/bookmarks/{made["id"]}.json:  "uri": "https://deleted.example/",'


@pytest.mark.parametrize("word", ["tar -xzf /backup", "cp /backup"])
def test_the_documented_commands_restore_the_content_of_a_file(app, tmp_path, word):
    made = app.post_json("/", {"uri": "https://example.com/"}, status=201).json
    run_in_bash("cp -r data /backup/; tar -czf /backup/bookmarks.tar.gz data", tmp_path)
    app.post_json(f"/{made['id']}", {"title": "A mistake"}, status=200)
    (command,) = re.findall(rf"`({word}[^`]*ID[^`]*)`", documentation("sync-backup.md"))
    run_in_bash(command.replace("ID", made["id"]), tmp_path)
    assert app.get("/").json == [made]


def test_the_documented_command_prints_what_was_deleted_since_a_backup(app, add, tmp_path):
    before, since = (add(f"https://example.com/{name}")["id"] for name in ("before", "since"))
    add("https://example.com/kept")
    command = documented_block("bash", "for t in")
    # The backup has the file and the tombstone of the first bookmark.
    app.delete(f"/{before}", status=204)
    run_in_bash("cp -r data /backup/", tmp_path)
    assert run_in_bash(f"{command}true", tmp_path) == ""
    later = add("https://example.com/later")["id"]
    for id in (since, later):
        app.delete(f"/{id}", status=204)
    (line,) = run_in_bash(f"{command}true", tmp_path).splitlines()
    file = tmp_path / "backup" / "data" / "bookmarks" / f"{since}.json"
    assert line == f'{file}:  "uri": "https://example.com/since",'


@pytest.fixture
def before(app, add, tmp_path):
    """A collection to which two bookmarks of a file are imported in a test; its bookmarks."""
    add("https://known.example/", tags=["a"])
    add("https://other.example/")
    links = [f'<DT><A HREF="https://{name}.example/" TAGS="b">A</A>' for name in ("known", "new")]
    (tmp_path / "bookmarks.html").write_text("\n".join(links))
    return app.get("/").json


def test_the_documented_commands_show_and_undo_an_import(app, before, tmp_path):
    require_program("rsync")
    printed = run_in_bash(documented_block("bash", "--dry-run bookmarks.html"), tmp_path)
    trial, done = printed.splitlines()
    assert trial == f"would be: {done}"
    assert done.startswith("1 created, 1 updated, ")
    assert len(app.get("/").json) == len(before) + 1
    run_in_bash(documented_block("bash", "rsync -ac"), tmp_path)
    assert app.get("/").json == before


def test_the_documented_commands_undo_an_import_with_git(app, before, tmp_path):
    require_program("git")
    author = "git config --global user.name A; git config --global user.email a@example.com"
    git = f"export HOME={tmp_path}; {author}; {{}}"
    run_in_bash(git.format("git init -q data"), tmp_path)
    run_in_bash(git.format(documented_block("bash", "'Import bookmarks.html'\n")), tmp_path)
    imported = app.get("/").json
    later = app.post_json("/", {"uri": "https://later.example/"}, status=201).json
    (other,) = (one["id"] for one in before if one["uri"] == "https://other.example/")
    changed = app.post_json(f"/{other}", {"title": "Changed later"}, status=200).json
    revert = documented_block("bash", "revert --no-edit")
    run_in_bash(git.format(revert), tmp_path)
    expected = [changed if one["id"] == other else one for one in before]
    assert app.get("/").json == [later, *expected]
    (new,) = {one["id"] for one in imported} - {one["id"] for one in before}
    app.get(f"/{new}", headers={"Accept": "application/json"}, status=404)
