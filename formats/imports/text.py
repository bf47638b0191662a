"""Read lists of addresses: our own text format, `text/uri-list`, Markdown, Org and others."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from formats.charset import decode
from formats.imports import markdown, org
from formats.imports.entry import (
    MAX_ENTRY,
    SCHEME_PATTERN,
    TOO_LARGE,
    URI,
    ImportedEntry,
    UnusedValues,
    entry_with_uri,
    ignored_entry,
)
from formats.imports.folders import Folders, Heading, Tags
from formats.imports.roles import role_of
from storage.bookmark import Fields, split_tags
from storage.errors import Malformed

_NO_COLUMN_TEXT = (
    "No column in the first line has a name for the address: write a first line such as "
    "url{delimiter}title. Or, if these are addresses that contain {delimiter!r}, write a tab and a "
    "title behind each of them."
)
_NO_URI_TEXT = "does not begin with a uri"
_AMBIGUOUS_TEXT = "has two readings: write one address in a line, with a tab before its title"
_MAX_EXAMINED_LINES = 100
_MAX_EXAMINED_CHARACTERS = 1000


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield the links in a list (RFC 2483 section 5), an Org or a Markdown document.

    Raises Malformed for a table.
    """
    return _read_text(decode(data))


def is_list(text: str) -> bool:
    """Return whether any of the first entries has an address. Raises Malformed for a table."""
    entries = islice(_read_text(text), _MAX_EXAMINED_LINES)
    return any(not entry.skip_reason for entry in entries)


def _read_text(text: str) -> Iterator[ImportedEntry]:
    beginning = [line for _, line in islice(_numbered_lines(text), _MAX_EXAMINED_LINES)]
    # A title in a list may look like a Markdown link: `a:b<TAB>[x](y)`.
    possible_markup = [line for line in beginning if not _parse_line_of_list(line)]
    if any(map(org.has_link, possible_markup)):
        return _read_org(text)
    if any(map(markdown.has_link, possible_markup)):
        return _read_document(_numbered_lines(text), markdown.read_heading)
    _refuse_table(beginning)
    return _read_list(text)


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text), 1):
        line = line.strip()
        if line:
            # Cut long lines, because a regular expression would search them for a long time while
            # other threads wait. `_entries_of_line` skips lines of more than MAX_ENTRY characters.
            yield number, line[: MAX_ENTRY + 1]


def _read_list(text: str) -> Iterator[ImportedEntry]:
    for number, line in _numbered_lines(text):
        if line.startswith("#"):  # A comment.
            continue
        is_rule = not any(map(str.isalnum, line))  # Such as `---`.
        if is_rule:
            without_link = ignored_entry(number)
        else:
            without_link = ImportedEntry(number, {"uri": line}, _NO_URI_TEXT)
        yield from _entries_of_line(number, line, (), without_link)


def _read_org(text: str) -> Iterator[ImportedEntry]:
    yield from _read_document(_org_lines(text), org.read_heading)
    yield from _count_properties(text).entries()


def _org_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in _numbered_lines(text):
        if not line.startswith(("#", ":")):
            yield number, line


def _count_properties(text: str) -> UnusedValues:
    properties = UnusedValues()
    for _, line in _numbered_lines(text):
        if line.startswith(":"):
            name, _, value = line[1:].partition(":")
            if value and role_of(name) != "ignored":
                properties.add(name)
    return properties


def _read_document(
    lines: Iterable[tuple[int, str]], read_heading: Callable[[str], Heading | None]
) -> Iterator[ImportedEntry]:
    headings = Folders()
    for number, line in lines:
        heading = read_heading(line)
        if heading:
            # `## Cities` ends the section of another `##`, and begins its own.
            headings.close_to(heading.depth)
            yield from _entries_of_line(number, heading.text, headings.tags, without_link=None)
            headings.open_at(heading.depth, heading.tags)
        else:
            yield from _entries_of_line(number, line, headings.tags, ignored_entry(number))


def _entries_of_line(
    number: int, line: str, tags: Tags, without_link: ImportedEntry | None
) -> Iterator[ImportedEntry]:
    """Yield an entry for each link in a line, or `without_link` for a line without links."""
    if len(line) > MAX_ENTRY:
        yield ImportedEntry(number, {"uri": line}, TOO_LARGE)
        return
    has_link = False
    for fields in _find_links(line):
        has_link = True
        if tags:
            fields["tags"] = [*fields.get("tags", []), *tags]
        yield entry_with_uri(number, fields)
    if has_link:
        return
    if "://" in line:
        yield ImportedEntry(number, {"uri": line}, _AMBIGUOUS_TEXT)
    elif without_link:
        yield without_link


def _refuse_table(lines: list[str]) -> None:
    """Raise Malformed if the lines are rows of a CSV table without a header."""
    rows = [line[:_MAX_EXAMINED_CHARACTERS] for line in lines if not line.startswith("#")]
    if not rows:
        return
    if _read_own_export(rows[0]):
        return
    for delimiter in ("\t", ",", ";", "|"):
        rows_of_cells = list(csv.reader(rows, delimiter=delimiter, skipinitialspace=True))
        if _is_table(rows_of_cells):
            raise Malformed(_NO_COLUMN_TEXT.format(delimiter=delimiter))


def _is_table(rows: list[list[str]]) -> bool:
    width = len(rows[0])
    if width == 1 or any(len(row) != width for row in rows):
        return False
    return any(map(_is_web_uri, chain(*rows)))


_LIST_MARKER = re.compile(
    r"""
    \A
    (?: [-+*]              # `- `
      | \d{1,9} [.)]       # `1. `
      | \[ \d{1,9} \]      # `[1] `
    ) \s+
    (?: \[ [ xX] \] \s+ )?  # `[x] `
    """,
    re.VERBOSE,
)
_BEGINNING_OF_WEB_URI = re.compile(rf"{SCHEME_PATTERN}//\S")
_QUOTED_TAGS = re.compile(r'(?:"[^"]*+"\s*+)+')  # `"tag" "another tag"`
_SEPARATORS = ("-", "–", "—", "|", ":", ",", ";")  # Between an address and its title.


def _find_links(line: str) -> Iterator[Fields]:
    fields = _parse_line_of_list(line)
    if fields:
        yield fields
        return
    item = _LIST_MARKER.sub("", line)
    if org.has_link(item):
        yield from org.find_links(item)
    elif markdown.has_link(item):
        yield from markdown.find_links(item)
    elif item.count("://") < 2:
        yield from _find_one_link(item)


def _parse_line_of_list(line: str) -> Fields | None:
    """Return the fields of `uri`, `uri | title` or `uri TAB title TAB tags`, or None."""
    return _read_own_export(line) or _read_onetab(line) or _read_uri(line)


def _find_one_link(line: str) -> Iterator[Fields]:
    for read in (_read_newsboat, _read_uri_and_title, _read_title_and_uri, _read_uri):
        fields = read(line)
        if fields:
            yield fields
            return


def _is_web_uri(text: str) -> bool:
    """Return whether a text is a uri with `//`, such as `https://a.example`, not `mailto:b`."""
    _, _, after_scheme = text.partition(":")
    return after_scheme.startswith("//") and URI.fullmatch(text) is not None


def _read_uri(line: str) -> Fields | None:
    if URI.fullmatch(line):
        return {"uri": line}
    return None


def _read_own_export(line: str) -> Fields | None:
    """Read `uri TAB title TAB tags`."""
    uri, tab, rest = line.partition("\t")
    if not tab:
        return None
    if not _BEGINNING_OF_WEB_URI.match(uri) and not URI.fullmatch(uri):
        return None
    title, _, tags = rest.partition("\t")
    fields: Fields = {"uri": uri.strip(), "title": title.strip()}
    if tags:
        fields["tags"] = split_tags(tags)
    return fields


def _read_onetab(line: str) -> Fields | None:
    """Read `uri | title`."""
    uri, bar, title = line.partition(" |")
    uri = uri.rstrip()
    if not bar or not URI.fullmatch(uri):
        return None
    return {"uri": uri, "title": title.strip()}


def _read_newsboat(line: str) -> Fields | None:
    """Read `uri "tag" "~title"`."""
    uri, _, tags = line.partition(" ")
    if not _is_web_uri(uri) or uri.endswith((":", ",", ";")):
        return None
    if not _QUOTED_TAGS.fullmatch(tags.lstrip()):
        return None
    fields: Fields = {"uri": uri, "tags": []}
    for tag in re.findall('"([^"]*)"', tags):
        if tag.startswith("~"):
            fields["title"] = tag[1:]
        elif not tag.startswith("!"):  # newsboat hides a feed by `!`.
            fields["tags"].append(tag)
    return fields


def _read_uri_and_title(line: str) -> Fields | None:
    """Read `uri title` or `uri - title`."""
    uri, _, title = line.partition(" ")
    uri = uri.rstrip(":,;")
    if not title or not _is_web_uri(uri):
        return None
    if "," in uri or ";" in uri:  # The line may be a row of CSV.
        return None
    first_word, _, without_separator = title.strip().partition(" ")
    if first_word in _SEPARATORS:
        title = without_separator
    return {"uri": uri, "title": title.strip()}


def _read_title_and_uri(line: str) -> Fields | None:
    """Read `title uri` or `title: uri`."""
    title, _, uri = line.rpartition(" ")
    title = title.rstrip(" :,;")
    if not title or not _is_web_uri(uri):
        return None
    without_separator, _, last_word = title.rpartition(" ")
    if last_word in _SEPARATORS:
        title = without_separator
    return {"uri": uri, "title": title.strip()}
