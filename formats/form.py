"""HTML forms: `application/x-www-form-urlencoded` and `multipart/form-data` (RFC 7578)."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from itertools import islice
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartParser, MultipartPart

from storage.bookmark import FIELDS, split_tags
from storage.errors import Invalid, Malformed

MAX_FIELDS = 2_000
_TOO_MANY_TEXT = f"More than {MAX_FIELDS:,} fields or checked boxes. Send fewer."
# A form may repeat these fields, and each value may have several tags, such as `a, b`.
_TAG_FIELDS = {
    *(name for name, field in FIELDS.items() if field.is_list),
    "add",
    "remove",
    "tag_names",
}
# A form may repeat these fields. Their values are not split at commas.
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
        raise Malformed("The query or the form is not UTF-8.") from None
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
    files = [(part.name, reason) for part in parts if part.filename]
    if files:
        raise Invalid(files)
    return [(part.name, _decode(part.raw)) for part in parts]


def read_uploads(body: bytes, parameters: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Return the name and content of each file in a form. Raises Malformed or Invalid."""
    parts = _parse_parts(body, parameters)
    are_files = all(part.filename for part in parts)
    if not parts or not are_files:
        raise Invalid([("file", "must be a file that you choose, without other fields")])
    return [(part.filename, part.raw) for part in parts]


def _parse_parts(body: bytes, parameters: Mapping[str, str]) -> list[MultipartPart]:
    boundary = parameters.get("boundary")
    if not boundary:
        raise Malformed("The Content-Type of the multipart form has no boundary.")
    # Beyond its limits, the parser writes temporary files or refuses the body.
    no_limit = len(body)
    one_too_many = MAX_FIELDS + 1
    parser = MultipartParser(
        BytesIO(body),
        boundary,
        part_limit=one_too_many,
        spool_limit=no_limit,
        memory_limit=no_limit,
    )
    try:
        parts = list(islice(parser, one_too_many))
    except MultipartError as error:
        raise Malformed(f"The multipart form is malformed: {error.args[0]}.") from None
    if len(parts) > MAX_FIELDS:
        raise Malformed(_TOO_MANY_TEXT)
    if not all(part.name for part in parts):  # RFC 7578 section 4.2
        raise Malformed("The multipart form has a part without a name.")
    return parts


def _decode(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The form is not UTF-8.") from None


def fields_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the values by field name: lists for the fields that a form may repeat.

    Raises Invalid if any other field is given twice.
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
