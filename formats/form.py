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

# A form of a million fields would take much memory; the form of a bookmark has about 20.
MAX_FIELDS = 200

# The hidden field `_version` has these values in the form that adds a bookmark, and in the one that
# puts back a deleted bookmark. Forms that change or delete a bookmark have its version there.
NEW_BOOKMARK, DELETED_BOOKMARK = "new", "put-back"

# An address as people type it, to which `complete_address` adds https://. It begins with localhost,
# a name with a dot or an IPv6 address, and may go on with a port, path, query or fragment. Texts
# such as `mailto.x:abc` do not match: no port follows the colon, so `mailto.x` is a scheme.
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|[\w-]+(?:\.[\w-]+)+\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|$)",
    re.IGNORECASE,
)


def complete_address(text: str) -> str:
    """Return an address, with `https://` in front if people typed it without a scheme."""
    address = text.strip()
    if _WITHOUT_SCHEME.match(address):
        return f"https://{address}"
    return text  # Not stripped, because an error page repeats a wrong address as the user typed it.


class HiddenFields(NamedTuple):
    """The hidden fields of a form of a page, beside the fields of the bookmark."""

    # The version of the bookmark when the user opened the form; NEW_BOOKMARK in a form that adds a
    # bookmark; DELETED_BOOKMARK in one that puts a bookmark back; empty in other programs' forms.
    version: str = ""
    # The query of the list to return to; None if the user did not come from a list.
    list_query: str | None = None
    # True if the bookmarklet has opened the window of the form: after saving, the script closes it.
    closes_window: bool = False
    # A digest of each field's value when the user opened the form: if another client has changed
    # the bookmark since, `merge.user_changes` finds the fields that the user has changed.
    initial_field_digests: str = ""


def take_hidden_fields(fields: dict[str, object]) -> HiddenFields:
    """Remove the hidden fields from a form's `fields`, and return them.

    If the checkbox `_quote` is ticked, append its text to the description. The text is the
    description that the user wanted to add with a uri which the form's bookmark has already.
    """
    list_query = fields.pop("_list", None)
    if new_text := fields.pop("_quote", ""):
        # If the description is empty, storage strips the line breaks before the text.
        fields["description"] = f"{fields.get('description', '')}\n\n{new_text}"
    return HiddenFields(
        version=str(fields.pop("_version", "")),
        list_query=None if list_query is None else str(list_query),
        closes_window=fields.pop("_close", "") == "1",
        initial_field_digests=str(fields.pop("_opened", "")),
    )


def make_hidden_fields(
    page_query: Mapping[str, str], version: str, initial_field_digests: str = ""
) -> HiddenFields:
    """Return the hidden fields of the form on a page with the query `page_query`.

    `initial_field_digests` show later, when the form is sent, which fields the user has changed.
    """
    list_query = page_query.get("_list")  # A list has this parameter in its links to the form.
    closes_window = page_query.get("close") == "1"  # The bookmarklet opens the form with `close=1`.
    return HiddenFields(version, list_query, closes_window, initial_field_digests)


def parse_pairs(encoded: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a URL-encoded query or form, in order. Raises Malformed."""
    try:
        return parse_qsl(
            encoded.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except UnicodeDecodeError:
        raise Malformed("It is not UTF-8.") from None
    except ValueError:  # The only other error of parse_qsl is that of too many fields.
        raise Malformed(f"It has more than {MAX_FIELDS} fields.") from None


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return a list with one item, the fields of a URL-encoded form. Raises Malformed or Invalid.

    Every reader of a bookmark returns a list, because an XBEL document may have several bookmarks.
    """
    return [_fields_by_name(parse_pairs(body))]


def read_multipart(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return a multipart form's fields like `read`. Raises the errors of `parse_multipart`."""
    content = read_multipart_or_file(body, parameters)
    if isinstance(content, UploadedFile):
        raise Invalid([("file", "cannot be sent here")])
    return [content]


class UploadedFile(NamedTuple):
    """A file that a user sends in a multipart form, to import it; such a form has no fields."""

    content: bytes
    name: str


def read_multipart_or_file(
    body: bytes, parameters: Mapping[str, str]
) -> dict[str, object] | UploadedFile:
    """Return a multipart form's fields by name, or its file. Raises like `parse_multipart`."""
    content = parse_multipart(body, parameters)
    return content if isinstance(content, UploadedFile) else _fields_by_name(content)


def parse_multipart(
    body: bytes, parameters: Mapping[str, str]
) -> list[tuple[str, str]] | UploadedFile:
    """Return the names and values of a multipart form, in order, or the file that it has instead.

    Raises Malformed, Invalid or HTTPError 413.
    """
    fields: list[tuple[str, str]] = []
    parts = _parse_parts(body, parameters)
    for part in parts:
        name, file_name, value = part
        if not name:  # RFC 7578 section 4.2
            raise Malformed("The multipart form has a part without a name.")
        if file_name:
            if len(parts) > 1:
                others = [other.name for other in parts if other is not part]
                raise Invalid([(other, "cannot be sent with a file") for other in others])
            return UploadedFile(bytes(value), file_name)
        # A browser sends an empty file name for a file field in which no file was chosen.
        if file_name == "" and not value:
            raise Invalid([(name, "must be a file that you choose")])
        fields.append((name, _decode(value)))
    # The body may be as large as a file of many bookmarks, but the fields of a form are at most one
    # bookmark, so they must not be larger than one entry of such a file.
    if sum(len(part.value) for part in parts) > MAX_ENTRY:
        raise HTTPError(413, f"The form must not be larger than {MAX_ENTRY:,} bytes.")
    return fields


class _Part(NamedTuple):
    """A part of a multipart form: `file_name` is None if the part is no file."""

    name: str
    file_name: str | None
    value: bytearray


def _parse_parts(body: bytes, parameters: Mapping[str, str]) -> list[_Part]:
    if not parameters.get("boundary"):
        raise Malformed("The Content-Type of the multipart form has no boundary.")
    parts: list[_Part] = []
    try:
        boundary = parameters["boundary"].encode("utf-8")
        with PushMultipartParser(boundary, max_segment_count=MAX_FIELDS) as parser:
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    parts.append(_Part(event.name, event.filename, bytearray()))
                elif event is not None:  # The parser yields None at the end of each part.
                    parts[-1].value.extend(event)
    except MultipartError as error:
        raise Malformed(f"The multipart form is malformed: {error.args[0]}.") from None
    return parts


def _decode(value: bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("The form is not UTF-8.") from None


# The fields with tags, which commas separate. A form may send each of these fields several times:
# the form of a bookmark has a text field `tags`, and a checkbox `tags` for each suggested tag.
# `tag_names` is the name in linkding's API.
_TAG_FIELDS = ("tags", "add", "remove", "tag_names")


def _fields_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return the fields by name: lists for `tag` and _TAG_FIELDS, strings for all others."""
    fields: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for name, value in pairs:
        if name == "tag":  # One tag that selects bookmarks, as in the query of a list.
            lists.setdefault(name, []).append(value)
        elif name in _TAG_FIELDS:
            lists.setdefault(name, []).extend(split_tags(value))
        elif name in fields:  # Only the fields for tags, above, may occur several times.
            raise Invalid([(name, "is given twice")])
        else:
            fields[name] = value
    # Complete an address that a user typed without `https://`. The form that puts back a deleted
    # bookmark has a hidden uri instead, which must stay as stored, such as `localhost:80`.
    puts_bookmark_back = fields.get("_version") == DELETED_BOOKMARK
    if "uri" in fields and not puts_bookmark_back:
        fields["uri"] = complete_address(str(fields["uri"]))
    return {**fields, **lists}
