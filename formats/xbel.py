"""XBEL 1.0, the XML Bookmark Exchange Language.

Fields that XBEL lacks, such as tags, are attributes that each document declares.
"""

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape

from formats import xml
from formats.listing import Listing, View
from formats.xml import Builder, Element, escape_attribute
from storage.bookmark import FIELDS, WRITABLE_FIELDS, Bookmark, from_text, to_text
from storage.errors import Invalid
from storage.index import Entry

_FIELD_BY_ATTRIBUTE = {"href": "uri", "added": "created", "modified": "modified"}
_FIELD_BY_CHILD = {"title": "title", "desc": "description"}
_FIELDS_OF_XBEL = {"id", *_FIELD_BY_ATTRIBUTE.values(), *_FIELD_BY_CHILD.values()}
_ADDED_ATTRIBUTES = tuple(name for name in FIELDS if name not in _FIELDS_OF_XBEL)
# Documents leave out these fields if they are empty.
_OPTIONAL_FIELDS = tuple(name for name in WRITABLE_FIELDS if name not in ("uri", "title"))

_DECLARATIONS = "".join(
    f"<!ATTLIST bookmark {name} CDATA #IMPLIED>\n" for name in _ADDED_ATTRIBUTES
)
_HEAD = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" \
"http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
{_DECLARATIONS}]>
<xbel version="1.0">
""".encode()

_ENTRIES = ("bookmark", "alias", "separator")
# The metadata of GNOME: https://www.freedesktop.org/wiki/Specifications/desktop-bookmark-spec
_DESKTOP = "{http://www.freedesktop.org/standards/desktop-bookmarks}"
GROUP = f"{_DESKTOP}group"
PRIVATE = f"{_DESKTOP}private"
KDE_TIME = "time_added"


def write(listing: Listing) -> Iterator[bytes]:
    return _document(listing.bookmarks)


def write_bookmark(entry: Entry, _view: View) -> Iterator[bytes]:
    return _document([entry.bookmark])


def _document(bookmarks: Iterable[Bookmark]) -> Iterator[bytes]:
    yield _HEAD
    for bookmark in bookmarks:
        yield _element(bookmark).encode()
    yield b"</xbel>\n"


def _element(bookmark: Bookmark) -> str:
    attributes = ""
    for name in _ADDED_ATTRIBUTES:
        text = to_text(getattr(bookmark, name))
        if text:
            attributes += f' {name}="{escape_attribute(text)}"'
    description = ""
    if bookmark.description:
        description = f"<desc>{escape(bookmark.description)}</desc>\n"
    xml_id = f"b-{bookmark.id}"  # An XML id must not begin with a digit.
    uri = escape_attribute(bookmark.uri)
    title = escape(bookmark.title)
    return (
        f'<bookmark id="{xml_id}" href="{uri}" added="{bookmark.created}"'
        f' modified="{bookmark.modified}"{attributes}>\n'
        f"<title>{title}</title>\n{description}</bookmark>\n"
    )


def read(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the one bookmark in a body. Raises Malformed or Invalid."""
    builder = new_builder()
    xml.parse(body, builder)
    if builder.root_tag != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    bookmarks = [element for element in builder.elements if element.tag == "bookmark"]
    if len(bookmarks) != 1:
        reason = f"must contain one bookmark, not {len(bookmarks)}. Send a file to POST /-/import"
        raise Invalid([("body", reason)])
    return element_fields(bookmarks[0])


def read_whole(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return all fields. Fields that the body lacks are empty. Raises Malformed or Invalid."""
    fields: dict[str, object] = {name: from_text(name, "") for name in _OPTIONAL_FIELDS}
    return fields | read(body, parameters)


def new_builder() -> Builder:
    return Builder("folder", _ENTRIES, _FIELD_BY_CHILD, (GROUP, PRIVATE, KDE_TIME))


def element_fields(element: Element) -> dict[str, object]:
    fields: dict[str, object] = {}
    id = element.attributes.get("id")
    if id:
        fields["id"] = id.removeprefix("b-")
    for attribute, name in _FIELD_BY_ATTRIBUTE.items():
        if attribute in element.attributes:
            fields[name] = element.attributes[attribute]
    for name in _ADDED_ATTRIBUTES:
        if name in element.attributes:
            fields[name] = from_text(name, element.attributes[name])
    for child, name in _FIELD_BY_CHILD.items():
        text = element.text_of(child)
        if text is not None:
            fields[name] = text
    return fields
