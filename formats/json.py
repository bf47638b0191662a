"""JSON (RFC 8259)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from formats.listing import Listing, View
from storage.bookmark import cut_and_replace_unprintable
from storage.errors import Invalid, Malformed
from storage.index import Entry
from storage.nesting import is_too_deep

_encode = msgspec.json.Encoder().encode
_BOOKMARKS_AT_ONCE = 20


def write(listing: Listing) -> Iterator[bytes]:
    """Write an array with one bookmark on each line."""
    rest = listing.bookmarks
    is_empty = True
    separator = b"[\n"
    while batch := list(islice(rest, _BOOKMARKS_AT_ONCE)):
        yield separator + b",\n".join(map(_encode, batch))
        separator = b",\n"
        is_empty = False
    if is_empty:
        yield b"[]\n"
    else:
        yield b"\n]\n"


def write_bookmark(entry: Entry, _view: View) -> Iterator[bytes]:
    yield _encode(entry.bookmark) + b"\n"


def write_value(value: object) -> bytes:
    return _encode(value) + b"\n"


def write_tags(counts: Sequence[tuple[str, int]]) -> bytes:
    return write_value([{"tag": tag, "count": count} for tag, count in counts])


def read_value(body: bytes) -> object:
    """Return the value in a body. Raises Malformed."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
    return parse_strictly(text, subject="The JSON in the body")


def read(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields in a body. Raises Malformed or Invalid."""
    value = read_value(body)
    if not isinstance(value, dict):
        reason = "must be a JSON object. A list of bookmarks goes to POST /-/import"
        raise Invalid([("body", reason)])
    return value


def parse_strictly(text: str, subject: str) -> object:
    """Return the value of a JSON text. NaN and repeated names are refused.

    Raises Malformed with an error that begins with `subject`.
    """
    if is_too_deep(text.encode("utf-8", "surrogatepass")):
        raise Malformed(f"{subject} is nested too deeply.")
    try:
        return _decoder.decode(text)
    except _Refused as error:
        raise Malformed(f"{subject} {error}.") from None
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:]
        # Python's message may be "Unterminated string starting at".
        reason = reason.removesuffix(" at").removesuffix(" starting")
        raise Malformed(f"{subject} is malformed in line {error.lineno}: {reason}.") from None


class _Refused(Exception):
    """Raised for JSON that Python's parser accepts, such as NaN."""


def _refuse_constant(name: str) -> None:
    raise _Refused(f"has {name}, which is not a JSON value")


def _refuse_repeated_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated, _ = counts.most_common(1)[0]
        shown = cut_and_replace_unprintable(repeated)
        raise _Refused(f'has the name "{shown}" twice in one object')
    return members


# Python refuses to convert more than 4,300 digits to an int, but not to a float.
_decoder = json.JSONDecoder(
    parse_int=float, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_names
)
