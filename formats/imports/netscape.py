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
from formats.imports.roles import fields_of_roles, group_by_role
from storage.bookmark import split_tags

_CUT_OFF = "is cut off at the end of the file"
_BEGINNING = 64 * 1024  # These first characters show whether a file is a bookmark file.
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
# No bookmark file has these elements, and almost every web page has one of them.
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
# Pocket and Instapaper write whole HTML documents. Web pages have links too, so such a document is
# a bookmark file only if it has a list whose first item is a link, a heading, <DT> or <P>.
_HTML = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
_LIST = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
# A file without an HTML element needs only a definition list or a link.
_LIST_OR_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)

# An entry ends at a <DT>, or at a line that begins with one of the other tags, even if elements are
# still open. In the middle of a line, the other tags may be part of a text.
# In these patterns, possessive quantifiers (`*+`) and limits keep the search time linear.
_BOUNDARY = re.compile(r"<DT(?=[\s>])|\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE)

# The names of tokens that are no tags. No tag has such a name.
_TEXT, _SEGMENT_END = "", "end of segment"
# The beginning of a tag up to its name, or a whole comment, declaration or instruction.
_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--(?:.*?-->|.*)|[!?][^>]*+>?)", re.DOTALL)
# Stray quotes, slashes and equals signs before a name are skipped, as browsers do.
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")
# Without the semicolon `&copy=2` is part of an address that was not escaped.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINE_BREAK_TAGS = ("br", "p", "/p", "li", "/li", "div", "/div")
# A <BR> in collected text. No other carriage return is left, because `decode` replaces them.
_BREAK_MARK = "\r"
# The text after these tags belongs to no entry, until the next entry begins.
_OUTER_TAGS = ("/dd", "/dt", "html", "/html", "head", "/head", "body", "/body", "title", "/title")
# Tags to drop from texts. Any other name in angle brackets is a part of the text.
_DROPPED_TAGS = frozenset(
    "a abbr b big blockquote center cite code del em font i img ins kbd mark ol p pre q s samp "
    "small span strike strong sub sup tt u ul var wbr".split()
)
_META_CHARSET = re.compile(rb"(?i)<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})")
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)  # It ends the head of the file.

# Browsers set these attributes on headings of the folders that they create themselves. Such folders
# become no tags; their names differ by language, so the names do not show them.
_ROOT_ATTRIBUTES = (
    "personal_toolbar_folder unfiled_bookmarks_folder mobile_bookmarks_folder bookmarks_menu "
    "places_root".split()
)
_SAFARI_READING_LIST = "com.apple.ReadingList"  # An id that is the same in every language.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders and attributes such as PRIVATE become tags.

    No bookmark file is too damaged to be read; an entry that is cut off at the end of the file is
    skipped. Raises Malformed for other files.
    """
    text = decode(data, _find_charset)
    if not is_bookmark_file(text):
        raise Malformed("It is no bookmark file. Export the bookmarks of a browser as HTML.")
    reader = _Reader()
    for first_line, segment, is_last in _segments(text):
        yield from reader.read(first_line, segment, is_last)


def is_bookmark_file(text: str) -> bool:
    """Return whether a text begins like a bookmark file or a list of links, not like a web page."""
    beginning = text[:_BEGINNING]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    return bool((_LIST if _HTML.search(beginning) else _LIST_OR_LINK).search(beginning))


def _find_charset(head: bytes) -> str | None:
    """Return the charset that a META element before the first entry declares."""
    entry = _FIRST_ENTRY.search(head)
    meta = _META_CHARSET.search(head, 0, entry.start() if entry else len(head))
    return meta[1].decode("ascii", "replace") if meta else None


def _segments(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield for each segment the number of its first line, its text, and whether it is the last.

    A segment reaches from one boundary to the next; an entry that is not closed ends with it.
    """
    first_line, start = 1, 0
    for boundary in _BOUNDARY.finditer(text, 1):
        segment = text[start : boundary.start()]
        yield first_line, segment, False
        first_line += segment.count("\n")
        start = boundary.start()
    yield first_line, text[start:], True


class _Token(NamedTuple):
    """A tag with its name in lower case, a text, or the end of a segment.

    A tag that breaks the line has the text `_BREAK_MARK`. `line` is the number of a tag's line, and
    `is_cut` is true if the segment ends within the tag.
    """

    name: str
    text: str = ""
    line: int = 0
    attributes: Mapping[str, str] = {}
    is_cut: bool = False


def _tokenize(segment: str, line: int) -> Iterator[_Token]:
    """Yield the tokens of a segment that begins in this line."""
    position = 0
    while tag := _TAG.search(segment, position):
        yield _Token(_TEXT, segment[position : tag.start()])
        line += segment.count("\n", position, tag.start())
        position = tag.end()
        name = tag[1].lower()
        if name in _HANDLERS or name.lstrip("/") in _DROPPED_TAGS:
            attributes, position, is_cut = _parse_attributes(segment, position)
            text_of_tag = _BREAK_MARK if name in _LINE_BREAK_TAGS else ""
            yield _Token(name, text_of_tag, line, attributes, is_cut)
        elif name[0] not in "!?":  # Drop comments and declarations; keep text such as `<int>`.
            yield _Token(_TEXT, tag[0])
        line += segment.count("\n", tag.start(), position)
    yield _Token(_TEXT, segment[position:])
    yield _Token(_SEGMENT_END)


def _parse_attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    """Return the attributes by lower-case name, the end of the tag, and whether the tag is cut."""
    attributes: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(text, position):
        name, double_quoted, single_quoted, unquoted = attribute.groups()
        position = attribute.end()
        # A value whose quote is never closed is unquoted, and ends at the first space.
        value = double_quoted or single_quoted or (unquoted or "").lstrip("\"'")
        attributes.setdefault(name.lower(), value)
    end = _TAG_END.match(text, position)
    position = end.end() if end else position
    is_cut = position == len(text) and text[-1] != ">"
    return attributes, position, is_cut


def _unescape(text: str) -> str:
    """Return the text with entities decoded: numbers, and known names that end with a semicolon."""
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(match: re.Match[str]) -> str:
    entity = match[0]
    is_known = entity.startswith("&#") or entity.removeprefix("&") in html5
    return unescape(entity) if is_known else entity


def _join_lines(parts: Iterable[str]) -> str:
    """Return a text of several parts, decoded, with its line breaks."""
    # Programs write <BR> at the end of a line of the file; both together are one line break.
    text = "".join(parts).replace(_BREAK_MARK + "\n", "\n").replace(_BREAK_MARK, "\n")
    return _unescape(text).strip()


def _one_line(parts: Iterable[str]) -> str:
    """Return a text of several parts, decoded, with each line break replaced by a space."""
    return " ".join(map(str.strip, _join_lines(parts).split("\n")))


class _Reader:
    """Collect the entries of the segments of a file. Each public method handles one kind of token.

    `_link` or `_heading` is the tag that began the current entry or folder. `_open_text` is the
    list that collects text, `_title` or `_description`; it is None if text belongs to neither.
    """

    def __init__(self) -> None:
        self._entries: list[ImportedEntry] = []
        self._folders = Folders()
        self._tags_of_next_list: tuple[str, ...] = ()  # A heading names the list that follows it.
        self._link: _Token | None = None
        self._heading: _Token | None = None
        self._title: list[str] = []
        self._description: list[str] = []
        self._open_text: list[str] | None = None

    def read(self, first_line: int, segment: str, is_last: bool) -> Iterator[ImportedEntry]:
        """Yield the entries in a segment; the last one reaches to the end of the file."""
        self._is_last_segment = is_last
        for token in _tokenize(segment, first_line):
            if handle := _HANDLERS.get(token.name):  # Dropped tags have no handler.
                handle(self, token)
            yield from self._entries
            self._entries.clear()

    def add_text(self, token: _Token) -> None:
        """Handle text between tags, or <BR> and the like."""
        if self._open_text is not None:
            self._open_text.append(token.text)

    def begin_link(self, token: _Token) -> None:
        """Handle <A>: begin an entry, unless the link is part of a description."""
        if self._open_text is not self._description:
            self.end_entry(token)
            self._link, self._open_text = token, self._title

    def end_link(self, token: _Token) -> None:
        """Handle </A>: end the title."""
        if self._open_text is self._title:
            self._open_text = None

    def begin_description(self, token: _Token) -> None:
        """Handle <DD>: begin the description of the entry."""
        self._open_text = self._description if self._link else None

    def end_text(self, token: _Token) -> None:
        """Handle </DD> and the like: the texts that follow belong to no entry."""
        self._open_text = None

    def begin_heading(self, token: _Token) -> None:
        """Handle <H3>: begin the name of the folder whose list follows."""
        self.end_entry(token)
        self._heading, self._open_text = token, self._title

    def begin_list(self, token: _Token) -> None:
        """Handle <DL>: open the folder."""
        self.end_entry(token)
        self._folders.open(self._tags_of_next_list)
        self._tags_of_next_list = ()

    def end_list(self, token: _Token) -> None:
        """Handle </DL>: close the folder."""
        self.end_entry(token)
        self._folders.close()

    def add_separator(self, token: _Token) -> None:
        """Handle <HR>: a separator."""
        self.end_entry(token)
        self._entries.append(ignored_entry(token.line))

    def end_entry(self, token: _Token) -> None:
        """End the open entry or heading, because `token` begins another or ends the segment."""
        if self._link:
            is_end_of_file = self._is_last_segment and token.name == _SEGMENT_END
            self._entries.append(self._entry(self._link, is_end_of_file))
        elif self._heading:
            self._tags_of_next_list = self._tags_of_heading(self._heading)
        self._link = self._heading = self._open_text = None
        self._title, self._description = [], []

    def _entry(self, link: _Token, is_end_of_file: bool) -> ImportedEntry:
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)
        fields = self._fields(link.attributes)
        # Some programs end the line without </A>, so the title is complete there.
        is_line_ended = "".join(self._title).endswith(("\n", _BREAK_MARK))
        is_title_cut = self._open_text is self._title and not is_line_ended
        if is_end_of_file and (link.is_cut or is_title_cut):
            return ImportedEntry(link.line, fields, _CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _fields(self, attributes: Mapping[str, str]) -> dict[str, object]:
        values_by_role = group_by_role((n, _unescape(v).strip()) for n, v in attributes.items())
        values_by_role["title"] = [_one_line(self._title)]
        values_by_role["description"] = [_join_lines(self._description)]
        tags = [tag for text in values_by_role.get("tags", ()) for tag in split_tags(str(text))]
        fields = fields_of_roles(values_by_role, tags, tags_of_folders=self._folders.tags)
        # Unlike other numbers, these are always dates, so even dates before 1990 are accepted.
        for attribute, field in (("add_date", "created"), ("last_modified", "modified")):
            if date := parse_date(attributes.get(attribute)):
                fields[field] = date
        return fields

    def _tags_of_heading(self, heading: _Token) -> tuple[str, ...]:
        attributes = heading.attributes
        is_root = any(attributes.get(name, "").lower() == "true" for name in _ROOT_ATTRIBUTES)
        name = _one_line(self._title)
        is_top = self._folders.depth < 2  # Most programs write one list around all folders.
        # Internet Explorer creates the top folder Links; users create others of that name.
        is_from_explorer = is_top and name == "Links" and "folded" in attributes
        if is_root or is_from_explorer or heading.name == "h1":  # <H1> is the title of the file.
            return ()
        if attributes.get("id") == _SAFARI_READING_LIST:
            return ("toread",)
        return folder_tags(name, may_be_built_in=is_top)


_HANDLERS: Mapping[str, Callable[[_Reader, _Token], None]] = {
    _TEXT: _Reader.add_text,
    "a": _Reader.begin_link,
    "/a": _Reader.end_link,
    "dd": _Reader.begin_description,
    **dict.fromkeys(_LINE_BREAK_TAGS, _Reader.add_text),
    **dict.fromkeys(_HEADINGS, _Reader.begin_heading),
    **dict.fromkeys((f"/{name}" for name in _HEADINGS), _Reader.end_entry),
    "dl": _Reader.begin_list,
    "/dl": _Reader.end_list,
    "dt": _Reader.end_entry,
    **dict.fromkeys(_OUTER_TAGS, _Reader.end_text),
    "hr": _Reader.add_separator,
    _SEGMENT_END: _Reader.end_entry,
}
