"""Warnings in the log about failed logins."""

import logging
import time
from collections import deque

log = logging.getLogger("bookmarks")

MAX_LINES = 5
_PERIOD_SECONDS = 60.0


class FailedLogins:
    """Log at most MAX_LINES a minute, so that attackers cannot fill the disk."""

    def __init__(self) -> None:
        self._logged_at: deque[float] = deque(maxlen=MAX_LINES)

    def log(self, address: str) -> None:
        now = time.monotonic()
        is_full = len(self._logged_at) == MAX_LINES
        if is_full and now - self._logged_at[0] < _PERIOD_SECONDS:
            return
        self._logged_at.append(now)
        log.warning("A login from %s failed: wrong token.", address)
