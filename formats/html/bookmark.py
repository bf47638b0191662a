"""The page of one bookmark, the page that adds one, and the parts that show a bookmark."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from formats.base_url import BaseUrl
from formats.form import NEW_BOOKMARK, HiddenFields, make_hidden_fields
from formats.html.editor import (
    LABELS,
    delete_form,
    edit_form,
    form_values,
    other_value,
    quote_choice,
    tag_choices,
)
from formats.html.frame import END, begin, cut, e
from formats.html.mark import Escape
from formats.merge import field_digests
from storage.bookmark import Bookmark, fold, split_tags

# Longer texts are cut; the form shows them whole.
MAX_TITLE, MAX_URI = 300, 200
MAX_TAG_CHOICES = 8

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write_bookmark(
    b: Bookmark,
    base: BaseUrl,
    version: int,
    query: Mapping[str, str],
    host_tags: Iterable[str] = (),
) -> Iterator[bytes]:
    """Write the page of one bookmark with the forms that change and delete this version.

    If the query has a `uri`, the user wanted to add it with the query's values, but has saved it
    before as this bookmark. The form suggests `host_tags`, the tags of other bookmarks of its host.
    """
    action = f"{base.path}/{b.id}"
    hidden_fields = make_hidden_fields(query, f"{version:032x}", field_digests(b))
    if "uri" in query:
        note = f'<p class="saved" role="status">You saved this page on {time(b.created)}.</p>\n'
        form = existing_form(action, b, hidden_fields, query, host_tags)
    else:
        note, values = "", form_values(b)
        form = edit_form(action, values, hidden_fields, choices=_tag_choices(values, host_tags))
    changed = f"changed {time(b.modified)}" if b.modified != b.created else ""
    details = (host(b.uri), f"saved {time(b.created)}", changed)
    yield (
        f'{begin(b.title, base, hidden_fields.list_query)}<main id="main" class="single">\n'
        f'<h1 dir="auto">{link(b)}</h1>\n'
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{note}{form}{delete_form(action, hidden_fields)}</main>\n{END}"
    ).encode()


def existing_form(
    action: str,
    b: Bookmark,
    hidden_fields: HiddenFields,
    given: Mapping[str, str],
    host_tags: Iterable[str] = (),
    *,
    is_typed: bool = False,
) -> str:
    """Return the form of a bookmark that the user wanted to add with the `given` values.

    The given tags stand behind its own, and the form offers to add the given description. If the
    user has typed the values, the title is shown too, and the offer is accepted.
    """
    values, others = form_values(b), {}
    own = set(map(fold, b.tags))
    new = [tag for tag in split_tags(given.get("tags", "")) if fold(tag) not in own]
    values["tags"] = ", ".join([*b.tags, *new])
    title, quote = (given.get(name, "").strip() for name in ("title", "description"))
    if is_typed and title not in ("", b.title):
        others["title"] = other_value("You typed:", title)
    choices = _tag_choices(values, host_tags)
    if quote.replace("\r\n", "\n") not in b.description:
        choices["description"] = quote_choice(quote, is_typed)
    return edit_form(action, values, hidden_fields, others=others, choices=choices, focus="tags")


def _tag_choices(values: Mapping[str, str], host_tags: Iterable[str]) -> dict[str, str]:
    """Return the field `tags` with a choice of those tags of the host that it does not have."""
    used = set(map(fold, split_tags(values["tags"])))
    unused = [tag for tag in host_tags if fold(tag) not in used][:MAX_TAG_CHOICES]
    return {"tags": tag_choices(unused, host(values["uri"]))} if unused else {}


def write_add_page(
    query: Mapping[str, str], base: BaseUrl, host_tags: Iterable[str]
) -> Iterator[bytes]:
    """Write the page that adds a bookmark; its first empty field has the focus."""
    values = {name: query.get(name, "") for name in LABELS}
    hidden_fields = make_hidden_fields(query, NEW_BOOKMARK)
    focus = next((name for name in LABELS if not values[name]), "")
    choices = _tag_choices(values, host_tags)
    form = edit_form(f"{base.path}/", values, hidden_fields, choices=choices, focus=focus)
    beginning = begin("Add a bookmark", base, hidden_fields.list_query)
    yield (
        f'{beginning}<main id="main" class="single">\n'
        f"<h1>Add a bookmark</h1>\n{form}</main>\n{END}"
    ).encode()


def link(b: Bookmark, escape: Escape = e) -> str:
    """Return the title as a link to the uri, or both as text if the scheme must not be linked."""
    title = escape(cut(b.title, MAX_TITLE))
    if b.uri.partition(":")[0].lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}">{title}</a>'
    return f'<span>{title}</span> <code dir="ltr">{e(cut(b.uri, MAX_URI))}</code>'


def host(uri: str, escape: Escape = e) -> str:
    """Return the host of a uri for a page, empty if it has none."""
    try:
        name = urlsplit(uri).hostname
    except ValueError:
        return ""
    if not name:
        return ""
    return f'<span class="host">{escape(cut(name.removeprefix("www."), MAX_URI))}</span>'


def time(timestamp: str) -> str:
    """Return the date of a timestamp for a page."""
    return f"<time>{timestamp[:10]}</time>"
