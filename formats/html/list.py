"""The page of a list: bookmarks, filter, tags, export links and the forms to add and import."""

import functools
from collections.abc import Callable, Iterator
from urllib.parse import quote_plus, urlencode

from formats.html.bookmark import date_html, host_html, title_link
from formats.html.editor import BookmarkForm, edit_form, form_version
from formats.html.frame import (
    END,
    MAX_HEADING,
    begin,
    cut,
    e,
    feed_address,
    hidden_input,
    number_of_bookmarks,
)
from formats.html.mark import Escape, marker
from formats.html.retag import retag_section
from formats.html.start import bookmarklet, import_form, introduction
from formats.html.view import Listing, with_query
from storage.bookmark import fold_tag
from storage.index import Entry
from storage.search import parse_search, words_to_mark

# The column beside a list shows at most this number of tags, the most used.
MAX_TAGS_SHOWN = 60
# In characters. A list shows only the beginning of a longer description. The bookmarklet takes no
# more of the selected text, so a list shows the whole text that the bookmarklet has saved.
MAX_DESCRIPTION_SHOWN = 2000
# In characters, about two lines on a phone. A list collapses a longer description to two lines.
_MAX_NOT_COLLAPSED = 90

# The labels of the download links by the names of the formats.
_EXPORTS = {
    "netscape": "Browser bookmark file (HTML)",
    "csv": "Spreadsheet (CSV)",
    "json": "All fields (JSON)",
    "xbel": "XBEL (XML)",
    "text": "Plain text",
}

_TagLink = Callable[..., str]  # A function from a tag, and optionally its count, to a link.


def write(listing: Listing) -> Iterator[bytes]:
    """Write the page of a list, or of an empty collection."""
    is_empty_collection = not listing.page.total and not listing.filter
    escape_and_mark = marker(words_to_mark(parse_search(dict(listing.filter).get("q", ""))))
    tag_link = _tag_link_writer(listing, escape_and_mark)
    item = _item_writer(listing, tag_link, escape_and_mark)
    head = _empty_collection(listing) if is_empty_collection else _list_head(listing)
    yield _begin(listing).encode()
    yield f'<div class="columns">\n<main id="main">\n{head}'.encode()
    yield b'<ol class="list">\n' if listing.page.entries else b""
    for entry in listing.page.entries:
        yield item(entry).encode()
    yield b"</ol>\n" if listing.page.entries else b""
    aside = "" if is_empty_collection else _aside(listing, tag_link)
    yield f"{_page_links(listing)}</main>\n{aside}</div>\n{END}".encode()


# --- The head ---


def _begin(listing: Listing) -> str:
    title, site, filter = _title(listing), listing.site, listing.filter
    return begin(title, site, listing.list_query, filter=filter, is_list=True)


def _title(listing: Listing) -> str:
    return " · ".join(value for _, value in listing.filter) or "All bookmarks"


def _list_head(listing: Listing) -> str:
    path = e(listing.site.path)
    # On narrow screens, the link "Tools" jumps to the column that is below the list there.
    return (
        f'<div class="head">\n<h1 dir="auto">{e(cut(_title(listing), MAX_HEADING))}</h1>\n'
        f'<p class="total" role="status">{_total(listing)}</p>\n'
        f'<p class="jump"><a href="#more">Tools</a></p>\n</div>\n'
        f"{_retagging_notice(listing)}{_filter(listing)}"
        f"{'' if listing.page.entries else _nothing_here(listing)}"
        # The delete button of each item submits this form, with the item's address and version.
        f'<form id="delete" method="post" action="{path}/">'
        f"{hidden_input('_list', listing.list_query)}</form>\n"
    )


def _total(listing: Listing) -> str:
    number_on_page = len(listing.page.entries)
    total = number_of_bookmarks(listing.page.total)
    # A page with the whole list needs no range, and a page beyond the last bookmark has none.
    if number_on_page in (listing.page.total, 0):
        return total
    return f"{listing.query.offset + 1:,} to {listing.query.offset + number_on_page:,} of {total}"


def _retagging_notice(listing: Listing) -> str:
    """Return a notice with the result of a change of tags, if such a form led to this list."""
    if listing.retagged_count is None:
        return ""
    text = f"{number_of_bookmarks(listing.retagged_count)} changed."
    if listing.failed_count:
        failed = number_of_bookmarks(listing.failed_count)
        text += f" {failed} could not be changed. Repeat the change."
    return f'<p class="saved" role="status">{text}</p>\n'


def _filter(listing: Listing) -> str:
    """Return the tags and words of the filter, each as a link that removes it from the filter."""
    if not listing.filter:
        return ""
    links = []
    for name, value in listing.filter:  # The name is also the link's CSS class, `tag` or `q`.
        rest = [parameter for parameter in listing.filter if parameter != (name, value)]
        links.append(
            f'<a href="{e(with_query(f"{listing.site.path}/", rest))}" class="{name}">'
            f'<span class="unseen">Without </span><bdi>{e(value)}</bdi> '
            '<span aria-hidden="true">×</span></a>\n'
        )
    return f'<p class="filter"><span>Only </span>{"".join(links)}</p>\n'


def _nothing_here(listing: Listing) -> str:
    path = e(listing.site.path)
    if listing.page.total:
        first = e(with_query(f"{listing.site.path}/", listing.filter))
        what = f'No bookmark is left on this page. <a href="{first}">See the first page</a>.'
    else:
        what = (
            "No bookmark matches the whole filter. Remove a part of the filter, or "
            f'<a href="{path}/">see all bookmarks</a>.'
        )
    return f'<p class="nothing">{what}</p>\n'


def _empty_collection(listing: Listing) -> str:
    form = BookmarkForm(list_query=listing.list_query)
    # No link to cancel: it would lead to the list, but the form is on the page of the list.
    editor = edit_form(f"{listing.site.path}/-/add", form, has_cancel_link=False)
    return f"{introduction(listing.site)}<h2>Add the first bookmark</h2>\n{editor}"


# --- The items ---


def _tag_link_writer(listing: Listing, escape_and_mark: Escape) -> _TagLink:
    """Return a function that writes the link of a tag, with its count if one is given.

    The link adds the tag to the filter of the list. If the filter has the tag already, the link
    leads to the same list.
    """
    path = f"{listing.site.path}/"
    # The addresses of all links differ only in the tag at the end, after `tag=`.
    address_up_to_tag = e(f"{path}?{urlencode([*listing.filter, ('tag', '')])}")
    same_list_address = e(with_query(path, listing.filter))
    selected_tags = _selected_tags(listing)

    @functools.cache  # Most tags occur several times on a page.
    def tag_link(tag: str, count: int | None = None) -> str:
        attributes = f'href="{address_up_to_tag}{_quote(tag)}"'
        if fold_tag(tag) in selected_tags:  # The filter must not have the tag twice.
            attributes = f'href="{same_list_address}" aria-current="true"'
        if count is None:  # A tag of a bookmark: mark the words of the search in it.
            return f"<a {attributes}>{escape_and_mark(tag)}</a>"
        # A tag in the column beside the list, without marks. Without <bdi> a tag in Hebrew or
        # Arabic would move the count to its other side.
        return f"<a {attributes}><bdi>{e(tag)}</bdi> <span>{count:,}</span></a>"

    return tag_link


# Pages have the same tags, and encoding them takes a tenth of the time of a page. `quote_plus`
# returns only characters that HTML does not escape.
_quote = functools.lru_cache(maxsize=4096)(quote_plus)


def _selected_tags(listing: Listing) -> set[str]:
    """Return the folded tags of the filter, so that no link adds such a tag a second time."""
    return {fold_tag(value) for name, value in listing.filter if name == "tag"}


def _item_writer(
    listing: Listing, tag_link: _TagLink, escape_and_mark: Escape
) -> Callable[[Entry], str]:
    """Return a function that writes the list item of a bookmark.

    The item's delete button sends the bookmark's version, because the service refuses to delete a
    bookmark that has changed since. `escape_and_mark` also marks the words of the search in a text.
    """
    # By the parameter `_list`, the page that edits a bookmark leads back to this list.
    path, edit_query = e(listing.site.path), e(urlencode({"_list": listing.list_query}))

    def item(entry: Entry) -> str:
        b = entry.bookmark
        edit_address = f"{path}/{b.id}?{edit_query}"  # An id has no character to escape.
        return (
            f'<li id="b-{b.id}" dir="auto">\n<h2>{title_link(b, escape_and_mark)}</h2>\n'
            f'{_description(b.description, edit_address, escape_and_mark)}<p class="meta">'
            f"{host_html(b.uri, escape_and_mark)} {date_html(b.created)} "
            f'<span class="tags">{"".join(f"{tag_link(tag)} " for tag in b.tags)}</span>'
            f'<span class="actions"><a class="edit" href="{edit_address}">Edit</a> '
            f'<button form="delete" formaction="{path}/-/delete/{b.id}" name="_version" '
            f'value="{form_version(entry)}">Delete</button></span></p>\n</li>\n'
        )

    return item


def _description(description: str, escaped_address: str, escape_and_mark: Escape) -> str:
    """Return the description, collapsed if it is long or has a line break; a click expands it."""
    text = escape_and_mark(cut(description, MAX_DESCRIPTION_SHOWN))
    if len(description) <= _MAX_NOT_COLLAPSED and "\n" not in description:
        return f"<p>{text}</p>\n" if text else ""
    is_cut = len(description) > MAX_DESCRIPTION_SHOWN
    rest = f'<p><a href="{escaped_address}">Show the whole description</a></p>' if is_cut else ""
    # The summary has the whole text, of which style.css shows only two lines until a click.
    return f"<details><summary>{text}</summary>{rest}</details>\n"


# --- Below and beside the items ---

# The labels by the link relations in `Listing.links`. The first page has the newest bookmarks.
_PAGE_LABELS = {"first": "First", "prev": "Newer", "next": "Older", "last": "Last"}


def _page_links(listing: Listing) -> str:
    if not listing.links:
        return ""
    # HTML has the link relations prev and next, but neither first nor last.
    links = (
        f'<a class="button" href="{e(url)}"{f" rel={rel}" if rel in ("prev", "next") else ""}>'
        f"{_PAGE_LABELS[rel]}</a>\n"
        for rel, url in listing.links.items()
    )
    return f'<nav class="pages" aria-label="Pages">\n{"".join(links)}</nav>\n'


def _aside(listing: Listing, tag_link: _TagLink) -> str:
    site = listing.site
    exports = "\n".join(
        f'<a href="{e(with_query(f"{site.path}/", [*listing.filter, ("format", format)]))}">'
        f"{label}</a>"
        for format, label in _EXPORTS.items()
    )
    return (
        f'<aside id="more" aria-label="Tags and tools">\n{_tags(listing, tag_link)}'
        f"{retag_section(listing)}"
        '<section>\n<h2>Download these bookmarks</h2>\n<p class="links">'
        f'{exports}\n<a href="{e(feed_address(site, listing.filter))}">Feed (Atom)</a></p>\n'
        "</section>\n"
        f"<section>\n<h2>Add from any page</h2>\n{bookmarklet(site)}</section>\n"
        f"<section>\n<h2>Import</h2>\n{import_form(site)}</section>\n</aside>\n"
    )


def _tags(listing: Listing, tag_link: _TagLink) -> str:
    """Return the most used tags that the filter does not have, each a link that adds the tag."""
    selected_tags = _selected_tags(listing)
    items = "".join(
        f"<li>{tag_link(tag, count)}</li>\n"
        for tag, count in listing.page.tag_counts
        if fold_tag(tag) not in selected_tags
    )
    if not items:
        return ""
    return f'<section>\n<h2>Tags</h2>\n<ul class="cloud">\n{items}</ul>\n</section>\n'
