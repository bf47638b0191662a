"""The page of all tags, and the page that asks before tags are merged or deleted."""

from collections.abc import Sequence

from formats.html import frame
from formats.html.frame import e
from formats.html.list_forms import buttons, tags_field
from formats.listing import Parameters, Site, View, with_query
from storage.bookmark import fold
from storage.search import fold_text

TagCounts = Sequence[tuple[str, int]]  # Tags with the numbers of their bookmarks.
_ACTIONS = {"merge": "Merge", "delete": "Delete"}


def write_tags(counts: TagCounts, untagged_count: int, view: View) -> str:
    """Return the page of the tags that the query selects, in the order that it asks for.

    `untagged_count` is the number of bookmarks without tags.
    """
    site, values = view.site, view.values
    words = values.get("q", "").strip()
    shown = [(tag, count) for tag, count in counts if fold_text(words) in fold_text(tag)]
    if "once" in values:
        shown = [(tag, count) for tag, count in shown if count == 1]
    if values.get("sort") != "count":  # The tags come in the order of their counts.
        shown = sorted(shown, key=lambda tag_and_count: fold(tag_and_count[0]))
    items = "".join(_item(site, tag, count) for tag, count in shown)
    nothing = "No tag matches." if counts else "No bookmark has a tag yet."
    content = f'<ul class="cloud">{items}</ul>' if shown else f"<p>{nothing}</p>"
    # The checkboxes belong to this form, which the style shows while one is checked.
    fields = tags_field("merged", "Merge the checked tags into") + buttons(_ACTIONS)
    bar = frame.post_form(f"{site.path}/-/tags", [], fields, 'class="bar" id="tags-form"')
    number = f"{len(shown):,} {'tag' if len(shown) == 1 else 'tags'}"
    return (
        f'{frame.begin("Tags", site)}<main id="main">\n<div class="head">\n<h1>Tags</h1>\n'
        f'<p class="total" role="status">{number}</p>\n</div>\n{frame.changed_notice(values)}'
        f"{_controls(site, words, counts, untagged_count)}"
        f"{bar}{content}\n</main>\n{frame.END}"
    )


def _controls(site: Site, words: str, counts: TagCounts, untagged_count: int) -> str:
    """Return the filter, the links to the orders, and the links to what may need a correction."""
    once_count = sum(count == 1 for _, count in counts)
    links: list[tuple[str, Parameters, str]] = [
        ("/tags", [], "By name"),
        ("/tags", [("sort", "count")], "By number"),
        ("/tags", [("once", "1")], f"Used once <span>{once_count:,}</span>"),
        ("/", [("q", "!untagged")], f"Bookmarks without tags <span>{untagged_count:,}</span>"),
    ]
    return (
        f'<form class="controls" action="{e(site.path)}/tags">\n'
        f'<label class="unseen" for="filter">Filter</label>'
        f'<input type="search" id="filter" name="q" value="{e(words)}" placeholder="Filter tags" '
        'dir="auto" autocomplete="off"><button>Filter</button>\n'
        + "".join(
            f'<a href="{e(with_query(site.path + path, parameters))}">{label}</a>\n'
            for path, parameters, label in links
        )
        + "</form>\n"
    )


def _item(site: Site, tag: str, count: int) -> str:
    """Return a tag with the number of its bookmarks, and a link to the form that renames it."""
    address, name = e(with_query(f"{site.path}/", [("tag", tag)])), f"<bdi>{e(tag)}</bdi>"
    return (
        f'<li><input type="checkbox" form="tags-form" name="tag" value="{e(tag)}" '
        f'aria-label="Select {e(tag)}"> <a href="{address}">{name} <span>{count:,}</span></a> '
        f'<a class="rename" href="{address}#rename">Rename<span class="unseen"> {name}</span></a>'
        "</li>\n"
    )


def write_question(old: TagCounts, existing: TagCounts, new: Sequence[str], site: Site) -> str:
    """Return the page that asks whether to merge the old tags into the new ones, or to delete them.

    `existing` has those of the new tags that some bookmarks have already.
    """
    action = "merge" if new else "delete"
    items = [_named(tag, count) for tag, count in old]
    items += [f"{_named(tag, count)} already, which are merged" for tag, count in existing]
    total = sum(count for _, count in [*old, *existing])
    hidden = [("tag", tag) for tag, _ in old]
    hidden += [("tags", ", ".join(new)), ("do", action), ("expected", str(total))]
    label = f"{_ACTIONS[action]} in {frame.number_of_bookmarks(total)}"
    cancel = frame.link_button("Cancel", f"{site.path}/tags")
    texts = "".join(f"<li>{item}</li>\n" for item in items)
    form = frame.post_form(f"{site.path}/-/tags", hidden, frame.submit_button(label, cancel))
    heading = f"{_ACTIONS[action]} these tags?"
    return frame.write_page(heading, f'<ul class="similar">\n{texts}</ul>\n{form}', site)


def _named(tag: str, count: int) -> str:
    return f"{frame.number_of_bookmarks(count)} with <strong><bdi>{e(tag)}</bdi></strong>"
