"""Search expressions, the parameter `q`: a subset of linkding's grammar, and `-` for `not`.

    any  = all { 'or' all }
    all  = one { [ 'and' ] one }
    one  = [ 'not' | '-' ] ( '(' any ')' | "phrase" | #tag | #"a tag" | !untagged | !unread | word )
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import filterfalse
from typing import NamedTuple

from storage.bookmark import MAX_TAGS, fold
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
    | ! (?P<keyword> [^\s()]+ )      # `_tokens` refuses words not in _KEYWORDS.
    | (?P<open_quote> \#? " )        # A quote that is not closed, or #"" without a tag.
    | (?P<word> [^\s()]+ )           # The operators and, or and not are words too.
    """,
    re.VERBOSE,
)
# An operator with a greater number binds more strongly. No operator inside parentheses reaches the
# operators before them, because each operator binds more strongly than the open parenthesis.
_BINDING_STRENGTH = {"(": 0, "or": 1, "and": 2, "not": 3}


class Kind(Enum):
    """The kind of a term: the condition for a bookmark that meets the term."""

    TEXT = "text"  # The term's value occurs in the bookmark's text.
    TAG = "tag"  # The term's value is one of the bookmark's tags.
    UNTAGGED = "untagged"  # The bookmark has no tags; the term's value is empty.


class Term(NamedTuple):
    """One test of a bookmark, with a folded value."""

    kind: Kind
    value: str


# By the word after the exclamation mark. `unread` is a field in linkding, and a tag here.
_KEYWORDS = {"untagged": Term(Kind.UNTAGGED, ""), "unread": Term(Kind.TAG, "unread")}

# Terms and operators in postfix notation, each operator after its operands: (a, b, "not", "and")
# for `a -b`. The empty tuple selects every bookmark.
Search = tuple[Term | str, ...]


class _NotAnExpression(BadQuery):
    """The text is no expression: a list searches for its words, a change of tags is refused."""


def parse_search(text: str) -> Search:
    """Return the search of an expression; of any other text, a search for all of its words.

    Raises BadQuery if there are more than `MAX_TERMS` terms.
    """
    try:
        return parse_expression(text)
    except _NotAnExpression:
        # Strip parentheses and double quotes from each word; a word of nothing else, `("`, stays.
        words = [word.strip('()"') or word for word in text.split()]
        return _Parser().parse(Term(Kind.TEXT, fold_text(word)) for word in words)


def parse_expression(text: str) -> Search:
    """Return the search of an expression.

    Raises _NotAnExpression, or another BadQuery for more than `MAX_TERMS` terms. Changes of tags
    are refused then, because a search for the words could select the wrong bookmarks.
    """
    return _Parser().parse(_tokens(text))


def words_to_mark(text: str) -> list[str]:
    """Return the words and phrases, folded by `fold_text`, to mark in the results of a search.

    Negated words are left out. Raises BadQuery.
    """
    # The search is in postfix notation. For each operand the stack has a list of the words to find
    # and a list of the words to exclude. The first item is the result of an empty search.
    stack: list[tuple[list[str], list[str]]] = [([], [])]
    for step in parse_search(text):
        if isinstance(step, Term):
            stack.append(([step.value] if step.kind is Kind.TEXT else [], []))
        elif step == "not":
            wanted, excluded = stack.pop()
            stack.append((excluded, wanted))  # `not` swaps them: -(a -b) excludes a and wants b.
        else:
            right_wanted, right_excluded = stack.pop()
            left_wanted, left_excluded = stack.pop()
            stack.append((left_wanted + right_wanted, left_excluded + right_excluded))
    wanted, _excluded = stack.pop()
    return [word for word in wanted if word]  # A lone accent is folded to "".


def fold_text(text: str) -> str:
    """Return the text as it is searched: without case, accents and line breaks.

    Each character is folded by itself, so that a match in the folded text can be marked in the
    original text.
    """
    if not text.isascii():
        text = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", text)))
    # With spaces for line breaks, a phrase also matches across two lines of a description.
    return text.casefold().replace("\n", " ")


def normalize_and_fold_tag(text: str) -> str:
    """Fold a tag that a client sent, to compare it with a bookmark's folded tags."""
    # NFC puts the marks of a letter in order. Do this before `fold`, which turns the mark U+0345
    # into a letter, so that the marks around it cannot be put in order any more.
    return fold(unicodedata.normalize("NFC", text.strip()))


def _tokens(text: str) -> Iterator[Term | str]:
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
                yield Term(Kind.TEXT, folded)
        elif kind in ("tag", "quoted_tag"):
            yield Term(Kind.TAG, normalize_and_fold_tag(value))
        elif kind == "keyword" and lower in _KEYWORDS:
            yield _KEYWORDS[lower]
        elif kind == "keyword":
            raise _NotAnExpression(f"There is no !{value}. Use !untagged or !unread.")
        elif kind == "open_quote":
            raise _NotAnExpression("A double quote is open. Close it, or leave it out.")


class _Parser:
    """Put the tokens of one expression into postfix notation, by the shunting-yard algorithm.

    A stack of operators takes the place of recursion, so that no nesting is too deep.
    """

    def __init__(self) -> None:
        self._postfix: list[Term | str] = []
        self._operators: list[str] = []  # Waiting operators, and open parentheses.
        self._needs_operand = True

    def parse(self, tokens: Iterable[Term | str]) -> Search:
        """Return the tokens in postfix notation. Raises _NotAnExpression, or another BadQuery."""
        for token in tokens:
            self._add(token)
        if not self._postfix and not self._operators:
            return ()
        self._apply_all_operators()
        if self._operators:
            raise _NotAnExpression("A parenthesis is open. Close it, or leave it out.")
        if sum(isinstance(step, Term) for step in self._postfix) > MAX_TERMS:
            raise BadQuery(
                f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out."
            )
        return tuple(self._postfix)

    def _add(self, token: Term | str) -> None:
        """Add a term to the postfix notation, or an operator or parenthesis to the stack."""
        if isinstance(token, Term):
            self._add_omitted_and()
            self._postfix.append(token)
            self._needs_operand = False
        elif token in ("(", "not"):
            self._add_omitted_and()
            if token == "not" and self._operators and self._operators[-1] == "not":
                # `--help` is two negations: a list searches for its words instead.
                raise _NotAnExpression("There are two negations of one term. Leave both out.")
            self._operators.append(token)
        elif token == ")":
            self._apply_all_operators()
            if not self._operators:
                raise _NotAnExpression("A parenthesis is closed that is not open. Leave it out.")
            self._operators.pop()
        else:
            self._add_operator(token)

    def _add_omitted_and(self) -> None:
        """Add `and` between two operands that follow each other without an operator."""
        if not self._needs_operand:
            self._add_operator("and")

    def _add_operator(self, operator: str) -> None:
        self._apply_operators(_BINDING_STRENGTH[operator])
        self._operators.append(operator)
        self._needs_operand = True

    def _apply_all_operators(self) -> None:
        """Apply all waiting operators that come after the last open parenthesis, if any is open."""
        self._apply_operators(_BINDING_STRENGTH["or"])  # Only "(" is weaker than "or".

    def _apply_operators(self, least_strength: int) -> None:
        """Append the waiting operators that bind at least this strongly to the postfix notation."""
        if self._needs_operand:
            raise _NotAnExpression(
                "An operator or a parenthesis has no word beside it. "
                "To search for the operator or parenthesis itself, put it in double quotes."
            )
        while self._operators and _BINDING_STRENGTH[self._operators[-1]] >= least_strength:
            operator = self._operators.pop()
            if operator == "not" and self._postfix[-1] == "not":
                self._postfix.pop()  # Two negations of one operand have no effect.
            else:
                self._postfix.append(operator)
