"""Warnings in the log about failed logins, at a bounded rate."""

import logging
import time
from collections import deque

log = logging.getLogger("bookmarks")

MAX_LINES, PERIOD = 5, 60.0  # At most this number of lines in this number of seconds.


class FailedLogins:
    """Log failed logins, at most `MAX_LINES` in each `PERIOD`.

    Without a bound, a client that guesses tokens could fill the disk with log lines.
    """

    def __init__(self) -> None:
        self._logged_at: deque[float] = deque(maxlen=MAX_LINES)  # The times of the last lines.

    def log(self, address: str) -> None:
        """Log a failed login of the client at this address, unless there were too many."""
        now = time.monotonic()
        if len(self._logged_at) == MAX_LINES and now - self._logged_at[0] < PERIOD:
            return
        self._logged_at.append(now)
        log.warning("A login from %s failed: wrong token.", address)
