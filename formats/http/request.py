"""Read the query and the body of a request."""

import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

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

MAX_BODY = MAX_ENTRY
MAX_FILE = 32 * 1024 * 1024

_T = TypeVar("_T")


def query_parameters(request: Request) -> Parameters:
    """Return the names and values of the query, in order. Raises Malformed."""
    if not request.environ.get("QUERY_STRING"):
        return []
    try:
        return form.parse_pairs(request.environ["QUERY_STRING"].encode("latin-1"))
    except Malformed as error:
        raise Malformed(f"The query cannot be read. {error}") from None


def read_form(request: Request, limit: int = MAX_BODY) -> Parameters:
    """Return the names and values of a form, in order.

    Raises HTTPError, Malformed or Invalid.
    """
    media_type, parameters = _choose_reader(request, {name: name for name in formats.FORM_READERS})
    body = _read_body(request, limit)
    if media_type == formats.FORM:
        return form.parse_pairs(body)
    fields = form.parse_multipart(body, parameters)
    if isinstance(fields, form.UploadedFile):
        raise Malformed("The form must not have a file.")
    return fields


def read_bookmark(
    request: Request, readers: Mapping[str, formats.Reader]
) -> tuple[dict[str, object], form.HiddenFields | None]:
    """Return the fields of the one bookmark in the body, and if it is a form its hidden fields.

    Raises HTTPError, Malformed or Invalid.
    """
    read, parameters = _choose_reader(request, readers)
    bookmarks = read(_read_body(request), parameters)
    if len(bookmarks) != 1:
        raise Invalid([("body", f"must contain one bookmark, not {len(bookmarks)}")])
    return bookmarks[0], _take_hidden_fields(bookmarks[0], read)


def read_bookmark_or_file(
    request: Request,
) -> tuple[dict[str, object] | Iterator[ImportedEntry], form.HiddenFields | None]:
    """Return the fields of the one bookmark in the body, or the entries if the body is a file.

    The second result is the hidden fields of a form, None if the body is a file or no form.

    Raises HTTPError, Malformed or Invalid.
    """
    posted, parameters = _choose_reader(request, formats.POSTED_TYPES)
    is_multipart = posted.read is form.read_multipart
    # A form may have parts before and after its file.
    body = _read_body(request, MAX_FILE + (MAX_BODY if is_multipart else 0))
    if is_multipart:
        content = form.read_multipart_or_file(body, parameters)
        if isinstance(content, form.UploadedFile):
            return _read_file(content.content), None
        return content, form.take_hidden_fields(content)
    if posted.file_format == "json" and len(body) > MAX_BODY:
        limit_json_values(decode_strictly(body).encode())  # Before `is_file` decodes the body.
    if posted.read is None or (posted.is_file and posted.is_file(body, parameters)):
        return _read_file(body, posted.file_format), None
    if len(body) > MAX_BODY:
        raise _too_large(MAX_BODY)
    fields = posted.read(body, parameters)[0]
    return fields, _take_hidden_fields(fields, posted.read)


def _take_hidden_fields(
    fields: dict[str, object], read: formats.Reader
) -> form.HiddenFields | None:
    return form.take_hidden_fields(fields) if read in formats.FORM_READERS.values() else None


def _read_file(data: bytes, format: str = "") -> Iterator[ImportedEntry]:
    format = format or detect_format(data)
    if format == "json":
        limit_json_values(decode_strictly(data).encode())
    return formats.read_entries(data, format)


def read_field(request: Request, field: str) -> object:
    """Return the value in the body for a field; text with tags has one per line, or commas.

    Raises HTTPError or Malformed.
    """
    read, _ = _choose_reader(request, formats.FIELD_READERS, "text/plain")
    value = read(_read_body(request))
    is_text = field == "tags" and read is formats.FIELD_READERS["text/plain"]
    return split_tags(str(value)) if is_text else value


def _choose_reader(
    request: Request, readers: Mapping[str, _T], default: str = ""
) -> tuple[_T, dict[str, str]]:
    """Return the reader for the Content-Type, and that header's parameters.

    Raises HTTPError 415, or Malformed for a part of a body.
    """
    environ = request.environ
    if (environ.get("HTTP_CONTENT_ENCODING") or "identity").lower() != "identity":
        detail = "Send the body without Content-Encoding. It must not be compressed."
        raise HTTPError(415, detail, Accept_Encoding="identity")
    if request.method == "PUT" and "HTTP_CONTENT_RANGE" in environ:  # RFC 9110 section 14.5
        raise Malformed("The body must be complete. Send it without Content-Range.")
    media_type, parameters = parse_options_header(environ.get("CONTENT_TYPE") or default)
    if media_type not in readers:
        raise _unsupported(f"The body must be one of {', '.join(readers)}.", readers)
    charset = parameters.get("charset", "utf-8").lower()
    # An XML document declares its own charset.
    if charset not in ("utf-8", "us-ascii") and not media_type.endswith(("xml", "xbel")):
        raise _unsupported(f"The body must be UTF-8, not {charset!r}.", readers)
    return readers[media_type], parameters


def _unsupported(detail: str, readers: Mapping[str, object]) -> HTTPError:
    return HTTPError(415, detail, Accept_Post=", ".join(readers))


def _read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """Return the body, and leave it in the request to be read again.

    Raises HTTPError 413 if it has more than `limit` bytes, 411 if its end cannot be known, or
    Malformed if it is incomplete.
    """
    length = request.content_length
    if length is None and not request.environ.get("wsgi.input_terminated"):
        if "HTTP_TRANSFER_ENCODING" in request.environ:  # RFC 9110 section 15.5.12
            raise HTTPError(411, "This server needs the Content-Length of the body.")
        length = 0
    if length is not None and length > limit:
        raise _too_large(limit)
    try:
        body = _read_up_to(request, limit + 1 if length is None else length)
    except Exception as error:  # Each server raises its own error when a client disconnects.
        log.warning("A body cannot be read to its end: %r", error)
        raise Malformed("The body cannot be read to its end.") from error
    if len(body) > limit:
        raise _too_large(limit)
    if length is not None and len(body) < length:
        raise Malformed("The body ends before its Content-Length.")
    request.environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return body


def _read_up_to(request: Request, size: int) -> bytes:
    """Read from wsgi.input, which may return less than it is asked for."""
    chunks = []
    while size and (chunk := request.environ["wsgi.input"].read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> HTTPError:
    return HTTPError(413, f"The body must not be larger than {limit:,} bytes.")


# --- The limit of values in a JSON document ---

# No other thread runs while msgspec decodes an array: 0.3 s for 4 million values, but 1.3 s for
# the 16 million that fit into 32 MiB.
MAX_JSON_CONTAINERS, MAX_JSON_VALUES = 500_000, 4_000_000
# A string, or in group 1 the text before the next string.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([^"]++)', re.DOTALL)


def limit_json_values(data: bytes) -> None:
    """Raise HTTPError 413 if the document has too many values.

    An exact count leaves out strings and takes a hundred times as long, so it comes second.
    """
    if _has_few_values([data]):
        return
    if not _has_few_values(match[1] for match in _STRING.finditer(data) if match[1]):
        raise HTTPError(
            413,
            f"The JSON document has more than {MAX_JSON_CONTAINERS:,} objects and arrays, or more "
            f"than {MAX_JSON_VALUES:,} values. Import it with `bookmarks import` on the server.",
        )


def _has_few_values(parts: Iterable[bytes]) -> bool:
    containers = commas = 0
    for part in parts:
        containers += part.count(b"{") + part.count(b"[")
        commas += part.count(b",")
        if containers > MAX_JSON_CONTAINERS or commas >= MAX_JSON_VALUES:
            return False
    return True
