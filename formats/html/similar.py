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
    items: list[str] = []
    versions: list[str] = []
    for group in groups[:_MAX_GROUPS_SHOWN]:
        members = group[:MAX_MEMBERS_SHOWN]
        items += _write_group(members, site)
        versions += map(shown_version, members)
    if groups:
        total = frame.number_of(len(groups), "group")
        text = (
            "These look like the same page. Keep one of each group. It gets the tags of the "
            "others, and the others are deleted. Differences are marked."
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


def _write_group(members: Group, site: Site) -> list[str]:
    key = similar_key(members[0].bookmark.uri)
    sorted_members = sorted(members, key=lambda entry: _order_of_suggestion(entry.bookmark.uri))
    suggested = sorted_members[0]
    suggested_parts = _split_at_key(suggested.bookmark.uri, key)
    items = []
    for entry in sorted_members:
        is_suggested = entry is suggested
        others = [other.bookmark.id for other in members if other is not entry]
        address = _address(entry.bookmark.uri, key, suggested_parts)
        heading = ""
        if is_suggested:
            heading = _group_heading(members, key)
        keep = _keep_button(entry, others, is_suggested, site)
        items.append(_item(entry, heading, address, keep, site))
    return items


def _item(entry: Entry, heading: str, address: str, keep: str, site: Site) -> str:
    bookmark = entry.bookmark
    title = e(cut(bookmark.title, MAX_TITLE_CHARACTERS))
    edit = f'<a href="{e(site.path)}/{bookmark.id}">Edit</a>'
    date = date_html(bookmark.created)
    tags = "".join([f"<bdi>#{e(tag)}</bdi> " for tag in bookmark.tags])
    return f"""\
<li id="b-{bookmark.id}">
{heading}<h2 dir="ltr">{address}</h2>
<p dir="auto">{title}</p>
<p class="meta"><span class="actions">{keep} {edit}</span>\
{date} <span class="tags">{tags}</span></p>
</li>
"""


def _group_heading(members: Group, key: str) -> str:
    number = frame.number_of_bookmarks(len(members))
    common_part = e(cut(key, MAX_URI_CHARACTERS))
    return f'<p class="hint">{number} for <strong dir="ltr">{common_part}</strong></p>\n'


def _keep_button(entry: Entry, others: Sequence[str], is_suggested: bool, site: Site) -> str:
    ids = " ".join(others)
    style = ""
    note = ""
    if is_suggested:
        style = ' class="suggested"'
        note = " <span>Suggested</span>"
    action = f"{e(site.path)}/-/keep/{entry.bookmark.id}"
    attributes = f'formaction="{action}" name="others" value="{ids}"'
    return f'<button form="many"{style} {attributes}>Keep this one</button>{note}'


def _order_of_suggestion(uri: str) -> tuple[int, int]:
    """Return a sort key: uris with https are first, and then short uris."""
    if uri.lower().startswith("https:"):
        return 0, len(uri)
    return 1, len(uri)


def _split_at_key(uri: str, key: str) -> tuple[str, str, str]:
    """Return what is before the key, the key, and what is after it.

    If the uri spells the key differently, such as in capitals, the last two are empty.
    """
    shown_uri = cut(uri, MAX_URI_CHARACTERS)
    if not key:
        return shown_uri, "", ""
    return shown_uri.partition(key)


def _address(uri: str, key: str, suggested_parts: tuple[str, str, str]) -> str:
    """Return a link to a uri, with marks where it differs from the suggested one."""
    suggested_begin, suggested_common, suggested_end = suggested_parts
    begin, common, end = _split_at_key(uri, key)
    html = e(begin + common + end)
    if common and suggested_common:
        html = _mark_different(begin, suggested_begin)
        html += e(common)
        html += _mark_different(end, suggested_end)
    if may_be_linked(uri):
        return f'<a href="{e(uri)}">{html}</a>'
    return f"<span>{html}</span>"


def _mark_different(text: str, suggested: str) -> str:
    if text in ("", suggested):
        return e(text)
    return f"<mark>{e(text)}</mark>"
