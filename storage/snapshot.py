"""What all files said when they were last read, so that a start need not read them all once more.

A guess, as the index in memory is one: it counts for a file only while that has the identity, size
and times which it had then, and may be deleted at any time.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path

import msgspec

from storage import files
from storage.bookmark import Bookmark
from storage.index import Entry

NAME = "snapshot.index"
_MAX_SIZE = 16 * 1024**3


class Row(msgspec.Struct, array_like=True, gc=False):
    """An entry of the index with the signature of the file that it was read from.

    `tags` and `folded` are numbers of all tags; `folded`, `modified` and `key` are empty if they
    are `tags`, `created` and `uri`.
    """

    signature: int
    version: bytes
    touched: float
    id: str
    uri: str
    title: str
    description: str
    tags: list[int]
    folded: list[int]
    created: str
    modified: str
    key: str


class _Content(msgspec.Struct, array_like=True):
    """All tags, as they are spelled or compared, and rows in blocks."""

    tags: list[str]
    blocks: list[msgspec.Raw]


_content = msgspec.msgpack.Decoder(_Content)
_rows = msgspec.msgpack.Decoder(list[Row])
_BLOCK = 1000  # Rows that are in memory at once.


def read(folder: Path) -> Iterator[tuple[Row, Sequence[str]]]:
    """The rows, each with all the tags that numbers stand for; none if there is no snapshot that is
    whole and of these rules.

    Raises Unavailable if nothing can be opened or read now.
    """
    if not rules():
        return
    try:
        data, _ = files.read(folder / NAME, _MAX_SIZE)
    except (FileNotFoundError, files.BadFile):
        return
    rest = memoryview(data)[_HEAD:]
    if data[:_HEAD] != rules() + _digest(rest):
        return
    content = _content.decode(rest)
    for block in content.blocks:
        for row in _rows.decode(block):
            yield row, content.tags


def entry(row: Row, all_tags: Sequence[str]) -> Entry:
    """The row's entry, with one object for what is the same."""
    tags = tuple(map(all_tags.__getitem__, row.tags))
    bookmark = Bookmark(
        row.id,
        row.uri,
        row.title,
        row.description,
        tags,
        row.created,
        row.modified or row.created,
    )
    folded = tuple(map(all_tags.__getitem__, row.folded)) if row.folded else tags
    version = int.from_bytes(row.version, "big")
    return Entry(bookmark, version, row.key or row.uri, folded, row.touched)


def write(folder: Path, found: Sequence[tuple[int, Entry]]) -> None:
    """Replaces the folder's snapshot by these signatures and entries.

    It is for its owner alone, since the folder of the bookmarks may be. Raises Full or Unavailable.
    A power cut may take it: its digest tells.
    """
    if not rules():
        return
    numbers: dict[str, int] = {}
    blocks = []
    for start in range(0, len(found), _BLOCK):
        rows = [_row(*one, numbers) for one in found[start : start + _BLOCK]]
        blocks.append(msgspec.Raw(msgspec.msgpack.encode(rows)))
    data = msgspec.msgpack.encode(_Content(list(numbers), blocks))
    head = rules() + _digest(data)
    with files.Staged(folder, NAME, head + data, durable=False, mode=0o600) as staged:
        staged.publish()


def _row(signature: int, entry: Entry, numbers: dict[str, int]) -> Row:
    b = entry.bookmark
    tags, folded = (
        [numbers.setdefault(tag, len(numbers)) for tag in texts] for texts in (b.tags, entry.tags)
    )
    return Row(
        signature,
        entry.version.to_bytes(_SIZE, "big"),
        entry.touched,
        b.id,
        b.uri,
        b.title,
        b.description,
        tags,
        [] if folded == tags else folded,
        b.created,
        "" if b.modified == b.created else b.modified,
        "" if entry.key == b.uri else entry.key,
    )


_SIZE = 16
_HEAD = 2 * _SIZE


@cache
def rules() -> bytes:
    """A digest of the rules by which this process reads files; nothing if it cannot be told.

    They are the very text that says them, which must be looked at before an upgrade replaces it.
    """
    folder = resources.files(__package__)
    try:
        texts = [(folder / name).read_bytes() for name in _RULES]
    except OSError:  # There may be none, or none any more.
        return b""
    return _digest(b"".join([*texts, unicodedata.unidata_version.encode()]))


_RULES = ("bookmark.py", "index.py", "snapshot.py", "store.py")


def _digest(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=_SIZE).digest()
