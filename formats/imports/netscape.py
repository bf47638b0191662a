"""Read the HTML bookmark files of browsers and services."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

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
from formats.imports.roles import read_fields
from formats.netscape import OWN_ATTRIBUTES, is_firefox_query
from storage.bookmark import Fields, from_text, split_tags
from storage.errors import Malformed

_MAX_EXAMINED_CHARACTERS = 64 * 1024
_DOCTYPE = re.compile(r"<!DOCTYPE\s+NETSCAPE-Bookmark", re.IGNORECASE)
# Most web pages have one of these elements, and bookmark files hardly ever.
_WEB_PAGE = re.compile(r"<(?:script|style|link|div|img|nav|form|main|section)[\s>]", re.IGNORECASE)
_HTML_DOCUMENT = re.compile(r"<(?:!DOCTYPE\s+)?HTML[\s>]", re.IGNORECASE)
# `<DL><DT>`, `<DL><p>`, `<DT><H3>` or `<LI><A>`
_LIST_WITH_ITEM = re.compile(r"<(?:DL|DT|LI)>\s*<[AHDP]", re.IGNORECASE)
_LIST_OR_LINK = re.compile(r"<D[LT][\s>]|<A\s[^<>]{0,999}?HREF\s*=", re.IGNORECASE)


def is_bookmark_file(text: str) -> bool:
    """Return whether a text begins like a bookmark file or a list of links."""
    beginning = text[:_MAX_EXAMINED_CHARACTERS]
    if _DOCTYPE.search(beginning):
        return True
    if _WEB_PAGE.search(beginning):
        return False
    # Without a list, an HTML document may be any web page.
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


# An entry is a link, perhaps with a description: `<DT><A HREF="a:b">title</A> <DD>text`.
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_LISTS = frozenset("dl ul ol".split())
_ENDS_OF_LISTS = frozenset("/dl /ul /ol".split())
# These tags end the text before them, but not the entry. All others end it, too.
_TAGS_IN_ENTRY = frozenset("dd /a /dd /dt /body /html".split())
# In a description, these do not end an entry either: they are dropped, and their text is kept.
_MARKUP_IN_DESCRIPTION = frozenset("a /a ul /ul ol /ol".split())
_OTHER_TAGS = frozenset("a dt hr /h1 /h2 /h3 /h4 /h5 /h6".split())
_ALL_TAGS = _HEADINGS | _LISTS | _ENDS_OF_LISTS | _TAGS_IN_ENTRY | _OTHER_TAGS


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each entry. Raises Malformed for a file that is not a bookmark file."""
    text = decode(data, declared_charset(data))
    if not is_bookmark_file(text):
        raise Malformed("It is not a bookmark file. Export the bookmarks of a browser as HTML.")
    yield from _Reader(text).read()


class _Item(NamedTuple):
    """A link with its description, or another tag."""

    tag: Token
    description: str
    is_cut_off: bool = False  # The file ends inside the tag.


def _split_into_items(tokens: Iterator[Token]) -> Iterator[_Item]:
    current = next(tokens)
    description: list[str] = []
    is_in_description = False
    for token in tokens:
        if token.name == "dd":
            is_in_description = current.name == "a"  # The description of a folder is dropped.
        elif token.name not in _MARKUP_IN_DESCRIPTION:
            is_in_description = False
        if is_in_description:
            description.append(token.text)
        elif token.name not in _TAGS_IN_ENTRY:
            yield _Item(current, "".join(description))
            current = token
            description = []
    yield _Item(current, "".join(description), is_cut_off=current.is_unclosed)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._has_linkding_title = _LINKDING_TITLE in text[:_MAX_EXAMINED_CHARACTERS]
        self._folders = Folders()
        self._heading_of_next_list: Token | None = None
        self._heading_may_be_file_title = True

    def read(self) -> Iterator[ImportedEntry]:
        for item in _split_into_items(tokenize(self._text, _ALL_TAGS)):
            tag = item.tag
            if tag.name == "a":
                yield self._read_entry(item)
            elif tag.name == "hr":
                yield ignored_entry(tag.line)  # A separator.
            elif tag.name in _HEADINGS:
                self._heading_of_next_list = tag
            elif tag.name in _LISTS:
                self._open_folder(tag.name)
            elif tag.name in _ENDS_OF_LISTS:
                self._folders.close_one()

    def _open_folder(self, list_name: str) -> None:
        tags: Tags = ()
        if self._heading_of_next_list:
            tags = self._tags_of_heading(self._heading_of_next_list, list_name)
            self._heading_may_be_file_title = False
            self._heading_of_next_list = None
        self._folders.open(tags)

    def _tags_of_heading(self, heading: Token, list_name: str) -> Tags:
        if self._heading_may_be_file_title and heading.name == "h1" and list_name == "dl":
            return ()
        # Most programs write all folders inside one outer <DL>.
        is_top_level = self._folders.depth < 2
        name = decode_one_line(heading.text)
        if _is_created_by_browser(heading, name, is_top_level):
            return ()
        if heading.attributes.get("id") == "com.apple.ReadingList":  # Safari
            return ("unread",)
        if list_name == "dl":
            return folder_tags(name, is_top_level)
        return list_tags(name)  # Pocket and Instapaper write <UL> and <OL>.

    def _read_entry(self, item: _Item) -> ImportedEntry:
        link = item.tag
        if is_firefox_query(link.attributes.get("href")):
            return ignored_entry(link.line)  # Firefox exports saved searches as links.
        fields = self._read_fields(item)
        if item.is_cut_off:
            return ImportedEntry(link.line, fields, CUT_OFF)
        return entry_with_uri(link.line, fields)

    def _read_fields(self, item: _Item) -> Fields:
        attributes = {
            name: unescape(value).strip() for name, value in item.tag.attributes.items()
        }
        title = decode_one_line(item.tag.text)
        description = decode_text(item.description)
        if self._is_from_linkding(attributes):
            attributes = _convert_from_linkding(attributes)
            description = _description_from_linkding(description)
        members = attributes | {"title": title, "description": description}
        fields = read_fields(members.items(), split_tags, self._folders.tags)
        _read_dates(attributes, fields)
        _read_own_attributes(attributes, fields)
        return fields

    def _is_from_linkding(self, attributes: Mapping[str, str]) -> bool:
        names = list(attributes)  # In the order of the file.
        if names == _OLDER_LINKDING_ATTRIBUTES:
            return self._has_linkding_title
        return names == _LINKDING_ATTRIBUTES


def _read_dates(attributes: Mapping[str, str], fields: Fields) -> None:
    """Set the dates. `read_fields` has left out dates before 1990 or in the future."""
    for field, attribute in (("created", "add_date"), ("modified", "last_modified")):
        date = parse_date(attributes.get(attribute, ""))
        if date:
            fields[field] = date


def _read_own_attributes(attributes: Mapping[str, str], fields: Fields) -> None:
    for name in OWN_ATTRIBUTES:
        text = attributes.get(name)
        if text and name not in fields:
            fields[name] = from_text(name, text)


# --- Folders of browsers ---

# Attributes of folders whose names depend on the browser's language.
_BROWSER_FOLDER_ATTRIBUTES = (
    "personal_toolbar_folder",
    "unfiled_bookmarks_folder",
    "mobile_bookmarks_folder",
    "bookmarks_menu",
    "places_root",
)


def _is_created_by_browser(heading: Token, name: str, is_top_level: bool) -> bool:
    for attribute in _BROWSER_FOLDER_ATTRIBUTES:
        if heading.attributes.get(attribute, "").lower() == "true":
            return True
    # Only Internet Explorer writes FOLDED.
    return is_top_level and name == "Links" and "folded" in heading.attributes


# --- linkding ---

# linkding writes exactly these attributes, in this order.
_LINKDING_ATTRIBUTES = ["href", "add_date", "last_modified", "private", "toread", "tags"]
# Before version 1.36. Pinboard writes the same attributes, but another title.
_OLDER_LINKDING_ATTRIBUTES = ["href", "add_date", "private", "toread", "tags"]
_LINKDING_TITLE = "<TITLE>Bookmarks</TITLE>"
_LINKDING_ARCHIVED = "linkding:bookmarks.archived"


def _convert_from_linkding(attributes: dict[str, str]) -> dict[str, str]:
    converted = dict(attributes)
    # Every bookmark that is not shared has PRIVATE="1".
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
