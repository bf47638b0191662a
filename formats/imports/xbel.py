"""Read XBEL documents: this service's own, and those of KDE, GNOME and browser extensions."""

import re
from collections.abc import Iterator

from formats import xbel
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, folder_tags
from formats.imports.roles import read_fields
from formats.netscape import is_firefox_query
from formats.xml import Element, read_elements
from storage.bookmark import split_tags

_YEAR_OR_MONTH = re.compile("[0-9]{4}(-[0-9]{2})?")


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
    if entry.kind != "bookmark":
        return ignored_entry(entry.line)
    if not is_ours and is_firefox_query(entry.attributes.get("href")):
        return ignored_entry(entry.line)
    fields = xbel.element_fields(entry)
    if not is_ours:
        fields.pop("id", None)
    members = fields | {"tags": _own_tags(entry)}
    for name in ("created", "modified"):
        members[name] = _with_day(str(fields.pop(name, "")))
    members["time"] = "".join(entry.texts.get(xbel.KDE_TIME, ()))
    fields |= read_fields(members.items(), list, tags_of_folders)
    return entry_with_uri(entry.line, fields)


def _with_day(date: str) -> str:
    """Return a year or month, which XBEL allows, with the first day."""
    if match := _YEAR_OR_MONTH.fullmatch(date):
        month = match[1] or "-01"
        return f"{date[:4]}{month}-01"
    return date


def _own_tags(entry: Element) -> list[str]:
    """Return the tags that are written inside the entry's element."""
    tags = split_tags(entry.attributes.get("tags", ""))
    if not tags:  # buku writes the attribute in upper case.
        tags = split_tags(entry.attributes.get("TAGS", ""))
    # GNOME writes groups, and marks private entries.
    for text in entry.texts.get(xbel.GROUP, ()):
        tags += split_tags(text)
    if xbel.PRIVATE in entry.texts:
        tags.append("private")
    return tags
