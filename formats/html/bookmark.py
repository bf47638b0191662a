"""The page of one bookmark, the page that adds one, and the parts that show a bookmark."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from formats.base_url import BaseUrl
from formats.form import NEW_BOOKMARK, HiddenFields, make_hidden_fields
from formats.html.editor import (
    LABELS,
    delete_form,
    description_checkbox,
    edit_form,
    form_values,
    labelled_value,
    tag_checkboxes,
)
from formats.html.frame import END, begin, cut, e
from formats.html.mark import Escape
from formats.merge import field_digests
from storage.bookmark import Bookmark, fold, split_tags

# In characters. Pages cut longer titles and uris; the form shows them whole.
MAX_TITLE_SHOWN, MAX_URI_SHOWN = 300, 200
MAX_TAG_CHECKBOXES = 8  # The form suggests at most this number of tags, each with a checkbox.

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write_bookmark(
    b: Bookmark,
    base: BaseUrl,
    version: int,
    page_query: Mapping[str, str],
    host_tags: Iterable[str] = (),
) -> Iterator[bytes]:
    """Write the page of one bookmark with the forms that change and delete this version.

    `page_query` is the query of the page's own address. The form suggests `host_tags`, the tags of
    other bookmarks of the same host.
    """
    action = f"{base.path}/{b.id}"
    saved_on = date_html(b.created)
    digests = field_digests(b)  # To merge the user's changes with those of other clients.
    hidden_fields = make_hidden_fields(page_query, f"{version:032x}", initial_field_digests=digests)
    # The user wanted to add the `uri` in the query, but this bookmark has it already: the form adds
    # the tags of the query, and offers its description.
    if "uri" in page_query:
        note = f'<p class="saved" role="status">You saved this page on {saved_on}.</p>\n'
        form = existing_form(action, b, hidden_fields, page_query, host_tags)
    else:
        note, values = "", form_values(b)
        checkboxes = _host_tag_checkboxes(values, host_tags)
        form = edit_form(action, values, hidden_fields, checkboxes=checkboxes)
    changed = f"changed {date_html(b.modified)}" if b.modified != b.created else ""
    details = (host_html(b.uri), f"saved {saved_on}", changed)  # Empty ones are left out below.
    yield (
        f'{begin(b.title, base, hidden_fields.list_query)}<main id="main" class="single">\n'
        f'<h1 dir="auto">{title_link(b)}</h1>\n'
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{note}{form}{delete_form(action, hidden_fields)}</main>\n{END}"
    ).encode()


def existing_form(
    action: str,
    b: Bookmark,
    hidden_fields: HiddenFields,
    values_to_add: Mapping[str, str],
    host_tags: Iterable[str] = (),
    *,
    keep_typed_values: bool = False,
) -> str:
    """Return the form of an existing bookmark that the user wanted to add with `values_to_add`.

    The form has the tags of both bookmarks, and a checkbox to add the description.
    `keep_typed_values` also shows the title and ticks the checkbox, for values that the user sent
    in a form; it is false for values that the bookmarklet or an app took from a page. The form
    suggests `host_tags`, the tags of other bookmarks of the same host.
    """
    values = form_values(b)
    folded_tags = set(map(fold, b.tags))
    tags_to_add = split_tags(values_to_add.get("tags", ""))
    new_tags = [tag for tag in tags_to_add if fold(tag) not in folded_tags]
    values["tags"] = ", ".join([*b.tags, *new_tags])
    title = values_to_add.get("title", "").strip()
    typed_html: dict[str, str] = {}  # By the name of a field: a typed value, shown below the field.
    # A typed title is shown, so that it is not lost; the title of a page is dropped.
    if keep_typed_values and title not in ("", b.title):
        typed_html["title"] = labelled_value("You typed:", title)
    boxes = _host_tag_checkboxes(values, host_tags)
    description = values_to_add.get("description", "").strip()
    # Browsers send CRLF for each line break; stored descriptions have LF.
    if description and description.replace("\r\n", "\n") not in b.description:
        # A typed description must not be lost, so check its checkbox; a page's is only offered.
        boxes["description"] = description_checkbox(description, is_checked=keep_typed_values)
    return edit_form(
        action, values, hidden_fields, other_values_html=typed_html, checkboxes=boxes, focus="tags"
    )


def _host_tag_checkboxes(values: Mapping[str, str], host_tags: Iterable[str]) -> dict[str, str]:
    """Map the field `tags` to checkboxes, each to add a tag of other bookmarks of the host."""
    folded_tags = set(map(fold, split_tags(values["tags"])))
    unused = [tag for tag in host_tags if fold(tag) not in folded_tags][:MAX_TAG_CHECKBOXES]
    return {"tags": tag_checkboxes(unused, host_html(values["uri"]))} if unused else {}


def write_add_page(
    page_query: Mapping[str, str], base: BaseUrl, host_tags: Iterable[str]
) -> Iterator[bytes]:
    """Write the page that adds a bookmark; its first empty field has the focus."""
    values = {name: page_query.get(name, "") for name in LABELS}
    # For NEW_BOOKMARK the service refuses to overwrite a bookmark that has the uri already.
    hidden_fields = make_hidden_fields(page_query, version=NEW_BOOKMARK)
    focus = next((name for name in LABELS if not values[name]), "")
    checkboxes = _host_tag_checkboxes(values, host_tags)
    form = edit_form(f"{base.path}/", values, hidden_fields, checkboxes=checkboxes, focus=focus)
    beginning = begin("Add a bookmark", base, hidden_fields.list_query)
    yield (
        f'{beginning}<main id="main" class="single">\n'
        f"<h1>Add a bookmark</h1>\n{form}</main>\n{END}"
    ).encode()


def title_link(b: Bookmark, escape_text: Escape = e) -> str:
    """Return the title as a link to the uri, or both as text if the scheme must not be linked."""
    # In a list `escape_text` also marks the words of the search.
    title = escape_text(cut(b.title, MAX_TITLE_SHOWN))
    scheme, _, _ = b.uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}">{title}</a>'
    return f'<span>{title}</span> <code dir="ltr">{e(cut(b.uri, MAX_URI_SHOWN))}</code>'


def host_html(uri: str, escape_text: Escape = e) -> str:
    """Return the host of a uri as HTML, or an empty text if the uri has no host."""
    try:
        name = urlsplit(uri).hostname
    except ValueError:  # The brackets of an IPv6 address do not match.
        return ""
    if not name:
        return ""
    shown = cut(name.removeprefix("www."), MAX_URI_SHOWN)
    return f'<span class="host">{escape_text(shown)}</span>'


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp such as 2024-01-02T03:04:05Z as HTML."""
    return f"<time>{timestamp[:10]}</time>"
