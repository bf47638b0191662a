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
            "These look like the same page. Keep one of each group: it gets the tags of the "
            "others, which are deleted."
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
    if entry is _suggested(members):
        title += " <em>Suggested</em>"
    address = _address(bookmark.uri, members)
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
    style = ""
    if entry is _suggested(members):
        style = ' class="suggested"'
    attributes = f'formaction="{path}/-/keep/{entry.bookmark.id}" name="others" value="{ids}"'
    deleted = "the other"
    if len(others) > 1:
        deleted = f"{len(others)} others"
    return f'<button form="many"{style} {attributes}>Keep, delete {deleted}</button>'


def _suggested(members: Group) -> Entry:
    """Return the bookmark with the shortest address, if possible with https."""
    def distance_from_plain_address(entry: Entry) -> tuple[bool, int]:
        uri = entry.bookmark.uri
        return not uri.startswith("https:"), len(uri)

    return min(members, key=distance_from_plain_address)


def _address(uri: str, members: Group) -> str:
    """Return a link to a uri, with marks where the uris of the group differ."""
    begin, common, end = _parts(uri)
    parts_of_members = [_parts(member.bookmark.uri) for member in members]
    begins = {other_begin for other_begin, _, _ in parts_of_members}
    ends = {other_end for _, _, other_end in parts_of_members}
    html = _mark_different(begin, begins) + e(common) + _mark_different(end, ends)
    if may_be_linked(uri):
        return f'<a href="{e(uri)}">{html}</a>'
    return f"<span>{html}</span>"


def _parts(uri: str) -> tuple[str, str, str]:
    """Return what is before the part that similar uris share, that part, and what is after it."""
    shown_uri = cut(uri, MAX_URI_CHARACTERS)
    before, common, after = shown_uri.partition(similar_key(uri))
    return before, common, after


def _mark_different(text: str, texts_of_group: set[str]) -> str:
    if not text or len(texts_of_group) == 1:
        return e(text)
    return f"<mark>{e(text)}</mark>"
