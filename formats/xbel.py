"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL knows no tags, and its `metadata` has to be empty; so tags stand in an attribute that the
document declares in its own internal subset.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element

from formats import xml
from formats.view import View
from storage.bookmark import Bookmark, split_tags
from storage.errors import Invalid

_HEAD = b"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" \
"http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd" [
<!ATTLIST bookmark tags CDATA #IMPLIED>
]>
<xbel version="1.0">
"""

_ATTRIBUTES = {"href": "uri", "added": "created", "modified": "modified"}
# A date alone is legal in XBEL: https://www.w3.org/TR/NOTE-datetime
_DAY = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_CHILDREN = {"title": "title", "desc": "description"}


def write(bookmarks: Iterable[Bookmark], view: View) -> Iterator[bytes]:
    """A document of these bookmarks; the XML id is `b-` and the bookmark's id."""
    yield _HEAD
    for bookmark in bookmarks:
        yield _bookmark(bookmark).encode()
    yield b"</xbel>\n"


def _bookmark(b: Bookmark) -> str:
    tags = f' tags="{xml.attribute(",".join(b.tags))}"' if b.tags else ""
    description = f"<desc>{xml.text(b.description)}</desc>\n" if b.description else ""
    return (
        f'<bookmark id="b-{b.id}" href="{xml.attribute(b.uri)}" added="{b.created}"'
        f' modified="{b.modified}"{tags}>\n'
        f"<title>{xml.text(b.title)}</title>\n{description}</bookmark>\n"
    )


def read(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """Each bookmark of the document, in whatever folder, as the fields that it gives.

    Raises Malformed or Invalid.
    """
    root = xml.parse(body)
    if root.tag != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    return [_fields(element) for element in _bookmarks(root)]


def read_whole(body: bytes, parameters: Mapping[str, str]) -> list[dict[str, object]]:
    """The same, where an absent title, desc or tags is an empty one."""
    empty = {"title": "", "description": "", "tags": []}
    return [empty | fields for fields in read(body, parameters)]


def _bookmarks(root: Element) -> Iterator[Element]:
    folders = [root]
    while folders:
        for element in folders.pop():
            if element.tag == "bookmark":
                yield element
            elif element.tag == "folder":
                folders.append(element)


def _fields(element: Element) -> dict[str, object]:
    fields: dict[str, object] = {}
    if id := element.get("id"):
        fields["id"] = id.removeprefix("b-")
    for attribute, field in _ATTRIBUTES.items():
        if (value := element.get(attribute)) is not None:
            fields[field] = _DAY.sub(r"\g<0>T00:00:00Z", value) if field != "uri" else value
    for name, field in _CHILDREN.items():
        if (child := element.find(name)) is not None:
            fields[field] = "".join(child.itertext())
    if (tags := element.get("tags")) is not None:
        fields["tags"] = split_tags(tags)
    return fields
