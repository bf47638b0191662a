"""The page of a list: bookmarks, filter, tags, export links and the forms to add and import."""

import functools
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote_plus, urlencode

from formats.html import frame
from formats.html.editor import UNREAD, BookmarkForm, edit_form
from formats.html.frame import cut, e
from formats.html.list_forms import bar, retag_section
from formats.html.mark import Escape, marker
from formats.html.parts import date_html, host_html, title_link
from formats.html.start import introduction
from formats.listing import Listing, with_query
from storage.bookmark import fold_tag
from storage.index import Entry
from storage.query import NEWEST_FIRST
from storage.search import parse_search, words_to_mark

# In characters. A list shows only the beginning of a longer description. The bookmarklet takes no
# more of the selected text, so a list shows the whole text that the bookmarklet has saved.
MAX_DESCRIPTION_SHOWN = 2000
# In characters, more than one line on a wide screen. A list collapses a longer description to two.
_MAX_NOT_COLLAPSED = 140


def write(listing: Listing) -> Iterator[bytes]:
    """Write the page of a list."""
    escape_and_mark = marker(words_to_mark(parse_search(dict(listing.filter).get("q", ""))))
    tag_address = _tag_address_writer(listing)
    item = _item_writer(listing, tag_address, escape_and_mark)
    yield frame.begin(_title(listing), listing.site, listing).encode()
    yield f'<div class="columns">\n<main id="main">\n{_head(listing)}'.encode()
    # Enter does what the first button of a form does, so the bar comes before the items' buttons.
    yield f'{bar(listing)}<ol class="list">\n'.encode()
    for entry in listing.page.entries:
        yield item(entry).encode()
    yield f"</ol>\n{_page_links(listing)}</main>\n".encode()
    yield f"{_aside(listing, tag_address)}</div>\n{frame.END}".encode()


# --- The head ---


def _title(listing: Listing) -> str:
    if _is_collection_empty(listing):
        return "You have no bookmarks yet"
    return " · ".join(value for _, value in listing.filter) or "All bookmarks"


def _is_collection_empty(listing: Listing) -> bool:
    return not (listing.page.total or listing.filter or listing.query.uri_key)


def _head(listing: Listing) -> str:
    return (
        '<a class="skip" href="#tags-of-list">Skip to the tags</a>\n'
        f'<div class="head">\n{_heading(listing)}'
        f'<p class="total" role="status">{_total(listing)}</p>\n{_sort_menu(listing)}</div>\n'
        f"{frame.changed_notice(listing.view.values)}"
        f"{'' if listing.page.entries else _nothing_here(listing)}"
    )


def _total(listing: Listing) -> str:
    number_on_page = len(listing.page.entries)
    total = frame.number_of_bookmarks(listing.page.total)
    # A page with the whole list needs no range, and a page beyond the last bookmark has none.
    if number_on_page in (listing.page.total, 0):
        return total
    return f"{listing.query.offset + 1:,} to {listing.query.offset + number_on_page:,} of {total}"


def _heading(listing: Listing) -> str:
    """Return the tags of the filter as the heading, each a link that removes it from the filter.

    The words of the filter are in the search box.
    """
    selection = listing.filter + listing.order
    links = []
    for tag in (parameter for parameter in listing.filter if parameter[0] == "tag"):
        rest = [parameter for parameter in selection if parameter != tag]
        links.append(
            f'<a class="chip" href="{e(with_query(f"{listing.site.path}/", rest))}" '
            f'title="Remove from the filter"><bdi>#{e(cut(tag[1], frame.MAX_HEADING))}</bdi> '
            '<span aria-hidden="true">×</span></a>\n'
        )
    text = "Search results" if listing.filter else _title(listing)
    return f"<h1>{''.join(links) or text}</h1>\n"


# The labels of the orders by the value of the parameter `sort`.
_ORDERS = {
    NEWEST_FIRST: "Newest first",
    "created": "Oldest first",
    "-modified": "Last changed first",
    "title": "By title",
}


def _sort_menu(listing: Listing) -> str:
    """Return the links to the other orders of the list; the summary says how it is sorted."""
    current = listing.query.sort
    links = []
    for order, label in _ORDERS.items():
        parameters = [("sort", order)] if order != NEWEST_FIRST else []
        address = e(with_query(f"{listing.site.path}/", listing.filter + parameters))
        is_current = ' aria-current="true"' if order == current else ""
        links.append(f'<a href="{address}"{is_current}>{label}</a>\n')
    return (
        f'<details class="menu sort"><summary>{_ORDERS.get(current, "Sorted")}</summary>\n'
        f'<div>{"".join(links)}</div></details>\n'
    )


def _nothing_here(listing: Listing) -> str:
    address = f"{listing.site.path}/"
    if listing.page.total:
        first = e(with_query(address, listing.filter))
        what = f'<p>No bookmark is left on this page. <a href="{first}">See the first page</a>.</p>'
    elif _is_collection_empty(listing):
        # No link to cancel: it would lead to the list, but the form is on the page of the list.
        editor = edit_form(listing.site, BookmarkForm(list_query=""), link="")
        what = f"{introduction(listing.site)}<h2>Add the first bookmark</h2>\n{editor}"
    else:
        what = (
            "<p>No bookmark matches the whole filter. Remove a part of the filter, or <a "
            f'href="{e(address)}">see all bookmarks</a>. The search understands:</p>\n'
            f"{frame.SEARCH_EXAMPLES}"
        )
    return f'<div class="nothing">\n{what}</div>\n'


# --- The items ---


def _tag_address_writer(listing: Listing) -> Callable[[str], str]:
    """Return a function that returns the escaped address that adds a tag to the filter."""
    # The addresses differ only in the tag at the end, after `tag=`.
    selection = [*listing.filter, *listing.order, ("tag", "")]
    address_up_to_tag = e(with_query(f"{listing.site.path}/", selection))
    return lambda tag: address_up_to_tag + _quote(tag)


# Pages have the same tags, and encoding them takes a tenth of the time of a page. `quote_plus`
# returns only characters that HTML does not escape.
_quote = functools.lru_cache(maxsize=4096)(quote_plus)


def _item_writer(
    listing: Listing, tag_address: Callable[[str], str], escape_and_mark: Escape
) -> Callable[[Entry], str]:
    """Return a function that writes the list item of a bookmark.

    The buttons of an item submit the form of `selected.bar`, which has the versions of all items,
    because the service refuses to delete a bookmark that has changed since. `escape_and_mark` also
    marks the words of the search in a text.
    """
    # By the parameter `_list`, the page that edits a bookmark leads back to this list.
    path, edit_query = e(listing.site.path), e(urlencode({"_list": listing.list_query}))

    def item(entry: Entry) -> str:
        b = entry.bookmark
        tags = "".join(f'<a href="{tag_address(t)}">{escape_and_mark(t)}</a> ' for t in b.tags)
        edit_address = f"{path}/{b.id}?{edit_query}"  # An id has no character to escape.
        return (
            f'<li id="b-{b.id}" dir="auto">\n<input type="checkbox" form="many" name="selected" '
            f'value="{b.id}" aria-label="Select">\n<h2>{title_link(b, escape_and_mark)}</h2>\n'
            f"{_description(b.description, edit_address, escape_and_mark)}"
            # The actions come first, so that they are near the title for the key Tab.
            f'<p class="meta"><span class="actions">{_read_button(entry, path)}'
            f'<a href="{edit_address}">Edit</a> '
            f'<button form="many" formaction="{path}/-/delete/{b.id}">Delete</button></span>'
            f"{host_html(b.uri, escape_and_mark)} {date_html(b.created)} "
            f'<span class="tags">{tags}</span></p>\n</li>\n'
        )

    return item


def _read_button(entry: Entry, path: str) -> str:
    if UNREAD not in entry.tags:
        return ""
    address = f"{path}/-/read/{entry.bookmark.id}"
    return f'<button form="many" formaction="{address}">Mark as read</button> '


def _description(description: str, escaped_address: str, escape_and_mark: Escape) -> str:
    """Return the description, collapsed if it is long or has a line break; a click expands it."""
    if not description:
        return ""
    shown = cut(description, MAX_DESCRIPTION_SHOWN)
    if len(description) <= _MAX_NOT_COLLAPSED and description.count("\n") < 3:
        parts = _ADDRESS.split(shown)  # At each odd index is an address.
        parts[::2] = map(escape_and_mark, parts[::2])
        parts[1::2] = map(_link, parts[1::2])
        return f"<p>{''.join(parts)}</p>\n"
    # A summary cannot contain links, so they follow it.
    text, links = escape_and_mark(shown), map(_link, _ADDRESS.findall(shown))
    rest = "".join(f"<p>{link}</p>" for link in links)
    if len(description) > MAX_DESCRIPTION_SHOWN:
        rest += f'<p><a href="{escaped_address}">Show the whole description</a></p>'
    # The summary has the whole text, of which style.css shows only two lines until a click.
    return f"<details><summary>{text}</summary>{rest}</details>\n"


# A web address in a description, without the punctuation of the sentence around it.
_ADDRESS = re.compile(r"(\bhttps?://[^\s<>\"]*[^\s<>\".,;:!?'’”»)\]])")


def _link(address: str) -> str:
    return f'<a href="{e(address)}">{e(address)}</a>'


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


def _aside(listing: Listing, tag_address: Callable[[str], str]) -> str:
    tools = with_query(f"{listing.site.path}/-/tools", listing.filter)
    return (
        f'<aside aria-label="Tags">\n{_tags(listing, tag_address)}{retag_section(listing)}'
        f'<div><p id="more"><a href="{e(tools)}">Download or follow these bookmarks</a></p>'
        "</div>\n</aside>\n"
    )


def _tags(listing: Listing, tag_address: Callable[[str], str]) -> str:
    """Return the most used tags that the filter does not have, each a link that adds the tag."""
    selected_tags = {fold_tag(value) for name, value in listing.filter if name == "tag"}
    # Without <bdi>, a tag in Hebrew or Arabic would move the count to its other side.
    items = "".join(
        f'<li><a href="{tag_address(tag)}"><bdi>{e(tag)}</bdi> <span>{count:,}</span></a></li>\n'
        for tag, count in listing.page.tag_counts
        if fold_tag(tag) not in selected_tags
    )
    content = f'<ul class="cloud">\n{items}</ul>' if items else "<p>No more tags.</p>"
    return f'<section id="tags-of-list" tabindex="-1">\n<h2>Tags</h2>\n{content}\n</section>\n'
