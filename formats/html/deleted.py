"""The notice of a deletion, with a form that puts the bookmarks back."""

from collections.abc import Sequence

import msgspec

from formats.html.bookmark import MAX_TITLE_SHOWN, host_html
from formats.html.frame import (
    ENCTYPE_MULTIPART,
    cut,
    e,
    hidden_input,
    list_link,
    notice,
    number_of_bookmarks,
)
from formats.html.problem import HEADINGS, Problem, detail_html, write_page
from formats.html.view import Site
from storage.bookmark import WRITABLE_FIELDS, Bookmark


def write_deleted(
    deleted: Sequence[Bookmark], site: Site, list_query: str | None, others_html: str = ""
) -> str:
    """Return the page that names what was deleted, and `others_html`, what was not.

    The service keeps only the ids and the time of the deletion: the hidden field of the form is the
    only copy of the values. The script shows the notice in the list.
    """
    names = (*WRITABLE_FIELDS, "created")
    values = [{name: getattr(bookmark, name) for name in names} for bookmark in deleted]
    form = _form(msgspec.json.encode(values).decode(), site, list_query)
    main = notice(f"<p>Deleted: {_what(deleted)}</p>\n{form}") if deleted else ""
    main += f'<div class="alert" role="alert">\n{others_html}</div>\n' if others_html else ""
    one = "The bookmark is deleted" if len(deleted) == 1 else "The bookmarks are deleted"
    heading = one if deleted else "Nothing was deleted"
    return write_page(heading, main + list_link(site, list_query), site)


def _what(deleted: Sequence[Bookmark]) -> str:
    """Name one bookmark by its title; return the number of several."""
    if len(deleted) > 1:
        return f"<strong>{number_of_bookmarks(len(deleted))}</strong>"
    title = e(cut(deleted[0].title, MAX_TITLE_SHOWN))
    return f"<strong><bdi>{title}</bdi></strong> {host_html(deleted[0].uri)}"


def _form(deleted: str, site: Site, list_query: str | None) -> str:
    # Multipart, because URL-encoding could make long bookmarks too large for the service.
    label = "Put it back" if deleted.count('"uri":') == 1 else "Put them back"
    inputs = hidden_input("_deleted", deleted)
    inputs += "" if list_query is None else hidden_input("_list", list_query)
    return (
        f'<form method="post" action="{e(site.path)}/-/restore" {ENCTYPE_MULTIPART}>'
        f"{inputs}<button>{label}</button></form>\n"
    )


def write_not_restored(
    deleted: str, problem: Problem, site: Site, list_query: str | None
) -> str:
    """Return the page of a form that could not be stored, with the same form to try again."""
    content = f"<p>Nothing was put back. {detail_html(problem)}</p>\n"
    main = notice(content + _form(deleted, site, list_query), "notice alert")
    heading = HEADINGS.get(problem.status, "This did not work")
    return write_page(heading, main + list_link(site, list_query), site)
