"""The documented backup commands (cp, tar, restic, borg) make backups and restore them."""

import os
import subprocess

import pytest
from clients import (
    DELETED,
    Ledger,
    Writer,
    ask,
    put,
    require_kept,
    require_whole,
    service_of,
    start_writers,
    titles,
)

from tests.conftest import documented_block, require_program, until

WRITERS = 3
# The exit status of each tool after files changed while it read them.
WARNING_STATUS = {"cp": 1, "tar": 1, "restic": 3, "borg": 1}


class Archive:
    """A backup of the folder `data`, made with the documented commands for one tool."""

    def __init__(self, tool, folder):
        self._warning_status = WARNING_STATUS[tool]
        self._folder = folder
        folder.mkdir()
        parts = documented_block("bash", "restic").split("\n\n")
        (commands,) = [part for part in parts if part.startswith(tool)]
        *prepare, self._backup, self._restore = commands.splitlines()
        for command in prepare:
            self._run(command, folder)

    def back_up(self, folder):
        self._run(self._backup, folder, 0, self._warning_status)

    def restore(self, folder):
        self._run(self._restore, folder)

    def _run(self, command, folder, *statuses):
        passwords = {"RESTIC_PASSWORD": "secret", "BORG_PASSPHRASE": "secret"}
        result = subprocess.run(
            ["bash", "-c", command.replace("/backup", str(self._folder))], cwd=folder,
            capture_output=True, text=True, timeout=60,
            env={**os.environ, "HOME": str(self._folder), **passwords},
        )  # fmt: skip
        assert result.returncode in (statuses or (0,)), result


@pytest.fixture(params=list(WARNING_STATUS))
def archive(request, tmp_path):
    require_program(request.param)
    return Archive(request.param, tmp_path / "archive")


def test_tar_stores_no_file_as_a_link_to_another(tmp_path):
    """A file that is made during the backup may have the inode number of a removed one."""
    require_program("tar")
    for name in ("bookmarks", "tombstones", "restored"):
        (tmp_path / "data" / name).mkdir(parents=True)
    file = tmp_path / "data" / "bookmarks" / "a.json"
    file.write_text("{}")
    os.link(file, file.with_stem("b"))
    archive = Archive("tar", tmp_path / "archive")
    archive.back_up(tmp_path)
    archive.restore(tmp_path / "data" / "restored")
    restored = [path.stat().st_nlink for path in tmp_path.glob("data/restored/**/*.json")]
    assert restored == [1, 1]


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
    require_whole(target / "data")
    restored = start(service_of(target / "data"))
    for ledger, floor in zip(ledgers, promised, strict=True):
        # A bookmark that was deleted during the copy may be absent.
        require_kept(restored.address, ledger, floor, lost={DELETED})
    assert "skipped" not in restored.log

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
