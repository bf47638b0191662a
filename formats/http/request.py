"""Read the query and the body of a request."""

import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping

from multipart import parse_options_header
from webob import Request

import formats
from formats import form
from formats.base_url import Parameters
from formats.errors import HTTPError, Malformed
from formats.imports.charset import decode_strictly
from formats.imports.detect import detect_format
from formats.imports.entry import MAX_ENTRY, ImportedEntry
from storage.bookmark import split_tags
from storage.errors import Invalid

log = logging.getLogger("bookmarks")

# In bytes. MAX_BODY limits a body with one bookmark or a form, MAX_FILE a file to import.
MAX_BODY, MAX_FILE = MAX_ENTRY, 32 * 1024 * 1024


def query_parameters(request: Request) -> Parameters:
    """Return the names and values of the query, in order. Raises Malformed."""
    if not request.environ.get("QUERY_STRING"):
        return []
    try:
        # WSGI has decoded the bytes of the query as Latin-1.
        return form.parse_pairs(request.environ["QUERY_STRING"].encode("latin-1"))
    except Malformed as error:
        raise Malformed(f"The query cannot be read. {error}") from None


def read_form(request: Request, limit: int = MAX_BODY) -> Parameters:
    """Return the names and values of a form, in order.

    Raises HTTPError, Malformed or Invalid.
    """
    media_type, parameters = _check_type(request, formats.FORM_READERS)
    body = _read_body(request, limit)
    if media_type == formats.FORM:
        return form.parse_pairs(body)
    fields = form.parse_multipart(body, parameters)
    if isinstance(fields, form.UploadedFile):
        raise Malformed("The form must not have a file.")
    return fields


def read_fields(
    request: Request, readers: Mapping[str, formats.Reader]
) -> tuple[dict[str, object], form.HiddenFields | None]:
    """Return the fields of a bookmark or retagging, and the hidden fields of a form, else None.

    Raises HTTPError, Malformed or Invalid.
    """
    media_type, parameters = _check_type(request, readers)
    all_fields = readers[media_type](_read_body(request), parameters)
    if len(all_fields) != 1:  # Only XBEL may have none or several.
        raise Invalid([("body", f"must contain one bookmark, not {len(all_fields)}")])
    return all_fields[0], _take_hidden_fields(all_fields[0], media_type)


def read_bookmark_or_file(
    request: Request,
) -> tuple[dict[str, object] | Iterator[ImportedEntry], form.HiddenFields | None]:
    """Return the fields of the one bookmark in the body, or the entries of a file to import.

    The second value is the hidden fields if the bookmark comes from a form, otherwise None.

    Raises HTTPError, Malformed or Invalid.
    """
    media_type, parameters = _check_type(request, formats.POSTED_TYPES)
    posted_type = formats.POSTED_TYPES[media_type]
    is_multipart = media_type == formats.MULTIPART_FORM
    # In a multipart form, boundaries and headers surround the file: allow MAX_BODY more bytes.
    body = _read_body(request, MAX_FILE + (MAX_BODY if is_multipart else 0))
    if is_multipart:
        content = form.read_multipart_or_file(body, parameters)
        if isinstance(content, form.UploadedFile):
            return _read_file(content.content, file_name=content.name), None
        return content, form.take_hidden_fields(content)
    # Limit the number of values before `is_file` parses them. A body of up to MAX_BODY bytes needs
    # no limit here, because parsing so few bytes takes little time.
    if posted_type.file_format == "json" and len(body) > MAX_BODY:
        limit_json_values(body)
    # Without a reader of bookmarks, every body of this type is a file, such as one in CSV.
    if posted_type.read is None or (posted_type.is_file and posted_type.is_file(body, parameters)):
        return _read_file(body, posted_type.file_format), None
    if len(body) > MAX_BODY:
        raise _too_large(MAX_BODY)
    # A form has one bookmark. Bodies of other types with none or several are files, read above.
    (fields,) = posted_type.read(body, parameters)
    return fields, _take_hidden_fields(fields, media_type)


def _take_hidden_fields(fields: dict[str, object], media_type: str) -> form.HiddenFields | None:
    """Remove the hidden fields from a form's `fields`, and return them; None without a form."""
    return form.take_hidden_fields(fields) if media_type in formats.FORM_READERS else None


def _read_file(data: bytes, format: str = "", file_name: str = "") -> Iterator[ImportedEntry]:
    """Return the entries of a file, whose format is detected if the argument is empty."""
    format = format or detect_format(data)
    # Decoding many values takes long. A long body sent as JSON has passed this check before.
    if format == "json":
        limit_json_values(data)
    return formats.read_entries(data, format, file_name)


def read_field(request: Request, field: str) -> object:
    """Return the value of a field: the body has nothing else. Raises HTTPError or Malformed."""
    media_type, _ = _check_type(request, formats.FIELD_READERS, default="text/plain")
    value = formats.FIELD_READERS[media_type](_read_body(request))
    # A text separates tags by line breaks or commas; JSON has an array of them.
    is_text_of_tags = field == "tags" and media_type == "text/plain"
    return split_tags(str(value)) if is_text_of_tags else value


def _check_type(
    request: Request, accepted: Mapping[str, object], default: str = ""
) -> tuple[str, dict[str, str]]:
    """Return the media type in Content-Type, and that header's parameters.

    Raises HTTPError 415 for a type not in `accepted`, or Malformed for a PUT with Content-Range.
    """
    environ = request.environ
    if (environ.get("HTTP_CONTENT_ENCODING") or "identity").lower() != "identity":
        detail = "Send the body without Content-Encoding. It must not be compressed."
        raise HTTPError(415, detail, Accept_Encoding="identity")
    if request.method == "PUT" and "HTTP_CONTENT_RANGE" in environ:  # RFC 9110 section 14.5
        raise Malformed("The body must be complete. Send it without Content-Range.")
    media_type, parameters = parse_options_header(environ.get("CONTENT_TYPE") or default)
    if media_type not in accepted:
        raise _unsupported(f"The body must be one of {', '.join(accepted)}.", accepted)
    charset = parameters.get("charset", "utf-8").lower()
    # An XML document declares its own charset, in which its reader decodes it.
    if charset not in ("utf-8", "us-ascii") and not media_type.endswith(("xml", "xbel")):
        raise _unsupported(f"The body must be UTF-8, not {charset!r}.", accepted)
    return media_type, parameters


def _unsupported(detail: str, accepted: Iterable[str]) -> HTTPError:
    return HTTPError(415, detail, Accept_Post=", ".join(accepted))


def _read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """Return the body, and leave it in the request, so that an error page can read it again.

    Raises HTTPError 413 for a body of more than `limit` bytes, HTTPError 411 if nothing says where
    the body ends, or Malformed for a body that is cut off.
    """
    length = request.content_length
    # A server that ends the input itself, as after a chunked body, sets wsgi.input_terminated.
    if length is None and not request.environ.get("wsgi.input_terminated"):
        if "HTTP_TRANSFER_ENCODING" in request.environ:  # RFC 9110 section 15.5.12
            raise HTTPError(411, "This server needs the Content-Length of the body.")
        length = 0
    if length is not None and length > limit:
        raise _too_large(limit)
    try:
        # Without a length, one byte more than the limit shows that the body is too large.
        body = _read_up_to(request, limit + 1 if length is None else length)
    except Exception as error:  # Each server raises its own error when a client disconnects.
        log.warning("A body cannot be read to its end: %r", error)
        raise Malformed("The body cannot be read to its end.") from error
    if len(body) > limit:
        raise _too_large(limit)
    if length is not None and len(body) < length:
        raise Malformed("The body ends before its Content-Length.")
    # An error page shows the form of the request, and reads the body again.
    request.environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return body


def _read_up_to(request: Request, size: int) -> bytes:
    """Return `size` bytes of the body, or all if it has less.

    A read from wsgi.input may return less than it is asked for before the end of the body.
    """
    chunks = []
    while size and (chunk := request.environ["wsgi.input"].read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> HTTPError:
    return HTTPError(413, f"The body must not be larger than {limit:,} bytes.")


# --- The limit of values in a JSON document ---

# No other thread runs while msgspec decodes an array: 0.3 s for 4 million numbers, but 1.3 s for
# the 16 million that fit into 32 MiB. Objects and arrays as values take longer, so fewer may come.
MAX_JSON_CONTAINERS, MAX_JSON_VALUES = 500_000, 4_000_000
# Each match is a string, or the text between two strings, which is group 1. A string that is cut
# off has no quote at its end: `"?`. The possessive `++` and `*+` never backtrack, so that the time
# grows only in proportion to the length.
_STRING_OR_GAP = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([^"]++)', re.DOTALL)


def limit_json_values(document: bytes) -> None:
    """Raise HTTPError 413 if decoding would block other requests for too long, or Malformed.

    A fast count includes the commas and brackets in strings, so it may be too large. Only if it is
    above the limits, count again without the strings, which takes a hundred times as long.
    """
    # UTF-16 becomes UTF-8, in which a comma or a bracket is one byte.
    document = decode_strictly(document).encode()
    if _is_within_json_limits([document]):
        return
    gaps = (match[1] for match in _STRING_OR_GAP.finditer(document) if match[1])
    if not _is_within_json_limits(gaps):
        raise HTTPError(
            413,
            f"The JSON document has more than {MAX_JSON_CONTAINERS:,} objects and arrays, or more "
            f"than {MAX_JSON_VALUES:,} values. Import it with `bookmarks import` on the server.",
        )


def _is_within_json_limits(parts: Iterable[bytes]) -> bool:
    """Return whether the brackets and the commas in the parts are within the limits."""
    # A value follows a comma, or is the first in its container: both counts limit the values.
    containers, commas = 0, 0
    for part in parts:
        containers += part.count(b"{") + part.count(b"[")
        commas += part.count(b",")
        if containers > MAX_JSON_CONTAINERS or commas >= MAX_JSON_VALUES:
            return False
    return True
