"""Read the bookmark files of browsers and bookmark services (HTML)."""

import re
from collections.abc import Callable, Iterator, Mapping

from formats.charset import decode
from formats.imports.dates import parse_date
from formats.imports.entry import CUT_OFF, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags, list_tags
from formats.imports.html_tokenizer import (
    FILE_END,
    PART_END,
    TEXT,
    Token,
    join_lines,
    one_line,
    tokenize,
    unescape,
)
from formats.imports.roles import read_fields
from formats.netscape import OWN_ATTRIBUTES, is_firefox_query
from storage.bookmark import from_text, split_tags
from storage.errors import Malformed

# --- Which files are bookmark files ---

_BEGINNING = 64 * 1024  # Only these first characters of a file are examined.
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
# Almost every web page has one of these elements, and hardly any bookmark file.
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
_HTML_DOCUMENT = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
# Such as `<DL><DT>`, `<DL><p>`, `<DT><H3>` or `<LI><A>`.
_LIST_WITH_ITEM = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
_LIST_OR_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)


def is_bookmark_file(text: str) -> bool:
    """Return whether a text begins like a bookmark file or a list of links."""
    beginning = text[:_BEGINNING]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    # Pocket and Instapaper export an HTML document with a list. A document without a list may be
    # any web page.
    if _HTML_DOCUMENT.search(beginning):
        return _LIST_WITH_ITEM.search(beginning) is not None
    return _LIST_OR_LINK.search(beginning) is not None


_META_CHARSET = re.compile(rb"<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.I)
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)


def declared_charset(data: bytes) -> str:
    """Return the charset in a META element before the first entry; empty without META."""
    head = data[:_BEGINNING]
    if entry := _FIRST_ENTRY.search(head):
        head = head[: entry.start()]
    if meta := _META_CHARSET.search(head):
        return meta[1].decode("ascii", "replace")
    return ""


# --- Entries ---


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry, in order. Folders and attributes such as PRIVATE become tags.

    Raises Malformed for a file that is not a bookmark file.
    """
    text = decode(data, declared_charset(data))
    if not is_bookmark_file(text):
        raise Malformed("It is no bookmark file. Export the bookmarks of a browser as HTML.")
    yield from _Reader(text).read()


class _Reader:
    """Read a bookmark file. Each public method but `read` handles one kind of token."""

    def __init__(self, text: str) -> None:
        self._file = text
        self._has_title_of_linkding = _LINKDING_TITLE in text[:_BEGINNING]
        self._entries: list[ImportedEntry] = []
        self._folders = Folders()
        self._has_list_with_heading = False
        self._heading: Token | None = None  # The heading that names the next list, if any.
        self._heading_texts: list[str] = []
        self._link: Token | None = None  # The <A> of the entry that is being read, if any.
        self._title: list[str] = []
        self._description: list[str] = []
        # What is being read: `_heading_texts`, `_title` or `_description`. `add_text` appends
        # texts to this same list. While it is None, texts are dropped.
        self._texts: list[str] | None = None

    def read(self) -> Iterator[ImportedEntry]:
        """Yield the entries of the file."""
        for token in tokenize(self._file, _HANDLERS):
            is_in_description = self._texts is self._description
            if is_in_description and token.name in _MARKUP_IN_DESCRIPTION:
                continue
            _HANDLERS[token.name](self, token)  # The handler may append to `_entries`.
            yield from self._entries
            self._entries.clear()

    def add_text(self, token: Token) -> None:
        """Handle text between tags."""
        if self._texts is not None:
            self._texts.append(token.text)

    def begin_link(self, token: Token) -> None:
        """Handle <A>: begin an entry."""
        self.end_entry(token)
        self._link = token
        self._title = []
        self._description = []
        self._texts = self._title

    def begin_heading(self, token: Token) -> None:
        """Handle <H3>: begin the name of the folder whose list follows."""
        self.end_entry(token)
        self._heading = token
        self._heading_texts = []
        self._texts = self._heading_texts

    def begin_description(self, token: Token) -> None:
        """Handle <DD>: begin the description of an entry. Descriptions of folders are dropped."""
        self._texts = None
        if self._link:
            self._texts = self._description

    def end_text(self, token: Token) -> None:
        """Handle a tag such as </A>: the next texts belong to no entry."""
        self._texts = None

    def end_entry(self, token: Token) -> None:
        """Handle a tag such as <DT>: end the entry or the name of a folder, if one is open."""
        if self._link:
            is_cut_off = self._link.is_unclosed and token.name == FILE_END
            self._entries.append(self._read_entry(self._link, is_cut_off=is_cut_off))
        self._link = None
        self._texts = None

    def add_separator(self, token: Token) -> None:
        """Handle <HR>: add a separator, which the import ignores."""
        self.end_entry(token)
        self._entries.append(ignored_entry(token.line))

    def begin_list(self, token: Token) -> None:
        """Handle <DL>, <UL> and <OL>: open the folder."""
        self.end_entry(token)
        tags: tuple[str, ...] = ()
        if self._heading:
            tags = self._folder_tags(self._heading, one_line(self._heading_texts), token.name)
            self._has_list_with_heading = True
        self._heading = None
        self._folders.open(tags)

    def end_list(self, token: Token) -> None:
        """Handle </DL>, </UL> and </OL>: close the folder."""
        self.end_entry(token)
        self._folders.close_to(self._folders.depth - 1)

    def _folder_tags(self, heading: Token, name: str, list_kind: str) -> tuple[str, ...]:
        """Return the tags for a list of this kind, such as `dl`, below a heading of this name."""
        # Most programs write all folders inside one outer <DL>.
        is_top = self._folders.depth < 2
        if self._is_title_of_file(heading, list_kind):
            return ()
        if _is_created_by_browser(heading, name, is_top=is_top):
            return ()
        if _is_reading_list_of_safari(heading):
            return ("unread",)
        if list_kind == "dl":
            return folder_tags(name, may_be_built_in=is_top)
        return list_tags(name)

    def _is_title_of_file(self, heading: Token, list_kind: str) -> bool:
        """Return whether the heading is the <H1> above the outermost list."""
        if self._has_list_with_heading:
            return False
        return heading.name == "h1" and list_kind == "dl"

    def _read_entry(self, link: Token, is_cut_off: bool) -> ImportedEntry:
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)  # Firefox exports saved searches as links.
        fields = self._read_fields(link.attributes)
        if is_cut_off:
            return ImportedEntry(link.line, fields, CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _read_fields(self, link_attributes: Mapping[str, str]) -> dict[str, object]:
        attributes = {name: unescape(value).strip() for name, value in link_attributes.items()}
        description = join_lines(self._description)
        if _is_from_linkding(attributes, self._has_title_of_linkding):
            attributes = _convert_from_linkding(attributes)
            description = _description_from_linkding(description)
        members = attributes | {"title": one_line(self._title), "description": description}
        fields = read_fields(members.items(), split_tags, self._folders.tags)
        _read_dates(attributes, fields)
        _read_own_attributes(attributes, fields)
        return fields


def _read_dates(attributes: Mapping[str, str], fields: dict[str, object]) -> None:
    """Set the dates, which in these attributes may also be numbers of unlikely dates."""
    created = parse_date(attributes.get("add_date", ""))
    if created:
        fields["created"] = created
    modified = parse_date(attributes.get("last_modified", ""))
    if modified:
        fields["modified"] = modified


def _read_own_attributes(attributes: Mapping[str, str], fields: dict[str, object]) -> None:
    """Set the fields that this service exports as attributes, unless they are set already."""
    for name in OWN_ATTRIBUTES:
        text = attributes.get(name)
        if text and name not in fields:
            fields[name] = from_text(name, text)


# --- Folders that browsers create themselves ---

# Browsers write these attributes because the names of the folders depend on the user's language.
_BROWSER_FOLDER_ATTRIBUTES = (
    "personal_toolbar_folder",
    "unfiled_bookmarks_folder",
    "mobile_bookmarks_folder",
    "bookmarks_menu",
    "places_root",
)


def _is_created_by_browser(heading: Token, name: str, is_top: bool) -> bool:
    for attribute in _BROWSER_FOLDER_ATTRIBUTES:
        if heading.attributes.get(attribute, "").lower() == "true":
            return True
    # Internet Explorer creates a folder Links, and writes the attribute FOLDED for folders.
    return is_top and name == "Links" and "folded" in heading.attributes


def _is_reading_list_of_safari(heading: Token) -> bool:
    return heading.attributes.get("id") == "com.apple.ReadingList"


# --- linkding ---

# linkding writes exactly these attributes, in this order.
_LINKDING_ATTRIBUTES = ["href", "add_date", "last_modified", "private", "toread", "tags"]
# linkding before version 1.36 wrote the same attributes as Pinboard, but another title.
_OLDER_LINKDING_ATTRIBUTES = ["href", "add_date", "private", "toread", "tags"]
_LINKDING_TITLE = "<TITLE>Bookmarks</TITLE>"
_LINKDING_ARCHIVED = "linkding:bookmarks.archived"  # The tag of archived bookmarks.


def _is_from_linkding(attributes: Mapping[str, str], has_title_of_linkding: bool) -> bool:
    names = list(attributes)
    if names == _LINKDING_ATTRIBUTES:
        return True
    return has_title_of_linkding and names == _OLDER_LINKDING_ATTRIBUTES


def _convert_from_linkding(attributes: dict[str, str]) -> dict[str, str]:
    """Translate attributes of linkding to attributes that `read_fields` understands."""
    converted = dict(attributes)
    # linkding writes PRIVATE="1" for every bookmark that is not shared.
    del converted["private"]
    if attributes["private"] == "0":
        converted["shared"] = "true"
    tags = attributes["tags"].split(",")
    if _LINKDING_ARCHIVED in tags:
        tags.remove(_LINKDING_ARCHIVED)
        converted["archived"] = "yes"
    converted["tags"] = ",".join(tags)
    return converted


def _description_from_linkding(text: str) -> str:
    """Return the description, with linkding's notes in a last paragraph."""
    description, _, notes = text.partition("[linkding-notes]")
    notes = notes.removesuffix("[/linkding-notes]")
    if notes:
        description += f"\n\nNotes:\n{notes}"
    return description.strip()


# --- Tags ---

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ENDS_OF_HEADINGS = ("/h1", "/h2", "/h3", "/h4", "/h5", "/h6")
# In a description, these tags are markup, and neither begin nor end an entry or a folder.
_MARKUP_IN_DESCRIPTION = ("a", "/a", "ul", "/ul", "ol", "/ol")

_HANDLERS: Mapping[str, Callable[[_Reader, Token], None]] = {
    TEXT: _Reader.add_text,
    "a": _Reader.begin_link,
    "dd": _Reader.begin_description,
    **dict.fromkeys(("/a", "/dd", "/dt", "/body", "/html"), _Reader.end_text),
    **dict.fromkeys(_HEADINGS, _Reader.begin_heading),
    # An entry ends with its part of the file, even without a tag that ends it.
    **dict.fromkeys(("dt", *_ENDS_OF_HEADINGS, PART_END, FILE_END), _Reader.end_entry),
    "hr": _Reader.add_separator,
    **dict.fromkeys(("dl", "ul", "ol"), _Reader.begin_list),
    **dict.fromkeys(("/dl", "/ul", "/ol"), _Reader.end_list),
}
