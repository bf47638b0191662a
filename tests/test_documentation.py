"""The documentation agrees with the code: commands, routes, options, formats, dependencies."""

import configparser
import json
import os
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

import bookmarks
import formats
from formats.http import problems
from storage.bookmark import ID, create
from storage.check import check
from storage.files import is_temporary
from tests.conftest import OWN_ROUTES, ROOT, documentation, documented_block, require_program
from tests.formats.test_imported_files import EXPECTED

DOCS = sorted(ROOT.glob("docs/*.md"))
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *DOCS]
README = PAGES[0].read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
API = documentation("api.md")
TOKEN = "a-token-of-a-test"
IMPORT = f"{sys.executable} {ROOT / 'bookmarks.py'} import"
DOCUMENTED = "http://127.0.0.1:8080"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def mask_changing_values(text):
    """Return the text with placeholders for the values that differ from run to run."""
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
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=True
    )
    outputs = result.stdout.replace("\r", "").split("--- END ---\n")
    assert len(outputs) == len(steps)
    for (command, _, stated), printed in zip(steps, outputs):
        pair = [mask_changing_values(text.rstrip()) for text in (printed, stated)]
        assert pair[0] == pair[1], command


def test_the_quick_start_is_two_commands_of_one_line_each():
    commands = blocks(README, "sh")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert README.index("## Quick start") < README.index(commands[0])
    assert commands[0].rstrip().endswith("bookmarks")
    assert "pip install -e . &&" in commands[0]  # Without -e, removed modules remain in build/.
    assert "pytest" in commands[1]


def test_the_table_of_endpoints_has_exactly_the_routes():
    rows = set(re.findall(r"^\| ([A-Z]+) \| `(/[^`]*)` \|", API, re.MULTILINE))
    assert rows == {
        (method, route.template) for route in OWN_ROUTES for method in route.handlers
    }


def test_the_table_of_options_has_exactly_the_options(capsys):
    with pytest.raises(SystemExit):
        bookmarks.main(["serve", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    row = r"^\| `(--[a-z-]+)` \| `(BOOKMARKS_[A-Z_]+)` \|"
    table = re.findall(row, documentation("deploy.md"), re.MULTILINE)
    assert {option for option, _ in table} == options
    for option, variable in table:
        assert variable == "BOOKMARKS_" + option[2:].replace("-", "_").upper()


def test_the_formats_of_lists_are_named_in_order():
    sentence = re.search(r"`Accept` asks for: ([^.]*)\.", API)[1]
    assert re.findall(r"`(\w+)`", sentence) == list(formats.LISTS)


def test_the_table_of_imported_files_has_exactly_the_golden_files():
    row = r"^\| .* \| (`.*`) \| (`.*`) \|$"
    named = {}
    for cells in re.findall(row, documentation("import-export.md"), re.MULTILINE):
        names, files = (re.findall("`([^`]+)`", cell) for cell in cells)
        names = names if len(names) == len(files) else names * len(files)
        named |= zip(files, names, strict=True)
    assert named == {file: format for file, (format, _) in EXPECTED.items()}


@pytest.mark.parametrize("name", ["api.md", "data-folder.md", "design.md"])
def test_the_reserved_ids_are_named(name):
    ids = re.search(r"`(\w+)`, `(\w+)` and `(\w+)` are\s+reserved", documentation(name)).groups()
    assert f"(?!(?:{'|'.join(ids)})(?!" in ID.pattern


def test_the_statuses_of_errors_are_named():
    errors = API.partition("\n## Errors\n")[2]
    files = [ROOT / "bookmarks.py", *ROOT.glob("formats/http/*.py")]
    sources = "".join(file.read_text() for file in files)
    raised = set(map(int, re.findall(r"HTTPError\((\d+),", sources)))
    raised |= set(problems.PROBLEMS.values()) | {500}
    raised |= {431, 501}  # waitress itself responds with these.
    assert set(map(int, re.findall(r"\b[45]\d\d\b", errors))) == raised


def test_the_named_test_files_exist():
    files = re.findall(r"`(tests/[\w/]+\.py)`", documentation())
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_runtime_dependencies_are_named_in_order():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    names = re.findall(r"^([\w-]+) >=", setup["options"]["install_requires"], re.MULTILINE)
    stated = documentation("design.md").partition("Runtime dependencies:")[2].partition("\n\n")[0]
    assert re.findall(r"([\w-]+) \(", stated) == names


def test_the_readme_is_one_page():
    assert README.count("\n") <= 200


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


def test_the_readme_links_every_page():
    assert [page.name for page in DOCS if f"(docs/{page.name})" not in README] == []


def test_the_documented_program_writes_a_bookmark_that_the_service_serves(data, app, tmp_path):
    page = documentation("data-folder.md")
    bookmark, tombstone = map(json.loads, blocks(page, "json"))
    app.get("/", status=200)
    command = [sys.executable, "-c", blocks(page, "python")[0], str(data)]
    text = json.dumps(bookmark)
    subprocess.run(command, input=text, text=True, check=True, timeout=20)
    assert app.get(f"/{bookmark['id']}", status=200).json == bookmark
    assert check(data) == []
    temporary = re.search(r"{folder}/bookmarks/(\..*\.tmp)", blocks(page, "python")[0])[1]
    temporary = temporary.replace("{name}", "a.json")
    assert is_temporary(temporary.replace("{os.urandom(8).hex()}", os.urandom(8).hex()))
    (data / "tombstones" / f"{tombstone['id']}.json").write_text(json.dumps(tombstone))
    app.get(f"/{bookmark['id']}", headers={"Accept": "application/json"}, status=410)
    again = subprocess.run(command, input=text, text=True, capture_output=True, timeout=20)
    assert again.stderr == "This bookmark was deleted.\n"


def test_the_format_that_is_added_as_an_example_works():
    code = textwrap.dedent(re.findall(r"   ```python\n(.*?)   ```", CONTRIBUTING, re.DOTALL)[0])
    module = {}
    exec(code, module)
    bookmark = create({"uri": "https://example.com/", "title": "An [example]"}, "a")
    row = re.search(r"`(\"markdown\": .*),`", CONTRIBUTING)[1]
    names = {"Format": formats.Format, "markdown": SimpleNamespace(**module)}
    format = formats.FormatTable(eval(f"{{{row}}}", names))["markdown"]
    assert b"".join(format.write([bookmark], None)) == (
        b"- [An \\[example\\]](<https://example.com/>)\n"
    )


def test_the_example_of_a_new_format_names_what_exists():
    for name in re.findall(r"`((?:formats|tests|storage)/[\w/]+\.\w+)`", CONTRIBUTING):
        assert "markdown" in name or (ROOT / name).exists(), name
    files = [ROOT / "bookmarks.py", *ROOT.glob("formats/**/*.py"), *ROOT.glob("tests/formats/*.py")]
    files.append(ROOT / "tests/test_hostile.py")
    source = "".join(file.read_text() for file in files)
    for table in re.findall(r"`([A-Z_]{4,})`", CONTRIBUTING):
        assert re.search(rf"^{table}\b.*= ", source, re.MULTILINE), table


def test_the_first_command_for_a_new_format_runs_the_tests_that_name_a_place():
    named = re.findall(r"^   \| `(tests/[\w/]+\.py)` \|", CONTRIBUTING, re.MULTILINE)
    (command,) = re.findall(r"   ```bash\n(.*?)   ```", CONTRIBUTING, re.DOTALL)
    first, everything = textwrap.dedent(command).replace("\\\n", "").splitlines()
    assert re.findall(r"tests/\S+", first) == named
    assert everything in CONTRIBUTING.partition("## The layers")[0]


def test_the_messages_in_the_troubleshooting_table_are_those_of_the_program():
    table = documentation("deploy.md").partition("## Troubleshooting")[2].partition("\n## ")[0]
    paths = [ROOT / "bookmarks.py", *ROOT.glob("formats/**/*.py"), *ROOT.glob("storage/*.py")]
    source = "".join(path.read_text() for path in paths)
    messages = [message for row in re.findall(r"^\| (.*?) \|", table, re.M) for message in
                re.findall(r"`([^`]+)`", row)]  # fmt: skip
    assert len(messages) >= 4
    assert [message for message in messages if message not in source] == []


def test_the_documented_command_makes_a_token_that_the_service_accepts(serve, tmp_path):
    command = documented_block("bash", "> token)")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=20)
    token = tmp_path / "token"
    assert token.stat().st_mode & 0o077 == 0
    service = serve("--token-file", str(token))
    address = service.address.replace("//", f"//:{token.read_text().strip()}@")
    subprocess.run(["curl", "-sf", "-o", "/dev/null", address], check=True, timeout=20)
    assert "WARNING" not in "".join(service.log)


def test_the_documented_program_tags_all_bookmarks_of_a_host(serve, app, data, tmp_path):
    hosts = ("example.com/a", "example.com/b", "other.example/?example.com")
    for uri in (f"https://{host}" for host in hosts):
        app.post_json("/", {"uri": uri, "tags": ["old"]}, status=201)
    (tmp_path / "tag_host.py").write_text(blocks(API, "python")[0])
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    service = serve("--token-file", str(tmp_path / "token"))
    command = [sys.executable, "tag_host.py", service.address, "example.com", "sample"]
    environment = {**os.environ, "TOKEN": TOKEN}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=20)
    tags = {bookmark["uri"]: bookmark["tags"] for bookmark in app.get("/").json}
    assert tags == {
        "https://example.com/a": ["old", "sample"],
        "https://example.com/b": ["old", "sample"],
        "https://other.example/?example.com": ["old"],
    }


def test_the_documented_commands_restore_one_bookmark_from_a_backup(app, data, tmp_path):
    made = app.post_json("/", {"uri": "https://example.com/", "tags": ["a"]}, status=201).json
    subprocess.run(["tar", "-czf", "bookmarks.tar.gz", data.name], cwd=tmp_path, check=True)
    app.delete(f"/{made['id']}", status=204)
    commands = documented_block("bash", "data/bookmarks/ID.json").replace("ID", made["id"])
    commands = commands.replace("/backup/", "").replace("bookmarks import", IMPORT)
    subprocess.run(["bash", "-ec", commands], cwd=tmp_path, check=True, timeout=20)
    (restored,) = app.get("/").json
    assert restored["id"] != made["id"]
    assert {**restored, "id": "", "modified": ""} == {**made, "id": "", "modified": ""}
