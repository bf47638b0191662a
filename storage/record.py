"""The file of a bookmark or tombstone: JSON bytes to values and back, unknown members kept."""

from hashlib import blake2b
from typing import TypeVar

import msgspec

from storage.bookmark import Bookmark, Tombstone, clean, create, replace_unprintable
from storage.errors import Invalid
from storage.files import MAX_SIZE


class _BookmarkRecord(msgspec.Struct, gc=False, kw_only=True):
    """The known members of a bookmark's file; it may have more."""

    id: str
    uri: str
    title: str = ""
    description: str = ""
    tags: list[str] = []
    created: str
    modified: str | None = None


_T = TypeVar("_T", _BookmarkRecord, Tombstone)
_BOM = b"\xef\xbb\xbf"  # Some editors write it at the beginning of a file.
_bookmark_decoder = msgspec.json.Decoder(_BookmarkRecord)
_tombstone_decoder = msgspec.json.Decoder(Tombstone)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_bookmark(id: str, data: bytes) -> Bookmark:
    """Return the bookmark in the file `{id}.json`.

    Raises Invalid, naming each wrong field, or "file" if it is no such JSON.
    """
    values = msgspec.structs.asdict(_decode(_bookmark_decoder, id, data))
    if values["modified"] in (None, values["created"]):
        del values["modified"]  # Both then share one string, which saves 70 bytes a bookmark.
    return create(clean(values), id)


def decode_tombstone(id: str, data: bytes) -> Tombstone:
    """Return the tombstone in the file `{id}.json`. Raises Invalid."""
    record = _decode(_tombstone_decoder, id, data)
    try:
        return Tombstone(id, clean({"created": record.deleted})["created"])
    except Invalid as error:
        raise Invalid([("deleted", reason) for _, reason in error.errors]) from None


def _decode(decoder: msgspec.json.Decoder[_T], id: str, data: bytes) -> _T:
    try:
        data.decode()  # msgspec does not check that unknown members are valid UTF-8.
        record = decoder.decode(data.removeprefix(_BOM))
    except RecursionError:
        raise Invalid([("file", "is nested too deeply")]) from None
    except ValueError as error:
        raise Invalid([("file", f"is not valid JSON of this kind: {error}")]) from None
    if record.id != id:
        raise Invalid([("id", f"is {replace_unprintable(record.id)!r} inside the file")])
    return record


def encode(value: Bookmark | Tombstone, before: bytes = b"") -> bytes:
    """Return the bytes of a file, indented for people and diffs.

    Unknown members of `before`, the previous content of the file, are kept in their place. Raises
    Invalid if the result is larger than a file may be, or nested too deeply.
    """
    dense = msgspec.json.encode(value)
    try:
        if before:
            members = _members_decoder.decode(before.removeprefix(_BOM))
            dense = msgspec.json.encode(members | _members_decoder.decode(dense))
        data = msgspec.json.format(dense, indent=2) + b"\n"
    except RecursionError:
        raise Invalid([("file", "is nested too deeply")]) from None
    if len(data) > MAX_SIZE:
        raise Invalid([("file", f"would be larger than {MAX_SIZE:,} bytes")])
    return data


def digest(data: bytes) -> int:
    """Return 128 bits that identify a file's content: the version of its bookmark."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")
