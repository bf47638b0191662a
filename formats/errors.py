"""Errors in a request or a file, found before the rules of fields are checked."""


class Malformed(Exception):
    """The text does not have the syntax of its format; the message says where and why."""


class HTTPError(Exception):
    """A request that cannot be served: the status, the reason, and headers of the response.

    A `_` in the name of a header stands for `-`.
    """

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
