"""Mark the matches of a search in the texts of a list."""

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from formats.html.frame import e
from storage.search import fold_text

# From a text to HTML.
Escape = Callable[[str], str]

_fold_character = functools.lru_cache(maxsize=4096)(fold_text)


def marker(words: Sequence[str]) -> Escape:
    """Return a function that escapes a text, and marks these folded words in it."""
    if not words:
        return e
    # Of two words that begin at the same place, mark the longer one.
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))

    def mark(text: str) -> str:
        spans = [match.span() for match in pattern.finditer(fold_text(text))]
        if spans and not text.isascii():
            spans = _spans_in_text(text, spans)
        parts, done = [], 0
        for start, end in spans:
            if start >= done:  # Two matches may be parts of one character.
                parts += [e(text[done:start]), "<mark>", e(text[start:end]), "</mark>"]
                done = end
        return "".join([*parts, e(text[done:])])

    return mark


def _spans_in_text(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the folded text as spans of the text itself.

    Folding turns each character into none, one or several. A span of the text has every character
    of which the folded span has a part.
    """
    starts = [0, *accumulate(len(_fold_character(character)) for character in text)]
    return [(bisect_right(starts, start) - 1, bisect_left(starts, end)) for start, end in spans]
