"""The page of all tags, and the pages that ask before tags are merged or removed."""

from collections.abc import Mapping, Sequence
from typing import Any

from formats.html import frame
from formats.html.frame import e
from formats.html.list_forms import STATUS, UNCHECK, buttons, tags_field
from formats.listing import (
    Parameters,
    Site,
    View,
    links_to_pages,
    list_address,
    offsets_of_pages,
    with_query,
)
from storage.bookmark import fold
from storage.query import UP_TO_18_DIGITS
from storage.search import fold_text
from storage.selection import TagCounts

_KNOWN_PARAMETERS = ("q", "once", "sort")  # The parameters that select and order the tags.
_ACTIONS = {"merge": "Merge", "delete": "Delete"}
_PAGE_SIZE = 500  # Browsers take seconds to lay out many thousand tags.


def write_tags(counts: TagCounts, untagged_count: int, view: View) -> str:
    """Return the page of the tags that the query selects.

    `counts` begins with the most used tag.
    """
    selected = _selected(counts, view.values)
    total = len(selected)
    offset = _parse_offset(view.values.get("offset", ""), total)
    begin = frame.begin("Tags", view.site, current="tags")
    head = frame.list_head("Tags", frame.number_of(total, "tag"))
    notice = frame.changed_notice(view.values)
    controls = _controls(view, counts, untagged_count)
    bar = _bar(view.site)
    content = "<p>No bookmark has a tag yet.</p>"
    if selected:
        content = _cloud(view.site, selected[offset : offset + _PAGE_SIZE])
    elif counts:
        content = "<p>No tag matches.</p>"
    pages = _page_links(view, offset, total)
    return (
        f'{begin}<main id="main">\n{head}{notice}{controls}{bar}{content}\n'
        f"{pages}</main>\n{frame.END}"
    )


def _selected(counts: TagCounts, values: Mapping[str, str]) -> TagCounts:
    """Return the tags that the query selects, in its order."""
    words = fold_text(values.get("q", "").strip())
    selected = [(tag, count) for tag, count in counts if words in fold_text(tag)]
    if "once" in values:
        selected = [(tag, count) for tag, count in selected if count == 1]
    if values.get("sort") != "count":
        selected.sort(key=lambda tag_and_count: fold(tag_and_count[0]))
    return selected


def _parse_offset(digits: str, total: int) -> int:
    """Return the number of tags before the page. It is 0 if the query has no usable offset."""
    if not UP_TO_18_DIGITS.fullmatch(digits) or int(digits) >= total:
        return 0
    return int(digits)


def _page_links(view: View, offset: int, total: int) -> str:
    query = [(name, view.values[name]) for name in _KNOWN_PARAMETERS if name in view.values]
    offsets = offsets_of_pages(offset, _PAGE_SIZE, total)
    links = links_to_pages(f"{view.site.path}/tags", query, offsets)
    return frame.page_links(links)


def _bar(site: Site) -> str:
    if site.is_visitor:
        return ""
    # CSS shows this form only while the checkbox of a tag is checked.
    field = tags_field("merged", "Merge the checked tags into", placeholder="Merge into")
    return frame.post_form(
        action=f"{site.path}/-/tags",
        hidden=[],
        content=f"{UNCHECK}{STATUS}{field}{buttons(_ACTIONS)}",
        attributes='class="bar" id="tags-form"',
    )


def _controls(view: View, counts: TagCounts, untagged_count: int) -> str:
    path = f"{view.site.path}/tags"
    untagged_address = with_query(f"{view.site.path}/", [("q", "!untagged")])
    words = view.values.get("q", "").strip()
    once_count = sum(count == 1 for _, count in counts)
    once_label = f"Used once <span>{once_count:,}</span>"
    is_once = "once" in view.values
    is_by_number = view.values.get("sort") == "count" and not is_once
    is_by_name = not is_once and not is_by_number
    untagged_label = f"Untagged <span>{untagged_count:,}</span>"
    by_name = frame.link("Name", path, is_by_name)
    by_number = frame.link("Most used", f"{path}?sort=count", is_by_number)
    once = frame.link(once_label, f"{path}?once=1", is_once)
    untagged = frame.link(untagged_label, untagged_address, is_current=False)
    return f"""\
<form class="controls" action="{e(path)}">
<label class="unseen" for="filter">Filter</label>\
<input type="search" id="filter" name="q" value="{e(words)}" \
placeholder="Filter tags" dir="auto" autocomplete="off"><button>Filter</button>
</form>
<div class="controls">
<p><span>Sort</span> {by_name}{by_number}</p>
<p><span>Show</span> {once}{untagged}</p>
</div>
"""


def _cloud(site: Site, shown: TagCounts) -> str:
    items = "".join([_item(site, tag, count) for tag, count in shown])
    return f'<ul class="cloud">{items}</ul>'


def _item(site: Site, tag: str, count: int) -> str:
    address = e(with_query(f"{site.path}/", [("tag", tag)]))
    text = e(tag)
    name = f"<bdi>{text}</bdi>"
    link = f'<a href="{address}">{name} <span>{count:,}</span></a>'
    if site.is_visitor:
        return f"<li>{link}</li>\n"
    attributes = f'form="tags-form" name="tag" value="{text}" aria-label="Select {text}"'
    label = f'Rename<span class="unseen"> {name}</span>'
    rename = f'<a class="rename" href="{address}#rename">{label}</a>'
    return f'<li><input type="checkbox" {attributes}> {link} {rename}</li>\n'


def write_question(
    old: TagCounts, existing: TagCounts, new: Sequence[str], total: int, site: Site
) -> str:
    """Return the page that asks whether to merge the old tags into the new ones.

    Without new tags, it asks whether to remove the old ones. `existing` has the new tags that
    some bookmarks have already. The form expects that it changes `total` bookmarks.
    """
    old_tags = [tag for tag, _ in old]
    if new:
        action = "merge"
        text = _merge_text(old, existing, new)
    else:
        action = "delete"
        text = _removal_text(old_tags, total)
    hidden = [("tag", tag) for tag in old_tags]
    hidden += [("tags", ", ".join(new)), ("do", action), ("expected", str(total))]
    cancel = frame.link_button("Cancel", f"{site.path}/tags")
    button = frame.submit_button(_ACTIONS[action], cancel)
    form = frame.post_form(f"{site.path}/-/tags", hidden, button)
    return frame.write_page(f"{_ACTIONS[action]} tags", f"<p>{text}</p>\n{form}", site)


def write_removal_question(
    fields: Mapping[str, Any], tags: Sequence[str], count: int, site: Site
) -> str:
    """Return the page that asks whether to remove the tags from `count` bookmarks of a list.

    `fields` are the fields of the form that the list has sent.
    """
    hidden: Parameters = []
    for name in ("tag", "tags"):
        hidden += [(name, value) for value in fields.get(name, [])]
    for name in ("q", "expected", "_list"):
        if name in fields:
            hidden.append((name, fields[name]))
    hidden.append(("do", "remove"))
    text = _removal_text(tags, count)
    cancel = frame.link_button("Cancel", list_address(site.path, fields.get("_list")))
    button = frame.submit_button("Remove", cancel)
    form = frame.post_form(f"{site.path}/-/retag", hidden, button)
    return frame.write_page("Remove tags", f"<p>{text}</p>\n{form}", site)


def _removal_text(tags: Sequence[str], count: int) -> str:
    number = frame.number_of_bookmarks(count)
    return f"Remove {_named(tags)} from {number}? The bookmarks stay."


def _merge_text(old: TagCounts, existing: TagCounts, new: Sequence[str]) -> str:
    """Return a question such as `Merge a (1 bookmark) into b, which 2 bookmarks have already?`"""
    number = frame.number_of_bookmarks(sum([count for _, count in old]))
    old_tags = {fold(tag) for tag, _ in old}
    existing_counts = {fold(tag): count for tag, count in existing}
    targets = []
    for tag in new:
        if fold(tag) in existing_counts:
            others = frame.number_of_bookmarks(existing_counts[fold(tag)])
            state = f", which {others} have already"
        elif fold(tag) in old_tags:
            state = ""
        else:
            state = ", a new tag"
        targets.append(f"<strong><bdi>{e(tag)}</bdi></strong>{state}")
    target = " and ".join(targets)
    named = _named([tag for tag, _ in old])
    return f"Merge {named} ({number}) into {target}?"


def _named(tags: Sequence[str]) -> str:
    return " and ".join([f"<strong><bdi>{e(tag)}</bdi></strong>" for tag in tags])
