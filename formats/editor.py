"""The form that adds or changes a bookmark, with what is wrong beside each field."""

from collections.abc import Mapping

from formats.frame import e, hidden
from storage.bookmark import Bookmark

# What a form says that edits no version: it is to add a bookmark, and to change none.
NEW = "new"

_TEXT = 'dir="auto" autocomplete="off"'
_URI = f'{_TEXT} required inputmode="url" autocapitalize="none" spellcheck="false"'
_INPUTS = {
    "uri": ("Address", _URI, ""),
    "title": ("Title", _TEXT, "Left empty, it becomes the address."),
    "tags": ("Tags", f'{_TEXT} autocapitalize="none"', "Commas part them."),
    "description": ("Description", 'dir="auto" rows="5"', ""),
}
LABELS = {name: label for name, (label, _, _) in _INPUTS.items()}


def fields_of(b: Bookmark) -> dict[str, str]:
    """A bookmark's values as the form's fields have them."""
    return {
        "uri": b.uri,
        "title": b.title,
        "tags": ", ".join(b.tags),
        "description": b.description,
    }


def form(
    action: str,
    fields: Mapping[str, str],
    version: str,
    save: str = "Save",
    *,
    instead: str = "",
    errors: Mapping[str, str] | None = None,
    theirs: Mapping[str, str] | None = None,
    focus: str = "",
) -> str:
    """A form filled in with these fields.

    `instead` is a link beside the button; `errors` are html, and `theirs` the values that somebody
    else saved, by field. `focus` names the field to begin with, unless one is wrong.
    """
    wrong = errors or {}
    focus = next((name for name in _INPUTS if name in wrong), focus)
    inputs = (
        _field(name, fields.get(name, ""), wrong.get(name, ""), (theirs or {}).get(name), focus)
        for name in _INPUTS
    )
    return (
        f'<form class="editor" method="post" action="{e(action)}">\n'
        f"{hidden('_version', version)}\n{''.join(inputs)}"
        f'<p class="buttons"><button class="primary">{save}</button>{instead}</p>\n</form>\n'
    )


def _field(name: str, value: str, error: str, theirs: str | None, focus: str) -> str:
    label, attributes, hint = _INPUTS[name]
    notes = {"error": error, "hint": hint, "theirs": _theirs(value, theirs)}
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
        # A parser drops a line break right behind the start tag.
        return f'<textarea id="{name}" name="{name}" {attributes}>\n{e(value)}</textarea>\n'
    return f'<input id="{name}" name="{name}" value="{e(value)}" {attributes}>\n'


def _theirs(mine: str, theirs: str | None) -> str:
    """What somebody else saved in this field, if it differs."""
    if theirs is None or theirs == mine.replace("\r\n", "\n"):
        return ""
    shown = f'<span dir="auto">{e(theirs)}</span>' if theirs else "<em>nothing</em>"
    return f"<strong>What is saved:</strong> {shown}"


def delete_form(action: str, version: str) -> str:
    """A button that deletes this version of the bookmark."""
    return (
        f'<form class="delete" method="post" action="{e(action)}">'
        f"{hidden('_method', 'DELETE')}{hidden('_version', version)}"
        "<button>Delete</button></form>\n"
    )
