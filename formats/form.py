"""HTML forms: `application/x-www-form-urlencoded` and `multipart/form-data` (RFC 7578)."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from formats.errors import HTTPError, Malformed
from formats.imports.entry import MAX_ENTRY
from storage.bookmark import split_tags
from storage.errors import Invalid

MAX_FIELDS = 200

# The versions that a form sends when it adds a bookmark, and when it adds a deleted one again.
# Neither form may change an existing bookmark.
NEW, PUT_BACK = "new", "put-back"

# An address as people type it: localhost, a name with a dot or an IPv6 address, perhaps a port.
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|[\w-]+(?:\.[\w-]+)+\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)


def complete_address(text: str) -> str:
    """Return an address, with `https://` in front if people typed it without a scheme."""
    address = text.strip()
    return f"https://{address}" if _WITHOUT_SCHEME.match(address) else text


class HiddenFields(NamedTuple):
    """The hidden fields of the page's own forms, none of which is a field of a bookmark.

    `version` is the version of the bookmark that the form was made from, NEW or PUT_BACK;
    `list_query` is the query of the list to return to, see `listing.list_address`; `close` says
    whether the script closes the window after saving; `opened_digests` has the
    `merge.field_digests` that the bookmark had when the user opened the form.
    """

    version: str = ""
    list_query: str | None = None
    close: bool = False
    opened_digests: str = ""


def take_hidden_fields(fields: dict[str, object]) -> HiddenFields:
    """Remove the hidden fields from the fields of a form, and return them.

    The checkbox `_quote` adds its text to the description.
    """
    list_query = fields.pop("_list", None)
    if quote := fields.pop("_quote", ""):
        fields["description"] = f"{fields.get('description', '')}\n\n{quote}"
    return HiddenFields(
        version=str(fields.pop("_version", "")),
        list_query=None if list_query is None else str(list_query),
        close=fields.pop("_close", "") == "1",
        opened_digests=str(fields.pop("_opened", "")),
    )


def make_hidden_fields(
    query: Mapping[str, str], version: str, opened_digests: str = ""
) -> HiddenFields:
    """Return the hidden fields of a form on the page that this query asks for."""
    return HiddenFields(version, query.get("_list"), query.get("close") == "1", opened_digests)


def parse_pairs(text: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a URL-encoded text, in order. Raises Malformed."""
    try:
        return parse_qsl(
            text.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except UnicodeDecodeError:
        raise Malformed("It is not UTF-8.") from None
    except ValueError:
        raise Malformed(f"It has more than {MAX_FIELDS} fields.") from None


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the fields of the bookmark in a URL-encoded form. Raises Malformed or Invalid."""
    return [_fields(parse_pairs(body))]


def read_multipart(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the fields of the bookmark in a multipart form. Raises Malformed or Invalid."""
    content = read_multipart_or_file(body, parameters)
    if isinstance(content, bytes):
        raise Invalid([("file", "cannot be sent here")])
    return [content]


def read_multipart_or_file(
    body: bytes, parameters: Mapping[str, str]
) -> dict[str, object] | bytes:
    """Return the fields of the bookmark in a multipart form, or the file that it contains.

    Raises Malformed, Invalid or HTTPError 413.
    """
    content = parse_multipart(body, parameters)
    return content if isinstance(content, bytes) else _fields(content)


def parse_multipart(
    body: bytes, parameters: Mapping[str, str]
) -> list[tuple[str, str]] | bytes:
    """Return the names and values of a multipart form, in order, or the file that it contains.

    Raises Malformed, Invalid or HTTPError 413.
    """
    fields: list[tuple[str, str]] = []
    parts = _parse_parts(body, parameters)
    for part in parts:
        name, filename, value = part
        if not name:  # RFC 7578 section 4.2
            raise Malformed("The multipart form has a part without a name.")
        if filename:
            if len(parts) > 1:
                others = [other[0] for other in parts if other is not part]
                raise Invalid([(other, "cannot be sent with a file") for other in others])
            return bytes(value)
        if filename == "" and not value:  # A file field without a chosen file.
            raise Invalid([(name, "must be a file that you choose")])
        fields.append((name, _decode(value)))
    if sum(len(value) for _, _, value in parts) > MAX_ENTRY:
        raise HTTPError(413, f"The form must not be larger than {MAX_ENTRY:,} bytes.")
    return fields


def _parse_parts(
    body: bytes, parameters: Mapping[str, str]
) -> list[tuple[str, str | None, bytearray]]:
    """Return the name, the file name and the content of each part."""
    if not parameters.get("boundary"):
        raise Malformed("The Content-Type of the multipart form has no boundary.")
    parts: list[tuple[str, str | None, bytearray]] = []
    try:
        boundary = parameters["boundary"].encode("utf-8")
        with PushMultipartParser(boundary, max_segment_count=MAX_FIELDS) as parser:
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    parts.append((event.name, event.filename, bytearray()))
                elif event:
                    parts[-1][2].extend(event)
    except MultipartError as error:
        raise Malformed(f"The multipart form is malformed: {error.args[0]}.") from None
    return parts


def _decode(value: bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The form is not UTF-8.") from None


# Tags come in one field with commas, in several fields, or both. `tag_names` is linkding's name.
_TAG_FIELDS = ("tags", "add", "remove", "tag_names")


def _fields(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the fields by name: `tag` and the fields of tags as lists, the others as strings."""
    fields: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for name, value in pairs:
        if name == "tag":  # It selects, as in the query of a list.
            lists.setdefault(name, []).append(value)
        elif name in _TAG_FIELDS:
            lists.setdefault(name, []).extend(split_tags(value))
        elif name in fields:
            raise Invalid([(name, "is given twice")])
        else:
            fields[name] = value
    is_stored_uri = fields.get("_version") == PUT_BACK
    if "uri" in fields and not is_stored_uri:
        fields["uri"] = complete_address(str(fields["uri"]))
    return {**fields, **lists}
