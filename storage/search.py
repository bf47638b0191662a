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

from storage.bookmark import MAX_TAGS, fold
from storage.errors import BadQuery

MAX_TERMS = MAX_TAGS  # Each term costs a pass over the collection.

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
    """The test of a term: for its value in the text, for its value as a tag, or for no tag."""

    TEXT = "text"
    TAG = "tag"
    UNTAGGED = "untagged"


_KEYWORDS = {"untagged": (Kind.UNTAGGED, ""), "unread": (Kind.TAG, "unread")}


class Term(NamedTuple):
    """One test of a bookmark, with a folded value."""

    kind: Kind
    value: str


# In postfix notation, an operator after its operands: a, b, "not", "and" means `a -b`. Every
# bookmark meets a search without steps.
Search = tuple[Term | str, ...]


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
        return _Parser().parse(Term(Kind.TEXT, fold_text(word)) for word in words)


def parse_expression(text: str) -> Search:
    """Return the search of an expression.

    Raises BadQuery if the text is no expression or has more than `MAX_TERMS` terms.
    """
    return _Parser().parse(_tokens(text))


def words_to_mark(text: str) -> list[str]:
    """Return the words and phrases, folded by `fold_text`, that a search for this text looks for.

    Negated ones are left out. Raises BadQuery.
    """
    # For each operand of an operator that follows: the words to find, and those to exclude.
    stack: list[tuple[list[str], list[str]]] = [([], [])]
    for step in parse_search(text):
        if isinstance(step, Term):
            stack.append(([step.value] if step.kind is Kind.TEXT else [], []))
        elif step == "not":
            stack.append(stack.pop()[::-1])
        else:
            (found, excluded), (words, others) = stack.pop(), stack.pop()
            stack.append((words + found, others + excluded))
    return [word for word in stack[-1][0] if word]


def fold_text(text: str) -> str:
    """Return the text as it is searched: without case, accents and line breaks.

    Each character is folded by itself, so that a folded match has a place in the original text.
    """
    if not text.isascii():
        text = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", text)))
    return text.casefold().replace("\n", " ")


def tag_key(text: str) -> str:
    """Return a tag that a client sent in the form in which the index has the tags of bookmarks."""
    return fold(unicodedata.normalize("NFC", text.strip()))


def _tokens(text: str) -> Iterator[Term | str]:
    """Yield the terms, operators and parentheses of an expression. Raises _Unparsable."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        value, lower = match[kind], match[kind].lower()
        if kind == "parenthesis" or kind == "word" and lower in _PRECEDENCE:
            yield lower
        elif kind == "minus":
            yield "not"
        elif kind in ("word", "phrase"):
            if folded := fold_text(value):  # An empty phrase would select every bookmark.
                yield Term(Kind.TEXT, folded)
        elif kind in ("tag", "quoted_tag"):
            yield Term(Kind.TAG, tag_key(value))
        elif kind == "keyword" and lower in _KEYWORDS:
            yield Term(*_KEYWORDS[lower])
        elif kind == "keyword":
            raise _Unparsable(f"There is no !{value}. Use !untagged or !unread.")
        else:
            raise _Unparsable("A double quote is open. Close it, or leave it out.")


class _Parser:
    """Put the tokens of one expression into postfix notation, by the shunting-yard algorithm.

    The stack of operators takes the place of recursion, so that no nesting is too deep.
    """

    def __init__(self) -> None:
        self._steps: list[Term | str] = []
        self._operators: list[str] = []  # With the open parentheses.
        self._needs_operand = True

    def parse(self, tokens: Iterable[Term | str]) -> Search:
        """Return the search of these tokens. Raises BadQuery."""
        for token in tokens:
            self._add(token)
        if not self._steps and not self._operators:
            return ()
        self._close()
        if self._operators:
            raise _Unparsable("A parenthesis is open. Close it, or leave it out.")
        if sum(isinstance(step, Term) for step in self._steps) > MAX_TERMS:
            raise BadQuery(
                f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out."
            )
        return tuple(self._steps)

    def _add(self, token: Term | str) -> None:
        if isinstance(token, Term):
            self._begin_operand()
            self._steps.append(token)
            self._needs_operand = False
        elif token in ("(", "not"):
            self._begin_operand()
            if token == "not" and self._operators[-1:] == ["not"]:
                raise _Unparsable("There are two negations of one term. Leave both out.")
            self._operators.append(token)
        elif token == ")":
            self._close()
            if not self._operators:
                raise _Unparsable("A parenthesis is closed that is not open. Leave it out.")
            self._operators.pop()
        else:
            self._add_operator(token)

    def _begin_operand(self) -> None:
        if not self._needs_operand:
            self._add_operator("and")

    def _add_operator(self, operator: str) -> None:
        self._apply_operators(_PRECEDENCE[operator])
        self._operators.append(operator)
        self._needs_operand = True

    def _close(self) -> None:
        self._apply_operators(_PRECEDENCE["or"])

    def _apply_operators(self, precedence: int) -> None:
        """Append the waiting operators that bind as strongly or more."""
        if self._needs_operand:
            raise _Unparsable("An operator or a parenthesis needs a word. Put it in double quotes.")
        while self._operators and _PRECEDENCE[self._operators[-1]] >= precedence:
            operator = self._operators.pop()
            if operator == "not" == self._steps[-1]:
                self._steps.pop()  # Two negations of one operand have no effect.
            else:
                self._steps.append(operator)
