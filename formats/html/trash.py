"""The page of recently deleted bookmarks, and the report of a failed form."""

from collections.abc import Sequence
from typing import Any

import msgspec

from formats.html import frame
from formats.html.frame import cut, e, number_of, number_of_bookmarks
from formats.html.list_forms import CHECKED, checkbox, select_button
from formats.html.parts import MAX_TITLE_CHARACTERS, date_html, host_html, page_link
from formats.listing import Site, View, before_offset
from storage.bookmark import Bookmark
from storage.errors import StorageError, Unreadable
from storage.trash import DeletedBookmark

PAGE_SIZE = 100


def write_trash(
    deleted: Sequence[DeletedBookmark | Unreadable],
    total: int,
    offset: int,
    days: int | None,
    view: View,
) -> str:
    """Return the page. `days` is None if deleted bookmarks are kept for ever."""
    site = view.site
    begin = frame.begin("Recently deleted", site)
    notice = frame.changed_notice(view.values)
    controls = select_button("many") if deleted else ""
    head = frame.list_head("Recently deleted", _summary(total, days), controls)
    bar = _bar(site)
    items = "".join([_item(bookmark, site) for bookmark in deleted])
    pages = _page_links(site, offset, total)
    nothing = "" if deleted else _nothing_here(site, days)
    return (
        f'{begin}<main id="main" class="single trash">\n{head}{notice}{bar}'
        f'<div class="nothing">{nothing}</div>\n'
        f'<ol class="list">\n{items}</ol>\n{pages}</main>\n{frame.END}'
    )


def _page_links(site: Site, offset: int, total: int) -> str:
    address = before_offset(f"{site.path}/-/trash", [("limit", PAGE_SIZE)])
    return frame.page_links(address, offset, PAGE_SIZE, total)


def _bar(site: Site) -> str:
    restore = e(f"{site.path}/-/restore")
    content = (
        f'{CHECKED}<div><button class="primary" formaction="{restore}">Put back</button>\n'
        '<button class="wrong">Delete for good</button></div>\n'
    )
    hidden = [("_shown", "")]  # script.js needs this field.
    return frame.post_form(f"{site.path}/-/trash", hidden, content, 'class="bar" id="many"')


def _summary(total: int, days: int | None) -> str:
    if not total:
        return ""
    number = number_of_bookmarks(total)
    if not days:
        return number
    period = number_of(days, "day")
    return f"{number}, kept for {period}"


def _nothing_here(site: Site, days: int | None) -> str:
    text = "Nothing here."
    if days == 0:
        text = "Nothing here. This service does not keep deleted bookmarks."
    elif days:
        period = number_of(days, "day")
        text = f"Nothing here. A deleted bookmark is kept for {period}."
    return f"<p>{text}</p>\n{frame.list_link(site)}"


def _item(deleted: DeletedBookmark | Unreadable, site: Site) -> str:
    if isinstance(deleted, Unreadable):
        heading = f"<h2><span>{deleted.id}.json</span></h2>"
        return f'<li id="b-{deleted.id}" dir="auto">\n{heading}<p>{e(str(deleted))}</p>\n</li>\n'
    id = deleted.bookmark.id
    title = e(cut(deleted.bookmark.title, MAX_TITLE_CHARACTERS))
    host = host_html(deleted.bookmark.uri)
    date = date_html(deleted.deleted)
    restore = e(f"{site.path}/-/restore")
    button_attributes = f'form="many" formaction="{restore}" name="only" value="{id}"'
    return f"""\
<li id="b-{id}" dir="auto">
{checkbox(id)}<h2><span>{title}</span></h2>
<p class="meta"><span class="actions"><button {button_attributes}>Put back</button></span>
{host} <span>deleted {date}</span></p>
</li>
"""


def trash_link(site: Site) -> str:
    return f'<a href="{e(site.path)}/-/trash">Recently deleted</a>'


class TrashResults(msgspec.Struct):
    """What a form has done to bookmarks of the trash."""

    participle: str  # "put back" or "deleted for good".
    done: list[Any] = []  # What the change of each bookmark has returned.
    conflicting_ids: list[str] = []  # Bookmarks that have the address of a deleted one.
    missing_count: int = 0
    errors: list[StorageError] = []  # Why other bookmarks stay in the trash.


def write_not_all_done(results: TrashResults, saved_again: Sequence[Bookmark], site: Site) -> str:
    """Return the page that names the bookmarks for which the form has failed."""
    not_done = f"Not {results.participle}"
    heading = not_done
    if results.done:
        heading = f"{number_of_bookmarks(len(results.done))} {results.participle}"
    content = ""
    for bookmark in saved_again:
        link = page_link(bookmark, site)
        content += f"<p>{not_done}, because it is saved again: {link}</p>\n"
    for error in results.errors:
        content += f"<p>{not_done}: {e(str(error))}</p>\n"
    if results.missing_count:
        content += (
            f"<p>{not_done}, because not in {trash_link(site)} any more: "
            f"{number_of_bookmarks(results.missing_count)}.</p>\n"
        )
    main = (
        '<div class="notice alert" role="alert" tabindex="-1" autofocus>\n'
        f"{content}</div>\n<p>{trash_link(site)}</p>\n"
    )
    return frame.write_page(heading, main, site)
