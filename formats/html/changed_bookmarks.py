"""The page that reports which bookmarks a form has changed or deleted."""

from collections.abc import Sequence

import msgspec

from formats.html import frame
from formats.html.editor import shown_version, values_html
from formats.html.error_page import people_detail
from formats.html.frame import cut, e
from formats.html.parts import MAX_TITLE_CHARACTERS, page_link
from formats.html.trash import trash_link
from formats.listing import Site
from storage.bookmark import Bookmark
from storage.errors import Gone, NotFound, StorageError
from storage.index import Entry


class ChangedBookmarks(msgspec.Struct):
    """The result of a form that changes or deletes several bookmarks."""

    is_deletion: bool
    can_be_restored: bool = True
    done: list[Bookmark] = []  # The values before the change.
    changed_meanwhile: list[Entry] = []  # Left alone, because another client has changed them.
    # Left alone because of an error. None stands for a bookmark that is missing or unreadable.
    failed: list[tuple[Bookmark | None, StorageError]] = []
    ended_by: StorageError | None = None  # After this error, no other bookmark was tried.
    unknown_count: int = 0  # The number of bookmarks that may or may not be changed.
    left_count: int = 0  # The number of bookmarks that were not tried.

    @property
    def is_complete(self) -> bool:
        return not self.changed_meanwhile and not self.failed and not self.ended_by

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
    content += _not_reached_html(changes)
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
    number = frame.number_of_bookmarks(len(changes.done))
    return f"{number} {changes.participle}"


def _deleted_html(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    deleted = changes.done
    if not changes.is_deletion or not deleted:
        return ""
    what = _title_or_number(deleted)
    text = f"<p>Deleted: {what}</p>\n"
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
    return f"<strong><bdi>{e(title)}</bdi></strong>"


def _changed_meanwhile_html(
    changes: ChangedBookmarks, site: Site, list_query: str | None
) -> str:
    if not changes.changed_meanwhile:
        return ""
    html = "<p>Changed since the page was opened, and left alone:</p>\n"
    for entry in changes.changed_meanwhile:
        values = values_html(entry.bookmark)
        edit = frame.link_button("Edit", f"{site.path}/{entry.bookmark.id}")
        delete = ""
        if changes.is_deletion:
            delete_address = e(f"{site.path}/-/delete/{entry.bookmark.id}")
            delete = f'<button formaction="{delete_address}">Delete</button>'
        html += f'{values}<div class="buttons delete">{edit}\n{delete}</div>\n'
    shown = " ".join(map(shown_version, changes.changed_meanwhile))
    hidden = [("_shown", shown), ("_list", list_query)]
    return frame.post_form(f"{site.path}/-/selected", hidden, html)


def _failed_html(changes: ChangedBookmarks, site: Site) -> str:
    bookmarks_by_reason: dict[str, list[Bookmark | None]] = {}
    for bookmark, error in changes.failed:
        reason = _reason(error)
        bookmarks_by_reason.setdefault(reason, []).append(bookmark)
    html = ""
    for reason, bookmarks in bookmarks_by_reason.items():
        number = frame.number_of_bookmarks(len(bookmarks))
        html += f"<p>{number} left alone: {e(reason)}</p>\n"
        for bookmark in bookmarks:
            if bookmark:
                html += f"<p>{page_link(bookmark, site)}</p>\n"
    return html


def _reason(error: StorageError) -> str:
    if isinstance(error, Gone | NotFound):
        return "There is no such bookmark."
    return people_detail(str(error))


def _not_reached_html(changes: ChangedBookmarks) -> str:
    if not changes.ended_by:
        return ""
    reason = e(people_detail(str(changes.ended_by)))
    left = frame.number_of_bookmarks(changes.left_count)
    if not changes.unknown_count:
        return f"<p>{left} left alone: {reason}</p>\n"
    unknown = frame.number_of_bookmarks(changes.unknown_count)
    html = f"<p>{unknown} not known to be {changes.participle}: {reason}</p>\n"
    if changes.left_count:
        # The reason is only about the unknown bookmarks.
        html += f"<p>{left} left alone after this error.</p>\n"
    return html
