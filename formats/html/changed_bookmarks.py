"""The page that reports which bookmarks a form has changed or deleted."""

from collections.abc import Sequence

import msgspec

from formats.html import frame
from formats.html.editor import shown_version, texts_of, values_html
from formats.html.frame import cut, e
from formats.html.parts import MAX_TITLE_CHARACTERS, host_html, page_link
from formats.html.trash import trash_link
from formats.listing import Site
from storage.bookmark import Bookmark
from storage.errors import Busy, Full, Gone, NotFound, StorageError, Unavailable
from storage.index import Entry

# After these errors, a bookmark may be changed or not.
_OUTCOME_UNKNOWN = (Busy, Full, Unavailable)


class ChangedBookmarks(msgspec.Struct):
    """What a form did to several bookmarks."""

    is_deletion: bool
    can_be_restored: bool = True
    done: list[Bookmark] = []  # As they were before.
    changed_meanwhile: list[Entry] = []  # Left alone: another client has changed them.
    failed: list[tuple[Bookmark | None, StorageError]] = []  # None if only the error is known.

    @property
    def is_complete(self) -> bool:
        return not self.changed_meanwhile and not self.failed

    @property
    def all_failed(self) -> bool:
        return not self.done and not self.changed_meanwhile

    @property
    def is_outcome_unknown(self) -> bool:
        return any(isinstance(error, _OUTCOME_UNKNOWN) for _, error in self.failed)

    @property
    def participle(self) -> str:
        if self.is_deletion:
            return "deleted"
        return "changed"


def write_changed_bookmarks(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    """Return the page, with a form to put deleted bookmarks back."""
    heading = _heading(changes)
    content = _deleted_html(changes, site, list_query)
    content += _changed_meanwhile_html(changes, site, list_query)
    content += _failed_html(changes, site)
    classes = "notice"
    if not changes.is_complete:
        classes = "notice alert"
    deleted_ids = ""
    if changes.is_deletion:
        deleted_ids = " ".join(bookmark.id for bookmark in changes.done)
    link = frame.list_link(site, list_query)
    # Screen readers read the notice when it has the focus.
    main = f"""\
<div class="{classes}" role="alert" tabindex="-1" autofocus data-deleted="{deleted_ids}">
{content}</div>
{link}"""
    return frame.write_page(heading, main, site)


def _heading(changes: ChangedBookmarks) -> str:
    if changes.is_outcome_unknown and not changes.done:
        return "This may be done or not"
    number = frame.number_of_bookmarks(len(changes.done))
    return f"{number} {changes.participle}"


def _deleted_html(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    deleted = changes.done
    if not changes.is_deletion or not deleted:
        return ""
    what = _title_or_number(deleted)
    # script.js shows this text in the list. On this page, CSS hides the span: the heading says
    # that something was deleted.
    text = f'<p><span class="participle">Deleted: </span>{what}</p>\n'
    if not changes.can_be_restored:
        return text
    hidden = [("selected", bookmark.id) for bookmark in deleted]
    hidden.append(("_list", list_query or ""))
    label = "Put them back"
    if len(deleted) == 1:
        label = "Put it back"
    form = frame.post_form(f"{site.path}/-/restore", hidden, f"<button>{label}</button>")
    return f"{text}{form}<p>{trash_link(site)}</p>\n"


def _title_or_number(deleted: Sequence[Bookmark]) -> str:
    if len(deleted) > 1:
        return f"<strong>{frame.number_of_bookmarks(len(deleted))}</strong>"
    (bookmark,) = deleted
    title = cut(bookmark.title, MAX_TITLE_CHARACTERS)
    host = host_html(bookmark.uri)
    return f"<strong><bdi>{e(title)}</bdi></strong> {host}"


def _changed_meanwhile_html(
    changes: ChangedBookmarks, site: Site, list_query: str | None
) -> str:
    """Return the values that another client has saved, with buttons."""
    if not changes.changed_meanwhile:
        return ""
    html = "<p>Changed since the page was opened, and left alone:</p>\n"
    for entry in changes.changed_meanwhile:
        values = values_html(texts_of(entry.bookmark).items())
        edit = frame.link_button("Edit", f"{site.path}/{entry.bookmark.id}")
        delete = ""
        if changes.is_deletion:
            delete_address = e(f"{site.path}/-/delete/{entry.bookmark.id}")
            delete = f'<button formaction="{delete_address}">Delete</button>'
        html += f'{values}<div class="buttons delete">{edit}\n{delete}</div>\n'
    # One form for all bookmarks, because `_list` can be long.
    shown = " ".join(map(shown_version, changes.changed_meanwhile))
    hidden = [("_shown", shown), ("_list", list_query)]
    return frame.post_form(f"{site.path}/-/selected", hidden, html)


def _failed_html(changes: ChangedBookmarks, site: Site) -> str:
    """Return links to the failed bookmarks, grouped by reason."""
    bookmarks_by_reason: dict[str, list[Bookmark | None]] = {}
    for bookmark, error in changes.failed:
        reason = _reason(error, changes.participle)
        bookmarks_by_reason.setdefault(reason, []).append(bookmark)
    html = ""
    for reason, bookmarks in bookmarks_by_reason.items():
        number = frame.number_of_bookmarks(len(bookmarks))
        html += f"<p>{number} {e(reason)}</p>\n"
        for bookmark in bookmarks:
            if bookmark:
                html += f"<p>{page_link(bookmark, site)}</p>\n"
    return html


def _reason(error: StorageError, participle: str) -> str:
    """Return what is said of such bookmarks: `left alone: ` and the error, for example."""
    if isinstance(error, _OUTCOME_UNKNOWN):
        return f"not known to be {participle}: {error}"
    if isinstance(error, Gone | NotFound):
        return "left alone: There is no such bookmark."
    return f"left alone: {error}"
