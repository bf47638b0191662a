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
    """Return the entry; other programs have their own ids, more tags, and dates in other forms."""
    if entry.kind in xbel.IGNORED_ELEMENTS:
        return ignored_entry(entry.line)
    fields = xbel.element_fields(entry)
    # An XML id must not begin with a digit, so this service writes the prefix; others rarely do.
    if not entry.attributes.get("id", "").startswith("b-"):
        fields.pop("id", None)
    if tags := merge_tags(_tags_without_folders(entry), entry.folders):
        fields["tags"] = tags
    dates = {name: _parse_xbel_date(entry.attributes.get(name)) for name in ("added", "modified")}
    kde_date, *_ = entry.texts.get(xbel.TIME, [""])
    dates["added"] = dates["added"] or parse_date(kde_date)
    for name, date in dates.items():
        fields[xbel.ATTRIBUTES[name]] = date
    present = {name: value for name, value in fields.items() if value is not None}
    return entry_with_uri(entry.line, present)


def _parse_xbel_date(value: str | None) -> str | None:
    # XBEL allows a year or a month alone (https://www.w3.org/TR/NOTE-datetime): add the first day.
    if value and len(value) == len("2002"):
        return parse_date(f"{value}-01-01")
    return parse_date(f"{value}-01" if value and len(value) == len("2002-09") else value)


def _tags_without_folders(entry: xbel.XbelEntry) -> list[str]:
    # buku writes the attribute in upper case. GNOME writes elements for groups and private entries.
    own = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(xbel.GROUP, ()) for tag in split_tags(text)]
    return split_tags(own) + groups + ["private"] * (xbel.PRIVATE in entry.texts)
