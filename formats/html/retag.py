"""The forms that change the tags of all bookmarks of a filtered list."""

from formats.html.frame import e, hidden_input, number_of_bookmarks
from formats.listing import Listing
from storage.errors import BadQuery
from storage.search import parse_expression

_INPUT = 'required dir="auto" autocomplete="off" autocapitalize="none"'


def retag_section(listing: Listing) -> str:
    """Return the forms, which name the number of bookmarks that they change."""
    if not listing.filter or not listing.page.total or not _is_selection(listing):
        return ""
    number = number_of_bookmarks(listing.page.total)
    forms = _form(listing, "add", "Add tags", f"Add to {number}")
    forms += _form(listing, "remove", "Remove tags", f"Remove from {number}")
    if [name for name, _ in listing.filter] == ["tag"]:
        tag = listing.filter[0][1]
        label = f"Rename <bdi>{e(tag)}</bdi> to"
        forms = _form(listing, "add", label, f"Rename in {number}", tag) + forms
    return f"<section>\n<h2>Change tags</h2>\n{forms}</section>\n"


def _is_selection(listing: Listing) -> bool:
    """Return whether the search can be parsed: as mere words it may select too much to change."""
    try:
        parse_expression(dict(listing.filter).get("q", ""))
    except BadQuery:
        return False
    return True


def _form(listing: Listing, field: str, label: str, button: str, renamed: str = "") -> str:
    """Return a form with one field for tags, to add, to remove or in place of the renamed tag."""
    id = "rename" if renamed else f"{field}-tags"
    hidden = "".join(hidden_input(name, value) for name, value in listing.filter)
    hidden += hidden_input("expected", str(listing.page.total))
    hidden += hidden_input("_list", listing.list_query)
    hidden += hidden_input("remove", renamed) if renamed else ""
    return (
        f'<form class="retag" method="post" action="{e(listing.base.path)}/tags">{hidden}\n'
        f'<label for="{id}">{label}</label>\n<input id="{id}" name="{field}" {_INPUT}>\n'
        f"<button>{button}</button>\n</form>\n"
    )
