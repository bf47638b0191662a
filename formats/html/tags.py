"""The page of all tags, and the questions before tags are merged or removed."""

from collections.abc import Mapping, Sequence
from typing import Any

from formats.html import frame
from formats.html.editor import UNREAD
from formats.html.frame import e
from formats.html.list_forms import CHECKED, buttons, select_button, tags_field
from formats.listing import (
    Site,
    View,
    before_offset,
    list_address,
    parse_number,
    with_query,
)
from storage.bookmark import fold
from storage.search import fold_text
from storage.selection import TagCounts

_KNOWN_PARAMETERS = ("q", "once", "sort")
# The labels of the menu, by address below the path of the service.
_VIEWS = {
    "tags": "By name",
    "tags?sort=count": "Most used first",
    "tags?once=1": "Used once",
}
_ACTIONS = {"merge": "Merge", "delete": "Delete"}
_PAGE_SIZE = 500  # Browsers are slow with thousands of tags.


def write_tags(counts: TagCounts, view: View) -> str:
    """Return the page. `counts` begins with the most used tags."""
    selected = _selected(counts, view.values)
    total = len(selected)
    offset = parse_number(view.values.get("offset")) or 0
    if offset >= total:
        offset = 0
    begin = frame.begin("Tags", view.site, current="tags")
    controls = _menu(view)
    if not view.site.is_visitor:
        controls += select_button("tags-form")
    head = frame.list_head("Tags", frame.number_beside_heading(total, "tag"), controls)
    notice = frame.changed_notice(view.values)
    filter_form = _filter_form(view)
    bar = _bar(view.site)
    content = _content(view.site, counts, selected[offset : offset + _PAGE_SIZE])
    pages = _page_links(view, offset, total)
    return (
        f'{begin}<main id="main">\n{head}{notice}{filter_form}{bar}{content}\n'
        f"{pages}</main>\n{frame.END}"
    )


def _content(site: Site, counts: TagCounts, shown: TagCounts) -> str:
    if not counts:
        return "<p>No bookmark has a tag yet.</p>"
    if not shown:
        return "<p>No tag matches.</p>"
    items = "".join([_item(site, tag, count) for tag, count in shown])
    return f'<ul class="cloud">{items}</ul>'


def _selected(counts: TagCounts, values: Mapping[str, str]) -> TagCounts:
    words = fold_text(values.get("q", "").strip())
    selected = [(tag, count) for tag, count in counts if words in fold_text(tag)]
    if "once" in values:
        selected = [(tag, count) for tag, count in selected if count == 1]
    if values.get("sort") != "count":
        selected.sort(key=lambda tag_and_count: fold(tag_and_count[0]))
    return selected


def _page_links(view: View, offset: int, total: int) -> str:
    query = [(name, view.values[name]) for name in _KNOWN_PARAMETERS if name in view.values]
    address = before_offset(f"{view.site.path}/tags", query)
    return frame.page_links(address, offset, _PAGE_SIZE, total)


def _bar(site: Site) -> str:
    if site.is_visitor:
        return ""
    field = tags_field("merged", "Merge the checked tags into", placeholder="Merge into")
    return frame.post_form(
        action=f"{site.path}/-/tags",
        hidden=[],
        content=f"{CHECKED}<div>{field}{buttons(_ACTIONS)}</div>\n",
        attributes='class="bar" id="tags-form"',
    )


def _menu(view: View) -> str:
    current = _shown_view(view.values)
    links = ""
    for address, label in _VIEWS.items():
        links += frame.link(label, f"{view.site.path}/{address}", is_current=address == current)
    untagged = with_query(f"{view.site.path}/", [("q", "!untagged")])
    links += frame.link("Untagged bookmarks", untagged, is_current=False)
    return frame.sort_menu(_VIEWS[current].removesuffix(" first"), links)


def _shown_view(values: Mapping[str, str]) -> str:
    if "once" in values:
        return "tags?once=1"
    if values.get("sort") == "count":
        return "tags?sort=count"
    return "tags"


def _filter_form(view: View) -> str:
    words = view.values.get("q", "").strip()
    return f"""\
<form class="filter" action="{e(view.site.path)}/tags">
<label class="unseen" for="filter">Filter</label>\
<input type="search" id="filter" name="q" value="{e(words)}" \
placeholder="Filter tags" dir="auto" autocomplete="off">
<button class="find" aria-label="Filter">{frame.LENS}</button></form>
"""


def _item(site: Site, tag: str, count: int) -> str:
    address = e(with_query(f"{site.path}/", [("tag", tag)]))
    text = e(tag)
    name = f"<bdi>{text}</bdi>"
    link = f'<a href="{address}">{name}</a>'
    number = f"<span>{count:,}</span>"
    if site.is_visitor:
        return f"<li>{link} {number}</li>\n"
    unread = ' class="unread"' if fold(tag) == UNREAD else ""
    attributes = f'form="tags-form" name="tag" value="{text}" aria-label="Select {text}"'
    label = f'Rename<span class="unseen"> {name}</span>'
    rename = f'<a class="rename" href="{address}#rename">{label}</a>'
    return f'<li{unread}><input type="checkbox" {attributes}> {link} {rename} {number}</li>\n'


def write_question(
    old: Sequence[str],
    count: int,
    new: Sequence[str],
    new_tags_in_use: TagCounts,
    expected_count: int,
    site: Site,
) -> str:
    """Return the page that asks whether to merge the old tags of `count` bookmarks into new ones.

    Without new tags, the page asks whether to remove the old ones. The service asks again if the
    number of bookmarks has changed from `expected_count`.
    """
    if new:
        action = "merge"
        text = _merge_text(old, count, new, new_tags_in_use)
    else:
        action = "delete"
        text = _removal_text(old, count)
    hidden = [("tag", tag) for tag in old]
    hidden += [("tags", ", ".join(new)), ("do", action), ("expected", str(expected_count))]
    cancel = frame.link_button("Cancel", f"{site.path}/tags")
    button = frame.submit_button(_ACTIONS[action], cancel)
    form = frame.post_form(f"{site.path}/-/tags", hidden, button)
    question = _question_html(text)
    return frame.write_page(f"{_ACTIONS[action]} tags", f"{question}{form}", site)


def write_removal_question(
    fields: Mapping[str, Any], tags: Sequence[str], count: int, site: Site
) -> str:
    names = ("tag", "tags", "q", "expected", "_list")
    sent = {name: fields[name] for name in names if name in fields}
    hidden = frame.flatten({**sent, "do": "remove"})
    text = _removal_text(tags, count)
    cancel = frame.link_button("Cancel", list_address(site.path, fields.get("_list")))
    button = frame.submit_button("Remove", cancel)
    form = frame.post_form(f"{site.path}/-/retag", hidden, button)
    question = _question_html(text)
    return frame.write_page("Remove tags", f"{question}{form}", site)


def _question_html(text: str) -> str:
    # Screen readers read the question when it has the focus, and Tab goes to its button.
    return f'<p tabindex="-1" autofocus>{text}</p>\n'


def _removal_text(tags: Sequence[str], count: int) -> str:
    number = frame.number_of_bookmarks(count)
    return f"Remove {_names_html(tags)} from {number}? The bookmarks stay."


def _merge_text(
    old: Sequence[str], count: int, new: Sequence[str], new_tags_in_use: TagCounts
) -> str:
    """Return a question such as `Merge a (1 bookmark) into b (2 bookmarks)?`"""
    number = frame.number_of_bookmarks(count)
    target = _target_html(new, old, new_tags_in_use)
    return f"Merge {_names_html(old)} ({number}) into {target}?"


def _target_html(
    new: Sequence[str], old_tags: Sequence[str], new_tags_in_use: TagCounts
) -> str:
    folded_old_tags = set(map(fold, old_tags))
    count_by_folded_tag = {fold(tag): count for tag, count in new_tags_in_use}
    targets = []
    for tag in new:
        name = _name_html(tag)
        if fold(tag) in count_by_folded_tag:
            number = frame.number_of_bookmarks(count_by_folded_tag[fold(tag)])
            targets.append(f"{name} ({number})")
        elif fold(tag) in folded_old_tags:
            targets.append(name)
        else:
            targets.append(f"{name}, a new tag")
    return " and ".join(targets)


def _names_html(tags: Sequence[str]) -> str:
    return " and ".join(map(_name_html, tags))


def _name_html(tag: str) -> str:
    return f"<strong><bdi>{e(tag)}</bdi></strong>"
