"""Read the query and the body of a request.

Errors are raised as HTTPError, Malformed or Invalid.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice

from multipart import parse_options_header
from webob import Request

import formats
from formats import form, json, text
from formats.charset import decode
from formats.http.response import HTTPError
from formats.imports import read_entries
from formats.imports.detect import detect_format
from formats.imports.entry import MAX_ENTRY, ImportedEntry
from formats.listing import Parameters
from storage.bookmark import split_tags
from storage.errors import Malformed
from storage.nesting import outside_strings

log = logging.getLogger("bookmarks")

MAX_BODY = MAX_ENTRY  # The bytes of one bookmark, or of a form.
MAX_FILE = 32 * 1024 * 1024  # The bytes of all files to import.
MAX_JSON_CONTAINERS = 500_000  # Objects and arrays.
MAX_JSON_VALUES = 2_000_000
# The decoder blocks all other threads until it comes to the next object.
MAX_JSON_VALUES_WITHOUT_OBJECT = 500_000
SEND_FILES_TEXT = "A file of bookmarks goes to POST /-/import"
URI_MISSING_TEXT = f"is required. {SEND_FILES_TEXT}"


def query_parameters(request: Request) -> Parameters:
    query = request.environ.get("QUERY_STRING")
    if not query:
        return []
    try:
        # WSGI variables are decoded as Latin-1.
        return form.parse_pairs(query.encode("latin-1"))
    except Malformed as error:
        raise Malformed(f"The query cannot be read. {error}") from None


def read_form(request: Request, limit: int = MAX_BODY) -> Parameters:
    media_type, parameters = _parse_content_type(request, formats.FORM_TYPES)
    body = _read_body(request, limit)
    if media_type == "multipart/form-data":
        return form.parse_multipart(body, parameters)
    return form.parse_pairs(body)


def read_fields(
    request: Request, readers: Mapping[str, formats.Reader], hint: str = ""
) -> dict[str, object]:
    """Return the fields in the body. The error for a wrong media type has `hint`."""
    media_type, parameters = _parse_content_type(request, readers, hint=hint)
    return readers[media_type](_read_body(request), parameters)


def read_field(request: Request, field: str) -> object:
    media_type, _ = _parse_content_type(request, formats.FIELD_TYPES, default="text/plain")
    body = _read_body(request)
    if media_type == "application/json":
        return json.read_value(body)
    value = text.read_value(body)
    if field == "tags":
        return split_tags(value)
    return value


def read_files(request: Request) -> Iterator[ImportedEntry]:
    """Read the file in the body, or the files in a form."""
    media_type, parameters = _parse_content_type(request, formats.FILE_TYPES)
    body = _read_body(request, MAX_FILE + MAX_BODY)
    files = [("", body)]
    if media_type == "multipart/form-data":
        files = form.read_uploads(body, parameters)
    if sum(len(data) for _, data in files) > MAX_FILE:
        raise _too_large(MAX_FILE)
    format = formats.FILE_TYPES[media_type]
    entries = [_read_file(data, format, name) for name, data in files]
    return chain.from_iterable(entries)


def _read_file(data: bytes, format: str, file_name: str) -> Iterator[ImportedEntry]:
    if not format:
        format = detect_format(data)
    if format == "json":
        limit_json(data)
    entries = read_entries(data, format, file_name)
    # Read the first entry now: a file without entries raises Malformed before any other file
    # is imported.
    first = list(islice(entries, 1))
    return chain(first, entries)


def limit_json(document: bytes) -> None:
    """Raise HTTPError 413 if decoding would take long or block other requests."""
    utf_8 = decode(document).encode()  # The document may be UTF-16.
    punctuation = outside_strings(utf_8, b"{[,")
    if punctuation.count(b"{") + punctuation.count(b"[") > MAX_JSON_CONTAINERS:
        raise _too_many(MAX_JSON_CONTAINERS, "objects and arrays")
    if punctuation.count(b",") >= MAX_JSON_VALUES:
        raise _too_many(MAX_JSON_VALUES, "values")
    if _longest_run_of_values(punctuation) >= MAX_JSON_VALUES_WITHOUT_OBJECT:
        items = "values without an object between them"
        raise _too_many(MAX_JSON_VALUES_WITHOUT_OBJECT, items)


def _longest_run_of_values(punctuation: bytes) -> int:
    """Return the largest number of commas without a `{` between them."""
    return max(run.count(b",") for run in punctuation.split(b"{"))


def _too_many(limit: int, items: str) -> HTTPError:
    return HTTPError(
        413,
        f"The JSON document has more than {limit:,} {items}. Import it with "
        "`bookmarks import` on the server.",
    )


def _parse_content_type(
    request: Request, accepted: Collection[str], default: str = "", hint: str = ""
) -> tuple[str, dict[str, str]]:
    """Return the media type and its parameters. Raises HTTPError if they are not accepted."""
    _refuse_compressed_or_partial(request)
    content_type = request.environ.get("CONTENT_TYPE") or default
    media_type, parameters = parse_options_header(content_type)
    if media_type not in accepted:
        detail = f"The body must be one of {', '.join(accepted)}."
        if hint:
            detail += f" {hint}."
        raise _unsupported(detail, accepted)
    charset = parameters.get("charset", "utf-8").lower()
    is_xml = media_type.endswith(("xml", "xbel"))  # XML documents may have any charset.
    if charset not in ("utf-8", "us-ascii") and not is_xml:
        raise _unsupported(f"The body must be UTF-8, not {charset!r}.", accepted)
    return media_type, parameters


def _refuse_compressed_or_partial(request: Request) -> None:
    environ = request.environ
    encoding = environ.get("HTTP_CONTENT_ENCODING") or "identity"
    if encoding.lower() != "identity":
        detail = "Send the body without Content-Encoding. It must not be compressed."
        raise HTTPError(415, detail, Accept_Encoding="identity")
    if request.method == "PUT" and "HTTP_CONTENT_RANGE" in environ:
        raise Malformed("The body must be complete. Send it without Content-Range.")


def _unsupported(detail: str, accepted: Collection[str]) -> HTTPError:
    return HTTPError(415, detail, Accept_Post=", ".join(accepted))


def _read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    length = _content_length(request)
    if length is None:
        body = _read_up_to(request, limit + 1)
        if len(body) > limit:
            raise _too_large(limit)
        return body
    if length > limit:
        raise _too_large(limit)
    body = _read_up_to(request, length)
    if len(body) < length:
        raise Malformed("The body ends before its Content-Length.")
    return body


def _content_length(request: Request) -> int | None:
    """Return None if the length of the body is unknown."""
    length: int | None = request.content_length
    if length is not None:
        return length
    if request.environ.get("wsgi.input_terminated"):
        return None  # The body was sent in chunks.
    if "HTTP_TRANSFER_ENCODING" in request.environ:
        raise HTTPError(411, "This server needs the Content-Length of the body.")
    return 0


def _read_up_to(request: Request, size: int) -> bytes:
    chunks = []
    try:
        while size > 0:
            chunk = request.environ["wsgi.input"].read(size)
            if not chunk:
                break
            chunks.append(chunk)
            size -= len(chunk)
    except Exception as error:  # WSGI servers have their own exceptions.
        log.warning("A body cannot be read to its end: %r", error)
        raise Malformed("The body cannot be read to its end.") from error
    return b"".join(chunks)


def _too_large(limit: int) -> HTTPError:
    return HTTPError(413, f"The body must not be larger than {limit:,} bytes.")
