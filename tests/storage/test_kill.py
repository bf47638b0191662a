"""Acknowledged writes survive `kill -9` at any moment."""

import json
import os
import random
import signal
import subprocess
import time

from clients import (
    COMMAND,
    Ledger,
    repair,
    require_all_kept,
    require_whole,
    start_writers,
    temporary_files,
)

from tests.conftest import until, without_inotify_warning

ROUNDS = 6
WRITERS = 4
KILLED = 3
URIS = [f"https://{n}.example/" for n in range(2_400)]


def test_no_acknowledged_write_is_lost_when_the_service_is_killed(serve, data):
    ledgers = [Ledger() for _ in range(WRITERS)]
    for _ in range(ROUNDS):
        service = serve()
        require_all_kept(service.address, ledgers)
        writers = start_writers(service.address, ledgers)
        time.sleep(random.uniform(0.01, 0.4))
        service.stop(signal.SIGKILL)
        for writer in writers:
            writer.stop()
        require_whole(data)

    service = serve()
    require_all_kept(service.address, ledgers)
    assert sum(len(ledger.sent) for ledger in ledgers) > 3 * ROUNDS
    assert service.stop() == 0
    assert without_inotify_warning(service.log[1:]) == []
    require_repair_removes_temporary_files(data, ROUNDS)


def test_a_killed_import_leaves_complete_files_and_the_next_import_finishes(serve, data, tmp_path):
    """Every second bookmark exists before the import, which adds a tag to it."""
    command = [*COMMAND, "import", "-", "--data", str(data)]
    old = "\n".join(URIS[::2]).encode()
    subprocess.run(command, input=old, check=True, timeout=60, capture_output=True)
    file = tmp_path / "entries.json"
    file.write_text(json.dumps([{"uri": uri, "tags": ["new"]} for uri in URIS]))
    command[command.index("-")] = str(file)
    new = [count(data)]
    for _ in range(KILLED):
        wanted = new[-1] + random.randrange(1, len(URIS) // 8)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            until(lambda: count(data) >= wanted or process.poll() is not None)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        require_whole(data)
        new.append(count(data))
    assert new == sorted(new) and new[0] < new[-1] < len(URIS)
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.startswith(f"{len(URIS) - new[-1]} created, ")
    bookmarks = [json.loads(path.read_bytes()) for path in data.glob("bookmarks/[!.]*")]
    assert sorted(bookmark["uri"] for bookmark in bookmarks) == sorted(URIS)
    assert [bookmark["tags"] for bookmark in bookmarks] == [["new"]] * len(URIS)
    require_repair_removes_temporary_files(data, KILLED)


def count(data):
    return sum(not name.startswith(".") for name in os.listdir(data / "bookmarks"))


def require_repair_removes_temporary_files(data, crashes):
    """Require at most one temporary file for each crash, and that `check --repair` removes it."""
    left = temporary_files(data)
    assert len(left) <= crashes
    for path in left:
        os.utime(path, (0, 0))
    assert repair(data) == (0, [])
    assert temporary_files(data) == []
