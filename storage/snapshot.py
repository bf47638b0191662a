"""What all files said when they were last read, so that a start need not read them all once more.

A guess, as the index in memory is one: it counts for a file only while that has the identity, size
and times which it had then, and may be deleted at any time.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
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


class _Block(msgspec.Struct, array_like=True, gc=False):
    """Entries of the index, column by column, with the signatures of the files they were read from.

    `tags` and `folded` are numbers of all tags; `folded`, `modified` and `keys` are empty where
    they are `tags`, `created` and `uris`.
    """

    signatures: list[int]
    versions: list[bytes]
    touched: list[float]
    ids: list[str]
    uris: list[str]
    titles: list[str]
    descriptions: list[str]
    tags: list[list[int]]
    folded: list[list[int]]
    created: list[str]
    modified: list[str]
    keys: list[str]


class _Content(msgspec.Struct, array_like=True):
    """All tags, as they are spelled or compared, and the blocks."""

    tags: list[str]
    blocks: list[msgspec.Raw]


_content = msgspec.msgpack.Decoder(_Content)
_block = msgspec.msgpack.Decoder(_Block)
_BLOCK = 1000  # Entries whose columns are in memory at once.


def read(folder: Path) -> Iterator[tuple[int, Entry]]:
    """The signatures and entries; none if there is no snapshot that is whole and of these rules.

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
        yield from _entries(_block.decode(block), content.tags)


def _entries(block: _Block, all_tags: Sequence[str]) -> Iterator[tuple[int, Entry]]:
    """Columns make a start faster than rows; what is the same is one object."""
    spelled = all_tags.__getitem__
    tags = [tuple(map(spelled, numbers)) for numbers in block.tags]
    folded = [tuple(map(spelled, n)) if n else same for n, same in zip(block.folded, tags)]
    modified = [late or early for late, early in zip(block.modified, block.created)]
    keys = [key or uri for key, uri in zip(block.keys, block.uris)]
    versions = [int.from_bytes(version, "big") for version in block.versions]
    texts = block.ids, block.uris, block.titles, block.descriptions
    bookmarks = map(Bookmark, *texts, tags, block.created, modified)
    entries = map(Entry, bookmarks, versions, keys, folded, block.touched)
    return zip(block.signatures, entries)


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
        columns = _columns(found[start : start + _BLOCK], numbers)
        blocks.append(msgspec.Raw(msgspec.msgpack.encode(columns)))
    data = msgspec.msgpack.encode(_Content(list(numbers), blocks))
    head = rules() + _digest(data)
    with files.Staged(folder, NAME, head + data, durable=False, mode=0o600) as staged:
        staged.publish()


def _columns(found: Sequence[tuple[int, Entry]], numbers: dict[str, int]) -> _Block:
    def numbered(tags: Iterable[str]) -> list[int]:
        return [numbers.setdefault(tag, len(numbers)) for tag in tags]

    signatures = [signature for signature, _ in found]
    entries = [entry for _, entry in found]
    bookmarks = [entry.bookmark for entry in entries]
    return _Block(
        signatures,
        [entry.version.to_bytes(_SIZE, "big") for entry in entries],
        [entry.touched for entry in entries],
        [b.id for b in bookmarks],
        [b.uri for b in bookmarks],
        [b.title for b in bookmarks],
        [b.description for b in bookmarks],
        [numbered(b.tags) for b in bookmarks],
        [[] if e.tags == e.bookmark.tags else numbered(e.tags) for e in entries],
        [b.created for b in bookmarks],
        ["" if b.modified == b.created else b.modified for b in bookmarks],
        ["" if e.key == e.bookmark.uri else e.key for e in entries],
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
