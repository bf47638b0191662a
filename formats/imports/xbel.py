"""Read XBEL documents: this service's own, and those of KDE, GNOME and browser extensions."""

import re
from collections.abc import Iterator

from formats import xbel_document as xbel
from formats import xml
from formats.imports.charset import decode
from formats.imports.dates import parse_date, parse_date_or_keep
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import merge_tags
from formats.imports.roles import is_firefox_query
from storage.bookmark import split_tags
from storage.errors import Malformed

_DECLARATION = re.compile(r"\A\s*(?:<\?xml\s[^>]*>)?")


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator, in order. Folders become tags.

    Raises Malformed after the entries that precede an error.
    """
    document, error = xbel.XbelDocument(), None
    if xml.declared_charset(data) in ("", "utf-8"):
        # Old programs write windows-1252 all the same, or blank lines before the declaration.
        text = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), decode(data), 1)
        data = text.encode("utf-8", "replace")
    try:
        xml.parse(data, document)
    except Malformed as reason:
        error = reason
    if document.root not in ("", "xbel"):  # Empty if the error comes before any element.
        raise Malformed("It must be an XBEL document, whose root element is xbel.")
    yield from map(_imported_entry, document.entries)
    if error:
        raise error


def _imported_entry(entry: xbel.XbelEntry) -> ImportedEntry:
    """Return the entry of an element. Its tags and dates may be in the forms of other programs."""
    # This service writes ids as `b-…`. Ids of other programs are dropped.
    is_ours = entry.attributes.get("id", "").startswith("b-")
    is_query = not is_ours and is_firefox_query(entry.attributes.get("href"))
    if is_query or entry.kind in xbel.IGNORED_ELEMENTS:
        return ignored_entry(entry.line)
    fields = xbel.element_fields(entry)
    if not is_ours:
        fields.pop("id", None)
    if tags := merge_tags(_own_tags(entry), entry.tags_of_folders):
        fields["tags"] = tags
    dates = {name: _read_date(entry.attributes.get(name, "")) for name in ("added", "modified")}
    kde_seconds, *_ = entry.texts.get(xbel.KDE_TIME, [""])
    dates["added"] = dates["added"] or parse_date(kde_seconds)
    for name, date in dates.items():
        fields[xbel.ATTRIBUTES[name]] = date
    present = {name: value for name, value in fields.items() if value is not None}
    return entry_with_uri(entry.line, present)


def _read_date(value: str) -> str | None:
    # XBEL allows a year or a month alone (https://www.w3.org/TR/NOTE-datetime): add the first day.
    omitted_end_by_length = {len("2002"): "-01-01", len("2002-09"): "-01"}
    return parse_date_or_keep(value + omitted_end_by_length.get(len(value), ""))


def _own_tags(entry: xbel.XbelEntry) -> list[str]:
    """Return the tags that are written inside the entry's element."""
    # buku writes the attribute in upper case. GNOME writes groups, and marks private entries.
    tags = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(xbel.GROUP, ()) for tag in split_tags(text)]
    private = ["private"] if xbel.PRIVATE in entry.texts else []
    return split_tags(tags) + groups + private
