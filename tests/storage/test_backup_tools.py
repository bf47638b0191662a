"""The README's archives of the folder are backups, at any moment, and restore while it runs."""

import os
import subprocess

import pytest
from clients import Ledger, ask, load, put, require_kept, service_of, titles
from test_backup import require_complete

from tests.conftest import readme_block, require_program, until

WRITERS = 3
# How each ends when files come and go while it reads.
WARNED = {"tar": 1, "restic": 3, "borg": 1}


def commands_of(tool):
    """The README's commands of a tool: some that prepare, the backup, the restoring."""
    parts = readme_block("bash", "restic").split("\n\n")
    (lines,) = [part for part in parts if part.startswith(tool)]
    return lines.splitlines()


class Archive:
    """What a tool keeps of the folder `data` in a folder, by the README's commands."""

    def __init__(self, tool, folder):
        self._warned = WARNED[tool]
        self._folder = folder
        folder.mkdir()
        *prepare, self._backup, self._restore = commands_of(tool)
        for command in prepare:
            self._run(command, folder)

    def back_up(self, folder):
        self._run(self._backup, folder, 0, self._warned)

    def restore(self, folder):
        self._run(self._restore, folder)

    def _run(self, command, folder, *statuses):
        passwords = {"RESTIC_PASSWORD": "secret", "BORG_PASSPHRASE": "secret"}
        done = subprocess.run(
            ["bash", "-c", command.replace("/backup", str(self._folder))],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(self._folder), **passwords},
        )
        assert done.returncode in (statuses or (0,)), done


@pytest.fixture(params=list(WARNED))
def archive(request, tmp_path):
    require_program(request.param)
    return Archive(request.param, tmp_path / "archive")


def test_an_archive_made_under_load_is_complete(archive, start, data, tmp_path):
    address = start(service_of(data)).address
    ledgers = [Ledger() for _ in range(WRITERS)]
    writers = load(address, ledgers)
    until(lambda: all(len(ledger.acknowledged) > 20 for ledger in ledgers), 20)
    promised = [dict(ledger.acknowledged) for ledger in ledgers]
    archive.back_up(data.parent)
    assert all(writer.is_alive() for writer in writers)
    for writer in writers:
        writer.stop()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    archive.restore(elsewhere)
    require_complete(start, elsewhere / "data", ledgers, promised)


def test_an_archive_is_restored_over_a_running_service(archive, start, data):
    address = start(service_of(data)).address
    for id in ("a", "b", "c", "d"):
        assert put(address, id, "Before").status == 201
    assert ask(address, "DELETE", "/c").status == 204
    archive.back_up(data.parent)
    etag = ask(address).headers["ETag"]
    assert put(address, "a", "After").status == 200
    (data / "bookmarks" / "b.json").unlink()
    archive.restore(data.parent)
    assert titles(address) == {"a": "Before", "b": "Before", "d": "Before"}
    assert ask(address).headers["ETag"] == etag
    assert ask(address, "DELETE", "/d").status == 204
    assert put(address, "a", "After").status == 200
    ledger = Ledger()
    (writer,) = load(address, [ledger])
    until(lambda: len(ledger.acknowledged) > 5, 20)
    archive.restore(data.parent)
    writer.stop()
    require_kept(address, ledger)
    assert {"a": "Before", "b": "Before"}.items() <= titles(address).items()
    assert [ask(address, path=f"/{id}").status for id in "cd"] == [410, 410]
