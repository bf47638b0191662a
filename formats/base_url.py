"""The service's own address, which every link begins with."""

from urllib.parse import urlencode

import msgspec

Parameters = list[tuple[str, str]]


class BaseUrl(msgspec.Struct, frozen=True):
    """The service's address, without a slash at its end.

    `url` is all of it, such as `https://example.com/marks`; `path` is its path, `/marks`, for
    links that stay on the same host. `login_button` names the button in the header of pages,
    `log-in` or `log-out`; it is empty if the pages have neither.
    """

    url: str = ""
    path: str = ""
    login_button: str = ""

    def bookmark(self, id: str) -> str:
        """Return the address of a bookmark."""
        return f"{self.url}/{id}"


def with_query(address: str, parameters: Parameters) -> str:
    """Return the address with these parameters as its query."""
    return f"{address}?{urlencode(parameters)}" if parameters else address
