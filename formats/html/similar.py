"""The page of bookmarks whose addresses differ only a little."""

from collections.abc import Sequence

from formats.html import frame
from formats.html.editor import shown_version
from formats.html.frame import cut, e
from formats.html.parts import LINKED_SCHEMES, MAX_TITLE_SHOWN, MAX_URI_SHOWN, date_html
from formats.listing import Site
from storage.index import Entry
from storage.similar import Group, similar_key

_MAX_GROUPS = 100  # The page shows further groups after the user has dealt with these.
MAX_GROUP = 50  # The bookmarks of a group that are shown. Each button has the ids of all others.


def write_similar(groups: Sequence[Group], site: Site) -> str:
    """Return the page, which lists the members of each group one after the other."""
    items = []
    shown = []
    for whole_group in groups[:_MAX_GROUPS]:
        group = whole_group[:MAX_GROUP]
        for entry in group:
            items.append(_item(entry, group, site))
            shown.append(shown_version(entry))
    total = ""
    text = "No two bookmarks have addresses that differ only a little."
    if groups:
        total = frame.number_of(len(groups), "group")
        text = (
            "These look like the same page. Keep one; the others are deleted, and their tags "
            "move to it."
        )
    begin = frame.begin("Similar addresses", site)
    head = frame.list_head("Similar addresses", total)
    # The buttons of all items belong to this form.
    hidden = [("_shown", " ".join(shown))]
    form = frame.post_form(f"{site.path}/-/selected", hidden, content="", attributes='id="many"')
    content = "".join(items)
    return (
        f'{begin}<main id="main" class="single similar">\n{head}<p>{text}</p>\n{form}'
        f'<ol class="list">\n{content}</ol>\n</main>\n{frame.END}'
    )


def _item(entry: Entry, group: Group, site: Site) -> str:
    """Return a member of a group, with a button that keeps it and deletes the other members."""
    bookmark = entry.bookmark
    path = e(site.path)
    attributes = f'id="b-{bookmark.id}"'
    if entry is group[0]:
        attributes += ' class="first"'
    others = " ".join([other.bookmark.id for other in group if other is not entry])
    button_attributes = f'formaction="{path}/-/keep/{bookmark.id}" name="others" value="{others}"'
    keep = f'<button form="many" {button_attributes}>Keep this one</button>'
    edit = f'<a href="{path}/{bookmark.id}">Edit</a>'
    title = e(cut(bookmark.title, MAX_TITLE_SHOWN))
    address = _address(bookmark.uri)
    date = date_html(bookmark.created)
    tags = e(", ".join(bookmark.tags))
    return (
        f'<li {attributes}>\n<p class="group" dir="auto">{title}</p>\n'
        f'<h2 dir="ltr">{address}</h2>\n'
        f'<p class="meta"><span class="actions">{keep} {edit}</span>'
        f'{date} <span class="tags">{tags}</span></p>\n</li>\n'
    )


def _address(uri: str) -> str:
    """Return a uri as a link, with <mark> around the parts in which similar uris may differ."""
    shown_uri = cut(uri, MAX_URI_SHOWN)
    before, common, after = shown_uri.partition(similar_key(uri))
    html = e(before) + e(common)
    if common:
        html = f"{_mark(before)}{e(common)}{_mark(after)}"
    scheme, _, _ = uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(uri)}">{html}</a>'
    return f"<span>{html}</span>"


def _mark(text: str) -> str:
    if not text:
        return ""
    return f"<mark>{e(text)}</mark>"
