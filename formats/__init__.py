"""The registry of formats: writers by name, readers by media type."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from formats import atom, csv, form, json, netscape, text, xbel
from formats.html import MEDIA_TYPE as HTML
from formats.html import bookmark as html_bookmark
from formats.html import import_report as html_report
from formats.html import list as html_list
from formats.html import tags as html_tags
from storage.query import NEWEST_FIRST

# A Reader takes a body and its media type's parameters; it returns the fields of one bookmark.
Reader = Callable[[bytes, Mapping[str, str]], dict[str, object]]


# eq=False: the cache of content negotiation compares and hashes formats by identity.
class Format(msgspec.Struct, frozen=True, eq=False):
    """A representation: its name, the media type of its responses, and its writer.

    A client may ask for it by `aliases`, too. `page_size` is the `limit` of a list without one, and
    `query` has further members of a list's query. If it has a `download_name`, browsers save the
    response under this name in place of showing it. A page (`is_page`) shows more than its
    resource, such as suggested tags, so its entity tag depends on its content.
    """

    name: str
    media_type: str
    write: Callable[..., Iterator[bytes]]
    aliases: tuple[str, ...] = ()
    page_size: int | None = None
    query: Mapping[str, object] = {}
    download_name: str = ""
    is_page: bool = False

    @property
    def bare_type(self) -> str:
        """The media type without parameters, as clients name it in Accept."""
        return self.media_type.partition(";")[0]


Table = Mapping[str, Format]  # Formats by name, in the order of preference.


def table(*formats: Format) -> Table:
    """Return the formats by name."""
    return {format.name: format for format in formats}


# --- Writing ---

# Accept may name these media types for XBEL too, but responses have application/x-xbel.
_XML_TYPES = ("application/xml", "text/xml")
_XBEL_TYPES = ("application/xbel+xml", *_XML_TYPES)
_CSV = "text/csv; charset=utf-8; header=present"

# The writers of lists and feeds take a Listing.
LISTS = table(
    Format("json", "application/json", json.write),
    Format("xbel", "application/x-xbel", xbel.write, aliases=_XBEL_TYPES),
    Format("text", "text/plain; charset=utf-8", text.write),
    Format("csv", _CSV, csv.write),
    Format("html", HTML, html_list.write, (), 100, {"tag_count_limit": 55}, is_page=True),
    Format("netscape", HTML, netscape.write, download_name="bookmarks.html"),
)
# A feed is always sorted by date, and has the deletions too.
_FEED_QUERY: Mapping[str, object] = {"deletions": True, "sort": NEWEST_FIRST}
FEEDS = table(Format("atom", "application/atom+xml", atom.write, _XML_TYPES, 50, _FEED_QUERY))
# The writers of one bookmark take its Entry and a View.
ONE_BOOKMARK = table(
    Format("json", "application/json", json.write_bookmark),
    Format("xbel", "application/x-xbel", xbel.write_bookmark, aliases=_XBEL_TYPES),
    Format("html", HTML, html_bookmark.write, is_page=True),
)
# The writers of one field take a bookmark and the name of the field.
FIELD_VALUES = table(
    Format("text", "text/plain; charset=utf-8", text.write_field),
    Format("json", "application/json", json.write_field),
)
# The writers of tags take each tag with its count of bookmarks, the count of bookmarks without
# tags, and a View. A browser that asks for /tags.json gets JSON, too.
TAGS_JSON = table(Format("json", "application/json", json.write_tags))
TAGS = table(*TAGS_JSON.values(), Format("html", HTML, html_tags.write_tags, is_page=True))
# The writers of reports take a RetagReport or an ImportReport, and a View.
REPORTS = table(Format("json", "application/json", json.write_report))
IMPORT_REPORTS = table(*REPORTS.values(), Format("html", HTML, html_report.write))

# --- Reading one bookmark ---

FORM_READERS: Mapping[str, Reader] = {
    "application/x-www-form-urlencoded": form.read,
    "multipart/form-data": form.read_multipart,
}
POST_READERS: Mapping[str, Reader] = {
    "application/json": json.read,
    **dict.fromkeys(("application/x-xbel", *_XBEL_TYPES), xbel.read),
    **FORM_READERS,
}
# PUT replaces all fields. XBEL has no elements for empty fields, so `xbel.read_whole` adds them.
PUT_READERS: Mapping[str, Reader] = {
    "application/json": json.read,
    **dict.fromkeys(("application/x-xbel", *_XBEL_TYPES), xbel.read_whole),
}
# For POST /tags, which changes the tags of many bookmarks.
RETAGGING_READERS: Mapping[str, Reader] = {"application/json": json.read, **FORM_READERS}
# For PUT /{id}/{field}, whose body is one value.
FIELD_READERS: Mapping[str, Callable[[bytes], object]] = {
    "text/plain": text.read_value,
    "application/json": json.read_value,
}

# --- Reading files ---

# The format of a file by its media type; the format of an empty name is detected.
FILE_TYPES: Mapping[str, str] = {
    "application/json": "json",
    **dict.fromkeys(("application/x-xbel", "application/xbel+xml"), "xbel"),
    "text/csv": "csv",
    "text/html": "netscape",
    **dict.fromkeys(("text/plain", *_XML_TYPES), ""),
    "multipart/form-data": "",  # A file that a user has chosen in a form.
}
