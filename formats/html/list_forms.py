"""The forms that change or delete several bookmarks."""

from collections.abc import Mapping

from formats.html.editor import shown_version
from formats.html.frame import Note, e, field_note, number_of_bookmarks, post_form
from formats.listing import Listing, Parameters

# Labels of buttons by value. The key Enter presses the first one.
_TAG_ACTIONS = {"add": "Add tags", "remove": "Remove tags"}
# CSS shows "Mark as read" while an unread bookmark is checked, and else "Mark as unread".
_ACTIONS = {"read": "Mark as read", "unread": "Mark as unread", "delete": "Delete"}
_CLASSES = {"add": "primary", "merge": "primary", "delete": "wrong"}
CHECKED = (
    '<div><p role="status"></p>\n'  # script.js adds how many are checked.
    '<button type="reset" class="more" aria-label="Uncheck all">×</button></div>\n'
)


def select_button(form: str) -> str:
    """Return the control that shows the checkboxes of a form.

    On touch screens, CSS shows the checkboxes while `selecting` is checked.
    """
    return f"""\
<label class="select"><input type="checkbox" class="unseen" form="{form}" id="selecting">\
Select</label>
<button type="reset" form="{form}" class="select">Done</button>
"""


def tags_field(
    id: str, label: str, value: str = "", error: str = "", placeholder: str = ""
) -> str:
    attributes, note = field_note(id, Note("error", error))
    # script.js adds suggestions to the <div>.
    return f"""\
<label for="{id}">{label}</label>
<div class="combo"><input id="{id}" name="tags" value="{e(value)}" dir="auto" \
autocomplete="off" autocapitalize="none" placeholder="{placeholder}" \
data-completes="tags"{attributes}></div>
{note}"""


def buttons(labels: Mapping[str, str]) -> str:
    html = ""
    for action, label in labels.items():
        style = _CLASSES.get(action, "quiet")
        html += f'<button class="{style}" name="do" value="{action}">{label}</button>\n'
    return html


def checkbox(id: str) -> str:
    """Return a checkbox of the form `many`, for an item of a list."""
    return f"<input type=checkbox form=many name=selected value={id} aria-label=Select>"


def bar(listing: Listing) -> str:
    """Return the form for the selected bookmarks of a list."""
    if listing.site.is_visitor:
        return ""
    # The service changes only bookmarks whose version is in `_shown`.
    shown = " ".join(map(shown_version, listing.selection.entries))
    hidden = [("_list", listing.list_query), ("_shown", shown)]
    tags = tags_field("selected-tags", "Tags", placeholder="Tags") + buttons(_TAG_ACTIONS)
    # Narrow screens show the field after the button "Tags" is pressed.
    content = (
        f'{CHECKED}<div>'
        '<button type="button" class="quiet" popovertarget="tagging">Tags</button>\n'
        f'<div id="tagging" popover><div>{tags}</div></div>\n'
        f"{buttons(_ACTIONS)}</div>\n"
    )
    path = f"{listing.site.path}/-/selected"
    return post_form(path, hidden, content, attributes='class="bar" id="many"')


def retag_menu(listing: Listing) -> str:
    total = listing.selection.total
    if not listing.linked_filter or not total or listing.site.is_visitor:
        return ""
    hidden: Parameters = [
        *listing.filter,
        ("expected", str(total)),  # The service refuses the form if the total has changed.
        ("_list", listing.list_query),
    ]
    number = number_of_bookmarks(total)
    forms = _retag_form(listing, hidden, number) + _rename_form(listing, hidden)
    return (
        '<details class="menu" id="retag" name="menu"><summary>Change tags</summary>\n'
        f"<div>{forms}</div></details>\n"
    )


def _retag_form(listing: Listing, hidden: Parameters, number: str) -> str:
    labels = {"add": "Add tags", "ask": "Remove tags"}  # The service asks before removing.
    content = tags_field("list-tags", f"Tags for {number}", placeholder="Separated by commas")
    content += f'<p class="buttons">{buttons(labels)}</p>\n'
    path = f"{listing.site.path}/-/retag"
    return post_form(path, hidden, content, attributes='class="retag"')


def _rename_form(listing: Listing, hidden: Parameters) -> str:
    """Return the form that renames the tag, if the filter is a single tag."""
    name, tag = listing.filter[0]
    if name != "tag" or len(listing.filter) > 1:
        return ""
    label = f"Rename <bdi>#{e(tag)}</bdi> to"
    content = tags_field("rename", label, placeholder="New name")
    content += buttons({"rename": "Rename"})
    path = f"{listing.site.path}/-/tags"
    return post_form(path, hidden, content, attributes='class="retag"')
