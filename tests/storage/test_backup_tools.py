"""The documented backup commands (cp, tar, restic, borg) make backups and restore them."""

import os
import subprocess

import pytest
from clients import Ledger, Writer, ask, put, require_kept, service_of, start_writers, titles
from test_backup import require_complete

from tests.conftest import documented_block, require_program, until

WRITERS = 3
# The exit status of each tool after files changed while it read them.
WARNING_STATUS = {"cp": 1, "tar": 1, "restic": 3, "borg": 1}


def commands_of(tool):
    """Return the documented commands for a tool: preparation, backup, restore."""
    parts = documented_block("bash", "restic").split("\n\n")
    (lines,) = [part for part in parts if part.startswith(tool)]
    return lines.splitlines()


class Archive:
    """A backup of the folder `data`, made with the documented commands for one tool."""

    def __init__(self, tool, folder):
        self._warning_status = WARNING_STATUS[tool]
        self._folder = folder
        folder.mkdir()
        *prepare, self._backup, self._restore = commands_of(tool)
        for command in prepare:
            self._run(command, folder)

    def back_up(self, folder):
        self._run(self._backup, folder, 0, self._warning_status)

    def restore(self, folder):
        self._run(self._restore, folder)

    def _run(self, command, folder, *statuses):
        passwords = {"RESTIC_PASSWORD": "secret", "BORG_PASSPHRASE": "secret"}
        result = subprocess.run(
            ["bash", "-c", command.replace("/backup", str(self._folder))],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(self._folder), **passwords},
        )
        assert result.returncode in (statuses or (0,)), result


@pytest.fixture(params=list(WARNING_STATUS))
def archive(request, tmp_path):
    require_program(request.param)
    return Archive(request.param, tmp_path / "archive")


def test_an_archive_made_under_load_is_complete_and_can_be_restored_under_load(
    archive, start, data, tmp_path
):
    address = start(service_of(data)).address
    for id in ("a", "b", "c", "d"):
        assert put(address, id, "Before").status == 201
    assert ask(address, "DELETE", "/c").status == 204
    ledgers = [Ledger() for _ in range(WRITERS)]
    writers = start_writers(address, ledgers)
    until(lambda: all(len(ledger.acknowledged) > 20 for ledger in ledgers))
    promised = [dict(ledger.acknowledged) for ledger in ledgers]
    archive.back_up(data.parent)
    assert all(writer.is_alive() for writer in writers)
    for writer in writers:
        writer.stop()
    target = tmp_path / "restored"
    target.mkdir()
    archive.restore(target)
    require_complete(start, target / "data", ledgers, promised)

    assert ask(address, "DELETE", "/d").status == 204
    assert put(address, "a", "After").status == 200
    (data / "bookmarks" / "b.json").unlink()
    later = Writer("later", Ledger(), address)
    later.start()
    until(lambda: len(later.ledger.acknowledged) > 5)
    archive.restore(data.parent)
    later.stop()
    require_kept(address, later.ledger)
    assert {"a": "Before", "b": "Before"}.items() <= titles(address).items()
    assert [ask(address, path=f"/{id}").status for id in "cd"] == [410, 410]
