"""Packages of a clean tree, their installation with pip, pipx and shiv, and each Python.

These tests need a package index that pip can reach.
"""

import email
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

import bookmarks
from tests.conftest import ROOT, documentation, documented_block, interpreters, skip_without
from tests.storage.clients import Server, ask

TOOLS = Path(sys.executable).parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}


def readme_command(program):
    commands = documented_block("bash", "pipx").splitlines()
    (command,) = [line for line in commands if line.startswith(program + " ")]
    return command


def upgrade_command(installed):
    return re.search(rf"^\| {installed} \| `(.*)` \|$", documentation("deploy.md"), re.MULTILINE)[1]


def run(*command, cwd=None, **environment):
    path = f"{TOOLS}:{os.environ['PATH']}"
    process = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PATH": path, **environment},
    )  # fmt: skip
    assert process.returncode == 0, process
    return process.stdout


def project_files(*paths):
    """Return the names of the project's files, committed or not, without those git ignores."""
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("needs git and a clone")
    options = ["-z", "--cached", "--others", "--exclude-standard"]
    names = run("git", "ls-files", *options, "--", *paths, cwd=ROOT).split("\0")[:-1]
    return {name for name in names if (ROOT / name).exists()}


def clean_tree(folder):
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def tree(tmp_path):
    return clean_tree(tmp_path / "tree")


def require_index(*command):
    """Skip the test if this command does not get packages from an index. In CI, fail instead."""
    packages = ["setuptools >= 64", "webob"]  # A local folder of wheels may have only the first.
    process = subprocess.run([*command, *packages], capture_output=True, text=True, timeout=300)
    if process.returncode:
        skip_without("a package index: " + process.stderr.strip().splitlines()[-1])


def variables_for(folder):
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_NO_COMPILE": "1"}
    uv = {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(folder), "UV_PYTHON_DOWNLOADS": "never"}
    return pip | uv


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Return a folder with the source archive and the wheel that is built from it.

    The folder also has the wheels of the dependencies and of the build backend. All processes of
    pytest-xdist share it: the first one that locks the file beside it fills it.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "wheels").exists():
            made = build(clean_tree(tmp_path_factory.mktemp("tree")))
            made.rename(shared / "wheels")
    return shared / "wheels"


def build(tree):
    folder = tree / "dist"
    pip = [sys.executable, "-m", "pip"]
    require_index(*pip, "download", "-q", "--no-deps", "--retries=0", "-d", folder)
    run("uv", "build", "-q", "-o", folder, tree, **variables_for(folder))
    (wheel,) = folder.glob("bookmarks-*.whl")
    run(*pip, "wheel", "-q", "-w", folder, wheel)
    return folder


@pytest.fixture
def offline(wheels):
    return variables_for(wheels)


@contextmanager
def serving(*command, folder, **environment):
    options = ["--data", str(folder / "data"), "--listen", "127.0.0.1:0"]
    command = [*map(str, command), *options]
    server = Server(command, folder / "log", cwd=folder, **environment)
    try:
        yield server.address
        assert server.stop() == 0
    finally:
        server.stop(signal.SIGKILL)


def require_serves(*command, folder, **environment):
    """Assert that the command serves every format, the page's files and a deletion.

    Write its lists to files in the folder.
    """
    assert "serve the bookmarks" in run(*command, "--help", cwd=folder, **environment)
    with serving(*command, folder=folder, **environment) as address:
        fields = {"uri": "https://a.example/", "title": "A", "description": "", "tags": ["t"]}
        assert ask(address, "PUT", "/a", fields).status == 201
        assert ask(address, "POST", "/", {"uri": "https://b.example/"}).status == 201
        for name in ("json", "xbel", "text", "csv", "html", "netscape"):
            response = ask(address, path=f"/?format={name}")
            assert response.status == 200 and b"https://a.example/" in response.body, name
            (folder / f"list.{name}").write_bytes(response.body)
        page = (folder / "list.html").read_text()
        files = set(re.findall(r'(?:href|src)="(/[^"?]+\.(?:css|js|svg))"', page))
        assert len(files) == 3
        for path in ("/feed", "/tags.json", "/openapi.json", "/a/title", *files):
            assert ask(address, path=path).status == 200
        assert ask(address, "DELETE", "/a").status == 204
        assert ask(address, path="/a").status == 410


def require_imports_and_exports(*command, folder):
    files = [folder / f"list.{name}" for name in ("json", "xbel", "csv", "netscape")]
    options = ["--data", folder / "other"]
    run(*command, "import", *options, *files, cwd=folder)
    exported = run(*command, "export", *options, cwd=folder)
    assert json.loads(exported) == json.loads(files[0].read_text())
    assert "the folder is good" in run(*command, "check", *options, cwd=folder)


def test_the_wheel_has_exactly_the_sources_and_the_metadata(wheels):
    (wheel,) = wheels.glob("bookmarks-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = project_files("bookmarks.py", "storage", "formats")
    metadata = re.sub(r"-py3-.*", ".dist-info/", wheel.name)
    assert names == sources | {metadata + name for name in METADATA}


def test_the_source_archive_has_exactly_the_files_of_the_project(wheels):
    (archive,) = wheels.glob("bookmarks-*.tar.gz")
    with tarfile.open(archive) as members:
        names = {member.name.partition("/")[2] for member in members if member.isfile()}
    generated = {"PKG-INFO"} | {name for name in names if name.startswith("bookmarks.egg-info/")}
    assert names - generated == project_files()


def test_the_metadata_names_the_version_the_author_keywords_and_the_tested_pythons(wheels):
    (wheel,) = wheels.glob("bookmarks-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == bookmarks.__version__
    assert metadata["Author"] and "XBEL" in metadata["Keywords"]
    found = re.findall(r"Python :: (3\.\d+)", "".join(metadata.get_all("Classifier")))
    assert tuple(found) == PYTHONS


def has_module(environment, name):
    find = f"import importlib.util; print(importlib.util.find_spec({name!r}) is not None)"
    return run(environment / "bin" / "python", "-c", find, cwd=environment) == "True\n"


def test_the_documented_commands_of_pip_install_and_upgrade_it(tree, tmp_path, offline):
    """An upgrade removes the modules that the new version does not have."""
    removed = tree / "formats" / "removed.py"
    removed.touch()
    install, *_ = documented_block("bash", "useradd").splitlines()
    upgrade, _, restart = upgrade_command("on a server").rpartition(" && ")
    assert restart == "systemctl restart bookmarks"
    for command in (install, upgrade):
        command = command.replace("/opt/bookmarks/.venv", ".venv")
        run("bash", "-c", command, cwd=tree, **offline)
        assert has_module(tree / ".venv", "formats.xbel")
        assert has_module(tree / ".venv", "formats.removed") is removed.exists()
        removed.unlink(missing_ok=True)  # As `git pull` would.
    require_serves(tree / ".venv" / "bin" / "bookmarks", folder=tmp_path)
    require_imports_and_exports(tree / ".venv" / "bin" / "bookmarks", folder=tmp_path)


def test_pipx_installs_a_clean_tree(tree, tmp_path, offline):
    command = readme_command("pipx")
    again = command.replace("install", "install --force")
    assert upgrade_command("with pipx") == f"rm -rf build && {again}"
    names = ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR", "PIPX_COMPLETION_DIR")
    folders = {name: str(tmp_path / name) for name in names}
    run(*command.split(), cwd=tree, **offline, **folders)
    require_serves(tmp_path / "PIPX_BIN_DIR" / "bookmarks", folder=tmp_path)


def test_shiv_packs_it_into_one_file(tree, tmp_path, offline):
    assert upgrade_command("with shiv") == f"rm -rf build && {readme_command('shiv')}"
    run(*readme_command("shiv").split(), cwd=tree, **offline)
    file = shutil.move(tree / "bookmarks.pyz", tmp_path)
    bare = [sys.executable, "-I", "-S"]  # Without the packages of this environment.
    require_serves(*bare, file, folder=tmp_path, SHIV_ROOT=str(tmp_path / "unpacked"))


@pytest.mark.parametrize("python", interpreters().values(), ids=interpreters())
def test_it_installs_and_runs_on_python(python, wheels, tmp_path):
    (wheel,) = wheels.glob("bookmarks-*.whl")
    environment = tmp_path / "environment"
    run("uv", "venv", "--no-project", "-q", "--python", python, environment)
    uv = [TOOLS / "uv", "pip", "install", "--python", environment]
    require_index(*uv, "--dry-run", "--no-cache", "--reinstall")
    run(*uv, "-q", wheel)
    require_serves(environment / "bin" / "bookmarks", folder=tmp_path)
    require_imports_and_exports(environment / "bin" / "bookmarks", folder=tmp_path)
