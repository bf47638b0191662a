"""Read XBEL documents of this and other programs."""

from collections.abc import Iterator

from formats import xbel
from formats.imports.entry import ImportedEntry, entry_with_uri, ignored_entry
from formats.imports.folders import Folders, Tags, folder_tags
from formats.imports.roles import read_fields
from formats.netscape import is_firefox_query
from formats.xml import Element, read_elements
from storage.bookmark import Fields, split_tags


def read_file(data: bytes) -> Iterator[ImportedEntry]:
    """Yield each bookmark, alias and separator.

    Raises Malformed at an error, after the entries above it.
    """
    folders = Folders()
    for element in read_elements(data, xbel.new_collector(), ("xbel",)):
        folders.close_to(element.level)
        if element.kind == "folder":
            folders.open(_folder_tags(element))
        else:
            yield _read_entry(element, folders.tags)


def _folder_tags(folder: Element) -> Tags:
    if folder.attributes.get("toolbar") == "yes":
        return ()  # A browser's own folder.
    title = folder.texts.get("title", [""])[0]
    return folder_tags(title, is_top_level=folder.level == 0)


def _read_entry(element: Element, tags_of_folders: Tags) -> ImportedEntry:
    if element.kind != "bookmark":
        return ignored_entry(element.line)
    fields = _bookmark_fields(element, tags_of_folders)
    is_own_export = element.attributes.get("id", "").startswith("b-")
    if not is_own_export:
        fields.pop("id", None)
        if is_firefox_query(fields.get("uri")):
            return ignored_entry(element.line)
    return entry_with_uri(element.line, fields)


def _bookmark_fields(element: Element, tags_of_folders: Tags) -> Fields:
    fields = xbel.element_fields(element)
    time = "".join(element.texts.get(xbel.KDE_TIME, ()))
    members = fields | {"tags": _own_tags(element), "time": time}
    # `read_fields` drops dates such as `n/a`, so take no dates from `fields`.
    others = {name: fields[name] for name in fields if name not in ("created", "modified")}
    return others | read_fields(members.items(), list, tags_of_folders)


def _own_tags(element: Element) -> list[str]:
    tags = split_tags(element.attributes.get("tags", ""))
    if not tags:  # buku writes the attribute in upper case.
        tags = split_tags(element.attributes.get("TAGS", ""))
    # GNOME writes groups and private entries.
    for text in element.texts.get(xbel.GROUP, ()):
        tags += split_tags(text)
    if xbel.PRIVATE in element.texts:
        tags.append("private")
    return tags
