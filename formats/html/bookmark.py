"""The page of one bookmark, and the page that adds one."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from formats.html import editor
from formats.html.editor import BookmarkForm, FormParts
from formats.html.frame import Note, e, write_page
from formats.html.parts import date_html, host_html, title_link
from formats.listing import Site, View, with_query
from storage.bookmark import fold, split_tags
from storage.index import Entry


def write(entry: Entry, view: View) -> Iterator[bytes]:
    """Write the page of a bookmark, with the forms that change and delete it.

    A visitor, who is not logged in, gets the values of the bookmark as text.
    """
    site = view.site
    if site.is_visitor:
        content = _meta(entry) + _values(entry, site)
        heading = title_link(entry.bookmark)
        yield write_page(entry.bookmark.title, content, site, heading=heading).encode()
        return
    values = view.values
    list_query = values.get("_list")
    form = BookmarkForm(list_query=list_query, closes_window=values.get("close", ""))
    parts = FormParts()
    if list_query is not None:  # The user has clicked "Edit" in a list.
        parts = FormParts(focus="title")
    form_html = editor.edit_form(site, form.showing(entry), parts)
    yield _page(entry, site, form_html, list_query).encode()


def write_saved(entry: Entry, site: Site, sent: BookmarkForm) -> str:
    """Return the page of a stored bookmark if the bookmarklet or an app sends its uri again.

    Its form has the sent tags after the stored ones, and a checkbox to add the sent description.
    The sent title is not shown.
    """
    date = date_html(entry.bookmark.created)
    note = f'<p class="saved" role="status">You saved this page on {date}.</p>\n'
    form_html = _merged_form(entry, site, sent, notes={}, is_text_added=False)
    return _page(entry, site, note + form_html, sent.list_query)


def typed_form(entry: Entry, site: Site, sent: BookmarkForm) -> str:
    """Return the form of a stored bookmark if the user has typed its uri to add it again.

    The form has the typed tags after the stored ones, a checked checkbox to add the typed
    description, and the typed title below the stored one.
    """
    notes = {}
    title = sent.text("title").strip()
    if title not in ("", entry.bookmark.title):
        notes["title"] = editor.other_value("You typed:", title)
    return _merged_form(entry, site, sent, notes, is_text_added=True)


def _merged_form(
    entry: Entry, site: Site, sent: BookmarkForm, notes: Mapping[str, Note], is_text_added: bool
) -> str:
    """Return the form of a stored bookmark, with the tags of the form `sent` after the stored.

    `is_text_added` says whether the checkbox is checked that adds the sent description.
    """
    form = sent.showing(entry)
    folded_tags = set(map(fold, entry.bookmark.tags))
    tags = split_tags(form.text("tags"))
    tags += [tag for tag in split_tags(sent.text("tags")) if fold(tag) not in folded_tags]
    texts = {**form.texts, "tags": ", ".join(tags)}
    form = replace(form, texts=texts, unread=form.unread or sent.unread)
    description = sent.text("description").strip()
    checkbox = ""
    if description not in entry.bookmark.description:
        checkbox = editor.quote_checkbox(description, is_checked=is_text_added)
    parts = FormParts(notes=notes, checkbox=checkbox, focus="tags")
    return editor.edit_form(site, form, parts)


def _values(entry: Entry, site: Site) -> str:
    """Return the description, and the tags as links to their lists."""
    bookmark = entry.bookmark
    description = e(bookmark.description).replace("\n", "<br>\n")
    links = []
    for tag in bookmark.tags:
        address = e(with_query(f"{site.path}/", [("tag", tag)]))
        links.append(f'<a href="{address}">{e(tag)}</a> ')
    tags = "".join(links)
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
    """Return the host and the dates."""
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
