"""The form that adds or changes a bookmark: reading, merging and writing it."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from formats.html.frame import cut, e, hidden_input
from formats.html.view import list_address
from storage.bookmark import WRITABLE_FIELDS, Bookmark, Fields, fold_tag, split_tags
from storage.index import Entry

_URI_ATTRIBUTES = 'dir="auto" required inputmode="url" autocapitalize="none" spellcheck="false"'
_TAGS_ATTRIBUTES = 'dir="auto" autocapitalize="none" data-completes="tags"'
# The label, the HTML attributes and the hint (empty for none) of each field, by its name.
_FIELDS = {
    "uri": ("Address", _URI_ATTRIBUTES, ""),
    "title": ("Title", 'dir="auto"', "Leave it empty to use the address."),
    "tags": ("Tags", _TAGS_ATTRIBUTES, "Separate tags with commas."),
    "description": ("Description", 'dir="auto" rows="5"', ""),
}
LABELS = {name: label for name, (label, _attributes, _hint) in _FIELDS.items()}

# The checkbox that adds a new description to the saved one shows at most this many characters.
MAX_ADDED_TEXT_SHOWN = 300
UNREAD = "unread"  # The tag of the bookmarks to read later.


# An address as people type it, to which `complete_address` adds https://. It begins with localhost,
# a name with a dot or an IPv6 address, and may go on with a port, path, query or fragment. Texts
# such as `mailto.x:abc` do not match: no port follows the colon, so `mailto.x` is a scheme.
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|[\w-]+(?:\.[\w-]+)+\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)


def complete_address(text: str) -> str:
    """Return an address, with `https://` in front if people typed it without a scheme."""
    address = text.strip()
    return f"https://{address}" if _WITHOUT_SCHEME.match(address) else text


class BookmarkForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a bookmark: the texts in its fields, and its hidden fields."""

    uri: str = ""
    title: str = ""
    tags: str = ""  # Separated by commas.
    description: str = ""
    opened: str = ""  # The `field_digests` of the version that the form was opened with.
    list_query: str | None = None  # Of the list to return to; None if there is none.
    closes_window: str = ""  # "1" if the bookmarklet has opened the window of the form.

    @classmethod
    def new(cls, query: Mapping[str, str], uri: str) -> "BookmarkForm":
        """Return the form for a new bookmark, filled from the query of its page."""
        texts = {name: query.get(name, "") for name in ("title", "tags", "description")}
        return _returning(cls(uri=uri, **texts), query)

    @classmethod
    def of(cls, entry: Entry, query: Mapping[str, str] = {}) -> "BookmarkForm":
        """Return the form of a stored bookmark, opened by a page with this query."""
        form = cls(**form_values(entry.bookmark), opened=field_digests(entry.bookmark))
        return _returning(form, query)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "BookmarkForm":
        """Return the form that a browser has sent. If `_quote` is ticked, add its text."""
        description, tags = fields.get("description", ""), [*fields.get("tags", ())]
        tags += [UNREAD] if fields.get("unread") else []
        if quote := fields.get("_quote"):
            description = f"{description}\n\n{quote}"
        return cls(
            uri=fields.get("uri", ""),
            title=fields.get("title", ""),
            tags=", ".join(tags),
            description=description,
            opened=fields.get("_opened", ""),
            list_query=fields.get("_list"),
            closes_window=fields.get("_close", ""),
        )

    def fields(self, uri: str) -> dict[str, object]:
        """Return the fields of a bookmark with this uri, which is that of the form or completed."""
        texts: dict[str, object] = {"title": self.title, "description": self.description}
        return {"uri": uri, "tags": split_tags(self.tags)} | texts

    def changes(self, entry: Entry, fields: Fields) -> tuple[Fields, list[str]]:
        """Return the fields that the user has changed since the form was opened (three-way merge).

        Return also the names of those that another client has changed, too, to other values.
        """
        opened = dict(zip(WRITABLE_FIELDS, self.opened.split(), strict=False))
        stored = {name: _digest(getattr(entry.bookmark, name)) for name in WRITABLE_FIELDS}
        sent = {name: _digest(value) for name, value in fields.items()}
        changed = {name: fields[name] for name in fields if sent[name] != opened.get(name)}
        is_conflict = (n for n in changed if stored[n] not in (opened.get(n), sent[n]))
        return changed, list(is_conflict)


def _returning(form: BookmarkForm, query: Mapping[str, str]) -> BookmarkForm:
    """Return the form that leads back to where its page, which has this query, was opened."""
    return replace(form, list_query=query.get("_list"), closes_window=query.get("close", ""))


def shown_versions(entries: Iterable[Entry]) -> str:
    """Return the ids and versions on a page, for its forms that delete or change bookmarks."""
    return " ".join(f"{entry.bookmark.id}:{_version(entry)}" for entry in entries)


def is_shown_version(entry: Entry, shown: str) -> bool:
    """Return whether the page had this version of the bookmark."""
    return f"{entry.bookmark.id}:{_version(entry)}" in shown.split()


def _version(entry: Entry) -> str:
    # 40 bits tell the versions of one bookmark apart, and lists have many of them.
    return f"{entry.version & 0xFF_FFFF_FFFF:010x}"


def form_values(b: Bookmark) -> dict[str, str]:
    """Return a bookmark's values as the form's fields show them."""
    tags = ", ".join(b.tags)
    return {"uri": b.uri, "title": b.title, "tags": tags, "description": b.description}


def field_digests(bookmark: Bookmark) -> str:
    """Return a digest of each field, separated by spaces, in the order of WRITABLE_FIELDS.

    Each form sends back the digests of the values that it was opened with, because the service
    keeps no old versions. The values themselves would make the form twice as large.
    """
    return " ".join(_digest(getattr(bookmark, name)) for name in WRITABLE_FIELDS)


def _digest(value: object) -> str:
    if isinstance(value, (list, tuple)):  # A checkbox loses the place and the case of UNREAD.
        others = [tag for tag in value if not _is_unread(tag)]
        value = [*others, UNREAD] if len(others) < len(value) else value
    # 8 bytes keep a form short. Two values with the same digest are too rare to occur by chance.
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()


def _is_unread(tag: str) -> bool:
    return fold_tag(tag) == UNREAD


def hidden_inputs(form: BookmarkForm) -> str:
    """Return the hidden fields of a form as HTML; empty ones are left out."""
    values = {
        "_list": form.list_query,  # An empty query is that of all bookmarks.
        "_close": form.closes_window or None,
        "_opened": form.opened or None,
    }
    return "".join(hidden_input(name, text) for name, text in values.items() if text is not None)


def edit_form(
    action: str,
    form: BookmarkForm,
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
    """Return the HTML of a form that is sent to `action`.

    The first field with an error has the focus, or else the field named `focus`. `extra_link` is
    HTML beside the button to save. The link to cancel leads back to the list.
    """
    focus = next((name for name in _FIELDS if name in errors_html), focus)
    fields, tags = [], split_tags(form.tags)
    values = {name: getattr(form, name) for name in _FIELDS}
    if is_unread := any(map(_is_unread, tags)):
        values["tags"] = ", ".join(tag for tag in tags if not _is_unread(tag))
    for name in _FIELDS:
        error, other_value = errors_html.get(name, ""), other_values_html.get(name, "")
        fields.append(_field(name, values[name], error, other_value, focus))
        fields.append(checkboxes.get(name, ""))
    cancel_link = _cancel_link(action, form) if has_cancel_link else ""
    return (
        # Without autocomplete="off", a reload could put old typed text into a newer version's form.
        f'<form class="editor" method="post" action="{e(action)}" autocomplete="off">\n'
        f"{hidden_inputs(form)}\n{''.join(fields)}"
        '<p class="choices"><label><input type="checkbox" name="unread" value="1"'
        f'{" checked" if is_unread else ""}> Read later</label></p>\n'
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
        # `BookmarkForm.read` appends `_quote` to the description.
        f'<input type="checkbox" name="_quote" value="{e(sent_description)}"{checked}> '
        f'<span>Add <q dir="auto">{e(cut(sent_description, MAX_ADDED_TEXT_SHOWN))}</q></span>'
        "</label></p>\n"
    )


def _cancel_link(action: str, form: BookmarkForm) -> str:
    """Return a link to the bookmark in the list that the user opened the form from."""
    if form.list_query is None:  # The user did not come from a list.
        return ""
    path, _, edited = action.partition("/-/")  # `add` for a new bookmark, else `edit/ID`.
    address = list_address(path, form.list_query, edited.partition("/")[2])
    return f' <a class="button" href="{e(address)}">Cancel</a>'


def delete_form(path: str, entry: Entry, list_query: str | None) -> str:
    """Return a form that deletes the bookmark, unless it has changed since the page was made."""
    hidden = hidden_input("_shown", shown_versions([entry]))
    hidden += "" if list_query is None else hidden_input("_list", list_query)
    return (
        f'<form class="delete" method="post" action="{e(path)}/-/delete/{entry.bookmark.id}">'
        f"{hidden}<button>Delete</button></form>\n"
    )
