"""Warnings in the log about failed logins, at a bounded rate."""

import logging
import threading
import time

log = logging.getLogger("bookmarks")

MAX_LINES = 5  # In each period, this number of failed logins is logged one by one.
# Of the later failed logins, only the 10th, 100th and so on are logged.
COUNTS_LOGGED = frozenset(10**n for n in range(1, 10))
PERIOD = 60.0  # In seconds. After this time, the count begins again.


class FailedLogins:
    """Log the first `MAX_LINES` failed logins of each minute, then only the 10th, 100th and so on.

    Without a bound, a client that guesses tokens could fill the disk with log lines.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._period_started = float("-inf")  # Long ago, so the first failed login starts a period.
        self._count = 0

    def count_and_log(self, address: str) -> None:
        """Count a failed login of the client at this address, and log it at a bounded rate."""
        count = self._increment()
        if count <= MAX_LINES:
            log.warning("A login from %s failed: wrong token.", address)
        elif count in COUNTS_LOGGED:
            log.warning("%d logins failed within a minute, the last from %s.", count, address)

    def _increment(self) -> int:
        """Return the number of failed logins in this minute, this one included."""
        with self._lock:
            now = time.monotonic()
            if now - self._period_started >= PERIOD:
                self._period_started, self._count = now, 0
            self._count += 1
            return self._count
