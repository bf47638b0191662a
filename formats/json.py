"""JSON (RFC 8259): a bookmark is an object of its seven fields, a list an array of those."""

import json
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from formats.errors import Malformed
from formats.view import View
from storage.bookmark import Bookmark
from storage.errors import Invalid

_encode = msgspec.json.Encoder().encode


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """An array, one bookmark on each line."""
    separator = b"[\n"
    for bookmark in bookmarks:
        yield separator
        yield _encode(bookmark)
        separator = b",\n"
    yield b"[]\n" if separator == b"[\n" else b"\n]\n"


def write_one(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """An object: the only bookmark there is."""
    for bookmark in bookmarks:
        yield _encode(bookmark) + b"\n"


def write_field(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """The value of the view's field."""
    for bookmark in bookmarks:
        yield _encode(getattr(bookmark, view.field)) + b"\n"


def read_value(body: bytes) -> object:
    """The value that the body holds. Raises Malformed, for a name given twice too."""
    try:
        return json.loads(
            body.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_object
        )
    except RecursionError:
        raise Malformed("The JSON is nested too deep.") from None
    except ValueError as error:
        raise Malformed(f"The body is not well-formed JSON: {error}.") from None


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The one bookmark that the body gives, as its fields. Raises Malformed or Invalid."""
    value = read_value(body)
    if not isinstance(value, dict):
        raise Invalid([("body", "must be a JSON object with the fields of a bookmark")])
    return [value]


def _no_constant(name: str) -> None:
    raise Malformed(f"The body is not well-formed JSON: {name} is no JSON value.")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Malformed("The JSON has an object with the same name twice.")
    return members
