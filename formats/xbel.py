"""XBEL 1.0, the XML Bookmark Exchange Language, valid against its public DTD.

XBEL knows no tags, and its `metadata` has to be empty; so tags stand in an attribute that the
document declares in its own internal subset.
"""

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
    """Each bookmark of the document, in whatever folder, as its fields.

    An absent title, desc or tags is an empty one. Raises Malformed or Invalid.
    """
    root = xml.parse(body)
    if root.tag != "xbel":
        raise Invalid([("body", "must be an XBEL document, whose root element is xbel")])
    return [_fields(element) for element in root.iter("bookmark")]


def _fields(element: Element) -> dict[str, object]:
    fields: dict[str, object] = {
        "title": _content(element, "title"),
        "description": _content(element, "desc"),
        "tags": split_tags(element.get("tags", "")),
    }
    if id := element.get("id"):
        fields["id"] = id.removeprefix("b-")
    for attribute, field in _ATTRIBUTES.items():
        if (value := element.get(attribute)) is not None:
            fields[field] = value
    return fields


def _content(element: Element, name: str) -> str:
    child = element.find(name)
    return "" if child is None else "".join(child.itertext())
