"""The representations of bookmarks, one module each, and the tables that name them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from multipart import parse_options_header

from formats import atom, csv, decode, form, html, json, netscape, recognize, text, xbel
from formats.errors import NotAcceptable, UnknownFormat, Unsupported
from formats.item import Item, Stream
from formats.view import View
from storage.bookmark import Bookmark

Write = Callable[[Iterable[Bookmark], View], Iterator[bytes]]
# From a body and its media type's parameters to the fields of each bookmark in it.
Read = Callable[[bytes, Mapping[str, str]], list[dict[str, object]]]
# From a file, of any size, to its entries, one after the other.
ReadFile = Callable[[Stream], Iterator[Item]]
T = TypeVar("T")


class Table(dict[str, "Format"]):
    """Formats by name, in the order of preference among equals.

    `names` are the names by media type, `media_types` those that are sent, `also` the others. One
    that is sent as a file has to be asked for by its name.
    """

    def __init__(self, formats: Mapping[str, "Format"]) -> None:
        super().__init__(formats)
        shown = {name: f for name, f in formats.items() if not f.file_name}
        sent = {f.media_type.partition(";")[0]: name for name, f in shown.items()}
        also = {other: name for name, f in formats.items() for other in f.also}
        self.names = also | sent
        self.media_types, self.also = tuple(sent), tuple(also)


class Format(NamedTuple):
    """A representation: the media type it is sent as, others that ask for it, its writer.

    One with a file name is to be saved under it, not shown.
    """

    media_type: str
    also: tuple[str, ...]
    write: Write
    file_name: str = ""


_XML_TYPES = ("application/xbel+xml", "application/xml", "text/xml")

LISTS = Table(
    {
        "json": Format("application/json", (), json.write),
        "xbel": Format("application/x-xbel", _XML_TYPES, xbel.write),
        "text": Format("text/plain; charset=utf-8", (), text.write),
        "csv": Format("text/csv; charset=utf-8; header=present", (), csv.write),
        "html": Format(html.MEDIA_TYPE, (), html.write),
        "netscape": Format(html.MEDIA_TYPE, (), netscape.write, "bookmarks.html"),
    }
)

ONE = Table(
    {
        "json": Format("application/json", (), json.write_one),
        "xbel": Format("application/x-xbel", _XML_TYPES, xbel.write),
        "html": Format(html.MEDIA_TYPE, (), html.write_one),
    }
)

FEEDS = Table(
    {
        "atom": Format("application/atom+xml", ("application/xml", "text/xml"), atom.write),
    }
)

TAGS = Table({"json": Format("application/json", (), json.write_tags)})

VALUES = Table(
    {
        "text": Format("text/plain; charset=utf-8", (), text.write_field),
        "json": Format("application/json", (), json.write_field),
    }
)

# What a whole bookmark may be read from, and what some of its fields may.
WHOLE: Mapping[str, Read] = {
    "application/json": json.read,
    **dict.fromkeys(("application/x-xbel", *_XML_TYPES), xbel.read_whole),
}
FORMS: Mapping[str, Read] = {
    "application/x-www-form-urlencoded": form.read,
    "multipart/form-data": form.read_multipart,
}
PARTIAL: Mapping[str, Read] = {
    "application/json": json.read,
    **dict.fromkeys(("application/x-xbel", *_XML_TYPES), xbel.read),
    **FORMS,
}

# What whole files are read by; recognize.kind() gives the name for one.
FILES: Mapping[str, ReadFile] = {
    "json": json.read_file,
    "xbel": xbel.read_file,
    "csv": csv.read_file,
    "netscape": netscape.read_file,
    "text": text.read_file,
}
# Readers of files that are sent over HTTP, of which JSON is limited in its number of values.
UPLOADS: Mapping[str, ReadFile] = {**FILES, "json": json.read_upload}


class Posted(NamedTuple):
    """What a body of one media type is read by: as one bookmark, or as a file of this format.

    It is always a file if `one` is None, and never if `is_file` is.
    """

    one: Read | None
    file: str = ""
    is_file: Callable[[bytes, Mapping[str, str]], bool] | None = None


_XBEL = Posted(xbel.read, "xbel", xbel.is_file)
POSTED: Mapping[str, Posted] = {
    "application/json": Posted(json.read, "json", json.is_file),
    **dict.fromkeys(("application/x-xbel", *_XML_TYPES), _XBEL),
    **{media_type: Posted(read) for media_type, read in FORMS.items()},
    "text/csv": Posted(None, "csv"),
    "text/html": Posted(None, "netscape"),
}

# What the value of one field may be read from.
FIELD: Mapping[str, Callable[[bytes], object]] = {
    "text/plain": text.read_value,
    "application/json": json.read_value,
}


def choose(
    table: Table,
    asked: str | None,
    best: Callable[[tuple[str, ...], tuple[str, ...]], str | None],
) -> str:
    """The name of the format that was asked for, or else whose media type is the best.

    Raises UnknownFormat or NotAcceptable.
    """
    if asked is not None:
        if asked not in table:
            raise UnknownFormat(table)
        return asked
    media_type = best(table.media_types, table.also)
    if media_type is None:
        raise NotAcceptable(table.media_types)
    return table.names[media_type]


def entries(
    stream: Stream, name: str | None = None, readers: Mapping[str, ReadFile] = FILES
) -> Iterator[Item]:
    """Read a file in the named format, or else in the one that its beginning has.

    Raise Malformed.
    """
    head = next(decode.blocks(stream), b"")
    return readers[name or recognize.kind(head)](decode.Begun(head, stream))


def reader(table: Mapping[str, T], content_type: str) -> tuple[T, dict[str, str]]:
    """What reads a body of this Content-Type, and the type's parameters. Raises Unsupported.

    XML says itself in what charset it is written; everything else has to be UTF-8.
    """
    media_type, parameters = parse_options_header(content_type)
    if media_type not in table:
        raise Unsupported(f"The body must be one of {', '.join(table)}.", table)
    charset = parameters.get("charset", "utf-8").lower()
    if charset not in ("utf-8", "us-ascii") and not media_type.endswith(("xml", "xbel")):
        raise Unsupported(f"The body must be UTF-8, not {charset!r}.", table)
    return table[media_type], parameters
