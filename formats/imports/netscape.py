"""Read the HTML bookmark files of browsers and services."""

import re
from collections.abc import Collection, Iterator, Mapping

from formats.charset import decode
from formats.imports.dates import parse_date
from formats.imports.entry import CUT_OFF, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, Tags, folder_tags, list_tags
from formats.imports.html_tokenizer import (
    Token,
    decode_one_line,
    decode_text,
    tokenize,
    unescape,
)
from formats.imports.roles import note_wrong_date, read_fields
from formats.netscape import OWN_ATTRIBUTES, is_firefox_query
from storage.bookmark import Fields, from_text, split_tags
from storage.errors import Malformed

_MAX_EXAMINED_CHARACTERS = 64 * 1024
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
# Elements of most web pages, but of hardly any bookmark file.
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
_HTML_DOCUMENT = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
# `<DL><DT>`, `<DL><p>`, `<DT><H3>` or `<LI><A>`
_LIST_WITH_ITEM = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
_LIST_OR_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)


def is_bookmark_file(text: str) -> bool:
    beginning = text.lstrip()[:_MAX_EXAMINED_CHARACTERS]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    if _HTML_DOCUMENT.search(beginning):
        return _LIST_WITH_ITEM.search(beginning) is not None
    return _LIST_OR_LINK.search(beginning) is not None


_META_CHARSET = re.compile(rb"<meta\s[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.I)
_FIRST_ENTRY = re.compile(rb"<(?:DL|DT|A)[\s>]", re.IGNORECASE)


def declared_charset(data: bytes) -> str:
    """Return the charset in a META element before the first entry, or ""."""
    head, *_ = _FIRST_ENTRY.split(data[:_MAX_EXAMINED_CHARACTERS], maxsplit=1)
    meta = _META_CHARSET.search(head)
    if not meta:
        return ""
    return meta[1].decode("ascii", "replace")


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("dl", "ul", "ol")
_ENDS_OF_LISTS = ("/dl", "/ul", "/ol")
# Tags that may come before a description: `<DT><A HREF="a:b">title</A></DT> <DD>text`.
_TAGS_BEFORE_DESCRIPTION = ("/a", "/dt", "/dd", "/body", "/html")
# Tags that are markup in a description: `<DD>See <A HREF="c:d">this link</A>, too`.
_MARKUP_IN_DESCRIPTION = ("a", "/a", "ul", "/ul", "ol", "/ol")
# Tags that only end the text before them.
_ENDS_OF_TEXT = ("dt", "/h1", "/h2", "/h3", "/h4", "/h5", "/h6")
_ALL_TAGS = frozenset(("a", "dd", "hr")).union(
    _HEADINGS, _LISTS, _ENDS_OF_LISTS, _TAGS_BEFORE_DESCRIPTION, _ENDS_OF_TEXT
)


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed for a file that is not a bookmark file."""
    text = decode(data, declared_charset(data))
    if not is_bookmark_file(text):
        raise Malformed("It is not a bookmark file. Export the bookmarks of a browser as HTML.")
    yield from _Reader(text).read()


class _Tokens:
    """The tokens of a file, with one token of lookahead."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._next = next(tokens, None)

    def is_at_end(self) -> bool:
        return self._next is None

    def take(self) -> Token | None:
        token = self._next
        self._next = next(self._tokens, None)
        return token

    def take_if_named(self, names: Collection[str]) -> Token | None:
        if self._next and self._next.name in names:
            return self.take()
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = _Tokens(tokenize(text, _ALL_TAGS))
        self._has_linkding_title = _LINKDING_TITLE in text[:_MAX_EXAMINED_CHARACTERS]
        self._folders = Folders()
        self._has_list_with_heading = False

    def read(self) -> Iterator[ImportedEntry]:
        heading_of_next_list: Token | None = None
        while tag := self._tokens.take():
            if tag.name == "a":
                yield self._read_entry(tag)
            elif tag.name == "hr":
                yield ignored_entry(tag.line)  # A separator.
            elif tag.name in _HEADINGS:
                heading_of_next_list = tag
            elif tag.name in _LISTS:
                self._folders.open(self._tags_of_list(tag.name, heading_of_next_list))
                heading_of_next_list = None
            elif tag.name in _ENDS_OF_LISTS:
                self._folders.close_one()

    def _tags_of_list(self, list_name: str, heading: Token | None) -> Tags:
        if heading is None:
            return ()
        if not self._has_list_with_heading:
            self._has_list_with_heading = True
            if heading.name == "h1" and list_name == "dl":
                return ()  # The title of the file, such as `<H1>Bookmarks</H1> <DL>`.
        # Top-level folders are at depth 1, or at depth 0 in files without an outer <DL>.
        is_top_level = self._folders.depth < 2
        return _tags_of_folder(heading, list_name, is_top_level)

    def _read_entry(self, link: Token) -> ImportedEntry:
        description = self._take_description()
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)  # Firefox exports saved searches as links.
        fields = self._read_fields(link, description)
        if link.is_unclosed and self._tokens.is_at_end():
            return ImportedEntry(link.line, fields, CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _take_description(self) -> str:
        texts: list[str] = []
        while tag := self._tokens.take_if_named(("dd", *_TAGS_BEFORE_DESCRIPTION)):
            if tag.name == "dd":
                texts.append(tag.text)
                texts += self._take_texts_of_markup()
        return decode_text("".join(texts))

    def _take_texts_of_markup(self) -> Iterator[str]:
        while tag := self._tokens.take_if_named(_MARKUP_IN_DESCRIPTION):
            yield tag.text

    def _read_fields(self, link: Token, description: str) -> Fields:
        attributes = {name: unescape(value).strip() for name, value in link.attributes.items()}
        if self._is_from_linkding(attributes):
            attributes = _convert_from_linkding(attributes)
            description = _description_from_linkding(description)
        values = attributes | _convert_dates(attributes)
        values |= {"title": decode_one_line(link.text), "description": description}
        fields = read_fields(values.items(), split_tags, self._folders.tags)
        note_wrong_date(values.items(), fields)
        _read_own_attributes(attributes, fields)
        return fields

    def _is_from_linkding(self, attributes: Mapping[str, str]) -> bool:
        names = list(attributes)
        if names == _LINKDING_OR_PINBOARD_ATTRIBUTES:
            return self._has_linkding_title
        return names == _LINKDING_ATTRIBUTES


def _convert_dates(attributes: Mapping[str, str]) -> dict[str, str]:
    """Convert dates to RFC 3339, implausible ones too."""
    converted = {}
    for name in ("add_date", "last_modified"):
        converted[name] = parse_date(attributes.get(name, "")) or ""
    return converted


def _read_own_attributes(attributes: Mapping[str, str], fields: Fields) -> None:
    for name in OWN_ATTRIBUTES:
        text = attributes.get(name)
        if text and name not in fields:
            fields[name] = from_text(name, text)


# --- Folders of browsers ---

# Marks of the folders that browsers create, whose names depend on the language.
_BROWSER_FOLDER_ATTRIBUTES = (
    "personal_toolbar_folder",
    "unfiled_bookmarks_folder",
    "mobile_bookmarks_folder",
    "bookmarks_menu",
    "places_root",
)


def _tags_of_folder(heading: Token, list_name: str, is_top_level: bool) -> Tags:
    name = decode_one_line(heading.text)
    if _is_created_by_browser(heading, name, is_top_level):
        return ()
    if heading.attributes.get("id") == "com.apple.ReadingList":  # Safari writes this id.
        return ("unread",)
    if list_name == "dl":
        return folder_tags(name, is_top_level)
    return list_tags(name)  # Pocket and Instapaper write <UL> and <OL>.


def _is_created_by_browser(heading: Token, name: str, is_top_level: bool) -> bool:
    for attribute in _BROWSER_FOLDER_ATTRIBUTES:
        if heading.attributes.get(attribute, "").lower() == "true":
            return True
    # Only Internet Explorer writes FOLDED.
    return is_top_level and name == "Links" and "folded" in heading.attributes


# --- linkding ---

# linkding writes exactly these attributes, in this order.
_LINKDING_ATTRIBUTES = ["href", "add_date", "last_modified", "private", "toread", "tags"]
# linkding before version 1.36 and Pinboard write these, in files with different titles.
_LINKDING_OR_PINBOARD_ATTRIBUTES = ["href", "add_date", "private", "toread", "tags"]
_LINKDING_TITLE = "<TITLE>Bookmarks</TITLE>"
_LINKDING_ARCHIVED = "linkding:bookmarks.archived"


def _convert_from_linkding(attributes: dict[str, str]) -> dict[str, str]:
    converted = dict(attributes)
    # In linkding, PRIVATE="1" says only that a bookmark is not shared.
    if converted.pop("private") == "0":
        converted["shared"] = "true"
    tags = attributes["tags"].split(",")
    if _LINKDING_ARCHIVED in tags:
        tags.remove(_LINKDING_ARCHIVED)
        converted["archived"] = "yes"
    converted["tags"] = ",".join(tags)
    return converted


def _description_from_linkding(text: str) -> str:
    description, _, notes = text.partition("[linkding-notes]")
    notes = notes.removesuffix("[/linkding-notes]")
    if notes:
        description += f"\n\nNotes:\n{notes}"
    return description.strip()
