"""What was acknowledged survives `kill -9` at any instant."""

import os
import random
import signal
import time

from clients import Ledger, load, require_whole, settle, temporaries

ROUNDS = 30
WRITERS = 4


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
    require_no_pile(serve, data)


def require_no_pile(serve, data):
    """A crash leaves a temporary file rarely, and an hour later none."""
    left = temporaries(data)
    assert len(left) <= ROUNDS
    for path in left:
        os.utime(path, (0, 0))
    serve()
    assert temporaries(data) == []
