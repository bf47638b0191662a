"""The benchmarks run; how fast is for a person to look at, on a quiet machine."""

import re
import subprocess
import sys
from pathlib import Path


def test_writes_runs_and_prints_a_share_for_each_number_of_clients(tmp_path):
    script = Path(__file__).parent / "writes.py"
    command = [sys.executable, str(script), "--seconds", "0.2", "--rounds", "1"]
    result = subprocess.run(
        [*command, "--folder", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert (
        len(re.findall(r"^durable create, \d clients: .* share \d\.\d\d", result.stdout, re.M)) == 2
    )
