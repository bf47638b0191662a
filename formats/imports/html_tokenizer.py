"""Split a bookmark file, however it is damaged, into tags and texts."""

import html
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from html.entities import html5
from typing import NamedTuple

# A file is split into parts, mostly of one entry each. A part begins at a <DT>, or at a line that
# begins with one of the other tags. In the middle of a line, the other tags may be part of a text.
# A link on the first line of a description, such as Shaarli's picture, begins no part.
# In these patterns, possessive quantifiers (`*+`) and limits keep the search time linear.
_PART = re.compile(
    r"<DT(?=[\s>])|(?<!<DD>)\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE
)

# In place of a tag's name, such as `dt`, a token that is no tag has one of these names.
TEXT, PART_END, FILE_END = "", "end of part", "end of file"
# The beginning of a tag up to its name, or a whole comment, declaration or instruction.
_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--(?:.*?-->|.*)|[!?][^>]*+>?)", re.DOTALL)
# Stray quotes, slashes and equals signs before a name are skipped. `*+` keeps the time linear.
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")  # The `>` may be missing, before another tag or at the end.
# Only with a semicolon: in `?a=1&copy=2`, a program did not escape the `&` of an address.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_LINE_BREAK_TAGS = ("br", "p", "/p", "li", "/li", "div", "/div")
BREAK_MARK = "\r"  # Stands for a tag of `_LINE_BREAK_TAGS`; `decode` leaves no other "\r".
# Tags to drop from texts. An unknown name in angle brackets is a part of the text: `list<int>`.
_MARKUP_TAGS = frozenset(
    "abbr b big blockquote center cite code del em font i img ins kbd mark pre q s samp small span "
    "strike strong sub sup tt u var wbr".split()
)


class Token(NamedTuple):
    """A tag, a text, or the end of a part or of the file, which `name` distinguishes."""

    name: str  # A tag's in lower case, such as `/dt`, or `TEXT`, `PART_END` or `FILE_END`.
    text: str = ""  # Empty for a tag.
    line: int = 0  # The number of a tag's line; 0 for other tokens.
    attributes: Mapping[str, str] = {}
    is_unclosed: bool = False  # Whether the part of the file ends before the `>` of the tag.


def tokenize(text: str, names: Container[str]) -> Iterator[Token]:
    """Yield the tags of these names and the texts of a file, which is read in parts.

    A quotation mark or comment that is never closed ends with its part and hides no later entry.
    """
    first_line, start = 1, 0
    for next_part in _PART.finditer(text):
        part = text[start : next_part.start()]
        yield from _tokenize_part(part, first_line, names)
        yield Token(PART_END)
        first_line += part.count("\n")
        start = next_part.start()
    yield from _tokenize_part(text[start:], first_line, names)
    yield Token(FILE_END)


def _tokenize_part(part: str, line: int, names: Container[str]) -> Iterator[Token]:
    """Yield the tags and texts of a part of the file, often one entry, that begins in this line."""
    position = 0
    while tag := _TAG.search(part, position):
        yield Token(TEXT, part[position : tag.start()])
        line += part.count("\n", position, tag.start())
        position = tag.end()
        name = tag[1].lower()
        if name in names:
            attributes, position, is_unclosed = _parse_attributes(part, position)
            yield Token(name, "", line, attributes, is_unclosed)
        elif name in _LINE_BREAK_TAGS or name.lstrip("/") in _MARKUP_TAGS:
            _, position, _ = _parse_attributes(part, position)  # To drop the whole tag.
            yield Token(TEXT, BREAK_MARK if name in _LINE_BREAK_TAGS else "")
        elif name[0] not in "!?":  # Keep `list<int>` as text, but drop comments and declarations.
            yield Token(TEXT, tag[0])
        line += part.count("\n", tag.start(), position)
    yield Token(TEXT, part[position:])


def _parse_attributes(part: str, position: int) -> tuple[dict[str, str], int, bool]:
    """Return attributes by lower-case name, the tag's end, and whether the part ends before `>`."""
    attributes: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(part, position):
        name, double_quoted, single_quoted, unquoted = attribute.groups()
        position = attribute.end()
        # A value whose quote is never closed is unquoted, and ends at the first space.
        value = double_quoted or single_quoted or (unquoted or "").lstrip("\"'")
        attributes.setdefault(name.lower(), value)
    if end := _TAG_END.match(part, position):
        position = end.end()
    is_unclosed = position == len(part) and part[-1] != ">"  # Maybe the file is cut off here.
    return attributes, position, is_unclosed


def unescape(text: str) -> str:
    """Return the text with its entities decoded: numbers, and names that HTML knows."""
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(match: re.Match[str]) -> str:
    entity = match[0]
    # `unescape` would also replace a known beginning of an unknown name, such as `&notit;`.
    is_known = entity.startswith("&#") or entity.removeprefix("&") in html5
    return html.unescape(entity) if is_known else entity


def join_lines(texts: Iterable[str]) -> str:
    """Return the texts between tags as one text, decoded, with its line breaks."""
    # Programs write <BR> at the end of a line of the file; both together are one line break.
    text = "".join(texts).replace(BREAK_MARK + "\n", "\n").replace(BREAK_MARK, "\n")
    return unescape(text).strip()


def one_line(texts: Iterable[str]) -> str:
    """Return the texts between tags as one text, decoded, with a space for each line break."""
    return " ".join(map(str.strip, join_lines(texts).split("\n")))
