"""Read XBEL documents: this service's own, and those of KDE, GNOME and browser extensions."""

from collections.abc import Iterator

from formats import xbel
from formats.imports.dates import parse_date, parse_date_or_keep
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags, merge_tags
from formats.netscape import is_firefox_query
from formats.xml import Element, read_elements
from storage.bookmark import split_tags


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator, in order. Folders become tags.

    Raises Malformed after the entries that precede an error.
    """
    folders = Folders()
    for element in read_elements(data, xbel.new_collector(), ("xbel",)):
        folders.close_to(element.level)
        if element.kind == "folder":
            folders.open(_folder_tags(element))
        else:
            yield _imported_entry(element, folders.tags)


def _folder_tags(folder: Element) -> tuple[str, ...]:
    """Return the tags for a folder, none for a browser's own, which are only at the top."""
    if folder.attributes.get("toolbar") == "yes":
        return ()
    title, *_ = folder.texts.get("title", [""])
    return folder_tags(title, may_be_built_in=folder.level == 0)


def _imported_entry(entry: Element, tags_of_folders: tuple[str, ...]) -> ImportedEntry:
    """Return the entry of an element. Its tags and dates may be in the forms of other programs."""
    # This service writes ids as `b-…`. Ids of other programs are dropped.
    is_ours = entry.attributes.get("id", "").startswith("b-")
    is_query = not is_ours and is_firefox_query(entry.attributes.get("href"))
    if is_query or entry.kind != "bookmark":
        return ignored_entry(entry.line)
    fields = xbel.element_fields(entry)
    if not is_ours:
        fields.pop("id", None)
    if tags := merge_tags(_own_tags(entry), tags_of_folders):
        fields["tags"] = tags
    kde_seconds, *_ = entry.texts.get(xbel.KDE_TIME, [""])
    fields["created"] = _read_date(entry.attributes.get("added", "")) or parse_date(kde_seconds)
    fields["modified"] = _read_date(entry.attributes.get("modified", ""))
    present = {name: value for name, value in fields.items() if value is not None}
    return entry_with_uri(entry.line, present)


def _read_date(value: str) -> str | None:
    # XBEL allows a year or a month alone (https://www.w3.org/TR/NOTE-datetime): add the first day.
    omitted_end_by_length = {len("2002"): "-01-01", len("2002-09"): "-01"}
    return parse_date_or_keep(value + omitted_end_by_length.get(len(value), ""))


def _own_tags(entry: Element) -> list[str]:
    """Return the tags that are written inside the entry's element."""
    # buku writes the attribute in upper case. GNOME writes groups, and marks private entries.
    tags = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(xbel.GROUP, ()) for tag in split_tags(text)]
    private = ["private"] if xbel.PRIVATE in entry.texts else []
    return split_tags(tags) + groups + private
