"""Read XBEL documents: this service's own, and those of desktops and browser extensions."""

from collections.abc import Iterator

from formats import xbel_document as xbel
from formats import xml
from formats.errors import Malformed
from formats.imports.dates import parse_date
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import merge_tags
from storage.bookmark import split_tags


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator, in order. Folders become tags.

    Raises Malformed after the entries that precede an error.
    """
    document, error = xbel.XbelDocument(), None
    try:
        xml.parse(data, document)
    except Malformed as reason:
        error = reason
    if document.root not in ("", "xbel"):
        raise Malformed("It is no XBEL document, whose root element is xbel.")
    yield from map(_imported_entry, document.entries)
    if error:
        raise error


def _imported_entry(entry: xbel.XbelEntry) -> ImportedEntry:
    """Return the entry, with the dates and tags of other programs and no id of theirs."""
    if entry.kind in xbel.IGNORED_ELEMENTS:
        return ignored_entry(entry.line)
    fields = xbel.own_fields(entry)
    if not entry.attributes.get("id", "").startswith("b-"):
        fields.pop("id", None)
    if tags := merge_tags(_own_tags(entry), entry.folders):
        fields["tags"] = tags
    dates = {name: _parse_xbel_date(entry.attributes.get(name)) for name in ("added", "modified")}
    dates["added"] = dates["added"] or parse_date(entry.texts.get(xbel.TIME, [""])[0])
    for name, date in dates.items():
        fields.pop(xbel.ATTRIBUTES[name], None)
        if date:
            fields[xbel.ATTRIBUTES[name]] = date
    return entry_with_uri(entry.line, fields)


def _parse_xbel_date(value: str | None) -> str | None:
    # XBEL allows a year or a month alone: https://www.w3.org/TR/NOTE-datetime
    is_part = value and len(value) in (len("2002"), len("2002-09"))
    return parse_date(f"{value}-01-01"[: len("2002-09-01")] if is_part else value)


def _own_tags(entry: xbel.XbelEntry) -> list[str]:
    # buku writes the attribute in upper case.
    own = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(xbel.GROUP, ()) for tag in split_tags(text)]
    return split_tags(own) + groups + ["private"] * (xbel.PRIVATE in entry.texts)
