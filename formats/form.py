"""HTML forms: `application/x-www-form-urlencoded` and `multipart/form-data` (RFC 7578)."""

import io
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from formats.errors import Malformed, TooLarge
from formats.item import MAX_ENTRY, Stream
from storage.bookmark import split_tags
from storage.errors import Invalid

MAX_FIELDS = 200

_Event = object  # A MultipartSegment, bytes or None.


def pairs(text: bytes) -> list[tuple[str, str]]:
    """The names and values of a URL-encoded text, in order. Raises Malformed."""
    try:
        return parse_qsl(
            text.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise Malformed(f"It is not well-formed, or not UTF-8: {error}.") from None


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The bookmark that a URL-encoded form gives. Raises Malformed or Invalid."""
    return [_fields(pairs(body))]


def read_multipart(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The bookmark that a multipart form gives. Raises Malformed or Invalid."""
    found = read_multipart_or_file(io.BytesIO(body), parameters)
    if isinstance(found, File):
        raise Invalid([("file", "does not go here")])
    return [found]


def read_multipart_or_file(
    stream: Stream, parameters: Mapping[str, str]
) -> "dict[str, object] | File":
    """The bookmark that a multipart form gives, or the file that was chosen in it.

    Raises Malformed, Invalid or TooLarge.
    """
    events = _events(stream, parameters)
    fields: list[tuple[str, str]] = []
    size = 0
    for segment in events:
        assert isinstance(segment, MultipartSegment)
        if not segment.name:  # RFC 7578 section 4.2
            raise Malformed("The multipart form has a part without a name.")
        if segment.filename:
            if fields:
                raise Invalid([(name, "does not go with a file") for name, _ in fields])
            return File(events)
        value = b"".join(_content(events))
        size += len(value)
        if size > MAX_ENTRY:
            raise TooLarge(MAX_ENTRY)
        if segment.filename == "" and not value:
            raise Invalid([(segment.name, "must be a file that you choose")])
        fields.append((segment.name, _text(value)))
    return _fields(fields)


class File:
    """A file in a form: a stream that is read once, as the form comes in."""

    def __init__(self, events: Iterator[_Event]) -> None:
        self._chunks = self._content(events)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end. Raises Malformed, for a field after it too."""
        data = self._rest or next(self._chunks, b"")
        self._rest = data[size:]
        return data[:size]

    def _content(self, events: Iterator[_Event]) -> Iterator[bytes]:
        yield from _content(events)
        for segment in events:
            assert isinstance(segment, MultipartSegment)
            raise Malformed(f"The form has more than a file: {segment.name!r} follows.")


def _events(stream: Stream, parameters: Mapping[str, str]) -> Iterator[_Event]:
    """A segment for the beginning of each part, then its bytes, then None."""
    if not parameters.get("boundary"):
        raise Malformed("The multipart form's Content-Type names no boundary.")
    try:
        boundary = parameters["boundary"].encode("utf-8")
        # A strict one refuses the line break at the end, if that comes in a chunk of its own.
        parser = PushMultipartParser(boundary, max_segment_count=MAX_FIELDS)
        yield from parser.parse_blocking(stream.read)
    except (MultipartError, LookupError, ValueError) as error:
        raise Malformed(f"The body is not a well-formed multipart form: {error}.") from None


def _content(events: Iterator[_Event]) -> Iterator[bytes]:
    for event in events:
        if not event:
            return
        assert isinstance(event, bytes | bytearray)
        yield bytes(event)


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"The form is not UTF-8: {error}.") from None


def _fields(given: Iterable[tuple[str, str]]) -> dict[str, object]:
    """The fields by name; tags may come in one field with commas, in several, or both."""
    fields: dict[str, object] = {}
    tags: list[str] = []
    for name, value in given:
        if name == "tags":
            tags += split_tags(value)
            fields["tags"] = tags
        elif name in fields:
            raise Invalid([(name, "is given twice")])
        else:
            fields[name] = value
    return fields
