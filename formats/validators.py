"""Validators of representations: entity tags and dates (RFC 9110 sections 8.8 and 13)."""

import time
from collections.abc import Collection
from datetime import UTC, datetime

from formats.assets import Asset
from storage.index import Entry, State

# What has a version and the time of its last change.
Current = Entry | State | Asset

_YEAR_1 = int(datetime.min.replace(tzinfo=UTC).timestamp())


def version_text(version: int) -> str:
    """Return the version as every entity tag of the resource begins with it."""
    return f"{version:032x}"


def entity_tag(current: Current, name: str) -> str:
    """Return the opaque tag of the representation `name`; each has its own, so all are strong."""
    return f"{version_text(current.version)}.{name}"


def last_modified(current: Current) -> int:
    """Return Last-Modified in seconds since 1970; never a time in the future.

    It is the time of the file: `modified` inside the file misses an edit by hand, and a restored
    copy has an old one.
    """
    # A file may have a time before the year 1, which no date can express.
    return max(int(min(current.touched, time.time())), _YEAR_1)


def is_current(tags: Collection[str], current: Current) -> bool:
    """Return whether one of the tags is that of any representation of the current version."""
    version = version_text(current.version)
    return any(tag.partition(".")[0] == version for tag in tags)


def is_unchanged_since(since: float, current: Current) -> bool:
    """Return whether a date, in seconds since 1970, proves that nothing changed after it.

    Dates have a resolution of one second: a resource that changed within the last second may
    change again without a new date.
    """
    return last_modified(current) <= since and current.touched < time.time() - 1
