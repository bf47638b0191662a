"""The page that reports an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from msgspec.structs import replace

from formats.html.editor import LABELS
from formats.html.frame import e, list_link, write_page
from formats.html.parts import date_html
from formats.html.trash import trash_link
from formats.listing import Site
from storage.bookmark import MAX_TAGS

_HEADINGS: Mapping[int, str] = {
    404: "There is nothing here",
    409: "Already saved",
    410: "This bookmark was deleted",
    412: "This has changed meanwhile",
    413: "This is too large",
    422: "Something needs a correction",
}
# The reason phrases that `http.HTTPStatus` has only since Python 3.13.
_TITLES: Mapping[int, str] = {413: "Content Too Large", 422: "Unprocessable Content"}
# Pages show these texts in place of the detail of a problem.
_TEXTS_FOR_PEOPLE: Mapping[int, str] = {
    403: "This change may come from another site, so nothing was done.",
    404: "No bookmark and no page has this address.",
    405: "This cannot be done at this address.",
    406: "This address is meant for programs.",
    409: "Another bookmark has this address.",
    413: "The service does not accept this much at once.",
    415: "The service does not know the type of what was sent.",
}
_WRONG_ADDRESS_TEXT = "Something in the address of this page is wrong."
# Pages show these texts in place of a detail that begins with the key.
_TEXTS_BY_BEGINNING = {
    "The parameter ": _WRONG_ADDRESS_TEXT,
    "The format ": _WRONG_ADDRESS_TEXT,
    "Another writer ": "Another program is changing the bookmarks. Try again in a moment.",
}
# Pages replace these patterns in the reason of an error. For example, they show `must be short` for
# `must be short: "long…" at index 1`.
_WORDS_FOR_PEOPLE: Mapping[str, str] = {
    " at index [0-9]+$": "",
    ': ".*…"$': "",
    "an absolute address": "a full address",
    "white space or control characters": "spaces or invisible characters",
    f"more than {MAX_TAGS},": f"more than {MAX_TAGS} including Read later,",
    r"\ba uri\b": "an address",
    r"\buri\b": "address",
}


@dataclass
class Problem:
    """An error for a client (RFC 9457)."""

    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)
    errors: Sequence[tuple[str, str]] = ()
    bookmark_url: str = ""  # The bookmark that already has the uri.
    deleted: str = ""  # When the bookmark was deleted.
    is_outcome_unknown: bool = False  # The change may be stored.
    done: str = ""  # The work done before the error, such as "200 bookmarks changed. ".

    @property
    def heading(self) -> str:
        if self.is_outcome_unknown:
            return "This may be done or not"
        return _HEADINGS.get(self.status, "This did not work")

    @property
    def text(self) -> str:
        """The text for programs, which is not translated to words for people."""
        return f"{self.done}{self.detail}"

    @property
    def title(self) -> str:
        """The reason phrase of the status (RFC 9457 section 4.2.1)."""
        return _TITLES.get(self.status) or HTTPStatus(self.status).phrase

    @property
    def status_line(self) -> str:
        return f"{self.status} {self.title}"


def write_problem(problem: Problem, site: Site) -> bytes:
    if problem.status != 404:
        # The service may respond so before it checks the token, so the page must not show how
        # many bookmarks are unread.
        site = replace(site, count_unread=lambda: 0)
    main = problem_html(problem)
    if problem.deleted and not site.is_visitor:
        main += f"<p>If it can still be put back, it is in {trash_link(site)}.</p>\n"
    main += list_link(site)
    return write_page(problem.heading, main, site).encode()


def problem_html(problem: Problem) -> str:
    if problem.errors:
        return _errors_html(problem.errors)
    detail = detail_html(problem)
    html = f"<p>{problem.done}{detail}</p>\n"
    if problem.bookmark_url:
        url = e(problem.bookmark_url)
        html += f'<p><a href="{url}">See the bookmark that has this address</a></p>\n'
    return html


def _errors_html(errors: Sequence[tuple[str, str]]) -> str:
    items = ""
    for name, reason in errors:
        items += f"<li>{error_sentence(name, reason)}</li>"
    return f"<ul>{items}</ul>\n"


def error_sentence(name: str, reason: str) -> str:
    """Return a sentence for people as HTML."""
    label = LABELS.get(name, name)
    if name == "tags" and " at index " in reason:
        label = "A tag"
    return f"{e(label)} {people_text(reason)}"


def detail_html(problem: Problem) -> str:
    if problem.deleted:
        return f"It was deleted on {date_html(problem.deleted)}."
    if problem.status in _TEXTS_FOR_PEOPLE:
        return e(_TEXTS_FOR_PEOPLE[problem.status])
    return e(people_detail(problem.detail))


def people_detail(detail: str) -> str:
    for beginning, text in _TEXTS_BY_BEGINNING.items():
        if detail.startswith(beginning):
            return text
    return detail


def people_text(reason: str) -> str:
    """Return the reason of an error as HTML, in words for people."""
    for pattern, words in _WORDS_FOR_PEOPLE.items():
        reason = re.sub(pattern, words, reason)
    return e(reason)
