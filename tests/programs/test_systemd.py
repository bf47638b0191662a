"""The documented systemd unit is valid and hardened, and the service works under it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import documented_block, require_program, until
from tests.storage.clients import ask

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


def setting_values(unit, name):
    return " ".join(re.findall(rf"^{name}=(.*)$", unit.read_text(), re.MULTILINE)).split()


def allowed_calls(unit):
    """Return the system calls that the unit's filters allow, their groups resolved by systemd."""
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


# Apply the unit's restrictions as systemd does, and record the system calls.
NAMESPACES = """
    mount --bind "$1" "$1" && mount -o remount,bind,ro / &&
    mount -t tmpfs tmpfs /var/tmp &&
    mount -t proc -o subset=pid,hidepid=invisible proc /proc || exit 77
    calls="$1/calls"
    shift
    exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \
        strace -f -qq --signal=none -o "$calls" "$@"
"""


@pytest.fixture
def confined(unit, tmp_path):
    """Run the service under the unit's restrictions; return its address and its data folder.

    It has namespaces, a read-only disk, no capability, and a /proc of processes only.
    """
    require_program("unshare", "setpriv", "strace")
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for setting in (
        "ProtectSystem=strict", "PrivateTmp=yes", "ProcSubset=pid", "ProtectProc=invisible",
        "CapabilityBoundingSet=\n", "MemoryDenyWriteExecute=yes", "SystemCallErrorNumber=EPERM",
    ):  # fmt: skip
        assert setting in unit.read_text()
    state = tmp_path / "private" / "bookmarks"
    state.mkdir(parents=True)
    (tmp_path / "bookmarks").symlink_to(state)  # The data folder may be a link.
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o400)
    (command,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    command = command.replace("%S", str(tmp_path)).replace("%d", str(tmp_path))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts",
             "sh", "-c", NAMESPACES, "sh", str(state),
             *command.split(), "--listen", "127.0.0.1:0"],
            stdout=log, stderr=log, cwd="/",
        )  # fmt: skip
    try:
        address = address_of(process, tmp_path / "log")
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        status = Path(f"/proc/{child}/status").read_text()
        for fact in ("CapEff:\t0000000000000000", "NoNewPrivs:\t1"):
            assert fact in status
        yield address, state
    finally:
        process.kill()
        process.wait()


def address_of(process, log):
    until(lambda: process.poll() is not None or "http://" in log.read_text())
    if process.poll() == 77:
        pytest.skip("needs to mount: " + log.read_text())
    assert process.poll() is None, log.read_text()
    return re.search(r"http://[\d.]+:\d+", log.read_text())[0]


def test_the_service_works_under_the_restrictions_of_the_unit(confined, unit):
    address, state = confined
    bearer = {"Authorization": "Bearer secret"}
    assert ask(address).status == 401
    created = ask(address, "POST", "/", {"uri": "https://example.com/"}, **bearer)
    assert created.status == 201
    path = "/" + created.json["id"]
    assert ask(address, "POST", path, {"title": "Changed"}, **bearer).status == 200
    many = [{"uri": f"https://example.com/{n}", "description": "x" * 1000} for n in range(100)]
    report = ask(address, "POST", "/-/import", many, **bearer)
    assert report.json["created"] == 100
    by_hand = {"id": "hand", "uri": "x:y", "created": "2024-01-01T00:00:00Z"}
    (state / "bookmarks" / "hand.json").write_text(json.dumps(by_hand))
    assert len(ask(address, **bearer).json) == 102
    assert ask(address, "DELETE", path, **bearer).status == 204
    assert ask(address, path=path, **bearer).status == 410
    assert b"deleted-entry" in ask(address, path="/feed", **bearer).body
    log = (state / "calls").read_text()
    assert set(re.findall(r"^\d+ +(\w+)\(", log, re.MULTILINE)) <= allowed_calls(unit)
    families = setting_values(unit, "RestrictAddressFamilies")
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
