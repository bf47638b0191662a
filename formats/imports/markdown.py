"""Find the links and headings in a line of Markdown."""

import re
from collections.abc import Iterator
from typing import Any

from formats.imports.entry import SCHEME, URI
from formats.imports.folders import Heading, folder_tags
from storage.bookmark import split_tags

_Fields = dict[str, Any]


def _nested_parentheses(levels: int) -> str:
    """Return a pattern for a text such as `javascript:a(b(c()))`, which has three levels."""
    inner = ""
    if levels:
        inner = rf"| \( {_nested_parentheses(levels - 1)} \)"
    # `++` never backtracks, so the search time is linear.
    return rf"(?: [^()\\]++ | \\. {inner} )*"


_TARGET = _nested_parentheses(levels=3)
# `[title](target)` or `<uri>`
_LINK = re.compile(
    rf"""
    (?<! [!\\] )                  # `![` begins a picture, and `\[` stands for a bracket.
    \[ (?P<title> (?: [^\[\]\\]++ | \\. | \[ [^\[\]]*+ \] )* ) \]
    \( (?P<target> {_TARGET} ) \)
    | (?: ^ | (?<=\s) ) < (?P<uri> {URI.pattern} ) >
    """,
    re.VERBOSE,
)
# `![text](target)`
_PICTURE = re.compile(rf"! \[ (?P<text> [^\[\]]* ) \] \( {_TARGET} \)", re.VERBOSE)
_CODE = re.compile(r"`[^`]*`")
_HTML_PICTURE = re.compile(r"<img\s[^<>]*>", re.IGNORECASE)
# In `(see https://a.example/b_(c).)`, the address is `https://a.example/b_(c)`.
_BARE_ADDRESS = re.compile(
    rf"""
    {SCHEME} //
    (?: [^\s<>"”`|\[\]()] | \( [^\s()]* \) )+
    (?<! [.,:;!?*_~'] )
    """,
    re.VERBOSE,
)
_ESCAPED_PUNCTUATION = re.compile(r"\\([!-/:-@\[-`{-~])")  # `\_` stands for `_`.
_HEADING = re.compile(r"(#{1,6})\s+(.*)")


def has_link(line: str) -> bool:
    return _LINK.search(line) is not None


def read_heading(line: str) -> Heading | None:
    """Return the heading of a line such as `## Travel`."""
    match = _HEADING.fullmatch(line)
    if not match:
        return None
    level = len(match[1])
    name = match[2].rstrip("# ")
    text = _LINK.sub(r"\g<title>", _PICTURE.sub("", name))
    return Heading(level, name, folder_tags(text, may_be_built_in=level == 1))


def find_links(line: str) -> Iterator[_Fields]:
    """Yield the fields of each link, and of the other addresses in a line with a link."""
    # buku writes `[title](uri) <!-- TAGS: a,b -->`.
    text, _, tags = line.partition(" <!-- TAGS: ")
    first = _LINK.search(text)
    if not first:
        return
    fields = _link_fields(first) | {"tags": split_tags(tags.removesuffix("-->"))}
    second = _LINK.search(text, first.end())
    if second:
        yield from _read_several_links(text, first, second, fields)
    else:
        yield from _read_single_link(text, first, fields)


def _read_single_link(text: str, link: re.Match[str], fields: _Fields) -> Iterator[_Fields]:
    """Take all text behind the link as its description, even an address.

    `https://a.example [b](c:d) - see e://f` → c:d, "see e://f" and https://a.example
    """
    description = _without_marks(text[link.end() :])
    if description:
        fields["description"] = description
    yield fields
    yield from _find_bare_addresses(text[: link.start()])


def _read_several_links(
    text: str, first: re.Match[str], second: re.Match[str], fields: _Fields
) -> Iterator[_Fields]:
    """Take the text between the first two links as the description of the first.

    `[a](b:c) is a book, [d](e:f) or g://h` → b:c, "is a book", e:f and g://h
    """
    description = _without_marks(text[first.end() : second.start()])
    if " " in description:  # Not a single word, such as "and".
        fields["description"] = description
    yield fields
    yield from map(_link_fields, _LINK.finditer(text, second.start()))
    yield from _find_bare_addresses(text)


def _find_bare_addresses(text: str) -> Iterator[_Fields]:
    """Yield each address that is not in a link, a picture or code."""
    for pattern in (_LINK, _PICTURE, _CODE, _HTML_PICTURE):
        text = pattern.sub("", text)
    for address in _BARE_ADDRESS.finditer(text):
        yield {"uri": address[0]}


def _without_marks(text: str) -> str:
    """Return `A book` for the text `** - A book (` behind a link."""
    return text.strip(" *_-–—:|,").rstrip(" ([")


def _link_fields(link: re.Match[str]) -> _Fields:
    if link["uri"]:
        return {"uri": link["uri"], "title": ""}
    uri = _uri_of_target(link["target"].strip())
    title = _PICTURE.sub(r"\g<text>", link["title"])
    return {"uri": _unescape(uri), "title": _unescape(title)}


def _uri_of_target(target: str) -> str:
    """Return the uri in a target such as `uri`, `<uri>` or `uri "title"`."""
    first_word, _, rest = target.partition(" ")
    uri = target  # It may have spaces.
    if rest.lstrip().startswith(('"', "'", "(")):
        uri = first_word
    return uri.removeprefix("<").removesuffix(">")


def _unescape(text: str) -> str:
    return _ESCAPED_PUNCTUATION.sub(r"\1", text).strip()
