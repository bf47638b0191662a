"""The parts of a page that show a bookmark: its title, its host and its dates."""

import re

from formats.html.frame import cut, e
from formats.html.mark import Escape
from storage.bookmark import Bookmark

# In characters. Only the form shows longer ones whole.
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

# Others are shown as text: a click on `javascript:` would run on this page.
LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def title_link(b: Bookmark, escape_text: Escape = e) -> str:
    """Return the title as a link to the uri, or both as text."""
    title = escape_text(cut(b.title, MAX_TITLE_SHOWN))
    scheme, _, _ = b.uri.partition(":")
    if scheme.lower() in LINKED_SCHEMES:
        return f'<a href="{e(b.uri)}">{title}</a>'
    uri = e(cut(b.uri, MAX_URI_SHOWN))
    return f'<span>{title}</span> <code dir="ltr">{uri}</code>'


def host_of(uri: str) -> str:
    """Return the host of a uri as pages show it; empty if there is none."""
    match = _HOST.match(uri)
    if not match:
        return ""
    return match[1].lower()


def host_html(uri: str) -> str:
    """Return the host of a uri as HTML; empty if there is none."""
    host = host_of(uri)
    if not host:
        return ""
    return f'<span class="host">{e(host)}</span>'


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def date_html(timestamp: str) -> str:
    """Return the date of a timestamp as HTML.

    The script makes recent dates relative: a page that changes each day could not
    be cached.
    """
    minute = timestamp[:16]
    year = timestamp[:4]
    month = _MONTHS[int(timestamp[5:7]) - 1]
    day = timestamp[8:10].lstrip("0")
    return f'<time datetime="{minute}Z">{day} {month} {year}</time>'
