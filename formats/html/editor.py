"""The form that adds or changes a bookmark, with errors beside the fields."""

from collections.abc import Iterable, Mapping

from formats.form import HiddenFields
from formats.html.frame import cut, e, hidden_input, hidden_inputs
from formats.listing import list_address
from storage.bookmark import Bookmark

_URI_ATTRIBUTES = 'dir="auto" required inputmode="url" autocapitalize="none" spellcheck="false"'
# The label, the HTML attributes and the hint (empty for none) of each field, by its name.
_FIELDS = {
    "uri": ("Address", _URI_ATTRIBUTES, ""),
    "title": ("Title", 'dir="auto"', "Leave it empty to use the address."),
    "tags": ("Tags", 'dir="auto" autocapitalize="none"', "Separate tags with commas."),
    "description": ("Description", 'dir="auto" rows="5"', ""),
}
LABELS = {name: label for name, (label, _attributes, _hint) in _FIELDS.items()}

# The checkbox that adds a new description to the saved one shows at most this many characters.
MAX_ADDED_TEXT_SHOWN = 300


def form_values(b: Bookmark) -> dict[str, str]:
    """Return a bookmark's values as the form's fields show them."""
    return {
        "uri": b.uri,
        "title": b.title,
        "tags": ", ".join(b.tags),
        "description": b.description,
    }


def edit_form(
    action: str,
    values: Mapping[str, str],
    hidden_fields: HiddenFields,
    save_label: str = "Save",
    *,
    # These three map the name of a field to HTML that is shown below the field.
    errors_html: Mapping[str, str] = {},
    other_values_html: Mapping[str, str] = {},  # Such as the value that another client has saved.
    checkboxes: Mapping[str, str] = {},  # A ticked box adds its text to the field's value.
    focus: str = "",
    extra_link: str = "",
    has_cancel_link: bool = True,
) -> str:
    """Return the form that adds or changes a bookmark, with `values` in its fields.

    The first field with an error has the focus, or else the field named `focus`. `extra_link` is
    HTML beside the button to save. The link to cancel leads back to the list.
    """
    focus = next((name for name in _FIELDS if name in errors_html), focus)
    fields = []
    for name in _FIELDS:
        error, other_value = errors_html.get(name, ""), other_values_html.get(name, "")
        fields.append(_field(name, values.get(name, ""), error, other_value, focus))
        fields.append(checkboxes.get(name, ""))
    # A form that puts back a deleted bookmark keeps the time when the bookmark was created.
    created = hidden_input("created", values["created"]) if "created" in values else ""
    cancel_link = _cancel_link(action, hidden_fields) if has_cancel_link else ""
    return (
        # Without autocomplete="off", a reload could put old typed text into a newer version's form.
        f'<form class="editor" method="post" action="{e(action)}" autocomplete="off">\n'
        f"{hidden_inputs(hidden_fields)}{created}\n{''.join(fields)}"
        f'<p class="buttons"><button class="primary">{save_label}</button>{extra_link}'
        f"{cancel_link}</p>\n"
        "</form>\n"
    )


def _field(name: str, value: str, error: str, other_value: str, focus: str) -> str:
    label, attributes, hint = _FIELDS[name]
    # The notes below the field, as HTML by CSS class; empty ones are left out. The note `theirs` is
    # another value of the field, such as the one that another client has saved.
    notes = {"error": error, "hint": hint, "theirs": other_value}
    notes = {css_class: note for css_class, note in notes.items() if note}
    if notes:
        ids = " ".join(f"{name}-{css_class}" for css_class in notes)
        attributes += f' aria-describedby="{ids}"'
    if error:
        attributes += ' aria-invalid="true"'
    if name == focus:
        attributes += " autofocus"
    notes_html = "".join(
        f'<div class="{css_class}" id="{name}-{css_class}">{note}</div>\n'
        for css_class, note in notes.items()
    )
    return (
        f'<div class="field">\n<label for="{name}">{label}</label>\n'
        f"{_input(name, value, attributes)}{notes_html}</div>\n"
    )


def _input(name: str, value: str, attributes: str) -> str:
    if name == "description":
        # HTML parsers drop one line break after the start tag, so write one before the value.
        return f'<textarea id="{name}" name="{name}" {attributes}>\n{e(value)}</textarea>\n'
    return f'<input id="{name}" name="{name}" value="{e(value)}" {attributes}>\n'


def labelled_value(label: str, value: str) -> str:
    """Return HTML for the other value of a field, shown below it, such as `Saved now: Title`."""
    shown = f'<span dir="auto">{e(value)}</span>' if value else "<em>nothing</em>"
    return f"<strong>{label}</strong> {shown}"


def tag_checkboxes(tags: Iterable[str], host_html: str) -> str:
    """Return checkboxes that add tags which other bookmarks of the host have."""
    boxes = "".join(
        f'<label><input type="checkbox" name="tags" value="{e(tag)}"> <bdi>{e(tag)}</bdi></label>\n'
        for tag in tags
    )
    legend = f"<legend>Tags of other bookmarks of {host_html}</legend>"
    return f'<fieldset class="choices">\n{legend}\n{boxes}</fieldset>\n'


def description_checkbox(sent_description: str, is_checked: bool) -> str:
    """Return a checkbox that adds this text to the description when the form is saved.

    The bookmarklet, or a user, sent it for a bookmark that exists already. The stored description
    must not change unless the user agrees.
    """
    checked = " checked" if is_checked else ""
    return (
        '<p class="choices"><label>'
        # `take_hidden_fields` appends `_quote` to the description.
        f'<input type="checkbox" name="_quote" value="{e(sent_description)}"{checked}> '
        f'<span>Add <q dir="auto">{e(cut(sent_description, MAX_ADDED_TEXT_SHOWN))}</q></span>'
        "</label></p>\n"
    )


def _cancel_link(action: str, hidden_fields: HiddenFields) -> str:
    """Return a link to the bookmark in the list that the user opened the form from."""
    if hidden_fields.list_query is None:  # The user did not come from a list.
        return ""
    # `action` is PATH/ID for a stored bookmark, PATH/ for a new one, whose id is empty here.
    base_path, _, id = action.rpartition("/")
    address = list_address(base_path, hidden_fields.list_query, id)
    return f' <a class="button" href="{e(address)}">Cancel</a>'


def delete_form(action: str, hidden_fields: HiddenFields) -> str:
    """Return a form that deletes the bookmark, unless it has changed since the page was made."""
    return (
        f'<form class="delete" method="post" action="{e(action)}">'
        f"{hidden_input('_method', 'DELETE')}{hidden_inputs(hidden_fields)}"
        "<button>Delete</button></form>\n"
    )
