"""The forms that change or delete several bookmarks."""

from collections.abc import Mapping

from formats.html.editor import shown_version
from formats.html.frame import e, field_note, number_of_bookmarks, post_form
from formats.listing import Listing, Parameters

# The labels of buttons by the values that they send. The key Enter presses the first button.
_TAG_ACTIONS = {"add": "Add tags", "remove": "Remove tags"}
_ACTIONS = {"read": "Mark as read", "delete": "Delete"}
_CLASSES = {"add": "primary", "merge": "primary", "delete": "wrong"}
# On touch screens, CSS shows the checkboxes of the items only while this checkbox is checked.
SELECT = (
    '<label class="select"><input type="checkbox" class="unseen" form="many" id="selecting">'
    "Select</label>"
)
STATUS = '<p role="status"></p>\n'  # script.js writes the number of checked boxes here.
UNCHECK = '<button type="reset" class="more" aria-label="Uncheck all">×</button>\n'


def tags_field(
    id: str, label: str, value: str = "", error: str = "", placeholder: str = ""
) -> str:
    """Return a text field for tags, with the HTML `error` below it.

    In a bar, where CSS hides labels, the field needs a placeholder.
    """
    attributes, note = field_note(id, ("error", error))
    # script.js adds the list of known tags to the element around the field.
    return f"""\
<label for="{id}">{label}</label>
<div class="combo"><input id="{id}" name="tags" value="{e(value)}" dir="auto" \
autocomplete="off" autocapitalize="none" placeholder="{placeholder}" \
data-completes="tags"{attributes}></div>
{note}"""


def buttons(labels: Mapping[str, str]) -> str:
    """Return a button for each label. The button sends the key of its label."""
    html = ""
    for action, label in labels.items():
        style = _CLASSES.get(action, "quiet")
        html += f'<button class="{style}" name="do" value="{action}">{label}</button>\n'
    return html


def bar(listing: Listing) -> str:
    """Return the form of the checkboxes and buttons of a list's items.

    CSS shows the form only while a checkbox is checked.
    """
    if listing.site.is_visitor:
        return ""
    shown = " ".join(map(shown_version, listing.selection.entries))
    hidden = [("_list", listing.list_query), ("_shown", shown)]
    tags = tags_field("selected-tags", "Tags", placeholder="Tags") + buttons(_TAG_ACTIONS)
    # On narrow screens, the first button opens the field for tags.
    content = (
        f'{UNCHECK}{STATUS}'
        '<button type="button" class="quiet" popovertarget="tagging">Tags</button>\n'
        f'<div id="tagging" popover><div>{tags}</div></div>\n'
        f"{buttons(_ACTIONS)}"
    )
    path = f"{listing.site.path}/-/selected"
    return post_form(path, hidden, content, attributes='class="bar" id="many"')


def retag_menu(listing: Listing) -> str:
    """Return the forms that change the tags of all bookmarks of a filtered list."""
    total = listing.selection.total
    if not listing.linked_filter or not total or listing.site.is_visitor:
        return ""
    hidden: Parameters = [
        *listing.filter,
        ("expected", str(total)),  # If this has changed, the service changes nothing.
        ("_list", listing.list_query),
    ]
    number = number_of_bookmarks(total)
    forms = _retag_form(listing, hidden, number) + _rename_form(listing, hidden)
    return (
        '<details class="menu" id="retag"><summary>Change tags</summary>\n'
        f"<div>{forms}</div></details>\n"
    )


def _retag_form(listing: Listing, hidden: Parameters, number: str) -> str:
    # The service asks before it removes tags.
    labels = {"add": "Add", "ask": "Remove"}
    content = tags_field("list-tags", f"Tags for {number}") + buttons(labels)
    path = f"{listing.site.path}/-/retag"
    return post_form(path, hidden, content, attributes='class="retag"')


def _rename_form(listing: Listing, hidden: Parameters) -> str:
    """Return the form that renames a tag, if the filter is just this tag."""
    name, tag = listing.filter[0]
    if name != "tag" or len(listing.filter) > 1:
        return ""
    content = tags_field("rename", f"Rename <bdi>{e(tag)}</bdi> to")
    content += buttons({"rename": "Rename"})
    path = f"{listing.site.path}/-/tags"
    return post_form(path, hidden, content, attributes='class="retag"')
