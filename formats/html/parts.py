"""Titles, hosts and dates of bookmarks as HTML."""

import re

from formats.html.frame import cut, e
from formats.html.mark import Escape
from formats.listing import Site
from storage.bookmark import Bookmark

MAX_TITLE_CHARACTERS = 300
MAX_URI_CHARACTERS = 200

_HOST = re.compile(
    rf"""
    [a-z][a-z0-9+.-]* ://
    (?: [^/?\#]* @ )?                    # User.
    (?: www\. )?
    ( \[ [0-9a-f:.]+ \]                  # IPv6 address.
    | [^/?\#:]{{1,{MAX_URI_CHARACTERS}}}   # The beginning of a name.
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Uris with other schemes are not linked: `javascript:` would run code in the page.
_LINKED_SCHEMES = frozenset(
    "http https ftp ftps sftp mailto magnet gemini gopher irc ircs news nntp tel sms geo ssh git "
    "xmpp matrix".split()
)


def may_be_linked(uri: str) -> bool:
    scheme, _, _ = uri.partition(":")
    return scheme.lower() in _LINKED_SCHEMES


def title_link(bookmark: Bookmark, escape_text: Escape = e) -> str:
    """Return a link, or the title alone if the scheme may be unsafe."""
    title = escape_text(cut(bookmark.title, MAX_TITLE_CHARACTERS))
    if may_be_linked(bookmark.uri):
        return f'<a href="{e(bookmark.uri)}">{title}</a>'
    return f"<span>{title}</span>"


def uri_html(bookmark: Bookmark) -> str:
    """Return the uri without a link, or "" if it is the title."""
    if bookmark.uri == bookmark.title:
        return ""
    uri = e(cut(bookmark.uri, MAX_URI_CHARACTERS))
    return f'<code dir="ltr" title="{uri}">{uri}</code>'


def page_link(bookmark: Bookmark, site: Site) -> str:
    title = e(cut(bookmark.title, MAX_TITLE_CHARACTERS))
    return f'<a href="{e(site.path)}/{bookmark.id}"><bdi>{title}</bdi></a>'


def host_of(uri: str) -> str:
    """Return the host of a uri without `www.`, or "" if it has no host."""
    match = _HOST.match(uri)
    if not match:
        return ""
    return match[1].lower()


def host_html(uri: str) -> str:
    host = host_of(uri)
    if not host:
        return ""
    return f'<span class="host">{e(host)}</span>'


_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def date_html(timestamp: str) -> str:
    minute = timestamp[:16]
    year = timestamp[:4]
    month = _MONTHS[int(timestamp[5:7]) - 1]
    day = timestamp[8:10].lstrip("0")
    return f"<time datetime={minute}Z>{day} {month} {year}</time>"
