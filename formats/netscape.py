"""The bookmark file of Netscape, which browsers and services exchange.

No standard describes it. The closest description:
https://learn.microsoft.com/previous-versions/windows/internet-explorer/ie-developer/
platform-apis/aa753582(v=vs.85)
"""

from collections.abc import Iterator
from datetime import datetime
from xml.sax.saxutils import escape

from formats.listing import Listing
from storage.bookmark import FIELDS, Bookmark, to_text

EPOCH = datetime(1970, 1, 1)
SECONDS_FROM_1601_TO_1970 = 11_644_473_600
# Programs write an unknown date as the epoch of Unix or of Windows.
TEXTS_OF_UNKNOWN_DATES = ("0", f"-{SECONDS_FROM_1601_TO_1970}")
_FIELDS_OF_FORMAT = ("uri", "title", "description", "created", "modified")
# Fields that the format lacks are written as extra attributes, except for the id.
OWN_ATTRIBUTES = tuple(name for name in FIELDS if name not in ("id", *_FIELDS_OF_FORMAT))
_HEAD = b"""\
<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""
_END = b"</DL><p>\n"


def is_firefox_query(uri: object) -> bool:
    """Return whether this is a search, which Firefox stores among its bookmarks."""
    if not isinstance(uri, str):
        return False
    return uri.lstrip()[: len("place:")].lower() == "place:"


def write(listing: Listing) -> Iterator[bytes]:
    """Write a file with tags, without folders."""
    yield _HEAD
    for bookmark in listing.bookmarks:
        yield _entry(bookmark).encode()
    yield _END


def _entry(bookmark: Bookmark) -> str:
    # Many programs read only upper-case names, and only one entry per line.
    created = _seconds(bookmark.created)
    modified = _seconds(bookmark.modified)
    attributes = ""
    for name in OWN_ATTRIBUTES:
        text = to_text(getattr(bookmark, name))
        if text:
            attributes += f' {name.upper()}="{_escape(text)}"'
    description = ""
    if bookmark.description:
        description = f"<DD>{_escape(bookmark.description)}\n"
    return (
        f'<DT><A HREF="{_href(bookmark.uri)}" ADD_DATE="{created}" LAST_MODIFIED="{modified}"'
        f"{attributes}>{_escape(bookmark.title)}</A>\n{description}"
    )


def _seconds(timestamp: str) -> str:
    """Return the seconds since 1970, as `00` if `0` would mean an unknown date."""
    since_epoch = datetime.fromisoformat(timestamp[:19]) - EPOCH
    text = str(int(since_epoch.total_seconds()))
    if text in TEXTS_OF_UNKNOWN_DATES:
        return text.zfill(len(text) + 1)
    return text


def _href(uri: str) -> str:
    if is_firefox_query(uri):
        # Imports ignore an entry with `place:`, so the colon is written as an entity.
        return _escape(uri).replace(":", "&#58;", 1)
    return _escape(uri)


def _escape(value: str) -> str:
    return escape(value, {'"': "&quot;"})
