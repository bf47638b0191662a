"""Split a bookmark file, even a damaged one, into tags and texts."""

import html
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from html.entities import html5
from typing import NamedTuple

_BREAK_MARK = "\r"  # Stands for <BR>. `decode` replaces each "\r" of the file.

# In these patterns, possessive quantifiers (`*+`) and limits keep the search time linear.

# A file is split into parts of about one entry, so that an unclosed quotation mark damages only one
# entry. A part begins at a <DT>, or at a line that begins with a list, separator, heading or link.
_BEGINNING_OF_PART = re.compile(
    r"""
    <DT (?=[\s>])
    | \n [ \t]{0,99}+ </? (?: DL | HR | H[1-6] | A ) (?=[\s>])
      (?! [^<>]* > \s* <IMG )       # Not <A HREF="a:b"><IMG SRC="c">, a picture in a description.
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TAG = re.compile(
    r"""
    < ( /? [a-z][a-z0-9]*+
      | !-- (?: .*?--> | .* )       # A comment, perhaps without end.
      | [!?] [^>]*+ >?              # A declaration or instruction.
      )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# A value may have inner quotation marks beside commas: TAGS="a,"b",c".
_DOUBLE_QUOTED_VALUE = r"""
    (?: [^"]++
      | (?<= , ) " (?! [\s/>] )         # A mark after a comma, unless it ends the value: "a,">
      | " (?= , )                       # A mark before a comma.
    )*
"""
_ATTRIBUTE = re.compile(
    rf"""
    [\s/"'=]*+                          # Stray characters.
    (?P<name> [^\s"'<>/=]++ )
    (?: \s*+ = \s*+
      (?: " (?P<double_quoted> {_DOUBLE_QUOTED_VALUE} ) "
        | ' (?P<single_quoted> [^']*+ ) '
        | (?P<unquoted> [^\s>]*+ )      # Perhaps with an unclosed quotation mark.
      )
    )?
    """,
    re.VERBOSE,
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")
# Without a semicolon, `&copy` in `?a=1&copy=2` is not an entity.
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")

_SURROGATES = range(0xD800, 0xE000)
_LINE_BREAK_TAGS = frozenset("br p /p li /li div /div".split())
_FORMATTING_TAGS = frozenset(
    "abbr b big blockquote center cite code del em font i img ins kbd mark pre q s samp small span "
    "strike strong sub sup tt u var wbr".split()
)


@dataclass(slots=True)
class Token:
    """A tag and the text after the tag."""

    name: str  # Such as `a` or `/dt`, or "" at the beginning of a part.
    line: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_unclosed: bool = False  # The part ends before the `>` of the tag.
    # The text up to the next token, not decoded.
    pieces_of_text: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces_of_text)


def tokenize(text: str, names: Container[str]) -> Iterator[Token]:
    """Yield a token for each tag with one of these names.

    The first token of each part has the name "". The token ends the part before, even if an
    end tag is missing.
    """
    line = 1
    for part in _split_into_parts(text):
        yield from _tokenize_part(part, line, names)
        line += part.count("\n")


def _split_into_parts(text: str) -> Iterator[str]:
    start = 0
    for beginning in _BEGINNING_OF_PART.finditer(text):
        yield text[start : beginning.start()]
        start = beginning.start()
    yield text[start:]


def _tokenize_part(part: str, line: int, names: Container[str]) -> Iterator[Token]:
    current = Token("", line)
    position = 0
    for tag in _find_tags(part, line, names):
        current.pieces_of_text.append(part[position : tag.start])
        position = tag.end
        if tag.name in names:
            yield current  # The text of this token ends here.
            is_unclosed = tag.end == len(part) and not part.endswith(">")
            current = Token(tag.name, tag.line, tag.attributes, is_unclosed)
        elif tag.name in _LINE_BREAK_TAGS:
            current.pieces_of_text.append(_BREAK_MARK)
    current.pieces_of_text.append(part[position:])
    yield current


class _Tag(NamedTuple):
    """A tag or comment from `start` to `end` in a part."""

    name: str  # Begins with `!` or `?` if the tag is a comment.
    line: int
    start: int
    end: int
    attributes: Mapping[str, str]


def _find_tags(part: str, line: int, names: Container[str]) -> Iterator[_Tag]:
    """Yield comments and known tags. Unknown tags are text, such as `<int>` in `list<int>`."""
    position = 0
    counted_up_to = 0  # The line breaks before this position are counted in `line`.
    while match := _TAG.search(part, position):
        start = match.start()
        position = match.end()
        line += part.count("\n", counted_up_to, start)
        counted_up_to = start
        name = match[1].lower()
        if name.startswith(("!", "?")):
            yield _Tag(name, line, start, position, {})
        elif name in names or _is_formatting(name):
            attributes, position = _parse_attributes(part, position)
            yield _Tag(name, line, start, position, attributes)


def _is_formatting(name: str) -> bool:
    return name in _LINE_BREAK_TAGS or name.removeprefix("/") in _FORMATTING_TAGS


def _parse_attributes(part: str, position: int) -> tuple[dict[str, str], int]:
    attributes: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(part, position):
        position = attribute.end()
        name = attribute["name"].lower()
        if name not in attributes:
            attributes[name] = _attribute_value(attribute)
    end = _TAG_END.match(part, position)
    if end:
        position = end.end()
    return attributes, position


def _attribute_value(attribute: re.Match[str]) -> str:
    if attribute["unquoted"]:
        return attribute["unquoted"].lstrip("\"'")  # Drop an unclosed quotation mark.
    return attribute["double_quoted"] or attribute["single_quoted"] or ""


def unescape(text: str) -> str:
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(entity: re.Match[str]) -> str:
    name = entity[1]
    if name.startswith(("#x", "#X")):
        return _character_of_number(int(name[2:], 16))
    if name.startswith("#"):
        return _character_of_number(int(name[1:]))
    # An unknown entity such as `&notit;` is kept.
    return html5.get(f"{name};", entity[0])


def _character_of_number(number: int) -> str:
    # `html.unescape` changes surrogates and drops control characters, which the import reports.
    if number in _SURROGATES:
        return chr(number)
    return html.unescape(f"&#{number};") or "\0"


def decode_text(text: str) -> str:
    # <BR> and a line break after it are one line break.
    lines = re.sub(rf"{_BREAK_MARK}\n?", "\n", text)
    return unescape(lines).strip()


def decode_one_line(text: str) -> str:
    lines = decode_text(text).split("\n")
    return " ".join(map(str.strip, lines))
