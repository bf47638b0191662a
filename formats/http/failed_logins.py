"""Warnings in the log about failed logins, a limited number per minute."""

import logging
import time
from collections import deque

log = logging.getLogger("bookmarks")

MAX_LINES = 5
PERIOD = 60.0  # In seconds.


class FailedLogins:
    """Log failed logins, but not so many that guessing tokens fills the disk."""

    def __init__(self) -> None:
        self._logged_at: deque[float] = deque(maxlen=MAX_LINES)

    def log(self, address: str) -> None:
        """Log a failed login from this address, unless too many were logged."""
        now = time.monotonic()
        is_full = len(self._logged_at) == MAX_LINES
        if is_full and now - self._logged_at[0] < PERIOD:
            return
        self._logged_at.append(now)
        log.warning("A login from %s failed: wrong token.", address)
