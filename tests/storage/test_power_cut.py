"""Acknowledged writes survive a power cut, which loses every write not yet flushed."""

import http.client
import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from clients import (
    COMMAND,
    Ledger,
    ask,
    faults,
    put,
    require_all_kept,
    require_whole,
    service_of,
    start_writers,
    temporary_files,
    titles,
    uri_of,
)
from test_trash import WORK, make, require_nothing_lost, run_killed, with_work

from tests.conftest import until

ROUNDS = 3
WRITERS = 4


@pytest.fixture(params=["ext4", "xfs"])
def disk(request, mount_image, require_programs):
    require_programs("xfs_io", "strace")
    return mount_image(request.param)


@pytest.fixture
def data(disk):
    return disk.path / "data"


def cut_power(disk, service=None):
    """Shut the file system down without a flush; with a service, kill it and mount again."""
    subprocess.run(["xfs_io", "-x", "-c", "shutdown", str(disk.path)], check=True)
    if service is not None:
        restore_power(disk, service)


def restore_power(disk, service):
    service.stop(signal.SIGKILL)
    disk.unmount()
    disk.mount()


def test_a_power_cut_loses_no_acknowledged_write(serve, disk, data):
    def created():
        return sum(len(ledger.sent) for ledger in ledgers)

    ledgers = [Ledger() for _ in range(WRITERS)]
    for _ in range(ROUNDS):
        service = serve()
        require_all_kept(service.address, ledgers)
        known = created()
        writers = start_writers(service.address, ledgers)
        until(lambda known=known: created() > known + 10)
        time.sleep(random.uniform(0, 0.3))
        cut_power(disk)
        for writer in writers:
            writer.stop()
        restore_power(disk, service)
        require_whole(data)

    require_all_kept(serve().address, ledgers)
    assert len(temporary_files(data)) <= ROUNDS


# --- A power cut between giving a file its name and syncing the folder ---

def read_titles(data):
    bookmarks = [json.loads(path.read_bytes()) for path in data.glob("bookmarks/[!.]*")]
    deleted = {path.stem for path in data.glob("tombstones/[!.]*")}
    return {b["uri"]: b["title"] for b in bookmarks if b["id"] not in deleted}


OLD, NEW = uri_of("old"), uri_of("new")
ENTRIES = [{"uri": NEW, "title": "New"}]
BOTH = {OLD: "Old", NEW: "New"}
CHANGES = {
    "create": (lambda address: put(address, "new", "New"), BOTH),
    "update": (lambda address: put(address, "old", "New"), {OLD: "New"}),
    "delete": (lambda address: ask(address, "DELETE", "/old"), {}),
    "import": (lambda address: ask(address, "POST", "/-/import", ENTRIES), BOTH),
}


@pytest.mark.parametrize("disk", ["xfs"], indirect=True)
@pytest.mark.parametrize(("change", "wanted"), CHANGES.values(), ids=CHANGES)
def test_a_write_whose_folder_is_synced_too_late_is_not_acknowledged(
    serve, disk, data, change, wanted
):
    """XFS reports success for the fsync of a folder after the file system has shut down."""
    service = serve()
    assert put(service.address, "old", "Old").status == 201
    late = ("-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=1000000")
    folders = ("-P", str(data / "bookmarks"), "-P", str(data / "tombstones"))
    with faults(service.process, *late, *folders), ThreadPoolExecutor(1) as pool:
        response = pool.submit(change, service.address)
        until(lambda: read_titles(data) == wanted)
        cut_power(disk)
        acknowledged = response.result().status < 300
    restore_power(disk, service)
    require_whole(data)
    assert not acknowledged or read_titles(data) == wanted


@pytest.mark.parametrize(
    ("disk", "work"),
    [("ext4", "delete"), ("xfs", "restore"), ("ext4", "erase"), ("xfs", "expire")],
    indirect=["disk"],
)
def test_a_power_cut_between_any_two_steps_of_the_trash_loses_nothing(disk, work):
    step = 0
    is_cut = True
    while is_cut:
        step += 1
        folder = disk.path / f"{step}"
        with_work(folder)
        os.sync()
        is_cut = run_killed(step, lambda folder=folder: WORK[work](make(folder)))
        cut_power(disk)
        disk.unmount()
        disk.mount()
        require_nothing_lost(folder, work, is_done=not is_cut)
    assert step > 1


# --- Imports ---

@pytest.mark.parametrize(("disk", "over_http"), [("ext4", False), ("xfs", True)], indirect=["disk"])
def test_an_imported_file_survives_a_power_cut(serve, disk, data, over_http):
    uris = [f"https://{n}.example/" for n in range(600)]
    body = "\n".join(["uri", *uris]).encode()
    service = serve()
    if over_http:
        response = ask(service.address, "POST", "/-/import", body, Content_Type="text/csv")
        assert (response.status, response.json["created"]) == (200, len(uris))
    else:
        command = [*COMMAND, "import", "-", "--data", str(data)]
        subprocess.run(command, input=body, check=True, timeout=60, capture_output=True)
    cut_power(disk, service)
    require_whole(data)
    assert sorted(bookmark["uri"] for bookmark in ask(serve().address).json) == sorted(uris)


# --- Updates that change nothing ---

@pytest.mark.parametrize(("disk", "id"), [("ext4", "old"), ("xfs", "new")], indirect=["disk"])
def test_a_write_of_a_killed_process_is_durable_once_another_process_confirms_it(
    serve, start, disk, data, id
):
    service = serve()
    assert put(service.address, "old", "Old").status == 201
    dying = start(service_of(data))
    # The process is killed between the rename and the sync of the folder.
    dies = ("-e", "trace=fsync", "-e", "inject=fsync:signal=KILL")
    with faults(dying.process, *dies, "-P", str(data / "bookmarks")):
        with pytest.raises((OSError, http.client.HTTPException)):
            put(dying.address, id, "New")
        assert dying.process.wait(timeout=60) == -signal.SIGKILL
    assert titles(service.address)[id] == "New"
    assert put(service.address, id, "New").status == 200
    cut_power(disk, service)
    assert titles(serve().address)[id] == "New"
