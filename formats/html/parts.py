"""The parts of a page that show a bookmark: its title, its host and its dates."""

import re

from formats.html.frame import cut, e
from formats.html.mark import Escape
from storage.bookmark import Bookmark

MAX_TITLE_SHOWN = 300  # Characters.
MAX_URI_SHOWN = 200  # Characters.

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

# Other uris do not become links: `javascript:` would run a program in the page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def title_link(bookmark: Bookmark, escape_text: Escape = e) -> str:
    """Return the title as a link to the uri; a uri of an unknown scheme is shown as text."""
    title = escape_text(cut(bookmark.title, MAX_TITLE_SHOWN))
    scheme, _, _ = bookmark.uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(bookmark.uri)}">{title}</a>'
    uri = e(cut(bookmark.uri, MAX_URI_SHOWN))
    return f'<span>{title}</span> <code dir="ltr">{uri}</code>'


def host_of(uri: str) -> str:
    """Return the host of a uri without `www.`, or "" if it has no host."""
    match = _HOST.match(uri)
    if not match:
        return ""
    return match[1].lower()


def host_html(uri: str) -> str:
    """Return the host of a uri as HTML, or ""."""
    host = host_of(uri)
    if not host:
        return ""
    return f'<span class="host">{e(host)}</span>'


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp as HTML.

    Only script.js writes "yesterday", which would become wrong in a cached page.
    """
    minute = timestamp[:16]
    year = timestamp[:4]
    month = _MONTHS[int(timestamp[5:7]) - 1]
    day = timestamp[8:10].lstrip("0")
    return f'<time datetime="{minute}Z">{day} {month} {year}</time>'
