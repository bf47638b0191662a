"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL has no tags, and its `metadata` must be empty. The tags are therefore in an attribute that
each document declares in its internal DTD subset.
"""

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import escape

from formats import xml
from formats.html.view import Listing, View
from formats.xbel_document import XbelDocument, element_fields
from formats.xml import escape_attribute
from storage.bookmark import Bookmark
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
    document = XbelDocument()
    xml.parse(body, document)
    if document.root != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    bookmarks = [entry for entry in document.entries if entry.kind == "bookmark"]
    if len(bookmarks) != 1:
        reason = f"must contain one bookmark, not {len(bookmarks)}. Send a file to POST /-/import"
        raise Invalid([("body", reason)])
    return element_fields(bookmarks[0])


def read_whole(body: bytes, parameters: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the bookmark for PUT, which replaces all fields.

    This service writes no `desc` and no `tags` for empty fields, so absent ones mean empty fields.
    """
    return {"description": "", "tags": []} | read(body, parameters)
