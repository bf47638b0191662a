"""Errors of storage. They carry data and know no HTTP.

None derives from ValueError or OSError: handlers for those would catch them by accident.
"""

from collections.abc import Sequence


class StorageError(Exception):
    """The base of every error that storage raises."""


class NotFound(StorageError):
    """No bookmark has or ever had this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no bookmark {id}.")


class Gone(StorageError):
    """The bookmark of this id was deleted, at the time `deleted`."""

    def __init__(self, id: str, deleted: str) -> None:
        super().__init__(f"The bookmark {id} was deleted at {deleted}.")
        self.deleted = deleted


class Unreadable(StorageError):
    """The file of this id exists but is no valid bookmark or tombstone."""

    def __init__(self, id: str, reason: str) -> None:
        super().__init__(
            f"The file of bookmark {id} cannot be used: {reason}. "
            "Run `bookmarks check` on the server to see what to do."
        )


# A body of 1 MiB can have so many wrong members that an error for each would take 9 MiB.
MAX_ERRORS = 20


class Invalid(StorageError):
    """Values that break rules; `errors` has pairs (field, reason), as in ("uri", "is required").

    Of many errors it has the first `MAX_ERRORS`.
    """

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        self.errors = list(errors[:MAX_ERRORS])
        super().__init__("; ".join(f"{field} {reason}" for field, reason in self.errors))


class BadQuery(StorageError):
    """A query parameter cannot be used; the text names the parameter and the reason."""


class Conflict(StorageError):
    """Another bookmark, `id`, has this uri; deleted bookmarks do not count."""

    def __init__(self, id: str) -> None:
        super().__init__(f"The bookmark {id} has this uri already.")
        self.id = id


class PreconditionFailed(StorageError):
    """A condition of a change is not met; `current`, if given, is what is stored now."""

    def __init__(self, detail: str, current: object = None) -> None:
        super().__init__(detail)
        self.current = current


class Busy(StorageError):
    """The lock of the data folder was not free in time."""


class Full(StorageError):
    """The disk or this user's quota is full."""


class Unavailable(StorageError):
    """The data folder cannot be used: it is missing, read-only or on a failing disk."""


class OutcomeUnknown(Unavailable):
    """A change is visible, but its sync failed: it may not survive a power cut."""


class Malformed(StorageError):
    """A text that does not have the syntax of its format; the message says where and why."""
