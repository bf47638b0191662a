"""The form that adds or changes a bookmark, with errors beside the fields."""

from collections.abc import Iterable, Mapping

from formats.form import HiddenFields
from formats.html.frame import cut, e, hidden_input, hidden_inputs
from formats.listing import list_address
from storage.bookmark import Bookmark

_TEXT = 'dir="auto"'
_URI = f'{_TEXT} required inputmode="url" autocapitalize="none" spellcheck="false"'
_FIELDS = {
    "uri": ("Address", _URI, ""),
    "title": ("Title", _TEXT, "Leave it empty to use the address."),
    "tags": ("Tags", f'{_TEXT} autocapitalize="none"', "Separate tags with commas."),
    "description": ("Description", 'dir="auto" rows="5"', ""),
}
MAX_QUOTE = 300
LABELS = {name: label for name, (label, _, _) in _FIELDS.items()}


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
    cancel_link: str = "",
    errors: Mapping[str, str] = {},
    others: Mapping[str, str] = {},
    choices: Mapping[str, str] = {},
    focus: str = "",
    cancel: bool = True,
) -> str:
    """Return a form with these values.

    `errors`, `others` (the values of another version) and `choices` (more values to choose) are
    HTML that is shown below the fields. A value `created` is kept. The first field with an error
    has the focus, or else the field `focus`. The link back to the list is left out unless `cancel`
    is true.
    """
    focus = next((name for name in _FIELDS if name in errors), focus)
    fields = (
        _field(name, values.get(name, ""), errors.get(name, ""), others.get(name, ""), focus)
        + choices.get(name, "")
        for name in _FIELDS
    )
    created = hidden_input("created", values["created"]) if "created" in values else ""
    return (
        # Otherwise browsers restore the text that was typed into an older version of the form.
        f'<form class="editor" method="post" action="{e(action)}" autocomplete="off">\n'
        f"{hidden_inputs(hidden_fields)}{created}\n{''.join(fields)}"
        f'<p class="buttons"><button class="primary">{save_label}</button>{cancel_link}'
        f"{_back_link(action, hidden_fields) if cancel else ''}</p>\n"
        "</form>\n"
    )


def _field(name: str, value: str, error: str, other: str, focus: str) -> str:
    label, attributes, hint = _FIELDS[name]
    notes = {"error": error, "hint": hint, "theirs": other}
    shown = {kind: note for kind, note in notes.items() if note}
    if shown:
        attributes += f' aria-describedby="{" ".join(f"{name}-{kind}" for kind in shown)}"'
    if error:
        attributes += ' aria-invalid="true"'
    if name == focus:
        attributes += " autofocus"
    described = "".join(
        f'<div class="{kind}" id="{name}-{kind}">{note}</div>\n' for kind, note in shown.items()
    )
    return (
        f'<div class="field">\n<label for="{name}">{label}</label>\n'
        f"{_input(name, value, attributes)}{described}</div>\n"
    )


def _input(name: str, value: str, attributes: str) -> str:
    if name == "description":
        # HTML parsers drop a line break directly after the start tag.
        return f'<textarea id="{name}" name="{name}" {attributes}>\n{e(value)}</textarea>\n'
    return f'<input id="{name}" name="{name}" value="{e(value)}" {attributes}>\n'


def other_value(label: str, value: str) -> str:
    """Return a value that another version of a field has, after a label."""
    shown = f'<span dir="auto">{e(value)}</span>' if value else "<em>nothing</em>"
    return f"<strong>{label}</strong> {shown}"


def tag_choices(tags: Iterable[str], host: str) -> str:
    """Return checkboxes that add tags of other bookmarks of the host, which is HTML."""
    boxes = "".join(
        f'<label><input type="checkbox" name="tags" value="{e(tag)}"> <bdi>{e(tag)}</bdi></label>\n'
        for tag in tags
    )
    legend = f"<legend>Tags of other bookmarks of {host}</legend>"
    return f'<fieldset class="choices">\n{legend}\n{boxes}</fieldset>\n'


def quote_choice(quote: str, is_checked: bool) -> str:
    """Return a checkbox that adds a text to the description."""
    checked = " checked" if is_checked else ""
    return (
        '<p class="choices"><label>'
        f'<input type="checkbox" name="_quote" value="{e(quote)}"{checked}> '
        f'<span>Add <q dir="auto">{e(cut(quote, MAX_QUOTE))}</q></span></label></p>\n'
    )


def _back_link(action: str, hidden_fields: HiddenFields) -> str:
    """Return a link to the bookmark in the list that the form was opened from."""
    if hidden_fields.list_query is None:
        return ""
    base, _, id = action.rpartition("/")  # The action is the address of the service or a bookmark.
    address = list_address(base, hidden_fields.list_query, id)
    return f' <a class="button" href="{e(address)}">Cancel</a>'


def delete_form(action: str, hidden_fields: HiddenFields) -> str:
    """Return a form with a button that deletes this version of the bookmark."""
    return (
        f'<form class="delete" method="post" action="{e(action)}">'
        f"{hidden_input('_method', 'DELETE')}{hidden_inputs(hidden_fields)}"
        "<button>Delete</button></form>\n"
    )
