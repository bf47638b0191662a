"""The registry of formats: writers by name, readers by media type."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from formats import csv, form, json, netscape, text, xbel
from formats.html import MEDIA_TYPE as HTML_TYPE
from formats.html import bookmark as html_bookmark
from formats.html import list as html_list
from formats.listing import Listing, View
from storage.index import Entry

# Entity tags contain the version, because another version may write other bytes.
__version__ = "0.1.0"

# Returns the fields in a body, given the parameters of its media type.
Reader = Callable[[bytes, Mapping[str, str]], dict[str, object]]


class Format(msgspec.Struct, frozen=True, eq=False):
    name: str
    media_type: str
    aliases: tuple[str, ...] = ()  # Other media types in Accept.
    page_size: int | None = None  # The default `limit`.
    download_name: str = ""
    is_page: bool = False  # A change of another bookmark can change a page.

    @property
    def bare_type(self) -> str:
        """The media type without parameters."""
        return self.media_type.partition(";")[0]


ListWriter = Callable[[Listing], Iterator[bytes]]
BookmarkWriter = Callable[[Entry, View], Iterator[bytes]]

# --- Writing ---

_XML_TYPES = ("application/xml", "text/xml")

JSON = Format("json", "application/json")
XBEL = Format("xbel", "application/x-xbel", aliases=("application/xbel+xml", *_XML_TYPES))
TEXT = Format("text", "text/plain; charset=utf-8")
CSV = Format("csv", "text/csv; charset=utf-8; header=present")
HTML = Format("html", HTML_TYPE, page_size=100, is_page=True)
NETSCAPE = Format("netscape", HTML_TYPE, download_name="bookmarks.html")
ATOM = Format("atom", "application/atom+xml", aliases=_XML_TYPES, page_size=50)

# Without a preference in Accept, the first acceptable format is sent.
LISTS: Mapping[Format, ListWriter] = {
    JSON: json.write,
    XBEL: xbel.write,
    TEXT: text.write,
    CSV: csv.write,
    HTML: html_list.write,
    NETSCAPE: netscape.write,
}
ONE_BOOKMARK: Mapping[Format, BookmarkWriter] = {
    JSON: json.write_bookmark,
    XBEL: xbel.write_bookmark,
    HTML: html_bookmark.write,
}
LISTS_BY_NAME = {format.name: format for format in LISTS}

# --- Reading one bookmark ---

_XBEL_TYPES = (XBEL.media_type, *XBEL.aliases)
_FORM_READERS: Mapping[str, Reader] = {
    "application/x-www-form-urlencoded": form.read,
    "multipart/form-data": form.read_multipart,
}
FORM_TYPES = tuple(_FORM_READERS)
POST_READERS: Mapping[str, Reader] = {
    "application/json": json.read,
    **dict.fromkeys(_XBEL_TYPES, xbel.read),
    **_FORM_READERS,
}
# PUT replaces all fields. A field that an XBEL document leaves out becomes empty.
PUT_READERS: Mapping[str, Reader] = {
    "application/json": json.read,
    **dict.fromkeys(_XBEL_TYPES, xbel.read_whole),
}
# For POST /tags and linkding's API.
JSON_AND_FORM_READERS: Mapping[str, Reader] = {
    "application/json": json.read,
    **_FORM_READERS,
}
# For PUT /{id}/{field}.
FIELD_TYPES = ("text/plain", "application/json")

# --- Reading files ---

# Format names by media type; "" means to detect the format.
FILE_TYPES: Mapping[str, str] = {
    "application/json": "json",
    "application/x-xbel": "xbel",
    "application/xbel+xml": "xbel",
    "text/csv": "csv",
    "text/html": "netscape",
    "text/plain": "",
    "application/xml": "",
    "text/xml": "",
    "multipart/form-data": "",  # A file in a form.
}
