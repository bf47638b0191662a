"""Parse search expressions by this grammar:

    any  = all { 'or' all }
    all  = one { [ 'and' ] one }
    one  = [ 'not' | '-' ] ( '(' any ')' | "phrase" | #tag | #"a tag" | !keyword
                           | site:host | after:date | before:date | word )
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date

import msgspec

from storage.bookmark import fold, normalize
from storage.errors import BadQuery
from storage.uri import normalize_host

MAX_TERMS = 100

# Phones type curly quotes.
_QUOTE = '["“”„«»]'
_NO_QUOTE = '[^"“”„«»]'
# A word may have parentheses inside, as in `Python_(language)` or `f(g(x))`.
_WORD = r"""
    [^\s()]+
    (?:
        \( (?: [^\s()] | \( [^\s()]* \) )* \)
        [^\s()]*
    )*
"""
# The alternatives are tried in order. A word is any text that no earlier one matches.
_TOKEN = re.compile(
    rf"""
      (?P<parenthesis> [()] )
    | (?P<minus> - (?= [^\s)] ) )                         # -word, not a lone `-`.
    | {_QUOTE} (?P<phrase> {_NO_QUOTE}* ) {_QUOTE}         # "two words"
    | \# {_QUOTE} (?P<quoted_tag> {_NO_QUOTE}+ ) {_QUOTE}  # #"a tag"
    | (?P<open_quote> \#? {_QUOTE} )                      # A quote without an end.
    | \# (?P<tag> {_WORD} )                               # #tag
    | ! (?P<keyword> [^\s()]+ )                           # !unread
    | (?P<operator> (?i: and | or | not ) (?= [\s()] | \Z ) )  # Not the `or` of `order`.
    | (?P<word> {_WORD} )
    """,
    re.VERBOSE,
)
_HOST = re.compile(r"[^\s/?\#@:.] [^\s/?\#@]*", re.VERBOSE)
_DATE = re.compile("[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


class Text(msgspec.Struct, frozen=True):
    text: str  # A word or phrase from `fold_text`.


class Tag(msgspec.Struct, frozen=True):
    tag: str  # Case-folded.


class OnlyTags(msgspec.Struct, frozen=True):
    """The bookmark has no tags but these."""

    tags: frozenset[str]


class Site(msgspec.Struct, frozen=True):
    """The uri has this host or a subdomain."""

    host: str


class CreatedSince(msgspec.Struct, frozen=True):
    date: str  # A day, month or year, such as `2024-03`.


class CreatedBefore(msgspec.Struct, frozen=True):
    date: str


class AllOf(msgspec.Struct, frozen=True):
    parts: tuple["Search", ...]


class AnyOf(msgspec.Struct, frozen=True):
    parts: tuple["Search", ...]


class Not(msgspec.Struct, frozen=True):
    part: "Search"


Term = Text | Tag | OnlyTags | Site | CreatedSince | CreatedBefore
Search = Term | AllOf | AnyOf | Not
Keywords = Mapping[str, Term]

KEYWORDS: Keywords = {"untagged": OnlyTags(frozenset()), "unread": Tag("unread")}


class _NotAnExpression(BadQuery):
    """A text breaks the grammar."""


def parse_search(text: str, keywords: Keywords = KEYWORDS) -> Search | None:
    """Parse an expression. If the text breaks the grammar, search for all of its words.

    Raises BadQuery for too many terms.
    """
    try:
        return parse_expression(text, keywords)
    except _NotAnExpression:
        return _parse_words(text)


def parse_expression(text: str, keywords: Keywords = KEYWORDS) -> Search | None:
    """Return the search, or None if the text is blank. Raises BadQuery."""
    return _Parser(list(_tokens(text, keywords))).parse()


def _parse_words(text: str) -> Search | None:
    words: list[Text] = []
    for word in text.split():
        folded = fold_text(word)
        if not folded:
            continue
        stripped = folded.strip('()"')
        words.append(Text(stripped or folded))
    _require_few_terms(len(words))
    if not words:
        return None
    return AllOf(tuple(words))


def words_to_mark(search: Search | None, is_negated: bool = False) -> list[str]:
    """Return the folded words and phrases that a page marks in its list."""
    match search:
        case Text(word) if not is_negated:
            return [word]
        case Not(part):
            return words_to_mark(part, is_negated=not is_negated)
        case AllOf(parts) | AnyOf(parts):
            words: list[str] = []
            for part in parts:
                words += words_to_mark(part, is_negated)
            return words
    return []


def fold_text(text: str) -> str:
    """Remove case and accents, and replace quotes, dashes and spaces by those of ASCII.

    Each character is folded alone, so that a page can find a match in the original text.
    """
    if text.isascii():
        return text.lower().replace("\n", " ")
    return text.translate(_FOLDED)


def normalize_and_fold_tag(text: str) -> str:
    return fold(normalize(text.strip()))


_SINGLE_QUOTES = "‘’‚‛‹›ʹʻʼʽ′׳"
_DOUBLE_QUOTES = "“”„‟«»〝〞〟״"
_REPLACEMENTS = str.maketrans(
    {
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        "−": "-",
        "\n": " ",
        # Unicode does not decompose these letters:
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "ŧ": "t",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "þ": "th",
    }
)
_MAX_CACHED_CHARACTERS = 1 << 16


def _fold_character(character: str) -> str:
    folded = ""
    for part in unicodedata.normalize("NFKD", character):
        category = unicodedata.category(part)
        if category == "Pd":  # A hyphen or dash.
            folded += "-"
        elif not _is_ignored(part, category):
            folded += part
    return folded.casefold().translate(_REPLACEMENTS)


def _is_ignored(character: str, category: str) -> bool:
    if unicodedata.combining(character):
        return True
    if category == "Cf":  # A soft hyphen or a zero-width character.
        return True
    return "\ufe00" <= character <= "\ufe0f"  # An emoji's variation selector.


class _FoldedCharacters(dict[int, str]):
    """The folded form of each character that `str.translate` has met."""

    def __missing__(self, code_point: int) -> str:
        folded = _fold_character(chr(code_point))
        if len(self) < _MAX_CACHED_CHARACTERS:
            self[code_point] = folded
        return folded


_FOLDED = _FoldedCharacters()


def _tokens(text: str, keywords: Keywords) -> Iterator[Term | str]:
    """Yield terms, lower-case operators and parentheses."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        token = _parse_token(kind, match[kind], keywords)
        if token != Text(""):  # An empty phrase would select every bookmark.
            yield token


def _parse_token(kind: str, value: str, keywords: Keywords) -> Term | str:
    match kind:
        case "parenthesis" | "operator":
            return value.lower()
        case "minus":
            return "not"
        case "phrase":
            return Text(fold_text(value))
        case "word":
            return _site_or_date(value) or Text(fold_text(value))
        case "tag" | "quoted_tag":
            return Tag(normalize_and_fold_tag(value))
        case "keyword":
            return _find_keyword(value, keywords)
    raise _NotAnExpression("A double quote is open. Close it, or leave it out.")


def _find_keyword(name: str, keywords: Keywords) -> Term:
    if name.lower() not in keywords:
        known = " or ".join(f"!{keyword}" for keyword in keywords)
        raise _NotAnExpression(f"There is no !{name}. Use {known}.")
    return keywords[name.lower()]


def _site_or_date(word: str) -> Term | None:
    name, _, value = word.partition(":")
    match name.lower():
        case "site" if _HOST.fullmatch(value):
            return Site(normalize_host(value))
        case "after" if _is_date(value):
            return CreatedSince(value)
        case "before" if _is_date(value):
            return CreatedBefore(value)
    return None


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    missing_parts = 2 - text.count("-")
    first_day = text + missing_parts * "-01"
    try:
        date.fromisoformat(first_day)
    except ValueError:
        return False
    return True


def _require_few_terms(count: int) -> None:
    if count > MAX_TERMS:
        raise BadQuery(f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out.")


_END = ""  # The token after the end of the text.


class _Parser:
    """A recursive-descent parser."""

    def __init__(self, tokens: list[Term | str]) -> None:
        terms = [token for token in tokens if not isinstance(token, str)]
        _require_few_terms(len(terms))
        if tokens.count("(") > MAX_TERMS:  # Limits the recursion.
            raise _NotAnExpression("There are too many parentheses. Leave some out.")
        self._rest = deque(tokens)

    def parse(self) -> Search | None:
        if not self._rest:
            return None
        search = self._any()
        if self._rest:
            raise _NotAnExpression("A parenthesis is closed that is not open. Leave it out.")
        return search

    def _any(self) -> Search:
        """Parse: all { 'or' all }."""
        parts = [self._all()]
        while self._skip("or"):
            parts.append(self._all())
        if len(parts) == 1:
            return parts[0]
        return AnyOf(tuple(parts))

    def _all(self) -> Search:
        """Parse: one { [ 'and' ] one }."""
        parts = [self._one()]
        while self._skip("and") or self._peek() not in ("or", ")", _END):
            parts.append(self._one())
        if len(parts) == 1:
            return parts[0]
        return AllOf(tuple(parts))

    def _one(self) -> Search:
        """Parse: [ 'not' ] ( '(' any ')' | term )."""
        if self._skip("not"):
            if self._peek() == "not":
                raise _NotAnExpression("There are two negations of one term. Leave both out.")
            return Not(self._one())
        if self._skip("("):
            inside = self._any()
            if not self._skip(")"):
                raise _NotAnExpression("A parenthesis is open. Close it, or leave it out.")
            return inside
        term = self._peek()
        if isinstance(term, str):
            raise _NotAnExpression(
                "An operator or a parenthesis has no word beside it. "
                "To search for the operator or parenthesis itself, put it in double quotes."
            )
        self._rest.popleft()
        return term

    def _peek(self) -> Term | str:
        if not self._rest:
            return _END
        return self._rest[0]

    def _skip(self, token: str) -> bool:
        """Skip the next token if it is `token`. Return whether it was skipped."""
        is_next = self._peek() == token
        if is_next:
            self._rest.popleft()
        return is_next
