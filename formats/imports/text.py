"""Read lists of addresses: our own text format, `text/uri-list`, Markdown, Org and other lists.

A line of a list has one of these forms, or is an address alone:

    uri TAB title TAB tags                     this service
    uri | title                                OneTab
    uri title, or uri - title                  qutebrowser
    title uri                                  qutebrowser's quickmarks
    uri "tag" "another tag"                    newsboat

In Markdown and Org, every link of a line is an entry, and headings become tags.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from formats.charset import decode
from formats.imports import markdown, org
from formats.imports.entry import (
    MAX_ENTRY,
    SCHEME,
    TOO_LARGE,
    URI,
    ImportedEntry,
    UnreadValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.folders import Folders, Heading, merge_tags
from formats.imports.roles import role_of
from storage.bookmark import split_tags
from storage.errors import Malformed

_Fields = dict[str, Any]

_NO_COLUMN = (
    "No column in the first line has a name for the address: write a first line such as "
    "url{0}title. Or, if these are addresses that contain {0!r}, write a tab and a title behind "
    "each of them."
)
_EXAMINED_LINES = 100  # The first lines decide whether a text is a list, Markdown, Org or CSV.
_EXAMINED_CHARACTERS = 1000  # The beginning of a line decides whether it may be a row of CSV.
_NOT_READ = "does not begin with a uri"
_TWO_READINGS = "has two readings: write one address in a line, with a tab before its title"


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the links of each line that is neither empty nor a comment (RFC 2483 section 5).

    Raises Malformed for CSV, if no column has a known name for the address.
    """
    return _read_text(decode(data))


def is_list(text: str) -> bool:
    """Return whether any of the first lines has an address. Raises Malformed like `read_file`."""
    for entry in islice(_read_text(text), _EXAMINED_LINES):
        if not entry.skip_reason:
            return True
    return False


def _read_text(text: str) -> Iterator[ImportedEntry]:
    beginning = [line for _, line in islice(_lines(text), _EXAMINED_LINES)]
    # A list may have brackets in its titles.
    other_lines = [line for line in beginning if not _read_form(_FORMS, line)]
    if any(map(org.has_link, other_lines)):
        return _read_org(text)
    if any(map(markdown.has_link, other_lines)):
        return _read_document(_lines(text), markdown.read_heading)
    _refuse_table(beginning)
    return _read_list(text)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is not blank."""
    for number, line in enumerate(io.StringIO(text), 1):  # `splitlines` would split at \f, too.
        line = line.strip()
        if line:
            # Cut long lines, because `re` blocks all other threads while it searches.
            yield number, line[: MAX_ENTRY + 1]


def _read_list(text: str) -> Iterator[ImportedEntry]:
    """Yield the links of a list, in which each line must have one."""
    for number, line in _lines(text):
        if line.startswith("#"):  # A comment.
            continue
        without_link = ImportedEntry(number, {"uri": line}, _NOT_READ)
        if not any(map(str.isalnum, line)):  # A rule such as `---`.
            without_link = ignored_entry(number)
        yield from _read_line(number, line, (), without_link)


def _read_org(text: str) -> Iterator[ImportedEntry]:
    """Yield the links of an Org file, and at its end a note on its properties."""
    unread_values = UnreadValues()
    lines = _org_lines(text, unread_values)
    yield from _read_document(lines, org.read_heading)
    yield from unread_values.entries()


def _org_lines(text: str, unread_values: UnreadValues) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither comments nor properties. Counts the properties."""
    for number, line in _lines(text):
        if line.startswith(":"):  # A property such as `:CREATED: [2024-01-02]`.
            name, _, value = line[1:].partition(":")
            if value and role_of(name) != "id":
                unread_values.add(name)
        elif not line.startswith("#"):
            yield number, line


def _read_document(
    lines: Iterable[tuple[int, str]], read_heading: Callable[[str], Heading | None]
) -> Iterator[ImportedEntry]:
    """Yield the links of Markdown or Org. Lines of prose without a link are ignored."""
    headings = Folders()
    for number, line in lines:
        heading = read_heading(line)
        if heading:
            level = heading.level - 1
            headings.close_to(level)
            yield from _read_line(number, heading.text, headings.tags, None)
            headings.open_at(level, heading.tags)
        else:
            yield from _read_line(number, line, headings.tags, ignored_entry(number))


def _read_line(
    number: int, line: str, tags: tuple[str, ...], without_link: ImportedEntry | None
) -> Iterator[ImportedEntry]:
    """Yield an entry with these tags for each link in the line; `without_link` if it has none."""
    if len(line) > MAX_ENTRY:
        yield ImportedEntry(number, {"uri": line}, TOO_LARGE)
        return
    has_link = False
    for fields in _find_links(line):
        if tags:
            fields["tags"] = merge_tags(fields.get("tags", []), tags)
        has_link = True
        yield entry_with_uri(number, fields)
    if has_link:
        return
    if "://" in line:
        yield ImportedEntry(number, {"uri": line}, _TWO_READINGS)
    elif without_link:
        yield without_link


# --- Tables ---


def _refuse_table(lines: list[str]) -> None:
    """Raise Malformed if the lines are rows of a CSV table without a header."""
    rows = [line[:_EXAMINED_CHARACTERS] for line in lines if not line.startswith("#")]
    if not rows or _read_own(rows[0]):
        return
    for delimiter in ("\t", ",", ";", "|"):
        cells = csv.reader(rows, delimiter=delimiter, skipinitialspace=True)
        if _is_table(list(cells)):
            raise Malformed(_NO_COLUMN.format(delimiter))


def _is_table(rows: list[list[str]]) -> bool:
    """Return whether the rows have equally many cells, and one has an address."""
    width = len(rows[0])
    if width == 1:
        return False
    has_address = False
    for row in rows:
        if len(row) != width:
            return False
        if any(map(_WEB_URI.fullmatch, row)):
            has_address = True
    return has_address


# --- The forms of a line ---

# Such as `- `, `1. ` or `[1] `, or `- [x] ` of a list of tasks.
_LIST_MARKER = re.compile(
    r"""
    \A (?: [-+*] | \d{1,9} [.)] | \[\d{1,9}\] ) \s+
    (?: \[ [ xX] \] \s+ )?
    """,
    re.VERBOSE,
)
_WEB_URI = re.compile(rf"(?={SCHEME}//){URI.pattern}")  # `https://a.example/b`, not `mailto:b`
_BEGIN_OF_WEB_URI = re.compile(rf"{SCHEME}//\S")  # Matches `https://a.example/b c`, too.
_QUOTED_TAGS = re.compile(r'(?:"[^"]*+"\s*+)+')  # `"tag" "another tag"`
_SEPARATORS = ("-", "–", "—", "|", ":", ",", ";")  # Between an address and its title.


def _find_links(line: str) -> Iterable[_Fields]:
    """Return the fields of each link in a line."""
    fields = _read_form(_FORMS, line)
    if fields:
        return [fields]
    item = _LIST_MARKER.sub("", line)
    if org.has_link(item):
        return org.find_links(item)
    if markdown.has_link(item):
        return markdown.find_links(item)
    if item.count("://") > 1:  # A line with two addresses is ambiguous.
        return []
    fields = _read_form(_FORMS_WITH_BLANKS, item)
    if fields:
        return [fields]
    return []


def _read_form(forms: tuple[Callable[[str], _Fields | None], ...], line: str) -> _Fields | None:
    for read in forms:
        fields = read(line)
        if fields:
            return fields
    return None


def _read_uri(line: str) -> _Fields | None:
    if URI.fullmatch(line):
        return {"uri": line}
    return None


def _read_own(line: str) -> _Fields | None:
    """Read a line that this service has exported: `uri TAB title TAB tags`."""
    uri, tab, rest = line.partition("\t")
    if not tab:
        return None
    if not _BEGIN_OF_WEB_URI.match(uri) and not URI.fullmatch(uri):
        return None
    title, _, tags = rest.partition("\t")
    fields: _Fields = {"uri": uri.strip(), "title": title.strip()}
    if tags:
        fields["tags"] = split_tags(tags)
    return fields


def _read_onetab(line: str) -> _Fields | None:
    """Read `uri | title`."""
    uri, bar, title = line.partition(" |")
    if not bar or not URI.fullmatch(uri.rstrip()):
        return None
    return {"uri": uri.rstrip(), "title": title.strip()}


def _read_newsboat(line: str) -> _Fields | None:
    """Read `uri "tag" "~title"`."""
    uri, _, tags = line.partition(" ")
    if not _WEB_URI.fullmatch(uri) or uri.endswith((":", ",", ";")):
        return None
    if not _QUOTED_TAGS.fullmatch(tags.lstrip()):
        return None
    fields: _Fields = {"uri": uri, "tags": []}
    for tag in tags.split('"')[1::2]:
        if tag.startswith("~"):
            fields["title"] = tag[1:]
        elif not tag.startswith("!"):  # In newsboat, a tag `!` hides the feed.
            fields["tags"].append(tag)
    return fields


def _read_uri_and_title(line: str) -> _Fields | None:
    """Read `uri title`, `uri - title` and the like."""
    uri, _, title = line.partition(" ")
    uri = uri.rstrip(":,;")
    if not title or not _WEB_URI.fullmatch(uri):
        return None
    if "," in uri or ";" in uri:  # The line may be a row of CSV.
        return None
    first, _, others = title.strip().partition(" ")
    if first in _SEPARATORS:
        title = others
    return {"uri": uri, "title": title.strip()}


def _read_title_and_uri(line: str) -> _Fields | None:
    """Read `title uri`, `title: uri` and the like."""
    title, _, uri = line.rpartition(" ")
    title = title.rstrip(" :,;")
    if not title or not _WEB_URI.fullmatch(uri):
        return None
    others, _, last = title.rpartition(" ")
    if last in _SEPARATORS:
        title = others
    return {"uri": uri, "title": title.strip()}


# These forms are clear. A line with two addresses would be ambiguous in the others.
_FORMS = (_read_own, _read_onetab, _read_uri)
_FORMS_WITH_BLANKS = (_read_newsboat, _read_uri_and_title, _read_title_and_uri, _read_uri)
