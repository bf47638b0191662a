"""Mark the matches of a search."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from formats.html.frame import e
from storage.search import fold_text

Escape = Callable[[str], str]

# Encoded bytes, such as `%C3%A9`, or a character.
_ENCODED_OR_CHARACTER = re.compile("(?:%[0-9A-Fa-f]{2})+|.", re.DOTALL)


class _FoldedText(NamedTuple):
    """A folded text, such as `aex` for the original text `Æx`."""

    text: str
    # The place of each folded character in the original: from 0 to 1 for both `a` and `e`.
    starts: Sequence[int]
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
    matches = []
    for folded in _fold_in_all_ways(text):
        for word in words:
            start = folded.text.find(word)
            while start >= 0:
                end = start + len(word)
                matches.append((folded.starts[start], folded.ends[end - 1]))
                start = folded.text.find(word, end)
    return matches


def _fold_in_all_ways(text: str) -> Iterator[_FoldedText]:
    """Yield the folded text and, if it is percent-encoded, the folded decoded text."""
    if text.isascii():
        yield _fold_ascii(text)
    else:
        yield _fold_each(text)
    if unquote(text) != text:
        yield _fold_each(_ENCODED_OR_CHARACTER.findall(text))


def _fold_ascii(text: str) -> _FoldedText:
    """Fold a text of ASCII, which keeps its length."""
    length = len(text)
    return _FoldedText(fold_text(text), starts=range(length), ends=range(1, length + 1))


def _fold_each(parts: Iterable[str]) -> _FoldedText:
    """Fold the parts of a text, such as `Æ` or `%C3%A6`, one by one."""
    folded_text = ""
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    for part in parts:
        end = start + len(part)
        folded_part = _decode_and_fold(part)
        folded_text += folded_part
        starts += [start] * len(folded_part)
        ends += [end] * len(folded_part)
        start = end
    return _FoldedText(folded_text, starts, ends)


@functools.lru_cache(maxsize=4096)
def _decode_and_fold(part: str) -> str:
    return fold_text(unquote(part))


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
