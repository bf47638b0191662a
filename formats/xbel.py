"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL has no tags, and its `metadata` must be empty. The tags are therefore in an attribute that
each document declares in its internal DTD subset.
"""

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape

from formats import xml
from formats.listing import Listing, View
from formats.xml import Collector, Element, escape_attribute
from storage.bookmark import Bookmark, split_tags
from storage.errors import Invalid
from storage.index import Entry

# The public DTD has no attribute `tags`: the ATTLIST declares it, so that documents are valid.
_HEAD = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" \
"http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
<!ATTLIST bookmark tags CDATA #IMPLIED>
]>
<xbel version="1.0">
"""
# From XBEL's attributes and child elements of a bookmark to the fields of this service.
_FIELD_BY_ATTRIBUTE = {"href": "uri", "added": "created", "modified": "modified"}
_FIELD_BY_CHILD = {"title": "title", "desc": "description"}

# Elements deep in the `metadata` of a bookmark. GNOME writes the bookmark's groups, and whether it
# is private: https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec.
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
GROUP, PRIVATE = f"{_DESKTOP}group", f"{_DESKTOP}private"
KDE_TIME = "time_added"  # KDE writes when the bookmark was added.
_GNOME_AND_KDE_METADATA = (GROUP, PRIVATE, KDE_TIME)


def write(listing: Listing) -> Iterator[bytes]:
    """Write a document of the bookmarks."""
    return _document(listing.bookmarks)


def write_bookmark(entry: Entry, _view: View) -> Iterator[bytes]:
    """Write a document of one bookmark."""
    return _document([entry.bookmark])


def _document(bookmarks: Iterable[Bookmark]) -> Iterator[bytes]:
    yield _HEAD
    for bookmark in bookmarks:
        yield _element(bookmark).encode()
    yield b"</xbel>\n"


def _element(b: Bookmark) -> str:
    tags = f' tags="{escape_attribute(",".join(b.tags))}"' if b.tags else ""
    description = f"<desc>{escape(b.description)}</desc>\n" if b.description else ""
    return (  # The XML id is `b-` and the bookmark's id: an XML id must not begin with a digit.
        f'<bookmark id="b-{b.id}" href="{escape_attribute(b.uri)}" added="{b.created}"'
        f' modified="{b.modified}"{tags}>\n'
        f"<title>{escape(b.title)}</title>\n{description}</bookmark>\n"
    )


def read(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the one bookmark in a body. Raises Malformed or Invalid."""
    document = new_collector()
    xml.parse(body, document)
    if document.root != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    bookmarks = [element for element in document.elements if element.kind == "bookmark"]
    if len(bookmarks) != 1:
        reason = f"must contain one bookmark, not {len(bookmarks)}. Send a file to POST /-/import"
        raise Invalid([("body", reason)])
    return element_fields(bookmarks[0])


def read_whole(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the bookmark for PUT, which replaces all fields.

    This service writes no `desc` and no `tags` for empty fields, so absent ones mean empty fields.
    """
    return {"description": "", "tags": []} | read(body, parameters)


def new_collector() -> Collector:
    """Return a new collector of folders, bookmarks, aliases and separators."""
    entries = ("bookmark", "alias", "separator")
    return Collector("folder", entries, _FIELD_BY_CHILD, _GNOME_AND_KDE_METADATA)


def element_fields(element: Element) -> dict[str, object]:
    """Return the fields that attributes and child elements of a bookmark have, not its folders."""
    fields: dict[str, object] = {}
    if id := element.attributes.get("id"):
        fields["id"] = id.removeprefix("b-")  # Exports add `b-`: no XML id begins with a digit.
    for attribute, name in _FIELD_BY_ATTRIBUTE.items():
        if (value := element.attributes.get(attribute)) is not None:
            fields[name] = value
    for child, name in _FIELD_BY_CHILD.items():
        if texts := element.texts.get(child):
            fields[name] = texts[0]  # XBEL allows only one.
    if (tags := element.attributes.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields
