"""The forms that change the tags of all bookmarks of a filtered list."""

from collections.abc import Mapping
from typing import Any

from formats.html.frame import e, hidden_input, list_link, number_of_bookmarks
from formats.html.problem import HEADINGS, Problem, detail_html, write_page
from formats.html.view import Listing, Parameters, Site, parse_count
from storage.errors import BadQuery
from storage.search import parse_expression

_INPUT = 'required dir="auto" autocomplete="off" autocapitalize="none" data-completes="tags"'


def retag_section(listing: Listing) -> str:
    """Return the forms. Each button names the number of bookmarks that the form changes."""
    if not listing.filter or not listing.page.total or not _has_valid_search(listing):
        return ""
    hidden = _hidden_inputs(listing.filter, listing.page.total, listing.list_query)
    number = number_of_bookmarks(listing.page.total)
    forms = _form(listing.site, hidden, "add", "Add tags", f"Add to {number}")
    forms += _form(listing.site, hidden, "remove", "Remove tags", f"Remove from {number}")
    match listing.filter:
        case [("tag", tag)]:  # The filter is this tag alone.
            forms = _rename_form(listing, tag, number) + forms
    return f'<section id="retag">\n<h2>Change tags</h2>\n{forms}</section>\n'


def write_retagging_refused(fields: Mapping[str, Any], problem: Problem, site: Site) -> str:
    """Return the page of a form that changed nothing, with what was typed and a way back."""
    total = parse_count(fields, "expected") or 0
    filter = [("tag", tag) for tag in fields.get("tag", ())]
    filter += [("q", fields["q"])] if fields.get("q") else []
    list_query = fields.get("_list", "")
    hidden, number = _hidden_inputs(filter, total, list_query), number_of_bookmarks(total)
    added, removed = (", ".join(fields.get(name, ())) for name in ("add", "remove"))
    if removed:
        form = _form(site, hidden, "remove", "Remove tags", f"Remove from {number}", removed)
    else:
        form = _form(site, hidden, "add", "Add tags", f"Add to {number}", added)
    reasons = [reason for name, reason in problem.errors if name in ("add", "remove")]
    text = " ".join(f"The tags {e(reason)}." for reason in reasons) or detail_html(problem)
    heading = HEADINGS.get(problem.status, "This did not work")
    alert = f'<div class="alert" role="alert">\n<p>No tag was changed. {text}</p>\n</div>\n'
    return write_page(heading, f"{alert}{form if total else ''}{list_link(site, list_query)}", site)


def _has_valid_search(listing: Listing) -> bool:
    """Return whether the search has no syntax error.

    With a syntax error, the list shows all bookmarks that have the words of the search. These can
    be more bookmarks than the user wants to change.
    """
    try:
        parse_expression(dict(listing.filter).get("q", ""))
    except BadQuery:
        return False  # The service would refuse to change tags by this search.
    return True


def _hidden_inputs(filter: Parameters, total: int, list_query: str) -> str:
    hidden = "".join(hidden_input(name, value) for name, value in filter)
    # The service refuses the change if the filter selects more or fewer bookmarks by then.
    return hidden + hidden_input("expected", str(total)) + hidden_input("_list", list_query)


def _rename_form(listing: Listing, tag: str, number: str) -> str:
    """Return the form that puts a new tag in the place of this one."""
    hidden = hidden_input("tag", tag) + hidden_input("expected", str(listing.page.total))
    return (
        f'<form class="retag" method="post" action="{e(listing.site.path)}/-/tags">{hidden}\n'
        f'<label for="rename">Rename <bdi>{e(tag)}</bdi> to</label>\n'
        f'<input id="rename" name="add" {_INPUT}>\n<button>Rename in {number}</button>\n</form>\n'
    )


def _form(
    site: Site, hidden: str, field: str, label: str, button: str, value: str = ""
) -> str:
    """Return a form whose `field` has tags to `add` or to `remove`."""
    id = f"{field}-tags"
    return (
        f'<form class="retag" method="post" action="{e(site.path)}/-/retag">{hidden}\n'
        f'<label for="{id}">{label}</label>\n'
        f'<input id="{id}" name="{field}" value="{e(value)}" {_INPUT}>\n'
        f"<button>{button}</button>\n</form>\n"
    )
