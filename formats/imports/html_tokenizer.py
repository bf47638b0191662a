"""Split a bookmark file, even a damaged one, into tags and texts."""

import html
import re
from collections.abc import Container, Iterator, Mapping
from html.entities import html5
from typing import NamedTuple

_BREAK_MARK = "\r"  # Stands for <BR>. A decoded file has no other "\r".

# A part is about one entry, so an unclosed quotation mark damages only one.
# In these patterns, possessive quantifiers (`*+`) and limits keep the search time linear.
_BEGINNING_OF_PART = re.compile(
    r"""
    <DT (?=[\s>])
    # Or a tag at the beginning of a line.
    | \n [ \t]{0,99}+ </? (?: DL | HR | H[1-6] | A ) (?=[\s>])
      (?! [^<>]* > \s* <IMG )       # Not a linked picture in a description.
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
_ATTRIBUTE = re.compile(
    r"""
    [\s/"'=]*+                          # Stray characters.
    (?P<name> [^\s"'<>/=]++ )
    (?: \s*+ = \s*+
      (?: " (?P<double_quoted>
              (?: [^"]++
                # The inner quotation marks of TAGS="a,"b",c" belong to the value.
                | " (?= , )
                | (?<= , ) " (?! [\s/>] )
              )*
            ) "
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
# Other unknown tags are text, such as `<int>` in `list<int>`.
_DROPPED_TAGS = frozenset(
    "abbr b big blockquote center cite code del em font i img ins kbd mark pre q s samp small span "
    "strike strong sub sup tt u var wbr".split()
)


class Token(NamedTuple):
    """A tag with the text after it."""

    name: str  # Such as `a` or `/dt`, or "part" at the beginning of a part.
    line: int
    attributes: Mapping[str, str] = {}
    is_unclosed: bool = False  # The tag has no `>`.
    text: str = ""  # Up to the next token, not decoded.


def tokenize(text: str, names: Container[str]) -> Iterator[Token]:
    """Yield the tags of these names, and a token "part" at the beginning of each part."""
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
    token = Token("part", line)
    texts: list[str] = []
    position = 0
    while tag := _TAG.search(part, position):
        texts.append(part[position : tag.start()])
        line += part.count("\n", position, tag.start())
        position = tag.end()
        name = tag[1].lower()
        if name in names:
            yield token._replace(text="".join(texts))
            texts.clear()
            attributes, position = _parse_attributes(part, position)
            is_unclosed = position == len(part) and not part.endswith(">")
            token = Token(name, line, attributes, is_unclosed)
        elif name in _LINE_BREAK_TAGS:
            _, position = _parse_attributes(part, position)
            texts.append(_BREAK_MARK)
        elif name.removeprefix("/") in _DROPPED_TAGS:
            _, position = _parse_attributes(part, position)
        elif not name.startswith(("!", "?")):  # Not a comment.
            texts.append(tag[0])
        line += part.count("\n", tag.start(), position)
    texts.append(part[position:])
    yield token._replace(text="".join(texts))


def _parse_attributes(part: str, position: int) -> tuple[dict[str, str], int]:
    """Return the attributes by lower-case names, and the position after the tag."""
    attributes: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(part, position):
        position = attribute.end()
        name = attribute["name"].lower()
        if name not in attributes:  # As in browsers, the first counts.
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
    """Decode HTML entities."""
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(entity: re.Match[str]) -> str:
    name = entity[1]
    if name.startswith(("#x", "#X")):
        return _character_of_number(int(name[2:], 16))
    if name.startswith("#"):
        return _character_of_number(int(name[1:]))
    # `html.unescape` would decode the `&not` in `&notit;`.
    return html5.get(f"{name};", entity[0])


def _character_of_number(number: int) -> str:
    if number in _SURROGATES:  # `html.unescape` would return U+FFFD.
        return chr(number)
    # `html.unescape` drops control characters. Return a NUL, which the import reports.
    return html.unescape(f"&#{number};") or "\0"


def decode_text(text: str) -> str:
    """Decode the entities and line breaks in a token's text."""
    # <BR> at the end of a line is one line break.
    lines = re.sub(rf"{_BREAK_MARK}\n?", "\n", text)
    return unescape(lines).strip()


def decode_one_line(text: str) -> str:
    """Decode a token's text, with spaces for line breaks."""
    lines = decode_text(text).split("\n")
    return " ".join(map(str.strip, lines))
