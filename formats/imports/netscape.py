"""Read the bookmark files of browsers and bookmark services (HTML)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from html.entities import html5
from typing import NamedTuple

from formats.imports.dates import parse_date_or_keep
from formats.imports.entry import CUT_OFF, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags, list_tags
from formats.imports.roles import fields_of_roles, group_by_role
from formats.netscape import is_firefox_query
from formats.text import decode
from storage.bookmark import split_tags
from storage.errors import Malformed

_BEGINNING = 64 * 1024  # These first characters show whether a file is a bookmark file.
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
# Hardly any bookmark file has these elements, and almost every web page has one of them.
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
# Pocket and Instapaper write whole HTML documents. Web pages are HTML documents, too: one without
# the DOCTYPE must have a list or item such as `<DL><DT>`, `<DL><p>`, `<DT><H3>` or `<LI><A>`.
_HTML_DOCUMENT = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
_LIST_WITH_ITEM = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
# A file without the element <HTML> is a bookmark file if it has a definition list or a link.
_LIST_OR_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)

# A file is split into parts, mostly of one entry each. A part begins at a <DT>, or at a line that
# begins with one of the other tags. In the middle of a line, the other tags may be part of a text.
# A link on the first line of a description, such as Shaarli's picture, begins no part.
# In these patterns, possessive quantifiers (`*+`) and limits keep the search time linear.
_PART = re.compile(
    r"<DT(?=[\s>])|(?<!<DD>)\n[ \t]{0,99}+</?(?:DL|HR|H[1-6]|A)(?=[\s>])", re.IGNORECASE
)

# In place of a tag's name, such as `dt`, a token that is no tag has one of these names.
_TEXT, _PART_END, _FILE_END = "", "end of part", "end of file"
# The beginning of a tag up to its name, or a whole comment, declaration or instruction.
_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*+|!--(?:.*?-->|.*)|[!?][^>]*+>?)", re.DOTALL)
# Stray quotes, slashes and equals signs before a name are skipped. `*+` keeps the time linear.
_ATTRIBUTE = re.compile(
    r"[\s/\"'=]*+([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?"
)
_TAG_END = re.compile(r"[\s/\"'=]*+>?")  # The `>` may be missing, before another tag or at the end.
# Only with a semicolon: in `?a=1&copy=2`, a program did not escape the `&` of an address.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")  # Names of folders.
_LISTS = ("dl", "ul", "ol")
_LINE_BREAK_TAGS = ("br", "p", "/p", "li", "/li", "div", "/div")
_BREAK_MARK = "\r"  # Stands for a tag of `_LINE_BREAK_TAGS`; `decode` leaves no other "\r".
# The open title or description also ends at these tags, which have no other effect.
_TAGS_THAT_END_TEXT = "/dd /dt html /html head /head body /body title /title".split()
# Tags to drop from texts. An unknown name in angle brackets is a part of the text: `list<int>`.
_MARKUP_TAGS = frozenset(
    "abbr b big blockquote center cite code del em font i img ins kbd mark pre q s samp small span "
    "strike strong sub sup tt u var wbr".split()
)
_META_CHARSET = re.compile(rb"(?i)<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})")
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)  # It ends the head of the file.

# Browsers set these attributes on headings of the folders that they create themselves. Such folders
# become no tags. Their names are in the user's language.
_ROOT_ATTRIBUTES = frozenset(
    "personal_toolbar_folder unfiled_bookmarks_folder mobile_bookmarks_folder bookmarks_menu "
    "places_root".split()
)


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders and attributes such as PRIVATE become tags.

    No bookmark file is too damaged to be read; an entry that is cut off at the end of the file is
    skipped. Raises Malformed for other files.
    """
    text = decode(data, _find_charset)
    if not is_bookmark_file(text):
        raise Malformed("It is no bookmark file. Export the bookmarks of a browser as HTML.")
    yield from _Reader().read(text)


def is_bookmark_file(text: str) -> bool:
    """Return whether a text begins like a bookmark file or a list of links, not like a web page."""
    beginning = text[:_BEGINNING]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    # Any other HTML document may still be a web page with links, so only a list counts.
    sign_of_bookmarks = _LIST_WITH_ITEM if _HTML_DOCUMENT.search(beginning) else _LIST_OR_LINK
    return bool(sign_of_bookmarks.search(beginning))


def _find_charset(head: bytes) -> str | None:
    """Return the charset that a META element before the first entry declares."""
    entry = _FIRST_ENTRY.search(head)
    meta = _META_CHARSET.search(head, 0, entry.start() if entry else len(head))
    return meta[1].decode("ascii", "replace") if meta else None


# linkding writes exactly these attributes, in this order.
_LINKDING_ATTRIBUTES = ("href", "add_date", "last_modified", "private", "toread", "tags")
_LINKDING_ARCHIVED = "linkding:bookmarks.archived"  # The tag of archived bookmarks.


class _Token(NamedTuple):
    """A tag, a text, or the end of a part or of the file, which `name` distinguishes."""

    name: str  # A tag's in lower case, such as `/dt`, or `_TEXT`, `_PART_END` or `_FILE_END`.
    text: str = ""  # Empty for a tag.
    line: int = 0  # The number of a tag's line; 0 for other tokens.
    attributes: Mapping[str, str] = {}
    is_unclosed: bool = False  # Whether the part of the file ends before the `>` of the tag.


def _tokenize(text: str) -> Iterator[_Token]:
    """Yield the tokens of a file, which is read in parts.

    A quotation mark or comment that is never closed ends with its part and hides no later entry.
    """
    first_line, start = 1, 0
    for next_part in _PART.finditer(text):
        part = text[start : next_part.start()]
        yield from _tokenize_part(part, first_line)
        yield _Token(_PART_END)
        first_line += part.count("\n")
        start = next_part.start()
    yield from _tokenize_part(text[start:], first_line)
    yield _Token(_FILE_END)


def _tokenize_part(part: str, line: int) -> Iterator[_Token]:
    """Yield the tags and texts of a part of the file, often one entry, that begins in this line."""
    position = 0
    while tag := _TAG.search(part, position):
        yield _Token(_TEXT, part[position : tag.start()])
        line += part.count("\n", position, tag.start())
        position = tag.end()
        name = tag[1].lower()
        if name in _HANDLERS:
            attributes, position, is_unclosed = _parse_attributes(part, position)
            yield _Token(name, "", line, attributes, is_unclosed)
        elif name in _LINE_BREAK_TAGS or name.lstrip("/") in _MARKUP_TAGS:
            _, position, _ = _parse_attributes(part, position)  # To drop the whole tag.
            yield _Token(_TEXT, _BREAK_MARK if name in _LINE_BREAK_TAGS else "")
        elif name[0] not in "!?":  # Keep `list<int>` as text, but drop comments and declarations.
            yield _Token(_TEXT, tag[0])
        line += part.count("\n", tag.start(), position)
    yield _Token(_TEXT, part[position:])


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


def _unescape(text: str) -> str:
    """Return the text with its entities decoded: numbers, and names that HTML knows."""
    return _ENTITY.sub(_unescape_entity, text)


def _unescape_entity(match: re.Match[str]) -> str:
    entity = match[0]
    # `unescape` would also replace a known beginning of an unknown name, such as `&notit;`.
    is_known = entity.startswith("&#") or entity.removeprefix("&") in html5
    return unescape(entity) if is_known else entity


def _join_lines(texts: Iterable[str]) -> str:
    """Return the texts between tags as one text, decoded, with its line breaks."""
    # Programs write <BR> at the end of a line of the file; both together are one line break.
    text = "".join(texts).replace(_BREAK_MARK + "\n", "\n").replace(_BREAK_MARK, "\n")
    return _unescape(text).strip()


def _one_line(texts: Iterable[str]) -> str:
    """Return the texts between tags as one text, decoded, with a space for each line break."""
    return " ".join(map(str.strip, _join_lines(texts).split("\n")))


class _Reader:
    """Read a bookmark file. Each public method but `read` handles one kind of token.

    At most one link (<A>) or heading (<H1> to <H6>) is open at a time and gets the next texts.
    """

    def __init__(self) -> None:
        self._entries: list[ImportedEntry] = []
        self._folders = Folders()
        self._next_heading: tuple[_Token, str] | None = None  # It names the list that follows it.
        self._link: _Token | None = None
        self._heading: _Token | None = None
        # Texts of the open link or heading: both have a "title", a link also has a "description".
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._text_being_read = ""  # The name of the text that is being read; empty if none is.

    def read(self, text: str) -> Iterator[ImportedEntry]:
        """Yield the entries of a file."""
        for token in _tokenize(text):
            _HANDLERS[token.name](self, token)  # This may append to `_entries`.
            yield from self._entries
            self._entries.clear()

    def add_text(self, token: _Token) -> None:
        """Handle text between tags, or `_BREAK_MARK`, which stands for a tag such as <BR>."""
        if self._text_being_read and token.text:
            self._texts[self._text_being_read].append(token.text)

    def begin_link(self, token: _Token) -> None:
        """Handle <A>: begin an entry, unless the link is in the description that is open now."""
        if self._text_being_read != "description":
            self.end_entry_or_heading(token)
            self._link, self._text_being_read = token, "title"

    def end_link(self, token: _Token) -> None:
        """Handle </A>: end the title."""
        if self._text_being_read == "title":
            self._text_being_read = ""

    def begin_description(self, token: _Token) -> None:
        """Handle <DD>: begin the description of the entry."""
        self._text_being_read = "description" if self._link else ""

    def end_text(self, token: _Token) -> None:
        """Handle </DD> and the like: the texts that follow belong to no entry."""
        self._text_being_read = ""

    def begin_heading(self, token: _Token) -> None:
        """Handle <H3>: begin the name of the folder whose list follows."""
        self.end_entry_or_heading(token)
        self._heading, self._text_being_read = token, "title"

    def begin_list(self, token: _Token) -> None:
        """Handle <DL>, <UL> and <OL>: open the folder. Drop a list in a description."""
        if token.name != "dl" and self._text_being_read == "description":
            return self.add_text(_Token(_TEXT, _BREAK_MARK))
        self.end_entry_or_heading(token)
        heading, self._next_heading = self._next_heading, None
        self._folders.open(self._folder_tags(*heading, token.name) if heading else ())

    def end_list(self, token: _Token) -> None:
        """Handle </DL>, </UL> and </OL>: close the folder."""
        if token.name != "/dl" and self._text_being_read == "description":
            return
        self.end_entry_or_heading(token)
        self._folders.close()

    def add_separator(self, token: _Token) -> None:
        """Handle <HR>: a separator."""
        self.end_entry_or_heading(token)
        self._entries.append(ignored_entry(token.line))

    def end_entry_or_heading(self, token: _Token) -> None:
        """End the open entry or heading, if there is one, at `token`."""
        if self._link:
            self._entries.append(self._entry(self._link, may_be_cut_off=token.name == _FILE_END))
        elif self._heading:
            self._next_heading = (self._heading, _one_line(self._texts["title"]))
        self._link = self._heading = None
        self._text_being_read = ""
        self._texts.clear()

    def _entry(self, link: _Token, may_be_cut_off: bool) -> ImportedEntry:
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)  # Firefox stores searches like links.
        fields = self._fields(link.attributes)
        # Some programs end the line without </A>, so the title is complete there.
        is_line_ended = "".join(self._texts["title"]).endswith(("\n", _BREAK_MARK))
        is_title_cut_off = self._text_being_read == "title" and not is_line_ended
        if may_be_cut_off and (link.is_unclosed or is_title_cut_off):
            return ImportedEntry(link.line, fields, CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _fields(self, attributes: Mapping[str, str]) -> dict[str, object]:
        unescaped = {name: _unescape(value).strip() for name, value in attributes.items()}
        description = _join_lines(self._texts["description"])
        if tuple(attributes) == _LINKDING_ATTRIBUTES:
            unescaped, description = _from_linkding(unescaped, description)
        values_by_role = group_by_role(unescaped.items())  # The role of HREF is `uri`.
        values_by_role["title"] = [_one_line(self._texts["title"])]
        values_by_role["description"] = [description]
        tags = [tag for text in values_by_role.get("tags", ()) for tag in split_tags(str(text))]
        fields = fields_of_roles(values_by_role, tags, tags_of_folders=self._folders.tags)
        # All numbers in these attributes are dates, but `fields_of_roles` drops unlikely ones.
        for attribute, field in (("add_date", "created"), ("last_modified", "modified")):
            if date := parse_date_or_keep(attributes.get(attribute)):
                fields[field] = date
        return fields

    def _folder_tags(self, heading: _Token, name: str, list: str) -> tuple[str, ...]:
        """Return the tags for a list of this kind, <DL> or other, below a heading of this name."""
        attributes = heading.attributes
        is_root = any(attributes.get(name, "").lower() == "true" for name in _ROOT_ATTRIBUTES)
        # Most programs write all folders inside one outer <DL>, which counts as a folder here.
        is_top = self._folders.depth < 2
        # Internet Explorer writes FOLDED and creates Links at the top; users create other Links.
        is_from_explorer = is_top and name == "Links" and "folded" in attributes
        is_title_of_file = heading.name == "h1" and list == "dl"
        if is_root or is_from_explorer or is_title_of_file:
            return ()
        if attributes.get("id") == "com.apple.ReadingList":  # Safari's pages to read later.
            return ("unread",)
        return folder_tags(name, may_be_built_in=is_top) if list == "dl" else list_tags(name)


def _from_linkding(
    attributes: dict[str, str], description: str
) -> tuple[dict[str, str], str]:
    """Return what linkding exports with the meaning that its API has here."""
    tags = attributes["tags"].split(",")
    is_archived = _LINKDING_ARCHIVED in tags
    attributes = attributes | {
        "tags": ",".join(tag for tag in tags if tag != _LINKDING_ARCHIVED),
        "archived": "yes" if is_archived else "",
        "shared": "true" if attributes["private"] == "0" else "",
        "private": "",  # It is 1 for all bookmarks that are not shared.
    }
    description, _, notes = description.partition("[linkding-notes]")
    return attributes, f"{description}\n\n{notes.removesuffix('[/linkding-notes]')}".strip()


_HANDLERS: Mapping[str, Callable[[_Reader, _Token], None]] = {
    _TEXT: _Reader.add_text,
    "a": _Reader.begin_link,
    "/a": _Reader.end_link,
    "dd": _Reader.begin_description,
    **dict.fromkeys(_TAGS_THAT_END_TEXT, _Reader.end_text),  # Such as </DD> and <BODY>.
    **dict.fromkeys(_HEADINGS, _Reader.begin_heading),
    **dict.fromkeys((f"/{name}" for name in _HEADINGS), _Reader.end_entry_or_heading),
    **dict.fromkeys(_LISTS, _Reader.begin_list),
    **dict.fromkeys((f"/{name}" for name in _LISTS), _Reader.end_list),
    "dt": _Reader.end_entry_or_heading,
    "hr": _Reader.add_separator,
    _PART_END: _Reader.end_entry_or_heading,  # No entry goes on in the next part of the file.
    _FILE_END: _Reader.end_entry_or_heading,
}
