"""The representations of bookmarks, one module each, and the tables that name them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from multipart import parse_options_header

from formats import atom, csv, form, html, json, text, xbel
from formats.errors import NotAcceptable, UnknownFormat, Unsupported
from formats.view import View
from storage.bookmark import Bookmark

Write = Callable[[Iterable[Bookmark], View], Iterator[bytes]]
# From a body and its media type's parameters to the fields of each bookmark in it.
Read = Callable[[bytes, Mapping[str, str]], list[dict[str, object]]]
T = TypeVar("T")


class Format(NamedTuple):
    """A representation: the media type it is sent as, others that ask for it, its writer."""

    media_type: str
    also: tuple[str, ...]
    write: Write


_XML_TYPES = ("application/xbel+xml", "application/xml", "text/xml")

# In the order of preference among equals.
LISTS: Mapping[str, Format] = {
    "json": Format("application/json", (), json.write),
    "xbel": Format("application/x-xbel", _XML_TYPES, xbel.write),
    "text": Format("text/plain; charset=utf-8", (), text.write),
    "csv": Format("text/csv; charset=utf-8; header=present", (), csv.write),
    "html": Format(html.MEDIA_TYPE, (), html.write),
}

ONE: Mapping[str, Format] = {
    "json": Format("application/json", (), json.write_one),
    "xbel": Format("application/x-xbel", _XML_TYPES, xbel.write),
    "html": Format(html.MEDIA_TYPE, (), html.write_one),
}

FEEDS: Mapping[str, Format] = {
    "atom": Format("application/atom+xml", ("application/xml", "text/xml"), atom.write),
}

VALUES: Mapping[str, Format] = {
    "text": Format("text/plain; charset=utf-8", (), text.write_field),
    "json": Format("application/json", (), json.write_field),
}

# What a whole bookmark may be read from, and what some of its fields may.
WHOLE: Mapping[str, Read] = {
    "application/json": json.read,
    "application/x-xbel": xbel.read,
    **dict.fromkeys(_XML_TYPES, xbel.read),
}
FORMS: Mapping[str, Read] = {
    "application/x-www-form-urlencoded": form.read,
    "multipart/form-data": form.read_multipart,
}
PARTIAL: Mapping[str, Read] = {**WHOLE, **FORMS}

# What the value of one field may be read from.
FIELD: Mapping[str, Callable[[bytes], object]] = {
    "text/plain": text.read_value,
    "application/json": json.read_value,
}


def choose(
    table: Mapping[str, Format], asked: str | None, best: Callable[[tuple[str, ...]], str | None]
) -> str:
    """The name of the format that was asked for, or else whose media type is the best.

    Raises UnknownFormat or NotAcceptable.
    """
    if asked is not None:
        if asked not in table:
            raise UnknownFormat(table)
        return asked
    names = {
        media_type: name
        for name, format in table.items()
        for media_type in (format.media_type.partition(";")[0], *format.also)
    }
    media_type = best(tuple(names))
    if media_type is None:
        raise NotAcceptable(names)
    return names[media_type]


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
