"""Two services, each with its own folder: engines made for it keep the folders alike, set up by
the README's commands."""

import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import pytest
from clients import ask, check, put, service_of, titles, uri_of

from tests.conftest import free_port, readme_block, require_program, until

# --- Syncthing ---


class Syncthing:
    """One machine: a folder, its service, and a Syncthing that talks to nobody but the loopback."""

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
        until(self._answers, 20)

    def _answers(self):
        assert self.process.poll() is None, (self.home / "log").read_text()
        try:
            return self.tell("GET", "system/ping").status == 200
        except OSError:
            return False

    def tell(self, method, path):
        """Asks Syncthing itself."""
        return ask(self._api, method, f"/rest/{path}", X_API_Key=self._key)

    def join(self, other):
        """What the README says."""
        commands = readme_block("bash", "syncthing cli")
        commands = commands.replace("syncthing cli", f"syncthing cli --home={self.home}")
        commands = commands.replace("OTHER-DEVICE-ID", other.id)
        commands = commands.replace("/srv/bookmarks/data", str(self.data))
        run("bash", "-ec", commands)
        # What is written while it sets up its watch, its scan of each hour finds.
        folder = ("config", "folders", "bookmarks")
        run("syncthing", "cli", f"--home={self.home}", *folder, "rescan-intervals", "set", "5")
        assert self.tell("GET", "config/folders/bookmarks").json["maxConflicts"] == -1
        assert self.tell("GET", "config/folders/bookmarks").json["rescanIntervalS"] == 5

    def dial(self, other):
        """Where the other is, which nobody announces here. Only one side is told: two that dial
        each other at once, or too often, wait for minutes.
        """
        device = ("config", "devices", other.id)
        address = f"tcp://127.0.0.1:{other.port}"
        run("syncthing", "cli", f"--home={self.home}", *device, "addresses", "add", address)

    def part(self, other):
        assert self.tell("POST", f"system/pause?device={other.id}").status == 200

    def meet(self, other):
        """Both look at what has changed, and then this one turns to the other again."""
        for machine in (self, other):
            assert machine.tell("POST", "db/scan?folder=bookmarks").status == 200
        assert self.tell("POST", f"system/resume?device={other.id}").status == 200

    def conflicts(self):
        return sorted(self.data.glob("*/*.sync-conflict-*.json"))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        finally:
            self.process.kill()
            self.process.wait()


def run(*command, cwd=None):
    """What the command writes; it must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def pair(tmp_path, start):
    """Two machines that Syncthing joins, and their services."""
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


def shown(machine, id):
    """The title of a bookmark there, or the status."""
    answer = ask(machine.address, path=f"/{id}")
    return answer.json["title"] if answer.status == 200 else answer.status


def arrives(machine, id, title):
    until(lambda: shown(machine, id) == title, 20)


def test_syncthing_brings_a_new_bookmark_a_change_and_a_deletion(pair):
    one, two = pair
    assert put(one.address, "a", "New").status == 201
    arrives(two, "a", "New")
    assert put(two.address, "a", "Changed").status == 200
    arrives(one, "a", "Changed")
    assert ask(two.address, "DELETE", "/a").status == 204
    arrives(one, "a", 410)
    until(lambda: check(one.data) == check(two.data) == (0, []), 20)


def test_syncthing_loses_no_change_made_while_disconnected(pair):
    one, two = pair
    for id in ("edited", "deleted"):
        assert put(one.address, id, "Before").status == 201
        arrives(two, id, "Before")
    one.part(two)
    for machine, name in ((one, "one"), (two, "two")):
        for number in range(5):
            assert put(machine.address, f"{name}-{number}", name).status == 201
        assert put(machine.address, "edited", f"By {name}").status == 200
    assert ask(one.address, "DELETE", "/deleted").status == 204
    assert put(two.address, "deleted", "Still wanted").status == 200
    one.meet(two)
    ids = {"edited", *(f"{name}-{n}" for name in ("one", "two") for n in range(5))}
    until(lambda: set(titles(one.address)) == set(titles(two.address)) == ids, 20)
    until(lambda: len(one.conflicts()) == len(two.conflicts()) == 1, 20)
    until(lambda: titles(one.address) == titles(two.address), 20)
    assert titles(one.address)["edited"] == "By two"
    for machine in pair:
        (kept,) = machine.conflicts()
        assert kept.name.startswith("edited.sync-conflict-")
        assert "By one" in kept.read_text()
        assert shown(machine, "deleted") == 410
        findings = check(machine.data, "--repair")[1]
        assert [line for line in findings if "another version of edited.json" in line] == findings
        assert len(findings) == 1 and kept.exists()


# --- git and rsync ---


class Plain:
    """One machine: a folder and its service."""

    def __init__(self, data, start):
        self.data, self.address = data, start(service_of(data)).address


def add_apart(one, two):
    """Both sides have `edited` and `deleted` already; `two` edits last."""
    for number, machine in enumerate((one, two), 1):
        time.sleep(1.1 * (number - 1))  # Times of files may be compared by the second.
        assert put(machine.address, f"added-{number}", "Apart").status == 201
        assert put(machine.address, "edited", f"By {number}").status == 200
    assert ask(one.address, "DELETE", "/deleted").status == 204


def require_alike(one, two, edited):
    expected = {"added-1": "Apart", "added-2": "Apart", "edited": edited}
    assert titles(one.address) == titles(two.address) == expected
    assert shown(one, "deleted") == shown(two, "deleted") == 410
    assert ask(one.address).headers["ETag"] == ask(two.address).headers["ETag"]


@pytest.fixture
def clones(tmp_path, start, monkeypatch):
    """Two clones of one repository and their services."""
    require_program("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for setting in ("user.name", "user.email"):
        run("git", "config", "--global", setting, "a@example.com")
    hub, one = tmp_path / "hub.git", tmp_path / "one"
    run("git", "init", "-q", "--bare", "-b", "main", str(hub))
    one.mkdir()
    first = Plain(one / "data", start)
    for id in ("edited", "deleted"):
        assert put(first.address, id, "Before").status == 201
    commands = readme_block("bash", "git init")
    run("bash", "-ec", commands.replace("git@example.com:bookmarks.git", str(hub)), cwd=one)
    run("git", "clone", "-q", str(hub), str(tmp_path / "two"))
    return first, Plain(tmp_path / "two", start)


def exchange(machine):
    """The README's commands; whether they came to their end."""
    done = subprocess.run(
        ["bash", "-c", readme_block("bash", "git pull")],
        cwd=machine.data, capture_output=True, timeout=60,
    )  # fmt: skip
    return done.returncode == 0


def test_git_carries_additions_edits_and_deletions_over(clones):
    one, two = clones
    assert titles(two.address) == {"edited": "Before", "deleted": "Before"}
    add_apart(one, two)
    assert exchange(one) and exchange(two) and exchange(one)
    require_alike(one, two, edited="By 2")
    assert check(one.data) == check(two.data) == (0, [])
    past = run("git", "log", "-p", "--full-history", "--", "bookmarks/edited.json", cwd=two.data)
    assert "By 1" in past and "By 2" in past


def test_git_lets_a_deletion_win_over_an_edit(clones):
    one, two = clones
    assert ask(one.address, "DELETE", "/deleted").status == 204
    assert put(two.address, "deleted", "Still wanted").status == 200
    assert exchange(one) and not exchange(two)
    assert shown(two, "deleted") == 410
    assert exchange(two) and exchange(one)
    assert shown(one, "deleted") == shown(two, "deleted") == 410
    assert titles(one.address) == titles(two.address) == {"edited": "Before"}


def test_rsync_carries_additions_edits_and_deletions_over(tmp_path, start):
    require_program("rsync")
    machines = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        machines.append(Plain(tmp_path / name / "data", start))
    one, two = machines
    commands = readme_block("bash", "rsync").replace("laptop:data/", f"{two.data}/")

    def exchange():
        run("bash", "-ec", commands, cwd=one.data.parent)

    for id in ("edited", "deleted"):
        assert put(one.address, id, "Before").status == 201
    exchange()
    assert titles(two.address) == {"edited": "Before", "deleted": "Before"}
    add_apart(one, two)
    assert put(two.address, "deleted", "Still wanted").status == 200
    exchange()
    require_alike(one, two, edited="By 2")
    assert "By 1" in (one.data / "replaced" / "bookmarks" / "edited.json").read_text()
    assert len(check(one.data)[1]) == 1  # The file of the deleted one came back, and means nothing.
    for machine in machines:
        assert check(machine.data, "--repair") == (0, [])
    require_alike(one, two, edited="By 2")


def test_two_copied_bookmarks_of_one_uri_are_listed_and_reported(tmp_path, start):
    require_program("rsync")
    one, two = (Plain(tmp_path / name, start) for name in ("one", "two"))
    for machine in (one, two):
        assert ask(machine.address, "POST", "/", {"uri": uri_of("a")}).status == 201
    run("rsync", "-au", f"{one.data}/", f"{two.data}/")
    assert len(titles(two.address)) == 2
    (finding,) = check(two.data)[1]
    assert "has the same uri as" in finding
