"""The page of one bookmark, the page that adds one, and the parts that show a bookmark."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from formats.html.editor import (
    LABELS,
    BookmarkForm,
    delete_form,
    description_checkbox,
    edit_form,
    labelled_value,
    tag_checkboxes,
)
from formats.html.frame import cut, e, write_page
from formats.html.mark import Escape
from formats.html.view import Site, View
from storage.bookmark import Bookmark, fold, split_tags
from storage.index import Entry

# In characters. Pages cut longer titles and uris; the form shows them whole.
MAX_TITLE_SHOWN, MAX_URI_SHOWN = 300, 200
MAX_TAG_CHECKBOXES = 8  # The form suggests at most this number of tags, each with a checkbox.

# The host in a uri, without userinfo, `www.` and port, cut to the length that is shown.
_HOST = re.compile(
    rf"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(?:www\.)?(\[[0-9a-f:.]+\]|[^/?#:]{{1,{MAX_URI_SHOWN}}})",
    re.IGNORECASE,
)

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write(entry: Entry, view: View) -> Iterator[bytes]:
    """Write the page of a bookmark, with the forms that change and delete it."""
    list_query, closes_window = view.values.get("_list"), view.values.get("close", "")
    form = BookmarkForm(list_query=list_query, closes_window=closes_window).showing(entry)
    boxes = _host_tag_checkboxes(form, view)
    focus = "" if list_query is None else "title"  # "Edit" in a list has opened the page.
    editor = edit_form(view.site, edit_path(entry), form, checkboxes=boxes, focus=focus)
    yield _page(entry, view.site, form, editor).encode()


def write_saved(entry: Entry, view: View, sent: BookmarkForm) -> str:
    """Return the page of a bookmark whose uri the user wants to add, with the sent tags added."""
    date = date_html(entry.bookmark.created)
    note = f'<p class="saved" role="status">You saved this page on {date}.</p>\n'
    return _page(entry, view.site, sent, note + existing_form(entry, view, sent))


def _page(entry: Entry, site: Site, form: BookmarkForm, editor: str) -> str:
    b = entry.bookmark
    changed = f"changed {date_html(b.modified)}" if b.modified != b.created else ""
    details = (host_html(b.uri), f"saved {date_html(b.created)}", changed)
    main = (
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{editor}{delete_form(site, entry, form.list_query)}"
    )
    return write_page(b.title, main, site, heading=title_link(b))


def edit_path(entry: Entry) -> str:
    """Return the path to which the form that changes the bookmark is sent."""
    return f"/-/edit/{entry.bookmark.id}"


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
    typed_html: dict[str, str] = {}  # By the name of a field: a typed value, shown below the field.
    # A typed title is shown, so that it is not lost; the title of a page is dropped.
    if keep_typed_values and title not in ("", b.title):
        typed_html["title"] = labelled_value("You typed:", title)
    boxes = _host_tag_checkboxes(form, view)
    if description and description not in b.description:
        # A typed description must not be lost, so check its checkbox; a page's is only offered.
        boxes["description"] = description_checkbox(description, is_checked=keep_typed_values)
    return edit_form(
        view.site,
        edit_path(entry),
        form,
        other_values_html=typed_html,
        checkboxes=boxes,
        focus="tags",
    )


def _host_tag_checkboxes(form: BookmarkForm, view: View) -> dict[str, str]:
    """Map the field `tags` to checkboxes, each to add a tag of other bookmarks of the host."""
    folded_tags = set(map(fold, split_tags(form.tags)))
    unused = [tag for tag in view.host_tags(form.uri) if fold(tag) not in folded_tags]
    shown = unused[:MAX_TAG_CHECKBOXES]
    return {"tags": tag_checkboxes(shown, host_html(form.uri))} if shown else {}


def write_add(form: BookmarkForm, view: View) -> str:
    """Return the page that adds a bookmark; its first empty field has the focus."""
    focus = next((name for name in LABELS if not getattr(form, name)), "")
    checkboxes = _host_tag_checkboxes(form, view)
    editor = edit_form(view.site, "/-/add", form, checkboxes=checkboxes, focus=focus)
    return write_page("Add a bookmark", editor, view.site)


def title_link(b: Bookmark, escape_text: Escape = e) -> str:
    """Return the title as a link to the uri, or both as text if the scheme must not be linked."""
    # In a list `escape_text` also marks the words of the search.
    title = escape_text(cut(b.title, MAX_TITLE_SHOWN))
    scheme, _, _ = b.uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}">{title}</a>'
    return f'<span>{title}</span> <code dir="ltr">{e(cut(b.uri, MAX_URI_SHOWN))}</code>'


def host_html(uri: str, escape_text: Escape = e) -> str:
    """Return the host of a uri as HTML, or an empty text if the uri has no host."""
    match = _HOST.match(uri)
    return f'<span class="host">{escape_text(match[1].lower())}</span>' if match else ""


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp such as 2024-01-02T03:04:05Z as HTML."""
    return f"<time>{timestamp[:10]}</time>"
