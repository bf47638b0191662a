"""Mark the matches of a search in the texts of a list."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence

from formats.html.frame import e
from storage.search import fold_text

Escape = Callable[[str], str]  # From a text to HTML.

_fold_character = functools.lru_cache(maxsize=4096)(fold_text)
_RUN = re.compile(b"\0+|\1+")  # Adjacent characters, either all in a match (1) or all not (0).


def marker(words: Iterable[str]) -> Escape:
    """Return a function that escapes a text, and puts these folded words of it into <mark>."""
    different = set(words)
    if not different:
        return e

    def mark(text: str) -> str:
        found = _find(text, different)
        parts = []
        for run in _RUN.finditer(found):
            part = e(text[run.start() : run.end()])
            if found[run.start()]:
                part = f"<mark>{part}</mark>"
            parts.append(part)
        return "".join(parts)

    return mark


def _find(text: str, words: Iterable[str]) -> bytearray:
    """Return a byte for each character of the text: 1 if it is in a match of a word, else 0.

    A regular expression would not do: `re` keeps the last 512 compiled patterns, and patterns of
    long searches would take up to 1.5 GB.
    """
    folded = fold_text(text)
    indexes = _indexes(text)
    found = bytearray(len(text))
    for word in words:
        start = folded.find(word)
        while start >= 0:
            end = start + len(word)
            first = indexes[start]
            last = indexes[end - 1]
            found[first : last + 1] = b"\1" * (last + 1 - first)
            start = folded.find(word, end)
    return found


def _indexes(text: str) -> Sequence[int]:
    """Return the index in the text for each character of the folded text.

    Folding replaces a character by none, one or several: "ﬁ" becomes "fi", so "aﬁ" has the
    indexes 0, 1 and 1.
    """
    if text.isascii():
        return range(len(text))
    indexes = []
    for index, character in enumerate(text):
        indexes += [index] * len(_fold_character(character))
    return indexes
