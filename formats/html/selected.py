"""The bar of actions for the checked bookmarks of a list, and the pages of what was not done."""

from collections.abc import Mapping, Sequence
from typing import Any

from formats.html.bookmark import title_link
from formats.html.editor import shown_versions
from formats.html.frame import e, hidden_input, list_link, number_of_bookmarks
from formats.html.problem import HEADINGS, Problem, detail_html, write_page
from formats.html.view import Listing, Site
from storage.index import Entry

# The labels of the buttons by their values; Enter in the field for tags does the first.
ACTIONS = {
    "add": "Add tags",
    "remove": "Remove tags",
    "read": "Mark as read",
    "delete": "Delete",
}
_TAGS_INPUT = 'dir="auto" autocomplete="off" autocapitalize="none" data-completes="tags"'


def bar(listing: Listing) -> str:
    """Return the form that the checkboxes of a list belong to, with the versions on the page.

    The style shows it while something is checked.
    """
    hidden = hidden_input("_list", listing.list_query)
    hidden += hidden_input("_shown", shown_versions(listing.page.entries))
    buttons = "".join(_button(action) for action in ACTIONS)
    return (
        f'<form class="bar" id="many" method="post" action="{e(listing.site.path)}/-/selected">'
        f'{hidden}\n<p role="status"></p>\n{_tags_field("")}\n{buttons}</form>\n'
    )


def _button(action: str) -> str:
    return f'<button name="do" value="{action}">{ACTIONS[action]}</button>\n'


def _tags_field(value: str) -> str:
    return (
        '<label class="unseen" for="selected-tags">Tags</label>'
        f'<input id="selected-tags" name="tags" value="{e(value)}" placeholder="Tags" '
        f"{_TAGS_INPUT}>"
    )


def write_selected_refused(fields: Mapping[str, Any], problem: Problem, site: Site) -> str:
    """Return the page of a form that changed nothing, with what was checked and typed."""
    hidden = "".join(hidden_input("selected", id) for id in fields.get("selected", ()))
    hidden += "".join(hidden_input(name, fields.get(name, "")) for name in ("_list", "_shown"))
    action = fields.get("do", "")
    form = (
        f'<form class="retag" method="post" action="{e(site.path)}/-/selected">{hidden}\n'
        f'{_tags_field(", ".join(fields.get("tags", ())))}\n'
        f'{_button(action) if action in ACTIONS else ""}</form>\n'
    )
    reasons = [f"The {e(name)} {e(reason)}." for name, reason in problem.errors]
    text = " ".join(reasons) or detail_html(problem)
    alert = f'<div class="alert" role="alert">\n<p>Nothing was changed. {text}</p>\n</div>\n'
    main = alert + (form if fields.get("selected") else "")
    heading = HEADINGS.get(problem.status, "This did not work")
    return write_page(heading, main + list_link(site, fields.get("_list", "")), site)


def others_html(others: Sequence[Entry], missing_count: int) -> str:
    """Return a list of the bookmarks that were left alone, because they had changed, or nothing."""
    if not others and not missing_count:
        return ""
    items = "".join(f'<li dir="auto">{title_link(entry.bookmark)}</li>\n' for entry in others)
    items += f"<li>{number_of_bookmarks(missing_count)} deleted</li>\n" if missing_count else ""
    return (
        "<p>These have changed since the list was opened, and were left alone:</p>\n"
        f"<ul>\n{items}</ul>\n"
    )


def write_partly_changed(
    count: int, others: Sequence[Entry], missing_count: int, list_query: str, site: Site
) -> str:
    """Return the page of a change that some of the bookmarks did not get."""
    text = f"<p>{number_of_bookmarks(count)} changed.</p>\n{others_html(others, missing_count)}"
    main = f'<div class="notice alert" role="alert" tabindex="-1" autofocus>\n{text}</div>\n'
    return write_page("Not all were changed", main + list_link(site, list_query), site)
