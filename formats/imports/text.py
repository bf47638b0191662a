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

from formats.errors import Malformed
from formats.imports.charset import decode
from formats.imports.csv import split_cells
from formats.imports.entry import ImportedEntry, entry_with_uri
from storage.bookmark import split_tags

NO_HEADER = (
    "It may be CSV without a header: add one with the names of the columns, such as url,title. "
    "In a list of addresses, write %2C for a comma and %3B for a semicolon."
)
_EXAMINED_LINES = 100  # They decide whether a file is a list, and whether it is CSV.
# Only an address with `//` may have white space, so `Note: this` is none.
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,99}:"
    r"(?://\S[^\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]*|[^\s\0-\x1f\x7f-\x9f]+)"
)
# To save time, the atomic group `(?>…)` tries only the last `](` as the end of the title.
_MARKDOWN = re.compile(r"[-+*]\s+(?:(?>\[(?P<title>.*)\]\()(?P<uri>.+)\)|<(?P<bare>.+)>)")
_ORG = re.compile(r"\*+\s+\[\[(?P<uri>.+?)(?:\]\[(?P<title>.*))?")  # The caller removes `]]`.
# An address, with the closing quotation mark of a quoted cell, and the text behind the separator.
_CSV_ROW = r'"?([A-Za-z][\w+.-]*://(?:(?! \| )[^\t"%s])+"?)%s(.*)'
_SCHEME_AND_HOST = re.compile(r"[^/]*//[^/?#]*")
# The rest of an address behind a separator in it: a digit, as in `/1,2`, or one of `/=&%?` or `#a`.
_REST_OF_URI = re.compile(r"\d|.*(?:[/=&%?]|#\w)")
_TAB_OR_BAR = re.compile(r"\t| \| ")  # Separates uri and title in lists other than CSV.


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each line that is neither empty nor a comment (RFC 2483 section 5).

    Raises Malformed for CSV that has more than two columns or may be a list of addresses.
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
    """Return whether at least one of the first lines is an address, alone or with a title."""
    lines = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    separator = _find_separator(lines)
    return any(_URI.fullmatch(str(_fields(line, separator)["uri"])) for line in lines)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):
        if (line := line.strip()) and not line.startswith("#"):
            yield number, line


def _find_separator(lines: Sequence[str]) -> str:
    """Return the separator of a list that is CSV, empty for a list of another form.

    In CSV at least every second line has an address, the separator and a text. More of these texts
    must look like titles than like rests of addresses. Raises Malformed for a tie, which the user
    has to decide, or for more than two columns.
    """
    for separator in ";,":
        row = re.compile(_CSV_ROW % (separator, separator))
        rows = [match.groups() for line in lines if (match := row.fullmatch(line))]
        title_votes = sum(_title_vote(uri, text) for uri, text in rows)
        is_tie = title_votes == 0
        # A tie of a single row does not matter: one line is hardly a table.
        if len(rows) < len(lines) / 2 or title_votes < 0 or (is_tie and len(rows) <= 1):
            continue
        if is_tie or all(separator in text for _, text in rows):  # Or more than two columns.
            raise Malformed(NO_HEADER)
        return separator
    return ""


def _title_vote(uri: str, text: str) -> int:
    """Return 1 if the text behind a separator is a title, -1 if the rest of the uri, else 0."""
    before_tab_or_bar, *_ = _TAB_OR_BAR.split(text)  # Behind it stands a title, with its spaces.
    if " " in before_tab_or_bar:  # The rest of an address hardly has one.
        return 1
    if _REST_OF_URI.match(text):
        return -1
    # Few addresses go on with a separator behind a slash, none behind the host or a closing quote.
    return int(uri.endswith(("/", '"')) or bool(_SCHEME_AND_HOST.fullmatch(uri)))


def _fields(line: str, separator: str) -> dict[str, object]:
    body, _, tags = line.partition(" <!-- TAGS: ")
    if match := _MARKDOWN.fullmatch(body):
        return _with_tags(match["uri"] or match["bare"], match["title"], tags.removesuffix("-->"))
    body, _, tags = line.rpartition("]]")
    if match := _ORG.fullmatch(body):
        tags = tags.replace(":", ",") if tags.startswith(" :") else ""
        return _with_tags(match["uri"], match["title"], tags)
    uri, tab, rest = line.partition("\t")
    if tab:  # The text format of this service.
        title, _, tags = rest.partition("\t")
        return _with_tags(uri, title, tags)
    if separator:
        uri, *titles = split_cells(line, separator)
        return {"uri": uri.strip(), "title": separator.join(titles).strip()}
    # OneTab. Restore the space behind the bar, which `_lines` strips if the title is empty.
    uri, bar, title = f"{line} ".partition(" | ")
    return {"uri": uri.strip(), "title": title.strip()} if bar else {"uri": line}


def _with_tags(uri: str, title: str | None, tags: str) -> dict[str, object]:
    return {"uri": uri.strip(), "title": (title or "").strip(), "tags": split_tags(tags)}
