"""The form that adds or changes a bookmark: reading, merging and writing it."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from formats.html.frame import Note, cut, e, field_note, link_button, post_form, submit_button
from formats.html.parts import host_html
from formats.listing import Site, list_address
from storage.bookmark import Bookmark, Fields, fold, fold_tag, split_tags
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
_MAX_VALUE_SHOWN = 1000  # In characters, of each field of a bookmark that is shown as text.
MAX_TAG_CHECKBOXES = 8  # The form suggests at most this number of tags, each with a checkbox.
UNREAD = "unread"  # The tag of the bookmarks to read later.

# An address as people type it, which lacks https://. It begins with localhost, a name with a dot or
# an IPv6 address, and may go on with a port, path, query or fragment. Texts such as `mailto.x:abc`
# do not match: no port follows the colon, so `mailto.x` is a scheme.
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|[\w-]+(?:\.[\w-]+)+\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)


def _complete_address(text: str) -> str:
    """Return an address, with `https://` in front if people typed it without a scheme."""
    address = text.strip()
    return f"https://{address}" if _WITHOUT_SCHEME.match(address) else address


class BookmarkForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a bookmark: the texts in its fields, and its hidden fields."""

    id: str = ""  # Of the bookmark that the form changes; empty if it adds one.
    uri: str = ""
    title: str = ""
    tags: str = ""  # Separated by commas, without UNREAD.
    description: str = ""
    unread: bool = False
    opened: str = ""  # The digests of the `fields` that the form was opened with.
    list_query: str | None = None  # Of the list to return to; None if there is none.
    closes_window: str = ""  # "1" if the bookmarklet has opened the window of the form.

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "BookmarkForm":
        """Return the form that a browser has sent, or that a query fills in.

        If `_quote` is ticked, add its text to the description.
        """
        texts = filter(None, (fields.get("description"), fields.get("_quote")))
        tags = fields.get("tags", ())
        # Not `fold_tag`, because a tag may still be too long to be normalized.
        others = [tag for tag in tags if tag.casefold() != UNREAD]
        return cls(
            uri=_complete_address(fields.get("uri", "")),
            title=fields.get("title", ""),
            tags=", ".join(others),
            description="\n\n".join(texts).replace("\r\n", "\n"),  # Browsers send CRLF.
            unread=bool(fields.get("unread")) or len(others) < len(tags),
            opened=fields.get("_opened", ""),
            list_query=fields.get("_list"),
            closes_window=fields.get("close", ""),
        )

    def showing(self, entry: Entry) -> "BookmarkForm":
        """Return the form with the values of a stored bookmark."""
        others = [tag for tag in entry.bookmark.tags if fold_tag(tag) != UNREAD]
        values = texts_of(entry.bookmark) | {"tags": ", ".join(others)}
        has_unread = len(others) < len(entry.bookmark.tags)
        form = replace(self, **values, id=entry.bookmark.id, unread=has_unread)
        # Each form sends back what it was opened with, because the service keeps no old versions.
        # The values themselves would make the form twice as large.
        return replace(form, opened=" ".join(_digests(form.fields()).values()))

    def fields(self) -> Fields:
        """Return the fields of a bookmark with the values of the form."""
        tags = split_tags(self.tags) + [UNREAD] * self.unread
        return {"uri": self.uri, "title": self.title, "description": self.description, "tags": tags}

    def changes(self, entry: Entry, fields: Fields) -> tuple[Fields, list[str]]:
        """Return the fields that the user has changed since the form was opened (three-way merge).

        Return also the names of those that another client has changed, too, to other values.
        """
        opened = dict(zip(fields, self.opened.split(), strict=False))
        stored = _digests(BookmarkForm().showing(entry).fields())
        sent = _digests(fields)
        changed = {name: fields[name] for name in fields if sent[name] != opened.get(name)}
        is_conflict = (n for n in changed if stored[n] not in (opened.get(n), sent[n]))
        return changed, list(is_conflict)


def texts_of(b: Bookmark) -> dict[str, str]:
    """Return a bookmark's values as texts, by the names of the form's fields."""
    tags = ", ".join(b.tags)
    return {"uri": b.uri, "title": b.title, "tags": tags, "description": b.description}


def _digests(fields: Fields) -> dict[str, str]:
    """Return a digest of each field."""
    # 8 bytes keep a form short. Two values with the same digest are too rare to occur by chance.
    return {
        name: hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
        for name, value in fields.items()
    }


def shown_version(entry: Entry) -> str:
    """Return the id and version of a bookmark, by which a form says what its page has shown."""
    # 40 bits distinguish the versions of one bookmark, and lists have many of them.
    return f"{entry.bookmark.id}:{entry.version & 0xFF_FFFF_FFFF:010x}"


def edit_form(
    site: Site,
    form: BookmarkForm,
    save_label: str = "Save",
    *,
    notes: Mapping[str, Note] = {},
    checkbox: str = "",
    focus: str = "",
    link: str | None = None,
) -> str:
    """Return the HTML of a form that adds or changes a bookmark.

    `notes` are shown below the fields of these names, and `checkbox` below the description. The
    field named `focus` has the focus. `link` is HTML beside the button to save, by default a link
    that leads back to the list.
    """
    fields = {name: _field(name, form, notes, focus) for name in _FIELDS}
    fields["tags"] += _tag_checkboxes(site, form)
    fields["description"] += checkbox
    content = (
        f"{''.join(fields.values())}"
        '<p class="choices"><label><input type="checkbox" name="unread" value="1"'
        f'{" checked" if form.unread else ""}> Read later</label></p>\n'
        f"{submit_button(save_label, cancel_link(site, form) if link is None else link)}"
    )
    path = f"{site.path}/-/edit/{form.id}" if form.id else f"{site.path}/-/add"
    hidden = [("_opened", form.opened), ("close", form.closes_window), ("_list", form.list_query)]
    # Without autocomplete="off", a reload could put old typed text into a newer version's form.
    return post_form(path, hidden, content, 'class="editor" autocomplete="off"')


def _field(name: str, form: BookmarkForm, notes: Mapping[str, Note], focus: str) -> str:
    label, attributes, hint = _FIELDS[name]
    note_attributes, note = field_note(name, notes.get(name, ("hint", hint)))
    attributes += note_attributes + (" autofocus" if name == focus else "")
    return (
        f'<div class="field">\n<label for="{name}">{label}</label>\n'
        f"{_input(name, getattr(form, name), attributes)}{note}</div>\n"
    )


def _input(name: str, value: str, attributes: str) -> str:
    if name == "description":
        # HTML parsers drop one line break after the start tag, so write one before the value.
        return f'<textarea id="{name}" name="{name}" {attributes}>\n{e(value)}</textarea>\n'
    return f'<input id="{name}" name="{name}" value="{e(value)}" {attributes}>\n'


def other_value(label: str, value: str) -> Note:
    """Return the note with the other value of a field, such as `Saved now: Title`."""
    shown = f'<span dir="auto">{e(value)}</span>' if value else "<em>nothing</em>"
    return "theirs", f"<strong>{label}</strong> {shown}"


def _tag_checkboxes(site: Site, form: BookmarkForm) -> str:
    """Return checkboxes that add tags which other bookmarks of the same host have."""
    folded_tags = {UNREAD, *map(fold, split_tags(form.tags))}
    unused = [tag for tag in site.host_tags(form.uri) if fold(tag) not in folded_tags]
    boxes = "".join(
        f'<label><input type="checkbox" name="tags" value="{e(tag)}"> <bdi>{e(tag)}</bdi></label>\n'
        for tag in unused[:MAX_TAG_CHECKBOXES]
    )
    legend = f"<legend>Tags of other bookmarks of {host_html(form.uri)}</legend>"
    return f'<fieldset class="choices">\n{legend}\n{boxes}</fieldset>\n' if boxes else ""


def quote_checkbox(sent_description: str, is_checked: bool) -> str:
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


def cancel_link(site: Site, form: BookmarkForm) -> str:
    """Return a link to the bookmark in the list that the user opened the form from."""
    if form.list_query is None:  # The user did not come from a list.
        return ""
    return link_button("Cancel", list_address(site.path, form.list_query, form.id))


def values_html(values: Iterable[tuple[str, str]]) -> str:
    """Return those values that are of fields which users see, with their labels; cut long ones."""
    rows = "".join(
        f'<dt>{LABELS[name]}</dt><dd dir="auto">{e(cut(value, _MAX_VALUE_SHOWN))}</dd>\n'
        for name, value in values
        if value and name in LABELS
    )
    return f"<dl>\n{rows}</dl>\n" if rows else ""


def delete_form(site: Site, entry: Entry, list_query: str | None) -> str:
    """Return a form that deletes the bookmark, unless it has changed since the page was made."""
    hidden = [("_shown", shown_version(entry)), ("_list", list_query)]
    action = f"{site.path}/-/delete/{entry.bookmark.id}"
    return post_form(action, hidden, "<button>Delete</button>", 'class="delete"')
