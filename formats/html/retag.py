"""The forms that change the tags of all bookmarks of a filtered list."""

from formats.html.frame import e, hidden_input, number_of_bookmarks
from formats.html.view import Listing
from storage.errors import BadQuery
from storage.search import parse_expression

_INPUT = 'required dir="auto" autocomplete="off" autocapitalize="none"'


def retag_section(listing: Listing) -> str:
    """Return the forms. Each button names the number of bookmarks that the form changes."""
    if not listing.filter or not listing.page.total or not _has_valid_search(listing):
        return ""
    number = number_of_bookmarks(listing.page.total)
    forms = _form(listing, "add", label="Add tags", button=f"Add to {number}")
    forms += _form(listing, "remove", label="Remove tags", button=f"Remove from {number}")
    match listing.filter:
        case [("tag", tag)]:  # The filter is this tag alone.
            label, button = f"Rename <bdi>{e(tag)}</bdi> to", f"Rename in {number}"
            forms = _form(listing, "add", label, button, renamed_tag=tag) + forms
    return f"<section>\n<h2>Change tags</h2>\n{forms}</section>\n"


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


def _form(listing: Listing, field: str, label: str, button: str, renamed_tag: str = "") -> str:
    """Return a form whose `field` has tags to `add` or to `remove`.

    With `renamed_tag`, the form removes that tag and adds those of the field in its place.
    """
    id = "rename" if renamed_tag else f"{field}-tags"
    hidden = "".join(hidden_input(name, value) for name, value in listing.filter)
    # The service refuses the change if the filter selects more or fewer bookmarks by then.
    hidden += hidden_input("expected", str(listing.page.total))
    hidden += hidden_input("_list", listing.list_query)
    hidden += hidden_input("remove", renamed_tag) if renamed_tag else ""
    return (
        f'<form class="retag" method="post" action="{e(listing.site.path)}/-/retag">{hidden}\n'
        f'<label for="{id}">{label}</label>\n<input id="{id}" name="{field}" {_INPUT}>\n'
        f"<button>{button}</button>\n</form>\n"
    )
