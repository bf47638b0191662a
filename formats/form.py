"""HTML forms: `application/x-www-form-urlencoded` and `multipart/form-data` (RFC 7578)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from storage.bookmark import FIELDS, split_tags
from storage.errors import Invalid, Malformed

MAX_FIELDS = 2_000
_TOO_MANY_TEXT = f"More than {MAX_FIELDS:,} fields or checked boxes. Send fewer."
# These fields may be repeated, and have tags separated by commas.
_TAG_FIELDS = {
    *(name for name, field in FIELDS.items() if field.is_list),
    "add",
    "remove",
    "tag_names",  # From clients of linkding.
}
# These fields may be repeated, too, but commas belong to their values.
_REPEATED_FIELDS = {"tag", "selected"}


def parse_pairs(encoded: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a URL-encoded query or form. Raises Malformed."""
    try:
        return parse_qsl(
            encoded.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except UnicodeDecodeError:
        raise Malformed("It is not UTF-8.") from None
    except ValueError:
        raise Malformed(_TOO_MANY_TEXT) from None


def read(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of a URL-encoded form. Raises Malformed or Invalid."""
    return fields_by_name(parse_pairs(body))


def read_multipart(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of a multipart form. Raises Malformed or Invalid."""
    return fields_by_name(parse_multipart(body, parameters))


def parse_multipart(body: bytes, parameters: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names and values of a multipart form. Raises Malformed or Invalid."""
    parts = _parse_parts(body, parameters)
    reason = "cannot be a file here. A file of bookmarks goes to POST /-/import"
    files = [(part.name, reason) for part in parts if part.file_name]
    if files:
        raise Invalid(files)
    return [(part.name, _decode(part.value)) for part in parts]


def read_uploads(body: bytes, parameters: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Return the name and content of each file in a form. Raises Malformed or Invalid."""
    parts = _parse_parts(body, parameters)
    are_files = all(part.file_name for part in parts)
    if not parts or not are_files:
        raise Invalid([("file", "must be a file that you choose, without other fields")])
    return [(str(part.file_name), bytes(part.value)) for part in parts]


class _Part(NamedTuple):
    name: str
    file_name: str | None  # None if the part is not a file.
    value: bytearray


def _parse_parts(body: bytes, parameters: Mapping[str, str]) -> list[_Part]:
    if not parameters.get("boundary"):
        raise Malformed("The Content-Type of the multipart form has no boundary.")
    boundary = parameters["boundary"].encode("utf-8")
    try:
        with PushMultipartParser(boundary) as parser:
            parts = _join_pieces(parser.parse(body))
    except MultipartError as error:
        raise Malformed(f"The multipart form is malformed: {error.args[0]}.") from None
    if not all(part.name for part in parts):  # RFC 7578 section 4.2
        raise Malformed("The multipart form has a part without a name.")
    return parts


def _join_pieces(events: Iterable[MultipartSegment | bytearray | None]) -> list[_Part]:
    """Join the events of each part: its head, pieces of its value, and None."""
    parts: list[_Part] = []
    for event in events:
        if isinstance(event, MultipartSegment):
            if len(parts) == MAX_FIELDS:
                raise Malformed(_TOO_MANY_TEXT)
            parts.append(_Part(event.name, event.filename, bytearray()))
        elif event:
            parts[-1].value.extend(event)
    return parts


def _decode(value: bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The form is not UTF-8.") from None


def fields_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return fields by name. Fields that may be repeated have lists.

    Raises Invalid if another field is repeated.
    """
    fields: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in _REPEATED_FIELDS:
            lists.setdefault(name, []).append(value)
        elif name in _TAG_FIELDS:
            lists.setdefault(name, []).extend(split_tags(value))
        elif name in fields:
            raise Invalid([(name, "is given twice")])
        else:
            fields[name] = value
    return {**fields, **lists}
