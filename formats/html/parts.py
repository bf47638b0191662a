"""The parts of a page that show a bookmark: its title, its host and its dates."""

import re

from formats.html.frame import cut, e
from formats.html.mark import Escape
from storage.bookmark import Bookmark

# In characters. Pages cut longer titles and uris; the form shows them whole.
MAX_TITLE_SHOWN = 300
MAX_URI_SHOWN = 200

_HOST = re.compile(
    rf"""
    [a-z][a-z0-9+.-]* ://
    (?: [^/?\#]* @ )?                 # The userinfo.
    (?: www\. )?
    ( \[ [0-9a-f:.]+ \]               # An IPv6 address,
    | [^/?\#:]{{1,{MAX_URI_SHOWN}}}   # or a name, cut to the length that is shown.
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Uris of other schemes are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def title_link(b: Bookmark, escape_text: Escape = e) -> str:
    """Return the title as a link to the uri, or both as text if the scheme must not be linked."""
    title = escape_text(cut(b.title, MAX_TITLE_SHOWN))
    scheme, _, _ = b.uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}">{title}</a>'
    uri = e(cut(b.uri, MAX_URI_SHOWN))
    return f'<span>{title}</span> <code dir="ltr">{uri}</code>'


def host_html(uri: str, escape_text: Escape = e) -> str:
    """Return the host of a uri as HTML, or an empty text if the uri has no host."""
    match = _HOST.match(uri)
    if not match:
        return ""
    host = escape_text(match[1].lower())
    return f'<span class="host">{host}</span>'


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp such as 2024-01-02T03:04:05Z as HTML."""
    date = timestamp[:10]
    return f"<time>{date}</time>"
