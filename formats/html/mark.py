"""Mark the matches of a search."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from formats.html.frame import e
from storage.search import fold_text

Escape = Callable[[str], str]

# Such as `%C3%A9`, or any one character.
_ENCODED_OR_CHARACTER = re.compile("(?:%[0-9A-Fa-f]{2})+|.", re.DOTALL)


class _Folding(NamedTuple):
    """A folded text: `Æx` becomes `aex` with starts 0, 0, 1 and ends 1, 1, 2."""

    text: str
    starts: Sequence[int]  # Where each folded character starts in the original.
    ends: Sequence[int]


def marker(words: Iterable[str]) -> Escape:
    """Return a function that escapes a text and marks these folded words."""
    unique_words = set(words)
    if not unique_words:
        return e

    def mark(text: str) -> str:
        html = ""
        end_of_last = 0
        for start, end in _merged(_find(text, unique_words)):
            html += e(text[end_of_last:start])
            html += f"<mark>{e(text[start:end])}</mark>"
            end_of_last = end
        return html + e(text[end_of_last:])

    return mark


def _find(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Return the start and end of each match."""
    # Not with `re`, whose cache would keep long patterns.
    matches = []
    for folding in _foldings(text):
        for word in words:
            start = folding.text.find(word)
            while start >= 0:
                end = start + len(word)
                matches.append((folding.starts[start], folding.ends[end - 1]))
                start = folding.text.find(word, end)
    return matches


def _foldings(text: str) -> Iterator[_Folding]:
    """Yield the folded text and, if it is percent-encoded, its decoded form."""
    if text.isascii():
        # Folding keeps the length, so the character i of the folded text is text[i : i + 1].
        length = len(text)
        yield _Folding(fold_text(text), starts=range(length), ends=range(1, length + 1))
    else:
        yield _fold_pieces(text)
    if unquote(text) != text:
        pieces = _ENCODED_OR_CHARACTER.findall(text)
        yield _fold_pieces(pieces)


def _fold_pieces(pieces: Iterable[str]) -> _Folding:
    """Fold each piece. All its folded characters start and end where the piece does."""
    folded_text = ""
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    for piece in pieces:
        end = start + len(piece)
        folded = _fold_piece(piece)
        folded_text += folded
        starts += [start] * len(folded)
        ends += [end] * len(folded)
        start = end
    return _Folding(folded_text, starts, ends)


@functools.lru_cache(maxsize=4096)
def _fold_piece(piece: str) -> str:
    return fold_text(unquote(piece))


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            last_start, last_end = merged.pop()
            start = last_start
            end = max(last_end, end)
        merged.append((start, end))
    return merged
