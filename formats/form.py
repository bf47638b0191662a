"""HTML forms: `application/x-www-form-urlencoded` and `multipart/form-data` (RFC 7578)."""

import io
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartParser

from formats.errors import Malformed
from storage.bookmark import split_tags
from storage.errors import Invalid

MAX_FIELDS = 200


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
    if not parameters.get("boundary"):
        raise Malformed("The multipart form's Content-Type names no boundary.")
    size = len(body) + 1
    try:
        parser = MultipartParser(
            io.BytesIO(body),
            parameters["boundary"].encode("utf-8"),
            strict=True,
            part_limit=MAX_FIELDS,
            spool_limit=size,
            memory_limit=size,
        )
        fields = [(part.name or "", part.value) for part in parser.parts()]
    except (MultipartError, LookupError, ValueError) as error:
        raise Malformed(f"The body is not a well-formed multipart form: {error}.") from None
    return [_fields(fields)]


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
