"""The page of one bookmark, and the page that adds one."""

from collections.abc import Iterator, Mapping

from formats.html import editor
from formats.html.editor import BookmarkForm, FormParts
from formats.html.frame import Note, e, write_page
from formats.html.parts import date_html, host_html, title_link
from formats.listing import Site, View, with_query
from storage.bookmark import fold, split_tags
from storage.index import Entry


def write(entry: Entry, view: View) -> Iterator[bytes]:
    """Write the page of a bookmark: its values for visitors, its forms for others."""
    site = view.site
    if site.is_visitor:
        content = _meta(entry) + _values(entry, site)
        heading = title_link(entry.bookmark)
        yield write_page(entry.bookmark.title, content, site, heading=heading).encode()
        return
    values = view.values
    list_query = values.get("_list")
    is_opened_from_list = list_query is not None
    form = BookmarkForm(list_query=list_query, closes_window=values.get("close", ""))
    parts = FormParts(focus="title" if is_opened_from_list else "")
    form_html = editor.edit_form(site, form.showing(entry), parts)
    yield _page(entry, site, form_html, list_query).encode()


def write_saved(entry: Entry, site: Site, sent: BookmarkForm) -> str:
    """Return the page for a bookmarklet or an app that sends the uri of a stored bookmark.

    Its form has the sent tags after the stored ones, and a checkbox to add the sent description.
    The sent title is not shown.
    """
    date = date_html(entry.bookmark.created)
    note = f'<p class="saved" role="status">You saved this page on {date}.</p>\n'
    form_html = _merged_form(entry, site, sent, notes={}, adds_description=False)
    return _page(entry, site, note + form_html, sent.list_query)


def typed_form(entry: Entry, site: Site, sent: BookmarkForm) -> str:
    """Return the form of a stored bookmark whose uri the user has typed to add it.

    Nothing typed is lost: the tags are added, the description is offered by a checked
    checkbox, and the title is shown below the stored one.
    """
    notes = {}
    title = sent.text("title").strip()
    if title not in ("", entry.bookmark.title):
        notes["title"] = editor.other_value("You typed:", title)
    return _merged_form(entry, site, sent, notes, adds_description=True)


def _merged_form(
    entry: Entry, site: Site, sent: BookmarkForm, notes: Mapping[str, Note], adds_description: bool
) -> str:
    """Return the form of a stored bookmark with the new tags of `sent` after its own.

    If `adds_description`, the checkbox that appends the sent description is checked.
    """
    stored = sent.showing(entry)
    known_tags = set(map(fold, entry.bookmark.tags))
    tags = split_tags(stored.text("tags"))
    for tag in split_tags(sent.text("tags")):
        if fold(tag) not in known_tags:
            tags.append(tag)
    merged = stored.with_texts({"tags": ", ".join(tags)}, unread=stored.unread or sent.unread)
    description = sent.text("description").strip()
    checkbox = ""
    if description not in entry.bookmark.description:
        checkbox = editor.quote_checkbox(description, is_checked=adds_description)
    parts = FormParts(notes=notes, checkbox=checkbox, focus="tags")
    return editor.edit_form(site, merged, parts)


def _values(entry: Entry, site: Site) -> str:
    bookmark = entry.bookmark
    description = e(bookmark.description).replace("\n", "<br>\n")
    tags = ""
    for tag in bookmark.tags:
        address = e(with_query(f"{site.path}/", [("tag", tag)]))
        tags += f'<a href="{address}">{e(tag)}</a> '
    return (
        f'<p dir="auto">{description}</p>\n'
        f'<p class="meta"><span class="tags">{tags}</span></p>\n'
    )


def _page(entry: Entry, site: Site, form_html: str, list_query: str | None) -> str:
    bookmark = entry.bookmark
    delete_form = editor.delete_form(site, entry, list_query)
    main = f"{_meta(entry)}{form_html}{delete_form}"
    return write_page(bookmark.title, main, site, heading=title_link(bookmark))


def _meta(entry: Entry) -> str:
    bookmark = entry.bookmark
    details = [f"saved {date_html(bookmark.created)}"]
    host = host_html(bookmark.uri)
    if host:
        details.insert(0, host)
    if bookmark.modified != bookmark.created:
        details.append(f"changed {date_html(bookmark.modified)}")
    meta = " · ".join(details)
    return f'<p class="meta">{meta}</p>\n'


def write_add(form: BookmarkForm, site: Site) -> str:
    """Return the page that adds a bookmark; its first empty field has the focus."""
    focus = ""
    for name in editor.LABELS:
        if not form.text(name):
            focus = name
            break
    form_html = editor.edit_form(site, form, FormParts(focus=focus))
    return write_page("Add a bookmark", form_html, site)
