"""A problem: an error as a client gets it (RFC 9457)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass
class Problem:
    """A status and a detail for people, and headers of the response.

    `errors` has (field, reason) of each wrong field; `bookmark_url` is the address of the bookmark
    that has the uri already; `current` is the stored entry that made a condition fail, or None.
    """

    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)
    errors: Sequence[tuple[str, str]] = ()
    bookmark_url: str = ""
    current: object = None

    @property
    def title(self) -> str:
        """The reason phrase: type about:blank allows no other title (RFC 9457 section 4.2.1)."""
        return HTTPStatus(self.status).phrase
