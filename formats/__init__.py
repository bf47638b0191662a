"""The registry of formats: writers by name, readers by media type."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
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
from formats.imports import outline as import_outline
from formats.imports import shortcut as import_shortcut
from formats.imports import text as import_text
from formats.imports import xbel as import_xbel
from formats.imports.detect import detect_format
from formats.imports.entry import ImportedEntry

# A Reader takes a body and its media type's parameters; it returns the fields of each bookmark.
Reader = Callable[[bytes, Mapping[str, str]], list[dict[str, object]]]
# A FileReader takes the bytes of a file and yields the file's entries.
FileReader = Callable[[bytes], Iterator[ImportedEntry]]


class Format(NamedTuple):
    """A representation: the media type of its responses, and its writer.

    A client may ask for it by `other_media_types`, too. If it has a `download_name`, browsers save
    the response under this name in place of showing it.
    """

    media_type: str
    write: Callable[..., Iterator[bytes]]
    other_media_types: tuple[str, ...] = ()
    download_name: str = ""


class FormatTable(dict[str, Format]):
    """Formats by name, in the order of preference, with what content negotiation needs.

    `media_types` are those of responses, without parameters. `other_media_types` are further ones
    that Accept may name. `name_by_media_type` has the format's name for each media type of both.
    """

    def __init__(self, formats: Mapping[str, Format]) -> None:
        super().__init__(formats)
        # Only the parameter `format=` selects a download, not Accept: the page and the download
        # `netscape` are both text/html, and a browser that asks for text/html must get the page.
        negotiable = {name: format for name, format in formats.items() if not format.download_name}
        sent_types: dict[str, str] = {}
        other_types: dict[str, str] = {}
        for name, format in negotiable.items():
            sent_types[format.media_type.partition(";")[0]] = name
            other_types |= dict.fromkeys(format.other_media_types, name)
        self.name_by_media_type = other_types | sent_types
        # Kept apart, because a wildcard in Accept, such as */*, must select one of `media_types`.
        self.media_types, self.other_media_types = tuple(sent_types), tuple(other_types)


# --- Writing ---

# Accept may name these media types for XBEL too, but responses have application/x-xbel.
_XML_TYPES = ("application/xml", "text/xml")
_XBEL_TYPES = ("application/xbel+xml", *_XML_TYPES)

# The writers of LISTS and FEEDS, such as `formats.json.write`, take bookmarks and a Listing.
LISTS = FormatTable(
    {
        "json": Format("application/json", json.write),
        "xbel": Format("application/x-xbel", xbel.write, other_media_types=_XBEL_TYPES),
        "text": Format("text/plain; charset=utf-8", text.write),
        "csv": Format("text/csv; charset=utf-8; header=present", csv.write),
        "html": Format(HTML, html_list.write),
        "netscape": Format(HTML, netscape.write, download_name="bookmarks.html"),
    }
)
FEEDS = FormatTable(
    {"atom": Format("application/atom+xml", atom.write, other_media_types=_XML_TYPES)}
)

# The writers of ONE_BOOKMARK take a bookmark, the service's address, the version of the bookmark,
# the query's parameters, and the tags of other bookmarks whose uri has the same host. Only html
# uses more than the bookmark.
ONE_BOOKMARK = FormatTable(
    {
        "json": Format("application/json", json.write_bookmark),
        "xbel": Format("application/x-xbel", xbel.write_bookmark, other_media_types=_XBEL_TYPES),
        "html": Format(HTML, html_bookmark.write_bookmark),
    }
)

# The writers of FIELD_VALUES take a bookmark and the name of a field.
FIELD_VALUES = FormatTable(
    {
        "text": Format("text/plain; charset=utf-8", text.write_field),
        "json": Format("application/json", json.write_field),
    }
)

# These writers take each tag with its count of bookmarks, the count of bookmarks without tags, and
# the service's address. GET /tags.json uses TAGS_JSON: a browser gets JSON there, too.
TAGS_JSON = FormatTable({"json": Format("application/json", json.write_tags)})
TAGS = FormatTable(TAGS_JSON | {"html": Format(HTML, html_tags.write_tags)})

# The writer of RETAG_REPORTS takes a RetagReport.
RETAG_REPORTS = FormatTable({"json": Format("application/json", json.write_retag_report)})


# --- Reading bodies ---


class PostedType(NamedTuple):
    """How a body of one media type is read.

    `read` reads a bookmark for POST, None if a body of this type is always a file to import.
    `read_whole` reads a bookmark for PUT, which replaces all fields; None if PUT refuses the type.
    `is_file` takes a body and the parameters of its media type, and returns whether the body is a
    file to import in place of one bookmark; without `is_file`, it never is, or always if `read` is
    None. `file_format` is the format of such a file; if it is empty, the format is detected.
    """

    read: Reader | None
    read_whole: Reader | None = None
    file_format: str = ""
    is_file: Callable[[bytes, Mapping[str, str]], bool] | None = None


FORM, MULTIPART_FORM = "application/x-www-form-urlencoded", "multipart/form-data"
# The first argument reads a bookmark for POST, the second for PUT, which requires all fields. XBEL
# has no elements for empty fields, so `xbel.read_whole` adds them.
_POSTED_JSON = PostedType(json.read, json.read, file_format="json", is_file=import_json.is_file)
_POSTED_XBEL = PostedType(xbel.read, xbel.read_whole, file_format="xbel", is_file=xbel.is_file)
POSTED_TYPES: Mapping[str, PostedType] = {
    "application/json": _POSTED_JSON,
    **dict.fromkeys(("application/x-xbel", *_XBEL_TYPES), _POSTED_XBEL),
    FORM: PostedType(read=form.read),
    MULTIPART_FORM: PostedType(read=form.read_multipart),
    "text/csv": PostedType(read=None, file_format="csv"),
    "text/html": PostedType(read=None, file_format="netscape"),
    "text/plain": PostedType(read=None),  # A file whose format is detected.
}
# The readers of one bookmark by media type. PUT replaces all fields, so it refuses a type without
# `read_whole`, such as a form. FORM_READERS are those of POST by an HTML form.
PUT_READERS = {name: type.read_whole for name, type in POSTED_TYPES.items() if type.read_whole}
POST_READERS = {name: type.read for name, type in POSTED_TYPES.items() if type.read}
FORM_READERS = {name: POST_READERS[name] for name in (FORM, MULTIPART_FORM)}
# For POST /tags, which changes the tags of many bookmarks.
RETAGGING_READERS: Mapping[str, Reader] = {"application/json": json.read, **FORM_READERS}
# For PUT /{id}/{field}, whose body is one value.
FIELD_READERS: Mapping[str, Callable[[bytes], object]] = {
    "text/plain": text.read_value,
    "application/json": json.read_value,
}


# --- Reading files ---

# The readers of files by the name of the format, as in `bookmarks import --format`.
FILE_READERS: Mapping[str, FileReader] = {
    "json": import_json.read_file,
    "xbel": import_xbel.read_file,
    "csv": import_csv.read_file,
    "netscape": import_netscape.read_file,
    "opera": import_opera.read_file,
    "outline": import_outline.read_file,
    "shortcut": import_shortcut.read_file,
    "text": import_text.read_file,
}


def read_entries(
    data: bytes, format: str | None = None, file_name: str = ""
) -> Iterator[ImportedEntry]:
    """Yield the entries of a file in the named format, or in the detected one.

    The file's name without its suffix is the title of a shortcut, such as a `.url`, without one.

    Raises Malformed if no entry can be read. An error further on is the `skip_reason` of a last
    entry, which has no fields, so that the entries before the error can be imported.
    """
    is_empty = True
    try:
        format = format or detect_format(data)
        title = {"title": PurePath(file_name).stem} if format == "shortcut" and file_name else {}
        for entry in FILE_READERS[format](data):
            is_empty = False
            yield entry._replace(fields=title | entry.fields) if title else entry
    except Malformed as error:
        if is_empty:
            raise
        # Line 0 stands for the whole file.
        yield ImportedEntry(line=0, fields={}, skip_reason=f"The rest cannot be read: {error}")
