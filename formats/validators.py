"""Validators of representations: entity tags and dates (RFC 9110 sections 8.8 and 13)."""

import time
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Protocol

_FIRST = int(datetime.min.replace(tzinfo=UTC).timestamp())


class Current(Protocol):
    """A resource's present state: a version of 128 bits, the RFC 3339 time that it tells of its
    last change, and the time when its file was last touched, in seconds.
    """

    @property
    def version(self) -> int: ...
    @property
    def modified(self) -> str: ...
    @property
    def touched(self) -> float: ...


def version_text(version: int) -> str:
    """The version as it begins every entity tag of the resource."""
    return f"{version:032x}"


def entity_tag(current: Current, name: str) -> str:
    """The opaque tag of the representation `name`: each has its own, so that all are strong."""
    return f"{version_text(current.version)}.{name}"


def last_modified(current: Current) -> int:
    """Last-Modified in seconds since 1970: not later than the file's own time, whatever it tells
    of.
    """
    modified = int(datetime.fromisoformat(current.modified).timestamp())
    # A file's time may be one that no date has.
    return modified if modified <= current.touched + 1 else max(int(current.touched), _FIRST)


def is_current(tags: Collection[str], current: Current) -> bool:
    """Whether one of the tags is that of any representation of the present version."""
    version = version_text(current.version)
    return any(tag.partition(".")[0] == version for tag in tags)


def is_unchanged_since(since: float, current: Current) -> bool:
    """Whether a date, in seconds since 1970, proves that nothing changed after it.

    Its resolution is a second, so what changed within the last one may change once more; and what
    somebody put into the folder by hand may tell of a time before it came.
    """
    if last_modified(current) > since:
        return False
    return current.touched < min(since + 1, time.time() - 1)
