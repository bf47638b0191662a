"""Write and read XML safely."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from formats.charset import decode, find_codec
from storage.errors import Malformed

_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')
# The charset in an XML declaration. The limits 200 and 40 keep the search short in any document.
_CHARSET = re.compile(
    rb"\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE
)

_DECLARATION = re.compile(r"\A\s*(?:<\?xml\s[^>]*>)?")


def escape_attribute(value: str) -> str:
    """Return the value escaped for a double-quoted attribute."""
    # Most values need no escaping, and one search is faster than the replacements.
    return escape(value, _ATTRIBUTE_ENTITIES) if _SPECIAL.search(value) else value


def parse(document: bytes, target: Any) -> None:
    """Parse a document. Raises Malformed, after passing the parts before the error to `target`.

    `target` has the methods that `xml.etree.ElementTree.XMLParser` calls. Its attribute `line` is
    set to a function that returns the number of the parser's line.

    Entity declarations and default values of attributes are refused: a few bytes of them can make
    a document of any size. A charset of the Encoding Standard is decoded here, because expat knows
    few of them.
    """
    charset = declared_charset(document)
    # The Encoding Standard reads ASCII as windows-1252, so leave ASCII to expat, which refuses
    # other bytes.
    is_ascii = charset.startswith(("ascii", "us-ascii"))
    codec = "" if is_ascii else find_codec(charset)
    parser = DefusedXMLParser(target=target)  # Refuses declarations of entities.
    expat = parser.parser
    expat.AttlistDeclHandler = _refuse_default_value
    target.line = lambda: int(expat.CurrentLineNumber)  # For the line numbers of entries.
    try:
        # For a string, expat ignores the charset that the document declares.
        parser.feed(document.decode(codec) if codec else document)
        parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ParseError as error:
        raise Malformed(f"The XML is malformed: {error}.") from error
    except (LookupError, ValueError):  # The charset is unknown, or lacks some bytes.
        raise Malformed("The XML has an encoding that cannot be read. Send UTF-8.") from None


def declared_charset(document: bytes) -> str:
    """Return the charset that the XML declaration names, in lower case; empty without one."""
    declaration = _CHARSET.match(document)
    return declaration[1].decode("ascii").lower() if declaration else ""


def _refuse_default_value(
    element: str, name: str, kind: str, default: str | None, required: bool
) -> None:
    """Refuse a default value, which every element would repeat; expat calls this per attribute."""
    if default is not None:
        raise Malformed("XML with a default value of an attribute is refused.")


# --- Documents of entries in folders ---


@dataclass(slots=True)
class Element:
    """A folder or an entry. `texts` has the texts of the elements inside it, by their names."""

    kind: str  # The name of the element.
    line: int
    depth: int  # The number of open elements at the start tag, this one included.
    level: int  # The number of folders around the element.
    attributes: dict[str, str]
    texts: dict[str, list[str]] = field(default_factory=dict)


class Collector:
    """The target of an XML parser that collects folders and entries.

    `elements` has each folder before the entries in it. An entry that is cut off is not there.
    """

    def __init__(
        self,
        folder: str,
        entries: Collection[str],
        children: Collection[str] = (),
        descendants: Collection[str] = (),
    ) -> None:
        """Collect the texts of `children` of a folder or entry, and of its `descendants`."""
        self.root = ""
        self.elements: list[Element] = []
        self.line: Callable[[], int] = lambda: 0  # `parse` sets it to get the parser's line.
        self._folder, self._kinds = folder, (folder, *entries)
        self._children, self._descendants = children, descendants
        self._depth = 0  # The number of open elements.
        self._open: list[Element] = []  # Folders; the last one may be an entry.
        self._pieces: list[str] | None = None  # Of the text that is read; None if none is.
        self._text_depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        self.root = self.root or tag
        self._depth += 1
        around = self._open[-1] if self._open else None
        if self._pieces is not None:
            return  # An element in a text: its content belongs to the text.
        if around and self._is_text(tag, around):
            self._pieces, self._text_depth = [], self._depth
        # No entry has entries or folders inside it.
        elif tag in self._kinds and (around is None or around.kind == self._folder):
            element = Element(tag, self.line(), self._depth, len(self._open), attributes)
            self._open.append(element)
            if tag == self._folder:
                self.elements.append(element)

    def _is_text(self, tag: str, around: Element) -> bool:
        is_child = self._depth == around.depth + 1
        return tag in self._descendants or (is_child and tag in self._children)

    def data(self, text: str) -> None:
        """Handle a piece of a text, or of an element inside it."""
        if self._pieces is not None:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if self._pieces is not None and self._depth == self._text_depth:
            self._open[-1].texts.setdefault(tag, []).append("".join(self._pieces))
            self._pieces = None
        elif self._open and self._open[-1].depth == self._depth:
            element = self._open.pop()
            if element.kind != self._folder:
                self.elements.append(element)
        self._depth -= 1


def read_elements(data: bytes, collector: Collector, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file. Raises Malformed after those before an error."""
    error = None
    if declared_charset(data) in ("", "utf-8"):
        # Old programs write windows-1252 nevertheless, or blank lines before the declaration.
        text = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), decode(data), 1)
        data = text.encode("utf-8", "replace")
    try:
        parse(data, collector)
    except Malformed as reason:
        error = reason
    if collector.root not in ("", *roots):  # Empty if the error comes before any element.
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    yield from collector.elements
    if error:
        raise error
