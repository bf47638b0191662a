"""The page of one bookmark, and the page that adds one."""

from collections.abc import Iterator

from msgspec.structs import replace

from formats.html import editor
from formats.html.editor import BookmarkForm
from formats.html.frame import write_page
from formats.html.parts import date_html, host_html, title_link
from formats.listing import Site, View
from storage.bookmark import fold, split_tags
from storage.index import Entry


def write(entry: Entry, view: View) -> Iterator[bytes]:
    """Write the page of a bookmark, with the forms that change and delete it."""
    site, values = view.site, view.values
    form = BookmarkForm(list_query=values.get("_list"), closes_window=values.get("close", ""))
    focus = "" if form.list_query is None else "title"  # "Edit" in a list has opened the page.
    form_html = editor.edit_form(site, form.showing(entry), focus=focus)
    yield _page(entry, site, form_html, form.list_query).encode()


def write_saved(entry: Entry, site: Site, sent: BookmarkForm) -> str:
    """Return the page of a bookmark whose uri the user wants to add, with the sent tags added."""
    date = date_html(entry.bookmark.created)
    note = f'<p class="saved" role="status">You saved this page on {date}.</p>\n'
    return _page(entry, site, note + existing_form(entry, site, sent), sent.list_query)


def _page(entry: Entry, site: Site, form_html: str, list_query: str | None) -> str:
    b = entry.bookmark
    changed = f"changed {date_html(b.modified)}" if b.modified != b.created else ""
    details = (host_html(b.uri), f"saved {date_html(b.created)}", changed)
    main = (
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{form_html}{editor.delete_form(site, entry, list_query)}"
    )
    return write_page(b.title, main, site, heading=title_link(b))


def existing_form(entry: Entry, site: Site, sent: BookmarkForm, is_typed: bool = False) -> str:
    """Return the form of an existing bookmark that the user wanted to add by the form `sent`.

    The form has the tags of both, and a checkbox to add the description. If the user typed the
    values (`is_typed`), it also shows the title, and the checkbox is ticked; the bookmarklet or an
    app takes the values from a page.
    """
    b, form = entry.bookmark, sent.showing(entry)
    folded_tags = set(map(fold, b.tags))
    new_tags = [tag for tag in split_tags(sent.tags) if fold(tag) not in folded_tags]
    tags = ", ".join(split_tags(form.tags) + new_tags)
    form = replace(form, tags=tags, unread=form.unread or sent.unread)
    title, description = sent.title.strip(), sent.description.strip()
    # A typed title is shown, so that it is not lost; the title of a page is dropped.
    is_title_shown = is_typed and title not in ("", b.title)
    notes = {"title": editor.other_value("You typed:", title)} if is_title_shown else {}
    checkbox = ""
    if description and description not in b.description:
        # A typed description must not be lost, so check its checkbox; a page's is only offered.
        checkbox = editor.quote_checkbox(description, is_checked=is_typed)
    return editor.edit_form(site, form, notes=notes, checkbox=checkbox, focus="tags")


def write_add(form: BookmarkForm, site: Site) -> str:
    """Return the page that adds a bookmark; its first empty field has the focus."""
    focus = next((name for name in editor.LABELS if not getattr(form, name)), "")
    return write_page("Add a bookmark", editor.edit_form(site, form, focus=focus), site)
