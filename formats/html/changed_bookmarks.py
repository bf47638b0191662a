"""The page after bookmarks were changed or deleted, which lists those that were left alone."""

from collections.abc import Sequence

import msgspec

from formats.html import frame
from formats.html.editor import delete_form, texts_of, values_html
from formats.html.frame import cut, e
from formats.html.parts import MAX_TITLE_SHOWN, host_html
from formats.listing import Site
from storage.bookmark import WRITABLE_FIELDS, Bookmark
from storage.errors import Gone, NotFound, StorageError
from storage.index import Entry


class Outcome(msgspec.Struct):
    """The bookmarks that a form was about: those `done`, and those that were left alone.

    `newer` have changed since the page of the form was opened. `failed` has the others with their
    errors: those that would break a rule, and None for each that is deleted or cannot be read, or
    that was not reached.
    """

    is_deletion: bool
    done: list[Bookmark] = []
    newer: list[Entry] = []
    failed: list[tuple[Bookmark | None, StorageError]] = []

    @property
    def is_complete(self) -> bool:
        """Whether no bookmark was left alone."""
        return not (self.newer or self.failed)


def write_outcome(outcome: Outcome, site: Site, list_query: str | None) -> str:
    """Return the page, with a form to put back what was deleted."""
    number = frame.number_of_bookmarks(len(outcome.done))
    heading = f"{number} {'deleted' if outcome.is_deletion else 'changed'}"
    content = ""
    if outcome.is_deletion and outcome.done:
        content = _deleted(outcome.done, site, list_query)
    if outcome.newer:
        content += "<p>Changed since the page was opened, and left alone:</p>\n"
    for entry in outcome.newer:
        delete = delete_form(site, entry, list_query) if outcome.is_deletion else ""
        content += _newer_version(entry, site, delete)
    names_by_reason: dict[str, list[str]] = {}  # Several bookmarks may have the same reason.
    for failed, error in outcome.failed:
        reason = "There is no such bookmark." if isinstance(error, Gone | NotFound) else str(error)
        names_by_reason.setdefault(reason, []).append(_name(failed, site))
    for reason, names in names_by_reason.items():
        number = frame.number_of_bookmarks(len(names))
        content += f"<p>{number} left alone: {e(reason)}</p>\n{''.join(names)}"
    classes = "notice" if outcome.is_complete else "notice alert"
    # The notice takes the focus, so that screen readers say it. The script shows it in the list,
    # in place of the deleted bookmarks.
    deleted = " ".join(b.id for b in outcome.done) if outcome.is_deletion else ""
    main = (
        f'<div class="{classes}" role="alert" tabindex="-1" autofocus data-deleted="{deleted}">\n'
        f"{content}</div>\n{frame.list_link(site, list_query)}"
    )
    return frame.write_page(heading, main, site)


def _name(failed: Bookmark | None, site: Site) -> str:
    """Return a link to a bookmark that could not be changed, empty for one that is not known."""
    if failed is None:
        return ""
    title = e(cut(failed.title, MAX_TITLE_SHOWN))
    return f'<p><a href="{e(site.path)}/{failed.id}"><bdi>{title}</bdi></a></p>\n'


def _deleted(deleted: Sequence[Bookmark], site: Site, list_query: str | None) -> str:
    """Return what was deleted, with a form to put it back.

    The service keeps only the ids and the time of the deletion: the hidden field of the form is the
    only copy of the values. The script shows the notice in the list.
    """
    names = (*WRITABLE_FIELDS, "created")
    values = [{name: getattr(bookmark, name) for name in names} for bookmark in deleted]
    hidden = [("_deleted", msgspec.json.encode(values).decode()), ("_list", list_query)]
    button = f"<button>{'Put it back' if len(deleted) == 1 else 'Put them back'}</button>"
    form = frame.post_form(f"{site.path}/-/restore", hidden, button)
    return f"<p>Deleted: {_what(deleted)}</p>\n{form}"


def _what(deleted: Sequence[Bookmark]) -> str:
    """Name one bookmark by its title; return the number of several."""
    if len(deleted) > 1:
        return f"<strong>{frame.number_of_bookmarks(len(deleted))}</strong>"
    title = e(cut(deleted[0].title, MAX_TITLE_SHOWN))
    return f"<strong><bdi>{title}</bdi></strong> {host_html(deleted[0].uri)}"


def _newer_version(entry: Entry, site: Site, delete: str) -> str:
    """Return the values of a bookmark that has changed, with the ways to go on."""
    values = values_html(texts_of(entry.bookmark).items())
    edit = frame.link_button("Edit", f"{site.path}/{entry.bookmark.id}")
    return f'{values}<div class="buttons">{edit}\n{delete}</div>\n'
