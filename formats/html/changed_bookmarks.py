"""The page that reports what a form changed or deleted, and which bookmarks it left alone."""

from collections.abc import Sequence

import msgspec

from formats.html import frame
from formats.html.editor import shown_version, texts_of, values_html
from formats.html.frame import cut, e
from formats.html.parts import MAX_TITLE_SHOWN, host_html
from formats.html.trash import trash_link
from formats.listing import Site
from storage.bookmark import Bookmark
from storage.errors import Gone, NotFound, StorageError
from storage.index import Entry


class ChangedBookmarks(msgspec.Struct):
    """What a form did to several bookmarks."""

    is_deletion: bool
    can_be_restored: bool = True  # Whether deleted bookmarks can be put back.
    done: list[Bookmark] = []  # The changed or deleted bookmarks, as they were before.
    # Left alone, because another client has changed them since the form was opened.
    changed_meanwhile: list[Entry] = []
    # Left alone because of an error; None stands for a bookmark that cannot be read.
    failed: list[tuple[Bookmark | None, StorageError]] = []
    # The number of bookmarks for which a disk error left it unknown whether they were changed.
    unknown_count: int = 0
    unknown_reason: str = ""  # The text of the disk error.

    @property
    def known_count(self) -> int:
        """The number of bookmarks whose outcome is known."""
        return len(self.done) + len(self.changed_meanwhile) + len(self.failed)

    @property
    def is_complete(self) -> bool:
        """Whether all bookmarks were changed."""
        return not (self.changed_meanwhile or self.failed or self.unknown_count)

    @property
    def all_failed(self) -> bool:
        """Whether errors kept all bookmarks from being changed."""
        return self.unknown_count == 0 and self.known_count == len(self.failed)


def write_changed_bookmarks(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    """Return the page, with a form to put deleted bookmarks back."""
    heading = _heading(changes)
    content = _deleted(changes, site, list_query)
    content += _unknown(changes)
    content += _changed_meanwhile(changes, site, list_query)
    content += _failed(changes, site)
    classes = "notice"
    if not changes.is_complete:
        classes = "notice alert"
    deleted = ""
    if changes.is_deletion:
        deleted = " ".join(bookmark.id for bookmark in changes.done)
    # The notice takes the focus, so that screen readers read it out. script.js reads data-deleted.
    link = frame.list_link(site, list_query)
    main = f"""\
<div class="{classes}" role="alert" tabindex="-1" autofocus data-deleted="{deleted}">
{content}</div>
{link}"""
    return frame.write_page(heading, main, site)


def _heading(changes: ChangedBookmarks) -> str:
    if changes.unknown_count and not changes.done:
        return "This may be done or not"
    number = frame.number_of_bookmarks(len(changes.done))
    return f"{number} {_participle(changes)}"


def _participle(changes: ChangedBookmarks) -> str:
    if changes.is_deletion:
        return "deleted"
    return "changed"


def _deleted(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    deleted = changes.done
    if not changes.is_deletion or not deleted:
        return ""
    # CSS hides the first word on the page, whose heading says it.
    what = _title_or_number(deleted)
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
    """Return the title and the host of one bookmark, or the number of several."""
    if len(deleted) > 1:
        return f"<strong>{frame.number_of_bookmarks(len(deleted))}</strong>"
    (bookmark,) = deleted
    title = cut(bookmark.title, MAX_TITLE_SHOWN)
    host = host_html(bookmark.uri)
    return f"<strong><bdi>{e(title)}</bdi></strong> {host}"


def _unknown(changes: ChangedBookmarks) -> str:
    if not changes.unknown_count:
        return ""
    number = frame.number_of_bookmarks(changes.unknown_count)
    reason = e(changes.unknown_reason)
    return f"<p>Not known to be {_participle(changes)}: {number}. {reason}</p>\n"


def _changed_meanwhile(changes: ChangedBookmarks, site: Site, list_query: str | None) -> str:
    """Return the values that another client has saved, with buttons to edit or delete them."""
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
    # One form for all, because its hidden field `_list` can be long.
    shown = " ".join(map(shown_version, changes.changed_meanwhile))
    hidden = [("_shown", shown), ("_list", list_query)]
    return frame.post_form(f"{site.path}/-/selected", hidden, html)


def _failed(changes: ChangedBookmarks, site: Site) -> str:
    """Return each reason once, with links to the bookmarks that were left alone for it."""
    links_by_reason: dict[str, list[str]] = {}
    for bookmark, error in changes.failed:
        reason = str(error)
        if isinstance(error, Gone | NotFound):
            reason = "There is no such bookmark."
        links_by_reason.setdefault(reason, []).append(_link(bookmark, site))
    html = ""
    for reason, links in links_by_reason.items():
        number = frame.number_of_bookmarks(len(links))
        html += f"<p>{number} left alone: {e(reason)}</p>\n"
        html += "".join(links)
    return html


def _link(bookmark: Bookmark | None, site: Site) -> str:
    if bookmark is None:
        return ""
    address = f"{site.path}/{bookmark.id}"
    title = cut(bookmark.title, MAX_TITLE_SHOWN)
    return f'<p><a href="{e(address)}"><bdi>{e(title)}</bdi></a></p>\n'
