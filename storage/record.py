"""Decode and encode the JSON files of bookmarks and tombstones."""

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import asdict

from storage.bookmark import (
    Bookmark,
    Tombstone,
    clean,
    clean_value,
    create,
    cut_and_replace_unprintable,
)
from storage.errors import Invalid
from storage.files import MAX_FILE_SIZE
from storage.nesting import MAX_DEPTH, is_too_deep

_BOM = b"\xef\xbb\xbf"  # Some editors write it.
_bookmark_decoder = msgspec.json.Decoder(Bookmark)
_tombstone_decoder = msgspec.json.Decoder(Tombstone)
# msgspec.Raw keeps numbers that a float cannot hold.
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_bookmark(id: str, data: bytes) -> Bookmark:
    """Decode the file `{id}.json`. Raises Invalid."""
    values = _decode(_bookmark_decoder, id, data)
    if values["modified"] in ("", values["created"]):
        # `create` sets `modified` to `created`. One string for both saves memory.
        del values["modified"]
    return create(clean(values), id)


def decode_tombstone(id: str, data: bytes) -> Tombstone:
    """Decode the file `{id}.json`. Raises Invalid."""
    values = _decode(_tombstone_decoder, id, data)
    try:
        # `deleted` has the same rule as `created`.
        deleted = clean_value("created", values["deleted"])
    except Invalid as error:
        _, reason = error.errors[0]
        raise Invalid([("deleted", reason)]) from None
    return Tombstone(id, deleted, values["private"])


def _decode(decoder: msgspec.json.Decoder[Any], id: str, data: bytes) -> dict[str, Any]:
    try:
        data.decode()  # msgspec does not check that unknown members are UTF-8.
        if is_too_deep(data):
            raise Invalid([("file", f"is nested in more than {MAX_DEPTH} levels")])
        values = asdict(decoder.decode(data.removeprefix(_BOM)))
    except ValueError as error:
        raise Invalid([("file", f"is not valid JSON of this kind: {error}")]) from None
    if values["id"] != id:  # The file was renamed or copied.
        shown = cut_and_replace_unprintable(values["id"])
        raise Invalid([("id", f"is {shown!r} inside the file")])
    return values


def encode(value: Bookmark | Tombstone, previous_content: bytes = b"") -> bytes:
    """Return the content of a file, with the unknown members of `previous_content`.

    Raises Invalid if the file would be larger than MAX_FILE_SIZE.
    """
    compact = msgspec.json.encode(value)
    if previous_content:
        compact = _keep_unknown_members(previous_content, compact)
    data = msgspec.json.format(compact, indent=2) + b"\n"
    if len(data) > MAX_FILE_SIZE:
        raise Invalid([("file", f"would be larger than {MAX_FILE_SIZE:,} bytes")])
    return data


def _keep_unknown_members(previous_content: bytes, compact: bytes) -> bytes:
    previous_members = _members_decoder.decode(previous_content.removeprefix(_BOM))
    new_members = _members_decoder.decode(compact)
    return msgspec.json.encode(previous_members | new_members)


def digest(data: bytes) -> int:
    """Return a 128-bit hash."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")
