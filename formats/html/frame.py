"""The parts that every page has, and the function that escapes every text."""

from collections.abc import Mapping, Sequence
from html import escape

from formats.html.assets import served_name
from formats.listing import RESULTS, Listing, Parameters, Site, list_address, with_query
from storage.bookmark import replace_invalid_xml_chars
from storage.query import UP_TO_18_DIGITS

END = "</body>\n</html>\n"
MAX_HEADING = 120  # Characters.
_MAX_WORDS_OF_LONG_FILTER = 500  # Characters.
Note = tuple[str, str]  # Below a field: the note's CSS class, such as `error`, and its HTML.
HiddenFields = Sequence[tuple[str, str | None]]  # Fields with the value None are left out.


def e(text: str) -> str:
    """Return the text escaped, as every text of a page must be."""
    if not text.isprintable():  # Printable characters are valid in XML.
        text = replace_invalid_xml_chars(text)
    return escape(text)


def begin(title: str, site: Site, listing: Listing | None = None, current: str = "") -> str:
    """Return a page up to its main part. On the page of a list, the links keep its filter.

    `current` is the link of the header to mark as the current page: "tags" or "tools".
    """
    head = _head(title, site)
    feed = e(feed_address(site, listing.linked_filter if listing else []))
    brand = _brand(site)
    search = _search(site, listing)
    unread_link = _unread_link(site, listing)
    tags_link = link("Tags", f"{site.path}/tags", is_current=current == "tags")
    tools_link = link("Tools", f"{site.path}/-/tools", is_current=current == "tools")
    login_link = _login_link(site)
    add_link = _add_link(site, listing)
    # On narrow screens, CSS shows the button "Pages" in place of the links.
    return f"""\
{head}<link rel="alternate" type="application/atom+xml" title="Feed" href="{feed}">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
{brand}{search}<button class="more" popovertarget="pages">Pages</button>
<nav id="pages" popover aria-label="Pages of the service">\
{unread_link}{tags_link}{tools_link}{login_link}</nav>
{add_link}</header>
"""


def _login_link(site: Site) -> str:
    if not site.has_login:
        return ""
    label = "Log in" if site.is_visitor else "Log out"
    return f'<a href="{e(site.path)}/-/login">{label}</a>\n'


def _add_link(site: Site, listing: Listing | None) -> str:
    if site.is_visitor:
        return ""
    address = f"{site.path}/-/add"
    if listing:  # The form then leads back to the list.
        address = with_query(address, [("_list", listing.list_query)])
    return f'<a class="button" id="add" href="{e(address)}">Add</a>\n'


def begin_login(title: str, site: Site) -> str:
    """Return a page up to its main part, without links to pages that need a login."""
    brand = _brand(site)
    return f'{_head(title, site)}</head>\n<body>\n<header class="top">\n{brand}</header>\n'


def list_head(title: str, summary: str, controls: str = "") -> str:
    """Return the heading of a page that is like a list."""
    return (
        f'<div class="head">\n<h1>{title}</h1>\n'
        f'<p class="total" role="status">{summary}</p>\n{controls}</div>\n'
    )


def write_page(title: str, main: str, site: Site, heading: str = "", current: str = "") -> str:
    """Return a page of one column, with the title or the HTML `heading` as heading."""
    return begin(title, site, current=current) + single_column(heading or e(title), main)


def single_column(heading: str, main: str) -> str:
    """Return the rest of a page of one column, after `begin` or `begin_login`."""
    return (
        '<main id="main" class="single">\n'
        f'<h1 dir="auto">{heading}</h1>\n{main}</main>\n{END}'
    )


def _head(title: str, site: Site) -> str:
    path = e(site.path)
    shown_title = e(cut(title, MAX_HEADING))
    icon = served_name("icon.svg")
    touch_icon = served_name("touch.png")
    manifest = served_name("app.webmanifest")
    style = served_name("style.css")
    script = served_name("script.js")
    # Without `blocking`, text would move when the script shortens dates.
    return f"""\
<!DOCTYPE html>
<html lang="en" data-path="{path}">
<head>
<meta charset="utf-8">
<meta name="viewport" \
content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>{shown_title}</title>
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
    if not count:
        return ""
    filter = [("tag", "unread")]
    is_current = listing is not None and listing.filter == filter
    address = with_query(f"{site.path}/", filter)
    return link(f"Unread <span>{count:,}</span>", address, is_current)


def _search(site: Site, listing: Listing | None) -> str:
    parameters = _search_parameters(listing)
    hidden = _hidden_inputs([parameter for parameter in parameters if parameter[0] != "q"])
    words = e(dict(parameters).get("q", ""))
    return f"""\
<form class="search" role="search" action="{e(site.path)}/">{hidden}\
<label class="unseen" for="q">Search</label>\
<div class="combo"><input type="search" id="q" name="q" value="{words}" \
dir="auto" placeholder="Search" autocomplete="off" data-completes="search"></div>
<button class="find" aria-label="Search">{_LENS}</button>
{_HELP}</form>
"""


def _search_parameters(listing: Listing | None) -> Parameters:
    """Return the parameters of the list that the search form repeats."""
    if listing is None:
        return []
    words = dict(listing.filter).get("q", "")
    # In the search field, the user can shorten a filter that is too long for links.
    if listing.has_long_filter and len(words) <= _MAX_WORDS_OF_LONG_FILTER:
        return [("q", words), *listing.order]
    return listing.linked_filter + listing.order


SEARCH_EXAMPLES = """\
<dl class="examples">
<dt><code>zurich travel</code></dt><dd>both words, accents do not matter</dd>
<dt><code>&quot;as we may&quot;</code></dt><dd>exactly these words</dd>
<dt><code>#python -#web</code></dt><dd>the one tag, but not the other</dd>
<dt><code>cats or (dogs -food)</code></dt><dd>one or the other</dd>
<dt><code>!unread !untagged</code></dt><dd>to read later, without tags</dd>
<dt><code>site:example.org</code></dt><dd>of this site</dd>
<dt><code>after:2024-03 before:2025</code></dt><dd>added in this time</dd>
</dl>
"""
_LENS = """\
<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" \
stroke="currentColor" stroke-width="1.75" stroke-linecap="round">\
<circle cx="8.5" cy="8.5" r="5.5"/><path d="m13 13 4 4"/></svg>"""
_HELP = f"""\
<details class="menu help"><summary aria-label="How to search">?</summary>
<div>{SEARCH_EXAMPLES}</div></details>"""


def feed_address(site: Site, filter: Parameters) -> str:
    """Return the address of the feed of a list."""
    return with_query(f"{site.path}/feed", filter)


def list_link(site: Site, list_query: str | None = None) -> str:
    """Return a link back to the list."""
    button = link_button("Back to the list", list_address(site.path, list_query))
    return f"<p>{button}</p>\n"


def link(label: str, address: str, is_current: bool) -> str:
    """Return a link, which is marked if it leads to the present page."""
    attribute = ' aria-current="page"' if is_current else ""
    return f'<a href="{e(address)}"{attribute}>{label}</a>\n'


def link_button(label: str, address: str) -> str:
    """Return a link that looks like a button."""
    return f'<a class="button" href="{e(address)}">{label}</a>'


def submit_button(label: str, beside: str = "") -> str:
    """Return the button that sends a form, with HTML beside it."""
    return f'<p class="buttons"><button class="primary">{label}</button> {beside}</p>\n'


def field_note(id: str, note: Note) -> tuple[str, str]:
    """Return attributes for the field `id`, and the HTML of its note."""
    kind, text = note
    if not text:
        return "", ""
    attributes = f' aria-describedby="{id}-{kind}"'
    if kind == "error":
        attributes += ' aria-invalid="true"'
    return attributes, f'<div class="{kind}" id="{id}-{kind}">{text}</div>\n'


def post_form(action: str, hidden: HiddenFields, content: str, attributes: str = "") -> str:
    """Return a form that is sent to the address `action`."""
    hidden_inputs = _hidden_inputs(hidden)
    # URL-encoding may make a long bookmark too large.
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


def changed_notice(values: Mapping[str, str]) -> str:
    """Return the notice "3 bookmarks changed." for the query `changed=3`."""
    texts = []
    for name, what in RESULTS.items():
        digits = values.get(name, "")
        if UP_TO_18_DIGITS.fullmatch(digits):
            number = number_of_bookmarks(int(digits))
            texts.append(f"{number} {what}.")
    if not texts:
        return ""
    notice = " ".join(texts)
    # Screen readers do not read out a status that script.js adds later, but an alert.
    return f'<p class="saved" role="alert">{notice}</p>\n'


_PAGE_LABELS = {"first": "First", "prev": "Previous", "next": "Next", "last": "Last"}


def page_links(links: Mapping[str, str], summary: str = "") -> str:
    """Return links to other pages of a list, given by link relation, beside the summary."""
    html = ""
    if links:
        html = summary
    for relation, address in links.items():
        if relation == "first" and "prev" not in links:
            continue
        if relation == "last" and "next" not in links:
            continue
        attributes = ""
        if relation in ("prev", "next"):  # HTML does not define the relations first and last.
            attributes = f" rel={relation}"
        label = _PAGE_LABELS[relation]
        html += f'<a class="button" href="{e(address)}"{attributes}>{label}</a>\n'
    return f'<nav class="pages" aria-label="Pages">{html}</nav>\n'


def number_of_bookmarks(number: int) -> str:
    """Return a number of bookmarks in words, such as `1 bookmark`."""
    return number_of(number, "bookmark")


def number_of(number: int, noun: str) -> str:
    """Return a number of things in words, such as `3 tags`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s"


def cut(text: str, limit: int) -> str:
    """Return at most the first `limit` characters of a text, with `…` if it was cut."""
    if len(text) <= limit:
        return text
    return text[:limit].rstrip() + "…"
