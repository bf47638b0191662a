"""What can be wrong with the form of a request, before any field of a bookmark is looked at."""

from collections.abc import Iterable


class Malformed(Exception):
    """The text is not what its media type says; the message tells where and why."""


class UnknownFormat(Exception):
    """The format that was asked for by name is none of these."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(f"The format must be one of {', '.join(names)}.")


class NotAcceptable(Exception):
    """No media type that was asked for can be had."""

    def __init__(self, media_types: Iterable[str]) -> None:
        super().__init__(f"This can be had as {', '.join(media_types)}.")


class Unsupported(Exception):
    """The body's media type, charset or encoding cannot be read; `media_types` could be."""

    def __init__(self, detail: str, media_types: Iterable[str]) -> None:
        super().__init__(detail)
        self.media_types = tuple(media_types)


class TooLarge(Exception):
    """The body is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body must not be larger than {limit:,} bytes.")


class Refused(Exception):
    """The request cannot be served: a status, why, and headers that say what could be."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
