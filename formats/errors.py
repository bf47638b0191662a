"""Errors in a request or in the syntax of a file; invalid values raise `storage.errors.Invalid`."""


class Malformed(Exception):
    """A text that does not have the syntax of its format; the message says where and why."""


class HTTPError(Exception):
    """A request that cannot be served: the status, the detail, and headers of the response.

    Headers are keyword arguments, so a `_` in their names stands for `-`.
    """

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
