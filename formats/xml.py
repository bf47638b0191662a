"""Write and read XML safely."""

import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from formats.charset import decode, find_codec
from storage.bookmark import replace_invalid_xml_chars
from storage.errors import Malformed

_ATTRIBUTE_ENTITIES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')


def escape_attribute(value: str) -> str:
    """Return the value escaped for a double-quoted attribute."""
    if _SPECIAL.search(value):
        return escape(value, _ATTRIBUTE_ENTITIES)
    return value


# --- Documents of entries in folders ---


@dataclass(slots=True)
class Element:
    """A folder or an entry."""

    kind: str  # The name of the element.
    line: int
    depth: int  # 1 for the root element, 2 for its children, and so on.
    level: int  # The number of folders around it.
    attributes: dict[str, str]
    # The texts of elements inside it, by the names of these elements, such as `title`.
    texts: dict[str, list[str]] = field(default_factory=dict)


class Collector:
    """Collects the folders and entries of a document while an XML parser calls its methods.

    A folder precedes its entries. An entry whose end is missing is left out.
    """

    def __init__(
        self,
        folder: str,
        entries: Collection[str],
        children: Collection[str] = (),
        descendants: Collection[str] = (),
    ) -> None:
        # The names of the elements to collect.
        self._folder = folder
        self._entries = entries
        # The names of the elements whose text is collected: in `_children` if they are children of
        # a folder or entry, in `_descendants` if they are anywhere inside it.
        self._children = children
        self._descendants = descendants
        self.root = ""  # The name of the root element.
        self.elements: list[Element] = []  # The folders and entries found so far.
        # Returns the line that the parser has reached. `parse` sets it.
        self.line: Callable[[], int] = lambda: 0
        # An element is open between its start and its end.
        self._depth = 0  # The number of open elements.
        # The open folders and, last, the open entry. The first folder stands for the document.
        self._open = [Element(folder, line=0, depth=0, level=-1, attributes={})]
        # The pieces of the text that is being collected; None outside of such a text.
        self._text: list[str] | None = None
        self._text_depth = 0  # The depth of the element that has this text.

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if not self.root:
            self.root = tag
        if self._text is not None:
            return  # An element inside a text belongs to the text.
        innermost = self._open[-1]
        if self._begins_text(tag, innermost):
            self._text = []
            self._text_depth = self._depth
            return
        if innermost.kind != self._folder:
            return  # Entries and folders inside an entry are ignored.
        if tag == self._folder or tag in self._entries:
            element = Element(tag, self.line(), self._depth, innermost.level + 1, attributes)
            self._open.append(element)
            if tag == self._folder:
                self.elements.append(element)

    def _begins_text(self, tag: str, innermost: Element) -> bool:
        if tag in self._descendants:
            return True
        is_child = self._depth == innermost.depth + 1
        return is_child and tag in self._children

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        innermost = self._open[-1]
        if self._text is not None:
            if self._depth == self._text_depth:
                innermost.texts.setdefault(tag, []).append("".join(self._text))
                self._text = None
        elif self._depth == innermost.depth:
            self._open.pop()
            if innermost.kind != self._folder:
                self.elements.append(innermost)
        self._depth -= 1


# --- Parsing ---

_MAX_NAMESPACE = 256
_MAX_ATTRIBUTE_DECLARATIONS = 100  # The public DTD of XBEL has fewer than 40.


def parse(document: bytes, target: Collector) -> None:
    """Collect the elements of a document.

    Raises Malformed, with the elements before the error in `target`. Declarations by which a few
    bytes make a large document are errors, too.
    """
    parser = DefusedXMLParser(target=target)  # It refuses declarations of entities.
    expat = parser.parser
    expat.StartNamespaceDeclHandler = _refuse_long_namespace
    expat.AttlistDeclHandler = _AttributeDeclarations().check
    target.line = lambda: int(expat.CurrentLineNumber)
    codec = find_codec(declared_charset(document))
    try:
        if codec:
            # Expat knows few charsets. If it gets a str, it ignores the declared one.
            parser.feed(document.decode(codec))
        else:
            parser.feed(document)
        parser.close()
    except DefusedXmlException:
        raise Malformed("XML with an entity declaration is refused.") from None
    except ParseError as error:
        malformed = Malformed(f"The XML is malformed: {error}.")
        malformed.line, _ = error.position
        raise malformed from error
    except (LookupError, ValueError):
        raise Malformed("The XML has an encoding that cannot be read. Send UTF-8.") from None


def _refuse_long_namespace(prefix: str | None, address: str | None) -> None:
    """Refuse an address that expat would add to the name of every element."""
    if address and len(address) > _MAX_NAMESPACE:
        raise Malformed(f"XML with a namespace of over {_MAX_NAMESPACE} characters is refused.")


class _AttributeDeclarations:
    def __init__(self) -> None:
        self._count = 0

    def check(
        self, element: str, name: str, kind: str, default: str | None, required: bool
    ) -> None:
        """Refuse what expat would add to every element: many attributes and default values.

        Expat calls this for each declared attribute.
        """
        self._count += 1
        if self._count > _MAX_ATTRIBUTE_DECLARATIONS:
            raise Malformed("XML with hundreds of declared attributes is refused.")
        if default is not None:
            raise Malformed("XML with a default value of an attribute is refused.")


# With the limits 200 and 40, the search is short in any document.
_CHARSET = re.compile(
    rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARATION = re.compile(r"\s*(?:<\?xml\s[^>]*>)?")


def declared_charset(document: bytes) -> str:
    """Return the charset in the XML declaration, in lower case, or ""."""
    if declaration := _CHARSET.match(document):
        return declaration[1].decode("ascii").lower()
    return ""


def read_elements(data: bytes, collector: Collector, roots: Collection[str]) -> Iterator[Element]:
    """Yield the folders and entries of a file.

    Raises Malformed after yielding the elements before an error.
    """
    text = _without_declaration(decode(data, declared_charset(data)))
    can_use_mark = _MARK not in text
    if can_use_mark:
        text = _mark_invalid_chars(text)
    error = None
    try:
        parse(text.encode(), collector)
    except Malformed as malformed:
        error = malformed
    # The root is empty if the document has an error before its first element.
    if collector.root not in ("", *roots):
        raise Malformed(f"Its root element must be {' or '.join(roots)}.")
    if can_use_mark:
        for element in collector.elements:
            _unmark_invalid_chars(element)
    yield from collector.elements
    if error:
        raise error


def _without_declaration(text: str) -> str:
    """Return a document without its XML declaration. Its lines keep their numbers.

    The text is no longer in the declared charset. After blank lines, which old programs write, a
    declaration would be an error.
    """
    declaration = _DECLARATION.match(text)
    assert declaration  # The pattern matches an empty text, too.
    blank_lines = "\n" * declaration[0].count("\n")
    return blank_lines + text[declaration.end() :]


# While a document is parsed, this stands for each character that XML does not allow.
_MARK = "\U0010ffff"
_REFERENCE = re.compile("&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,6}));")


def _mark_invalid_chars(text: str) -> str:
    """Replace each character that the parser would refuse by _MARK."""
    return _REFERENCE.sub(_mark_invalid_reference, replace_invalid_xml_chars(text, _MARK))


def _mark_invalid_reference(reference: re.Match[str]) -> str:
    hexadecimal, decimal = reference.groups()
    if decimal:
        number = int(decimal)
    else:
        number = int(hexadecimal, 16)
    if number > sys.maxunicode:
        return _MARK
    if replace_invalid_xml_chars(chr(number), _MARK) == _MARK:
        return _MARK
    return reference[0]


def _unmark_invalid_chars(element: Element) -> None:
    """Replace each _MARK by NUL, which the importer reports as an invalid character."""
    for name, value in element.attributes.items():
        element.attributes[name] = value.replace(_MARK, "\0")
    for texts in element.texts.values():
        texts[:] = [text.replace(_MARK, "\0") for text in texts]
