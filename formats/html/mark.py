"""Mark the matches of a search in the texts of a list."""

import functools
from collections.abc import Callable, Iterable, Sequence

from formats.html.frame import e
from storage.search import fold_text

Escape = Callable[[str], str]  # From a text to HTML.

_fold_character = functools.lru_cache(maxsize=4096)(fold_text)


def marker(words: Iterable[str]) -> Escape:
    """Return a function that escapes a text, and puts these folded words of it into <mark>."""
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
    """Return the start and the end of each match of a word in the text.

    A regular expression would not do: `re` keeps the last 512 compiled patterns, and patterns of
    long searches would take up to 1.5 GB.
    """
    folded = fold_text(text)
    position_in_text = _positions(text)
    matches = []
    for word in words:
        start = folded.find(word)
        while start >= 0:
            end = start + len(word)
            last = position_in_text[end - 1]
            matches.append((position_in_text[start], last + 1))
            start = folded.find(word, end)
    return matches


def _positions(text: str) -> Sequence[int]:
    """Return the position in the text for each character of the folded text.

    Folding replaces a character by none, one or several: "ﬁ" becomes "fi", so "aﬁ" has the
    positions 0, 1 and 1.
    """
    if text.isascii():
        return range(len(text))
    positions = []
    for position, character in enumerate(text):
        positions += [position] * len(_fold_character(character))
    return positions


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges in order; those that overlap or touch each other become one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            last_start, last_end = merged.pop()
            start = last_start
            end = max(last_end, end)
        merged.append((start, end))
    return merged
