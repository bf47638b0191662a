"""What every page for people has around its own part, and the one way to put text into it."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from formats.assets import name_of
from formats.view import View, address
from storage.bookmark import fit

END = "</body>\n</html>\n"
MAX_HEADING = 120


def e(text: str) -> Markup:
    """The only way for a text into a page: escaped, with nothing that no page can hold."""
    return escape(text if text.isprintable() else fit(text))


def begin(title: str, view: View, *, is_list: bool = False) -> str:
    """A page down to its main part. A list has a feed, and a form to add a bookmark in place."""
    add = f'<a class="button" id="add" href="{e(view.path)}/?uri=">Add</a>\n'
    return (
        f"{_head(title, view)}{_feed_link(view) if is_list else ''}</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f'<header class="top">\n<a class="brand" href="{e(view.path)}/">'
        f'<img src="{e(view.path)}/{name_of("icon.svg")}" alt="" width="28" height="28">'
        f"Bookmarks</a>\n{_search(view)}"
        f"{'' if is_list else add}</header>\n"
    )


def _head(title: str, view: View) -> str:
    # With no referrer at all, browsers send forms with an Origin of null, which is nobody's.
    return f"""\
<!DOCTYPE html>
<html lang="en" data-path="{e(view.path)}">
<head>
<meta charset="utf-8">
<meta name="referrer" content="same-origin">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{e(cut(title, MAX_HEADING))}</title>
<link rel="icon" type="image/svg+xml" href="{e(view.path)}/{name_of("icon.svg")}">
<link rel="stylesheet" href="{e(view.path)}/{name_of("style.css")}">
<script src="{e(view.path)}/{name_of("script.js")}" defer></script>
"""


def _search(view: View) -> str:
    """The search box; it searches within the tags of the filter."""
    return (
        f'<form class="search" role="search" action="{e(view.path)}/">'
        f"{''.join(hidden('tag', tag) for tag in view.tags)}"
        '<label class="unseen" for="q">Search</label>'
        f'<input type="search" id="q" name="q" value="{e(view.words)}" dir="auto" '
        'placeholder="Search" autocomplete="off"><button>Search</button></form>\n'
    )


def _feed_link(view: View) -> str:
    """The link by which feed readers find the feed of the selection."""
    return (
        '<link rel="alternate" type="application/atom+xml" title="Feed of these bookmarks" '
        f'href="{e(feed(view))}">\n'
    )


def feed(view: View) -> str:
    """The address of the selection's feed."""
    return address(f"{view.path}/feed", view.filter)


def hidden(name: str, value: str) -> str:
    """A field of a form that nobody sees."""
    return f'<input type="hidden" name="{name}" value="{e(value)}">'


def cut(text: str, limit: int) -> str:
    """The text, or its beginning if it is longer than this."""
    return text if len(text) <= limit else text[:limit].rstrip() + "…"


def listed(items: Sequence[str]) -> str:
    """A list of what is html already."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>\n"
