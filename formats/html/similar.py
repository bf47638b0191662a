"""The page of bookmarks whose addresses differ only a little."""

from collections.abc import Sequence

from formats.html import frame
from formats.html.editor import shown_version
from formats.html.frame import cut, e
from formats.html.parts import MAX_TITLE_CHARACTERS, MAX_URI_CHARACTERS, date_html, may_be_linked
from formats.listing import Site
from storage.index import Entry
from storage.similar import Group, similar_key

_MAX_GROUPS_SHOWN = 100
# Each bookmark has a button with the ids of all others: 2,450 ids for 50 bookmarks.
MAX_MEMBERS_SHOWN = 50


def write_similar(groups: Sequence[Group], site: Site) -> str:
    items = []
    versions = []
    for group in groups[:_MAX_GROUPS_SHOWN]:
        members = group[:MAX_MEMBERS_SHOWN]
        for entry in members:
            items.append(_item(entry, members, site))
            versions.append(shown_version(entry))
    if groups:
        total = frame.number_of(len(groups), "group")
        text = (
            "These look like the same page. Keep one: the others of its group are deleted, "
            "and it gets their tags."
        )
    else:
        total = ""
        text = "No two bookmarks have addresses that differ only a little."
    begin = frame.begin("Similar addresses", site)
    head = frame.list_head("Similar addresses", total)
    # The buttons of all items belong to this form.
    hidden = [("_shown", " ".join(versions))]
    form = frame.post_form(f"{site.path}/-/selected", hidden, content="", attributes='id="many"')
    content = "".join(items)
    return (
        f'{begin}<main id="main" class="single similar">\n{head}<p>{text}</p>\n{form}'
        f'<ol class="list">\n{content}</ol>\n</main>\n{frame.END}'
    )


def _item(entry: Entry, members: Group, site: Site) -> str:
    bookmark = entry.bookmark
    path = e(site.path)
    css_class = ""
    group_heading = ""
    if entry is members[0]:
        css_class = ' class="first"'
        group_heading = _group_heading(members)
    title = e(cut(bookmark.title, MAX_TITLE_CHARACTERS))
    address = _address(bookmark.uri)
    keep = _keep_button(entry, members, path)
    date = date_html(bookmark.created)
    tags = e(" ".join([f"#{tag}" for tag in bookmark.tags]))
    return f"""\
<li id="b-{bookmark.id}"{css_class}>
{group_heading}<h2 dir="ltr">{address}</h2>
<p dir="auto">{title}</p>
<p class="meta"><span class="actions">{keep} <a href="{path}/{bookmark.id}">Edit</a></span>\
{date} <span class="tags">{tags}</span></p>
</li>
"""


def _group_heading(members: Group) -> str:
    number = frame.number_of_bookmarks(len(members))
    common_part = e(cut(similar_key(members[0].bookmark.uri), MAX_URI_CHARACTERS))
    return f'<p class="hint">{number} of <strong dir="ltr">{common_part}</strong></p>\n'


def _keep_button(entry: Entry, members: Group, path: str) -> str:
    others = [other.bookmark.id for other in members if other is not entry]
    ids = " ".join(others)
    attributes = f'formaction="{path}/-/keep/{entry.bookmark.id}" name="others" value="{ids}"'
    # One button of a group stands out.
    style = "quiet"
    if entry is min(members, key=_distance_from_plain_address):
        style = "proposed"
    deleted = "the other"
    if len(others) > 1:
        deleted = f"{len(others)} others"
    return f'<button form="many" class="{style}" {attributes}>Keep, delete {deleted}</button>'


def _distance_from_plain_address(entry: Entry) -> tuple[bool, int]:
    """Return a key that is lowest for a short address with https."""
    uri = entry.bookmark.uri
    return not uri.startswith("https:"), len(uri)


def _address(uri: str) -> str:
    """Return a link to a uri, with marks where similar uris differ."""
    shown_uri = cut(uri, MAX_URI_CHARACTERS)
    before, common, after = shown_uri.partition(similar_key(uri))
    if common:
        html = f"{_mark(before)}{e(common)}{_mark(after)}"
    else:
        html = e(shown_uri)
    if may_be_linked(uri):
        return f'<a href="{e(uri)}">{html}</a>'
    return f"<span>{html}</span>"


def _mark(text: str) -> str:
    if not text:
        return ""
    return f"<mark>{e(text)}</mark>"
