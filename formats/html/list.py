"""The page of a list of bookmarks."""

import functools
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote_plus, urlencode

from formats.html import frame
from formats.html.editor import UNREAD
from formats.html.frame import cut, e
from formats.html.list_forms import bar, checkbox, retag_menu, select_button
from formats.html.mark import Escape, marker
from formats.html.parts import date_html, host_of, may_be_linked, title_link, uri_html
from formats.html.start import introduction
from formats.listing import Listing, Parameters, with_query
from storage.bookmark import Bookmark, fold_tag
from storage.index import Entry
from storage.query import NEWEST_FIRST
from storage.search import words_to_mark

_MAX_DESCRIPTION_CHARACTERS = 2000
_MAX_UNCOLLAPSED_CHARACTERS = 90  # Two lines on a phone.
_MAX_UNCOLLAPSED_LINES = 2
# Limits of addresses in descriptions.
_MAX_WHOLE_ADDRESS_CHARACTERS = 200
_MAX_PATH_CHARACTERS = 26
_END_OF_HOST = re.compile("[/?#]")
# A web address, without the punctuation of the sentence around it.
_ADDRESS = re.compile(
    r"""\b https?:// [^\s<>"]* [^\s<>".,;:!?'’”»)\]]""", re.VERBOSE
)
_MAX_TAGS = 20  # More tags would not fit beside the list.
_HOST_SEARCH = re.compile(r"site:\S+", re.IGNORECASE)
_LONG_FILTER_NOTE = (
    "<p>The filter is too long for the links of this page. "
    "Shorten it to sort or download this list, or to change its tags.</p>\n"
)


def write(listing: Listing) -> Iterator[bytes]:
    items = _ItemWriter(listing)
    parts = [
        frame.begin(_title(listing), listing.site, listing),
        '<div class="columns">\n<main id="main">\n',
        _head(listing),
        # Enter in a field of the bar presses the first button of its form. The buttons of the items
        # belong to the same form, so they are after the bar.
        bar(listing),
        '<ol class="list">\n',
        *map(items.write, listing.selection.entries),
        "</ol>\n",
        _page_links(listing),
        "</main>\n",
        _aside(listing),
        "</div>\n",
        frame.END,
    ]
    yield "".join(parts).encode()


# --- The head ---


def _title(listing: Listing) -> str:
    if _is_collection_empty(listing):
        if listing.site.is_visitor:
            return "No bookmarks yet"
        return "You have no bookmarks yet"
    if not listing.filter:
        return "All bookmarks"
    return " · ".join([value for _, value in listing.filter])


def _is_collection_empty(listing: Listing) -> bool:
    has_filter = bool(listing.filter or listing.query.uri_key)
    return listing.selection.total == 0 and not has_filter


def _head(listing: Listing) -> str:
    controls = retag_menu(listing) + _sort_menu(listing)
    if not listing.site.is_visitor:
        controls += select_button("many")
    head = frame.list_head(_heading(listing), _summary(listing), controls)
    notice = frame.changed_notice(listing.view.values)
    note = _LONG_FILTER_NOTE if listing.has_long_filter else ""
    nothing = ""
    if not listing.selection.entries:
        nothing = _empty_html(listing)
    return f"""\
<a class="skip" href="#tags-of-list">Skip to the tags</a>
{head}{notice}{note}<div class="nothing">{nothing}</div>
"""


def _summary(listing: Listing) -> str:
    """Return the number of bookmarks as HTML, on later pages with those that are shown."""
    total = listing.selection.total
    if not total:
        return ""
    if listing.query.offset:
        return _place(listing)
    if not listing.filter:
        return frame.number_beside_heading(total, "bookmark")
    return frame.number_of_bookmarks(total)


def _place(listing: Listing) -> str:
    """Return which bookmarks are shown, such as `1–100 of 321`."""
    total = listing.selection.total
    number_on_page = len(listing.selection.entries)
    if number_on_page == 0 or number_on_page == total:
        return frame.number_of_bookmarks(total)
    first = listing.query.offset + 1
    last = listing.query.offset + number_on_page
    return f"{first:,}–{last:,} of {total:,}"


def _heading(listing: Listing) -> str:
    """Return what the list shows as HTML."""
    if listing.has_long_filter or not listing.filter:
        return e(cut(_title(listing), frame.MAX_HEADING_CHARACTERS))
    are_linked = listing.can_repeat_filter(number_of_links=len(listing.filter))
    content = ""
    for name, value in listing.filter:
        shown = e(cut(value, frame.MAX_HEADING_CHARACTERS))
        if name == "tag":
            content += _chip((name, value), f"<bdi>#{shown}</bdi>", listing, are_linked)
        else:
            before = "with " if content else ""
            html = f'<q dir="auto">{shown}</q>'
            if _HOST_SEARCH.fullmatch(value):
                html = f"<bdi>{shown}</bdi>"
            chip = _chip((name, value), html, listing, are_linked)
            content += f"<span>{before}{chip}</span>"
    return content


def _chip(part: tuple[str, str], html: str, listing: Listing, is_linked: bool) -> str:
    if not is_linked:
        return f'<span class="chip">{html}</span>\n'
    others = [parameter for parameter in listing.filter if parameter != part]
    address = e(with_query(f"{listing.site.path}/", others + listing.order))
    return (
        f'<a class="chip" href="{address}" title="Remove from the filter">'
        f'{html}&nbsp;<span aria-hidden="true">×</span></a>\n'
    )


_ORDERS = {
    NEWEST_FIRST: "Newest first",
    "created": "Oldest first",
    "-modified": "Last changed first",
    "title": "By title",
}


def _sort_menu(listing: Listing) -> str:
    if listing.has_long_filter:
        return ""
    current = listing.query.sort
    links = ""
    for order, label in _ORDERS.items():
        parameters = listing.filter
        if order != NEWEST_FIRST:
            parameters = [*parameters, ("sort", order)]
        address = with_query(f"{listing.site.path}/", parameters)
        links += frame.link(label, address, is_current=order == current)
    summary = _ORDERS.get(current, "Sorted").removesuffix(" first")
    return frame.sort_menu(summary, links)


def _empty_html(listing: Listing) -> str:
    if listing.selection.total:
        return _no_such_page(listing)
    if _is_collection_empty(listing):
        if listing.site.is_visitor:
            return ""
        return introduction(listing.site)
    link = frame.link_button("See all bookmarks", f"{listing.site.path}/")
    return (
        f"<p>No bookmark matches.</p>\n<p>{link}</p>\n"
        f"<p>The search understands:</p>\n{frame.SEARCH_EXAMPLES}"
    )


def _no_such_page(listing: Listing) -> str:
    text = "<p>No bookmark is left on this page.</p>\n"
    if listing.has_long_filter:
        return text
    first = with_query(f"{listing.site.path}/", listing.filter)
    link = frame.link_button("See the first page", first)
    return f"{text}<p>{link}</p>\n"


# --- The items ---


def _tag_link_start(listing: Listing, repeats_filter: bool) -> str:
    """Return the start of the address of a tag as HTML, such as `/?q=html&tag=`."""
    parameters: Parameters = []
    if repeats_filter:
        parameters = listing.linked_filter + listing.order
    # HTML allows the only special character of the query, `&`, without escaping.
    query = urlencode([*parameters, ("tag", "")])
    return f"{e(listing.site.path)}/?{query}"


# Percent-encoded text needs no HTML escaping.
_quote = functools.lru_cache(maxsize=4096)(quote_plus)


class _ItemWriter:
    def __init__(self, listing: Listing) -> None:
        self._path = e(listing.site.path)
        self._is_visitor = listing.site.is_visitor
        self._escape_and_mark = marker(words_to_mark(listing.query.search))
        repetitions = _count_repetitions(listing.selection.entries)
        repeats_filter = listing.can_repeat_filter(repetitions)
        self._tag_link_start = _tag_link_start(listing, repeats_filter)
        list_query = ""
        if repeats_filter:
            list_query = listing.list_query
        self._edit_query = urlencode({"_list": list_query}, safe="=")

    def write(self, entry: Entry) -> str:
        bookmark = entry.bookmark
        unread = " class=unread" if self._is_unread(entry) else ""
        select = "" if self._is_visitor else checkbox(bookmark.id)
        title = title_link(bookmark, self._escape_and_mark)
        edit_address = f"{self._path}/{bookmark.id}?{self._edit_query}"
        description = _description(bookmark.description, edit_address, self._escape_and_mark)
        meta = self._meta(entry, edit_address)
        return (
            f"<li id=b-{bookmark.id} dir=auto{unread}>{select}<h2>{title}</h2>"
            f"{description}<p class=meta>{meta}</p></li>\n"
        )

    def _is_unread(self, entry: Entry) -> bool:
        # What the owner has read means nothing to visitors: they see a tag like others.
        return UNREAD in entry.tags and not self._is_visitor

    def _meta(self, entry: Entry, edit_address: str) -> str:
        # The actions are first, so that Tab goes to them from the title.
        actions = "" if self._is_visitor else _actions(entry, self._path, edit_address)
        host = self._host_link(entry.bookmark)
        date = date_html(entry.bookmark.created)
        shown_tags: Sequence[str] = entry.bookmark.tags
        if self._is_unread(entry):  # CSS shows a dot in place of this tag.
            shown_tags = [tag for tag in shown_tags if fold_tag(tag) != UNREAD]
        tags = self._tag_links(shown_tags)
        # Because of the tabindex, a click behind the tags focuses them, and then CSS shows all.
        return f'{actions}{host} {date} <span class=tags tabindex=-1>{tags}</span>'

    def _host_link(self, bookmark: Bookmark) -> str:
        if not may_be_linked(bookmark.uri):
            return uri_html(bookmark)
        host = host_of(bookmark.uri)
        if not host:
            return ""
        address = f"{self._path}/?q=site%3A{_quote(host)}"
        return f'<a href="{address}">{self._escape_and_mark(host)}</a>'

    def _tag_links(self, tags: Sequence[str]) -> str:
        found = ""
        others = ""
        for tag in tags:
            address = f"{self._tag_link_start}{_quote(tag)}"
            shown = self._escape_and_mark(tag)
            link = f'<a href="{address}">{shown}</a> '
            if "<mark>" in shown:
                found += link
            else:
                others += link
        return found + others  # CSS shows only the tags that fit in the line.


def _count_repetitions(entries: Sequence[Entry]) -> int:
    """Return how many copies of the filter the links in all items would have."""
    repetitions = 0
    for entry in entries:
        repetitions += len(entry.bookmark.tags)
        # The edit link encodes the filter twice, so it is about as long as two copies.
        repetitions += 2
    return repetitions


def _actions(entry: Entry, path: str, edit_address: str) -> str:
    id = entry.bookmark.id
    read_button = ""
    if UNREAD in entry.tags:
        read_button = f'<button form=many formaction="{path}/-/read/{id}">Mark as read</button> '
    # On small screens, CSS hides all but the first button.
    return (
        f"<button class=more popovertarget=m-{id}>Actions</button>"
        f"<span class=actions popover id=m-{id}>{read_button}"
        f'<a href="{edit_address}">Edit</a> '
        f'<button form=many formaction="{path}/-/delete/{id}">Delete</button></span>'
    )


def _description(description: str, edit_address: str, escape_and_mark: Escape) -> str:
    if not description:
        return ""

    def shorten(match: re.Match[str]) -> str:
        return _short_address(match[0], escape_and_mark)

    shown = cut(description, _MAX_DESCRIPTION_CHARACTERS)
    summary = _ADDRESS.sub(shorten, shown)
    is_cut = shown != description
    if not is_cut and not _must_collapse(summary):
        return _text_with_links(description, escape_and_mark)
    # Screen readers may present <summary> as one button, so the links are below it.
    links = ""
    for address in _ADDRESS.findall(shown):
        if not address.endswith("…"):  # `cut` may have shortened the last address.
            links += f'<p><a href="{e(address)}">{e(address)}</a></p>'
    if is_cut:
        links += f'<p><a href="{edit_address}">Show the whole description</a></p>'
    return f"<details><summary>{escape_and_mark(summary)}</summary>{links}</details>"


def _must_collapse(text: str) -> bool:
    if len(text) > _MAX_UNCOLLAPSED_CHARACTERS:
        return True
    return text.count("\n") >= _MAX_UNCOLLAPSED_LINES


def _text_with_links(text: str, escape_and_mark: Escape) -> str:
    html = ""
    end = 0
    for match in _ADDRESS.finditer(text):
        html += escape_and_mark(text[end : match.start()])
        address = e(match[0])
        shown = escape_and_mark(_short_address(match[0], escape_and_mark))
        html += f'<a href="{address}" title="{address}">{shown}</a>'
        end = match.end()
    return f"<p>{html}{escape_and_mark(text[end:])}</p>"


def _short_address(address: str, escape_and_mark: Escape) -> str:
    """Return `example.org/page` for `https://www.example.org/page/`.

    An address in which the search has found a word stays whole, unless it is very long.
    """
    if len(address) <= _MAX_WHOLE_ADDRESS_CHARACTERS:
        is_found = escape_and_mark(address) != e(address)
        if is_found:
            return address
    _, _, rest = address.removesuffix("/").partition("://")
    host = _END_OF_HOST.split(rest, maxsplit=1)[0]
    path = rest.removeprefix(host)
    # The host is not cut, because it says where the link leads.
    short = host.removeprefix("www.") + cut(path, _MAX_PATH_CHARACTERS)
    return short or address  # Nothing is left of `https://www./`.


# --- Below and beside the items ---


def _page_links(listing: Listing) -> str:
    query = listing.query
    if query.limit is None or listing.has_long_filter:
        return ""
    address = listing.address_before_offset
    total = listing.selection.total
    summary = f"<p>{_place(listing)}</p>\n"
    return frame.page_links(address, query.offset, query.limit, total, summary)


def _aside(listing: Listing) -> str:
    tags = _tags(listing)
    tools = e(with_query(f"{listing.site.path}/-/tools", listing.linked_filter))
    return (
        f'<aside aria-label="Tags">\n{tags}'
        f'<div><p id="more"><a href="{tools}">Download or subscribe</a></p>'
        "</div>\n</aside>\n"
    )


def _tags(listing: Listing) -> str:
    items = _most_used_tags(listing)
    content = ""
    if not items:
        content = "<p>No more tags.</p>\n"
    items += _all_tags_item(listing)
    if items:
        content += f'<ul class="cloud">\n{items}</ul>\n'
    return f'<section id="tags-of-list" tabindex="-1">\n<h2>Tags</h2>\n{content}</section>\n'


def _most_used_tags(listing: Listing) -> str:
    """Return links to the most used tags. Each link adds its tag to the filter."""
    selected_tags = {fold_tag(value) for name, value in listing.filter if name == "tag"}
    counts = listing.selection.tag_counts(_MAX_TAGS)
    repeats_filter = listing.can_repeat_filter(number_of_links=len(counts))
    link_start = _tag_link_start(listing, repeats_filter)
    items = ""
    for tag, count in counts:
        if fold_tag(tag) in selected_tags:
            continue
        is_unread = fold_tag(tag) == UNREAD and not listing.site.is_visitor
        items += _tag_item(tag, count, f"{link_start}{_quote(tag)}", is_unread)
    return items


def _all_tags_item(listing: Listing) -> str:
    number = listing.selection.number_of_tags
    if number < 2:
        return ""
    return f'<li class="all"><a href="{e(listing.site.path)}/tags">All {number:,} tags</a></li>\n'


def _tag_item(tag: str, count: int, address: str, is_unread: bool) -> str:
    unread = ' class="unread"' if is_unread else ""
    # <bdi> keeps the number to the right of Hebrew and Arabic tags.
    return (
        f'<li{unread}><a href="{address}"><bdi>{e(tag)}</bdi> '
        f"<span>{count:,}</span></a></li>\n"
    )
