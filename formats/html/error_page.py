"""The page that reports an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from formats.html.editor import LABELS
from formats.html.frame import e, list_link, write_page
from formats.listing import Site

# The heading of the page for some statuses; for the others, the problem's detail says enough.
_HEADINGS: Mapping[int, str] = {
    404: "There is nothing here",
    409: "You have this bookmark already",
    410: "This bookmark was deleted",
    412: "This has changed meanwhile",
    413: "This is too large",
    422: "Something needs a correction",
}
# The reason phrases of RFC 9110 that `http.HTTPStatus` has only since Python 3.13.
_TITLES: Mapping[int, str] = {413: "Content Too Large", 422: "Unprocessable Content"}
# With these statuses, the problem's detail is meant for programs. Pages show these texts instead.
_TEXTS_FOR_PEOPLE: Mapping[int, str] = {
    405: "This cannot be done at this address.",
    406: "This address is meant for programs.",
    409: "Another bookmark has this address.",
    413: "The service does not accept this much at once.",
    415: "The service does not know the type of what was sent.",
}


@dataclass
class Problem:
    """An error as a client gets it (RFC 9457): a status, a detail, and headers of the response.

    `errors` has (field, reason) of each wrong field; `bookmark_url` is the address of the bookmark
    that has the uri already; `deleted` is the time of the deletion of the bookmark.
    """

    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)
    errors: Sequence[tuple[str, str]] = ()
    bookmark_url: str = ""
    deleted: str = ""

    @property
    def heading(self) -> str:
        """The heading of the page of this problem."""
        return _HEADINGS.get(self.status, "This did not work")

    @property
    def title(self) -> str:
        """The reason phrase: type about:blank allows no other title (RFC 9457 section 4.2.1)."""
        return _TITLES.get(self.status) or HTTPStatus(self.status).phrase

    @property
    def status_line(self) -> str:
        """The status with its reason phrase."""
        return f"{self.status} {self.title}"


def write_problem(problem: Problem, site: Site) -> bytes:
    """Return the page of a problem."""
    main = f"{problem_html(problem)}{list_link(site)}"
    return write_page(problem.heading, main, site).encode()


def problem_html(problem: Problem) -> str:
    """Return what is wrong, with links to the wrong fields that the form shows."""
    if problem.errors:
        items = [f"<li>{_field_link(name)} {people_text(why)}</li>" for name, why in problem.errors]
        return f"<ul>{''.join(items)}</ul>\n"
    html = f"<p>{detail_html(problem)}</p>\n"
    if problem.bookmark_url:
        url = e(problem.bookmark_url)
        html += f'<p><a href="{url}">See the bookmark that has this address</a></p>\n'
    return html


def detail_html(problem: Problem) -> str:
    """Return what is wrong, as a text for people."""
    if time := problem.deleted:  # The script shows it in the zone of the user.
        text = f"on {time[:10]} at {time[11:16]} UTC"
        return f'You deleted this bookmark <time datetime="{time}">{text}</time>.'
    return e(_TEXTS_FOR_PEOPLE.get(problem.status, problem.detail))


def people_text(why: str) -> str:
    """Return the reason of an error as HTML, with the words of people."""
    # A person has typed the tags as one text, so the index of a tag says nothing.
    return e(re.sub(r"\buri\b", "address", why.replace(" a uri", " an uri").split(" at index ")[0]))


def _field_link(name: str) -> str:
    return f'<a href="#{name}">{LABELS[name]}</a>' if name in LABELS else e(name)
