"""Read lists of addresses: our own text format, `text/uri-list`, Markdown, Org and other lists.

A line of a list without links is an address alone or with its title, in one of these forms:

    uri TAB title TAB tags                     this service
    uri | title                                OneTab
    uri title, or uri - title                  qutebrowser
    title uri                                  qutebrowser's quickmarks
    uri "tag" "another tag"                    newsboat
    * [[uri][title]] :a:b:  or  * [[uri]]      Org, as buku writes it
    uri; title              or  uri, title     CSV without a header

In Markdown every link of a line is an entry, and headings become tags.
"""

import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from formats.imports.csv import split_cells
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import folder_tags, merge_tags
from formats.text import decode
from storage.bookmark import split_tags
from storage.errors import Malformed

NO_HEADER = (
    "It may be CSV without a header: add one with the names of the columns, such as url,title. "
    "In a list of addresses, write %2C for a comma and %3B for a semicolon."
)
_EXAMINED_LINES = 100  # The first lines decide whether a file is a list, and whether it is CSV.
_NOT_READ = "does not begin with a uri"
_TWO_READINGS = "has two readings: write one address in a line, with its title after a tab"
_URI = r"[A-Za-z][A-Za-z0-9+.-]{0,99}:[^\s\0-\x1f\x7f-\x9f]+"
_WEB_URI = _URI.replace(":[", "://[")
_QUOTED = re.compile(r'"([^"]*)"')
# The forms of a line. The last three have titles with blanks, so only a web address is one there.
_FORMS = (
    re.compile(rf"(?P<uri>{_URI})(?:\s+\|\s*(?P<title>.*))?"),
    re.compile(rf'(?P<uri>{_WEB_URI})\s+(?P<quoted_tags>(?:"[^"]*"\s*)+)'),
    re.compile(rf'(?P<uri>{_WEB_URI})\s+(?:[-–—:|]\s+)?(?!")(?P<title>.*)(?<!")'),
    re.compile(rf'(?P<title>[^\s"].*?)(?<!\s)\s++(?P<uri>{_WEB_URI})'),
)
_LIST_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_IN_BRACKETS = r"(?:[^\[\]\\]++|\\.|\[[^\[\]]*+\])*"
_IN_PARENTHESES = r"(?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*\))*\))*"
_LINK = re.compile(
    rf"(?<!!)\[(?P<title>{_IN_BRACKETS})\]\((?P<target>{_IN_PARENTHESES})\)"
    rf"|(?:^|(?<=\s))<(?P<uri>{_URI})>"
)
_TARGET = re.compile(r"<?(?P<uri>[^\s<>]*)>?(?:\s+[\"'].*)?")  # Maybe with a text in quotes.
_PICTURE_OR_ESCAPE = re.compile(r"!\[([^\[\]]*)\]\([^()]*\)|\\([\[\]])")
_ORG = re.compile(r"\*+\s+\[\[(?P<uri>.+?)(?:\]\[(?P<title>.*))?")  # The caller removes `]]`.
# The first cell of CSV without a header, such as `https://a.example/` or `"https://a.example/"`.
_URI_CELL = re.compile(r'[A-Za-z][\w+.-]*://[^\s"]+|"[A-Za-z][\w+.-]*://[^\t"]+"')
# An address that ends with its host, `/` or a quotation mark: `,` or `;` after it may end a cell.
_COMPLETE_URI = re.compile(r'.*[/"]|[^/]*//[^/?#]*')
# The rest of an address after `,` or `;` begins with a digit, as in `/1,2`, or has `/=&%?` or `#a`.
_REST_OF_URI = re.compile(r"\d|.*(?:[/=&%?]|#\w)")
_TAB_OR_BAR = re.compile(r"\t| \| ")  # Separates uri and title in lists other than CSV.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the links of each line that is neither empty nor a comment (RFC 2483 section 5).

    Raises Malformed for CSV of more than two columns, or if separators may belong to the addresses.
    """
    text = decode(data)
    lines = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    separator = _find_separator(lines)
    # Only in Markdown, lines that begin with `#` are headings, not comments.
    is_markdown = any(_LINK.search(line) and not _FORMS[0].match(line) for line in lines)
    tags_by_level: dict[int, tuple[str, ...]] = {}  # Of the headings above the line.
    for number, line in _lines(text, with_comments=is_markdown):
        if heading := _HEADING.fullmatch(line):
            level, name = len(heading[1]), heading[2].rstrip("# ")
            tags_by_level = {n: tags for n, tags in tags_by_level.items() if n < level}
            tags_by_level[level] = folder_tags(name, may_be_built_in=level == 1)
        elif not line.startswith("#"):
            yield from _entries(number, line, separator, tuple(chain(*tags_by_level.values())))


def _entries(
    number: int, line: str, separator: str, tags: tuple[str, ...]
) -> Iterator[ImportedEntry]:
    links = _links(line, separator)
    for fields in links:
        own_tags = fields.get("tags", [])
        fields = fields | {"tags": merge_tags(own_tags, tags)} if tags else fields
        yield entry_with_uri(number, fields)
    if not links:
        reason = _TWO_READINGS if "://" in line else _NOT_READ
        has_words = any(map(str.isalnum, line))  # A line such as `---` is no bookmark.
        yield ImportedEntry(number, {"uri": line}, reason) if has_words else ignored_entry(number)


def is_list(text: str) -> bool:
    """Return whether any of the first lines has an address. Raises Malformed like `read_file`."""
    lines = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    separator = _find_separator(lines)
    return any(_links(line, separator) for line in lines)


def _lines(text: str, with_comments: bool = False) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):  # `splitlines` would split at \f, too.
        if (line := line.strip()) and (with_comments or not line.startswith("#")):
            yield number, line


def _find_separator(lines: Sequence[str]) -> str:
    """Return `;` or `,` if a list is CSV without a header, empty for a list of another form.

    In CSV, at least every second line has an address, the separator and a text, and more of these
    texts look like titles than like the rest of an address. Raises Malformed for a tie, which only
    the user can decide, and for more than two columns, because their meaning is unknown.
    """
    for separator in ";,":
        split_lines = [line.partition(separator) for line in lines if separator in line]
        rows = [(uri, text) for uri, _, text in split_lines if _URI_CELL.fullmatch(uri)]
        votes_for_csv = sum(_vote_for_csv(uri, text) for uri, text in rows)
        is_tie = votes_for_csv == 0
        # A tie of a single row does not matter: one line is hardly a table.
        if len(rows) < len(lines) / 2 or votes_for_csv < 0 or (is_tie and len(rows) <= 1):
            continue  # The list is no CSV with this separator.
        has_more_columns = all(separator in text for _, text in rows)
        if is_tie or has_more_columns:  # Refuse a doubtful table rather than store wrong values.
            raise Malformed(NO_HEADER)
        return separator
    return ""


def _vote_for_csv(uri: str, text: str) -> int:
    """Return 1 if the text after a separator looks like a title, -1 if like the uri's rest, else 0.

    In `https://a.example/1,2 | A title` the bar precedes the title; the comma belongs to the uri.
    """
    before_tab_or_bar, *_ = _TAB_OR_BAR.split(text)
    if " " in before_tab_or_bar:  # A title: addresses hardly have spaces.
        return 1
    if _REST_OF_URI.match(text):
        return -1
    return 1 if _COMPLETE_URI.fullmatch(uri) else 0  # Few uris go on with `,` or `;` here.


def _links(line: str, separator: str) -> list[dict[str, Any]]:
    """Return the fields of each link in a line. A list that is no CSV has an empty separator."""
    uri, tab, rest = line.partition("\t")
    if tab and (_FORMS[0].fullmatch(uri) or re.match(_WEB_URI, uri)):  # Ours.
        title, _, tags = rest.partition("\t")
        return [_with_tags(uri, title, tags)]
    if not separator and (match := _FORMS[0].fullmatch(line)):
        return [_fields(match)]
    link, _, tags = line.rpartition("]]")
    if match := _ORG.fullmatch(link):
        tags = tags.replace(":", ",") if tags.startswith(" :") else ""  # Other texts are no tags.
        return [_with_tags(match["uri"], match["title"], tags)]
    line = _LIST_MARKER.sub("", line, 1) if _LIST_MARKER.match(line) else line
    if links := _markdown_links(line):
        return links
    if separator:  # CSV without a header. Further separators are part of the title.
        uri, *titles = split_cells(line, separator)
        fields = {"uri": uri.strip(), "title": separator.join(titles).strip()}
        return [fields] if re.match(_WEB_URI, uri.strip()) else []
    matches = (match for form in _FORMS if (match := form.fullmatch(line)))
    return [_fields(match) for match in islice(matches, 1) if line.count("://") < 2]


def _fields(match: re.Match[str]) -> dict[str, Any]:
    """Return the fields of a line that has one of the `_FORMS`."""
    fields = {name: value for name, value in match.groupdict().items() if value is not None}
    if "quoted_tags" in fields:  # newsboat marks a title by `~`, and hides feeds by the tag `!`.
        tags = _QUOTED.findall(fields.pop("quoted_tags"))
        fields |= {"title": tag[1:] for tag in tags if tag.startswith("~")}
        return fields | {"tags": [tag for tag in tags if tag.strip() and tag[0] not in "~!"]}
    return fields


def _markdown_links(line: str) -> list[dict[str, Any]]:
    text, _, tags = line.partition(" <!-- TAGS: ")  # As buku writes them.
    links = list(_LINK.finditer(text))
    found = []
    for link in links:
        target = _TARGET.fullmatch((link["target"] or "").strip())
        title = _PICTURE_OR_ESCAPE.sub(r"\1\2", link["title"] or "")
        uri = link["uri"] or (target["uri"] if target else link["target"])
        found.append(_with_tags(uri, title, tags.removesuffix("-->")))
    if len(links) == 1 and (description := text[links[0].end() :].strip(" *_-–—:|")):
        found[0]["description"] = description
    return found


def _with_tags(uri: str, title: str | None, tags: str) -> dict[str, Any]:
    return {"uri": uri.strip(), "title": (title or "").strip(), "tags": split_tags(tags)}
