"""Split a bookmark file, even a damaged one, into tags and texts."""

import html
import re
from collections.abc import Container, Iterator, Mapping
from html.entities import html5
from typing import NamedTuple

_BREAK_MARK = "\r"  # Stands for <BR>. A decoded file has no other "\r".

# Possessive quantifiers (`*+`) and limits keep the search time linear.

# Split a file into parts of about one entry, so that an unclosed quotation mark spoils only one.
_BEGINNING_OF_PART = re.compile(
    r"""
    <DT (?=[\s>])
    | \n [ \t]{0,99}+ </? (?: DL | HR | H[1-6] | A ) (?=[\s>])
      (?! [^<>]* > \s* <IMG )       # Not a linked picture in a description.
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TAG = re.compile(
    r"""
    < ( /? [a-z][a-z0-9]*+          # A tag.
      | !-- (?: .*?--> | .* )       # A comment.
      | [!?] [^>]*+ >?              # A declaration or instruction.
      )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# Some quotation marks belong to the value, as in TAGS="a,"b",c".
_QUOTE_IN_VALUE = r"""
    (?: " (?= , )                   # Before a comma.
      | (?<= , ) " (?! [\s/>] )     # After a comma, unless the attribute ends.
    )
"""
_ATTRIBUTE = re.compile(
    rf"""
    [\s/"'=]*+                      # Stray characters.
    (?P<name> [^\s"'<>/=]++ )
    (?: \s*+ = \s*+
      (?: "(?P<double_quoted> [^"]*+ (?: {_QUOTE_IN_VALUE} [^"]*+ )* )"
        | '(?P<single_quoted>[^']*+)'
        | (?P<unquoted>[^\s>]*+)    # Maybe with an unclosed quotation mark.
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
# These tags are dropped, unlike `<int>` in `list<int>`, which is text.
_MARKUP_TAGS = frozenset(
    "abbr b big blockquote center cite code del em font i img ins kbd mark pre q s samp small span "
    "strike strong sub sup tt u var wbr".split()
)


class Token(NamedTuple):
    """A tag, or the beginning of a part, with the text behind it."""

    name: str  # Such as `a` or `/dt`, or "part".
    line: int
    attributes: Mapping[str, str] = {}
    is_unclosed: bool = False  # The tag has no `>`.
    text: str = ""  # The text up to the next token, not decoded.


def tokenize(text: str, names: Container[str]) -> Iterator[Token]:
    """Yield the tags of these names, each with the text up to the next of them.

    The first token is "part", as at the beginning of each part.
    """
    line = 1
    for part in _split_into_parts(text):
        yield from _tokenize_part(part, line, names)
        line += part.count("\n")


def _split_into_parts(text: str) -> Iterator[str]:
    """Yield parts such as `<DT><A HREF="a:b">c</A>`."""
    start = 0
    for beginning in _BEGINNING_OF_PART.finditer(text):
        yield text[start : beginning.start()]
        start = beginning.start()
    yield text[start:]


def _tokenize_part(part: str, line: int, names: Container[str]) -> Iterator[Token]:
    """Join the texts behind each tag: `<A>list<int>` → Token("a", text="list<int>")."""
    token = Token("part", line)
    texts: list[str] = []
    for text_or_tag in _split_at_tags(part, line, names):
        if isinstance(text_or_tag, str):
            texts.append(text_or_tag)
        else:
            yield token._replace(text="".join(texts))
            token = text_or_tag
            texts.clear()
    yield token._replace(text="".join(texts))


def _split_at_tags(part: str, line: int, names: Container[str]) -> Iterator[str | Token]:
    """Yield the texts of a part, and between them the tags of these names.

    A tag of an unknown name is text, such as `<int>`:
    `a<br>b<DT>list<int>` → "a", _BREAK_MARK, "b", Token("dt"), "list", "<int", ">"
    """
    position = 0  # The end of the previous tag.
    counted = 0  # `line` is the number of the line at this position.
    while tag := _TAG.search(part, position):
        yield part[position : tag.start()]
        position = tag.end()
        name = tag[1].lower()
        if name in names:
            line += part.count("\n", counted, tag.start())
            counted = tag.start()
            attributes, position = _parse_attributes(part, position)
            is_unclosed = position == len(part) and not part.endswith(">")
            yield Token(name, line, attributes, is_unclosed)
        elif name in _LINE_BREAK_TAGS:
            _, position = _parse_attributes(part, position)
            yield _BREAK_MARK
        elif name.removeprefix("/") in _MARKUP_TAGS:
            _, position = _parse_attributes(part, position)  # Drop the tag.
        elif not name.startswith(("!", "?")):  # Drop a comment or declaration.
            yield tag[0]  # A text such as `<int`.
    yield part[position:]


def _parse_attributes(part: str, position: int) -> tuple[dict[str, str], int]:
    """Return the attributes by lower-case names, and the position after the tag."""
    attributes: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(part, position):
        position = attribute.end()
        name = attribute["name"].lower()
        if name not in attributes:  # Browsers also use the first of two equal attributes.
            attributes[name] = _value(attribute)
    end = _TAG_END.match(part, position)
    if end:
        position = end.end()
    return attributes, position


def _value(attribute: re.Match[str]) -> str:
    if attribute["unquoted"]:
        return attribute["unquoted"].lstrip("\"'")
    return attribute["double_quoted"] or attribute["single_quoted"] or ""


def unescape(text: str) -> str:
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(entity: re.Match[str]) -> str:
    name = entity[1]
    if name.startswith(("#x", "#X")):
        return _character(int(name[2:], 16))
    if name.startswith("#"):
        return _character(int(name[1:]))
    # `html.unescape` would decode the `&not` in `&notit;`.
    return html5.get(f"{name};", entity[0])


def _character(number: int) -> str:
    if number in _SURROGATES:
        return chr(number)
    # `html.unescape` drops control characters. The importer reports a NUL.
    return html.unescape(f"&#{number};") or "\0"


def decode_lines(text: str) -> str:
    """Decode the entities and line breaks in the text of a token."""
    # <BR> at the end of a line is one line break.
    lines = re.sub(rf"{_BREAK_MARK}\n?", "\n", text)
    return unescape(lines).strip()


def decode_line(text: str) -> str:
    lines = decode_lines(text).split("\n")
    return " ".join(map(str.strip, lines))
