"""Syncthing, git and rsync, used as documented, keep the folders of two services equal."""

import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import pytest
from clients import ask, check, erase, put, put_back, repair, service_of, titles
from test_changes_by_other_programs import without_inotify

from tests.conftest import documented_block, free_port, require_program, until

# --- Syncthing ---


class Syncthing:
    """One machine: a data folder and a Syncthing that connects only to the loopback interface."""

    QUIET = {
        "globalAnnounceEnabled": "false", "localAnnounceEnabled": "false", "relaysEnabled": "false",
        "natEnabled": "false", "crashReportingEnabled": "false", "startBrowser": "false",
        "autoUpgradeIntervalH": "0", "urAccepted": "-1", "reconnectionIntervalS": "1",
    }  # fmt: skip

    def __init__(self, home):
        self.home, self.data = home, home / "data"
        self.data.mkdir(parents=True)
        self.port, gui = free_port(), free_port()
        self._api = f"http://127.0.0.1:{gui}"
        run("syncthing", "generate", f"--home={home}", "--no-default-folder")
        self.id = run("syncthing", f"--home={home}", "--device-id").split()[-1]
        config = ElementTree.parse(home / "config.xml")
        options = {"listenAddress": f"tcp://127.0.0.1:{self.port}", **self.QUIET}
        for name, value in options.items():
            config.find(f"options/{name}").text = value
        config.find("gui/address").text = f"127.0.0.1:{gui}"
        self._key = config.find("gui/apikey").text
        config.write(home / "config.xml")
        with (home / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["syncthing", "serve", f"--home={home}", "--no-restart", "--no-browser"],
                stdout=log,
                stderr=log,
                env={**os.environ, "STNOUPGRADE": "1", "STNODEFAULTFOLDER": "1"},
            )
        until(self._is_ready)

    def _is_ready(self):
        assert self.process.poll() is None, (self.home / "log").read_text()
        try:
            return self.request("GET", "system/ping").status == 200
        except OSError:
            return False

    def request(self, method, path):
        return ask(self._api, method, f"/rest/{path}", X_API_Key=self._key)

    def join(self, other):
        """Share the data folder with another machine, by the documented commands."""
        commands = documented_block("bash", "syncthing cli")
        commands = commands.replace("syncthing cli", f"syncthing cli --home={self.home}")
        commands = commands.replace("OTHER-DEVICE-ID", other.id)
        commands = commands.replace("/srv/bookmarks/data", str(self.data))
        run("bash", "-ec", commands)
        # Syncthing misses files that are written while it sets up its watches; scan often.
        folder = ("config", "folders", "bookmarks")
        run("syncthing", "cli", f"--home={self.home}", *folder, "rescan-intervals", "set", "5")
        assert self.request("GET", "config/folders/bookmarks").json["maxConflicts"] == -1
        assert self.request("GET", "config/folders/bookmarks").json["rescanIntervalS"] == 5

    def dial(self, other):
        """Set the address of the other machine, because discovery is off.

        Only one machine may dial: two that dial each other at once wait for minutes.
        """
        device = ("config", "devices", other.id)
        address = f"tcp://127.0.0.1:{other.port}"
        run("syncthing", "cli", f"--home={self.home}", *device, "addresses", "add", address)

    def disconnect(self, other):
        assert self.request("POST", f"system/pause?device={other.id}").status == 200

    def reconnect(self, other):
        for machine in (self, other):
            assert machine.request("POST", "db/scan?folder=bookmarks").status == 200
        assert self.request("POST", f"system/resume?device={other.id}").status == 200

    def conflicts(self):
        return sorted(self.data.glob("*/*.sync-conflict-*.json"))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.wait()


def run(*command, cwd=None):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def pair(tmp_path, start):
    require_program("syncthing")
    machines = []
    try:
        for name in ("one", "two"):
            machines.append(Syncthing(tmp_path / name))
            machines[-1].address = start(service_of(machines[-1].data)).address
        one, two = machines
        two.join(one)
        one.join(two)
        one.dial(two)
        yield one, two
    finally:
        for machine in machines:
            machine.stop()


def title_or_status(machine, id):
    response = ask(machine.address, path=f"/{id}")
    return response.json["title"] if response.status == 200 else response.status


def test_syncthing_loses_no_change_made_while_disconnected(pair):
    one, two = pair
    for id in ("edited", "deleted", "back"):
        assert put(one.address, id, "Before").status == 201
        until(lambda id=id: title_or_status(two, id) == "Before")
    assert ask(two.address, "DELETE", "/back").status == 204
    until(lambda: title_or_status(one, "back") == 410)
    one.disconnect(two)
    for machine, name in ((one, "one"), (two, "two")):
        assert put(machine.address, name, "Added").status == 201
        assert put(machine.address, "edited", f"By {name}").status == 200
        assert put_back(machine.address, "back").status == 303
    assert ask(one.address, "DELETE", "/deleted").status == 204
    assert put(two.address, "deleted", "Still wanted").status == 200
    one.reconnect(two)
    expected = ["Added", "Added", "Before", "Before", "By two"]
    until(lambda: sorted(titles(one.address).values()) == expected)
    until(lambda: titles(one.address) == titles(two.address))
    until(lambda: len(one.conflicts()) == len(two.conflicts()) == 1)
    for machine in pair:
        (kept,) = machine.conflicts()
        assert kept.name.startswith("edited.sync-conflict-")
        assert "By one" in kept.read_text()
        assert title_or_status(machine, "deleted") == 410
        findings = repair(machine.data)[1]
        for problem in ("another version of edited.json", "has the same uri as"):
            assert [problem in finding for finding in findings].count(True) == 1
        assert len(findings) == 2 and kept.exists()


# --- git and rsync ---

class Machine:
    def __init__(self, data, start, command=service_of):
        self.data, self.address = data, start(command(data)).address


def change_both(one, two):
    """Add, edit and delete bookmarks on both machines; `two` edits last."""
    for number, machine in enumerate((one, two), 1):
        time.sleep(1.1 * (number - 1))  # rsync may compare file times by the second.
        assert put(machine.address, f"added-{number}", "Added").status == 201
        assert put(machine.address, "edited", f"By {number}").status == 200
    assert ask(one.address, "DELETE", "/deleted").status == 204
    assert put(two.address, "deleted", "Still wanted").status == 200


def require_equal(one, two, edited):
    expected = {"added-1": "Added", "added-2": "Added", "edited": edited}
    assert titles(one.address) == titles(two.address) == expected
    assert title_or_status(one, "deleted") == title_or_status(two, "deleted") == 410
    assert ask(one.address).headers["ETag"] == ask(two.address).headers["ETag"]


@pytest.fixture
def clones(tmp_path, start, monkeypatch):
    require_program("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for setting in ("user.name", "user.email"):
        run("git", "config", "--global", setting, "a@example.com")
    hub, one, two = tmp_path / "hub.git", tmp_path / "one", tmp_path / "two"
    run("git", "init", "-q", "--bare", "-b", "main", str(hub))
    one.mkdir()
    two.mkdir()
    first = Machine(one / "data", start)
    for id in ("edited", "deleted"):
        assert put(first.address, id, "Before").status == 201
    for folder, command in ((one, "git init -q"), (two, "git clone")):
        commands = documented_block("bash", command)
        run("bash", "-ec", commands.replace("git@example.com:bookmarks.git", str(hub)), cwd=folder)
    assert (two / "data").stat().st_mode & 0o077 == 0
    return first, Machine(two / "data", start, without_inotify)


def exchange(*machines):
    for machine in machines:
        run("bash", "-c", documented_block("bash", "git pull"), cwd=machine.data)


def test_git_transfers_edits_and_lets_a_deletion_win(clones):
    one, two = clones
    assert titles(two.address) == {"edited": "Before", "deleted": "Before"}
    change_both(one, two)
    exchange(one, two, one)
    require_equal(one, two, edited="By 2")
    assert check(one.data) == check(two.data) == (0, [])
    history = run("git", "log", "-p", "--full-history", "--", "bookmarks/edited.json", cwd=two.data)
    assert "By 1" in history and "By 2" in history


def test_git_transfers_what_is_put_back_and_what_is_erased(clones):
    one, two = clones
    for id in ("edited", "deleted"):
        assert ask(one.address, "DELETE", f"/{id}").status == 204
    exchange(one, two)
    assert put_back(one.address, "edited").status == 303
    assert erase(two.address, "deleted").status == 303
    exchange(two, one, two)
    assert titles(one.address) == titles(two.address)
    assert list(titles(one.address).values()) == ["Before"]
    for machine in clones:
        files = machine.data.glob("bookmarks/[!.]*.json")
        assert {path.stem for path in files} == set(titles(one.address))
        assert title_or_status(machine, "edited") == title_or_status(machine, "deleted") == 410
        assert check(machine.data) == (0, [])


def test_rsync_transfers_additions_edits_and_deletions(tmp_path, start):
    require_program("rsync")
    machines = []
    for name, command in (("one", service_of), ("two", without_inotify)):
        (tmp_path / name).mkdir()
        machines.append(Machine(tmp_path / name / "data", start, command))
    one, two = machines
    commands = documented_block("bash", "laptop:data/").replace("laptop:data/", f"{two.data}/")

    def exchange():
        run("bash", "-ec", commands, cwd=one.data.parent)

    for id in ("edited", "deleted"):
        assert put(one.address, id, "Before").status == 201
    exchange()
    assert titles(two.address) == {"edited": "Before", "deleted": "Before"}
    change_both(one, two)
    exchange()
    require_equal(one, two, edited="By 2")
    assert "By 1" in (one.data / "replaced" / "bookmarks" / "edited.json").read_text()
    for machine in machines:
        assert check(machine.data) == (0, [])  # The file of the deleted bookmark is kept.
        assert repair(machine.data) == (0, [])
    require_equal(one, two, edited="By 2")
