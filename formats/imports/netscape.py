"""Read the bookmark files of browsers and bookmark services (HTML)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from formats.charset import decode
from formats.imports.dates import parse_date
from formats.imports.entry import CUT_OFF, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags, list_tags
from formats.imports.html_tokenizer import (
    BREAK_MARK,
    FILE_END,
    PART_END,
    TEXT,
    Token,
    join_lines,
    one_line,
    tokenize,
    unescape,
)
from formats.imports.roles import fields_of_roles, group_by_role
from formats.netscape import is_firefox_query
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

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")  # Names of folders.
# No entry goes on in the next part of the file.
_ENDS_OF_LINKS_AND_HEADINGS = ("dt", *(f"/{name}" for name in _HEADINGS), PART_END, FILE_END)
_LISTS = ("dl", "ul", "ol")
# In a description, these tags are markup: there they begin and end no entry and no folder.
_MARKUP_IN_DESCRIPTION = ("a", "/a", "ul", "/ul", "ol", "/ol")
# The open title or description also ends at these tags, which have no other effect.
_TAGS_THAT_END_TEXT = "/a /dd /dt html /html head /head body /body title /title".split()
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
    text = decode(data, _find_charset(data[:_BEGINNING]))
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


def _find_charset(head: bytes) -> str:
    """Return the charset that a META element before the first entry declares."""
    entry = _FIRST_ENTRY.search(head)
    meta = _META_CHARSET.search(head, 0, entry.start() if entry else len(head))
    return meta[1].decode("ascii", "replace") if meta else ""


# linkding writes exactly these attributes, in this order. Those that it wrote before version 1.36
# are Pinboard's, too, which means it by PRIVATE="1". Its title is "Pinboard Bookmarks".
_LINKDING_ATTRIBUTES = ("href", "add_date", "last_modified", "private", "toread", "tags")
_OLDER_LINKDING_ATTRIBUTES = ("href", "add_date", "private", "toread", "tags")
_LINKDING_TITLE = "<TITLE>Bookmarks</TITLE>"
_LINKDING_ARCHIVED = "linkding:bookmarks.archived"  # The tag of archived bookmarks.


class _Reader:
    """Read a bookmark file. Each public method but `read` handles one kind of token.

    At most one link (<A>) or heading (<H1> to <H6>) is open at a time and gets the next texts.
    """

    def __init__(self) -> None:
        self._entries: list[ImportedEntry] = []
        self._folders = Folders()
        self._next_heading: tuple[Token, str] | None = None  # It names the list that follows it.
        self._has_heading = False  # Of a list. Only the first one can be the file's title.
        self._open: Token | None = None  # The link or heading.
        # Its texts: both have a "title", a link also has a "description".
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._text_being_read = ""  # The name of the text that is being read; empty if none is.

    def read(self, text: str) -> Iterator[ImportedEntry]:
        """Yield the entries of a file."""
        self._has_linkding_title = _LINKDING_TITLE in text[:_BEGINNING]
        for token in tokenize(text, _HANDLERS):
            if self._text_being_read == "description" and token.name in _MARKUP_IN_DESCRIPTION:
                continue
            _HANDLERS[token.name](self, token)  # This may append to `_entries`.
            yield from self._entries
            self._entries.clear()

    def add_text(self, token: Token) -> None:
        """Handle text between tags, or `BREAK_MARK`, which stands for a tag such as <BR>."""
        if self._text_being_read and token.text:
            self._texts[self._text_being_read].append(token.text)

    def begin_link_or_heading(self, token: Token) -> None:
        """Handle <A> and <H3>: begin an entry, or the name of the folder whose list follows."""
        self.end_link_or_heading(token)
        self._open, self._text_being_read = token, "title"

    def begin_description(self, token: Token) -> None:
        """Handle <DD>: begin the description of the entry."""
        self._text_being_read = "description" if self._open and self._open.name == "a" else ""

    def end_text(self, token: Token) -> None:
        """Handle </A>, </DD> and the like: the texts that follow belong to no entry."""
        self._text_being_read = ""

    def begin_list(self, token: Token) -> None:
        """Handle <DL>, <UL> and <OL>: open the folder."""
        self.end_link_or_heading(token)
        heading, self._next_heading = self._next_heading, None
        self._folders.open(self._folder_tags(*heading, token.name) if heading else ())

    def end_list(self, token: Token) -> None:
        """Handle </DL>, </UL> and </OL>: close the folder."""
        self.end_link_or_heading(token)
        self._folders.close_to(self._folders.depth - 1)

    def add_separator(self, token: Token) -> None:
        """Handle <HR>: a separator."""
        self.end_link_or_heading(token)
        self._entries.append(ignored_entry(token.line))

    def end_link_or_heading(self, token: Token) -> None:
        """End the open link or heading, if there is one, at `token`."""
        if self._open and self._open.name == "a":
            self._entries.append(self._entry(self._open, may_be_cut_off=token.name == FILE_END))
        elif self._open:
            self._next_heading = (self._open, one_line(self._texts["title"]))
        self._open = None
        self._text_being_read = ""
        self._texts.clear()

    def _entry(self, link: Token, may_be_cut_off: bool) -> ImportedEntry:
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)  # Firefox stores searches like links.
        fields = self._fields(link.attributes)
        # Some programs end the line without </A>, so the title is complete there.
        is_line_ended = "".join(self._texts["title"]).endswith(("\n", BREAK_MARK))
        is_title_cut_off = self._text_being_read == "title" and not is_line_ended
        if may_be_cut_off and (link.is_unclosed or is_title_cut_off):
            return ImportedEntry(link.line, fields, CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _fields(self, attributes: Mapping[str, str]) -> dict[str, object]:
        unescaped = {name: unescape(value).strip() for name, value in attributes.items()}
        description = join_lines(self._texts["description"])
        is_older = self._has_linkding_title and tuple(attributes) == _OLDER_LINKDING_ATTRIBUTES
        if is_older or tuple(attributes) == _LINKDING_ATTRIBUTES:
            unescaped, description = _from_linkding(unescaped, description)
        values_by_role = group_by_role(unescaped.items())  # The role of HREF is `uri`.
        values_by_role["title"] = [one_line(self._texts["title"])]
        values_by_role["description"] = [description]
        tags = [tag for text in values_by_role.get("tags", ()) for tag in split_tags(str(text))]
        fields = fields_of_roles(values_by_role, tags, tags_of_folders=self._folders.tags)
        # All numbers in these attributes are dates, also those that are unlikely elsewhere.
        for attribute, field in (("add_date", "created"), ("last_modified", "modified")):
            if date := parse_date(attributes.get(attribute, "")):
                fields[field] = date
        return fields

    def _folder_tags(self, heading: Token, name: str, list: str) -> tuple[str, ...]:
        """Return the tags for a list of this kind, <DL> or other, below a heading of this name."""
        attributes = heading.attributes
        is_root = any(attributes.get(name, "").lower() == "true" for name in _ROOT_ATTRIBUTES)
        # Most programs write all folders inside one outer <DL>, which counts as a folder here.
        is_top = self._folders.depth < 2
        # Internet Explorer writes FOLDED and creates Links at the top; users create other Links.
        is_from_explorer = is_top and name == "Links" and "folded" in attributes
        is_title_of_file = heading.name == "h1" and list == "dl" and not self._has_heading
        self._has_heading = True
        if is_root or is_from_explorer or is_title_of_file:
            return ()
        if attributes.get("id") == "com.apple.ReadingList":  # Safari's pages to read later.
            return ("unread",)
        return folder_tags(name, may_be_built_in=is_top) if list == "dl" else list_tags(name)


def _from_linkding(attributes: dict[str, str], description: str) -> tuple[dict[str, str], str]:
    """Return what linkding exports with the meaning that its API has here."""
    tags = attributes["tags"].split(",")
    attributes = attributes | {
        "tags": ",".join(tag for tag in tags if tag != _LINKDING_ARCHIVED),
        "archived": "yes" if _LINKDING_ARCHIVED in tags else "",
        "shared": "true" if attributes["private"] == "0" else "",
        "private": "",  # It is 1 for all bookmarks that are not shared.
    }
    description, _, notes = description.partition("[linkding-notes]")
    return attributes, f"{description}\n\n{notes.removesuffix('[/linkding-notes]')}".strip()


_HANDLERS: Mapping[str, Callable[[_Reader, Token], None]] = {
    TEXT: _Reader.add_text,
    **dict.fromkeys(("a", *_HEADINGS), _Reader.begin_link_or_heading),
    "dd": _Reader.begin_description,
    **dict.fromkeys(_TAGS_THAT_END_TEXT, _Reader.end_text),  # Such as </DD> and <BODY>.
    **dict.fromkeys(_ENDS_OF_LINKS_AND_HEADINGS, _Reader.end_link_or_heading),
    **dict.fromkeys(_LISTS, _Reader.begin_list),
    **dict.fromkeys((f"/{name}" for name in _LISTS), _Reader.end_list),
    "hr": _Reader.add_separator,
}
