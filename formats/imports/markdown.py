"""Find the links and headings in a line of Markdown."""

import re
from collections.abc import Iterator

from formats.imports.entry import SCHEME_PATTERN, URI
from formats.imports.folders import Heading, folder_tags
from storage.bookmark import Fields, split_tags

# In these patterns, `++` never backtracks, so the search time is linear.


def _text_pattern(levels: int) -> str:
    """Return a pattern of a text with nested parentheses: `a(b())` has two levels."""
    characters = r"[^()\\]++ | \\."
    pattern = characters
    for _ in range(levels):
        pattern = rf"{characters} | \( (?: {pattern} )* \)"
    return rf"(?: {pattern} )*"


# Such as `javascript:a(b(c()))`.
_TARGET = _text_pattern(levels=3)
# Such as `a [b]`.
_TITLE = r"(?: [^\[\]\\]++ | \\. | \[ [^\[\]]*+ \] )*"
_LINK = re.compile(
    rf"""
    (?<! [!\\] )                                              # Neither `![` nor `\[`.
    \[ (?P<title> {_TITLE} ) \] \( (?P<target> {_TARGET} ) \)  # `[title](target)`
    | (?: ^ | (?<=\s) ) < (?P<uri> {URI.pattern} ) >          # `<uri>`
    """,
    re.VERBOSE,
)
# `![text](target)`
_PICTURE = re.compile(rf"! \[ (?P<text> [^\[\]]* ) \] \( {_TARGET} \)", re.VERBOSE)
# Code, which may look like a link.
_CODE = re.compile(r"`[^`]*`")
# `<img src="a.png">`
_HTML_PICTURE = re.compile(r"<img\s[^<>]*>", re.IGNORECASE)
_BARE_ADDRESS = re.compile(
    rf"""
    {SCHEME_PATTERN} //
    (?: [^\s<>"”`|\[\]()]
      | \( [^\s()]* \)          # Such as `(c)` in `a://b_(c)`.
    )+
    (?<! [.,:;!?*_~'] )         # Without punctuation at the end.
    """,
    re.VERBOSE,
)
_ESCAPED_PUNCTUATION = re.compile(r"\\([!-/:-@\[-`{-~])")  # ASCII, such as `\_`.
# `## Travel`
_HEADING = re.compile(r"(#{1,6})\s+(.*)")


def has_link(line: str) -> bool:
    return _LINK.search(line) is not None


def read_heading(line: str) -> Heading | None:
    """Return the heading in a line such as `## Travel`."""
    match = _HEADING.fullmatch(line)
    if not match:
        return None
    depth = len(match[1]) - 1
    name = match[2].rstrip("# ")
    text = _LINK.sub(r"\g<title>", _PICTURE.sub("", name))
    return Heading(depth, name, folder_tags(text, is_top_level=depth == 0))


def find_links(line: str) -> Iterator[Fields]:
    # buku writes `[title](uri) <!-- TAGS: a,b -->`.
    text, _, tags = line.partition(" <!-- TAGS: ")
    first = _LINK.search(text)
    if not first:
        return
    fields = _link_fields(first)
    fields["tags"] = split_tags(tags.removesuffix("-->"))
    second = _LINK.search(text, first.end())
    description = _description_of_first(text, first, second)
    if description:
        fields["description"] = description
    yield fields
    if second:
        yield from map(_link_fields, _LINK.finditer(text, second.start()))
        yield from _find_bare_addresses(text)
    else:
        # The text after a single link is the description: addresses in it are not bookmarks.
        yield from _find_bare_addresses(text[: first.start()])


def _description_of_first(text: str, first: re.Match[str], second: re.Match[str] | None) -> str:
    if not second:
        return _without_marks(text[first.end() :])
    description = _without_marks(text[first.end() : second.start()])
    if " " in description:  # More than a word such as "and".
        return description
    return ""


def _find_bare_addresses(text: str) -> Iterator[Fields]:
    for pattern in (_LINK, _PICTURE, _CODE, _HTML_PICTURE):
        text = pattern.sub("", text)
    for address in _BARE_ADDRESS.finditer(text):
        yield {"uri": address[0]}


def _without_marks(text: str) -> str:
    """Strip marks: `** - A book (` becomes `A book`."""
    return text.strip(" *_-–—:|,").rstrip(" ([")


def _link_fields(link: re.Match[str]) -> Fields:
    if link["uri"]:
        return {"uri": link["uri"], "title": ""}
    uri = _uri_of_target(link["target"].strip())
    title = _PICTURE.sub(r"\g<text>", link["title"])
    return {"uri": _unescape(uri), "title": _unescape(title)}


def _uri_of_target(target: str) -> str:
    """Return the uri in a target such as `uri`, `<uri>` or `uri "title"`."""
    before, _, after = target.partition(" ")
    has_title = after.lstrip().startswith(('"', "'", "("))
    if has_title:
        target = before
    return target.removeprefix("<").removesuffix(">")


def _unescape(text: str) -> str:
    return _ESCAPED_PUNCTUATION.sub(r"\1", text).strip()
