"""The page of all tags, and the page that asks before tags are merged or deleted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formats.html.frame import END, begin, e, hidden_input, number_of_bookmarks
from formats.html.problem import Problem, detail_html, write_page
from formats.html.view import Parameters, Site, View, with_query
from storage.bookmark import fold
from storage.search import fold_text

_INPUT = 'dir="auto" autocomplete="off" autocapitalize="none" data-completes="tags"'
_Counts = Sequence[tuple[str, int]]  # Tags with the numbers of their bookmarks.


def write_tags(counts: _Counts, untagged_count: int, view: View) -> Iterator[bytes]:
    """Write the page of the tags that the query selects, in the order that it asks for.

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
    number = f"{len(shown):,} {'tag' if len(shown) == 1 else 'tags'}"
    none = "<p>There are no tags yet.</p>" if not counts else "<p>No tag matches.</p>"
    yield (
        f'{begin("Tags", site)}<main id="main">\n<div class="head">\n<h1>Tags</h1>\n'
        f'<p class="total" role="status">{number}</p>\n</div>\n{_notice(values)}'
        f"{_controls(site, words, counts, untagged_count)}{_bar(site) if items else ''}"
    ).encode()
    yield f"""{f'<ul class="cloud">{items}</ul>' if items else none}\n</main>\n{END}""".encode()


def _notice(values: Mapping[str, str]) -> str:
    if not values.get("changed", "").isdecimal():
        return ""
    number = number_of_bookmarks(int(values["changed"][:9]))
    return f'<p class="saved" role="status">{number} changed.</p>\n'


def _controls(site: Site, words: str, counts: _Counts, untagged_count: int) -> str:
    """Return the filter, the links to the orders, and the links to what may need a correction."""
    once_count = sum(count == 1 for _, count in counts)
    links: list[tuple[str, Parameters, str]] = [
        ("/tags", [], "By name"),
        ("/tags", [("sort", "count")], "By number"),
    ]
    if once_count:
        links.append(("/tags", [("once", "1")], f"Used once <span>{once_count:,}</span>"))
    if untagged_count:
        label = f"Bookmarks without tags <span>{untagged_count:,}</span>"
        links.append(("/", [("q", "!untagged")], label))
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


def _bar(site: Site) -> str:
    """Return the form that the checkboxes belong to; the style shows it when one is checked."""
    return (
        f'<form class="bar" id="tags-form" method="post" action="{e(site.path)}/-/tags">\n'
        '<label for="merged">Merge the checked tags into</label>'
        f'<input id="merged" name="add" {_INPUT}>\n<button>Merge</button>\n'
        '<button name="do" value="delete">Delete</button></form>\n'
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


def write_question(
    fields: Mapping[str, Any], counts: _Counts, existing: _Counts, site: Site
) -> str:
    """Return the page that asks whether to merge or delete tags, with the numbers of bookmarks.

    `existing` has those of the new tags that some bookmarks have already.
    """
    total = sum(count for _, count in [*counts, *existing])
    button = f"{'Merge' if fields.get('add') else 'Delete from'} {number_of_bookmarks(total)}"
    heading = "Merge these tags?" if fields.get("add") else "Delete these tags?"
    items = "".join(f"<li>{_named(tag, count)}</li>\n" for tag, count in counts)
    into = "".join(
        f"<p>{_named(tag, count)} already. They are merged.</p>\n" for tag, count in existing
    )
    text = f'<ul class="similar">\n{items}</ul>\n{into}'
    hidden = hidden_input("expected", str(total)) + hidden_input("add", _join(fields))
    return write_page(heading, text + _form(fields, hidden, button, site), site)


def write_tags_refused(fields: Mapping[str, Any], problem: Problem, site: Site) -> str:
    """Return the page of a form that changed nothing, with what was typed."""
    text = " ".join(f"The tags {e(reason)}." for _, reason in problem.errors)
    text = text or detail_html(problem)
    alert = f'<div class="alert" role="alert">\n<p>No tag was changed. {text}</p>\n</div>\n'
    field = (
        '<label for="merged">New tags</label>'
        f'<input id="merged" name="add" value="{e(_join(fields))}" {_INPUT}>'
    )
    form = _form(fields, field, "Go on", site) if fields.get("tag") else ""
    return write_page("Something needs a correction", alert + form, site)


def _form(fields: Mapping[str, Any], inputs: str, button: str, site: Site) -> str:
    """Return the form for the tags of another form, with these inputs and this button."""
    hidden = "".join(hidden_input("tag", tag) for tag in fields.get("tag", ()))
    hidden += hidden_input("do", fields.get("do", ""))
    return (
        f'<form class="retag" method="post" action="{e(site.path)}/-/tags">{hidden}{inputs}\n'
        f'<p class="buttons"><button class="primary">{button}</button> '
        f'<a class="button" href="{e(site.path)}/tags">Cancel</a></p>\n</form>\n'
    )


def _named(tag: str, count: int) -> str:
    verb = "has" if count == 1 else "have"
    return f"{number_of_bookmarks(count)} {verb} <strong><bdi>{e(tag)}</bdi></strong>"


def _join(fields: Mapping[str, Any]) -> str:
    return ", ".join(fields.get("add", ()))
