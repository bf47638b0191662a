"""The bookmark file of Netscape, which browsers and services exchange.

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
# For an unknown date, programs write the epoch of Unix or Windows.
TEXTS_OF_UNKNOWN_DATES = ("0", f"-{SECONDS_FROM_1601_TO_1970}")
# A bookmark whose date really is one of these epochs gets a leading zero, so that an import does
# not take the date for an unknown one.
_TEXTS_OF_EPOCHS = {"0": "00", f"-{SECONDS_FROM_1601_TO_1970}": f"-0{SECONDS_FROM_1601_TO_1970}"}
_FIELDS_OF_FORMAT = ("uri", "title", "description", "created", "modified")
# Fields that the format lacks. The id is not exported.
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
    """Return whether the uri is a search of Firefox, such as `place:sort=8`."""
    if not isinstance(uri, str):
        return False
    return uri.lstrip().lower().startswith("place:")


def write(listing: Listing) -> Iterator[bytes]:
    yield _HEAD
    for bookmark in listing.bookmarks:
        yield _entry(bookmark).encode()
    yield _END


def _entry(bookmark: Bookmark) -> str:
    # Many programs need upper-case names, and one entry per line.
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
    since_epoch = datetime.fromisoformat(timestamp[:19]) - EPOCH
    seconds = str(int(since_epoch.total_seconds()))
    return _TEXTS_OF_EPOCHS.get(seconds, seconds)


def _href(uri: str) -> str:
    href = _escape(uri)
    if is_firefox_query(uri):
        # Imports ignore Firefox's links to `place:`, but they read `place&#58;`.
        return href.replace(":", "&#58;", 1)
    return href


def _escape(value: str) -> str:
    return escape(value, {'"': "&quot;"})
