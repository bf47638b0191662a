"""Decode and encode the JSON file of a bookmark or tombstone, and keep its unknown members."""

from hashlib import blake2b
from typing import TypeVar

import msgspec

from storage.bookmark import Bookmark, Tombstone, clean, create, cut_and_replace_unprintable
from storage.errors import Invalid
from storage.files import MAX_FILE_SIZE
from storage.nesting import MAX_DEPTH, is_too_deep


class _BookmarkRecord(msgspec.Struct, kw_only=True):
    """The known members of a bookmark's file. Other programs may have added more members."""

    id: str
    uri: str
    title: str = ""
    description: str = ""
    tags: list[str] = []
    created: str
    modified: str | None = None


_Record = TypeVar("_Record", _BookmarkRecord, Tombstone)
_BOM = b"\xef\xbb\xbf"  # Some editors write it at the beginning of a file.
_bookmark_decoder = msgspec.json.Decoder(_BookmarkRecord)
_tombstone_decoder = msgspec.json.Decoder(Tombstone)
# Raw values keep the numbers in unknown members as they are: a float cannot hold each of them.
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_bookmark(id: str, data: bytes) -> Bookmark:
    """Return the bookmark in the file `{id}.json`.

    Raises Invalid with an error for each field that breaks its rule, or with one for "file" if the
    JSON cannot be decoded, or a member is missing or has a wrong type.
    """
    values = msgspec.structs.asdict(_decode(_bookmark_decoder, id, data))
    if values["modified"] in (None, values["created"]):
        # `create` then uses the string of `created` for both, which saves 70 bytes a bookmark.
        del values["modified"]
    return create(clean(values), id)


def decode_tombstone(id: str, data: bytes) -> Tombstone:
    """Return the tombstone in the file `{id}.json`. Raises Invalid."""
    record = _decode(_tombstone_decoder, id, data)
    try:
        # `clean` has no rule for `deleted`, so use that of `created`, which is a timestamp too.
        return Tombstone(id, clean({"created": record.deleted})["created"])
    except Invalid as error:
        raise Invalid([("deleted", reason) for _, reason in error.errors]) from None


def _decode(decoder: msgspec.json.Decoder[_Record], id: str, data: bytes) -> _Record:
    """Return the known members of the file `{id}.json`; check only their types and the id."""
    try:
        data.decode()  # msgspec does not check that unknown members are valid UTF-8.
        if is_too_deep(data):
            raise Invalid([("file", f"is nested in more than {MAX_DEPTH} levels")])
        record = decoder.decode(data.removeprefix(_BOM))
    except ValueError as error:  # The base of UnicodeDecodeError and of msgspec's errors.
        raise Invalid([("file", f"is not valid JSON of this kind: {error}")]) from None
    if record.id != id:  # For example, the file was renamed or copied.
        raise Invalid([("id", f"is {cut_and_replace_unprintable(record.id)!r} inside the file")])
    return record


def encode(value: Bookmark | Tombstone, previous_content: bytes = b"") -> bytes:
    """Return the bytes of a file, indented for people and diffs.

    Unknown members of the file's `previous_content` are kept in their place; it is empty for a new
    file. Raises Invalid if the result is larger than a file may be.
    """
    compact = msgspec.json.encode(value)  # In one line; `format` indents it below.
    if previous_content:
        previous_members = _members_decoder.decode(previous_content.removeprefix(_BOM))
        new_members = _members_decoder.decode(compact)
        # `new_members` has every field, even an empty one, so no old value of a field remains.
        compact = msgspec.json.encode(previous_members | new_members)
    data = msgspec.json.format(compact, indent=2) + b"\n"
    if len(data) > MAX_FILE_SIZE:  # `files.read` would refuse it. Unknown members may be large.
        raise Invalid([("file", f"would be larger than {MAX_FILE_SIZE:,} bytes")])
    return data


def digest(data: bytes) -> int:
    """Return 128 bits that identify a file's content: the version of its bookmark."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")
