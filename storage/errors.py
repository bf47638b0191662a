"""What can stand between a caller and a bookmark. These carry data and know no HTTP.

None derives from ValueError or OSError, so that no handler for those catches one by accident.
"""

from collections.abc import Sequence


class StorageError(Exception):
    """The base of every refusal and failure that `storage` names."""


class NotFound(StorageError):
    """No bookmark has, or ever had, this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no bookmark {id}.")
        self.id = id


class Gone(StorageError):
    """The bookmark of this id was deleted, for ever."""

    def __init__(self, id: str, deleted: str) -> None:
        super().__init__(f"The bookmark {id} was deleted at {deleted}.")
        self.id = id
        self.deleted = deleted


class Unreadable(StorageError):
    """The file of this id is there, but is no valid bookmark or tombstone."""

    def __init__(self, id: str, reason: str) -> None:
        super().__init__(
            f"The file of bookmark {id} cannot be used: {reason}. "
            "Run `bookmarks check` on the server to see what to do."
        )
        self.id = id
        self.reason = reason


class Invalid(StorageError):
    """Values that break the field rules: `errors` is a list of (field, reason)."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field} {reason}" for field, reason in errors))
        self.errors = list(errors)


class BadQuery(StorageError):
    """A parameter of a query has no meaning; the text names it."""


class Conflict(StorageError):
    """Another active bookmark, `id`, has this uri."""

    def __init__(self, uri: str, id: str) -> None:
        super().__init__(f"The bookmark {id} has this uri already.")
        self.uri = uri
        self.id = id


class Stale(StorageError):
    """What the caller saw is no longer there: somebody else was faster. Nothing was written."""


class PreconditionFailed(StorageError):
    """What the caller asked to be true before a change is not; `current` is what is there."""

    def __init__(self, detail: str, current: object = None) -> None:
        super().__init__(detail)
        self.current = current


class Busy(StorageError):
    """The folder's lock was not had in time."""


class Full(StorageError):
    """The disk, or this user's share of it, is full."""


class Unavailable(StorageError):
    """The data folder cannot be used: missing, read-only or on a failing disk."""
