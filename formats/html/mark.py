"""Mark the matches of a search in the texts of a list."""

import functools
import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from formats.html.frame import e
from storage.search import fold_text

# A function from a text to HTML.
Escape = Callable[[str], str]

# Folds one character. Cached, because the texts of a list have few different characters.
_fold_character = functools.lru_cache(maxsize=4096)(fold_text)


def marker(words: Sequence[str]) -> Escape:
    """Return a function that escapes a text, and marks these words, which are folded, in it."""
    if not words:  # Without this, a page of 50 takes a fifth longer.
        return e

    def mark(text: str) -> str:
        spans = list(_spans(fold_text(text), words))
        if spans and not text.isascii():  # Folding keeps the length of an ASCII text.
            spans = _spans_in_text(text, spans)
        parts, written_end = [], 0
        for start, end in spans:
            # The matches of "f" and "i" in the one character "ﬁ" have the same span: mark it once.
            if start >= written_end:
                parts += [e(text[written_end:start]), "<mark>", e(text[start:end]), "</mark>"]
                written_end = end
        return "".join([*parts, e(text[written_end:])])

    return mark


def _spans(text: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words, from left to right; of two that begin together the longer one.

    `re` would keep a compiled pattern of each of the last 512 searches, in up to 1.5 GB.
    """
    found = [(start, -len(word), word) for word in words if (start := text.find(word)) >= 0]
    heapq.heapify(found)  # Each word at its next place; the leftmost is the first item.
    end = 0
    while found:
        start, _, word = found[0]
        if start >= end:
            end = start + len(word)
            yield start, end
        if (start := text.find(word, end)) >= 0:
            heapq.heapreplace(found, (start, -len(word), word))
        else:
            heapq.heappop(found)


def _spans_in_text(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the matches in the folded text as spans of the text itself, to mark.

    Folding replaces each character of the text by none, one or several: "ﬁ" becomes "fi". A span
    of "f" or of "i" then becomes the span of the whole "ﬁ".
    """
    # Where each character of the text begins in the folded text; last, where the folded text ends.
    starts = [0, *accumulate(len(_fold_character(character)) for character in text)]
    spans_in_text = []
    for start, end in spans:
        first = bisect_right(starts, start) - 1  # The character that the folded `start` is in.
        after = bisect_left(starts, end)  # The next character that begins at or after `end`.
        spans_in_text.append((first, after))
    return spans_in_text
