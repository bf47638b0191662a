"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL has no tags, and its `metadata` must be empty. The tags are therefore in an attribute that
each document declares in its internal DTD subset.
"""

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape

from formats import xml
from formats.imports.entry import MAX_ENTRY
from formats.listing import Listing
from formats.xbel_document import XbelDocument, element_fields
from formats.xml import escape_attribute
from storage.bookmark import Bookmark
from storage.errors import Invalid

# The public DTD has no attribute `tags`: the ATTLIST declares it, so that documents are valid.
_HEAD = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" \
"http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
<!ATTLIST bookmark tags CDATA #IMPLIED>
]>
<xbel version="1.0">
"""


def write(bookmarks: Iterable[Bookmark], listing: Listing) -> Iterator[bytes]:
    """Write a document of the bookmarks; only other formats use `listing`."""
    return _document(bookmarks)


def write_bookmark(bookmark: Bookmark, *unused: object) -> Iterator[bytes]:
    """Write a document of one bookmark. The other arguments are for the page in HTML."""
    return _document([bookmark])


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


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the fields of each bookmark in a body, in any folder. Raises Malformed or Invalid."""
    document = XbelDocument()
    xml.parse(body, document)
    if document.root != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    return [element_fields(entry) for entry in document.entries if entry.kind == "bookmark"]


def read_whole(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the fields of each bookmark for PUT, which replaces all fields.

    This service writes no `desc` and no `tags` for empty fields, so absent ones mean empty fields.
    """
    empty = {"description": "", "tags": []}
    return [empty | fields for fields in read(body, parameters)]


def is_file(body: bytes, parameters: Mapping[str, str]) -> bool:
    """Return whether the body is a file to import, and not a single bookmark to add or update.

    Raises Malformed or Invalid.
    """
    # No valid single bookmark is larger than MAX_ENTRY. Only the import parses such a large body.
    return len(body) > MAX_ENTRY or len(read(body, parameters)) != 1
