"""The page of one bookmark, and the page that adds one."""

from collections.abc import Iterator

from msgspec.structs import replace

from formats.html.editor import (
    LABELS,
    BookmarkForm,
    delete_form,
    edit_form,
    other_value,
    quote_checkbox,
)
from formats.html.frame import write_page
from formats.html.parts import date_html, host_html, title_link
from formats.html.view import View
from storage.bookmark import fold, split_tags
from storage.index import Entry


def write(entry: Entry, view: View) -> Iterator[bytes]:
    """Write the page of a bookmark, with the forms that change and delete it."""
    list_query, closes_window = view.values.get("_list"), view.values.get("close", "")
    form = BookmarkForm(list_query=list_query, closes_window=closes_window).showing(entry)
    focus = "" if list_query is None else "title"  # "Edit" in a list has opened the page.
    yield _page(entry, view, form, edit_form(view, form, focus=focus)).encode()


def write_saved(entry: Entry, view: View, sent: BookmarkForm) -> str:
    """Return the page of a bookmark whose uri the user wants to add, with the sent tags added."""
    date = date_html(entry.bookmark.created)
    note = f'<p class="saved" role="status">You saved this page on {date}.</p>\n'
    return _page(entry, view, sent, note + existing_form(entry, view, sent))


def _page(entry: Entry, view: View, form: BookmarkForm, editor: str) -> str:
    b = entry.bookmark
    changed = f"changed {date_html(b.modified)}" if b.modified != b.created else ""
    details = (host_html(b.uri), f"saved {date_html(b.created)}", changed)
    main = (
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{editor}{delete_form(view.site, entry, form.list_query)}"
    )
    return write_page(b.title, main, view.site, heading=title_link(b))


def existing_form(
    entry: Entry, view: View, sent: BookmarkForm, *, keep_typed_values: bool = False
) -> str:
    """Return the form of an existing bookmark that the user wanted to add by the form `sent`.

    The form has the tags of both, and a checkbox to add the description. `keep_typed_values` also
    shows the title and ticks the checkbox, for values that the user typed; it is false for values
    that the bookmarklet or an app took from a page.
    """
    b, form = entry.bookmark, sent.showing(entry)
    folded_tags = set(map(fold, b.tags))
    new_tags = [tag for tag in split_tags(sent.tags) if fold(tag) not in folded_tags]
    tags = ", ".join(split_tags(form.tags) + new_tags)
    form = replace(form, tags=tags, unread=form.unread or sent.unread)
    title, description = sent.title.strip(), sent.description.strip()
    # A typed title is shown, so that it is not lost; the title of a page is dropped.
    is_title_shown = keep_typed_values and title not in ("", b.title)
    notes = {"title": other_value("You typed:", title)} if is_title_shown else {}
    checkbox = ""
    if description and description not in b.description:
        # A typed description must not be lost, so check its checkbox; a page's is only offered.
        checkbox = quote_checkbox(description, is_checked=keep_typed_values)
    return edit_form(view, form, notes=notes, checkbox=checkbox, focus="tags")


def write_add(form: BookmarkForm, view: View) -> str:
    """Return the page that adds a bookmark; its first empty field has the focus."""
    focus = next((name for name in LABELS if not getattr(form, name)), "")
    return write_page("Add a bookmark", edit_form(view, form, focus=focus), view.site)
