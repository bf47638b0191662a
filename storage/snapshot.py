"""What all files said when they were last read, so that a start need not read them all once more.

A guess, as the index in memory is one: it counts for a file only while that has the identity, size
and times which it had then, and may be deleted at any time.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
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


class _Row(msgspec.Struct, array_like=True, gc=False):
    """An entry of the index with the signature of the file that it was read from.

    `tags` are numbers of all tags; `modified` and `key` are empty if they are `created` and `uri`.
    """

    signature: int
    version: bytes
    touched: float
    id: str
    uri: str
    title: str
    description: str
    tags: list[int]
    created: str
    modified: str
    key: str


class _Content(msgspec.Struct, array_like=True):
    """All tags, as they are spelled and as they are compared, and rows in blocks."""

    spelled: list[str]
    folded: list[str]
    blocks: list[msgspec.Raw]


_content = msgspec.msgpack.Decoder(_Content)
_rows = msgspec.msgpack.Decoder(list[_Row])
_BLOCK = 1000  # Rows that are in memory at once.


def read(folder: Path, is_same: Callable[[str, int], bool]) -> Iterator[tuple[int, Entry]]:
    """The signatures and entries of those files of which `is_same` says, by id and signature, that
    they are as they were; none if there is no snapshot that is whole and of these rules.

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
            if is_same(row.id, row.signature):
                yield row.signature, _entry(row, content)


def _entry(row: _Row, content: _Content) -> Entry:
    """The row's entry, with one object for what is the same."""
    tags = tuple(map(content.spelled.__getitem__, row.tags))
    folded = tuple(map(content.folded.__getitem__, row.tags))
    bookmark = Bookmark(
        row.id,
        row.uri,
        row.title,
        row.description,
        tags,
        row.created,
        row.modified or row.created,
    )
    version, key = int.from_bytes(row.version, "big"), row.key or row.uri
    return Entry(bookmark, version, key, tags if tags == folded else folded, row.touched)


def write(folder: Path, found: Sequence[tuple[int, Entry]]) -> None:
    """Replaces the folder's snapshot by these signatures and entries.

    It is for its owner alone, since the folder of the bookmarks may be. Raises Full or Unavailable.
    A power cut may take it: its digest tells.
    """
    if not rules():
        return
    numbers: dict[tuple[str, str], int] = {}
    blocks = []
    for start in range(0, len(found), _BLOCK):
        rows = [_row(*one, numbers) for one in found[start : start + _BLOCK]]
        blocks.append(msgspec.Raw(msgspec.msgpack.encode(rows)))
    spelled, folded = [tag for tag, _ in numbers], [tag for _, tag in numbers]
    data = msgspec.msgpack.encode(_Content(spelled, folded, blocks))
    head = rules() + _digest(data)
    with files.Staged(folder, NAME, head + data, durable=False, mode=0o600) as staged:
        staged.publish()


def _row(signature: int, entry: Entry, numbers: dict[tuple[str, str], int]) -> _Row:
    b, pairs = entry.bookmark, zip(entry.bookmark.tags, entry.tags, strict=True)
    return _Row(
        signature,
        entry.version.to_bytes(_SIZE, "big"),
        entry.touched,
        b.id,
        b.uri,
        b.title,
        b.description,
        [numbers.setdefault(pair, len(numbers)) for pair in pairs],
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
