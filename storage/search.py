"""Search expressions, the parameter `q`: a subset of linkding's grammar, and `-` for `not`.

    any  = all { 'or' all }
    all  = one { [ 'and' ] one }
    one  = [ 'not' | '-' ] ( '(' any ')' | "phrase" | #tag | #"a tag" | !untagged | !unread | word )
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import filterfalse

import msgspec

from storage.bookmark import MAX_TAGS, fold, normalize
from storage.errors import BadQuery

# Each term costs a pass over the collection. With this limit a search can still name every tag of
# a bookmark.
MAX_TERMS = MAX_TAGS

_TOKEN = re.compile(
    r"""
    (?P<parenthesis> [()] )
    | (?P<minus> - (?= [^\s)] ) )    # Only before an operand: a hyphen within a word is part of it.
    | " (?P<phrase> [^"]* ) "
    | \# " (?P<quoted_tag> [^"]+ ) "
    | \# (?P<tag> [^\s()"] [^\s()]* )
    | ! (?P<keyword> [^\s()]+ )
    | (?P<open_quote> \#? " )        # A quote that is not closed, or #"" without a tag.
    | (?P<word> [^\s()]+ )           # The operators and, or and not are words too.
    """,
    re.VERBOSE,
)


class Text(msgspec.Struct, frozen=True):
    """A bookmark's folded text contains this folded word or phrase."""

    text: str


class Tag(msgspec.Struct, frozen=True):
    """A bookmark has this folded tag."""

    tag: str


class Untagged(msgspec.Struct, frozen=True):
    """A bookmark has no tags but these, which are folded."""

    ignored_tags: frozenset[str]


class All(msgspec.Struct, frozen=True):
    """A bookmark meets all parts."""

    parts: tuple["Search", ...]


class Any(msgspec.Struct, frozen=True):
    """A bookmark meets at least one of the parts."""

    parts: tuple["Search", ...]


class Not(msgspec.Struct, frozen=True):
    """A bookmark does not meet the part."""

    part: "Search"


Search = Text | Tag | Untagged | All | Any | Not


class _NotAnExpression(BadQuery):
    """The text is no expression: a list searches for its words, a change of tags is refused."""


def parse_search(text: str, ignored_tags: Iterable[str] = ()) -> Search | None:
    """Return the search of an expression; of any other text, a search for all of its words.

    A bookmark that has only `ignored_tags` counts as untagged. None, for a text without any word,
    selects every bookmark. Raises BadQuery if there are more than `MAX_TERMS` terms.
    """
    try:
        return parse_expression(text, ignored_tags)
    except _NotAnExpression:
        # Strip parentheses and double quotes from each word; a word of nothing else, `("`, stays.
        folded = (fold_text(word.strip('()"') or word) for word in text.split())
        words = [word for word in folded if word]  # Nothing is left of a word of accents alone.
        _require_few_terms(len(words))
        return All(tuple(Text(word) for word in words)) if words else None


def parse_expression(text: str, ignored_tags: Iterable[str] = ()) -> Search | None:
    """Return the search of an expression; None, of an empty one, selects every bookmark.

    Raises _NotAnExpression, or another BadQuery for more than `MAX_TERMS` terms. Changes of tags
    are refused then, because a search for the words could select the wrong bookmarks.
    """
    return _Parser(text, ignored_tags).parse()


def words_to_mark(search: Search | None, is_negated: bool = False) -> list[str]:
    """Return the folded words and phrases to mark in the results of a search."""
    match search:
        case Text(word) if not is_negated:
            return [word]
        case Not(part):
            return words_to_mark(part, not is_negated)
        case All(parts) | Any(parts):
            return [word for part in parts for word in words_to_mark(part, is_negated)]
    return []


def fold_text(text: str) -> str:
    """Return the text as it is searched: without case, accents and line breaks.

    Each character is folded by itself, so that a match in the folded text can be marked in the
    original text.
    """
    if not text.isascii():
        text = "".join(filterfalse(unicodedata.combining, normalize("NFKD", text)))
    # With spaces for line breaks, a phrase also matches across two lines of a description.
    return text.casefold().replace("\n", " ")


def normalize_and_fold_tag(text: str) -> str:
    """Fold a tag that a client sent, to compare it with a bookmark's folded tags."""
    # NFC puts the marks of a letter in order. Do this before `fold`, which turns the mark U+0345
    # into a letter, so that the marks around it cannot be put in order any more.
    return fold(normalize("NFC", text.strip()))


def _tokens(text: str, ignored_tags: Iterable[str]) -> Iterator[Text | Tag | Untagged | str]:
    """Yield the terms, operators and parentheses of a text. Raises _NotAnExpression."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        value, lower = match[kind], match[kind].lower()
        if kind == "parenthesis" or (kind == "word" and lower in ("and", "or", "not")):
            yield lower
        elif kind == "minus":
            yield "not"
        elif kind in ("word", "phrase"):
            if folded := fold_text(value):  # An empty phrase would select every bookmark.
                yield Text(folded)
        elif kind in ("tag", "quoted_tag"):
            yield Tag(normalize_and_fold_tag(value))
        elif kind == "keyword" and lower == "untagged":
            yield Untagged(frozenset(ignored_tags))
        elif kind == "keyword" and lower == "unread":  # A field in linkding, and a tag here.
            yield Tag("unread")
        elif kind == "keyword":
            raise _NotAnExpression(f"There is no !{value}. Use !untagged or !unread.")
        else:
            raise _NotAnExpression("A double quote is open. Close it, or leave it out.")


def _require_few_terms(count: int) -> None:
    if count > MAX_TERMS:
        raise BadQuery(f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out.")


class _Parser:
    """A recursive-descent parser: a method for each rule of the grammar."""

    def __init__(self, text: str, ignored_tags: Iterable[str]) -> None:
        tokens = list(_tokens(text, ignored_tags))
        _require_few_terms(sum(not isinstance(token, str) for token in tokens))
        if tokens.count("(") > MAX_TERMS:  # This also limits the recursion.
            raise _NotAnExpression("There are too many parentheses. Leave some out.")
        self._tokens = [*reversed(tokens)]

    def parse(self) -> Search | None:
        """Return the search of the whole text. Raises _NotAnExpression."""
        search = self._any() if self._tokens else None
        if self._tokens:
            raise _NotAnExpression("A parenthesis is closed that is not open. Leave it out.")
        return search

    def _any(self) -> Search:
        parts = [self._all()]
        while self._take("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _all(self) -> Search:
        parts = [self._one()]
        while self._take("and") or (self._tokens and self._tokens[-1] not in ("or", ")")):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self) -> Search:
        if self._take("not"):
            if self._tokens[-1:] == ["not"]:  # `--help`: a list searches for its words instead.
                raise _NotAnExpression("There are two negations of one term. Leave both out.")
            return Not(self._one())
        if self._take("("):
            inside = self._any()
            if not self._take(")"):
                raise _NotAnExpression("A parenthesis is open. Close it, or leave it out.")
            return inside
        term = self._tokens.pop() if self._tokens else ""
        if isinstance(term, str):
            raise _NotAnExpression(
                "An operator or a parenthesis has no word beside it. "
                "To search for the operator or parenthesis itself, put it in double quotes."
            )
        return term

    def _take(self, token: str) -> bool:
        """Return whether this token is the next, and skip it then."""
        is_next = self._tokens[-1:] == [token]
        if is_next:
            self._tokens.pop()
        return is_next
