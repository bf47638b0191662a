"""The README agrees with the code: commands, routes, options, formats, statuses, dependencies."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bookmarks
import formats
from formats.http import problems

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def mask_changing_values(text):
    """Return the text with placeholders for the values that differ from run to run."""
    text = re.sub(r"20(?!24)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "NOW", text)
    return re.sub(r"\b0[0-9a-hjkmnp-tv-z]{12}\b", "NEW-ID", text)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_each_console_command_prints_the_stated_output(serve, tmp_path):
    address = serve().address
    for block in blocks("console"):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            command = command.replace("http://127.0.0.1:8080", address)
            result = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=20,
                check=True,
            )
            output = result.stdout.replace(address, "http://127.0.0.1:8080").replace("\r", "")
            pair = [mask_changing_values(text).rstrip("\n") for text in (output, expected)]
            assert pair[0] == pair[1], command


def test_the_quick_start_is_two_commands_of_one_line_each():
    commands = blocks("sh")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert README.index("## Quick start") < README.index(commands[0])
    assert commands[0].rstrip().endswith("bookmarks")
    assert "pytest" in commands[1]


def test_the_table_of_endpoints_has_exactly_the_routes():
    rows = set(re.findall(r"^\| ([A-Z]+) \| `(/[^`]*)` \|", README, re.MULTILINE))
    assert rows == {
        (method, route.template) for route in bookmarks.ROUTES for method in route.methods
    }


def test_the_table_of_options_has_exactly_the_options(capsys):
    with pytest.raises(SystemExit):
        bookmarks.main(["serve", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    table = re.findall(r"^\| `(--[a-z-]+)` \| `(BOOKMARKS_[A-Z_]+)` \|", README, re.MULTILINE)
    assert {option for option, _ in table} == options
    for option, variable in table:
        assert variable == "BOOKMARKS_" + option[2:].replace("-", "_").upper()


def test_the_formats_of_lists_are_named_in_order():
    sentence = re.search(r"`Accept` asks for: ([^.]*)\.", README)[1]
    assert re.findall(r"`(\w+)`", sentence) == list(formats.LISTS)


def test_the_statuses_of_errors_are_named():
    errors = README[README.index("**Errors**") : README.index("## The data folder")]
    files = [ROOT / "bookmarks.py", *ROOT.glob("formats/http/*.py")]
    sources = "".join(file.read_text() for file in files)
    raised = set(map(int, re.findall(r"HTTPError\((\d+),", sources)))
    raised |= set(problems.PROBLEMS.values()) | {500}
    raised |= {431, 501}  # waitress itself responds with these.
    assert set(map(int, re.findall(r"\b[45]\d\d\b", errors))) == raised


def test_the_named_test_files_exist():
    files = re.findall(r"`(tests/[\w/]+\.py)`", README)
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_runtime_dependencies_are_named_in_order():
    setup = (ROOT / "setup.cfg").read_text()
    required = setup.partition("install_requires =")[2].partition("[options.extras")[0]
    names = re.findall(r"^    ([\w-]+) >=", required, re.MULTILINE)
    stated = README.partition("Runtime dependencies:")[2].partition("\n\n")[0]
    assert re.findall(r"([\w-]+) \(", stated) == names


def test_the_readme_has_at_most_600_lines():
    assert README.count("\n") <= 600
