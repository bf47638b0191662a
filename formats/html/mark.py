"""Mark the matches of a search in the texts of a list."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from formats.html.frame import e
from storage.search import fold_text

Escape = Callable[[str], str]  # From a text to HTML.

# Percent-encoded characters, such as `%C3%A9`, or any other character.
_ENCODED_OR_ONE = re.compile("(?:%[0-9A-Fa-f]{2})+|.", re.DOTALL)


class _Folding(NamedTuple):
    """A folded text, with the ranges of its characters in the original text.

    "aﬁ" is folded to "afi", with the starts 0, 1 and 1, and the ends 1, 2 and 2.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def marker(words: Iterable[str]) -> Escape:
    """Return a function that escapes a text, and puts these folded words in it into <mark>."""
    different = set(words)
    if not different:
        return e

    def mark(text: str) -> str:
        html = ""
        end_of_last = 0
        for start, end in _merged(_find(text, different)):
            html += e(text[end_of_last:start])
            html += f"<mark>{e(text[start:end])}</mark>"
            end_of_last = end
        return html + e(text[end_of_last:])

    return mark


def _find(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Return the start and the end of each match of a word in the text."""
    # Not a regular expression: the cache of `re` would keep the patterns of many long searches.
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
    """Yield the folded text, and if it has percent-encoded characters, the decoded and folded."""
    if text.isascii():  # Each character is folded to one.
        length = len(text)
        yield _Folding(fold_text(text), starts=range(length), ends=range(1, length + 1))
    else:
        yield _fold_pieces(enumerate(text))
    if unquote(text) != text:
        pieces = _ENCODED_OR_ONE.finditer(text)
        yield _fold_pieces((piece.start(), piece[0]) for piece in pieces)


def _fold_pieces(pieces: Iterable[tuple[int, str]]) -> _Folding:
    """Fold pieces of a text, each with its position in the text."""
    folded_text = ""
    starts: list[int] = []
    ends: list[int] = []
    for start, piece in pieces:
        folded = _fold_piece(piece)
        folded_text += folded
        starts += [start] * len(folded)
        ends += [start + len(piece)] * len(folded)
    return _Folding(folded_text, starts, ends)


@functools.lru_cache(maxsize=4096)
def _fold_piece(piece: str) -> str:
    return fold_text(unquote(piece))


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges in order; ranges that overlap or touch become one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            last_start, last_end = merged.pop()
            start = last_start
            end = max(last_end, end)
        merged.append((start, end))
    return merged
