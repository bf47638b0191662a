"""The page of one bookmark, and the page that adds one."""

from collections.abc import Iterator

from formats.html import editor
from formats.html.editor import BookmarkForm, FormParts
from formats.html.frame import e, write_page
from formats.html.parts import date_html, host_html, may_be_linked, title_link, uri_html
from formats.listing import Site, View, with_query
from storage.bookmark import fold, split_tags
from storage.index import Entry


def write(entry: Entry, view: View) -> Iterator[bytes]:
    site = view.site
    heading = title_link(entry.bookmark)
    if site.is_visitor:
        content = _meta_html(entry) + _values_html(entry, site)
        yield write_page(entry.bookmark.title, content, site, heading=heading).encode()
        return
    values = view.values
    list_query = values.get("_list")
    is_opened_from_list = list_query is not None
    focus = ""
    if is_opened_from_list:
        focus = "title"
    empty_form = BookmarkForm(list_query=list_query, closes_window=bool(values.get("close")))
    form = empty_form.with_stored_values(entry)
    form_html = editor.edit_form(site, form, FormParts(focus=focus))
    content = _meta_html(entry) + form_html
    content += editor.delete_form(site, entry, list_query)
    yield write_page(entry.bookmark.title, content, site, heading=heading).encode()


def write_existing(entry: Entry, site: Site, sent: BookmarkForm, is_typed: bool) -> str:
    """Return the form of a stored bookmark whose uri was sent again.

    Checkboxes offer the sent title and description. They are checked if the user typed the values.
    """
    date = date_html(entry.bookmark.created)
    notice = (
        '<div class="notice" role="alert" tabindex="-1">\n'
        f"<p>Saved {date}. New tags are at the end. Nothing changes until you save.</p>\n</div>\n"
    )
    offers = {}
    title = sent.text("title").strip()
    if title not in ("", entry.bookmark.title):
        offers["title"] = editor.title_offer(title, is_checked=is_typed)
    description = sent.text("description").strip()
    if description not in entry.bookmark.description:
        offers["description"] = editor.quote_offer(description, is_checked=is_typed)
    parts = FormParts(offers=offers, focus="tags")
    main = notice + editor.edit_form(site, _with_sent_tags(entry, sent), parts)
    main += editor.delete_form(site, entry, sent.list_query)
    return write_page("Already saved", main, site)


def _with_sent_tags(entry: Entry, sent: BookmarkForm) -> BookmarkForm:
    """Return the form of a stored bookmark, with new sent tags after its own tags."""
    form = sent.with_stored_values(entry)
    known_tags = set(map(fold, entry.bookmark.tags))
    tags = split_tags(form.text("tags"))
    for tag in split_tags(sent.text("tags")):
        if fold(tag) not in known_tags:
            tags.append(tag)
    return form.with_texts({"tags": ", ".join(tags)}, unread=form.unread or sent.unread)


def _values_html(entry: Entry, site: Site) -> str:
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


def _meta_html(entry: Entry) -> str:
    bookmark = entry.bookmark
    host = host_html(bookmark.uri)
    if not may_be_linked(bookmark.uri):
        host = uri_html(bookmark)
    created = date_html(bookmark.created)
    details = f"{host} <span>saved {created}</span>"
    if bookmark.modified != bookmark.created:
        modified = date_html(bookmark.modified)
        details += f" <span>changed {modified}</span>"
    return f'<p class="meta">{details}</p>\n'


def write_add(form: BookmarkForm, site: Site) -> str:
    """Return the page that adds a bookmark. The first empty field has the focus."""
    focus = ""
    for name in editor.LABELS:
        if not form.text(name):
            focus = name
            break
    form_html = editor.edit_form(site, form, FormParts(focus=focus))
    return write_page("Add a bookmark", form_html, site, current="add")
