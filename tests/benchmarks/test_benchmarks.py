"""The benchmarks run; how fast is for a person to look at, on a quiet machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="they need Linux")


def run(*options):
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def cells(table):
    return [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)]


def test_each_row_gives_a_number_for_each_goal_and_a_verdict(tmp_path):
    data, table = tmp_path / "data", tmp_path / "table.md"
    small = ["--bookmarks", "100", "--seconds", "0.02", "--rounds", "1"]
    run(*small, "--data", str(data), "--markdown", str(table))
    head, _, *rows = cells(table.read_text())
    assert head == ["what", "goal", "measured", "verdict"]
    for what, goal, measured, verdict in rows:
        assert verdict in ("met", "not met"), what
        values = re.findall(r"\d[\d,]*(?:\.\d+)?", measured.partition("(")[0].replace("p99", ""))
        assert len(values) == goal.count("≥") + goal.count("≤"), (goal, measured)
    assert len(list((data / "bookmarks").iterdir())) == 100  # What was written is gone again.
    assert set(tmp_path.iterdir()) == {data, table}


def test_one_row_alone_is_measured_over_the_data_that_is_there(tmp_path):
    data = tmp_path / "bookmarks"
    data.mkdir()
    (tmp_path / "tombstones").mkdir()
    options = ["--data", str(tmp_path), "--seconds", "0.02", "--rounds", "1", "--only", "feed"]
    printed = run(*options)
    assert re.findall(r"^(?:met|not met) +(.*)$", printed, re.MULTILINE) == ["`GET /feed`"]
    assert "\n0 bookmarks; " in printed
