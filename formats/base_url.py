"""The service's own address, which every link begins with."""

from urllib.parse import urlencode

import msgspec

Parameters = list[tuple[str, str]]


class BaseUrl(msgspec.Struct, frozen=True):
    """The service's address, without a slash at its end.

    `url` is the whole address, such as `https://example.com/marks`; `path` only its path, `/marks`,
    for links that stay on the same host. `login_or_logout_button` names the button that the top of
    each page shows, `log-in` or `log-out`; it is empty if the pages show neither.
    """

    url: str = ""
    path: str = ""
    login_or_logout_button: str = ""  # It is here because every page gets a BaseUrl.

    def bookmark(self, id: str) -> str:
        """Return the address of a bookmark."""
        return f"{self.url}/{id}"


def with_query(address: str, parameters: Parameters) -> str:
    """Return the address with these parameters as its query."""
    return f"{address}?{urlencode(parameters)}" if parameters else address
