"""What was acknowledged survives `kill -9` at any instant."""

import json
import os
import random
import signal
import subprocess
import time

from clients import COMMAND, Ledger, load, require_whole, settle, temporaries

from tests.conftest import until

ROUNDS = 30
WRITERS = 4
KILLED = 3
URIS = [f"https://{n}.example/" for n in range(6_000)]


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(serve, data):
    ledgers = [Ledger() for _ in range(WRITERS)]
    for _ in range(ROUNDS):
        service = serve()
        settle(service.address, ledgers)
        writers = load(service.address, ledgers)
        time.sleep(random.uniform(0.01, 0.4))
        service.stop(signal.SIGKILL)
        for writer in writers:
            writer.stop()
        require_whole(data)

    service = serve()
    settle(service.address, ledgers)
    assert sum(len(ledger.sent) for ledger in ledgers) > 10 * ROUNDS
    assert service.stop() == 0
    assert service.log[1:] == []
    require_no_pile(serve, data, ROUNDS)


def test_an_import_that_is_killed_leaves_whole_files_and_the_next_finishes(serve, data, tmp_path):
    """Every other bookmark is there already, and gets a tag."""
    command = [*COMMAND, "import", "-", "--data", str(data)]
    old = "\n".join(URIS[::2]).encode()
    subprocess.run(command, input=old, check=True, timeout=60, capture_output=True)
    file = tmp_path / "entries.json"
    file.write_text(json.dumps([{"uri": uri, "tags": ["new"]} for uri in URIS]))
    command[command.index("-")] = str(file)
    new = [count(data)]
    for _ in range(KILLED):
        wanted = new[-1] + random.randrange(1, len(URIS) // 8)
        import_until(command, lambda wanted=wanted: count(data) >= wanted)
        require_whole(data)
        new.append(count(data))
    assert new == sorted(new) and new[0] < new[-1] < len(URIS)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(f"{len(URIS) - new[-1]} created, ")
    assert tags(data) == {uri: ["new"] for uri in URIS}
    require_no_pile(serve, data, KILLED)


def import_until(command, is_enough):
    """Kills the command as soon as that is true."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until(lambda: is_enough() or process.poll() is not None, 30)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL


def count(data):
    return sum(not name.startswith(".") for name in os.listdir(data / "bookmarks"))


def tags(data):
    """The tags of each bookmark, by its uri."""
    found = [json.loads(path.read_bytes()) for path in data.glob("bookmarks/[!.]*")]
    assert len(found) == len(URIS)
    return {bookmark["uri"]: bookmark["tags"] for bookmark in found}


def require_no_pile(serve, data, crashes):
    """A crash leaves a temporary file rarely, and an hour later none."""
    left = temporaries(data)
    assert len(left) <= crashes
    for path in left:
        os.utime(path, (0, 0))
    serve()
    assert temporaries(data) == []
