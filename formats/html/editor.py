"""The form that adds or changes a bookmark."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from formats.html.frame import Note, cut, e, field_note, link_button, post_form, submit_button
from formats.html.parts import host_html
from formats.listing import Parameters, Site, list_address
from storage.bookmark import (
    WRITABLE_FIELDS,
    Bookmark,
    Fields,
    fold,
    from_text,
    split_tags,
)
from storage.index import Entry


class _Input(NamedTuple):
    label: str
    attributes: str = 'dir="auto"'
    is_multiline: bool = False


_INPUTS = {
    "uri": _Input(
        "Address",
        'dir="auto" required inputmode="url" autocapitalize="none" spellcheck="false"',
    ),
    "title": _Input("Title", 'dir="auto" placeholder="The address, if you leave it empty"'),
    "tags": _Input(
        "Tags",
        'dir="auto" placeholder="Separated by commas" autocapitalize="none" '
        'data-completes="tags"',
        is_multiline=True,
    ),
    "description": _Input("Description", is_multiline=True),
}
for _name in WRITABLE_FIELDS:  # Other fields get a plain input.
    _INPUTS.setdefault(_name, _Input(_name.capitalize()))
LABELS = {name: input.label for name, input in _INPUTS.items()}

_CHARACTERS_PER_LINE = 60
_MAX_LINES = 8
_MAX_OFFERED_CHARACTERS = 300
_MAX_VALUE_CHARACTERS = 1000
_MAX_TAG_CHECKBOXES = 8
UNREAD = "unread"  # The tag that means "read later".

# An address typed without its scheme, such as `example.org:8080/page`.
_WITHOUT_SCHEME = re.compile(
    r"""
    ( localhost
    | [\w-]+ (\. [\w-]+)+ \.?
    | \[ [0-9a-f:.]+ \]
    )
    (: [0-9]{1,5} )?
    (?= [/?\#] | $ )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _complete_address(text: str) -> str:
    address = text.strip()
    if _WITHOUT_SCHEME.match(address):
        return f"https://{address}"
    return address


class BookmarkForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a bookmark, as it was sent or as it is to be shown."""

    id: str = ""  # Empty in a form that adds a bookmark.
    texts: Mapping[str, str] = {}  # By field name.
    unread: bool = False  # Stands for the tag UNREAD, which is not in `texts`.
    # Digests of the values when the form was opened, such as `uri:1a2b title:3c4d`. They show
    # which fields the user has changed.
    opened_digests: str = ""
    list_query: str | None = None  # The query of the list where the form was opened.
    closes_window: bool = False  # After saving, a script closes the bookmarklet's window.

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "BookmarkForm":
        """Read the fields of a sent form or of a query."""
        texts = {name: _as_text(fields[name]) for name in LABELS if name in fields}
        texts["uri"] = _complete_address(fields.get("uri", ""))
        opened_digests = fields.get("_opened", "")
        offered_title = fields.get("_title")
        # A title that the user has typed is not replaced.
        if offered_title and _digest("title", texts.get("title")) in opened_digests.split():
            texts["title"] = offered_title
        quote = fields.get("_quote")
        if quote:
            texts["description"] = join_paragraphs(texts.get("description", ""), _as_text(quote))
        tags = fields.get("tags", ())
        other_tags = _without_unread(tags)
        texts["tags"] = _as_text(other_tags)
        has_unread_tag = len(other_tags) < len(tags)
        return cls(
            texts=texts,
            unread=has_unread_tag or bool(fields.get("unread")),
            opened_digests=opened_digests,
            list_query=fields.get("_list"),
            closes_window=bool(fields.get("close")),
        )

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def origin(self) -> Parameters:
        """Return parameters that say where the form was opened."""
        parameters: Parameters = []
        if self.list_query is not None:
            parameters.append(("_list", self.list_query))
        if self.closes_window:
            parameters.append(("close", "1"))
        return parameters

    def with_texts(self, texts: Mapping[str, str], unread: bool) -> "BookmarkForm":
        return replace(self, texts={**self.texts, **texts}, unread=unread)

    def with_stored_values(self, entry: Entry) -> "BookmarkForm":
        bookmark = entry.bookmark
        tags = _as_text(_without_unread(bookmark.tags))
        return replace(
            self,
            id=bookmark.id,
            texts={**texts_of(bookmark), "tags": tags},
            unread=UNREAD in entry.tags,
            opened_digests=" ".join(_stored_digests(entry).values()),
        )

    def fields(self) -> Fields:
        """Return the values of the form, which are not validated yet."""
        fields: Fields = {name: from_text(name, text) for name, text in self.texts.items()}
        if self.unread:
            fields["tags"].append(UNREAD)
        return fields

    def changes(self, entry: Entry, fields: Fields) -> tuple[Fields, list[str]]:
        """Return the fields that the user has changed, and the names of those in conflict.

        A conflict is a field that another client has changed differently.
        """
        opened_digests = self.opened_digests.split()
        stored_digests = _stored_digests(entry)
        changed: Fields = {}
        conflicts: list[str] = []
        for name, value in fields.items():
            sent_digest = _digest(name, value)
            if sent_digest in opened_digests:
                continue
            changed[name] = value
            stored_digest = stored_digests[name]
            is_stored_as_opened = stored_digest in opened_digests
            is_stored_as_sent = stored_digest == sent_digest
            if not is_stored_as_opened and not is_stored_as_sent:
                conflicts.append(name)
        return changed, conflicts


def _without_unread(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if fold(tag) != UNREAD]


def join_paragraphs(*texts: str) -> str:
    """Return the texts that are not empty, with an empty line between them."""
    return "\n\n".join(filter(None, texts))


def _as_text(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value.replace("\r\n", "\n")  # Browsers send CRLF.
    return ", ".join(value)


def texts_of(bookmark: Bookmark) -> dict[str, str]:
    return {name: _as_text(getattr(bookmark, name)) for name in LABELS}


def _stored_digests(entry: Entry) -> dict[str, str]:
    """Return digests of the values that an unchanged form would send."""
    digests = {}
    for name in LABELS:
        value = getattr(entry.bookmark, name)
        if name == "tags" and UNREAD in entry.tags:
            value = [*_without_unread(value), UNREAD]  # The form sends UNREAD last.
        digests[name] = _digest(name, value)
    return digests


def _digest(name: str, value: object) -> str:
    """Return a digest such as `uri:1a2b3c4d5e6f7a8b`."""
    digest = hashlib.blake2b(msgspec.json.encode(value), digest_size=8)
    return f"{name}:{digest.hexdigest()}"


def shown_version(entry: Entry) -> str:
    """Return the id and the end of the version, such as `0s9yex328jt74:00c0ffee12`.

    A form sends this text back, and the service changes only a bookmark of this version.
    """
    last_digits = entry.version % 2**40
    return f"{entry.bookmark.id}:{last_digits:010x}"


# --- Writing ---


class FormParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a form around its fields."""

    notes: Mapping[str, Note] = {}  # Notes below fields, by field name.
    offers: Mapping[str, str] = {}  # Checkboxes below fields as HTML, by field name.
    focus: str = ""
    save_label: str = "Save"
    link_beside_save: str = ""  # HTML, in place of "Cancel".


def edit_form(site: Site, form: BookmarkForm, parts: FormParts = FormParts()) -> str:
    if form.id:
        path = f"{site.path}/-/edit/{form.id}"
    else:
        path = f"{site.path}/-/add"
    hidden = [("_opened", form.opened_digests), *form.origin()]
    link = parts.link_beside_save or _cancel_link(site, form)
    content = _fields_html(site, form, parts)
    content += submit_button(parts.save_label, link)
    # `autocomplete="off"` keeps browsers from restoring old texts on reload.
    return post_form(path, hidden, content, attributes='class="editor" autocomplete="off"')


def _fields_html(site: Site, form: BookmarkForm, parts: FormParts) -> str:
    html = ""
    for name in LABELS:
        note = parts.notes.get(name)
        below = parts.offers.get(name, "")
        if name == "tags":
            below += _tag_checkboxes(site, form)
        if name == "description":
            below += _checkbox("unread", "1", "Read later", form.unread)
        html += _field(name, form.text(name), note, name == parts.focus, below)
    return html


def _checkbox(name: str, value: str, label: str, is_checked: bool) -> str:
    checked = " checked" if is_checked else ""
    return (
        f'<p class="choices"><label><input type="checkbox" name="{name}" '
        f'value="{e(value)}"{checked}> <span>{label}</span></label></p>\n'
    )


def _field(name: str, value: str, note: Note | None, has_focus: bool, below: str) -> str:
    label, attributes, is_multiline = _INPUTS[name]
    note_html = ""
    if note:
        note_attributes, note_html = field_note(name, note)
        attributes += note_attributes
    if has_focus:
        attributes += " autofocus"
    if is_multiline:
        rows = _rows(value)
        # Browsers drop the first line break in a textarea.
        start_tag = f'<textarea id="{name}" name="{name}" rows="{rows}" {attributes}>\n'
        input_html = f"{start_tag}{e(value)}</textarea>"
    else:
        input_html = f'<input id="{name}" name="{name}" value="{e(value)}" {attributes}>'
    return (
        f'<div class="field">\n<label for="{name}">{label}</label>\n'
        f"{input_html}\n{note_html}{below}</div>\n"
    )


def _rows(value: str) -> int:
    lines = value.count("\n") + len(value) // _CHARACTERS_PER_LINE + 1
    return min(lines, _MAX_LINES)


def saved_version(value: str) -> Note:
    shown = "<em>nothing</em>"
    if value:
        shown = f'<span dir="auto">{e(value)}</span>'
    return Note("theirs", f"<strong>Saved version:</strong> {shown}")


def _tag_checkboxes(site: Site, form: BookmarkForm) -> str:
    uri = form.text("uri")
    tags_in_form = {UNREAD, *map(fold, split_tags(form.text("tags")))}
    unused = [tag for tag in site.find_host_tags(uri) if fold(tag) not in tags_in_form]
    if not unused:
        return ""
    legend = f"<legend>Also used for {host_html(uri)}</legend>\n"
    labels = ""
    for tag in unused[:_MAX_TAG_CHECKBOXES]:
        box = f'<input type="checkbox" name="tags" value="{e(tag)}">'
        labels += f"<label>{box} <bdi>{e(tag)}</bdi></label>\n"
    return f'<fieldset class="choices">\n{legend}<div>\n{labels}</div>\n</fieldset>\n'


def title_offer(title: str, is_checked: bool) -> str:
    return _checkbox("_title", title, f"Use {_quoted(title)}", is_checked)


def quote_offer(description: str, is_checked: bool) -> str:
    return _checkbox("_quote", description, f"Add {_quoted(description)}", is_checked)


def _quoted(text: str) -> str:
    return f'<q dir="auto">{e(cut(text, _MAX_OFFERED_CHARACTERS))}</q>'


def _cancel_link(site: Site, form: BookmarkForm) -> str:
    if form.closes_window:
        return ""
    return link_button("Cancel", list_address(site.path, form.list_query, form.id))


def values_html(bookmark: Bookmark) -> str:
    rows = ""
    for name, value in texts_of(bookmark).items():
        if value:
            shown = e(cut(value, _MAX_VALUE_CHARACTERS))
            rows += f'<dt>{LABELS[name]}</dt><dd dir="auto">{shown}</dd>\n'
    return f"<dl>\n{rows}</dl>\n"


def delete_form(site: Site, entry: Entry, list_query: str | None) -> str:
    """Return a form that deletes the bookmark, unless another client changes it meanwhile."""
    hidden = [("_shown", shown_version(entry)), ("_list", list_query)]
    action = f"{site.path}/-/delete/{entry.bookmark.id}"
    return post_form(action, hidden, "<button>Delete</button>", attributes='class="delete"')
