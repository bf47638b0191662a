"""A collection of bookmarks with five tags each, whose frequencies follow Zipf's law."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from storage.bookmark import clean, create, timestamp
from storage.record import encode

TAGS = [f"tag{rank}" for rank in range(2000)]
WORDS = [f"word{number}" for number in range(3000)]
_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(TAGS) + 1)))
_FIRST = 1_500_000_000  # The oldest bookmark; the others follow one a minute.


def make(data: Path, count: int) -> Path:
    """Return the data folder with so many bookmarks, or unchanged if it has some already."""
    bookmarks = data / "bookmarks"
    if bookmarks.is_dir():
        return data
    bookmarks.mkdir(parents=True)
    (data / "tombstones").mkdir()
    chance = random.Random(1)
    for number in range(count):
        id = f"{number:013d}"
        created = timestamp(_FIRST + 60 * number)
        uri = f"https://site{number % 997}.example.com/path/{number}/page.html"
        bookmark = create(clean({"uri": uri, **fields(chance), "created": created}), id)
        (bookmarks / f"{id}.json").write_bytes(encode(bookmark))
    return data


def fields(chance: random.Random) -> dict[str, object]:
    return {
        "title": " ".join(chance.choices(WORDS, k=6)).capitalize(),
        "description": " ".join(chance.choices(WORDS, k=15)),
        "tags": _tags(chance),
    }


def _tags(chance: random.Random) -> list[str]:
    tags: dict[str, None] = {}
    while len(tags) < 5:
        tags[chance.choices(TAGS, cum_weights=_WEIGHTS)[0]] = None
    return list(tags)


def ids(data: Path) -> list[str]:
    ids = sorted(path.stem for path in (data / "bookmarks").glob("*.json"))
    random.Random(2).shuffle(ids)
    return ids


def text_size(data: Path) -> int:
    return sum(
        len(json.dumps(json.loads(path.read_bytes()), ensure_ascii=False, separators=(",", ":")))
        for path in (data / "bookmarks").glob("*.json")
    )


@contextmanager
def restored(data: Path) -> Iterator[None]:
    """Remove the files that were created within the block when it ends."""
    before = set(data.glob("*/*.json"))
    try:
        yield
    finally:
        for path in set(data.glob("*/*.json")) - before:
            path.unlink()
