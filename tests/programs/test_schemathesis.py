"""The real service under requests that schemathesis generates from its OpenAPI description."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = os.environ.get("BOOKMARKS_TEST_EXAMPLES", "1")
# A schema cannot express conditions, nor which bookmarks exist or were deleted.
CONFIG = f"""
hooks = "{HERE / 'schemathesis_hooks.py'}"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "404", "409", "410", "412"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "404", "406", "409", "410", "412", "415", "422"]
[phases.stateful.inference]
algorithms = []
# A schema cannot express the grammar of q, nor that tag or q must not be empty.
[[operations]]
include-path = "/tags"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "412", "422"]
# The path has one description for all fields: it allows a title where a uri is needed, and PUT
# where the field is read-only.
[[operations]]
include-path = "/{{id}}/{{field}}"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "404", "409", "410", "412", "422"]
[operations.checks.unsupported_method]
enabled = false
"""


def test_no_response_contradicts_the_description(serve, tmp_path):
    """OPTIONS is left out: its response depends on nothing but the path.

    The description cannot express which of the fields can be written.
    """
    if not importlib.util.find_spec("schemathesis"):
        pytest.skip("schemathesis is not installed")
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    address = serve().address + "/openapi.json"
    command = [sys.executable, "-m", "schemathesis.cli", f"--config-file={config}", "run", address]
    command += ["--checks=all", "--seed=1", f"--max-examples={EXAMPLES}", "--no-color"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
    result = subprocess.run(
        [*command, "--exclude-method=OPTIONS"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert result.returncode == 0, (result.stdout + result.stderr)[-8000:]
