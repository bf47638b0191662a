"""Read XBEL documents: this service's own, and those of KDE, GNOME and browser extensions."""

import re
from collections.abc import Iterator

from formats import xbel
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import fields_of_roles, group_by_role
from formats.netscape import is_firefox_query
from formats.xml import Element, read_elements
from storage.bookmark import split_tags

_YEAR, _MONTH = re.compile(r"\A[0-9]{4}\Z"), re.compile(r"\A[0-9]{4}-[0-9]{2}\Z")


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
    dates = [(name, _with_day(fields.pop(name, ""))) for name in ("created", "modified")]
    kde_times = [("time", seconds) for seconds in entry.texts.get(xbel.KDE_TIME, ())]
    values_by_role = group_by_role([*fields.items(), *dates, *kde_times])
    fields |= fields_of_roles(values_by_role, _own_tags(entry), tags_of_folders)
    return entry_with_uri(entry.line, fields)


def _with_day(date: object) -> str:
    # XBEL allows a year or a month alone (https://www.w3.org/TR/NOTE-datetime): add the first day.
    return _MONTH.sub(r"\g<0>-01", _YEAR.sub(r"\g<0>-01", str(date)))


def _own_tags(entry: Element) -> list[str]:
    """Return the tags that are written inside the entry's element."""
    # buku writes the attribute in upper case. GNOME writes groups, and marks private entries.
    tags = entry.attributes.get("tags") or entry.attributes.get("TAGS") or ""
    groups = [tag for text in entry.texts.get(xbel.GROUP, ()) for tag in split_tags(text)]
    private = ["private"] if xbel.PRIVATE in entry.texts else []
    return split_tags(tags) + groups + private
