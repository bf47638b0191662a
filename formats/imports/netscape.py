"""Read the bookmark files of browsers and bookmark services (HTML)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from html.entities import html5
from typing import NamedTuple

from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.dates import parse_date
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry, is_firefox_query
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, values_by_role
from storage.bookmark import split_tags

_CUT_OFF = "is cut off at the end of the file"

_BEGINNING = 64 * 1024  # These first characters show whether a file is a bookmark file.
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
# Pocket and Instapaper write HTML documents with a list of links.
_HTML = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
_LIST = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)

# An entry ends where the next begins, whichever elements are still open: at a <DT>, or at one of
# these tags at the beginning of a line. In the middle of a line they may be part of a text.
_BOUNDARY = re.compile(r"<DT(?=[\s>])|\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE)

_TAG = re.compile(
    r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--(?:.*?-->|.*)|[!?][^>]*+>?)", re.DOTALL
)
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)" r"(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BREAK_TAGS = ("br", "p", "/p", "li", "/li", "div", "/div")
# A <BR> in collected text. No other carriage return is left, because `decode` replaces them.
_BREAK_MARK = "\r"
# After these tags, no text belongs to an entry before the next entry begins.
_OUTER_TAGS = ("/dd", "/dt", "html", "/html", "head", "/head", "body", "/body", "title", "/title")
# Tags to drop from texts. Any other name in angle brackets is a part of the text.
_DROPPED_TAGS = frozenset(
    "a abbr b big blockquote center cite code del em font i img ins kbd mark ol p pre q s samp "
    "small span strike strong sub sup tt u ul var wbr".split()
)
_META_CHARSET = re.compile(
    rb"<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE
)
_END_OF_HEAD = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)

# Attributes of the headings of folders that browsers create themselves. They become no tags.
_ROOT_ATTRIBUTES = (
    "personal_toolbar_folder unfiled_bookmarks_folder mobile_bookmarks_folder bookmarks_menu "
    "places_root".split()
)
_SAFARI_READING_LIST = "com.apple.ReadingList"  # An id that is the same in every language.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders and marks become tags.

    No bookmark file is too damaged to be read; an entry that is cut off at the end of the file is
    skipped. Raises Malformed for other files.
    """
    text = decode(data, _find_charset)
    if not is_bookmark_file(text):
        raise Malformed("It is no bookmark file. Export the bookmarks of a browser as HTML.")
    reader = _Reader()
    for line, segment, is_last in _segments(text):
        yield from reader.read(line, segment, is_last)


def is_bookmark_file(text: str) -> bool:
    """Return whether a text begins like a bookmark file or a list of links, not like a web page."""
    beginning = text[:_BEGINNING]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    return bool((_LIST if _HTML.search(beginning) else _LINK).search(beginning))


def _find_charset(head: bytes) -> str | None:
    """Return the charset that a META element before the first entry declares."""
    end = _END_OF_HEAD.search(head)
    meta = _META_CHARSET.search(head, 0, end.start() if end else len(head))
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

    A tag that breaks the line has the text `_BREAK_MARK`. `is_cut` is true if the segment ends
    within the tag.
    """

    name: str
    text: str
    position: int
    attributes: Mapping[str, str] = {}
    is_cut: bool = False


def _tokenize(text: str) -> Iterator[_Token]:
    position = 0
    while tag := _TAG.search(text, position):
        if tag.start() > position:
            yield _Token("", text[position : tag.start()], position)
        name = tag[1].lower()
        if name in _HANDLERS or name.lstrip("/") in _DROPPED_TAGS:
            attributes, position, is_cut = _parse_attributes(text, tag.end())
            text_of_tag = _BREAK_MARK if name in _BREAK_TAGS else ""
            yield _Token(name, text_of_tag, tag.start(), attributes, is_cut)
        elif name[0] in "!?":
            position = tag.end()
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
    while match := _ATTRIBUTE.match(text, position):
        name, double, single, bare = match.groups()
        position = match.end()
        value = double or single or (bare.lstrip("\"'") if bare else "")
        attributes.setdefault(name.lower(), value)
    end = _TAG_END.match(text, position)
    position = end.end() if end else position
    return attributes, position, position == len(text) and text[-1] != ">"


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
    # A line break in the file that follows <BR> is the same one.
    text = "".join(parts).replace(_BREAK_MARK + "\n", "\n").replace(_BREAK_MARK, "\n")
    return _unescape(text).strip()


def _one_line(parts: Iterable[str]) -> str:
    """Return a text of several parts, decoded, with each line break replaced by a space."""
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
        """Handle text between tags, or <BR> and the like."""
        if self._target is not None:
            self._target.append(token.text)

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
        fields = self._fields(link.attributes)
        if self._is_last and self._is_cut_off(link, is_end):
            return ImportedEntry(line, fields, _CUT_OFF)
        return entry_with_uri(line, fields)

    def _fields(self, attributes: Mapping[str, str]) -> dict[str, object]:
        values = values_by_role((name, _unescape(v).strip()) for name, v in attributes.items())
        values["title"] = [_one_line(self._title)]
        values["description"] = list(filter(None, [_join_lines(self._description)]))
        tags = [tag for value in values.get("tags", ()) for tag in split_tags(str(value))]
        fields = fields_of_roles(values, tags, self._folders.tags)
        for name, field in (("add_date", "created"), ("last_modified", "modified")):
            if date := parse_date(attributes.get(name)):  # These numbers are always dates.
                fields[field] = date
        return fields

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
        """Return the line of a token, counted from the token of the last call, which is before."""
        self._line_number += self._segment.count("\n", self._counted, token.position)
        self._counted = token.position
        return self._line_number


_HANDLERS: Mapping[str, Callable[[_Reader, _Token], None]] = {
    "": _Reader.text,
    "a": _Reader.link,
    "/a": _Reader.end_link,
    "dd": _Reader.description,
    **dict.fromkeys(_BREAK_TAGS, _Reader.text),
    **dict.fromkeys(_HEADINGS, _Reader.heading),
    **dict.fromkeys((f"/{name}" for name in _HEADINGS), _Reader.end),
    "dl": _Reader.list,
    "/dl": _Reader.end_list,
    "dt": _Reader.end,
    **dict.fromkeys(_OUTER_TAGS, _Reader.end_text),
    "hr": _Reader.rule,
}
