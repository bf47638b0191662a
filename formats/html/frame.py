"""The parts that every page has, and the function that escapes every text."""

from urllib.parse import urlencode

from markupsafe import Markup, escape

from formats.base_url import BaseUrl, Parameters, with_query
from formats.form import HiddenFields
from formats.html.assets import served_name
from formats.listing import list_address
from storage.bookmark import replace_invalid_xml_chars

END = "</body>\n</html>\n"
MAX_HEADING = 120  # In characters. A longer title of a page or heading of a list is cut.
# URL-encoding triples non-ASCII text, so the service would refuse a form with a long bookmark as
# too large. The multipart encoding leaves the text as it is.
ENCTYPE_MULTIPART = 'enctype="multipart/form-data"'


def e(text: str) -> Markup:
    """Return the text escaped for a page. No text may get into a page in any other way."""
    # `isprintable` is a fast test: no printable character is invalid in XML.
    return escape(text if text.isprintable() else replace_invalid_xml_chars(text))


def begin(
    title: str,
    base: BaseUrl,
    list_query: str | None = None,
    *,
    filter: Parameters = [],
    is_list: bool = False,
) -> str:
    """Return a page up to its main part.

    The link "Add" opens a form. After saving, this form leads back to the list with the query
    `list_query`, or to the new bookmark if `list_query` is None. The search box keeps the tags of
    `filter`. A list has a link to its feed.
    """
    # An empty `uri` in the query asks for the form that adds a bookmark.
    add_parameters = {"uri": ""} | ({} if list_query is None else {"_list": list_query})
    add_address = f"{base.path}/?{urlencode(add_parameters)}"
    return (
        f"{_head(title, base)}{_feed_link(base, filter) if is_list else ''}</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f'<header class="top">\n{_brand(base)}{_search(base, filter)}'
        f'<nav aria-label="Pages of the service"><a href="{e(base.path)}/tags">Tags</a>\n'
        f'<a class="button" id="add" href="{e(add_address)}">Add</a>\n'
        f"{_login_or_logout_button(base)}</nav>\n</header>\n"
    )


def begin_login(title: str, base: BaseUrl) -> str:
    """Return a page up to its main part, without the links that a user can follow after a login."""
    return f'{_head(title, base)}</head>\n<body>\n<header class="top">\n{_brand(base)}</header>\n'


def _brand(base: BaseUrl) -> str:
    path = e(base.path)
    icon = f'<img src="{path}/{served_name("icon.svg")}" alt="" width="28" height="28">'
    return f'<a class="brand" href="{path}/">{icon}Bookmarks</a>\n'


def _login_or_logout_button(base: BaseUrl) -> str:
    """Return the button that `base` names, empty if it names none."""
    path = e(base.path)
    if base.login_or_logout_button == "log-in":
        return f'<a class="button" href="{path}/-/login">Log in</a>\n'
    if base.login_or_logout_button == "log-out":
        return f'<form method="post" action="{path}/-/logout"><button>Log out</button></form>\n'
    return ""


def _head(title: str, base: BaseUrl) -> str:
    """Return the head of a page. The script reads the path of the service from `data-path`."""
    path = e(base.path)
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


def _search(base: BaseUrl, filter: Parameters) -> str:
    tags = "".join(hidden_input(name, value) for name, value in filter if name == "tag")
    words = dict(filter).get("q", "")
    return (
        f'<form class="search" role="search" action="{e(base.path)}/">{tags}'
        '<label class="unseen" for="q">Search</label>'
        f'<input type="search" id="q" name="q" value="{e(words)}" dir="auto" '
        'placeholder="Search" autocomplete="off"><button>Search</button></form>\n'
    )


def _feed_link(base: BaseUrl, filter: Parameters) -> str:
    """Return the link by which feed readers find the feed of the selected bookmarks."""
    return (
        '<link rel="alternate" type="application/atom+xml" title="Feed of these bookmarks" '
        f'href="{e(feed_address(base, filter))}">\n'
    )


def feed_address(base: BaseUrl, filter: Parameters) -> str:
    """Return the address of the feed of the bookmarks that `filter` selects."""
    return with_query(f"{base.path}/feed", filter)


def list_link(base: BaseUrl, list_query: str | None = None) -> str:
    """Return a button-like link back to the list with this query, or else to all bookmarks."""
    label = "All bookmarks" if list_query is None else "Back to the list"
    address = list_address(base.path, list_query or "")
    return f'<p><a class="button" href="{e(address)}">{label}</a></p>\n'


def notice(content: str, classes: str = "notice") -> str:
    """Return a notice that takes the focus, so that screen readers say it.

    When a user deletes a bookmark in a list, the script takes the notice out of the response and
    shows it in the list.
    """
    return f'<div class="{classes}" role="alert" tabindex="-1" autofocus>\n{content}</div>\n'


def hidden_inputs(hidden_fields: HiddenFields) -> str:
    """Return the hidden fields of a form as HTML."""
    # Fields that are None are left out.
    values = {
        "_version": hidden_fields.version or None,
        # An empty query is sent too, as that of all bookmarks; None means no list to return to.
        "_list": hidden_fields.list_query,
        "_close": "1" if hidden_fields.closes_window else None,
        # The service compares these with the form's values to find what the user has changed.
        "_opened": hidden_fields.initial_field_digests or None,
    }
    return "".join(hidden_input(name, text) for name, text in values.items() if text is not None)


def hidden_input(name: str, value: str) -> str:
    """Return the HTML of a hidden form field."""
    return f'<input type="hidden" name="{e(name)}" value="{e(value)}">'


def number_of_bookmarks(number: int) -> str:
    """Return a number of bookmarks in words."""
    return f"{number:,} {'bookmark' if number == 1 else 'bookmarks'}"


def cut(text: str, limit: int) -> str:
    """Return the text, or its beginning if it is longer than `limit` characters."""
    return text if len(text) <= limit else text[:limit].rstrip() + "…"
