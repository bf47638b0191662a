"""Read lists of addresses: our own text format, `text/uri-list`, Markdown, Org and other lists.

A line of a list without links is an address alone or with its title, in one of these forms:

    uri TAB title TAB tags                     this service
    uri | title                                OneTab
    uri title, or uri - title                  qutebrowser
    title uri                                  qutebrowser's quickmarks
    uri "tag" "another tag"                    newsboat
    * [[uri][title]] :a:b:  or  * [[uri]]      Org, as buku writes it

In Markdown every link of a line is an entry, and headings become tags. CSV without a header is
refused: its rows look like addresses that contain a comma.
"""

import io
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from formats.charset import decode
from formats.imports.entry import MAX_ENTRY, TOO_LARGE, ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import folder_tags, merge_tags
from storage.bookmark import split_tags
from storage.errors import Malformed

_NO_HEADER = (
    "It may be CSV without a header, because each line has an address and the same separator. Add "
    "a first line with the names of the columns, such as url{0}title; or, if each address contains "
    "{0!r}, write a tab and a title behind each address."
)
_EXAMINED_LINES = 100  # The first lines decide whether a text is a list, Markdown or CSV.
_NOT_READ = "does not begin with a uri"
_TWO_READINGS = "has two readings: write one address in a line, with a tab before its title"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{0,99}://"
_URI = r"[A-Za-z][A-Za-z0-9+.-]{0,99}:[^\s\0-\x1f\x7f-\x9f]+"
_WEB_URI = _URI.replace(":[", "://[")
# An address before a title: a comma or semicolon in it may be the separator of a row of CSV.
_URI_BEFORE_TITLE = _WEB_URI.replace("\\s", "\\s,;") + "(?<!:)"
# The forms of a line that no other text has: ours, OneTab's and Org's. In Org, `][` or `]]` ends an
# address, but not the `]` before them.
_FORMS = (
    re.compile(rf"(?P<uri>{_SCHEME}\S[^\t]*|{_URI})\t(?P<title>[^\t]*)\t?(?P<tags>.*)"),
    re.compile(rf"(?P<uri>{_URI})(?:\s+\|\s*(?P<title>.*))?"),
    re.compile(
        r"\*+\s+\[\[(?>(?P<uri>.+?)(?=\]\[|\]\](?!\[)))(?:\]\[)?(?P<title>.*)\]\]"
        r"(?P<colon_tags>(?: :.*)?).*"
    ),
)
# The forms with blanks, in which a line with two addresses has two readings.
_FORMS_WITH_BLANKS = (
    re.compile(rf'(?P<uri>{_WEB_URI})(?<![,;:])\s+(?P<quoted_tags>(?:"[^"]*+"\s*+)+)'),
    re.compile(rf'(?P<uri>{_URI_BEFORE_TITLE})(?:\s+[-–—:|]|:)?\s++(?![",;])(?P<title>.*)(?<!")'),
    re.compile(rf'(?P<title>[^\s"].*?)(?<![\s,;])(?:\s+[-–—|]|:)?\s++(?P<uri>{_WEB_URI})'),
    re.compile(rf"(?P<uri>{_URI})"),
)
_LIST_MARKER = re.compile(r"\A(?:[-+*]|\d{1,9}[.)]|\[\d{1,9}\])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_IN_BRACKETS = r"(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*"
_PART = r"[^()\\]++|\\."
_IN_PARENTHESES = rf"(?:{_PART}|\((?:{_PART}|\((?:{_PART}|\((?:{_PART})*\))*\))*\))*"
_LINK = re.compile(
    rf"(?<![!\\])\[(?P<title>{_IN_BRACKETS})\]\((?P<target>{_IN_PARENTHESES})\)"
    rf"|(?:^|(?<=\s))<(?P<uri>{_URI})>"
)
# Maybe with a text in quotes or parentheses.
_TARGET = re.compile(r"<?(?P<uri>[^\s<>]*)>?(?:\s+(?:[\"'].*|\([^()]*\)))?")
_PICTURE = re.compile(rf"!\[([^\[\]]*)\]\({_IN_PARENTHESES}\)")
_NO_LINK = re.compile(_PICTURE.pattern + r"|`[^`]*`|<img\s[^<>]*>", re.IGNORECASE)
# Without the characters around an address, such as a `)` whose `(` is not a part of it.
_BARE_ADDRESS = re.compile(rf"{_SCHEME}(?:[^\s<>\"”`|\[\]()]|\([^\s()]*\))+(?<![.,:;!?*_~'])")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_NEARLY_URIS = ("www.", "mailto:")  # The beginnings of lines that are addresses, and no prose.
# By separator, the beginning of a row of CSV: an address before or behind the separator. There are
# blanks around the `|` of OneTab, which is no separator. A link of Markdown has `](`.
_ROWS = {
    s: re.compile(rf'(?!.*\]\()(?:"?{_SCHEME}[^\s{s}]*{blanks}[{s}]|.*[{s}]{blanks}"?{_SCHEME})')
    for s, blanks in ((",", r"\s*"), (";", r"\s*"), ("|", ""))
}


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the links of each line that is neither empty nor a comment (RFC 2483 section 5).

    Raises Malformed for CSV without a header.
    """
    return _read_text(decode(data))


def is_list(text: str) -> bool:
    """Return whether any of the first lines has an address. Raises Malformed like `read_file`."""
    return any(not entry.skip_reason for entry in islice(_read_text(text), _EXAMINED_LINES))


def _read_text(text: str) -> Iterator[ImportedEntry]:
    beginning = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    _refuse_rows(beginning)
    # Only in Markdown, lines that begin with `#` are headings, not comments.
    is_markdown = any(_LINK.search(line) and not _match(_FORMS, line) for line in beginning)
    tags_by_level: dict[int, tuple[str, ...]] = {}  # Of the headings above the line.
    for number, line in _lines(text, with_comments=is_markdown):
        if len(line) > MAX_ENTRY:
            yield ImportedEntry(number, {"uri": line}, TOO_LARGE)
            continue
        if heading := _HEADING.fullmatch(line):
            level, name = len(heading[1]), heading[2].rstrip("# ")
            tags_by_level = {n: tags for n, tags in tags_by_level.items() if n < level}
        links = _markdown_links(name) if heading else _links(line)
        tags_of_headings = tuple(chain(*tags_by_level.values()))
        count = 0
        for count, fields in enumerate(links, 1):
            if tags_of_headings:
                fields["tags"] = merge_tags(fields.get("tags", []), tags_of_headings)
            yield entry_with_uri(number, fields)
        if heading:
            name = _LINK.sub(r"\g<title>", _PICTURE.sub("", name))
            tags_by_level[level] = folder_tags(name, may_be_built_in=level == 1)
        if count == 0 and (line[0] != "#" or "://" in line):
            yield _unread_line(number, line, is_markdown)


def _unread_line(number: int, line: str, is_markdown: bool) -> ImportedEntry:
    """Return a line without an entry; prose of Markdown and lines such as `---` are ignored."""
    if "://" in line:
        return ImportedEntry(number, {"uri": line}, _TWO_READINGS)
    is_prose = is_markdown and not _LIST_MARKER.sub("", line).lower().startswith(_NEARLY_URIS)
    if is_prose or not any(map(str.isalnum, line)):
        return ignored_entry(number)
    return ImportedEntry(number, {"uri": line}, _NOT_READ)


def _lines(text: str, with_comments: bool = False) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):  # `splitlines` would split at \f, too.
        if (line := line.strip()) and (with_comments or not line.startswith("#")):
            yield number, line[: MAX_ENTRY + 1]  # No other thread runs while a pattern is searched.


def _refuse_rows(lines: list[str]) -> None:
    """Raise Malformed if each line is a row of CSV, except a first line without an address.

    Our own lines have tabs, and are no rows.
    """
    lines = lines[1:] if lines and "://" not in lines[0] else lines
    for separator, row in _ROWS.items():
        if lines and all("\t" not in line and row.match(line) for line in lines):
            raise Malformed(_NO_HEADER.format(separator))


def _links(line: str) -> Iterator[dict[str, Any]]:
    """Yield the fields of each link in a line."""
    match = _match(_FORMS, line)
    item = _LIST_MARKER.sub("", line)
    if not match and _LINK.search(item):
        yield from _markdown_links(item)
    elif match := match or (_match(_FORMS_WITH_BLANKS, item) if item.count("://") < 2 else None):
        yield _fields(match)


def _match(forms: tuple[re.Pattern[str], ...], line: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := form.fullmatch(line))), None)


def _fields(match: re.Match[str]) -> dict[str, Any]:
    """Return the fields of a line that has one of the forms."""
    texts = {name: text.strip() for name, text in match.groupdict().items() if text is not None}
    fields: dict[str, Any] = {n: texts[n] for n in ("uri", "title") if n in texts}
    if tags := texts.get("tags", texts.get("colon_tags", "").replace(":", ",")):
        fields["tags"] = split_tags(tags)
    if "quoted_tags" in texts:
        quoted = [tag for tag in texts["quoted_tags"].split('"')[1::2] if tag.strip()]
        # In newsboat, `~` begins a title, and `!` hides the feed.
        fields["tags"] = [tag for tag in quoted if tag[0] not in "~!"]
        fields |= {"title": tag[1:] for tag in quoted if tag[0] == "~"}
    return fields


def _markdown_links(line: str) -> Iterator[dict[str, Any]]:
    """Yield the fields of each link, and of each address beside links."""
    text, _, tags = line.partition(" <!-- TAGS: ")  # buku writes them behind the only link.
    first, second = islice(chain(_LINK.finditer(text), (None, None)), 2)
    if not first:
        return
    details: dict[str, Any] = {"tags": split_tags(tags.removesuffix("-->"))}  # Of the first link.
    behind = text[first.end() : second.start() if second else None]
    description = behind.strip(" *_-–—:|,").rstrip(" ([")
    if " " in description or (description and not second):  # Not "and" between two links.
        details["description"] = description
    for link in _LINK.finditer(text):
        target = _TARGET.fullmatch((link["target"] or "").strip())
        title = _ESCAPE.sub(r"\1", _PICTURE.sub(r"\1", link["title"] or ""))
        uri = link["uri"] or _ESCAPE.sub(r"\1", target["uri"] if target else link["target"])
        yield {"uri": uri.strip(), "title": title.strip(), **details}
        details = {}
    # An address behind the only link is a part of its description. Any other is a link, too.
    beside = text if second else text[: first.start()]
    for address in _BARE_ADDRESS.finditer(_NO_LINK.sub("", _LINK.sub("", beside))):
        yield {"uri": address[0]}
