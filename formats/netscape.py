"""The bookmark file that Netscape began and every browser and bookmark service reads and writes.

No standard describes it. https://learn.microsoft.com/previous-versions/windows/internet-explorer/
ie-developer/platform-apis/aa753582(v=vs.85) comes nearest.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from html.entities import html5
from typing import NamedTuple
from xml.sax.saxutils import escape

from formats import decode
from formats.item import (
    MARKS,
    MAX_ENTRY,
    QUERY,
    SEPARATOR,
    TOO_LARGE,
    Folders,
    Item,
    Stream,
    date,
    folder_tags,
    is_query,
    is_set,
    item,
    seconds,
    united,
)
from formats.view import View
from storage.bookmark import Bookmark, split_tags

_HEAD = b"""\
<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""
_END = b"</DL><p>\n"

# --- Writing ---


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A file without folders, which no bookmark has: its tags stand in an attribute."""
    yield _HEAD
    for bookmark in bookmarks:
        yield _entry(bookmark).encode()
    yield _END


def _entry(b: Bookmark) -> str:
    # Each on a line of its own, and upper case: many readers look for just that.
    tags = f' TAGS="{_text(",".join(b.tags))}"' if b.tags else ""
    description = f"<DD>{_text(b.description)}\n" if b.description else ""
    return (
        f'<DT><A HREF="{_address(b.uri)}" ADD_DATE="{seconds(b.created)}"'
        f' LAST_MODIFIED="{seconds(b.modified)}"{tags}>{_text(b.title)}</A>\n{description}'
    )


def _address(uri: str) -> str:
    # Where Firefox would have written `place:` it is a query, which no bookmark here is.
    return _QUERY.sub(r"\1&#58;", _text(uri))


_QUERY = re.compile(r"\A(place):", re.IGNORECASE)


def _text(value: str) -> str:
    """The value with the only four characters escaped that are so in every reader."""
    return escape(value, {'"': "&quot;"})


# --- Reading ---

_BREAKS_OFF = "the file breaks off within it"

# An entry ends where the next begins, whatever was left open in it: a <DT, or one of these at the
# beginning of a line, for elsewhere it may be part of an address or a description.
_BOUNDARY = re.compile(r"<DT(?=[\s>])|\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE)
_LONGEST_BOUNDARY = 128

_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--|[!?])")
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)" r"(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BREAKS = ("br", "p", "/p", "li", "/li", "div", "/div")
_BREAK = "\r"  # No text has one before its entities are decoded.
_OUTER = ("/dd", "/dt", "html", "/html", "head", "/head", "body", "/body", "title", "/title")
_INLINE = frozenset(
    "a abbr b big blockquote center cite code del em font i img ins kbd mark ol p pre q s samp "
    "small span strike strong sub sup tt u ul var wbr".split()
)
_META = re.compile(
    rb"<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE
)
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)

# Attributes by which a heading is known as a folder that the browser itself has.
_ROOT_MARKS = (
    "personal_toolbar_folder",
    "unfiled_bookmarks_folder",
    "mobile_bookmarks_folder",
    "bookmarks_menu",
    "places_root",
)
_READING_LIST = "com.apple.ReadingList"  # Safari's, in whatever language.


def read_file(stream: Stream) -> Iterator[Item]:
    """Each entry of the file, in order. Folders become tags, and so do marks.

    Nothing is too broken to be read: what can be no entry is left out, and what can't be told
    from it.
    """
    reader = _Reader()
    for line, segment, is_last in _segments(decode.text(stream, _declared)):
        yield from reader.read(line, segment, is_last)


def _declared(head: bytes) -> str | None:
    """The charset that a META element declares, before any entry."""
    first = _FIRST_ENTRY.search(head)
    meta = _META.search(head, 0, first.start() if first else len(head))
    return meta[1].decode("ascii", "replace") if meta else None


def _segments(pieces: Iterable[str]) -> Iterator[tuple[int, str, bool]]:
    """The number of its first line, the text from each boundary to the next, whether it's the last.

    Of a segment that is too large comes some more than MAX_ENTRY.
    """
    line, kept, rest, dropped = 1, "", "", 0
    for piece in pieces:
        searched = max(len(rest) - _LONGEST_BOUNDARY, 1)
        rest += piece
        start = 0
        for boundary in _BOUNDARY.finditer(rest, searched):
            segment = kept + rest[start : boundary.start()]
            yield line, segment, False
            line += segment.count("\n") + dropped
            kept, dropped, start = "", 0, boundary.start()
        rest = rest[start:]
        if len(rest) > MAX_ENTRY:
            body, rest = rest[:-_LONGEST_BOUNDARY], rest[-_LONGEST_BOUNDARY:]
            dropped += body.count("\n") if kept else 0
            kept = kept or body
    yield line, kept + rest, True


class _Token(NamedTuple):
    """A tag, by its name in lower case, or the text between tags, which has none.

    One `is_open` if the text ends within it.
    """

    name: str
    text: str
    at: int
    attributes: dict[str, str]
    is_open: bool = False


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while tag := _TAG.search(text, at):
        if tag.start() > at:
            yield _Token("", text[at : tag.start()], at, _NONE)
        name = tag[1].lower()
        if name in _HANDLERS or name.lstrip("/") in _INLINE:
            attributes, at, is_open = _NONE, tag.end() + 1, False
            if text[at - 1 : at] != ">":
                attributes, at, is_open = _attributes(text, tag.end())
            yield _Token(name, "", tag.start(), attributes, is_open)
        elif name in _SKIPPED:
            end = text.find(_SKIPPED[name], tag.end())
            at = end + len(_SKIPPED[name]) if end >= 0 else len(text)
        else:  # No tag at all, such as the <int> in a title that its writer did not escape.
            at = tag.end()
            yield _Token("", tag[0], tag.start(), _NONE)
    if at < len(text):
        yield _Token("", text[at:], at, _NONE)


_NONE: dict[str, str] = {}
_SKIPPED = {"!--": "-->", "!": ">", "?": ">"}


def _attributes(text: str, at: int) -> tuple[dict[str, str], int, bool]:
    """The attributes from here on by their names in lower case, where the tag ends, and whether
    the text ends within it. A quote that is not closed ends its value at the first space.
    """
    found: dict[str, str] = {}
    quote = len(text)  # Where the first one that is not closed stands.
    while part := _ATTRIBUTE.match(text, at):
        name, double, single, bare = part.groups()
        at = part.end()
        value = double or single or (bare.lstrip("\"'") if bare else "")
        if bare and bare[0] in "\"'":
            quote = min(quote, at)
        found.setdefault(name.lower(), value)
    end = _TAG_END.match(text, at)
    at = end.end() if end else at
    # If other tags follow, it is only a quote too many.
    is_cut = quote < len(text) and text.find("<", quote) < 0
    return found, at, is_cut or at == len(text) and text[-1] != ">"


def _unescaped(text: str) -> str:
    """The text with its entities decoded: numbers, and names that exist and end with a semicolon.

    So nothing becomes of `&copy=2` in an address that was not escaped.
    """
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _entity(found: re.Match[str]) -> str:
    entity = found[0]
    return unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity


def _lines(parts: Iterable[str]) -> str:
    text = "".join(parts).replace(_BREAK + "\n", "\n").replace(_BREAK, "\n")
    return _unescaped(text).strip()


def _line(parts: Iterable[str]) -> str:
    """Text that a file may break over several lines, as one."""
    text = _lines(parts)
    return " ".join(map(str.strip, text.split("\n"))) if "\n" in text else text


class _Reader:
    """Goes through the segments of a file. Within one, text goes `into` what is open."""

    def __init__(self) -> None:
        self._folders = Folders()
        self._folder_tags: tuple[str, ...] = ()  # Those of the heading whose list is to begin.
        self._begin(1, "", False)

    def _begin(self, line: int, segment: str, is_last: bool) -> None:
        self._items: list[Item] = []
        self._segment, self._start, self._counted = segment, line, 0
        self._is_last = is_last
        self._link: _Token | None = None
        self._heading: _Token | None = None
        self._title: list[str] = []
        self._description: list[str] = []
        self._into: list[str] | None = None

    def read(self, line: int, segment: str, is_last: bool) -> list[Item]:
        """The entries of the segment, which begins on this line."""
        if len(segment) > MAX_ENTRY:
            return [Item(line, {}, TOO_LARGE)]
        self._begin(line, segment, is_last)
        for token in _tokens(segment):
            if handle := _HANDLERS.get(token.name):
                handle(self, token)
        self.end()
        return self._items

    def text(self, token: _Token) -> None:
        """Text between tags."""
        if self._into is not None:
            self._into.append(token.text)

    def link(self, token: _Token) -> None:
        """<A>: an entry, unless it is part of a description."""
        if self._into is not self._description:
            self.end(token)
            self._link, self._into = token, self._title

    def end_link(self, token: _Token) -> None:
        """</A>: the end of the title."""
        if self._into is self._title:
            self._into = None

    def description(self, token: _Token) -> None:
        """<DD>: what follows describes the entry before."""
        self._into = self._description if self._link else None

    def line_break(self, token: _Token) -> None:
        """<BR> and the like; a line break in the file that follows is the same one."""
        if self._into is not None:
            self._into.append(_BREAK)

    def end_text(self, token: _Token) -> None:
        """</DD> and the like: what follows belongs to nothing."""
        self._into = None

    def heading(self, token: _Token) -> None:
        """<H3>: the name of the folder whose list follows."""
        self.end(token)
        self._heading, self._into = token, self._title

    def list(self, token: _Token) -> None:
        """<DL>: into the folder."""
        self.end(token)
        self._folders.enter(self._folder_tags)
        self._folder_tags = ()

    def end_list(self, token: _Token) -> None:
        """</DL>: out of the folder."""
        self.end(token)
        self._folders.leave()

    def rule(self, token: _Token) -> None:
        """<HR>: a separator."""
        self.end(token)
        self._items.append(Item(self._line(token), {}, SEPARATOR))

    def end(self, token: _Token | None = None) -> None:
        """The end of the entry or heading that is open."""
        if self._link:
            tags = self._folders.tags
            fields = _fields(self._link.attributes, self._title, self._description, tags)
            line = self._line(self._link)
            reason = self._left_out(self._link, token is None)
            self._items.append(Item(line, fields, reason) if reason else item(line, fields))
        elif self._heading:
            self._folder_tags = self._named()
        self._link = self._heading = self._into = None
        self._title, self._description = [], []

    def _left_out(self, link: _Token, is_end: bool) -> str:
        """Why the open entry is left out, if it is; `is_end` tells that nothing follows."""
        # Some write no </A>, but end the line.
        is_ended = "".join(self._title).endswith(("\n", _BREAK))
        is_cut = link.is_open or is_end and self._into is self._title and not is_ended
        if self._is_last and is_cut:
            return _BREAKS_OFF
        return QUERY if is_query(link.attributes.get("href")) else ""

    def _named(self) -> tuple[str, ...]:
        """The tags of the folder that the open heading names."""
        assert self._heading is not None
        attributes = self._heading.attributes
        is_root = any(attributes.get(mark, "").lower() == "true" for mark in _ROOT_MARKS)
        if is_root or self._heading.name == "h1":
            return ()
        if attributes.get("id") == _READING_LIST:
            return ("toread",)
        name, is_top = _line(self._title), self._folders.depth < 2
        # Internet Explorer's own folder; anywhere else a folder of that name is somebody's.
        if is_top and name == "Links" and "folded" in attributes:
            return ()
        return folder_tags(name, is_top)

    def _line(self, token: _Token) -> int:
        """The number of the token's line; one has to ask for those of tokens in their order."""
        self._start += self._segment.count("\n", self._counted, token.at)
        self._counted = token.at
        return self._start


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HANDLERS: Mapping[str, Callable[[_Reader, _Token], None]] = {
    "": _Reader.text,
    "a": _Reader.link,
    "/a": _Reader.end_link,
    "dd": _Reader.description,
    **dict.fromkeys(_BREAKS, _Reader.line_break),
    **dict.fromkeys(_HEADINGS, _Reader.heading),
    **dict.fromkeys((f"/{name}" for name in _HEADINGS), _Reader.end),
    "dl": _Reader.list,
    "/dl": _Reader.end_list,
    "dt": _Reader.end,
    **dict.fromkeys(_OUTER, _Reader.end_text),
    "hr": _Reader.rule,
}


# https://url.spec.whatwg.org/#concept-basic-url-parser: what becomes of blanks in an address.
_IN_BROWSERS = str.maketrans({" ": "%20", "\t": None, "\n": None, "\r": None})
# Pocket writes time_added.
_DATES = (("time_added", "created"), ("add_date", "created"), ("last_modified", "modified"))


def _fields(
    attributes: Mapping[str, str],
    title: Iterable[str],
    description: Iterable[str],
    folders: tuple[str, ...],
) -> dict[str, object]:
    """What an entry gives, by the names of a bookmark's fields."""
    fields: dict[str, object] = {
        "uri": _unescaped(attributes.get("href", "")).strip().translate(_IN_BROWSERS),
        "title": _line(title),
    }
    if text := _lines(description):
        fields["description"] = text
    if tags := united(_tags(attributes), folders):
        fields["tags"] = tags
    for name, field in _DATES:
        if moment := date(attributes.get(name)):
            fields[field] = moment
    return fields


def _tags(attributes: Mapping[str, str]) -> list[object]:
    """The entry's own tags, and its marks as tags."""
    tags = attributes.get("tags") or attributes.get("labels") or ""
    marks = tuple(mark for mark in MARKS if is_set(attributes.get(mark)))
    return united(split_tags(_unescaped(tags)), marks)
