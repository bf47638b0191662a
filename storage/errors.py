"""The errors of this package."""

from collections.abc import Sequence


class StorageError(Exception):
    """The base of all errors."""


class NotFound(StorageError):
    """No bookmark ever had this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no bookmark {id}.")


class Gone(StorageError):
    def __init__(self, id: str, deleted: str) -> None:
        super().__init__(f"The bookmark {id} was deleted at {deleted}.")
        self.deleted = deleted


class Unreadable(StorageError):
    def __init__(self, id: str, reason: str) -> None:
        super().__init__(
            f"The file of bookmark {id} cannot be used: {reason}. "
            "Run `bookmarks check` on the server to see what to do."
        )
        self.id = id


MAX_ERRORS = 20  # A small request must not get a huge response.


class Invalid(StorageError):
    """Values break rules. `errors` has pairs like ("uri", "is required")."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        self.errors = list(errors[:MAX_ERRORS])
        super().__init__("; ".join(f"{field} {reason}" for field, reason in self.errors))


class BadQuery(StorageError):
    """A query parameter cannot be used."""


class Conflict(StorageError):
    """The bookmark `id` has the uri already."""

    def __init__(self, id: str) -> None:
        super().__init__(f"The bookmark {id} has this uri already.")
        self.id = id


class PreconditionFailed(StorageError):
    """The client's condition is not met."""


class Busy(StorageError):
    """Another writer holds the lock, or has just changed the file."""


class Full(StorageError):
    """The disk or this user's quota is full."""


class Unavailable(StorageError):
    """The data folder cannot be used."""


class OutcomeUnknown(Unavailable):
    """A change may not be stored, or may not survive a power cut."""


class Malformed(StorageError):
    """A text is not valid in its format."""

    line = 0  # The line of the error, or 0 if it is unknown.
