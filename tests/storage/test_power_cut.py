"""What was acknowledged survives a power cut: whatever was not flushed by then is lost."""

import http.client
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from clients import (
    COMMAND,
    Ledger,
    ask,
    load,
    put,
    require_whole,
    service_of,
    settle,
    temporaries,
    titles,
)

ROUNDS = 5
WRITERS = 4


@pytest.fixture
def disk(mount, require_programs, tmp_path):
    require_programs("mkfs.ext4", "xfs_io")
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        os.truncate(file.fileno(), 64 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    return mount("-o", "loop", str(image))


@pytest.fixture
def data(disk):
    return disk.path / "data"


def test_nothing_acknowledged_is_lost_at_a_power_cut(serve, disk, data):
    ledgers = [Ledger() for _ in range(WRITERS)]
    for _ in range(ROUNDS):
        service = serve()
        settle(service.address, ledgers)
        writers = load(service.address, ledgers)
        time.sleep(random.uniform(0.1, 0.4))
        cut_power(disk)
        for writer in writers:
            writer.stop()
        service.stop(signal.SIGKILL)
        disk.unmount()
        disk.mount()
        require_whole(data)

    settle(serve().address, ledgers)
    assert sum(len(ledger.sent) for ledger in ledgers) > 10 * ROUNDS
    assert len(temporaries(data)) <= ROUNDS


def cut_power(disk):
    """From here on nothing reaches the disk, not even its journal."""
    subprocess.run(["xfs_io", "-x", "-c", "shutdown", str(disk.path)], check=True)


@pytest.mark.parametrize("over_http", [False, True], ids=["command", "http"])
def test_a_whole_file_that_was_imported_survives_a_power_cut(serve, disk, data, over_http):
    uris = [f"https://{n}.example/" for n in range(2_050)]
    body = "\n".join(uris).encode()
    if over_http:
        service = serve()
        answer = ask(service.address, "POST", body=csv_of(body), Content_Type="text/csv")
        assert (answer.status, answer.json["created"]) == (200, len(uris))
    else:
        command = [*COMMAND, "import", "-", "--data", str(data)]
        subprocess.run(command, input=body, check=True, timeout=60, capture_output=True)
    cut_power(disk)
    if over_http:
        service.stop(signal.SIGKILL)
    disk.unmount()
    disk.mount()
    require_whole(data)
    answer = ask(serve().address, path="/?limit=10000")
    assert sorted(bookmark["uri"] for bookmark in answer.json) == sorted(uris)


def csv_of(uris):
    return b"uri\n" + uris


# The real command, which dies when a file has its name and its folder is to be synced.
DIES = """
import os, sys
import bookmarks, storage.files

publishing = []
for name in ("publish", "publish_new"):
    publish = getattr(storage.files.Staged, name)
    setattr(storage.files.Staged, name, lambda s, p=publish: (publishing.append(1), p(s)))
sync = storage.files.Folder.sync
storage.files.Folder.sync = lambda folder: os._exit(9) if publishing else sync(folder)
sys.exit(bookmarks.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("id", ["old", "new"])
def test_what_a_writer_that_died_left_is_durable_once_another_answers_for_it(start, disk, data, id):
    address = start(service_of(data)).address
    assert put(address, "old", "Old").status == 201
    os.sync()
    dying = start([sys.executable, "-c", DIES, *service_of(data)[2:]])
    with pytest.raises((OSError, http.client.HTTPException)):
        put(dying.address, id, "New")
    assert titles(address)[id] == "New"
    assert put(address, id, "New").status == 200
    cut_power(disk)
    disk.unmount()
    disk.mount()
    assert titles(start(service_of(data)).address)[id] == "New"
