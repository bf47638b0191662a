"""The parts that every page has, and the function that escapes every text."""

from collections.abc import Mapping, Sequence
from html import escape

from formats.html.assets import served_name
from formats.listing import RESULTS, Listing, Parameters, Site, list_address, with_query
from storage.bookmark import replace_invalid_xml_chars
from storage.query import UP_TO_18_DIGITS

END = "</body>\n</html>\n"
MAX_HEADING = 120  # In characters. A longer title of a page or heading of a list is cut.
Note = tuple[str, str]  # Below a field: its CSS class, such as `error`, and its text as HTML.
HiddenFields = Sequence[tuple[str, str | None]]  # A form lacks those whose value is None.


def e(text: str) -> str:
    """Return the text escaped for a page. No text may get into a page in any other way."""
    # `isprintable` is a fast test: no printable character is invalid in XML.
    return escape(text if text.isprintable() else replace_invalid_xml_chars(text))


def begin(title: str, site: Site, listing: Listing | None = None) -> str:
    """Return a page up to its main part.

    The page of a list has a link to its own feed, its search box keeps its tags and its order, and
    the form behind the link "Add" leads back to it.
    """
    filter, order = (listing.filter, listing.order) if listing else ([], [])
    add_parameters = [("_list", listing.list_query)] if listing else []
    add_address = with_query(f"{site.path}/-/add", add_parameters)
    login_link = f'<a href="{e(site.path)}/-/login">Log in</a>\n' if site.has_login else ""
    return (
        f'{_head(title, site)}<link rel="alternate" type="application/atom+xml" '
        f'title="Feed of bookmarks" href="{e(feed_address(site, filter))}">\n</head>\n'
        f'<body>\n<a class="skip" href="#main">Skip to the content</a>\n'
        f'<header class="top">\n{_brand(site)}{_search(site, filter + order)}'
        f'<nav aria-label="Pages of the service">{_unread_link(site)}'
        f'<a href="{e(site.path)}/tags">Tags</a>\n<a href="{e(site.path)}/-/tools">Tools</a>\n'
        f'{login_link}<a class="button primary" id="add" href="{e(add_address)}">Add</a>\n'
        "</nav>\n</header>\n"
    )


def write_page(title: str, main: str, site: Site, heading: str = "") -> str:
    """Return a page of one column. The heading, as HTML, is the title unless it is given."""
    return f"{begin(title, site)}{single_column(heading or e(title), main)}"


def single_column(heading: str, main: str) -> str:
    """Return the rest of a page of one column, after `begin` or `begin_login`."""
    return (
        f'<main id="main" class="single">\n<h1 dir="auto">{heading}</h1>\n{main}</main>\n{END}'
    )


def _unread_link(site: Site) -> str:
    """Return a link to the bookmarks to read later, with their number, if there are any."""
    if not (count := site.count_unread()):
        return ""
    address = e(with_query(f"{site.path}/", [("tag", "unread")]))
    return f'<a href="{address}">Unread <span>{count:,}</span></a>\n'


def begin_login(title: str, site: Site) -> str:
    """Return a page up to its main part, without the links that a user can follow after a login."""
    return f'{_head(title, site)}</head>\n<body>\n<header class="top">\n{_brand(site)}</header>\n'


def _brand(site: Site) -> str:
    path = e(site.path)
    icon = f'<img src="{path}/{served_name("icon.svg")}" alt="" width="28" height="28">'
    return f'<a class="brand" href="{path}/">{icon}Bookmarks</a>\n'


def _head(title: str, site: Site) -> str:
    """Return the head of a page. The script reads the path of the service from `data-path`."""
    path = e(site.path)
    return f"""\
<!DOCTYPE html>
<html lang="en" data-path="{path}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{e(cut(title, MAX_HEADING))}</title>
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f7f6f3">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#15181a">
<link rel="icon" type="image/svg+xml" href="{path}/{served_name("icon.svg")}">
<link rel="apple-touch-icon" href="{path}/{served_name("touch.png")}">
<link rel="manifest" href="{path}/{served_name("app.webmanifest")}">
<link rel="stylesheet" href="{path}/{served_name("style.css")}">
<script src="{path}/{served_name("script.js")}" defer></script>
"""


def _search(site: Site, kept: Parameters) -> str:
    hidden = _hidden_inputs([(name, value) for name, value in kept if name != "q"])
    words = dict(kept).get("q", "")
    return (
        f'<form class="search" role="search" action="{e(site.path)}/">{hidden}'
        '<label class="unseen" for="q">Search</label>'
        f'<input type="search" id="q" name="q" value="{e(words)}" dir="auto" '
        'placeholder="Search: words, #tag, -not" autocomplete="off" data-completes="search">'
        f"<button>Search</button>\n{_HELP}</form>\n"
    )


# The elements of a search expression, each with an example.
SEARCH_EXAMPLES = (
    '<dl class="examples">\n'
    "<dt><code>zurich travel</code></dt><dd>both words, accents do not matter</dd>\n"
    "<dt><code>&quot;as we may&quot;</code></dt><dd>exactly these words</dd>\n"
    "<dt><code>#python -#web</code></dt><dd>the one tag, but not the other</dd>\n"
    "<dt><code>cats or (dogs -food)</code></dt><dd>one or the other</dd>\n"
    "<dt><code>!unread !untagged</code></dt><dd>to read later, without tags</dd>\n</dl>\n"
)
_HELP = (
    '<details class="menu"><summary class="button" aria-label="How to search">?</summary>\n'
    f"<div>{SEARCH_EXAMPLES}</div></details>"
)


def feed_address(site: Site, filter: Parameters) -> str:
    """Return the address of the feed of the bookmarks that `filter` selects."""
    return with_query(f"{site.path}/feed", filter)


def list_link(site: Site, list_query: str | None = None) -> str:
    """Return a link back to the list with this query, or else to all bookmarks."""
    return f"<p>{link_button('Back to the list', list_address(site.path, list_query))}</p>\n"


def link_button(label: str, address: str) -> str:
    """Return a link that looks like a button."""
    return f'<a class="button" href="{e(address)}">{label}</a>'


def submit_button(label: str, link: str = "") -> str:
    """Return the button that sends a form, with a link beside it."""
    return f'<p class="buttons"><button class="primary">{label}</button> {link}</p>\n'


def field_note(id: str, note: Note) -> tuple[str, str]:
    """Return attributes for the field `id`, and the HTML of its note, both empty without a text."""
    kind, text = note
    if not text:
        return "", ""
    invalid = ' aria-invalid="true"' if kind == "error" else ""
    html = f'<div class="{kind}" id="{id}-{kind}">{text}</div>\n'
    return f' aria-describedby="{id}-{kind}"{invalid}', html


def post_form(action: str, hidden: HiddenFields, content: str, attributes: str = "") -> str:
    """Return a form that is sent to the address `action`, with hidden fields."""
    # URL-encoding triples non-ASCII text, which can make long bookmarks too large for the service.
    return (
        f'<form method="post" action="{e(action)}" enctype="multipart/form-data" {attributes}>'
        f"{_hidden_inputs(hidden)}\n{content}</form>\n"
    )


def _hidden_inputs(fields: HiddenFields) -> str:
    return "".join(
        f'<input type="hidden" name="{e(name)}" value="{e(value)}">'
        for name, value in fields
        if value is not None
    )


def changed_notice(values: Mapping[str, str]) -> str:
    """Return a notice with the numbers that a form has added to the query of the page it leads to.

    `values` are those of the query. The script removes the numbers from the address.
    """
    texts = [
        f"{number_of_bookmarks(int(values[name]))} {what}."
        for name, what in RESULTS.items()
        if UP_TO_18_DIGITS.fullmatch(values.get(name, ""))
    ]
    return f'<p class="saved" role="status">{" ".join(texts)}</p>\n' if texts else ""


def number_of_bookmarks(number: int) -> str:
    """Return a number of bookmarks in words."""
    return f"{number:,} {'bookmark' if number == 1 else 'bookmarks'}"


def cut(text: str, limit: int) -> str:
    """Return the text, or its beginning if it is longer than `limit` characters."""
    return text if len(text) <= limit else text[:limit].rstrip() + "…"
