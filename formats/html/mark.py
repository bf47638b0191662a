"""Mark the matches of a search in the texts of a list."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence

from formats.html.frame import e
from storage.search import fold_text

# A function from a text to HTML.
Escape = Callable[[str], str]

# Folds one character. Cached, because the texts of a list have few different characters.
_fold_character = functools.lru_cache(maxsize=4096)(fold_text)
_RUN = re.compile(b"\0+|\1+")  # Characters that all are, or are not, in a match.


def marker(words: Iterable[str]) -> Escape:
    """Return a function that escapes a text, and marks these words, which are folded, in it."""
    different = set(words)

    def mark(text: str) -> str:
        parts = []
        for run in _RUN.finditer(_find(text, different)):
            part = e(text[slice(*run.span())])
            parts.append(f"<mark>{part}</mark>" if run[0][0] else part)
        return "".join(parts)

    return mark if different else e


def _find(text: str, words: Iterable[str]) -> bytearray:
    """Return a byte for each character of the text: 1 if it is in a match of a word, else 0.

    `re` would keep a compiled pattern of each of the last 512 searches, in up to 1.5 GB.
    """
    folded, found = fold_text(text), bytearray(len(text))
    # Folding replaces a character by none, one or several: "ﬁ" becomes "fi". The place of each
    # folded character in the text is needed, therefore.
    places: Sequence[int] = range(len(text))
    if not text.isascii():  # Folding keeps the length of an ASCII text.
        places = [place for place, c in enumerate(text) for _ in _fold_character(c)]
    for word in words:
        start = folded.find(word)
        while start >= 0:
            end = start + len(word)
            first, last = places[start], places[end - 1]
            found[first : last + 1] = b"\1" * (last + 1 - first)
            start = folded.find(word, end)
    return found
