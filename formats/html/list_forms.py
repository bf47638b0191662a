"""The forms that change the tags of several bookmarks. Each has one field for tags."""

from collections.abc import Mapping

from formats.html.editor import shown_version
from formats.html.frame import e, field_note, number_of_bookmarks, post_form
from formats.listing import Listing, Parameters

# The labels of the buttons by their values; Enter in the field for tags does the first.
_ACTIONS = {
    "add": "Add tags",
    "remove": "Remove tags",
    "read": "Mark as read",
    "delete": "Delete",
}


def tags_field(id: str, label: str, value: str = "", error: str = "") -> str:
    """Return a field for tags, with the error below it, as HTML, if there is one."""
    attributes, note = field_note(id, ("error", error))
    return (
        f'<label for="{id}">{label}</label>\n'
        f'<input id="{id}" name="tags" value="{e(value)}" dir="auto" autocomplete="off" '
        f'autocapitalize="none" data-completes="tags"{attributes}>\n{note}'
    )


def buttons(labels: Mapping[str, str]) -> str:
    """Return a button for each action, by the value that it sends."""
    return "".join(
        f'<button name="do" value="{action}">{label}</button>\n'
        for action, label in labels.items()
    )


def bar(listing: Listing) -> str:
    """Return the form that the checkboxes of a list belong to, with the versions on the page.

    The style shows it while something is checked.
    """
    shown = " ".join(map(shown_version, listing.selection.entries))
    hidden = [("_list", listing.list_query), ("_shown", shown)]
    content = f'<p role="status"></p>\n{tags_field("selected-tags", "Tags")}{buttons(_ACTIONS)}'
    return post_form(f"{listing.site.path}/-/selected", hidden, content, 'class="bar" id="many"')


def retag_section(listing: Listing) -> str:
    """Return the forms that change all bookmarks of a filtered list; each button says how many."""
    if not listing.filter or not listing.selection.total:
        return ""
    path, total = listing.site.path, listing.selection.total
    # The service refuses the change if the filter selects more or fewer bookmarks by then.
    hidden: Parameters = [*listing.filter, ("expected", str(total)), ("_list", listing.list_query)]
    number = number_of_bookmarks(total)
    labels = {"add": f"Add to {number}", "remove": f"Remove from {number}"}
    content = tags_field("list-tags", "Tags") + buttons(labels)
    forms = post_form(f"{path}/-/retag", hidden, content, 'class="retag"')
    match listing.filter:
        case [("tag", tag)]:  # The filter is this tag alone.
            field = tags_field("rename", f"Rename <bdi>{e(tag)}</bdi> to")
            content = field + buttons({"rename": f"Rename in {number}"})
            forms += post_form(f"{path}/-/tags", hidden, content, 'class="retag"')
    return f'<section id="retag">\n<h2>Change tags</h2>\n{forms}</section>\n'
