"""The page of one bookmark, the page that adds one, and the parts that show a bookmark."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from formats.base_url import BaseUrl
from formats.form import NEW, Controls
from formats.html.editor import LABELS, delete_form, edit_form, form_values
from formats.html.frame import END, begin, cut, e
from storage.bookmark import Bookmark

# Longer texts are cut; the form shows them whole.
MAX_TITLE, MAX_DESCRIPTION, MAX_URI = 300, 600, 200

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def write_bookmark(
    b: Bookmark, base: BaseUrl, version: str, query: Mapping[str, str]
) -> Iterator[bytes]:
    """Write the page of one bookmark with the forms that change and delete this version."""
    action, controls = f"{base.path}/{b.id}", Controls(version, query.get("_list"))
    changed = f"changed {time(b.modified)}" if b.modified != b.created else ""
    details = (host(b.uri), f"saved {time(b.created)}", changed)
    yield (
        f'{begin(b.title, base, controls.way_back)}<main id="main" class="single">\n'
        f"<h1>{link(b)}</h1>\n"
        f'<p class="meta">{" · ".join(filter(None, details))}</p>\n'
        f"{edit_form(action, form_values(b), controls)}"
        f"{delete_form(action, controls)}</main>\n{END}"
    ).encode()


def write_add_page(query: Mapping[str, str], base: BaseUrl) -> Iterator[bytes]:
    """Write the page that adds a bookmark; its first empty field has the focus."""
    values = {name: query.get(name, "") for name in LABELS}
    controls = Controls(NEW, query.get("_list"))
    focus = next((name for name in LABELS if not values[name]), "")
    form = edit_form(f"{base.path}/", values, controls, focus=focus)
    yield (
        f'{begin("Add a bookmark", base, controls.way_back)}<main id="main" class="single">\n'
        f"<h1>Add a bookmark</h1>\n{form}</main>\n{END}"
    ).encode()


def link(b: Bookmark) -> str:
    """Return the title as a link to the uri, or both as text if the scheme must not be linked."""
    title = e(cut(b.title, MAX_TITLE))
    if b.uri.partition(":")[0].lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}" dir="auto">{title}</a>'
    return f'<span dir="auto">{title}</span> <code>{e(cut(b.uri, MAX_URI))}</code>'


def host(uri: str) -> str:
    """Return the host of a uri for a page, empty if it has none."""
    try:
        name = urlsplit(uri).hostname
    except ValueError:
        return ""
    return f'<span class="host">{e(cut(name.removeprefix("www."), MAX_URI))}</span>' if name else ""


def time(timestamp: str) -> str:
    """Return the date of a timestamp for a page."""
    return f"<time>{timestamp[:10]}</time>"
