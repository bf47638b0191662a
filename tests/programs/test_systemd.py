"""The documented systemd unit is valid and hardened, and allows what the service needs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import documented_block, require_program
from tests.storage.clients import Server, ask, service_of

INSTALLED = "/opt/bookmarks/.venv/bin/bookmarks"


@pytest.fixture
def unit(tmp_path):
    require_program("systemd-analyze")
    text = documented_block("ini", "[Service]")
    assert INSTALLED in text
    path = tmp_path / "bookmarks.service"
    path.write_text(text.replace(INSTALLED, str(Path(sys.executable).with_name("bookmarks"))))
    return path


def analyze(*arguments):
    command = ["systemd-analyze", "--no-pager", *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout, process.stderr


def test_systemd_accepts_the_unit(unit):
    output = "".join(analyze("verify", unit))
    assert str(unit) not in output and unit.name not in output, output


def test_the_exposure_level_of_the_unit_is_below_2(unit):
    report, _ = analyze("security", "--offline=true", "--threshold=20", unit)
    assert float(re.search(r"exposure level for \S+: ([\d.]+)", report)[1]) < 2.0


def allowed_calls(unit):
    allowed = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.MULTILINE):
        names = {call for name in line.lstrip("~").split() for call in resolve_group(name)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def resolve_group(name):
    """Return the system calls in a group such as @system-service, or the one call of this name."""
    if not name.startswith("@"):
        return {name}
    output, _ = analyze("syscall-filter", name)
    lines = {line.strip() for line in output.splitlines()[1:]}
    names = {line for line in lines if line and not line.startswith("#")}
    return {call for name in names for call in resolve_group(name)}


def test_the_service_uses_only_what_the_unit_allows(unit, data, tmp_path):
    require_program("strace")
    calls = tmp_path / "calls"
    strace = ["strace", "-D", "-f", "-qq", "--signal=none", "-o", str(calls)]
    server = Server([*strace, *service_of(data)], tmp_path / "log")
    try:
        path = "/" + ask(server.address, "POST", "/", {"uri": "https://example.com/"}).json["id"]
        assert ask(server.address, "POST", path, {"title": "Changed"}).status == 200
        many = [{"uri": f"https://example.com/{n}", "description": "x" * 1000} for n in range(100)]
        assert ask(server.address, "POST", "/-/import", many).json["created"] == 100
        (data / "bookmarks" / "hand.json").write_text("{}")
        assert len(ask(server.address).json) == 101
        assert ask(server.address, "DELETE", path).status == 204
        assert b"deleted-entry" in ask(server.address, path="/feed").body
    finally:
        server.stop()
    log = calls.read_text()
    used = set(re.findall(r"^\d+ +(\w+)\(", log, re.MULTILINE))
    assert "openat" in used and used <= allowed_calls(unit)
    lines = re.findall(r"^RestrictAddressFamilies=(.*)$", unit.read_text(), re.MULTILINE)
    families = " ".join(lines).split()
    assert set(re.findall(r" socket\((\w+),", log)) <= set(families)
    assert "PROT_WRITE|PROT_EXEC" not in log  # MemoryDenyWriteExecute=yes


def test_the_documented_commands_import_and_check_as_a_user(tmp_path):
    require_program("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root")
    installed = Path(sys.executable).with_name("bookmarks")
    block = documented_block("bash", "setpriv").replace(INSTALLED, str(installed))
    block = block.replace("/var/lib/bookmarks", str(tmp_path / "data"))
    # Other users than root may be unable to read the files of this environment.
    block = block.replace("uid bookmarks", "uid root").replace("gid bookmarks", "gid root")
    (tmp_path / "bookmarks.html").write_text('<DT><A HREF="https://example.com/">Example</A>')
    check, import_ = block.splitlines()
    for command in (import_, check):
        subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=120)
    assert len(list((tmp_path / "data" / "bookmarks").iterdir())) == 1
