"""The frame of every page, and parts that pages share."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from formats.html.assets import served_name
from formats.listing import (
    RESULTS,
    Listing,
    Parameters,
    Site,
    links_to_pages,
    list_address,
    parse_number,
    with_query,
)
from storage.bookmark import replace_invalid_xml_chars

END = "</body>\n</html>\n"
MAX_HEADING_CHARACTERS = 120
_MAX_EDITED_CHARACTERS = 500
HiddenFields = Sequence[tuple[str, str | None]]  # None leaves out the field.


class Note(NamedTuple):
    """A note below a field."""

    css_class: str  # "error", "hint" or "theirs".
    html: str


def e(text: str) -> str:
    """Escape a text for HTML."""
    if not text.isprintable():  # Printable characters are valid in XML.
        text = replace_invalid_xml_chars(text)
    return escape(text)


def begin(title: str, site: Site, listing: Listing | None = None, current: str = "") -> str:
    """Return a page up to its main part. Links keep the filter of `listing`.

    `current` is the page whose link is highlighted: "tags", "tools", "add" or "".
    """
    head = _head(title, site)
    filter = listing.linked_filter if listing else []
    feed = e(feed_address(site, filter))
    brand = _brand(site)
    search = _search(site, listing)
    navigation = _navigation(site, listing, current)
    add_link = _add_link(site, listing, is_current=current == "add")
    # On narrow screens, CSS hides the links behind the button "Pages".
    return f"""\
{head}<link rel="alternate" type="application/atom+xml" title="Feed" href="{feed}">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
{brand}{search}<button class="more" popovertarget="pages">Pages</button>
<nav id="pages" popover aria-label="Pages of the service">{navigation}</nav>
{add_link}</header>
"""


def _navigation(site: Site, listing: Listing | None, current: str) -> str:
    links = _unread_link(site, listing)
    links += link("Tags", f"{site.path}/tags", is_current=current == "tags")
    links += link("Tools", f"{site.path}/-/tools", is_current=current == "tools")
    return links + _login_link(site)


def _login_link(site: Site) -> str:
    if not site.has_login:
        return ""
    label = "Log in" if site.is_visitor else "Log out"
    return f'<a href="{e(site.path)}/-/login">{label}</a>\n'


def _add_link(site: Site, listing: Listing | None, is_current: bool) -> str:
    if site.is_visitor:
        return ""
    address = f"{site.path}/-/add"
    if listing:
        address = with_query(address, [("_list", listing.list_query)])
    attribute = _current_attribute(is_current)
    return f'<a class="button" id="add" href="{e(address)}"{attribute}>Add</a>\n'


def begin_login(title: str, site: Site) -> str:
    """Return a page up to its main part, without links to other pages."""
    brand = _brand(site)
    return f'{_head(title, site)}</head>\n<body>\n<header class="top">\n{brand}</header>\n'


def list_head(heading: str, summary: str, controls: str = "") -> str:
    """Return the head of a list. All arguments are HTML."""
    return (
        f'<div class="head">\n<h1>{heading}</h1>\n'
        f'<div><p class="total" role="status">{summary}</p>\n{controls}</div>\n</div>\n'
    )


def write_page(title: str, main: str, site: Site, heading: str = "", current: str = "") -> str:
    """Return a page of one column. `heading` is HTML, by default the title."""
    return begin(title, site, current=current) + single_column(heading or e(title), main)


def single_column(heading: str, main: str) -> str:
    """Return the rest of a page, after `begin` or `begin_login`."""
    return (
        '<main id="main" class="single">\n'
        f'<h1 dir="auto">{heading}</h1>\n{main}</main>\n{END}'
    )


def _head(title: str, site: Site) -> str:
    path = e(site.path)
    shown_title = e(cut(title, MAX_HEADING_CHARACTERS))
    icon = served_name("icon.svg")
    touch_icon = served_name("touch.png")
    manifest = served_name("app.webmanifest")
    style = served_name("style.css")
    script = served_name("script.js")
    # `blocking` keeps text from moving when the script shortens dates.
    return f"""\
<!DOCTYPE html>
<html lang="en" data-path="{path}">
<head>
<meta charset="utf-8">
<meta name="viewport" \
content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>{shown_title} – Bookmarks</title>
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#faf9f6">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#141618">
<link rel="icon" type="image/svg+xml" href="{path}/{icon}">
<link rel="apple-touch-icon" href="{path}/{touch_icon}">
<link rel="manifest" href="{path}/{manifest}">
<link rel="stylesheet" href="{path}/{style}">
<script src="{path}/{script}" defer blocking="render"></script>
"""


def _brand(site: Site) -> str:
    path = e(site.path)
    icon = served_name("icon.svg")
    return (
        f'<a class="brand" href="{path}/">'
        f'<img src="{path}/{icon}" alt="" width="28" height="28">Bookmarks</a>\n'
    )


def _unread_link(site: Site, listing: Listing | None) -> str:
    count = site.count_unread()
    if count == 0:
        return ""
    label = f"Unread <span>{count:,}</span>"
    filter = [("tag", "unread")]
    is_current = listing is not None and listing.filter == filter
    address = with_query(f"{site.path}/", filter)
    return link(label, address, is_current)


def _search(site: Site, listing: Listing | None) -> str:
    words = ""
    hidden: Parameters = []
    for name, value in _search_parameters(listing):
        if name == "q":
            words = e(value)
        else:
            hidden.append((name, value))
    hidden_inputs = _hidden_inputs(hidden)
    return f"""\
<form class="search" role="search" action="{e(site.path)}/">{hidden_inputs}\
<label class="unseen" for="q">Search</label>\
<div class="combo"><input type="search" id="q" name="q" value="{words}" \
dir="auto" placeholder="Search or #tag" autocomplete="off" data-completes="search"></div>
<button class="find" aria-label="Search">{LENS}</button>
{_HELP}</form>
"""


def _search_parameters(listing: Listing | None) -> Parameters:
    if listing is None:
        return []
    filter = listing.filter
    if listing.has_long_filter:
        filter = _short_words(filter)
    return filter + listing.order


def _short_words(filter: Parameters) -> Parameters:
    """Return the words of the filter that are short enough to be edited."""
    words = []
    for name, value in filter:
        if name == "q" and len(value) <= _MAX_EDITED_CHARACTERS:
            words.append((name, value))
    return words


SEARCH_EXAMPLES = """\
<dl class="examples">
<dt><code>zurich travel</code></dt><dd>both words, accents do not matter</dd>
<dt><code>&quot;as we may&quot;</code></dt><dd>exactly these words</dd>
<dt><code>#python -#web</code></dt><dd>the one tag, but not the other</dd>
<dt><code>cats or (dogs -food)</code></dt><dd>cats, or dogs without food</dd>
<dt><code>!unread !untagged</code></dt><dd>unread, without tags</dd>
<dt><code>site:example.org</code></dt><dd>saved from this site</dd>
<dt><code>after:2024-03 before:2025</code></dt><dd>saved between these dates</dd>
</dl>
"""
LENS = """\
<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" \
stroke="currentColor" stroke-width="1.75" stroke-linecap="round">\
<circle cx="8.5" cy="8.5" r="5.5"/><path d="m13 13 4 4"/></svg>"""
_HELP = f"""\
<details class="menu help" name="menu"><summary aria-label="How to search">?</summary>
<div>{SEARCH_EXAMPLES}</div></details>"""


def feed_address(site: Site, filter: Parameters) -> str:
    return with_query(f"{site.path}/feed", filter)


def list_link(site: Site, list_query: str | None = None) -> str:
    button = link_button("Back to the list", list_address(site.path, list_query))
    return f"<p>{button}</p>\n"


def link(label: str, address: str, is_current: bool) -> str:
    return f'<a href="{e(address)}"{_current_attribute(is_current)}>{label}</a>\n'


def _current_attribute(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def sort_menu(summary: str, links: str) -> str:
    return (
        f'<details class="menu sort" name="menu"><summary>{summary}</summary>\n'
        f"<div>{links}</div></details>\n"
    )


def link_button(label: str, address: str) -> str:
    return f'<a class="button" href="{e(address)}">{label}</a>'


def submit_button(label: str, beside: str = "") -> str:
    return f'<p class="buttons"><button class="primary">{label}</button> {beside}</p>\n'


def field_note(id: str, note: Note) -> tuple[str, str]:
    if not note.html:
        return "", ""
    note_id = f"{id}-{note.css_class}"
    attributes = f' aria-describedby="{note_id}"'
    if note.css_class == "error":
        attributes += ' aria-invalid="true"'
    return attributes, f'<div class="{note.css_class}" id="{note_id}">{note.html}</div>\n'


def post_form(action: str, hidden: HiddenFields, content: str, attributes: str = "") -> str:
    hidden_inputs = _hidden_inputs(hidden)
    # URL-encoding could triple the size of the text.
    return (
        f'<form method="post" action="{e(action)}" enctype="multipart/form-data" '
        f"{attributes}>{hidden_inputs}\n{content}</form>\n"
    )


def _hidden_inputs(fields: HiddenFields) -> str:
    inputs = ""
    for name, value in fields:
        if value is not None:
            inputs += f'<input type="hidden" name="{e(name)}" value="{e(value)}">'
    return inputs


def flatten(fields: Mapping[str, Any]) -> Parameters:
    """Return pairs of a name and a text. A list becomes several pairs with one name."""
    parameters: Parameters = []
    for name, value in fields.items():
        if isinstance(value, list):
            parameters += [(name, text) for text in value]
        else:
            parameters.append((name, value))
    return parameters


def changed_notice(values: Mapping[str, str]) -> str:
    """Return a notice such as "3 bookmarks changed." for the query `changed=3`."""
    texts = []
    for name, what in RESULTS.items():
        number = parse_number(values.get(name))
        if number is not None:
            texts.append(f"{number_of_bookmarks(number)} {what}.")
    if not texts:
        return ""
    notice = " ".join(texts)
    # Screen readers miss a status that a script inserts, but not an alert.
    return f'<p class="saved" role="alert">{notice}</p>\n'


def page_links(
    address_before_offset: str, offset: int, limit: int, total: int, summary: str = ""
) -> str:
    """Return the summary and links to other pages, of `limit` items each.

    If there are no other pages, the element is empty.
    """
    links = links_to_pages(address_before_offset, offset, limit, total)
    html = ""
    if links:
        html = summary
        html += _step("Previous", "prev", links)
        html += _numbers_html(address_before_offset, offset, limit, total)
        html += _step("Next", "next", links)
    return f'<nav class="pages" aria-label="Pages">{html}</nav>\n'


def _step(label: str, relation: str, links: Mapping[str, str]) -> str:
    if relation not in links:
        return ""
    return f'<a class="button" href="{e(links[relation])}" rel={relation}>{label}</a>\n'


def _numbers_html(address_before_offset: str, offset: int, limit: int, total: int) -> str:
    html = ""
    for number in page_numbers(offset // limit + 1, last=math.ceil(total / limit)):
        if number is None:
            html += "<span>…</span>\n"
            continue
        page_offset = (number - 1) * limit
        if page_offset == offset:
            html += f'<strong aria-current="page">{number:,}</strong>\n'
        else:
            address = e(f"{address_before_offset}{page_offset}")
            html += f'<a class="button" href="{address}">{number:,}</a>\n'
    return html


def page_numbers(current: int, last: int) -> Sequence[int | None]:
    """Return the numbers of at most 7 pages, such as 1, None, 4, 5, 6, None, 31.

    None stands for pages that are left out.
    """
    if last <= 7:
        return range(1, last + 1)
    if current <= 4:
        return [1, 2, 3, 4, 5, None, last]
    if current >= last - 3:
        return [1, None, *range(last - 4, last + 1)]
    return [1, None, current - 1, current, current + 1, None, last]


def number_of_bookmarks(number: int) -> str:
    return number_of(number, "bookmark")


def number_of(number: int, noun: str) -> str:
    """Return a text such as `3 tags`."""
    return f"{number:,} {_inflected(noun, number)}"


def number_beside_heading(number: int, noun: str) -> str:
    """Return the number as HTML, with the noun for screen readers alone: the heading shows it."""
    return f'{number:,}<span class="unseen"> {_inflected(noun, number)}</span>'


def _inflected(noun: str, number: int) -> str:
    if number == 1:
        return noun
    return f"{noun}s"


def cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[:limit].rstrip() + "…"
