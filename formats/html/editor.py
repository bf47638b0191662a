"""The form that adds or changes a bookmark, with errors beside the fields."""

from collections.abc import Mapping

from formats.form import Controls
from formats.html.frame import e, hidden_controls, hidden_field
from formats.listing import list_address
from storage.bookmark import Bookmark

_TEXT = 'dir="auto" autocomplete="off"'
_URI = f'{_TEXT} required inputmode="url" autocapitalize="none" spellcheck="false"'
_FIELDS = {
    "uri": ("Address", _URI, ""),
    "title": ("Title", _TEXT, "Leave it empty to use the address."),
    "tags": ("Tags", f'{_TEXT} autocapitalize="none"', "Separate tags with commas."),
    "description": ("Description", 'dir="auto" rows="5"', ""),
}
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
    controls: Controls,
    save_label: str = "Save",
    *,
    cancel_link: str = "",
    errors: Mapping[str, str] | None = None,
    saved: Mapping[str, str] | None = None,
    focus: str = "",
    cancel: bool = True,
) -> str:
    """Return a form with these values.

    `errors`, as HTML, and the `saved` values of another client are shown beside their fields. A
    value `created` is kept. The first field with an error has the focus, or else the field
    `focus`. The link back to the list is left out unless `cancel` is true.
    """
    errors, saved = errors or {}, saved or {}
    focus = next((name for name in _FIELDS if name in errors), focus)
    fields = (
        _field(name, values.get(name, ""), errors.get(name, ""), saved.get(name), focus)
        for name in _FIELDS
    )
    created = hidden_field("created", values["created"]) if "created" in values else ""
    return (
        f'<form class="editor" method="post" action="{e(action)}">\n'
        f"{hidden_controls(controls)}{created}\n{''.join(fields)}"
        f'<p class="buttons"><button class="primary">{save_label}</button>{cancel_link}'
        f"{_back_link(action, controls) if cancel else ''}</p>\n"
        "</form>\n"
    )


def _field(name: str, value: str, error: str, saved: str | None, focus: str) -> str:
    label, attributes, hint = _FIELDS[name]
    notes = {"error": error, "hint": hint, "theirs": _saved_note(value, saved)}
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


def _saved_note(typed: str, saved: str | None) -> str:
    """Return a note with the value that another client saved, if it differs from the typed one."""
    if saved is None or saved == typed.replace("\r\n", "\n"):
        return ""
    shown = f'<span dir="auto">{e(saved)}</span>' if saved else "<em>nothing</em>"
    return f"<strong>Saved now:</strong> {shown}"


def _back_link(action: str, controls: Controls) -> str:
    """Return a link to the bookmark in the list that the form was opened from."""
    if controls.way_back is None:
        return ""
    base, _, id = action.rpartition("/")  # The action is the address of the service or a bookmark.
    return f' <a class="button" href="{e(list_address(base, controls.way_back, id))}">Cancel</a>'


def delete_form(action: str, controls: Controls) -> str:
    """Return a form with a button that deletes this version of the bookmark."""
    return (
        f'<form class="delete" method="post" action="{e(action)}">'
        f"{hidden_field('_method', 'DELETE')}{hidden_controls(controls)}"
        "<button>Delete</button></form>\n"
    )
