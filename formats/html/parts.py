"""The parts of a page that show a bookmark: its title, its host and its dates."""

import re

from formats.html.frame import cut, e
from formats.html.mark import Escape
from storage.bookmark import Bookmark

# In characters. Pages cut longer titles and uris; the form shows them whole.
MAX_TITLE_SHOWN, MAX_URI_SHOWN = 300, 200

# The host in a uri, without userinfo, `www.` and port, cut to the length that is shown.
_HOST = re.compile(
    rf"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(?:www\.)?(\[[0-9a-f:.]+\]|[^/?#:]{{1,{MAX_URI_SHOWN}}})",
    re.IGNORECASE,
)

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


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
    match = _HOST.match(uri)
    return f'<span class="host">{escape_text(match[1].lower())}</span>' if match else ""


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp such as 2024-01-02T03:04:05Z as HTML."""
    return f"<time>{timestamp[:10]}</time>"
