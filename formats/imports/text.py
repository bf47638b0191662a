"""Read lists of addresses: our own text format, `text/uri-list`, and those of other programs.

A line is an address alone or with its title, in one of these forms:

    uri TAB title TAB tags                                  this service
    uri | title                                             OneTab
    - [title](uri) <!-- TAGS: a,b -->  or  - <uri>          Markdown, as buku writes it
    * [[uri][title]] :a:b:             or  * [[uri]]        Org, as buku writes it
    uri; title                         or  uri, title       CSV without a header
"""

import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from formats.imports.charset import decode
from formats.imports.csv import split_cells
from formats.imports.entry import ImportedEntry, entry_with_uri
from storage.bookmark import split_tags
from storage.errors import Malformed

NO_HEADER = (
    "It may be CSV without a header: add one with the names of the columns, such as url,title. "
    "In a list of addresses, write %2C for a comma and %3B for a semicolon."
)
_EXAMINED_LINES = 100  # The first lines decide whether a file is a list, and whether it is CSV.
# White space is allowed only after `//`: not in `Note: a`. `[^…]` excludes control characters.
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,99}:"
    r"(?://\S[^\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]*|[^\s\0-\x1f\x7f-\x9f]+)"
)
# To save time, the atomic group `(?>…)` tries only the last `](` as the end of the title.
_MARKDOWN = re.compile(r"[-+*]\s+(?:(?>\[(?P<title>.*)\]\()(?P<uri>.+)\)|<(?P<uri_alone>.+)>)")
_ORG = re.compile(r"\*+\s+\[\[(?P<uri>.+?)(?:\]\[(?P<title>.*))?")  # The caller removes `]]`.
# The first cell of CSV without a header, such as `https://a.example/` or `"https://a.example/"`.
# A line with a tab or ` | ` before the separator is no CSV, but a line for `_TAB_OR_BAR`.
_URI_CELL = re.compile(r'"?[A-Za-z][\w+.-]*://(?:(?! \| )[^\t"])+"?')
# An address that ends with its host, `/` or a quotation mark: `,` or `;` after it may end a cell.
_COMPLETE_URI = re.compile(r'.*[/"]|[^/]*//[^/?#]*')
# The rest of an address after `,` or `;` begins with a digit, as in `/1,2`, or has `/=&%?` or `#a`.
_REST_OF_URI = re.compile(r"\d|.*(?:[/=&%?]|#\w)")
_TAB_OR_BAR = re.compile(r"\t| \| ")  # Separates uri and title in lists other than CSV.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each line that is neither empty nor a comment (RFC 2483 section 5).

    Raises Malformed for CSV of more than two columns, or if separators may belong to the addresses.
    """
    text = decode(data)
    separator = _find_separator([line for _, line in islice(_lines(text), _EXAMINED_LINES)])
    for number, line in _lines(text):
        fields = _fields(line, separator)
        if _URI.fullmatch(str(fields["uri"])):
            yield entry_with_uri(number, fields)
        else:
            yield ImportedEntry(number, {"uri": line}, "does not begin with a uri")


def is_list(text: str) -> bool:
    """Return whether any of the first lines has an address. Raises Malformed like `read_file`."""
    lines = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    separator = _find_separator(lines)
    return any(_URI.fullmatch(str(_fields(line, separator)["uri"])) for line in lines)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):  # `splitlines` would split at \f, too.
        if (line := line.strip()) and not line.startswith("#"):
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


def _fields(line: str, separator: str) -> dict[str, object]:
    """Return the uri, title and tags in a line. A list that is no CSV has an empty separator."""
    link, _, tags = line.partition(" <!-- TAGS: ")  # Markdown, as buku writes it.
    if match := _MARKDOWN.fullmatch(link):
        tags = tags.removesuffix("-->")  # The tags are in an HTML comment after the link.
        return _with_tags(match["uri"] or match["uri_alone"], match["title"], tags)
    link, _, tags = line.rpartition("]]")
    if match := _ORG.fullmatch(link):
        tags = tags.replace(":", ",") if tags.startswith(" :") else ""  # Other texts are no tags.
        return _with_tags(match["uri"], match["title"], tags)
    uri, tab, rest = line.partition("\t")
    if tab:  # The text format of this service.
        title, _, tags = rest.partition("\t")
        return _with_tags(uri, title, tags)
    if separator:  # CSV without a header. Further separators are part of the title.
        uri, *titles = split_cells(line, separator)
        return {"uri": uri.strip(), "title": separator.join(titles).strip()}
    # OneTab. If the title is empty, `_lines` has stripped the space after the bar: restore it.
    uri, bar, title = f"{line} ".partition(" | ")
    return {"uri": uri.strip(), "title": title.strip()} if bar else {"uri": line}


def _with_tags(uri: str, title: str | None, tags: str) -> dict[str, object]:
    return {"uri": uri.strip(), "title": (title or "").strip(), "tags": split_tags(tags)}
