"""Parse search expressions, the values of the parameter `q`, by this grammar:

    any  = all { 'or' all }
    all  = one { [ 'and' ] one }
    one  = [ 'not' | '-' ] ( '(' any ')' | "phrase" | #tag | #"a tag" | !keyword
                           | site:host | after:date | before:date | word )
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date

import msgspec

from storage.bookmark import MAX_TAGS, fold, normalize
from storage.errors import BadQuery
from storage.uri import normalize_host

MAX_TERMS = MAX_TAGS  # Each term may be compared with every bookmark.

# Phones type curly quotes.
_QUOTE = '["“”„«»]'
_NO_QUOTE = '[^"“”„«»]'
# May contain parentheses, as in `Python_(language)`.
_WORD = r"""
    [^\s()]+
    (?:
        \( (?: [^\s()] | \( [^\s()]* \) )* \)  # There may be an inner pair.
        [^\s()]*
    )*
"""
_TOKEN = re.compile(
    rf"""
      (?P<parenthesis> [()] )
    | (?P<minus> - (?= [^\s)] ) )  # The minus in `e-mail` belongs to the word.
    | {_QUOTE} (?P<phrase> {_NO_QUOTE}* ) {_QUOTE}
    | \# {_QUOTE} (?P<quoted_tag> {_NO_QUOTE}+ ) {_QUOTE}
    | (?P<open_quote> \#? {_QUOTE} )
    | \# (?P<tag> {_WORD} )
    | ! (?P<keyword> [^\s()]+ )
    | (?P<operator> (?i: and | or | not ) (?= [\s()] | \Z ) )
    | (?P<word> {_WORD} )
    """,
    re.VERBOSE,
)
_HOST = re.compile(r"[^\s/?\#@:.] [^\s/?\#@]*", re.VERBOSE)
_DATE = re.compile("[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


class Text(msgspec.Struct, frozen=True):
    """Match a bookmark that contains this folded word or phrase."""

    text: str


class Tag(msgspec.Struct, frozen=True):
    """Match a bookmark that has this folded tag."""

    tag: str


class OnlyTags(msgspec.Struct, frozen=True):
    """Match a bookmark that has no folded tags but these."""

    tags: frozenset[str]


class Site(msgspec.Struct, frozen=True):
    """Match a bookmark whose uri has this host or a subdomain of it."""

    host: str


class CreatedSince(msgspec.Struct, frozen=True):
    """Match a bookmark created since the start of a date such as `2024-03`."""

    date: str


class CreatedBefore(msgspec.Struct, frozen=True):
    """Match a bookmark created before the start of a date."""

    date: str


class AllOf(msgspec.Struct, frozen=True):
    """Match a bookmark that all parts match."""

    parts: tuple["Search", ...]


class AnyOf(msgspec.Struct, frozen=True):
    """Match a bookmark that at least one part matches."""

    parts: tuple["Search", ...]


class Not(msgspec.Struct, frozen=True):
    """Match a bookmark that the part does not match."""

    part: "Search"


Term = Text | Tag | OnlyTags | Site | CreatedSince | CreatedBefore
Search = Term | AllOf | AnyOf | Not
Keywords = Mapping[str, Term]

KEYWORDS: Keywords = {"untagged": OnlyTags(frozenset()), "unread": Tag("unread")}


class _NotAnExpression(BadQuery):
    """A text breaks the grammar."""


def parse_search(text: str, keywords: Keywords = KEYWORDS) -> Search | None:
    """Parse an expression, or the words of a text that breaks the grammar.

    An empty text gives None. Raises BadQuery.
    """
    try:
        return parse_expression(text, keywords)
    except _NotAnExpression:
        return _parse_words(text)


def parse_expression(text: str, keywords: Keywords = KEYWORDS) -> Search | None:
    """Parse an expression that selects bookmarks to change. An empty text gives None.

    Raises BadQuery if the text breaks the grammar.
    """
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
    """Return the folded words and phrases to mark in the results."""
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
    """Return the text without case and accents, with plain quotes, dashes and spaces.

    Each character is folded alone, so a page can mark matches.
    """
    if text.isascii():
        return text.lower().replace("\n", " ")
    return text.translate(_FOLDED)


def normalize_and_fold_tag(text: str) -> str:
    """Return a tag that a client has sent, folded like a stored tag."""
    # Normalize first, because folding can turn a mark into a letter.
    return fold(normalize(text.strip()))


_SINGLE_QUOTES = "‘’‚‛‹›ʹʻʼʽ′׳"
_DOUBLE_QUOTES = "“”„‟«»〝〞〟״"
_REPLACEMENTS = str.maketrans(
    {
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        "−": "-",  # The minus sign.
        "\n": " ",
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
    if category == "Cf":  # A soft hyphen, or a character without width.
        return True
    return "\ufe00" <= character <= "\ufe0f"  # Variation selectors of emojis.


class _FoldedCharacters(dict[int, str]):
    """A cache for `str.translate`."""

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
        value = match[kind]
        lower = value.lower()
        match kind:
            case "parenthesis" | "operator":
                yield lower
            case "minus":
                yield "not"
            case "word" if term := _site_or_date(value):
                yield term
            case "word" | "phrase":
                folded = fold_text(value)
                if folded:  # An empty phrase would select every bookmark.
                    yield Text(folded)
            case "tag" | "quoted_tag":
                yield Tag(normalize_and_fold_tag(value))
            case "keyword" if lower in keywords:
                yield keywords[lower]
            case "keyword":
                known = " or ".join(f"!{keyword}" for keyword in keywords)
                raise _NotAnExpression(f"There is no !{value}. Use {known}.")
            case "open_quote":
                raise _NotAnExpression("A double quote is open. Close it, or leave it out.")


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
    first_day = text + "0000-01-01"[len(text) :]  # `2024-03` becomes `2024-03-01`.
    try:
        date.fromisoformat(first_day)
    except ValueError:
        return False
    return True


def _require_few_terms(count: int) -> None:
    if count > MAX_TERMS:
        raise BadQuery(f"A search has at most {MAX_TERMS} words, phrases and tags. Leave some out.")


class _Parser:
    """A recursive-descent parser with a method for each rule."""

    def __init__(self, tokens: list[Term | str]) -> None:
        terms = [token for token in tokens if not isinstance(token, str)]
        _require_few_terms(len(terms))
        if tokens.count("(") > MAX_TERMS:  # Limits the recursion.
            raise _NotAnExpression("There are too many parentheses. Leave some out.")
        self._rest = tokens[::-1]  # For `pop`.

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
        while self._take("or"):
            parts.append(self._all())
        if len(parts) == 1:
            return parts[0]
        return AnyOf(tuple(parts))

    def _all(self) -> Search:
        """Parse: one { [ 'and' ] one }."""
        parts = [self._one()]
        # `and` is optional.
        while self._take("and") or self._next() not in ("or", ")", ""):
            parts.append(self._one())
        if len(parts) == 1:
            return parts[0]
        return AllOf(tuple(parts))

    def _one(self) -> Search:
        """Parse: [ 'not' ] ( '(' any ')' | term ). A minus has become 'not'."""
        if self._take("not"):
            # After this error, `parse_search` searches for a word such as `--help`.
            if self._next() == "not":
                raise _NotAnExpression("There are two negations of one term. Leave both out.")
            return Not(self._one())
        if self._take("("):
            inside = self._any()
            if not self._take(")"):
                raise _NotAnExpression("A parenthesis is open. Close it, or leave it out.")
            return inside
        term = self._next()
        if isinstance(term, str):
            raise _NotAnExpression(
                "An operator or a parenthesis has no word beside it. "
                "To search for the operator or parenthesis itself, put it in double quotes."
            )
        self._rest.pop()
        return term

    def _next(self) -> Term | str:
        if not self._rest:
            return ""
        return self._rest[-1]

    def _take(self, token: str) -> bool:
        """Skip this token and return True, if it is the next."""
        is_next = self._next() == token
        if is_next:
            self._rest.pop()
        return is_next
