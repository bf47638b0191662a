"""Search expressions, the parameter `q`: a subset of linkding's grammar, and `-` for `not`.

    any  = all { "or" all }
    all  = one { [ "and" ] one }
    one  = [ "not" | "-" ] ( "(" any ")" | "phrase" | #tag | #"a tag" | !untagged | !unread | word )
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import filterfalse
from typing import NamedTuple

import msgspec

from storage.bookmark import MAX_TAGS, fold
from storage.errors import BadQuery

MAX_TERMS = MAX_TAGS
# The targets of a term that decides whether the whole expression is met.
MET, UNMET = -2, -1

_TOKEN = re.compile(
    r"""
    (?P<parenthesis> [()] )
    | (?P<minus> - (?= [^\s)] ) )
    | " (?P<phrase> [^"]* ) "
    | \# " (?P<quoted_tag> [^"]+ ) "
    | \# (?P<tag> [^\s()"] [^\s()]* )
    | ! (?P<keyword> [^\s()]+ )
    | (?P<open_quote> \#? " )
    | (?P<word> [^\s()]+ )
    """,
    re.VERBOSE,
)
_PRECEDENCE = {"(": 0, "or": 1, "and": 2, "not": 3}


class Kind(Enum):
    """What a term requires: its value in the text, its value as a tag, or that there is no tag."""

    TEXT = "text"
    TAG = "tag"
    UNTAGGED = "untagged"


_KEYWORDS = {"untagged": (Kind.UNTAGGED, ""), "unread": (Kind.TAG, "unread")}


class Term(msgspec.Struct):
    """One test of a bookmark, with a folded value.

    `targets` has the next step if the test fails and if it succeeds: the number of a later term,
    MET or UNMET. `is_negated` is true within an odd number of negations.
    """

    kind: Kind
    value: str
    is_negated: bool = False
    targets: list[int] = msgspec.field(default_factory=lambda: [UNMET, MET])


# Begins with the first term. Every bookmark matches a search without terms.
Search = tuple[Term, ...]


class _Unparsable(BadQuery):
    """The text is no expression; the message says why."""


def parse_search(text: str) -> Search:
    """Return the search of an expression, or of all plain words in any other text.

    A plain word has no parentheses and double quotes at its ends, unless it has nothing else.
    Raises BadQuery if there are more than `MAX_TERMS` terms.
    """
    try:
        return parse_expression(text)
    except _Unparsable:
        words = [word.strip('()"') or word for word in text.split()]
        return _Parser().parse(_Token(Kind.TEXT, fold_text(word)) for word in words)


def parse_expression(text: str) -> Search:
    """Return the search of an expression.

    Raises BadQuery if the text is no expression or has more than `MAX_TERMS` terms.
    """
    return _Parser().parse(_tokens(text))


def words_to_mark(text: str) -> list[str]:
    """Return the words and phrases, folded by `fold_text`, that a search for this text looks for.

    Negated ones are left out. Raises BadQuery.
    """
    search = parse_search(text)
    return [t.value for t in search if t.kind is Kind.TEXT and t.value and not t.is_negated]


def fold_text(text: str) -> str:
    """Return the text as it is searched: without case, accents and line breaks.

    Each character is folded by itself: the result is that of all characters, joined.
    """
    if not text.isascii():
        text = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", text)))
    return text.casefold().replace("\n", " ")


def tag_key(text: str) -> str:
    """Return a tag that a client sent as the folded tags of bookmarks are."""
    return fold(unicodedata.normalize("NFC", text.strip()))


class _Token(NamedTuple):
    """A test with its value, or else an operator or a parenthesis."""

    kind: Kind | str
    value: str = ""


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens of an expression. Raises _Unparsable."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        value, lower = match[kind], match[kind].lower()
        if kind == "parenthesis" or kind == "word" and lower in _PRECEDENCE:
            yield _Token(lower)
        elif kind == "minus":
            yield _Token("not")
        elif kind in ("word", "phrase"):
            yield _Token(Kind.TEXT, fold_text(value))
        elif kind in ("tag", "quoted_tag"):
            yield _Token(Kind.TAG, tag_key(value))
        elif kind == "keyword" and lower in _KEYWORDS:
            yield _Token(*_KEYWORDS[lower])
        elif kind == "keyword":
            raise _Unparsable(f"There is no !{value}. Use !untagged or !unread.")
        else:
            raise _Unparsable("A double quote is open. Close it, or leave it out.")


class _Part(NamedTuple):
    """A parsed part of an expression.

    `start` is the number of its first term. `exits` has the terms whose failure and whose success
    decide that the part is unmet (False) or met (True), each as (number, success).
    """

    start: int
    exits: dict[bool, list[tuple[int, bool]]]


class _Parser:
    """Connect the terms of one expression in one pass, by the shunting-yard algorithm.

    The two stacks take the place of recursion, so that no nesting is too deep.
    """

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._parts: list[_Part] = []
        self._operators: list[str] = []
        self._negations = 0  # Of the operators.
        self._needs_operand = True

    def parse(self, tokens: Iterable[_Token]) -> Search:
        """Return the search of these tokens. Raises BadQuery."""
        for token in tokens:
            self._add(token)
        if not self._terms and not self._operators:
            return ()
        self._close()
        if self._operators:
            raise _Unparsable("A parenthesis is open. Close it, or leave it out.")
        (whole,) = self._parts
        self._connect(whole, True, MET)
        self._connect(whole, False, UNMET)
        return tuple(self._terms)

    def _add(self, token: _Token) -> None:
        if isinstance(token.kind, Kind):
            self._add_term(token.kind, token.value)
        elif token.kind in ("(", "not"):
            self._add_prefix(token.kind)
        elif token.kind == ")":
            self._close()
            if not self._operators:
                raise _Unparsable("A parenthesis is closed that is not open. Leave it out.")
            self._operators.pop()
        else:
            self._add_operator(token.kind)

    def _add_term(self, kind: Kind, value: str) -> None:
        if len(self._terms) >= MAX_TERMS:
            raise BadQuery(
                f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out."
            )
        self._begin_operand()
        number = len(self._terms)
        self._terms.append(Term(kind, value, self._negations % 2 == 1))
        self._parts.append(_Part(number, {True: [(number, True)], False: [(number, False)]}))
        self._needs_operand = False

    def _add_prefix(self, kind: str) -> None:
        self._begin_operand()
        if kind == "not":
            if self._operators[-1:] == ["not"]:
                raise _Unparsable("There are two negations of one term. Leave both out.")
            self._negations += 1
        self._operators.append(kind)

    def _begin_operand(self) -> None:
        if not self._needs_operand:
            self._add_operator("and")

    def _add_operator(self, kind: str) -> None:
        self._require_operand()
        self._apply_operators(_PRECEDENCE[kind])
        self._operators.append(kind)
        self._needs_operand = True

    def _close(self) -> None:
        self._require_operand()
        self._apply_operators(_PRECEDENCE["or"])

    def _require_operand(self) -> None:
        if self._needs_operand:
            raise _Unparsable("An operator or a parenthesis needs a word. Put it in double quotes.")

    def _apply_operators(self, precedence: int) -> None:
        """Apply the waiting operators that bind as strongly or more."""
        while self._operators and _PRECEDENCE[self._operators[-1]] >= precedence:
            operator = self._operators.pop()
            if operator == "not":
                self._negate()
            else:
                self._join(operator == "and")

    def _negate(self) -> None:
        start, exits = self._parts.pop()
        self._negations -= 1
        self._parts.append(_Part(start, {True: exits[False], False: exits[True]}))

    def _join(self, is_and: bool) -> None:
        """Join the last two parts: the outcome of the first that decides nothing leads on."""
        right, left = self._parts.pop(), self._parts.pop()
        self._connect(left, is_and, right.start)
        right.exits[not is_and].extend(left.exits[not is_and])
        self._parts.append(_Part(left.start, right.exits))

    def _connect(self, part: _Part, outcome: bool, target: int) -> None:
        for number, success in part.exits[outcome]:
            self._terms[number].targets[success] = target
