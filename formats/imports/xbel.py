"""Read XBEL documents of this and other programs."""

from collections.abc import Iterator

from formats import xbel
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, Tags, folder_tags
from formats.imports.roles import note_wrong_date, read_fields
from formats.netscape import is_firefox_query
from formats.xml import Element, read_elements
from storage.bookmark import Fields, split_tags


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator.

    Yields the entries above an error, then raises Malformed.
    """
    folders = Folders()
    for element in read_elements(data, xbel.new_builder(), ("xbel",)):
        folders.close_to(element.level)
        if element.tag == "folder":
            folders.open(_folder_tags(element))
        else:
            yield _read_entry(element, folders.tags)


def _folder_tags(folder: Element) -> Tags:
    if folder.attributes.get("toolbar") == "yes":
        return ()
    return folder_tags(folder.text_of("title") or "", is_top_level=folder.level == 0)


def _read_entry(element: Element, tags_of_folders: Tags) -> ImportedEntry:
    if element.tag != "bookmark":
        return ignored_entry(element.line)
    fields = _bookmark_fields(element, tags_of_folders)
    is_own_export = element.attributes.get("id", "").startswith("b-")
    if not is_own_export:
        fields.pop("id", None)
        if is_firefox_query(fields.get("uri")):
            return ignored_entry(element.line)
    return entry_with_uri(element.line, fields)


def _bookmark_fields(bookmark: Element, tags_of_folders: Tags) -> Fields:
    fields = xbel.element_fields(bookmark)
    # `read_fields` converts dates of other programs, such as `1152015210`, and drops `n/a`.
    values = {
        "created": fields.pop("created", ""),
        "modified": fields.pop("modified", ""),
        "time": bookmark.text_of(xbel.KDE_TIME),
        "tags": _own_tags(bookmark),
    }
    fields |= read_fields(values.items(), split_tags=list, tags_of_folders=tags_of_folders)
    note_wrong_date(values.items(), fields)
    return fields


def _own_tags(bookmark: Element) -> list[str]:
    tags = split_tags(bookmark.attributes.get("tags", ""))
    if not tags:  # buku writes the attribute in upper case.
        tags = split_tags(bookmark.attributes.get("TAGS", ""))
    # GNOME writes groups and private entries.
    tags += split_tags(bookmark.text_of(xbel.GROUP) or "")
    if xbel.PRIVATE in bookmark.texts:
        tags.append("private")
    return tags
