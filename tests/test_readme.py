"""The README held to the code: each command, route, option, format and status, and the reverse."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bookmarks
import formats
from formats import problem

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def settled(text):
    """The text with what differs from run to run made the same."""
    text = re.sub(r"20(?!24)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "NOW", text)
    return re.sub(r"\b0[0-9a-hjkmnp-tv-z]{12}\b", "NEW-ID", text)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_each_console_line_answers_as_it_says(serve, tmp_path):
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
            answer = result.stdout.replace(address, "http://127.0.0.1:8080").replace("\r", "")
            assert settled(answer).rstrip("\n") == settled(expected).rstrip("\n"), command


def test_the_quick_start_is_two_commands_of_one_line():
    commands = blocks("sh")
    assert [command.count("\n") for command in commands] == [1, 1]
    assert README.index("## Quick start") < README.index(commands[0])
    assert commands[0].rstrip().endswith("bookmarks")
    assert "pytest" in commands[1]


def test_each_route_is_named_and_each_named_route_exists():
    named = set(re.findall(r"^\| ([A-Z]+) \| `(/[^`]*)` \|", README, re.MULTILINE))
    assert named == {
        (method, route.template) for route in bookmarks.ROUTES for method in route.methods
    }


def test_each_option_is_named_and_each_named_option_exists(capsys):
    with pytest.raises(SystemExit):
        bookmarks.main(["serve", "--help"])
    offered = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    table = re.findall(r"^\| `(--[a-z-]+)` \| `(BOOKMARKS_[A-Z_]+)` \|", README, re.MULTILINE)
    assert {option for option, _ in table} == offered
    for option, variable in table:
        assert variable == "BOOKMARKS_" + option[2:].replace("-", "_").upper()


def test_each_format_is_named():
    named = re.search(r"`Accept` asks for: ([^.]*)\.", README)[1]
    assert re.findall(r"`(\w+)`", named) == list(formats.LISTS)


def test_each_status_is_named():
    errors = README[README.index("**Errors**") : README.index("## The data folder")]
    sources = [(ROOT / name).read_text() for name in ("bookmarks.py", "formats/http.py")]
    raised = set(map(int, re.findall(r"Refused\((\d+),", "".join(sources))))
    raised |= set(problem.PROBLEMS.values()) | {431, 500, 501}  # Some by the server itself.
    assert set(map(int, re.findall(r"\b[45]\d\d\b", errors))) == raised


def test_each_file_that_shows_a_promise_exists():
    files = re.findall(r"`(tests/[\w/]+\.py)`", README)
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_each_runtime_dependency_is_justified():
    setup = (ROOT / "setup.cfg").read_text()
    required = setup.partition("install_requires =")[2].partition("[options.extras")[0]
    names = re.findall(r"^    ([\w-]+) >=", required, re.MULTILINE)
    stated = README.partition("Runtime dependencies:")[2].partition("\n\n")[0]
    assert re.findall(r"([\w-]+) \(", stated) == names


def test_it_fits():
    assert README.count("\n") <= 600
