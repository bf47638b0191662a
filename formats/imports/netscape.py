"""Read the bookmark files of browsers and bookmark services (HTML)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from html.entities import html5
from typing import Any, NamedTuple

from formats.imports.charset import decode
from formats.imports.dates import parse_date
from formats.imports.entry import (
    ImportedEntry,
    entry_with_uri,
    ignored_entry,
    is_firefox_query,
)
from formats.imports.folders import Folders, folder_tags, merge_tags
from formats.imports.roles import fields_of_roles, role_of
from storage.bookmark import split_tags

_CUT_OFF = "is cut off at the end of the file"

# An entry ends where the next begins, whichever elements are still open: at a <DT>, or at one of
# these tags at the beginning of a line. In the middle of a line they may be part of a text.
_BOUNDARY = re.compile(r"<DT(?=[\s>])|\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE)

_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--|[!?])")
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)" r"(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BREAK_TAGS = ("br", "p", "/p", "li", "/li", "div", "/div")
# A <BR> in collected text. No other carriage return is left, because `decode` replaces them.
_BREAK_MARK = "\r"
_OUTER = ("/dd", "/dt", "html", "/html", "head", "/head", "body", "/body", "title", "/title")
_INLINE = frozenset(
    "a abbr b big blockquote center cite code del em font i img ins kbd mark ol p pre q s samp "
    "small span strike strong sub sup tt u ul var wbr".split()
)
_META = re.compile(
    rb"<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE
)
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)

# Attributes of the headings of folders that browsers create themselves.
_ROOT_ATTRIBUTES = (
    "personal_toolbar_folder",
    "unfiled_bookmarks_folder",
    "mobile_bookmarks_folder",
    "bookmarks_menu",
    "places_root",
)
_SAFARI_READING_LIST = "com.apple.ReadingList"  # An id that is the same in every language.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders and marks become tags.

    No file is too damaged to be read; an entry that is cut off at the end of the file is skipped.
    """
    reader = _Reader()
    for line, segment, is_last in _segments(decode(data, _find_charset)):
        yield from reader.read(line, segment, is_last)


def _find_charset(head: bytes) -> str | None:
    """Return the charset that a META element before the first entry declares."""
    first = _FIRST_ENTRY.search(head)
    meta = _META.search(head, 0, first.start() if first else len(head))
    return meta[1].decode("ascii", "replace") if meta else None


def _segments(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the number of the first line, the text, and whether it is the last, of each segment.

    A segment reaches from one boundary to the next; an entry that is not closed ends with it.
    """
    line, start = 1, 0
    for boundary in _BOUNDARY.finditer(text, 1):
        segment = text[start : boundary.start()]
        yield line, segment, False
        line += segment.count("\n")
        start = boundary.start()
    yield line, text[start:], True


# --- Tokens ---


class _Token(NamedTuple):
    """A tag with its name in lower case, or a text with an empty name, at a position.

    `is_cut` is true if the segment ends within the tag.
    """

    name: str
    text: str
    position: int
    attributes: Mapping[str, str] = {}
    is_cut: bool = False


_IGNORED_ENDS = {"!--": "-->", "!": ">", "?": ">"}


def _tokenize(text: str) -> Iterator[_Token]:
    position = 0
    while tag := _TAG.search(text, position):
        if tag.start() > position:
            yield _Token("", text[position : tag.start()], position)
        name = tag[1].lower()
        if name in _HANDLERS or name.lstrip("/") in _INLINE:
            attributes, position, is_cut = _parse_attributes(text, tag.end())
            yield _Token(name, "", tag.start(), attributes, is_cut)
        elif name in _IGNORED_ENDS:
            end = text.find(_IGNORED_ENDS[name], tag.end())
            position = end + len(_IGNORED_ENDS[name]) if end >= 0 else len(text)
        else:  # Not a tag, but text that was not escaped, such as `<int>` in a title.
            position = tag.end()
            yield _Token("", tag[0], tag.start())
    if position < len(text):
        yield _Token("", text[position:], position)


def _parse_attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    """Return the attributes by lower-case name, the end of the tag, and whether the tag is cut.

    A value whose quote is never closed ends at the first space.
    """
    attributes: dict[str, str] = {}
    open_quote = len(text)
    while match := _ATTRIBUTE.match(text, position):
        name, double, single, bare = match.groups()
        position = match.end()
        if bare and bare[0] in "\"'":
            open_quote = min(open_quote, position)
        value = double or single or (bare.lstrip("\"'") if bare else "")
        attributes.setdefault(name.lower(), value)
    end = _TAG_END.match(text, position)
    position = end.end() if end else position
    # A quote that is never closed is a mere mistake if other tags follow it.
    is_cut = open_quote < len(text) and text.find("<", open_quote) < 0
    return attributes, position, is_cut or position == len(text) and text[-1] != ">"


# --- Texts ---


def _unescape(text: str) -> str:
    """Return the text with entities decoded: numbers, and known names that end with a semicolon.

    Without the semicolon `&copy=2` is part of an address that was not escaped.
    """
    return _ENTITY.sub(_unescape_entity, text) if "&" in text else text


def _unescape_entity(match: re.Match[str]) -> str:
    entity = match[0]
    return unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity


def _join_lines(parts: Iterable[str]) -> str:
    """Return a text of several parts, decoded, with its line breaks."""
    text = "".join(parts).replace(_BREAK_MARK + "\n", "\n").replace(_BREAK_MARK, "\n")
    return _unescape(text).strip()


def _one_line(parts: Iterable[str]) -> str:
    """Return the same with each line break replaced by a space."""
    return " ".join(map(str.strip, _join_lines(parts).split("\n")))


# --- Entries ---


class _Reader:
    """Collect the entries of the segments of a file.

    While an element is open, its texts go to the list `_target`. Each public method handles one
    kind of token.
    """

    def __init__(self) -> None:
        self._folders = Folders()
        self._folder_tags: tuple[str, ...] = ()  # For the list that follows a heading.

    def read(self, line: int, segment: str, is_last: bool) -> Iterator[ImportedEntry]:
        """Yield the entries in a segment that begins in this line."""
        self._entries: list[ImportedEntry] = []
        self._segment, self._line_number, self._counted = segment, line, 0
        self._is_last = is_last
        self._link: _Token | None = None
        self._heading: _Token | None = None
        self._title: list[str] = []
        self._description: list[str] = []
        self._target: list[str] | None = None
        for token in _tokenize(segment):
            if handle := _HANDLERS.get(token.name):
                handle(self, token)
            yield from self._entries
            self._entries.clear()
        self.end()
        yield from self._entries

    def text(self, token: _Token) -> None:
        """Handle text between tags."""
        if self._target is not None:
            self._target.append(token.text)

    def line_break(self, token: _Token) -> None:
        """Handle <BR> and the like. A line break that follows in the file is the same one."""
        if self._target is not None:
            self._target.append(_BREAK_MARK)

    def link(self, token: _Token) -> None:
        """Handle <A>: begin an entry, unless the link is part of a description."""
        if self._target is not self._description:
            self.end(token)
            self._link, self._target = token, self._title

    def end_link(self, token: _Token) -> None:
        """Handle </A>: end the title."""
        if self._target is self._title:
            self._target = None

    def description(self, token: _Token) -> None:
        """Handle <DD>: begin the description of the entry."""
        self._target = self._description if self._link else None

    def end_text(self, token: _Token) -> None:
        """Handle </DD> and the like: the texts that follow belong to no entry."""
        self._target = None

    def heading(self, token: _Token) -> None:
        """Handle <H3>: begin the name of the folder whose list follows."""
        self.end(token)
        self._heading, self._target = token, self._title

    def list(self, token: _Token) -> None:
        """Handle <DL>: open the folder."""
        self.end(token)
        self._folders.open(self._folder_tags)
        self._folder_tags = ()

    def end_list(self, token: _Token) -> None:
        """Handle </DL>: close the folder."""
        self.end(token)
        self._folders.close()

    def rule(self, token: _Token) -> None:
        """Handle <HR>: a separator."""
        self.end(token)
        self._entries.append(ignored_entry(self._line_of(token)))

    def end(self, token: _Token | None = None) -> None:
        """End the open entry or heading before the element of `token`, or at the segment's end."""
        if self._link:
            self._entries.append(self._entry(self._link, token is None))
        elif self._heading:
            self._folder_tags = self._tags_of_heading(self._heading)
        self._link = self._heading = self._target = None
        self._title, self._description = [], []

    def _entry(self, link: _Token, is_end: bool) -> ImportedEntry:
        line = self._line_of(link)
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(line)
        fields = _fields(link.attributes, self._title, self._description)
        if tags := merge_tags(fields.pop("tags", ()), self._folders.tags):
            fields["tags"] = tags
        if self._is_last and self._is_cut_off(link, is_end):
            return ImportedEntry(line, fields, _CUT_OFF)
        return entry_with_uri(line, fields)

    def _is_cut_off(self, link: _Token, is_end: bool) -> bool:
        # Some programs end the line without </A>, so the title is complete there.
        has_title = "".join(self._title).endswith(("\n", _BREAK_MARK))
        return link.is_cut or is_end and self._target is self._title and not has_title

    def _tags_of_heading(self, heading: _Token) -> tuple[str, ...]:
        attributes = heading.attributes
        is_root = any(attributes.get(name, "").lower() == "true" for name in _ROOT_ATTRIBUTES)
        if is_root or heading.name == "h1":
            return ()
        if attributes.get("id") == _SAFARI_READING_LIST:
            return ("toread",)
        name, is_top = _one_line(self._title), self._folders.depth < 2
        # Internet Explorer creates the top folder Links; users create others of that name.
        if is_top and name == "Links" and "folded" in attributes:
            return ()
        return folder_tags(name, is_top)

    def _line_of(self, token: _Token) -> int:
        """Return the line of a token that is not before the token of the last call."""
        self._line_number += self._segment.count("\n", self._counted, token.position)
        self._counted = token.position
        return self._line_number


_HANDLERS: Mapping[str, Callable[[_Reader, _Token], None]] = {
    "": _Reader.text,
    "a": _Reader.link,
    "/a": _Reader.end_link,
    "dd": _Reader.description,
    **dict.fromkeys(_BREAK_TAGS, _Reader.line_break),
    **dict.fromkeys(_HEADINGS, _Reader.heading),
    **dict.fromkeys((f"/{name}" for name in _HEADINGS), _Reader.end),
    "dl": _Reader.list,
    "/dl": _Reader.end_list,
    "dt": _Reader.end,
    **dict.fromkeys(_OUTER, _Reader.end_text),
    "hr": _Reader.rule,
}


def _fields(
    attributes: Mapping[str, str], title: Iterable[str], description: Iterable[str]
) -> dict[str, Any]:
    values: dict[str, list[object]] = {}
    for name, value in attributes.items():
        if value and (role := role_of(name)):
            values.setdefault(role, []).append(_unescape(value).strip())
    values["title"] = [_one_line(title)]
    values["description"] = [text] if (text := _join_lines(description)) else []
    tags = [tag for value in values.get("tags", ()) for tag in split_tags(str(value))]
    fields = fields_of_roles(values, tags)
    for name, field in (("add_date", "created"), ("last_modified", "modified")):
        if date := parse_date(attributes.get(name)):  # These numbers are always dates.
            fields[field] = date
    return fields
