"""The registry of formats: writers by name, readers by media type."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from formats import atom, csv, form, json, netscape, text, xbel
from formats.errors import Malformed
from formats.html import MEDIA_TYPE as HTML
from formats.html import bookmark as html_bookmark
from formats.html import list as html_list
from formats.html import tags as html_tags
from formats.imports import csv as import_csv
from formats.imports import json as import_json
from formats.imports import netscape as import_netscape
from formats.imports import opera as import_opera
from formats.imports import text as import_text
from formats.imports import xbel as import_xbel
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry

# From a body and the parameters of its media type to the fields of each bookmark in it.
Reader = Callable[[bytes, Mapping[str, str]], list[dict[str, object]]]
# From the bytes of a file to its entries.
FileReader = Callable[[bytes], Iterator[ImportedEntry]]


class Format(NamedTuple):
    """A representation: its media type, its writer, and other media types that ask for it.

    If it has a download name, browsers save it under this name in place of showing it.
    """

    media_type: str
    write: Callable[..., Iterator[bytes]]
    other_media_types: tuple[str, ...] = ()
    download_name: str = ""


class FormatTable(dict[str, Format]):
    """Formats by name, in the order of preference.

    `media_types` are those that responses have, `other_media_types` further ones that a client may
    ask for, and `names` maps both to the formats' names. A format with a download name is left out,
    because it shares the media type of the page: only `format=` selects it.
    """

    def __init__(self, formats: Mapping[str, Format]) -> None:
        super().__init__(formats)
        negotiable = {name: format for name, format in formats.items() if not format.download_name}
        sent = {format.media_type.partition(";")[0]: name for name, format in negotiable.items()}
        others = {other: name for name, f in formats.items() for other in f.other_media_types}
        self.names = others | sent
        self.media_types, self.other_media_types = tuple(sent), tuple(others)


# --- Writing ---

_XML = ("application/xbel+xml", "application/xml", "text/xml")

# Their writers take bookmarks and a Listing.
LISTS = FormatTable(
    {
        "json": Format("application/json", json.write),
        "xbel": Format("application/x-xbel", xbel.write, _XML),
        "text": Format("text/plain; charset=utf-8", text.write),
        "csv": Format("text/csv; charset=utf-8; header=present", csv.write),
        "html": Format(HTML, html_list.write),
        "netscape": Format(HTML, netscape.write, download_name="bookmarks.html"),
    }
)
FEEDS = FormatTable(
    {"atom": Format("application/atom+xml", atom.write, ("application/xml", "text/xml"))}
)

# Their writers take a bookmark, and values that only the html writer uses: the service's address,
# the version of the bookmark, the query's parameters, and the tags of other bookmarks of its host.
ONE_BOOKMARK = FormatTable(
    {
        "json": Format("application/json", json.write_bookmark),
        "xbel": Format("application/x-xbel", xbel.write_bookmark, _XML),
        "html": Format(HTML, html_bookmark.write_bookmark),
    }
)

# Their writers take a bookmark and the name of a field.
FIELD_VALUES = FormatTable(
    {
        "text": Format("text/plain; charset=utf-8", text.write_field),
        "json": Format("application/json", json.write_field),
    }
)

# Their writers take each tag with its count of bookmarks, the count of bookmarks without tags, and
# the service's address.
TAGS_JSON = FormatTable({"json": Format("application/json", json.write_tags)})
TAGS = FormatTable(TAGS_JSON | {"html": Format(HTML, html_tags.write_tags)})

# Its writer takes a RetagReport.
RETAG_REPORTS = FormatTable({"json": Format("application/json", json.write_retag_report)})


# --- Reading bodies ---


class PostedType(NamedTuple):
    """How a body of one media type is read.

    `read` reads one bookmark, and `read_whole` one that replaces all fields; they are None where
    the type is not accepted. A body is a file to import, in the format `file_format`, if `is_file`
    returns True or `read` is None; the format is detected if the type does not name it.
    """

    read: Reader | None
    read_whole: Reader | None = None
    file_format: str = ""
    is_file: Callable[[bytes, Mapping[str, str]], bool] | None = None


_POSTED_XBEL = PostedType(xbel.read, xbel.read_whole, "xbel", xbel.is_file)
POSTED_TYPES: Mapping[str, PostedType] = {
    "application/json": PostedType(json.read, json.read, "json", import_json.is_file),
    **dict.fromkeys(("application/x-xbel", *_XML), _POSTED_XBEL),
    "application/x-www-form-urlencoded": PostedType(form.read),
    "multipart/form-data": PostedType(form.read_multipart),
    "text/csv": PostedType(None, file_format="csv"),
    "text/html": PostedType(None, file_format="netscape"),
    "text/plain": PostedType(None),
}
# For PUT, for POST, for POST by a form, for a change of tags, and for one field.
WHOLE_READERS = {name: p.read_whole for name, p in POSTED_TYPES.items() if p.read_whole}
READERS = {name: p.read for name, p in POSTED_TYPES.items() if p.read}
FORM_READERS = {name: read for name, read in READERS.items() if not POSTED_TYPES[name].file_format}
RETAGGING_READERS: Mapping[str, Reader] = {"application/json": json.read, **FORM_READERS}
FIELD_READERS: Mapping[str, Callable[[bytes], object]] = {
    "text/plain": text.read_value,
    "application/json": json.read_value,
}


# --- Reading files ---

FILE_READERS: Mapping[str, FileReader] = {
    "json": import_json.read_file,
    "xbel": import_xbel.read_file,
    "csv": import_csv.read_file,
    "netscape": import_netscape.read_file,
    "opera": import_opera.read_file,
    "text": import_text.read_file,
}


def read_entries(data: bytes, format: str | None = None) -> Iterator[ImportedEntry]:
    """Yield the entries of a file in the named format, or in the detected one.

    Raises Malformed if no entry can be read. After a later error, the last entry that is yielded
    stands for the rest of the file, with the error as its reason to be skipped.
    """
    is_empty = True
    try:
        for entry in FILE_READERS[format or detect_format(data)](data):
            is_empty = False
            yield entry
    except Malformed as error:
        if is_empty:
            raise
        yield ImportedEntry(0, {}, f"The rest cannot be read: {error}")
